//! Running a schedule: phase by phase, segment by segment, with what comes before, between and after them.

use core::ops::Range;
use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Instant;

use tracing::Span;

use crate::command::{FlushReport, Source, Stripes, saturated};
use crate::panics::{note, resume, tell};
use crate::processor::entry::Entry;
use crate::processor::executor::{MemberCell, Scene};
use crate::processor::member::Mode;
use crate::processor::plan::Plan;
use crate::processor::report::Progress;
use crate::processor::runner::{Failure, Refusal, panic_by_name};
use crate::processor::segment::Segment;
use crate::processor::trace::Kind;
use crate::processor::watch::{Unwatched, Watch};
use crate::processor::{Execution, Phase, Schedule, ScheduleError, ScheduleReport, Time, Trace};
use crate::query::QueryError;
use crate::signal;
use crate::span;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::fork_join;
use crate::world::{Version, World};

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

    #[inline]
    fn run_segment<W: Watch>(
        &mut self,
        world: &mut World,
        at: usize,
        phase: Option<&Span>,
        progress: &mut Progress,
        watch: &mut W,
    ) -> Outcome {
        let Some(plan) = &mut self.plan else {
            return Ok(());
        };
        if plan.segments[at].found != Some(world.resources().stamp()) {
            self.find_resources(world, at)?;
        }
        let Some(plan) = &mut self.plan else {
            return Ok(());
        };
        let segment = &mut plan.segments[at];
        if segment.hears {
            // Those whose time has come wait for it, too.
            collect_now(world, &mut self.trace);
        }
        progress.ran += segment.ran;
        progress.idle += segment.idle;
        if segment.exclusive {
            return self.run_exclusive(world, at, phase, progress, watch);
        }
        let version = world.begin_versions(segment.vertices.len() as u32);
        let first = world.moment(version);
        segment.versions = match W::WATCHES {
            // Whoever is shown the world makes versions between them.
            true => 0..0,
            false => first..first + segment.vertices.len() as u64,
        };
        let stripes = (segment.commands && world.universe.is_ordered())
            .then(|| stripes(world, &mut self.crew, &self.entries, segment));
        let may = !W::WATCHES && self.execution != Execution::Alone;
        let free = segment.wide && may && fork_join::threads() > 1;
        let tried = free && self.execution == Execution::Auto;
        let beside = free && (!tried || segment.habit.choose(&mut progress.trial));
        if tried && segment.habit.begins_trial() {
            let first = segment.processors().next();
            tell_of_trial(world, beside, first.map(|first| &self.entries[first]));
        }
        if beside {
            segment.bag.refill();
            segment.queue.clear();
        }
        // A look at the clock takes longer than some processors.
        let began = tried.then(Instant::now);
        let heard = span::is_heard();
        let scene = Scene {
            segment,
            crew: &self.crew,
            world,
            version,
            plan: plan.names.number(),
            stripes,
            measured: self.measured,
            heard,
            observed: self.measured || heard,
            phase,
            failed: AtomicU32::new(0),
            passed_by: AtomicU32::new(0),
        };
        // SAFETY: the crew was prepared in `solve` for the world that this still is, as `look` has seen, and which is
        // this call's alone.
        unsafe {
            if beside {
                scene.run_beside();
            } else {
                scene.run_alone(watch);
            }
        }
        // Ordering: Relaxed: all threads are done.
        let failed = scene.failed.load(Ordering::Relaxed) != 0;
        progress.pass_by(scene.passed_by.load(Ordering::Relaxed) as usize);
        if let Some(began) = began {
            let took = began.elapsed().as_nanos();
            let took = u64::try_from(took).unwrap_or(u64::MAX);
            segment.habit.note(beside, took);
        }
        if failed {
            return self.fail(world, at);
        }
        let flush_follows = segment.flush;
        self.finish_segment(world, at, flush_follows, progress);
        if flush_follows {
            watch.flushed(world);
        }
        Ok(())
    }

    /// Sees to it that what a segment's processors ask for is there: of several that miss something, which is named, and
    /// who has run by then, would depend on who is quicker. Not for those with conditions, which need not hold. (Who has
    /// the world to itself asks for nothing.)
    #[cold]
    fn find_resources(&mut self, world: &mut World, at: usize) -> Outcome {
        let Some(plan) = &mut self.plan else {
            return Ok(());
        };
        let segment = &mut plan.segments[at];
        for processor in segment.processors() {
            let member = self.crew[processor].get_mut();
            if member.mode != Mode::Runs {
                continue;
            }
            if let Some(error) = member.runner.missing(world) {
                return Err(refused(&self.entries[processor].name, error, world));
            }
        }
        segment.found = Some(world.resources().stamp());
        Ok(())
    }

    /// Runs a segment's only processor with the world to itself.
    fn run_exclusive(
        &mut self,
        world: &mut World,
        at: usize,
        phase: Option<&Span>,
        progress: &mut Progress,
        watch: &mut impl Watch,
    ) -> Outcome {
        // What was recorded before, it is to see.
        flush(world, progress, &mut self.trace);
        watch.flushed(world);
        // That too can have put another world in its place.
        self.look(world)?;
        let Some(plan) = &mut self.plan else {
            return Ok(());
        };
        // What the flush has changed has another version, and so has what the one after it will.
        let first = world.next_moment();
        let segment = &mut plan.segments[at];
        segment.versions = 0..0;
        let (mut panicked, mut failed, mut ran) = (None, false, None);
        let before = world.ranks.alone();
        let heard = span::is_heard();
        for processor in segment.processors() {
            let cell = &mut self.crew[processor];
            let member = cell.get_mut();
            if member.mode == Mode::Idle {
                continue;
            }
            let rank = plan.order.position_of(processor);
            let plan = plan.names.number();
            world.ranks.set_alone(Source { plan, rank });
            let runner = &mut member.runner;
            let timing = &mut member.timing;
            let mut outcome = Ok(true);
            span::processor(heard, phase, &member.name, || {
                let measured = self.measured.then(|| timing.begin());
                note(&mut panicked, || outcome = runner.run_alone(world));
                if let Some(measured) = measured {
                    let began = measured.began;
                    let took = measured.end();
                    let has_run = match &outcome {
                        Ok(has_run) => *has_run,
                        Err(refusal) => !matches!(**refusal, Refusal::Query(_)),
                    };
                    if has_run {
                        timing.note(began, took, super::Seen::default());
                    }
                }
            });
            match outcome {
                _ if panicked.is_some() => {
                    member.failure = Some(Failure::Panicked(panicked.take()));
                    failed = true;
                }
                Ok(true) => {
                    ran = Some(processor);
                    if member.mode == Mode::Asks {
                        cell.hold(None);
                    }
                }
                Ok(false) => {
                    member.timing.began = None;
                    let held = member.runner.held_by();
                    cell.hold(held);
                    progress.pass_by(1);
                }
                Err(refusal) => {
                    if matches!(*refusal, Refusal::Query(_)) {
                        member.timing.began = None;
                    }
                    member.failure = Some(Failure::Refused(*refusal));
                    cell.hold(None);
                    failed = true;
                }
            }
        }
        // Another world that it has put in the place of its own has versions of its own.
        if let (Ok(true), Some(plan)) = (self.is_of(world), &mut self.plan) {
            plan.segments[at].versions = first..world.next_moment();
            world.ranks.set_alone(before);
        }
        if failed {
            return self.fail(world, at);
        }
        if let Some(processor) = ran {
            watch.ran(world, &self.entries[processor].name);
        }
        self.finish_segment(world, at, true, progress);
        // As after a flush; what it has sent, and what a schedule has that it ran.
        collect_signals(world, &mut self.trace);
        watch.flushed(world);
        Ok(())
    }

    /// What follows the processors of a segment.
    #[inline]
    fn finish_segment(
        &mut self,
        world: &mut World,
        at: usize,
        flush_follows: bool,
        progress: &mut Progress,
    ) {
        if self.trace.is_some() {
            self.finish_traced(world, at, flush_follows, progress);
        } else if flush_follows {
            flush(world, progress, &mut None);
        }
    }

    #[cold]
    fn finish_traced(
        &mut self,
        world: &mut World,
        at: usize,
        flush_follows: bool,
        progress: &mut Progress,
    ) {
        self.note_segment(at);
        if !flush_follows {
            return;
        }
        let began = Instant::now();
        if span::is_flush_heard() || !world.is_flushed() {
            flush_now(world, progress, &mut self.trace);
        } else if let Some(trace) = &mut self.trace {
            // It is noted, whether there was anything or not.
            trace.note(Kind::Flush, began, Some(0));
        }
    }

    /// Notes in the trace which processors of a segment have run.
    fn note_segment(&mut self, at: usize) {
        // Else what members know is of a run before.
        if self.measured
            && let (Some(trace), Some(plan)) = (&mut self.trace, &self.plan)
        {
            trace.note_segment(&plan.segments[at], &self.entries, &mut self.crew);
        }
    }

    /// Goes on with the first panic of a segment, in order; with the first refusal if nobody has panicked: what a
    /// processor was refused the caller may look for, and a panic must not be lost by that.
    #[cold]
    fn fail(&mut self, world: &World, at: usize) -> Outcome {
        self.note_segment(at);
        let Some(plan) = &self.plan else {
            return Ok(());
        };
        let mut first: Option<(usize, Failure)> = None;
        for processor in plan.segments[at].processors() {
            let Some(failure) = self.crew[processor].get_mut().failure.take() else {
                continue;
            };
            let is_first = match &first {
                None => true,
                Some((_, first)) => first.is_refusal() && !failure.is_refusal(),
            };
            let other = if is_first {
                first.replace((processor, failure)).map(|(_, other)| other)
            } else {
                Some(failure)
            };
            // What users' errors and payloads do when they end is nobody's business here.
            other.into_iter().for_each(Failure::forget);
        }
        let Some((processor, failure)) = first else {
            return Ok(());
        };
        let name = &*self.entries[processor].name;
        match failure {
            Failure::Refused(Refusal::Query(error)) => Err(refused(name, error, world)),
            Failure::Refused(Refusal::Failed(error)) => Err(Box::new(ScheduleError::Failed {
                processor: name.into(),
                error,
            })),
            Failure::Panicked(payload) => panic_by_name(name, payload),
        }
    }
}

/// A processor was refused what it asks for.
#[cold]
pub(super) fn refused(processor: &str, error: QueryError, world: &World) -> Box<ScheduleError> {
    let processor = processor.into();
    Box::new(match error {
        QueryError::NoResource { name } => {
            let mut fragments = world.registry().iter();
            ScheduleError::NoResource {
                processor,
                is_fragment: fragments.any(|info| info.name() == &*name),
                name,
            }
        }
        error => ScheduleError::Query { processor, error },
    })
}

/// Collects signals, if any were sent, with a place in the trace.
#[inline]
fn collect_signals(world: &mut World, trace: &mut Option<Trace>) {
    if !signal::is_collected(world) {
        collect_now(world, trace);
    }
}

#[inline]
fn collect_now(world: &mut World, trace: &mut Option<Trace>) {
    match trace {
        None => world.collect_signals(),
        Some(trace) => collect_noting(world, trace),
    }
}

#[cold]
fn collect_noting(world: &mut World, trace: &mut Trace) {
    let began = Instant::now();
    let mut panicked = None;
    note(&mut panicked, || world.collect_signals());
    trace.note(Kind::Collect, began, None);
    resume(panicked);
}

/// Flushes, in a span of its own, and with a place in the trace, if that can do anything or anybody listens.
#[inline]
fn flush(world: &mut World, progress: &mut Progress, trace: &mut Option<Trace>) {
    if span::is_flush_heard() || !world.is_flushed() {
        flush_now(world, progress, trace);
    }
}

#[inline(never)]
fn flush_now(world: &mut World, progress: &mut Progress, trace: &mut Option<Trace>) {
    let flushed = if trace.is_some() {
        flush_noting(world, trace)
    } else {
        flush_in_span(world, trace)
    };
    progress.note_flush(flushed);
}

#[inline(always)]
fn flush_in_span(world: &mut World, trace: &mut Option<Trace>) -> FlushReport {
    span::flush(world, |world| {
        let flushed = world.flush();
        // What closures and observers have sent comes before what processors send that run later;
        // and nobody knows these by their places.
        collect_signals(world, trace);
        flushed.tell_of_refused(world, "processors, or what runs beside them");
        flushed
    })
}

#[cold]
fn flush_noting(world: &mut World, trace: &mut Option<Trace>) -> FlushReport {
    let began = Instant::now();
    let flushed = catch_unwind(AssertUnwindSafe(|| flush_in_span(world, trace)));
    if let Some(trace) = trace {
        // How much it was nobody knows, if it panicked.
        let flushed = flushed.as_ref().ok();
        let amount = flushed.map(|flushed| (flushed.commands + flushed.created) as u64);
        trace.note(Kind::Flush, began, amount);
    }
    flushed.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Says that processors run the other way than is their habit, to see which is quicker.
#[cold]
fn tell_of_trial(world: &World, beside: bool, first: Option<&Entry>) {
    tell(|| {
        tracing::debug!(
            name: "execution_tried",
            target: "megachunk::schedule",
            world = %world.seat,
            beside,
            first = first.map(|entry| &*entry.name),
            "processors are tried another way, which may take longer"
        );
    });
}

/// Sort keys for which ids are set aside where neither chunks nor the processor say that it takes more.
const PIECES: usize = 64;

/// In an ordered universe: which ids are whose.
fn stripes(
    world: &World,
    crew: &mut [MemberCell],
    entries: &[Entry],
    segment: &Segment,
) -> Arc<Stripes> {
    let chunks: usize = world
        .archetypes
        .iter()
        .map(|archetype| archetype.chunks.len())
        .sum();
    let mut pieces = 0_usize;
    for processor in segment.processors() {
        let Some(needs) = &entries[processor].needs else {
            continue;
        };
        let first = pieces;
        if needs.parallel_commands {
            // One for a recorder without a key, and for each chunk, or for pieces with numbers.
            let asked = entries[processor].pieces as usize;
            pieces = pieces
                .saturating_add(chunks.max(PIECES).max(asked))
                .saturating_add(1);
        } else if needs.commands {
            pieces = pieces.saturating_add(1);
        }
        crew[processor].get_mut().pieces = (saturated(first), saturated(pieces));
    }
    Arc::new(Stripes::of(world, Some(pieces)))
}
