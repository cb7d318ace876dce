//! `Schedule`: the processors of a world.

use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::{Arc, Weak};
use std::time::Instant;

use crate::panics::{Panicked, end_all, note, resume};
use crate::processor::entry::{Entry, Started};
use crate::processor::executor::MemberCell;
use crate::processor::member::{Member, Mode};
use crate::processor::needs::Needs;
use crate::processor::param::Plea;
use crate::processor::plan::Plan;
use crate::processor::run::Outcome;
use crate::processor::runner::{by_name, panic_by_name};
use crate::processor::solver::{GroupOrder, nearest};
use crate::processor::trace::Kind;
use crate::processor::{
    Execution, NetModes, ProcessorBuilder, ScheduleError, ScheduleReport, Target,
};
use crate::span;
use crate::world::{Presence, Seat, World};

/// The processors of a world: in which order they run, and which at the same time.
///
/// A [run](Self::run) goes through the [phases](super::Phase). In each the processors run in the
/// order that they ask for; those that touch nothing in common may run side by side, on the threads
/// of the current rayon pool, with the same result as one after the other: their commands, their
/// signals and the versions of what they change come in the order of the schedule; so do the
/// signals of exclusive processors, and of closures and observers that a flush runs, at the place
/// of that flush. Two touch something in common if one writes what the other reads or writes and
/// there is an archetype that both see; resources always count, const shared values never. Commands
/// are flushed after each phase, where an order asks for it ([`Target::flushed`]), and before and
/// after an [exclusive](super::exclusive_processor) processor.
///
/// *Seeing it:* each run, each phase that has processors, each run of a processor, each flush, and what else may take long
/// now and then, is a [span of `tracing`](crate#what-it-tells), at the level of debugging; [timings](Self::set_measured), a
/// [trace](Self::start_trace) for Perfetto. A processor's span is in its phase's, and what is told from within its parallel
/// loops is in the processor's, on whatever thread that is.
///
/// *Locks:* a processor that waits for its own parallel loop may run other processors meanwhile, as any code on rayon
/// does. One that holds a lock then, which another one takes too, may wait for itself for ever.
///
/// *Missing resources* are found before a phase begins, or that part of it which follows a flush: none of its
/// processors runs then, and the first that is missing, in order, is the error. But what a processor with
/// [conditions](ProcessorBuilder::run_if) asks for, and what they do, is looked for in its turn: if that is missing, no
/// other processor begins, those that run end, and the error is the same.
///
/// *Panics*, and errors that processors [give back](super::ProcessorOutput): no other processor begins then, those that run
/// end. What all of them have recorded is kept, as a whole, for the next flush; the world and the schedule can be used
/// again. Which of those have run that could run beside it is chance where there are several threads. Of those failures
/// that there were the first panic goes on, in order; without a panic the first resource that is missing, or error that
/// was given back, is the error.
///
/// A schedule belongs to the world that it ran on first, until it is [detached](Self::detach).
///
/// | operation | cost |
/// |---|---|
/// | add a processor | the order is solved anew: O(processors · log processors) |
/// | an archetype comes | O(queries + processors), once, with the next segment; O(1) more for each fragment of it that somebody writes and a query touches |
/// | run a processor that does nothing | some ten nanoseconds |
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let stone = world.create((10_i32,))?;
/// let mut schedule = Schedule::new();
/// schedule
///     .add(processor("fall", |mut all: QueryRun<&mut i32>| all.for_each(|height| *height -= 1)))
///     .add(
///         processor("land", |mut all: QueryRun<(Entity, &i32)>, mut commands: Commands| {
///             all.for_each(|(entity, &height)| if height < 9 { commands.destroy(entity) });
///         })
///         .after("fall"),
///     );
/// assert_eq!(schedule.run(&mut world)?.ran, 2);
/// assert!(world.exists(stone));
/// schedule.run(&mut world)?;
/// assert!(!world.exists(stone));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Sources: Unreal Mass' dependency solver and phase manager, Unity DOTS' system groups.
#[derive(Default)]
#[doc(alias = "UMassProcessingPhaseManager")]
#[doc(alias = "SystemGroup")]
pub struct Schedule {
    pub(super) entries: Vec<Entry>,
    pub(super) crew: Vec<MemberCell>,
    groups: Vec<GroupOrder>,
    pub(super) net_modes: NetModes,
    pub(super) plan: Option<Plan>,
    /// The world that it belongs to.
    pub(super) of: Option<Weak<Presence>>,
    pub(super) measured: bool,
    /// What the former was before a trace was started, if nobody has said since what it is to be.
    pub(super) measured_before: Option<bool>,
    pub(super) execution: Execution,
    /// Some processor is to be started, stopped, or passed by.
    pub(super) restless: bool,
    pub(super) trace: Option<super::trace::Trace>,
    /// What the last run had done, if it was broken off.
    pub(super) broken_off: Option<Box<ScheduleReport>>,
}

impl Schedule {
    /// A schedule without processors.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a processor. Mistakes in its order are reported by the next run, or by [`solve`](Self::solve).
    pub fn add(&mut self, processor: ProcessorBuilder) -> &mut Self {
        let (entry, runner) = Entry::new(processor);
        if let Some(watch) = runner.stopwatch() {
            watch.want(self.wanted());
        }
        self.crew.push(MemberCell::new(Member {
            name: entry.name.as_str().into(),
            runner,
            mode: Mode::Runs,
            pieces: (0, 0),
            failure: None,
            timing: Box::default(),
        }));
        self.entries.push(entry);
        self.plan = None;
        self.restless = true;
        self
    }

    /// Says that all of a group run before something. A group that nobody is in is a mistake as any other name that
    /// nobody has, unless it is [optional](Target::optional).
    ///
    /// It holds until it is [taken back](Self::remove_group_orders), also when all of the group are removed. Said again,
    /// it is kept once, and the order need not be solved anew. O(orders of groups).
    pub fn group_before(
        &mut self,
        group: impl Into<Target>,
        target: impl Into<Target>,
    ) -> &mut Self {
        self.order_group(group.into(), vec![target.into()], Vec::new())
    }

    /// Says that all of a group run after something; the group as for [`group_before`](Self::group_before).
    pub fn group_after(
        &mut self,
        group: impl Into<Target>,
        target: impl Into<Target>,
    ) -> &mut Self {
        self.order_group(group.into(), Vec::new(), vec![target.into()])
    }

    pub(super) fn order_group(
        &mut self,
        group: Target,
        before: Vec<Target>,
        after: Vec<Target>,
    ) -> &mut Self {
        let order = GroupOrder {
            path: group.name().into(),
            optional: group.is_optional(),
            before,
            after,
        };
        if !self.groups.contains(&order) {
            self.groups.push(order);
            self.plan = None;
        }
        self
    }

    /// Takes back what was said of a group by [`group_before`](Self::group_before) and
    /// [`group_after`](Self::group_after), and by [composites](super::Composite) of this name; how many orders that were,
    /// of which a composite has given one. What its processors ask for themselves stays, and so does what others ask for
    /// by its name. O(orders of groups).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("draw", || {}));
    /// schedule.add(processor("fall", || {}).group("Physics")).group_before("Physics", "draw");
    /// schedule.run(&mut world)?;
    /// // Without physics, nobody is in the group that is to run before.
    /// schedule.remove(&mut world, "fall")?;
    /// assert!(schedule.run(&mut world).is_err());
    /// assert_eq!(schedule.remove_group_orders("Physics"), 1);
    /// schedule.run(&mut world)?;
    /// # Ok::<(), ScheduleError>(())
    /// ```
    pub fn remove_group_orders(&mut self, group: &str) -> usize {
        let before = self.groups.len();
        self.groups.retain(|order| order.path != group);
        let removed = before - self.groups.len();
        if removed > 0 {
            self.plan = None;
        }
        removed
    }

    /// Takes a processor out, after its [stop](super::Processor::stop) if it has been started. What was said of its group
    /// stays: see [`remove_group_orders`](Self::remove_group_orders).
    ///
    /// # Errors
    /// [`ScheduleError::NoProcessor`]; [`ScheduleError::OtherWorld`] if it has run on another one, which still lives.
    ///
    /// # Panics
    /// If its stop panics, with its name; or the `drop` of what it consists of. It is out then.
    pub fn remove(&mut self, world: &mut World, name: &str) -> Result<(), ScheduleError> {
        let at = self.find(name)?;
        let mut panicked = None;
        if self.is_of(world)? {
            note(&mut panicked, || self.stop_one(world, at));
        }
        // What users gave ends when the processor is gone as a whole: it may panic.
        self.plan = None;
        let (entry, mut member) = (self.entries.remove(at), self.crew.remove(at));
        self.keep_calls(&entry, &mut member);
        end_all(&mut panicked, [entry.on_start, entry.on_stop]);
        note(&mut panicked, || drop(member));
        resume(panicked);
        Ok(())
    }

    /// The net modes that this program is in: processors for others are passed by, and hear nothing. (Signals that come
    /// meanwhile are not kept for them. In their mode again, they hear what is sent after the next run has begun.) All
    /// unless that is said.
    pub fn set_net_modes(&mut self, net_modes: NetModes) -> &mut Self {
        self.net_modes = net_modes;
        self.restless = true;
        self
    }

    /// Switches a processor on or off; or all of a group, if the name is the path of one, and of
    /// the groups in it, as if each was named. Switched off it is stopped with the next run, and
    /// passed by; who is ordered against it keeps its place.
    ///
    /// What its queries look for changes since, and signals that it [hears](ProcessorBuilder::hears), wait for its next
    /// run: its subscriptions stay, and so do all signals that come meanwhile, 16 bytes each and what they carry, for as
    /// long as it is off: see [`SignalReader`](crate::signal::SignalReader). [`discard_signals`](Self::discard_signals)
    /// lets them go; so does the processor when it is [removed](Self::remove). A processor that is off for long and
    /// wants none of them is to be removed, or in a [net mode](Self::set_net_modes) that is not played.
    ///
    /// # Errors
    /// [`ScheduleError::NoProcessor`] if there is no such group either.
    pub fn set_enabled(&mut self, name: &str, enabled: bool) -> Result<(), ScheduleError> {
        for at in self.find_all(name)? {
            self.entries[at].enabled = enabled;
        }
        self.restless = true;
        Ok(())
    }

    /// Whether a processor, or each of a group, is switched on.
    ///
    /// # Errors
    /// [`ScheduleError::NoProcessor`] if there is no such group either.
    pub fn is_enabled(&self, name: &str) -> Result<bool, ScheduleError> {
        let all = self.find_all(name)?;
        Ok(all.into_iter().all(|at| self.entries[at].enabled))
    }

    /// Collects what was sent, and lets all signals go that wait for a processor, or for all of a group, if the name is the
    /// path of one: what it [hears](ProcessorBuilder::hears) and has not got, switched off, say; how many, those that wait
    /// for several counted for each. It hears on: see [`SignalReader::discard`](crate::signal::SignalReader::discard).
    /// O(processors + what they hear), what is dropped, and what [collecting](World::collect_signals) takes.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let boar = world.create((10_u32,))?;
    /// let mut schedule = Schedule::new();
    /// schedule.add(
    ///     processor("wound", |mut wounded: Signalled<&mut u32>| {
    ///         let _ = wounded.deliver(|health, received| *health -= received.len() as u32);
    ///     })
    ///     .hears::<()>("hit")
    ///     .enabled(false),
    /// );
    /// schedule.run(&mut world)?;
    /// let hit = world.signal::<()>("hit")?;
    /// world.signals().send(hit, boar, ());
    /// assert_eq!(schedule.discard_signals(&mut world, "wound")?, 1);
    /// schedule.set_enabled("wound", true)?;
    /// schedule.run(&mut world)?;
    /// assert_eq!(world.get::<u32>(boar)?, &10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ScheduleError::NoProcessor`] if there is no such group either; [`ScheduleError::OtherWorld`] if it has run on
    /// another one, which still lives.
    ///
    /// # Panics
    /// If the `drop` of what a signal carried panics: all is gone then.
    pub fn discard_signals(
        &mut self,
        world: &mut World,
        name: &str,
    ) -> Result<usize, ScheduleError> {
        let all = self.find_all(name)?;
        if !self.is_of(world)? {
            return Ok(0);
        }
        let (mut count, mut panicked) = (0, None);
        note(&mut panicked, || world.collect_signals());
        for at in all {
            let runner = &mut self.crew[at].get_mut().runner;
            count += runner.discard(world, &mut panicked);
        }
        resume(panicked);
        Ok(count)
    }

    /// Whether processors run side by side.
    pub fn set_execution(&mut self, execution: Execution) -> &mut Self {
        self.execution = execution;
        self
    }

    /// How many processors there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether some processor is bound to the thread that runs the schedule.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.entries.iter().any(|entry| entry.main_thread)
    }

    /// The names of processors that keep a [`Local`](super::Local) with a value, in the order in which they were added: no
    /// [file](World::save) has that, and on another world, also one that is loaded, it begins anew. Where processors keep
    /// nothing, a world that [goes back](crate::processor::Simulation::roll_back_to) goes on as it did then. A program, or
    /// its tests, can see by it that nothing is forgotten, as by [`World::unsaved`] of a world. (What a closure captures, or
    /// a [`Processor`](super::Processor) has in its fields, nobody can see; nor is said who asks what has
    /// [changed](crate::query::Changed).) What is to be saved is a resource of a type of its own, which is [part of the
    /// state](crate::fragment::FragmentRegistry::register_state). O(processors).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Copy, Default)]
    /// #[repr(transparent)]
    /// struct Waves(u32);
    /// megachunk::plain!(Waves { 0 });
    ///
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("spawn", |mut waves: Local<Waves>| waves.0 += 1));
    /// assert_eq!(schedule.unsaved(), ["spawn"]);
    /// // It runs beside the same others: nobody else asks for it.
    /// let mut world = World::new();
    /// world.registry().register_state_as::<Waves>("waves")?;
    /// world.resources_mut().insert(Waves(0));
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("spawn", |waves: &mut Waves| waves.0 += 1));
    /// assert!(schedule.unsaved().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unsaved(&self) -> Vec<&str> {
        let keeping = self.entries.iter().filter(|entry| entry.keeps);
        keeping.map(|entry| entry.name.as_str()).collect()
    }

    pub(super) fn find(&self, name: &str) -> Result<usize, ScheduleError> {
        let at = self.entries.iter().position(|entry| entry.name == name);
        at.ok_or_else(|| ScheduleError::NoProcessor {
            name: name.into(),
            nearest: nearest(name, self.entries.iter().map(|entry| &*entry.name)).map(Into::into),
        })
    }

    /// The processor of this name, or those of the group with this path. (No order has a name for both.)
    fn find_all(&self, name: &str) -> Result<Vec<usize>, ScheduleError> {
        let found = self.find(name);
        if found.is_err() {
            let entries = self.entries.iter().enumerate();
            let members = entries.filter(|(_, entry)| entry.is_in(name));
            let members: Vec<usize> = members.map(|(at, _)| at).collect();
            if !members.is_empty() {
                return Ok(members);
            }
        }
        found.map(|at| vec![at])
    }

    /// Finds what the processors touch and in which order they run, and starts those that were not started.
    /// A run does that too, where something has changed: after
    /// [`collect_archetypes`](World::collect_archetypes), say, which lets a world's archetypes be looked at anew. Called
    /// in the same quiet moment, this takes it out of the next frame.
    ///
    /// # Errors
    /// [`ScheduleError`]: whatever is wrong with the order, a query, a signal or other parameters of a processor, or with its
    /// conditions; [`OtherWorld`](ScheduleError::OtherWorld).
    ///
    /// # Panics
    /// If a processor does when it starts or stops, or what it [keeps](super::Local) is made: with its name. If the `drop`
    /// of a signal's payload does, that nobody wants.
    #[inline]
    pub fn solve(&mut self, world: &mut World) -> Result<(), ScheduleError> {
        self.solve_if_new(world).map_err(|error| *error)
    }

    #[inline]
    pub(super) fn solve_if_new(&mut self, world: &mut World) -> Outcome {
        if !self.restless && self.has_seen(world) {
            return Ok(());
        }
        self.solve_anew(world).map_err(Box::new)
    }

    #[cold]
    fn solve_anew(&mut self, world: &mut World) -> Result<(), ScheduleError> {
        let (anew, archetypes) = (self.plan.is_none(), self.unseen(world));
        let seat = Arc::clone(&world.seat);
        self.noting(&seat, anew, archetypes, |schedule| {
            schedule.solve_now(world)
        })
    }

    /// Solves in a span of its own, and with a place in the trace.
    fn noting(
        &mut self,
        seat: &Seat,
        anew: bool,
        archetypes: usize,
        solve: impl FnOnce(&mut Self) -> Result<(), ScheduleError>,
    ) -> Result<(), ScheduleError> {
        let began = self.trace.is_some().then(Instant::now);
        let solves = || span::solve(anew, archetypes, seat, || solve(self));
        let solved = catch_unwind(AssertUnwindSafe(solves));
        if let (Some(trace), Some(began)) = (&mut self.trace, began) {
            trace.note(Kind::Solve, began, Some(archetypes as u64));
        }
        solved.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// How many of the world's archetypes have not been looked at.
    fn unseen(&self, world: &World) -> usize {
        let plan = self.plan.as_ref();
        plan.map_or(world.archetypes.len(), |plan| plan.unseen(world))
    }

    fn solve_now(&mut self, world: &mut World) -> Result<(), ScheduleError> {
        self.attach(world)?;
        if self.plan.is_none() {
            self.prepare(world)?;
            self.plan = Some(Plan::new(&self.entries, &self.groups)?);
            self.restless = true;
        }
        if self.restless {
            self.subscribe(world)?;
            self.settle(world);
        }
        self.look_now(world)
    }

    /// Whether this world is its own; `false` if it has none, or one that is gone.
    pub(super) fn is_of(&self, world: &World) -> Result<bool, ScheduleError> {
        match &self.of {
            Some(own) if world.seat.is_present(own) => Ok(true),
            Some(own) if own.upgrade().is_some_and(|other| !other.has_ended()) => {
                Err(ScheduleError::OtherWorld)
            }
            _ => Ok(false),
        }
    }

    /// Takes this world for its own, if it has none.
    fn attach(&mut self, world: &World) -> Result<(), ScheduleError> {
        if !self.is_of(world)? {
            let panicked = self.forget();
            self.of = Some(world.seat.presence());
            resume(panicked);
        }
        Ok(())
    }

    /// Belongs to no world any more: the next one that it runs on is its own. Processors that were started are
    /// not stopped: [`stop`](Self::stop) does that. What parameters keep, [`Local`](super::Local) values among
    /// them, is dropped.
    ///
    /// # Panics
    /// If the `drop` of what is kept panics; it belongs to no world then.
    pub fn detach(&mut self) {
        let panicked = self.forget();
        self.of = None;
        resume(panicked);
    }

    pub(super) fn forget(&mut self) -> Panicked {
        let mut panicked = None;
        for (entry, member) in self.entries.iter_mut().zip(&mut self.crew) {
            entry.needs = None;
            entry.subscribed = false;
            entry.started = Started::default();
            member.hold(None);
            note(&mut panicked, || member.get_mut().runner.forget());
        }
        self.plan = None;
        panicked
    }

    /// Stops all processors that have been started. The next run starts them again.
    ///
    /// # Errors
    /// [`ScheduleError::OtherWorld`] if it has run on another one, which still lives: they were not started here.
    ///
    /// # Panics
    /// If the stop of a processor panics, with its name; all are stopped then.
    pub fn stop(&mut self, world: &mut World) -> Result<(), ScheduleError> {
        let mut panicked = None;
        if self.is_of(world)? {
            for at in 0..self.entries.len() {
                note(&mut panicked, || self.stop_one(world, at));
            }
        }
        resume(panicked);
        Ok(())
    }

    /// Stops what of a processor has been started. It is stopped, whoever panics.
    fn stop_one(&mut self, world: &mut World, at: usize) {
        let entry = &mut self.entries[at];
        let started = core::mem::take(&mut entry.started);
        self.restless |= started.processor || started.hook;
        let mut panicked = None;
        if started.processor {
            note(&mut panicked, || self.crew[at].get_mut().runner.stop(world));
        }
        if started.hook
            && let Some(stop) = &mut entry.on_stop
        {
            note(&mut panicked, || stop(world));
        }
        if panicked.is_some() {
            panic_by_name(&entry.name, panicked);
        }
    }

    /// Asks the processors that were not asked yet what they need.
    fn prepare(&mut self, world: &mut World) -> Result<(), ScheduleError> {
        for (entry, member) in self.entries.iter_mut().zip(&mut self.crew) {
            if entry.needs.is_some() {
                continue;
            }
            let mut needs = Needs::default();
            let mut plea = Plea {
                processor: &entry.name,
                needs: &mut needs,
                subscriptions: &entry.subscriptions,
            };
            let runner = &mut member.get_mut().runner;
            // A `Local` is made by users' code.
            by_name(&entry.name, || runner.prepare(world, &mut plea))?;
            if !needs.hears && !entry.subscriptions.is_empty() {
                return Err(ScheduleError::HearsInVain {
                    processor: entry.name.as_str().into(),
                });
            }
            if entry.shows_existing && entry.has_turns {
                return Err(ScheduleError::ShowsNothing {
                    processor: entry.name.as_str().into(),
                });
            }
            entry.needs = Some(needs);
        }
        Ok(())
    }

    /// Those of these net modes subscribe to what they hear. Others would never take what is kept for them. All have, when a
    /// panic goes on of what nobody wants: who subscribed anew would miss what is sent until then.
    fn subscribe(&mut self, world: &mut World) -> Result<(), ScheduleError> {
        let mut panicked = None;
        let subscribed = self.subscribe_noting(world, &mut panicked);
        resume(panicked);
        subscribed
    }

    fn subscribe_noting(
        &mut self,
        world: &mut World,
        panicked: &mut Panicked,
    ) -> Result<(), ScheduleError> {
        for (entry, member) in self.entries.iter_mut().zip(&mut self.crew) {
            let hears = entry.needs.as_ref().is_some_and(|needs| needs.hears);
            let hears = hears && entry.net_modes.intersects(self.net_modes);
            if hears != entry.subscribed {
                let subscriptions = hears.then_some(&entry.subscriptions);
                let runner = &mut member.get_mut().runner;
                let heard = runner.hear(world, subscriptions, &entry.name, panicked);
                if heard.is_err() {
                    // What it has subscribed to by then would be kept, and never read.
                    let _ = runner.hear(world, None, &entry.name, panicked);
                }
                heard?;
                entry.subscribed = hears;
            }
        }
        Ok(())
    }

    /// Starts and stops those that were switched on or off.
    fn settle(&mut self, world: &mut World) {
        let mut waits = false;
        for at in 0..self.entries.len() {
            let entry = &mut self.entries[at];
            if !entry.is_on(self.net_modes) {
                self.stop_one(world, at);
                continue;
            }
            let runner = &mut self.crew[at].get_mut().runner;
            let mut panicked = None;
            note(&mut panicked, || {
                waits |= !entry.start(runner.as_mut(), world)
            });
            if panicked.is_some() {
                panic_by_name(&entry.name, panicked);
            }
        }
        self.restless = waits;
        if let Some(plan) = &mut self.plan
            && plan.aliases.look_again()
        {
            plan.look_again();
        }
        self.pass_by();
    }

    /// Says which processors are passed by.
    fn pass_by(&mut self) {
        let Some(plan) = &mut self.plan else { return };
        for (at, (entry, member)) in self.entries.iter().zip(&mut self.crew).enumerate() {
            let position = plan.order.position_of(at);
            member.get_mut().mode = entry.mode(self.net_modes, plan.conflicts.sees_any(position));
        }
        for segment in &mut plan.segments {
            let (mut ran, mut idle) = (0, 0);
            for processor in segment.processors() {
                match self.crew[processor].get_mut().mode {
                    Mode::Idle => idle += usize::from(self.entries[processor].has_turns),
                    Mode::Runs | Mode::Asks => ran += 1,
                }
            }
            (segment.ran, segment.idle) = (ran, idle);
            // Those that run may be others.
            segment.found = None;
        }
    }

    /// Looks at the archetypes that have come. Before each segment: who has the world to itself can have put another
    /// one in its place, for which nothing is prepared.
    #[inline]
    pub(super) fn look(&mut self, world: &World) -> Outcome {
        if self.has_seen(world) {
            return Ok(());
        }
        self.look_closer(world).map_err(Box::new)
    }

    /// Whether this world is its own, and no archetype has come since the last look.
    #[inline]
    fn has_seen(&self, world: &World) -> bool {
        // A plan goes with the world that it is for, and has seen none but that.
        self.plan.as_ref().is_some_and(|plan| plan.has_seen(world))
    }

    #[cold]
    fn look_closer(&mut self, world: &World) -> Result<(), ScheduleError> {
        let archetypes = self.unseen(world);
        self.noting(&world.seat, false, archetypes, |schedule| {
            schedule.look_now(world)
        })
    }

    fn look_now(&mut self, world: &World) -> Result<(), ScheduleError> {
        if !self.is_of(world)? {
            return Err(ScheduleError::OtherWorld);
        }
        let Some(plan) = &mut self.plan else {
            return Ok(());
        };
        if !plan.look(world) {
            return Ok(());
        }
        if let Some(alias) = plan.aliases.look(world, &self.entries, self.net_modes) {
            plan.look_again();
            let name = |id| -> Box<str> {
                let info = world.registry().get(id);
                info.map_or("", |info| info.name()).into()
            };
            return Err(ScheduleError::Aliased {
                processor: (&*self.entries[alias.entry].name).into(),
                name: name(alias.fragment),
                resource: false,
                apart_by: alias.apart_by.map(name),
            });
        }
        self.pass_by();
        Ok(())
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.entries.iter().map(|entry| &*entry.name);
        f.debug_list().entries(names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::{Composite, processor};

    #[test]
    fn equal_orders_of_a_group_are_kept_once_and_leave_the_plan() {
        let mut world = World::new();
        let mut schedule = Schedule::new();
        schedule.add(processor("draw", || {}));
        schedule.add(processor("fall", || {}).group("Physics"));
        let order = |schedule: &mut Schedule| {
            schedule.group_before("Physics", "draw");
            schedule.group_before("Physics", Target::from("draw").flushed());
            schedule.group_after("Physics", Target::from("ghost").optional());
            schedule.group_before(Target::from("Mods").optional(), "draw");
            schedule.add_composite(Composite::new("Nobody", []).before("draw"));
        };
        order(&mut schedule);
        schedule.run(&mut world).unwrap();
        for _ in 0..100 {
            order(&mut schedule);
        }
        assert_eq!(schedule.groups.len(), 5);
        assert!(schedule.plan.is_some(), "nothing has changed");
        assert_eq!(schedule.remove_group_orders("Physics"), 3);
        assert_eq!(schedule.remove_group_orders("Physics"), 0);
        assert!(schedule.plan.is_none());
        schedule.run(&mut world).unwrap();
    }
}
