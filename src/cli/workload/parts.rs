//! `Parts`: what each worker owns from one repetition to the next.

use crossbeam_utils::CachePadded;
use std::sync::{Mutex, MutexGuard};

/// One value for each worker, kept across repetitions. Each is locked once a repetition, by its
/// worker alone and outside the timed spans.
#[derive(Debug)]
pub struct Parts<T>(Vec<CachePadded<Mutex<T>>>);

impl<T> Parts<T> {
    /// One value for each of `workers`, made by `part` from its number.
    pub fn new(workers: usize, mut part: impl FnMut(usize) -> T) -> Self {
        let parts = (0..workers).map(|worker| CachePadded::new(Mutex::new(part(worker))));
        Self(parts.collect())
    }

    /// The value of `worker`.
    ///
    /// # Panics
    /// If the worker panicked before while it held the value.
    pub fn of(&self, worker: usize) -> MutexGuard<'_, T> {
        self.0[worker]
            .lock()
            .expect("a subject whose worker panicked is not used again")
    }

    /// How many workers there are.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.0.len()
    }
}

/// How many of `total` things fall to `worker` of `workers`; together exactly `total`.
#[must_use]
pub fn share(total: usize, worker: usize, workers: usize) -> usize {
    total * (worker + 1) / workers - total * worker / workers
}
