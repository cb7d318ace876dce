//! Running a schedule: phase by phase, segment by segment, with what comes before, between and after them.

use std::sync::Arc;
use std::time::Instant;

use crate::command::Stripes;
use crate::processor::entry::Entry;
use crate::processor::executor::{MemberCell, Scene};
use crate::processor::plan::Plan;
use crate::processor::runner::Failure;
use crate::processor::segment::JOINT;
use crate::processor::{Execution, Phase, Schedule, ScheduleError, ScheduleReport, span};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::world::World;

impl Schedule {
    /// Runs all phases once. What was recorded or sent before comes before what the processors record and send.
    ///
    /// # Errors
    /// [`ScheduleError`]. What had run until then stays done.
    ///
    /// # Panics
    /// If a processor panics: with its name and, if it is text, what it panicked with. If users' code panics in a
    /// flush.
    pub fn run(&mut self, world: &mut World) -> Result<ScheduleReport, ScheduleError> {
        let mut report = ScheduleReport::default();
        self.begin(world, &mut report)?;
        for phase in Phase::ALL {
            if self.has(phase) {
                self.go_through(world, phase, &mut report)?;
            }
        }
        Ok(report)
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
        let mut report = ScheduleReport::default();
        self.begin(world, &mut report)?;
        if self.has(phase) {
            self.go_through(world, phase, &mut report)?;
        }
        Ok(report)
    }

    /// What comes before the first processor.
    fn begin(
        &mut self,
        world: &mut World,
        report: &mut ScheduleReport,
    ) -> Result<(), ScheduleError> {
        self.solve(world)?;
        // Commands and signals come by the ranks of those who left them, which mean nothing in another run: what
        // is left from before comes first.
        self.flush(world, report);
        if self.plan.as_ref().is_some_and(|plan| plan.hears) {
            world.collect_signals();
        }
        Ok(())
    }

    /// Whether something runs in a phase.
    #[inline]
    fn has(&self, phase: Phase) -> bool {
        let of_phase = |plan: &Plan| !plan.of_phase(phase).is_empty();
        self.plan.as_ref().is_some_and(of_phase)
    }

    fn go_through(
        &mut self,
        world: &mut World,
        phase: Phase,
        report: &mut ScheduleReport,
    ) -> Result<(), ScheduleError> {
        let segments = self.plan.as_ref().map_or(0..0, |plan| plan.of_phase(phase));
        span::phase(phase.name(), || {
            for at in segments {
                self.look(world)?;
                self.run_segment(world, at, report)?;
            }
            Ok(())
        })
    }

    fn run_segment(
        &mut self,
        world: &mut World,
        at: usize,
        report: &mut ScheduleReport,
    ) -> Result<(), ScheduleError> {
        let Some(plan) = &mut self.plan else {
            return Ok(());
        };
        let segment = &mut plan.segments[at];
        if segment.hears {
            world.collect_signals();
        }
        for &processor in segment
            .vertices
            .iter()
            .filter(|&&processor| processor != JOINT)
        {
            let idle = self.crew[processor as usize].get_mut().idle;
            *(if idle {
                &mut report.idle
            } else {
                &mut report.ran
            }) += 1;
        }
        let version = world.begin_versions(segment.vertices.len() as u32);
        if segment.exclusive {
            return self.run_exclusive(world, at, report);
        }
        let stripes = (segment.commands && world.universe.is_ordered())
            .then(|| stripes(world, &mut self.crew, &self.entries, &segment.vertices));
        let free = self.execution != Execution::Alone
            && segment.is_wide()
            && rayon::current_num_threads() > 1;
        let tried = free && self.execution == Execution::Auto;
        let beside = free && (!tried || segment.habit.choose());
        if beside {
            segment.bag.refill();
        }
        let mut habit = segment.habit;
        // A look at the clock takes longer than some processors.
        let began = tried.then(Instant::now);
        let scene = Scene {
            segment,
            crew: &self.crew,
            world,
            version,
            stripes,
            measured: self.measured,
            failed: AtomicU32::new(0),
        };
        // SAFETY: the crew was prepared in `solve` for the world that this still is, as `look` has seen, and which is
        // this call's alone.
        unsafe {
            if beside {
                scene.run_beside();
            } else {
                scene.run_alone();
            }
        }
        // Ordering: Relaxed: all threads are done.
        let failed = scene.failed.load(Ordering::Relaxed) != 0;
        if let Some(began) = began {
            let took = began.elapsed().as_nanos();
            habit.note(beside, u64::try_from(took).unwrap_or(u64::MAX));
            segment.habit = habit;
        }
        let flush = segment.flush;
        if failed {
            return self.fail(at);
        }
        self.finish_segment(world, at, flush, report);
        Ok(())
    }

    /// Runs a segment's only processor with the world to itself.
    fn run_exclusive(
        &mut self,
        world: &mut World,
        at: usize,
        report: &mut ScheduleReport,
    ) -> Result<(), ScheduleError> {
        let Some(plan) = &self.plan else {
            return Ok(());
        };
        let segment = &plan.segments[at];
        // What was recorded before, it is to see.
        report.flush.add(world.flush());
        for &processor in &segment.vertices {
            if processor == JOINT {
                continue;
            }
            let member = self.crew[processor as usize].get_mut();
            if member.idle {
                continue;
            }
            let mut panicked = None;
            let runner = &mut member.runner;
            let timing = &mut member.timing;
            span::processor(&member.name, || {
                let began = self.measured.then(Instant::now);
                crate::fragment::panic::note(&mut panicked, || runner.run_alone(world));
                if let Some(began) = began {
                    timing.note(began, super::Seen::default());
                }
            });
            if panicked.is_some() {
                member.failure = Some(Failure::Panicked(panicked));
                return self.fail(at);
            }
        }
        self.finish_segment(world, at, true, report);
        Ok(())
    }

    /// What follows the processors of a segment.
    fn finish_segment(
        &mut self,
        world: &mut World,
        at: usize,
        flush: bool,
        report: &mut ScheduleReport,
    ) {
        if let (Some(trace), Some(plan)) = (&mut self.trace, &self.plan) {
            trace.note_segment(&plan.segments[at], &self.entries, &mut self.crew);
        }
        if flush {
            let began = self.trace.is_some().then(Instant::now);
            self.flush(world, report);
            if let (Some(trace), Some(began)) = (&mut self.trace, began) {
                trace.note_flush(began);
            }
        }
    }

    fn flush(&mut self, world: &mut World, report: &mut ScheduleReport) {
        span::flush(|| {
            if !world.is_flushed() {
                Self::flush_now(world, report);
            }
        });
    }

    fn flush_now(world: &mut World, report: &mut ScheduleReport) {
        let flushed = world.flush();
        if !flushed.is_clean() {
            tracing::warn!(report = ?flushed, "a flush could not do all that processors had recorded");
        }
        report.flush.add(flushed);
    }

    /// Goes on with the first failure of a segment, in order.
    fn fail(&mut self, at: usize) -> Result<(), ScheduleError> {
        let Some(plan) = &self.plan else {
            return Ok(());
        };
        let mut first = None;
        for &processor in plan.segments[at].vertices.iter().filter(|&&at| at != JOINT) {
            let member = self.crew[processor as usize].get_mut();
            match member.failure.take() {
                Some(failure) if first.is_none() => first = Some((processor, failure)),
                Some(Failure::Panicked(panicked)) => crate::fragment::panic::forget(panicked),
                _ => {}
            }
        }
        let Some((processor, failure)) = first else {
            return Ok(());
        };
        let name = &*self.entries[processor as usize].name;
        match failure {
            Failure::Refused(crate::query::QueryError::NoResource { name: resource }) => {
                Err(ScheduleError::NoResource {
                    processor: name.into(),
                    name: resource,
                })
            }
            Failure::Refused(error) => Err(ScheduleError::Query {
                processor: name.into(),
                error,
            }),
            Failure::Panicked(payload) => {
                let text = payload.as_ref().and_then(|payload| {
                    let text = payload
                        .downcast_ref::<&str>()
                        .map(|text| (*text).to_owned());
                    text.or_else(|| payload.downcast_ref::<String>().cloned())
                });
                crate::fragment::panic::forget(payload);
                let text = text.unwrap_or_else(|| "with something that is no text".into());
                std::panic::resume_unwind(Box::new(format!("processor `{name}` panicked: {text}")))
            }
        }
    }
}

/// In an ordered universe: which ids are whose.
fn stripes(
    world: &World,
    crew: &mut [MemberCell],
    entries: &[Entry],
    vertices: &[u32],
) -> Arc<Stripes> {
    let chunks: usize = world
        .archetypes
        .iter()
        .map(|archetype| archetype.chunks.len())
        .sum();
    let mut pieces = 0;
    for &processor in vertices.iter().filter(|&&processor| processor != JOINT) {
        let Some(needs) = &entries[processor as usize].needs else {
            continue;
        };
        let first = pieces;
        if needs.parallel_commands {
            // One for a recorder without a key, and for each chunk, or for pieces with numbers.
            pieces += 1 + chunks.max(64);
        } else if needs.commands {
            pieces += 1;
        }
        crew[processor as usize].get_mut().pieces = (first as u32, pieces as u32);
    }
    Arc::new(Stripes::of(world, Some(pieces)))
}
