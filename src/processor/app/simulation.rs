//! `Simulation`: a world with its processors and its time.

use core::any::TypeId;
use core::fmt;
use core::time::Duration;

use crate::fragment::StateForm;
use crate::panics::{note, resume};
use crate::processor::app::clock::Clock;
use crate::processor::{Rate, Schedule, ScheduleError, ScheduleReport, Time};
use crate::span;
use crate::world::{Checkpoint, CheckpointError, Checkpoints, World};

/// A world with its processors and its time: ticks every frame or at a fixed rate, is paused, stepped.
///
/// Before each tick the world's [time](World::time) passes, delayed signals arrive, and the resource [`Time`] is
/// set. (Before the first one processors are started and subscribe, so that nothing is missed that arrives with it.) A
/// [saved](World::save) world has its time, and, if [`Time`] is [registered](Time::register), the tick that came last: see
/// [`continuing`](Self::continuing). Between two ticks, and to other schedules of the world, [`Time`] is the last tick's.
///
/// When it is dropped, its schedule goes first, and then its world; no processor is [stopped](Schedule::stop) by that.
///
/// ```
/// use std::time::Duration;
///
/// use megachunk::prelude::*;
///
/// struct Age(Duration);
///
/// let mut simulation = Simulation::new(World::new(), Schedule::new());
/// simulation.set_rate(Rate::per_second(50));
/// let ant = simulation.world_mut().create((Age(Duration::ZERO),))?;
/// simulation.schedule_mut().add(processor("age", |mut ages: QueryRun<&mut Age>, time: &Time| {
///     ages.for_each(|age| age.0 += time.step);
/// }));
/// // 70 milliseconds are three ticks of 20; the rest is carried.
/// assert_eq!(simulation.advance(Duration::from_millis(70))?.ticks, 3);
/// assert_eq!(simulation.world().get::<Age>(ant)?.0, Duration::from_millis(60));
/// simulation.pause();
/// simulation.step(1);
/// assert_eq!(simulation.advance(Duration::from_secs(1))?.ticks, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Simulation {
    /// Goes first: what its processors have may keep the universe, which otherwise ends at once with the world.
    schedule: Schedule,
    world: World,
    clock: Clock,
    ticks: u64,
    last: SimulationReport,
}

/// What the time that passed has brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SimulationReport {
    /// Ticks.
    pub ticks: u32,
    /// Time for which there were more ticks due than the [rate](Rate::Fixed) allows in a frame: dropped.
    pub dropped: Duration,
    /// What all ticks together have done.
    pub schedule: ScheduleReport,
}

/// A line of ticks, and of the time that was dropped; then what the schedule has done, if there were ticks.
///
/// ```
/// use std::time::Duration;
///
/// use megachunk::prelude::*;
///
/// let mut simulation = Simulation::new(World::new(), Schedule::new());
/// simulation.schedule_mut().add(processor("idle", || {}));
/// let report = simulation.advance(Duration::from_millis(20))?;
/// assert_eq!(report.to_string(), "1 ticks\n1 ran, 0 passed by");
/// # Ok::<(), ScheduleError>(())
/// ```
impl fmt::Display for SimulationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ticks", self.ticks)?;
        if !self.dropped.is_zero() {
            write!(f, ", {:?} dropped", self.dropped)?;
        }
        match self.ticks {
            0 => Ok(()),
            _ => write!(f, "\n{}", self.schedule),
        }
    }
}

impl Simulation {
    /// A world and its processors, that tick every frame.
    #[must_use]
    pub fn new(world: World, schedule: Schedule) -> Self {
        Self {
            world,
            schedule,
            clock: Clock::new(Rate::EveryFrame),
            ticks: 0,
            last: SimulationReport::default(),
        }
    }

    /// Goes on with a world that was another simulation's, or [comes out of a file](Time::register): the first tick
    /// comes after the one that the world's [`Time`] tells of, if it has one. What the other has been
    /// [told](Self::set_tick) since that tick does not count, nor what had passed towards the next.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use megachunk::prelude::*;
    ///
    /// let tick = Duration::from_millis(20);
    /// let mut played = Simulation::new(World::new(), Schedule::new());
    /// Time::register(played.world().registry())?;
    /// for _ in 0..7 {
    ///     played.advance(tick)?;
    /// }
    /// let saved = played.world().to_snapshot(&Default::default())?;
    ///
    /// let universe = Universe::new();
    /// Time::register(universe.registry())?;
    /// let world = World::from_snapshot(&saved, universe, &Default::default())?;
    /// let mut loaded = Simulation::continuing(world, Schedule::new());
    /// for simulation in [&mut played, &mut loaded] {
    ///     simulation.advance(tick)?;
    ///     let time = *simulation.world().resources().get::<Time>().unwrap();
    ///     assert_eq!((time.tick, time.now), (7, 8 * tick));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn continuing(world: World, schedule: Schedule) -> Self {
        Self {
            ticks: next_tick(&world),
            ..Self::new(world, schedule)
        }
    }

    /// Puts another world in the place of its own, which it gives back: another level, say, or a game that was saved. The
    /// processors are [stopped](Schedule::stop) in the one that goes, and start in the new one with its next tick:
    /// `on_stop` and `on_start` are called, and observers [shown](crate::processor::ProcessorBuilder::show_existing) who is
    /// there. For the same game as it was some ticks ago, see [`roll_back_to`](Self::roll_back_to), which does without.
    ///
    /// The next tick is the one after that of the world's [`Time`], if it has one, as for [`continuing`](Self::continuing),
    /// else the first. Rate, pause, and what has passed towards the next tick stay, and so does all that the schedule was
    /// told: its net modes, which processors are on. What parameters keep ([`Local`](crate::processor::param::Local)) begins anew.
    /// Resources stay with their world, and so does what was said of it (*Going on* of [`World::save`]).
    ///
    /// O(processors), beside what users' code does, and for each observer what `unobserve` and `observe` take.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use megachunk::prelude::*;
    ///
    /// let mut schedule = Schedule::new();
    /// let load = |world: &mut World| _ = world.create(("a wall",));
    /// schedule.add(processor("level", || {}).on_start(load));
    /// let mut game = Simulation::new(World::new(), schedule);
    /// game.set_rate(Rate::per_second(50));
    /// let frame = Duration::from_millis(30);
    /// game.advance(frame)?;
    /// let first = game.replace_world(World::new());
    /// assert_eq!((first.count(), game.world().count()), (1, 0));
    /// assert_eq!((game.tick(), game.fraction()), (0, 0.5));
    /// game.advance(frame)?;
    /// assert_eq!((game.tick(), game.world().count()), (2, 1));
    /// # Ok::<(), ScheduleError>(())
    /// ```
    ///
    /// # Panics
    /// If the stop of a processor panics, or the `drop` of what one keeps: it has its world still, in which all is stopped,
    /// and the new one is dropped. Called again, it finds nothing left to do there.
    #[must_use = "the world that goes is dropped with all in it"]
    pub fn replace_world(&mut self, world: World) -> World {
        // The only error there is: it is not the world that they were started in.
        let _ = self.schedule.stop(&mut self.world);
        self.schedule.detach();
        self.take(world)
    }

    /// Goes on with its world as it was before, or as it is elsewhere: with one that comes out of a snapshot of it. It is
    /// [`replace_world`](Self::replace_world), but that processors go on as if nothing had happened: who was started is
    /// neither stopped nor started, and observers, which observe the new world at once, are shown nobody: what `on_start`
    /// has done to entities and to the state is in the snapshot; what else it has made, observers of
    /// [`World::observe`], indices and other resources, is made again before the call. Observers are called in the
    /// [order](crate::processor::observing_processor) that they have in every world. (Who was started after the snapshot was
    /// made counts as started all the same.) Who was not started yet starts with the next tick.
    ///
    /// What has to be so that all comes as it came is in the [guide](crate::guide#rolling-back).
    ///
    /// O(processors), beside what users' code does, and for each observer what `unobserve` and `observe` take.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use megachunk::prelude::*;
    ///
    /// fn universe() -> Result<Universe, FragmentError> {
    ///     let universe = Universe::ordered();
    ///     universe.registry().register_plain_as::<u32>("height")?;
    ///     Time::register(universe.registry())?;
    ///     Ok(universe)
    /// }
    ///
    /// let world = World::of(&std::sync::Arc::new(universe()?))?;
    /// let mut schedule = Schedule::new();
    /// let plant = |world: &mut World| _ = world.create((0_u32,));
    /// let grow = |mut all: QueryRun<&mut u32>| all.for_each(|height| *height += 1);
    /// schedule.add(processor("grow", grow).on_start(plant));
    /// let mut garden = Simulation::new(world, schedule);
    /// let tick = Duration::from_millis(20);
    /// garden.advance(tick)?;
    /// let saved = garden.world().to_snapshot(&Default::default())?;
    /// garden.advance(tick)?;
    /// let after = garden.world().state_hash(&Default::default())?;
    /// let parted = garden.roll_back_to(World::from_snapshot(&saved, universe()?, &Default::default())?);
    /// assert_eq!((garden.tick(), garden.world().count()), (1, 1));
    /// garden.advance(tick)?;
    /// assert_eq!(garden.world().state_hash(&Default::default())?, after);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If the `drop` of what a processor keeps panics: it has its world still, in which it goes on, and the new one is
    /// dropped. What parameters keep begins anew there, and signals that waited for processors are gone. Called again, it finds nothing left that could panic.
    #[doc(alias = "rewind")]
    #[must_use = "the world that goes is dropped with all in it"]
    pub fn roll_back_to(&mut self, mut world: World) -> World {
        self.schedule.hand_over(&mut self.world, &mut world);
        self.take(world)
    }

    /// Goes back to a checkpoint of its world, which is the same world then, as it was: processors, observers, and all that
    /// is not part of the state, go on as if nothing had happened. The next tick is the one after that of the world's
    /// [`Time`], if that is part of the state, else the one that comes next anyway.
    ///
    /// What has to be so that all comes as it came is in the [guide](crate::guide#rolling-back); what of it costs what, at
    /// [`Checkpoints`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use megachunk::prelude::*;
    /// use megachunk::world::Checkpoints;
    ///
    /// let world = World::of(&Arc::new(Universe::ordered()))?;
    /// Time::register(world.registry())?;
    /// world.registry().register_plain::<u32>()?;
    /// let mut schedule = Schedule::new();
    /// let plant = |world: &mut World| _ = world.create((0_u32,));
    /// let grow = |mut all: QueryRun<&mut u32>| all.for_each(|height| *height += 1);
    /// schedule.add(processor("grow", grow).on_start(plant));
    /// let mut garden = Simulation::new(world, schedule);
    /// let tick = Duration::from_millis(20);
    /// garden.advance(tick)?;
    /// let mut checkpoints = Checkpoints::new(8);
    /// let first = checkpoints.take(garden.world_mut())?;
    /// for _ in 0..3 {
    ///     garden.advance(tick)?;
    /// }
    /// garden.roll_back(&mut checkpoints, first)?;
    /// assert_eq!((garden.tick(), garden.world().time()), (1, tick));
    /// garden.advance(tick)?;
    /// assert_eq!(garden.world().read::<&u32, ()>()?.iter().next(), Some(&2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CheckpointError`]: the world is as it was.
    ///
    /// # Panics
    /// As for [`Checkpoints::roll_back`]; where the world has gone back then, so has the tick.
    pub fn roll_back(
        &mut self,
        checkpoints: &mut Checkpoints,
        to: Checkpoint,
    ) -> Result<(), CheckpointError> {
        let before = self.world.past();
        let (mut gone_back, mut panicked) = (Ok(()), None);
        note(&mut panicked, || {
            gone_back = checkpoints.roll_back(&mut self.world, to);
        });
        let is_time = |form: &StateForm| form.type_id() == TypeId::of::<Time>();
        let keeps_time = self.world.registry().state_form(is_time).is_some();
        if keeps_time && self.world.past() != before {
            self.ticks = next_tick(&self.world);
        }
        resume(panicked);
        gone_back
    }

    /// Has this world from now on; the one before it.
    fn take(&mut self, world: World) -> World {
        self.ticks = next_tick(&world);
        core::mem::replace(&mut self.world, world)
    }

    /// Sets when the world ticks. What has passed towards the next tick is forgotten.
    pub fn set_rate(&mut self, rate: Rate) -> &mut Self {
        self.clock.set_rate(rate);
        self
    }

    /// When the world ticks.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.clock.rate()
    }

    /// How much of the time to the next tick has passed, from 0 to below 1. To draw one tick late, interpolate by it
    /// between the last two ticks. 0 if each frame is a tick. What passes in a pause does not count.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use megachunk::prelude::*;
    ///
    /// let mut simulation = Simulation::new(World::new(), Schedule::new());
    /// simulation.set_rate(Rate::per_second(50));
    /// simulation.advance(Duration::from_millis(25))?;
    /// assert_eq!(simulation.fraction(), 0.25);
    /// # Ok::<(), ScheduleError>(())
    /// ```
    #[doc(alias = "alpha")]
    #[doc(alias = "overstep")]
    #[must_use]
    pub fn fraction(&self) -> f32 {
        self.clock.fraction()
    }

    /// No ticks until it is [resumed](Self::resume), but those that are [asked for](Self::step).
    ///
    /// Without a tick, here or between two that are far apart, [`advance`](Self::advance) does nothing to the world: what
    /// threads send and record meanwhile waits in memory for the next tick, however long that takes. (How many frames a
    /// pause has changes nothing then: what was sent and recorded in it comes by its sort keys, as if all came in one.) In
    /// a long pause beside threads that go on, call [`World::collect_signals`] from time to time, which drops signals that
    /// nobody hears, and [`Schedule::discard_signals`] for those that processors hear, if they are not wanted; what is
    /// collected comes before what is sent later, whatever its sort key. [`World::flush`] applies commands, pause or not.
    /// [`World::pending`] says how much waits.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use megachunk::prelude::*;
    ///
    /// let mut game = Simulation::new(World::new(), Schedule::new());
    /// let ant = game.world_mut().create((1_u32,))?;
    /// let seen = game.world().signal::<()>("seen")?;
    /// let watchers = game.world().parallel_signals();
    /// game.pause();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| watchers.open().send(seen, ant, ()));
    /// });
    /// game.advance(Duration::from_secs(1))?;
    /// assert_eq!(game.world().pending().signals, 1);
    /// game.world_mut().collect_signals();
    /// assert_eq!(game.world().pending().signals, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pause(&mut self) -> &mut Self {
        self.clock.paused = true;
        self
    }

    /// Goes on. What passed in the meantime is not caught up, and ticks that were [asked for](Self::step) and have not
    /// run are not run any more, even if it is paused again.
    pub fn resume(&mut self) -> &mut Self {
        self.clock.resume();
        self
    }

    /// Whether it is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.clock.paused
    }

    /// Asks for so many ticks while it is paused: the next call of [`advance`](Self::advance) runs
    /// them, unless it is [resumed](Self::resume) before. While it is not paused, this asks for
    /// nothing. At [`Rate::EveryFrame`] each of them is as long as the frame that runs it: three of
    /// them in one frame take the world's time on by three frames.
    pub fn step(&mut self, ticks: u32) -> &mut Self {
        self.clock.ask(ticks);
        self
    }

    /// The number of the next tick, as [`Time::tick`] will have it: how many there were, unless the
    /// world had [some before](Self::continuing), or it was [set](Self::set_tick).
    #[must_use]
    pub fn tick(&self) -> u64 {
        self.ticks
    }

    /// Sets the number of the next tick. What has passed towards it stays.
    pub fn set_tick(&mut self, tick: u64) -> &mut Self {
        self.ticks = tick;
        self
    }

    /// How long it takes until the next tick is due: nothing if each frame is one, or if ticks were
    /// [asked for](Self::step); [`Duration::MAX`] if it is paused otherwise.
    #[must_use]
    pub fn until_next(&self) -> Duration {
        self.clock.until_next()
    }

    /// So much time has passed outside: runs the ticks that are due. Without one, signals are not collected and commands
    /// not flushed: see [`pause`](Self::pause).
    ///
    /// # Errors
    /// As for [`Schedule::run`]. Ticks that were due after the one that failed are dropped;
    /// [`last_report`](Self::last_report) says what those before it have done.
    ///
    /// # Panics
    /// As for [`Schedule::run`].
    pub fn advance(&mut self, elapsed: Duration) -> Result<SimulationReport, ScheduleError> {
        self.advance_noting(elapsed)?;
        Ok(self.last.clone())
    }

    /// The same, with `after` called behind each processor and each flush, as [`Schedule::run_watched`] does: to find the
    /// processor which makes two simulations part.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use megachunk::prelude::*;
    ///
    /// let mut simulation = Simulation::new(World::new(), Schedule::new());
    /// simulation.schedule_mut().add(processor("age", || {}));
    /// let mut steps = Vec::new();
    /// simulation.advance_watched(Duration::from_millis(20), |world, name| {
    ///     let hash = world.state_hash(&Default::default()).expect("there is nothing that cannot be hashed");
    ///     steps.push((name.to_owned(), hash));
    /// })?;
    /// let names: Vec<&str> = steps.iter().map(|(name, _)| name.as_str()).collect();
    /// assert_eq!(names, ["flush", "age", "flush after age"]);
    /// # Ok::<(), ScheduleError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`advance`](Self::advance).
    ///
    /// # Panics
    /// As for [`Schedule::run_watched`].
    pub fn advance_watched(
        &mut self,
        elapsed: Duration,
        mut after: impl FnMut(&World, &str),
    ) -> Result<SimulationReport, ScheduleError> {
        self.advance_by(elapsed, |schedule, world| {
            schedule.run_watched(world, &mut after)
        })?;
        Ok(self.last.clone())
    }

    /// What was done is in `last`.
    pub(super) fn advance_noting(&mut self, elapsed: Duration) -> Result<(), ScheduleError> {
        self.advance_by(elapsed, Schedule::run)
    }

    fn advance_by(
        &mut self,
        elapsed: Duration,
        mut run: impl FnMut(&mut Schedule, &mut World) -> Result<ScheduleReport, ScheduleError>,
    ) -> Result<(), ScheduleError> {
        let due = self.clock.pass(elapsed);
        self.last = SimulationReport {
            dropped: due.dropped,
            ..SimulationReport::default()
        };
        for _ in 0..due.ticks {
            span::tick(self.ticks, self, |simulation| {
                simulation.tick_once(due.step, &mut run)
            })?;
        }
        Ok(())
    }

    fn tick_once(
        &mut self,
        step: Duration,
        run: &mut impl FnMut(&mut Schedule, &mut World) -> Result<ScheduleReport, ScheduleError>,
    ) -> Result<(), ScheduleError> {
        let time = Time {
            step,
            now: self.world.time_after(step),
            tick: self.ticks,
        };
        *self.world.resources_mut().get_or_insert_with(Time::default) = time;
        self.ticks = self.ticks.wrapping_add(1);
        // Who starts with this tick is told of it, and hears what arrives with it.
        let (mut solved, mut panicked) = (Ok(()), None);
        note(&mut panicked, || {
            solved = self.schedule.solve(&mut self.world);
        });
        // Whatever comes of that: the tick is counted, and so is its time.
        note(&mut panicked, || self.world.advance_time(step));
        resume(panicked);
        solved?;
        let report = run(&mut self.schedule, &mut self.world)?;
        self.last.schedule.add(report);
        self.last.ticks += 1;
        Ok(())
    }

    /// What the last [`advance`](Self::advance) has done, by itself or in an [`App`](crate::processor::App): all of
    /// it, or the ticks before the one that failed or panicked.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use megachunk::prelude::*;
    ///
    /// let mut app = App::new();
    /// app.add("server", Simulation::new(World::new(), Schedule::new()));
    /// app.update(Duration::from_millis(16))?;
    /// for (name, simulation) in app.iter() {
    ///     let report = simulation.last_report();
    ///     assert_eq!(report.ticks, 1, "{name}");
    ///     assert!(report.schedule.flush.is_clean(), "{name}");
    /// }
    /// # Ok::<(), megachunk::processor::AppError>(())
    /// ```
    #[must_use]
    pub fn last_report(&self) -> &SimulationReport {
        &self.last
    }

    /// The world.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The world, to change.
    #[must_use]
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// The processors.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The processors, to change.
    #[must_use]
    pub fn schedule_mut(&mut self) -> &mut Schedule {
        &mut self.schedule
    }

    /// The world and the processors at once.
    #[must_use]
    pub fn parts_mut(&mut self) -> (&mut World, &mut Schedule) {
        (&mut self.world, &mut self.schedule)
    }

    /// Stops the processors, and takes both apart. (Processors that were started in another world, which was
    /// taken out through [`world_mut`](Self::world_mut), go on there.)
    ///
    /// # Panics
    /// If the stop of a processor panics: all are stopped, and the world is dropped with its
    /// processors. Who wants to keep them lets [`Schedule::stop`] panic first, on what
    /// [`parts_mut`](Self::parts_mut) lends; nothing is left to be stopped here then.
    #[must_use]
    pub fn into_parts(mut self) -> (World, Schedule) {
        // The only error there is: it is not the world that they were started in.
        let _ = self.schedule.stop(&mut self.world);
        (self.world, self.schedule)
    }
}

/// The tick after the one that a world tells of; the first if it tells of none.
fn next_tick(world: &World) -> u64 {
    let time = world.resources().get::<Time>();
    time.map_or(0, |time| time.tick.wrapping_add(1))
}
