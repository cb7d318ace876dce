//! `Slots`: tasks that several threads do, and what comes of them, each in its place.
//!
//! State: a cell for each task, which holds it, and then its result. Operations: [`run`](Slots::run) does a task, on
//! `&self`; [`into_results`](Slots::into_results) takes all results, when nobody runs any more.
//!
//! Invariant: who has the number of a slot, from [`Shares`](super::shares::Shares) for instance, is
//! the only one who touches it. There is no atomic here: that numbers are given once, and that all
//! have ended before the results are taken, is what the callers see to.

use super::UnsafeCell;

/// A task, then what came of it.
#[derive(Debug)]
enum Slot<T, R> {
    Task(T),
    Done(R),
    /// It is being done, or has panicked.
    Taken,
}

/// Tasks by their numbers, and what comes of them.
#[derive(Debug)]
pub struct Slots<T, R>(Vec<UnsafeCell<Slot<T, R>>>);

// SAFETY: each slot is touched by one thread, as `run` asks for; what goes to it and comes from it
// may go to other threads.
unsafe impl<T: Send, R: Send> Sync for Slots<T, R> {}

impl<T, R> Slots<T, R> {
    /// The slots of these tasks, in order.
    #[must_use]
    pub fn new(tasks: Vec<T>) -> Self {
        let slots = tasks.into_iter();
        Self(
            slots
                .map(|task| UnsafeCell::new(Slot::Task(task)))
                .collect(),
        )
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Does the task of a number. If it panics, it has no result.
    ///
    /// # Safety
    /// Nobody else has or will have this number.
    ///
    /// # Panics
    /// If there is no such task, or if the task does.
    pub unsafe fn run(&self, number: usize, run: impl FnOnce(T) -> R) {
        self.0[number].with_mut(|slot| {
            // SAFETY: the caller's: nobody else touches it.
            let slot = unsafe { &mut *slot };
            if let Slot::Task(task) = core::mem::replace(slot, Slot::Taken) {
                *slot = Slot::Done(run(task));
            }
        });
    }

    /// The results, in the order of the tasks.
    ///
    /// # Panics
    /// If a task was not done.
    #[must_use]
    pub fn into_results(self) -> Vec<R> {
        let results = self.0.into_iter().map(|slot| match slot.into_inner() {
            Slot::Done(result) => result,
            Slot::Task(_) | Slot::Taken => panic!("all tasks are done before results are taken"),
        });
        results.collect()
    }
}
