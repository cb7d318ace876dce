//! `Course`: one workload on its way through the repetitions that criterion asks for.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use megachunk::cli::measure::{PhaseTotal, Pool, Span, Subject, repeat_once};

/// One contender on one workload with a number of threads, set up when it is first timed: what a
/// filter leaves out costs nothing.
///
/// It times the same code in the same way as the program's `bench`; criterion only decides how
/// often, and what to make of the times.
pub struct Course<'a> {
    pool: &'a Pool<Vec<Span>>,
    threads: usize,
    phases: usize,
    set_up: Box<dyn Fn() -> Arc<dyn Subject> + 'a>,
    subject: OnceCell<Arc<dyn Subject>>,
}

impl<'a> Course<'a> {
    /// A course of `phases` phases on the first `threads` workers of `pool`.
    pub fn new(
        pool: &'a Pool<Vec<Span>>,
        threads: usize,
        phases: usize,
        set_up: impl Fn() -> Arc<dyn Subject> + 'a,
    ) -> Self {
        Self {
            pool,
            threads,
            phases,
            set_up: Box::new(set_up),
            subject: OnceCell::new(),
        }
    }

    /// The time for `operations` operations of `phase`, from as many as whole rounds are.
    ///
    /// # Panics
    /// When the contender gives a wrong answer.
    #[must_use]
    pub fn time(&self, phase: usize, operations: u64) -> Duration {
        let subject = self.subject.get_or_init(&self.set_up);
        // A round is many operations; how many, only the subject knows.
        let one = self.repeat(subject, phase, 1);
        let rounds = operations / one.operations.max(1);
        let total = match rounds < 2 || subject.is_fixed() {
            true => one,
            false => self.repeat(subject, phase, rounds),
        };
        total
            .took
            .mul_f64(operations as f64 / total.operations.max(1) as f64)
    }

    fn repeat(&self, subject: &Arc<dyn Subject>, phase: usize, rounds: u64) -> PhaseTotal {
        match repeat_once(self.pool, self.threads, self.phases, subject, rounds) {
            Ok(totals) => totals[phase],
            Err(panic) => panic!("{panic}"),
        }
    }
}

impl core::fmt::Debug for Course<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Course")
            .field("threads", &self.threads)
            .field("phases", &self.phases)
            .finish_non_exhaustive()
    }
}

/// One thread, and as many as there are processors.
#[must_use]
pub fn thread_counts() -> Vec<usize> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts = vec![1, cores];
    counts.dedup();
    counts
}
