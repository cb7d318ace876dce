//! Observers as processors.

use core::any::type_name;
use core::fmt;
use core::marker::PhantomData;
use core::panic::{AssertUnwindSafe, Location};
use std::panic::catch_unwind;
use std::sync::{Arc, Weak};

use crate::command::{Commands, Turn};
use crate::exactly::Exactly;
use crate::fragment::{FragmentError, FragmentInfo, FragmentRegistry, TypeInRole};
use crate::observer::{Observed, ObservedBatch, ObserverId, ObserverRun, Precedence};
use crate::panics::{note, resume, tell};
use crate::processor::param::Plea;
use crate::processor::runner::{Refusal, Runner, panic_by_name};
use crate::processor::stopwatch::Stopwatch;
use crate::processor::{ProcessorBuilder, ScheduleError, Seen};
use crate::query::CompositionFilter;
use crate::sync::Mutex;
use crate::world::{Presence, World};

/// An observer as a processor: it [observes](World::observe) from when it is started until it is stopped, so
/// it is switched on and off, has net modes, and is taken out as other processors are. It is called when what it
/// observes happens, not in a phase: no [report](crate::processor::ScheduleReport) counts that as a run. What its calls take
/// is in its schedule's [timings](crate::processor::Schedule::timings), and in a
/// [trace](crate::processor::Schedule::start_trace), whether they are in a run of the schedule or not.
///
/// With its schedule it ends: when that is dropped, the closure is called no more. The world forgets it, and drops the
/// closure, when the schedule is stopped before; else with the first change that it would have been told of, or when
/// another observer comes or goes. So schedules can be replaced without end. (If the `drop` of a closure that is
/// forgotten panics, the panic ends there, and `tracing` is told.)
///
/// It observes one world at a time: in another one when it was
/// [stopped](crate::processor::Schedule::stop) in the first, or that is gone. A schedule that was
/// [detached](crate::processor::Schedule::detach) without a stop and runs on another world looks in
/// each run whether it can be had. Back in the first world it observes on.
///
/// *Order:* observers that [`World::observe`] has made are called first; then those of schedules, one schedule after the other
/// in the order in which these were made ([`Schedule::new`](crate::processor::Schedule::new)), and of each in the order in
/// which its processors were added. That is so whoever was started first, switched off and on,
/// [replaced](crate::processor::Schedule::replace), or has gone over [to another
/// world](crate::processor::Simulation::roll_back_to): peers of one game call them alike, whatever each has been through.
/// (Schedules for one world are made on one thread: of two that are made at one time, on two, chance says which was first.)
///
/// Who was there before it was started, because a world was loaded, say, or it was switched off, it does not hear of,
/// unless it is to be [shown](ProcessorBuilder::show_existing) them. `T` is a type in one of its
/// [roles](TypeInRole): a fragment or tag, or what is shared or a chunk's.
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Health(u32);
///
/// let mut world = World::new();
/// let mut schedule = Schedule::new();
/// schedule.add(observing_processor::<Health, ()>("full health", Observed::COME, |batch, _| {
///     batch.for_each::<&mut Health>(|health| health.0 = 100).unwrap();
/// }));
/// schedule.run(&mut world)?;
/// let boar = world.create((Health(0),))?;
/// assert_eq!(world.get::<Health>(boar)?.0, 100);
/// schedule.set_enabled("full health", false)?;
/// schedule.run(&mut world)?;
/// let ghost = world.create((Health(0),))?;
/// assert_eq!(world.get::<Health>(ghost)?.0, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: Unreal Mass' observer processors.
#[doc(alias = "UMassObserverProcessor")]
#[track_caller]
pub fn observing_processor<T: TypeInRole, Filter: CompositionFilter + 'static>(
    name: impl Into<String>,
    observed: Observed,
    run: impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync + 'static,
) -> ProcessorBuilder {
    observing::<Filter>(
        name.into(),
        FragmentRegistry::register_met::<T>,
        observed,
        run,
    )
}

#[track_caller]
fn observing<F: CompositionFilter + 'static>(
    name: String,
    register: Register,
    observed: Observed,
    run: impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync + 'static,
) -> ProcessorBuilder {
    let observing = Observing::<F> {
        name: name.as_str().into(),
        at: Location::caller(),
        register,
        observed,
        precedence: Precedence::OF_WORLD,
        shows_existing: false,
        home: Arc::new(Mutex::new(Some(Box::new(run)))),
        life: Arc::new(()),
        watch: Arc::default(),
        on: None,
        told: false,
        of: PhantomData,
    };
    ProcessorBuilder::new(name, Box::new(observing))
}

/// Registers what is observed, in its role.
type Register = fn(&FragmentRegistry) -> Result<&FragmentInfo, FragmentError>;

struct Observing<F> {
    name: Arc<str>,
    /// Where it was made.
    at: &'static Location<'static>,
    register: Register,
    observed: Observed,
    /// That of its place in its schedule, once it has one.
    precedence: Precedence,
    /// Whenever it is started, it is shown who is there.
    shows_existing: bool,
    home: Home,
    /// Ends with it. Its schedule may go when nobody is there who could stop it: the world forgets the closure then.
    life: Arc<()>,
    watch: Arc<Stopwatch>,
    /// The world that it observes.
    on: Option<(Weak<Presence>, ObserverId)>,
    /// That it cannot be started was said.
    told: bool,
    of: Exactly<F>,
}

/// Where the closure is while no world has it. Nobody ever waits for the lock: one takes it when the closure goes to a
/// world, and when it comes back.
type Home = Arc<Mutex<Option<ObserverRun>>>;

/// The closure while a world has it: when that lets it go, or ends, it comes back.
struct Out {
    name: Arc<str>,
    run: Option<ObserverRun>,
    home: Home,
    watch: Arc<Stopwatch>,
}

impl Out {
    fn call(&mut self, batch: &mut ObservedBatch<'_>, commands: &mut Commands<'_>) {
        if let Some(run) = &mut self.run {
            let run = |batch: &mut ObservedBatch<'_>| {
                catch_unwind(AssertUnwindSafe(|| run(batch, commands)))
            };
            let ran = self.watch.time(batch, run);
            if let Err(payload) = ran {
                panic_by_name(&self.name, Some(payload));
            }
        }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        *self.home.lock() = self.run.take();
    }
}

/// Whether an observer observes a world.
enum Observes {
    Already,
    Now(ObserverId),
    /// It cannot yet.
    Waits,
}

impl<F> Observing<F> {
    /// Whether it observes this world.
    fn is_on(&self, world: &World) -> bool {
        let on = self.on.as_ref();
        on.is_some_and(|(of, _)| world.seat.is_present(of))
    }

    /// Observes this world from now on.
    fn observe(&mut self, world: &mut World) -> Observes
    where
        F: CompositionFilter,
    {
        if self.is_on(world) {
            return Observes::Already;
        }
        let run = self.home.lock().take();
        if run.is_none() {
            self.tell(world, &"it observes another world still");
            return Observes::Waits;
        }
        let mut out = Out {
            name: Arc::clone(&self.name),
            run,
            home: Arc::clone(&self.home),
            watch: Arc::clone(&self.watch),
        };
        let run = move |batch: &mut ObservedBatch<'_>, commands: &mut Commands<'_>| {
            out.call(batch, commands);
        };
        let life = Arc::downgrade(&self.life);
        match world.observe_while::<F>(self.register, self.precedence, life, self.observed, run) {
            Ok(id) => {
                world.observes_for(id, &self.name, self.at);
                self.on = Some((world.seat.presence(), id));
                self.told = false;
                Observes::Now(id)
            }
            Err(error) => {
                self.tell(world, &error);
                Observes::Waits
            }
        }
    }

    /// Shows it who is there, if it is to be. If it panics then, it is not started: the next run starts it again, and
    /// shows them again.
    fn show(&mut self, world: &mut World, id: ObserverId) {
        if !self.shows_existing {
            return;
        }
        let mut panicked = None;
        note(&mut panicked, || _ = world.show_existing(id));
        if panicked.is_some() {
            self.on = None;
            note(&mut panicked, || _ = world.unobserve(id));
        }
        resume(panicked);
    }

    /// Says once why it is not started.
    fn tell(&mut self, world: &World, error: &dyn fmt::Display) {
        if !core::mem::replace(&mut self.told, true) {
            tell(|| {
                tracing::error!(
                    name: "observer_waits",
                    target: "megachunk::observer",
                    world = %world.seat,
                    name = &*self.name,
                    %error,
                    "an observer is not started yet"
                );
            });
        }
    }
}

impl<F: CompositionFilter> Runner for Observing<F> {
    fn prepare(&mut self, world: &mut World, plea: &mut Plea<'_>) -> Result<(), ScheduleError> {
        // What can be wrong with it is said before it is started.
        let observes = world.check_observed::<F>(self.register);
        let observes = observes.map_err(|error| plea.refuse(error))?;
        plea.needs.observes = Some(observes);
        plea.needs.types.push(type_name::<F>());
        Ok(())
    }

    /// It observes on, until it is stopped.
    fn forget(&mut self) {}

    fn set_precedence(&mut self, precedence: Precedence) {
        self.precedence = precedence;
    }

    fn show_existing(&mut self) {
        self.shows_existing = true;
    }

    fn start(&mut self, world: &mut World) -> bool {
        match self.observe(world) {
            Observes::Already => true,
            Observes::Now(id) => {
                self.show(world, id);
                true
            }
            Observes::Waits => false,
        }
    }

    fn leave(&mut self, world: &mut World) {
        self.stop(world);
    }

    /// Who is there it knows.
    fn go_on(&mut self, world: &mut World) -> bool {
        !matches!(self.observe(world), Observes::Waits)
    }

    fn stop(&mut self, world: &mut World) {
        if self.is_on(world)
            && let Some((_, id)) = self.on.take()
        {
            world.unobserve(id);
        }
    }

    unsafe fn run(&mut self, _: &World, _: Turn<'_>) -> Result<bool, Box<Refusal>> {
        unreachable!("it has no turn")
    }

    fn has_turns(&self) -> bool {
        false
    }

    fn stopwatch(&self) -> Option<&Stopwatch> {
        Some(&self.watch)
    }

    fn count(&mut self, _: &World) -> Seen {
        Seen::default()
    }
}
