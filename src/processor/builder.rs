//! `ProcessorBuilder`: a processor, and where in a frame it runs.

use core::fmt;
use core::num::NonZeroU32;
use core::panic::Location;

use crate::fragment::{Lone, Pile};
use crate::processor::condition::{Condition, condition, inhabited, rewritten};
use crate::processor::function::Function;
use crate::processor::hook::Hook;
use crate::processor::runner::{Alone, Prepared, Refusal, Runner};
use crate::processor::{
    Asks, ConditionFn, NetModes, Param, Phase, Processor, ProcessorFn, ProcessorOutput,
    Subscriptions, Takes, Target, Time,
};
use crate::query::ReadOnlyResources;
use crate::world::World;

/// A processor, and where in a frame it runs; for [`Schedule::add`](super::Schedule::add).
///
/// Order: phases follow each other. Within a phase a processor comes [after](Self::after) and
/// [before](Self::before) what it says; of those that are free to come, the one with the higher
/// [priority](Self::priority), then the one that was added first. In this order one thread runs them; several
/// run those side by side that touch nothing in common, with the same result.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// world.resources_mut().insert(String::new());
/// let writes = |text: &'static str| {
///     processor(text, move |said: &mut String| said.push_str(text))
/// };
/// let mut schedule = Schedule::new();
/// schedule
///     .add(writes("c").phase(Phase::FrameEnd))
///     .add(writes("b"))
///     .add(writes("a").before("b"));
/// schedule.run(&mut world)?;
/// assert_eq!(world.resources().get::<String>().unwrap(), "abc");
/// # Ok::<(), ScheduleError>(())
/// ```
#[must_use = "a processor runs when it is added to a schedule"]
pub struct ProcessorBuilder {
    pub(super) name: String,
    /// Where it was made.
    pub(super) at: &'static Location<'static>,
    pub(super) runner: Lone<Box<dyn Runner>>,
    pub(super) conditions: Pile<Box<dyn Condition>>,
    pub(super) phase: Phase,
    pub(super) group: String,
    pub(super) before: Vec<Target>,
    pub(super) after: Vec<Target>,
    pub(super) priority: i32,
    pub(super) net_modes: NetModes,
    pub(super) enabled: bool,
    pub(super) run_if_any_match: bool,
    pub(super) main_thread: bool,
    pub(super) exclusive: bool,
    pub(super) shows_existing: bool,
    pub(super) pieces: u32,
    pub(super) subscriptions: Subscriptions,
    pub(super) on_start: Option<Hook>,
    pub(super) on_stop: Option<Hook>,
}

/// A closure as a processor. It gives nothing back, or a `Result`, of which an error [ends the
/// run](ProcessorOutput): a closure that meets errors with `?` says so,
/// `|…| -> `[`ProcessorResult`](super::ProcessorResult)` { …; Ok(()) }`.
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Height(f32);
/// struct Gravity(f32);
///
/// let mut world = World::new();
/// world.resources_mut().insert(Gravity(9.8));
/// let apple = world.create((Height(10.0),))?;
///
/// let mut schedule = Schedule::new();
/// schedule.add(processor("fall", |mut falling: QueryRun<&mut Height>, gravity: &Gravity| {
///     falling.for_each(|height| height.0 -= gravity.0);
/// }));
/// schedule.add(
///     processor("land", |mut landed: QueryRun<(Entity, &Height)>, mut commands: Commands| {
///         landed.for_each(|(entity, height)| {
///             if height.0 < 1.0 {
///                 commands.destroy(entity);
///             }
///         });
///     })
///     .after("fall"),
/// );
/// schedule.run(&mut world)?;
/// assert!(!world.exists(apple));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "system")]
#[track_caller]
pub fn processor<P, R, F>(name: impl Into<String>, run: F) -> ProcessorBuilder
where
    // In this order the compiler asks: how many parameters there are, and of which types; and then what each is.
    F: Takes<P, R>,
    P: Param + 'static,
    R: ProcessorOutput + 'static,
    F: ProcessorFn<P, R>,
{
    let function = Function::<P, R, _>::new(run);
    ProcessorBuilder::new(name.into(), Box::new(Prepared::new(function)))
}

/// A closure that has the world to itself, as a processor: no other runs beside it, and commands that were
/// recorded before are flushed first. It gives nothing back, or a `Result`, of which an error [ends the
/// run](ProcessorOutput). Several queries and resources at once it takes by [`World::with_params`], or by
/// [`Params`](super::Params) that it keeps.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let mut schedule = Schedule::new();
/// schedule.add(exclusive_processor("seed", |world: &mut World| {
///     world.create((1_u32,)).unwrap();
/// }));
/// schedule.run(&mut world)?;
/// assert_eq!(world.count(), 1);
/// # Ok::<(), ScheduleError>(())
/// ```
#[track_caller]
pub fn exclusive_processor<R: ProcessorOutput + 'static>(
    name: impl Into<String>,
    mut run: impl FnMut(&mut World) -> R + Send + 'static,
) -> ProcessorBuilder {
    ProcessorBuilder::alone(name.into(), move |world| {
        run(world).into_result().map_err(Refusal::Failed)
    })
}

impl ProcessorBuilder {
    /// A closure that has the world to itself, and says why it is not done.
    #[track_caller]
    pub(super) fn alone(
        name: String,
        run: impl FnMut(&mut World) -> Result<(), Refusal> + Send + 'static,
    ) -> Self {
        let mut builder = Self::new(name, Box::new(Alone(run)));
        builder.exclusive = true;
        builder
    }

    #[track_caller]
    pub(super) fn new(name: String, runner: Box<dyn Runner>) -> Self {
        Self {
            name,
            at: Location::caller(),
            runner: Lone::new(runner),
            conditions: Pile::new(),
            phase: Phase::default(),
            group: String::new(),
            before: Vec::new(),
            after: Vec::new(),
            priority: 0,
            net_modes: NetModes::ALL,
            enabled: true,
            run_if_any_match: false,
            main_thread: false,
            exclusive: false,
            shows_existing: false,
            pieces: 0,
            subscriptions: Subscriptions::default(),
            on_start: None,
            on_stop: None,
        }
    }

    /// A struct as a processor, [placed](Processor::place) as it says itself.
    #[track_caller]
    pub fn of(name: impl Into<String>, processor: impl Processor) -> Self {
        // Where it runs is asked of the processor before it is moved into the box. The builder that it gets is whole, for
        // it may be kept, and added by itself.
        let processor = Lone::new(processor);
        let mut placed = processor.place(exclusive_processor(name, |_| {}));
        // Whatever builder it has given back: what it asks for does not need the world to itself.
        placed.exclusive = false;
        placed.runner = Lone::new(Box::new(Prepared::new(processor.into_inner())));
        placed
    }

    /// Its name, by which others are ordered against it. Unique in a schedule.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs in this phase; in [`Phase::PrePhysics`] unless that is said.
    pub fn phase(mut self, phase: Phase) -> Self {
        self.phase = phase;
        self
    }

    /// Belongs to this group: a path, `"Movement.Steering"`, of 64 parts at most. Whoever is ordered against a group is
    /// ordered against all in it, and in groups below it.
    pub fn group(mut self, path: impl Into<String>) -> Self {
        self.group = path.into();
        self
    }

    /// Runs before a processor or a group.
    pub fn before(mut self, target: impl Into<Target>) -> Self {
        self.before.push(target.into());
        self
    }

    /// Runs after a processor or a group.
    pub fn after(mut self, target: impl Into<Target>) -> Self {
        self.after.push(target.into());
        self
    }

    /// Of processors that are free to run, those with a higher priority come first; 0 unless that is said.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Runs only where the schedule is in [one of these](super::Schedule::set_net_modes); everywhere unless that is said.
    pub fn net_modes(mut self, net_modes: NetModes) -> Self {
        self.net_modes = net_modes;
        self
    }

    /// Switched on or off at first: see [`Schedule::set_enabled`](super::Schedule::set_enabled).
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Is passed by when this condition does not hold: it is asked in the processor's turn, after
    /// all that are ordered before it. It reads resources, which is no conflict with what the
    /// processor itself takes; who writes them runs before or after. All conditions that are said
    /// must hold; they are asked in this order, up to the first that does not.
    ///
    /// What its queries look for changes [since](crate::query::Changed), and signals that it gets,
    /// wait for its next run: signals in 16 bytes each and what they carry, for as long as the
    /// condition does not hold, or until they are
    /// [discarded](super::Schedule::discard_signals).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(PartialEq)]
    /// enum Game { Menu, Playing }
    /// struct Score(u32);
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert(Game::Menu);
    /// world.resources_mut().insert(Score(0));
    /// let mut schedule = Schedule::new();
    /// schedule.add(
    ///     processor("count", |score: &mut Score| score.0 += 1)
    ///         .run_if(|game: &Game| *game == Game::Playing)
    ///         .run_if(|score: &Score| score.0 < 2),
    /// );
    /// assert_eq!(schedule.run(&mut world)?.idle, 1);
    /// world.resources_mut().insert(Game::Playing);
    /// for _ in 0..5 {
    ///     schedule.run(&mut world)?;
    /// }
    /// assert_eq!(world.resources().get::<Score>().unwrap().0, 2);
    /// # Ok::<(), ScheduleError>(())
    /// ```
    ///
    /// A resource that is not there is an error of the run, as it is for processors; `Option<&T>`
    /// asks whether it is. An [observer](super::observing_processor) has no turn: a schedule
    /// refuses one with a condition.
    #[doc(alias = "run_criteria")]
    pub fn run_if<R, Ask>(mut self, ask: Ask) -> Self
    where
        // In this order, as for `processor`.
        Ask: Asks<R>,
        R: ReadOnlyResources + 'static,
        Ask: ConditionFn<R>,
    {
        self.conditions.push(condition(ask));
        self
    }

    /// Is passed by as long as no archetype of the world matches one of its queries. Who is ordered against it
    /// keeps its place. One without queries always runs: one that takes the whole world and asks it itself, say.
    ///
    /// An archetype stays when its last entity has gone, until it is [collected](World::collect_archetypes): so this says
    /// what a program has, and nothing in a run; whether there is somebody is asked by
    /// [`run_if_any_entity`](Self::run_if_any_entity).
    ///
    /// Signals that it gets wait for its next run, as when it is [switched off](super::Schedule::set_enabled), and take
    /// memory until then.
    #[doc(alias = "bAutoRegisterWithProcessingPhases")]
    pub fn run_if_any_match(mut self) -> Self {
        self.run_if_any_match = true;
        self
    }

    /// Is passed by when there is no entity in an archetype that one of its queries matches. That is a condition as others
    /// are, asked [in its turn](Self::run_if) with them, in this order: who was created by commands that were flushed
    /// before counts, and who was destroyed by such does not. O(archetypes that match).
    ///
    /// Asked for are those queries that it walks, or gets [signals](crate::signal::Signalled) by; what it only [looks
    /// up](crate::query::QueryLookup) does not count. One that walks none always runs. Entities count whose fragments are
    /// [switched off](World::set_enabled), and those in which nothing has [changed](crate::query::Changed).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Wolf;
    /// struct Howls(u32);
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert(Howls(0));
    /// let wolf = world.create((Wolf,))?;
    /// let mut schedule = Schedule::new();
    /// let howl = processor("howl", |_: QueryRun<&Wolf>, howls: &mut Howls| howls.0 += 1);
    /// schedule.add(howl.run_if_any_entity());
    /// schedule.run(&mut world)?;
    /// world.destroy(wolf)?;
    /// schedule.run(&mut world)?;
    /// assert_eq!(world.resources().get::<Howls>().unwrap().0, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Source: Unity DOTS' `RequireForUpdate`.
    #[doc(alias = "RequireForUpdate")]
    #[doc(alias = "RequireMatchingQueriesForUpdate")]
    pub fn run_if_any_entity(mut self) -> Self {
        self.conditions.push(inhabited());
        self
    }

    /// Is passed by as long as nobody has been lent this resource to write it since the processor ran last, and it is the
    /// same one that was there then. That is a condition as others are, asked [in its turn](Self::run_if), and it reads the
    /// resource. What the processor itself writes in its run does not count, and a run in which it panics is none.
    ///
    /// To have been lent to be written is to be changed, here as [everywhere](crate::query::Changed): by a parameter
    /// `&mut T` in each run, whatever is done with it, or by [`Resources::get_mut`](crate::world::Resources::get_mut); who
    /// only may write it sometimes takes a second processor with a condition to do so. What a value hides, a lock's or an
    /// atomic's, is not seen.
    ///
    /// What was there when it ran is kept here, and in no world: it runs with its first run on each world, one that was
    /// loaded, or that is [rolled back](super::Simulation::roll_back_to) to, too; and once after each time that a world [went back
    /// in place](crate::world::Checkpoints::roll_back), whether the resource is part of the state or not. So it is for what follows from the
    /// resource alone (a grid that is built anew, a sky that is drawn), and not for what decides how a game goes on.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Terrain(Vec<u8>);
    /// struct Drawn(u32);
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert(Terrain(vec![1, 2, 3]));
    /// world.resources_mut().insert(Drawn(0));
    /// let mut schedule = Schedule::new();
    /// schedule.add(
    ///     processor("draw", |_: &Terrain, drawn: &mut Drawn| drawn.0 += 1).run_if_changed::<Terrain>(),
    /// );
    /// for round in 0..10 {
    ///     if round == 5 {
    ///         world.resources_mut().get_mut::<Terrain>().unwrap().0[0] = 7;
    ///     }
    ///     schedule.run(&mut world)?;
    /// }
    /// assert_eq!(world.resources().get::<Drawn>().unwrap().0, 2);
    /// # Ok::<(), ScheduleError>(())
    /// ```
    ///
    /// Source: Bevy's `resource_changed`.
    #[doc(alias = "resource_changed")]
    #[doc(alias = "is_changed")]
    pub fn run_if_changed<T: Send + Sync + 'static>(mut self) -> Self {
        self.conditions.push(rewritten::<T>());
        self
    }

    /// Runs in each tick alone whose number these `ticks` divide: in the first, 0, and from there on in each `ticks`-th. That is
    /// a condition as others are, asked [in its turn](Self::run_if), and it reads the resource [`Time`]: a run without
    /// one is an error, as it is for processors that take `&Time`.
    ///
    /// The number is that of [`Time::tick`], and nothing else is kept: two programs that are at the same tick run the same
    /// processors; a world that was saved and loaded [goes on](super::Simulation::continuing) in step if `Time` is
    /// [registered](Time::register), and one that is [rolled back](super::Simulation::roll_back_to) is where it was. Ticks in
    /// which it is switched off, or another condition does not hold, are not made up for. (A schedule that runs several
    /// times in a tick, or in none, runs it as often as it comes to a tick that counts.)
    ///
    /// At a [fixed rate](super::Rate::Fixed) such a run stands for [`step`](Time::step) times `ticks`. Several that are to
    /// take turns ask themselves: `run_if(|time: &Time| time.tick % 4 == 1)`.
    ///
    /// ```
    /// use core::num::NonZeroU32;
    /// use core::time::Duration;
    /// use megachunk::prelude::*;
    ///
    /// struct Plans(Vec<u64>);
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert(Plans(Vec::new()));
    /// let mut schedule = Schedule::new();
    /// let every_third = NonZeroU32::new(3).unwrap();
    /// schedule.add(processor("plan", |time: &Time, plans: &mut Plans| plans.0.push(time.tick)).every(every_third));
    /// let mut game = Simulation::new(world, schedule);
    /// for _ in 0..8 {
    ///     game.advance(Duration::from_millis(20))?;
    /// }
    /// assert_eq!(game.world().resources().get::<Plans>().unwrap().0, [0, 3, 6]);
    /// # Ok::<(), ScheduleError>(())
    /// ```
    pub fn every(self, ticks: NonZeroU32) -> Self {
        self.run_if(move |time: &Time| time.tick.is_multiple_of(ticks.get().into()))
    }

    /// Runs on the thread that runs the schedule, for what is tied to a thread: windows, graphics. Which thread that is where
    /// a pool is installed, the guide says: [Pools](crate::guide#pools).
    ///
    /// A processor is `Send`, so what is not cannot be captured. It gets there as a resource that is
    /// [tied](crate::processor::Tied) to its thread, or as a `thread_local!` of it:
    ///
    /// ```
    /// use std::cell::RefCell;
    /// use std::rc::Rc;
    /// use megachunk::prelude::*;
    ///
    /// /// What a window library gives: not `Send`.
    /// #[derive(Clone, Default)]
    /// struct Window(Rc<RefCell<Vec<String>>>);
    ///
    /// thread_local! {
    ///     static WINDOW: Window = Window::default();
    /// }
    ///
    /// let window = WINDOW.with(Window::clone);
    /// let mut world = World::new();
    /// world.create((7_u32,))?;
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("think", |mut all: QueryRun<&mut u32>| all.for_each(|value| *value += 1)));
    /// schedule.add(
    ///     processor("draw", |mut all: QueryRun<&u32>| {
    ///         WINDOW.with(|window| all.for_each(|value| window.0.borrow_mut().push(value.to_string())));
    ///     })
    ///     .phase(Phase::PostPhysics)
    ///     .main_thread(),
    /// );
    /// schedule.run(&mut world)?;
    /// assert_eq!(window.0.take(), ["8"]);
    ///
    /// // Or the host does it itself, between two phases.
    /// schedule.remove(&mut world, "draw")?;
    /// for &phase in Phase::ALL {
    ///     if phase == Phase::PostPhysics {
    ///         world.query::<&u32, ()>()?.for_each(|value| window.0.borrow_mut().push(value.to_string()));
    ///     }
    ///     schedule.run_phase(&mut world, phase)?;
    /// }
    /// assert_eq!(window.0.take(), ["9"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "bRequiresGameThreadExecution")]
    pub fn main_thread(mut self) -> Self {
        self.main_thread = true;
        self
    }

    /// In an [ordered](crate::world::Universe::ordered) universe: its [`ParallelCommands`](crate::command::ParallelCommands)
    /// have ids for so many sort keys, from 0 on, at least; otherwise it says nothing. Without it they are for as many as
    /// the world has chunks when the schedule has come to the processor, or for 64 if these are fewer: enough for those of
    /// [chunks](crate::query::ChunkView::sort_key), and for a loop of one's own over up to 64 pieces. Of greater keys ids
    /// are [given by chance](crate::command::FlushReport::by_chance), whoever comes first.
    ///
    /// Each piece is given 64 ids that nobody else has until the flush: of all that run between two flushes two million may
    /// have some, and the ids of those behind are given by chance. So no more than there are.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use megachunk::prelude::*;
    ///
    /// let universe = Arc::new(Universe::ordered());
    /// let mut world = World::of(&universe)?;
    /// let spawn = processor("spawn", |commands: ParallelCommands| {
    ///     // A thousand pieces of work, whatever thread has which.
    ///     for piece in 0..1_000 {
    ///         commands.open_at(piece).create((piece,)).expect("there is room");
    ///     }
    /// });
    /// let mut schedule = Schedule::new();
    /// schedule.add(spawn.pieces(1_000));
    /// let report = schedule.run(&mut world)?;
    /// assert_eq!((report.flush.created, report.flush.by_chance), (1_000, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pieces(mut self, pieces: u32) -> Self {
        self.pieces = pieces;
        self
    }

    /// Whenever it is started, an [observer](super::observing_processor) of [`CREATE`](crate::observer::Observed::CREATE) is
    /// [shown](World::show_existing) all entities that are there, as if they had just been created: with the first run
    /// those of a world that was [loaded](World::load), and with the first run after it was [stopped](super::Schedule::stop)
    /// or switched off all again, those too that it knows. Who goes meanwhile it does not hear of. None come if it
    /// observes neither what is created nor what is set. One of [`SET`](crate::observer::Observed::SET) is shown them as if their values had just been
    /// set.
    ///
    /// It is shown them when the run begins, or when the schedule is [solved](super::Schedule::solve) before, after the
    /// observers that were added before it, and before any processor runs; what it records is flushed in this run, or in
    /// the next. If it panics, it is not started: the next run shows them again.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Health(u32);
    ///
    /// let mut world = World::new();
    /// let boar = world.create((Health(0),))?;
    /// let heal = observing_processor::<Health, ()>("full health", Observed::COME, |batch, _| {
    ///     batch.for_each::<&mut Health>(|health| health.0 = 100).unwrap();
    /// });
    /// let mut schedule = Schedule::new();
    /// schedule.add(heal.show_existing());
    /// schedule.run(&mut world)?;
    /// assert_eq!(world.get::<Health>(boar)?.0, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A schedule refuses it of who does not observe: its queries see who is there.
    #[doc(alias = "yield_existing")]
    pub fn show_existing(mut self) -> Self {
        self.shows_existing = true;
        self
    }

    /// Its [`Signalled`](crate::signal::Signalled) parameters, each [`Heard<Payload>`](crate::signal::Heard), and
    /// [`DynamicParams::heard`](crate::processor::DynamicParams::heard), get the signal of this name, which carries a `Payload`. What is sent
    /// waits for them until the processor runs and [delivers](crate::signal::Signalled::deliver) it, or it is
    /// [discarded](super::Schedule::discard_signals).
    pub fn hears<Payload: Send + Sync + 'static>(mut self, signal: impl Into<String>) -> Self {
        self.subscriptions.named::<Payload>(signal.into());
        self
    }

    /// The same of the signal that is known by what it carries; else as [`hears`](Self::hears).
    pub fn hears_type<Payload: Send + Sync + 'static>(mut self) -> Self {
        self.subscriptions.typed::<Payload>();
        self
    }

    /// Called before it runs for the first time, and for the first time since it was stopped: in another world, too, but not
    /// in one that its simulation is [rolled back](super::Simulation::roll_back_to) to.
    pub fn on_start(mut self, start: impl FnMut(&mut World) + Send + 'static) -> Self {
        self.on_start = Some(Hook::new(start));
        self
    }

    /// Called when it is switched off, or its schedule is [stopped](super::Schedule::stop).
    pub fn on_stop(mut self, stop: impl FnMut(&mut World) + Send + 'static) -> Self {
        self.on_stop = Some(Hook::new(stop));
        self
    }
}

impl fmt::Debug for ProcessorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessorBuilder")
            .field("name", &self.name)
            .field("phase", &self.phase)
            .field("group", &self.group)
            .finish_non_exhaustive()
    }
}
