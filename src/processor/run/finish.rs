//! What follows the processors of a segment: its flush and its place in the trace, or what somebody in it failed with.
//!
//! Must hold: of several that fail one is told, the first in order, a panic before a refusal; what the others failed with is
//! dropped, and nobody hears what that panics with.

use std::time::Instant;

use crate::processor::report::Progress;
use crate::processor::run::Outcome;
use crate::processor::run::flush::{flush, flush_now};
use crate::processor::runner::{Failure, Refusal, panic_by_name};
use crate::processor::trace::Kind;
use crate::processor::{Schedule, ScheduleError};
use crate::query::QueryError;
use crate::span;
use crate::world::World;

impl Schedule {
    /// What follows the processors of a segment.
    #[inline]
    pub(super) fn finish_segment(
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
    pub(super) fn fail(&mut self, world: &World, at: usize) -> Outcome {
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
pub(in crate::processor) fn refused(
    processor: &str,
    error: QueryError,
    world: &World,
) -> Box<ScheduleError> {
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
