//! Running a schedule: phase by phase, segment by segment, with what comes before, between and after them.

mod exclusive;
mod finish;
mod flush;
mod segment;
mod stripes;

use core::ops::Range;
use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};
use std::time::Instant;

use tracing::Span;

use crate::processor::plan::Plan;
use crate::processor::report::Progress;
use crate::processor::trace::Kind;
use crate::processor::watch::{Unwatched, Watch};
use crate::processor::{Phase, Schedule, ScheduleError, ScheduleReport, Time};
use crate::span;
use crate::world::{Version, World};

pub(super) use finish::refused;
use flush::{collect_signals, flush};

/// What became of a part of a run.
pub(super) type Outcome = Result<(), Box<ScheduleError>>;

impl Schedule {
    /// Runs all phases once. What was recorded or sent before comes before what the processors
    /// record and send. (Processors that get signals subscribe when the schedule is solved for the
    /// world, at the latest in its first run: what was sent before that is not for them.)
    ///
    /// # Errors
    /// [`ScheduleError`]. What had run until then stays done: [`broken_off`](Self::broken_off). After a processor [failed](ScheduleError::Failed), what
    /// had been recorded waits for the next flush, and those that run beside it may have run or not. Of several that fail,
    /// the first in order is told; none if one panics.
    ///
    /// # Panics
    /// If a processor panics, when it runs, starts or stops, or what it [keeps](super::Local) is made:
    /// with its name and, if it is text, what it panicked with. If users' code panics in a flush, or the `drop` of a
    /// signal's payload: with what it panicked with.
    pub fn run(&mut self, world: &mut World) -> Result<ScheduleReport, ScheduleError> {
        self.run_all(world, &mut Unwatched)
    }

    /// Runs all phases once, and shows the world to somebody each time that it has changed.
    #[inline]
    pub(super) fn run_all(
        &mut self,
        world: &mut World,
        watch: &mut impl Watch,
    ) -> Result<ScheduleReport, ScheduleError> {
        let mut progress = Progress::default();
        let outcome = if self.trace.is_some() || span::is_heard() {
            self.run_noting(world, &mut progress, watch)
        } else {
            self.run_phases(world, &mut progress, watch)
        };
        self.end(outcome, &mut progress)
    }

    /// Runs all phases once, in a span of its own, and with a place in the trace.
    #[cold]
    fn run_noting(
        &mut self,
        world: &mut World,
        progress: &mut Progress,
        watch: &mut impl Watch,
    ) -> Outcome {
        let tick = world.resources().get::<Time>().map(|time| time.tick);
        let began = Instant::now();
        let runs = || span::run(world, |world| self.run_phases(world, progress, watch));
        let outcome = catch_unwind(AssertUnwindSafe(runs));
        if let Some(trace) = &mut self.trace {
            trace.note(Kind::Run, began, tick);
        }
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// What the last run, or [phase](Self::run_phase), had done until an error ended it: who had run, and what its flushes
    /// did and refused, which the error does not say. `None` if it came to its end, or somebody panicked.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let boar = world.create((1_u32,))?;
    /// world.destroy(boar)?;
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("feed", move |mut commands: Commands| commands.set(boar, 2_u32)));
    /// schedule.add(processor("fail", || -> ProcessorResult { Err("no".into()) }).after(Target::from("feed").flushed()));
    /// assert!(schedule.run(&mut world).is_err());
    /// let done = schedule.broken_off().map(|report| report.flush.dead);
    /// assert_eq!(done, Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn broken_off(&self) -> Option<&ScheduleReport> {
        self.broken_off.as_deref()
    }

    #[inline(always)]
    fn end(
        &mut self,
        outcome: Outcome,
        progress: &mut Progress,
    ) -> Result<ScheduleReport, ScheduleError> {
        match outcome {
            Ok(()) => Ok(progress.report()),
            Err(error) => {
                self.broken_off = Some(Box::new(progress.report()));
                Err(*error)
            }
        }
    }

    fn run_phases(
        &mut self,
        world: &mut World,
        progress: &mut Progress,
        watch: &mut impl Watch,
    ) -> Outcome {
        self.begin(world, progress, watch)?;
        if !span::is_heard() {
            let all = (Phase::PrePhysics, Phase::FrameEnd);
            return self.run_segments(world, all, None, progress, watch);
        }
        let mut phases = Phase::ALL.iter().copied();
        phases.try_for_each(|phase| self.go_through(world, phase, progress, watch))
    }

    /// Runs one phase once: for hosts whose frame has more to do between phases.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    ///
    /// # Panics
    /// As for [`run`](Self::run).
    pub fn run_phase(
        &mut self,
        world: &mut World,
        phase: Phase,
    ) -> Result<ScheduleReport, ScheduleError> {
        let mut progress = Progress::default();
        let watch = &mut Unwatched;
        let begun = self.begin(world, &mut progress, watch);
        let outcome = begun.and_then(|()| self.go_through(world, phase, &mut progress, watch));
        self.end(outcome, &mut progress)
    }

    /// The processor whose turn had a version, when its phase ran last: so
    /// [`change_version`](crate::world::EntityView::change_version) says who wrote a value last, or another one of the same
    /// fragment in the same chunk. Each turn has a version of its own, or several, if it has the world to itself. O(parts
    /// between flushes).
    ///
    /// `None` for what no processor has changed itself: who had the world between runs, what commands did when they were
    /// flushed, whoever recorded them, and observers. Nor is anything known of runs before the last one, nor of the last
    /// one once processors have been added or removed since, or put into another order, or the schedule was [detached](Self::detach), nor of one that was
    /// [watched](Self::run_watched). Of one that has the world to itself is all that happened in its turn. To have been
    /// lent to be written is to be changed, here as everywhere.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let stone = world.create((10_i32,))?;
    /// let mut schedule = Schedule::new();
    /// schedule
    ///     .add(processor("fall", |mut all: QueryRun<&mut i32>| all.for_each(|height| *height -= 1)))
    ///     .add(processor("look", |mut all: QueryRun<&i32>| assert_eq!(all.count(), 1)));
    /// schedule.run(&mut world)?;
    /// let changed = |world: &World| world.entity(stone).ok()?.change_version::<i32>();
    /// assert_eq!(changed(&world).and_then(|version| schedule.ran_at(version)), Some("fall"));
    /// *world.get_mut::<i32>(stone)? = 20;
    /// assert_eq!(changed(&world).and_then(|version| schedule.ran_at(version)), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn ran_at(&self, version: Version) -> Option<&str> {
        let mut segments = self.plan.as_ref()?.segments.iter();
        let processor = segments.find_map(|segment| segment.ran_at(version.to_bits()))?;
        Some(&self.entries[processor].name)
    }

    /// What comes before the first processor.
    #[inline]
    fn begin(
        &mut self,
        world: &mut World,
        progress: &mut Progress,
        watch: &mut impl Watch,
    ) -> Outcome {
        self.broken_off = None;
        self.solve_if_new(world)?;
        // Commands and signals come by the ranks of those who left them, which mean nothing in another run: what
        // is left from before comes first.
        flush(world, progress, &mut self.trace);
        if let Some(plan) = &self.plan {
            world.ranks.know(&plan.names);
        }
        // Whether anybody hears them here or not: a host's readers do, and what is not collected piles up.
        collect_signals(world, &mut self.trace);
        watch.flushed(world);
        Ok(())
    }

    /// Runs a phase, if something runs in it, in a span of its own.
    fn go_through(
        &mut self,
        world: &mut World,
        phase: Phase,
        progress: &mut Progress,
        watch: &mut impl Watch,
    ) -> Outcome {
        let segments = self.segments(phase, phase);
        if segments.is_empty() {
            return Ok(());
        }
        span::phase(phase.name(), world, |world, span| {
            self.run_segments(world, (phase, phase), span, progress, watch)
        })
    }

    #[inline]
    fn segments(&self, first: Phase, last: Phase) -> Range<usize> {
        let of_phases = |plan: &Plan| plan.of_phases(first, last);
        self.plan.as_ref().map_or(0..0, of_phases)
    }

    /// Runs the segments of phases that follow each other, in the span of the phase, if it is heard.
    #[inline]
    fn run_segments(
        &mut self,
        world: &mut World,
        (first, last): (Phase, Phase),
        phase: Option<&Span>,
        progress: &mut Progress,
        watch: &mut impl Watch,
    ) -> Outcome {
        for at in self.segments(first, last) {
            self.look(world)?;
            self.run_segment(world, at, phase, progress, watch)?;
        }
        Ok(())
    }
}
