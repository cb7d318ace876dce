//! `Schedule`: the processors of a world.

mod group_orders;
mod info;
mod members;
mod precedences;
mod seat;
mod solve;

use core::fmt;
use std::sync::Weak;

use crate::observer::Precedence;
use crate::processor::entry::Entry;
use crate::processor::executor::MemberCell;
use crate::processor::member::{Member, Mode};
use crate::processor::plan::Plan;
use crate::processor::solver::GroupOrder;
use crate::processor::{Execution, NetModes, ProcessorBuilder, ScheduleReport};
use crate::world::Presence;

pub use info::ProcessorInfo;
use precedences::Precedences;

/// The processors of a world: in which order they run, and which at the same time.
///
/// A [run](Self::run) goes through the [phases](super::Phase). In each the processors run in the
/// order that they ask for; those that touch nothing in common may run side by side, on the threads
/// of the current rayon pool (or the program's own [workers](crate::workers)), with the same result as one after the other:
/// their commands, their
/// signals and the versions of what they change come in the order of the schedule; so do the
/// signals of exclusive processors, and of closures and observers that a flush runs, at the place
/// of that flush. Two touch something in common if one writes what the other reads or writes and
/// there is an archetype that both see; resources always count, const shared values never. Commands
/// are flushed after each phase, where an order asks for it ([`Target::flushed`](super::Target::flushed)), and
/// before and after an [exclusive](super::exclusive_processor) processor.
///
/// *Seeing it:* each run, each phase that has processors, each run of a processor, each flush, and what else may take long
/// now and then, is a [span of `tracing`](crate#what-it-tells), at the level of debugging; [timings](Self::set_measured), a
/// [trace](Self::start_trace) for Perfetto. A processor's span is in its phase's, and what is told from within its parallel
/// loops is in the processor's, on whatever thread that is.
///
/// *Locks:* a processor that waits for its own parallel loop may run other processors meanwhile, as any code on rayon
/// does (with [workers](crate::workers) of the program's own, if their `yield_now` runs jobs). One that holds a lock then, which another one takes too, may wait for itself for ever.
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
    precedences: Precedences,
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
        let precedence = self.precedences.next();
        let (entry, member) = self.hired(processor, precedence);
        self.crew.push(member);
        self.entries.push(entry);
        self.plan = None;
        self.restless = true;
        self
    }

    /// A processor, taken apart: what the schedule knows of it, and what the executor does.
    fn hired(&self, processor: ProcessorBuilder, precedence: Precedence) -> (Entry, MemberCell) {
        let (entry, runner) = Entry::new(processor, precedence);
        if let Some(watch) = runner.stopwatch() {
            watch.want(self.wanted());
        }
        let member = MemberCell::new(Member {
            name: entry.name.as_str().into(),
            runner,
            mode: Mode::Runs,
            pieces: (0, 0),
            failure: None,
            timing: Box::default(),
        });
        (entry, member)
    }

    /// The net modes that this program is in: processors for others are passed by, and hear nothing. (Signals that come
    /// meanwhile are not kept for them. In their mode again, they hear what is sent after the next run has begun.) All
    /// unless that is said.
    pub fn set_net_modes(&mut self, net_modes: NetModes) -> &mut Self {
        self.net_modes = net_modes;
        self.restless = true;
        self
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
    /// [file](crate::world::World::save) has that, and on another world, also one that is loaded, it begins anew. Where processors keep
    /// nothing, a world that [goes back](crate::processor::Simulation::roll_back_to) goes on as it did then. A program, or
    /// its tests, can see by it that nothing is forgotten, as by [`World::unsaved`](crate::world::World::unsaved) of a world. (What a closure captures, or
    /// a [`Processor`](super::Processor) has in its fields, nobody can see; nor is said who asks what has
    /// [changed](crate::query::Changed), or [runs if that has](ProcessorBuilder::run_if_changed).) What is to be saved is a resource of a type of its own, which is [part of the
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
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.entries.iter().map(|entry| &*entry.name);
        f.debug_list().entries(names).finish()
    }
}
