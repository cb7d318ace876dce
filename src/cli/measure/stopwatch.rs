//! `Stopwatch`: a worker's own record of when it began and ended each timed span.

use std::time::{Duration, Instant};

use super::Barrier;

/// What a worker did to shared memory in one span; known only with the feature `probe`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Read-modify-writes.
    pub rmw: u64,
    /// Claims lost to another thread.
    pub failed_claims: u64,
}

/// One timed stretch of one worker.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The workload's phase that it belongs to.
    pub phase: usize,
    /// Operations that this worker did in it.
    pub operations: u64,
    /// When the worker began.
    pub start: Instant,
    /// When it had done everything.
    pub end: Instant,
    /// What it counted, in a counting run.
    pub counted: Option<Counted>,
    /// Resident memory of the process after the span, where the workload asks for it.
    pub resident: Option<u64>,
}

/// A worker's stopwatch for one repetition.
///
/// All workers of the repetition must time the same phases in the same order: they meet before
/// each.
#[derive(Debug)]
pub struct Stopwatch<'a> {
    meet: &'a Barrier,
    counting: bool,
    spans: Vec<Span>,
}

impl<'a> Stopwatch<'a> {
    /// A stopwatch of one of the workers that meet at `meet`. A `counting` one counts accesses
    /// to shared memory besides, if the program can; its times are then to be thrown away.
    #[must_use]
    pub fn new(meet: &'a Barrier, counting: bool) -> Self {
        Self {
            meet,
            counting,
            spans: Vec::with_capacity(64),
        }
    }

    /// Waits for the other workers, then runs and times `work`, which does `operations`
    /// operations on this worker.
    #[inline]
    pub fn time<R>(&mut self, phase: usize, operations: u64, work: impl FnOnce() -> R) -> R {
        self.meet.wait();
        let mut result = None;
        let start = Instant::now();
        let counted = if self.counting {
            count(|| result = Some(work()))
        } else {
            result = Some(work());
            None
        };
        let end = Instant::now();
        self.spans.push(Span {
            phase,
            operations,
            start,
            end,
            counted,
            resident: None,
        });
        result.expect("the work was done one way or the other")
    }

    /// Records a span that the workload timed itself, from pieces that lie apart: it counts as
    /// if it had taken `spent` without a break.
    pub fn record(&mut self, phase: usize, operations: u64, spent: Duration) {
        let start = Instant::now();
        self.spans.push(Span {
            phase,
            operations,
            start,
            end: start + spent,
            counted: None,
            resident: None,
        });
    }

    /// Notes the resident memory of the process with the last span.
    pub fn note_resident(&mut self, bytes: u64) {
        if let Some(span) = self.spans.last_mut() {
            span.resident = Some(bytes);
        }
    }

    /// Waits for the other workers, outside all timing.
    pub fn meet(&self) {
        self.meet.wait();
    }

    /// What was timed, in order.
    #[must_use]
    pub fn into_spans(self) -> Vec<Span> {
        self.spans
    }
}

#[cfg(feature = "probe")]
fn count(work: impl FnOnce()) -> Option<Counted> {
    let counts = crate::sync::probe::measure(work);
    Some(Counted {
        rmw: counts.rmw,
        failed_claims: counts.failed_claims,
    })
}

#[cfg(not(feature = "probe"))]
fn count(work: impl FnOnce()) -> Option<Counted> {
    work();
    None
}
