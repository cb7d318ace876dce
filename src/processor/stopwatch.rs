//! `Stopwatch`: how long the calls of an observing processor take. Its schedule and its closure, which a world has, share it.

use std::time::{Duration, Instant};

use crate::observer::ObservedBatch;
use crate::processor::Seen;
use crate::processor::member::{Timing, calling_thread};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU32, Ordering};

/// What of calls is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Wanted {
    Nothing,
    /// How long they take.
    Times,
    /// And when each was.
    Calls,
}

/// How long the calls of an observing processor take. A call is under `&mut World`, and who asks has the schedule: so nobody
/// waits for the lock, but where these are two threads.
#[derive(Debug, Default)]
pub(super) struct Stopwatch {
    /// A [`Wanted`].
    wanted: AtomicU32,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    timing: Timing,
    calls: Vec<Call>,
}

/// A call, as a trace has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) began: Instant,
    pub(super) took: Duration,
    pub(super) entities: usize,
    pub(super) thread: u32,
}

impl Stopwatch {
    /// Says what is wanted from now on.
    pub(super) fn want(&self, wanted: Wanted) {
        // Ordering: Relaxed, here and below: who sees it late measures one call more or less.
        self.wanted.store(wanted as u32, Ordering::Relaxed);
    }

    /// Runs a call, and measures it, if that is wanted.
    #[inline]
    pub(super) fn time<R>(
        &self,
        batch: &mut ObservedBatch<'_>,
        run: impl FnOnce(&mut ObservedBatch<'_>) -> R,
    ) -> R {
        match self.wanted.load(Ordering::Relaxed) {
            0 => run(batch),
            wanted => self.measure(wanted == Wanted::Calls as u32, batch, run),
        }
    }

    /// `run` does not panic.
    #[cold]
    fn measure<R>(
        &self,
        is_traced: bool,
        batch: &mut ObservedBatch<'_>,
        run: impl FnOnce(&mut ObservedBatch<'_>) -> R,
    ) -> R {
        let seen = Seen {
            entities: batch.len(),
            chunks: batch.ranges().count(),
            skipped: 0,
        };
        let measured = Timing::measure(self);
        let done = run(batch);
        let began = measured.began;
        let took = measured.end();
        let mut noted = self.noted.lock();
        noted.timing.note(began, took, seen);
        if is_traced {
            noted.calls.push(Call {
                began,
                took: took.all,
                entities: seen.entities,
                thread: calling_thread(),
            });
        }
        done
    }

    /// What was measured.
    pub(super) fn timing(&self) -> Timing {
        self.noted.lock().timing
    }

    /// Forgets what was measured; calls of a trace stay in it.
    pub(super) fn reset(&self) {
        self.noted.lock().timing = Timing::default();
    }

    /// The calls of a trace, which has them then.
    pub(super) fn take_calls(&self) -> Vec<Call> {
        core::mem::take(&mut self.noted.lock().calls)
    }
}
