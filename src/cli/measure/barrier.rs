//! `Barrier`: where the workers of a repetition meet before each timed span.

use std::thread;

use crate::sync::atomic::{AtomicUsize, Ordering};

/// Spins before the processor is offered to others: far longer than two workers are apart when
/// both run, and short enough that a worker without a processor soon gets one.
const SPINS: u32 = 20_000;

/// A spinning barrier: the threads leave it within a cache miss of each other, which a barrier
/// that sleeps cannot offer.
#[derive(Debug)]
pub struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
}

/// What a worker says that panics only because another did.
pub(super) const ANOTHER_PANICKED: &str = "another worker panicked";

/// `round` has this value once a worker panicked; nobody waits any more.
const BROKEN: usize = usize::MAX;

impl Barrier {
    /// A barrier for `threads` threads.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
        }
    }

    /// Waits until all threads are here.
    ///
    /// # Panics
    /// When a worker [broke](Self::break_up) the barrier: it will never come.
    pub fn wait(&self) {
        if self.threads == 1 {
            return;
        }
        // Ordering: Acquire pairs with the Release of the last arrival of the round before.
        let round = self.round.load(Ordering::Acquire);
        assert!(round != BROKEN, "{ANOTHER_PANICKED}");
        // Ordering: AcqRel, so that the last to arrive has seen what all others did before.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            // Ordering: Release publishes the reset of `arrived` and everything seen above. A
            // compare-and-swap, so that a broken barrier stays broken.
            let _ =
                self.round
                    .compare_exchange(round, round + 1, Ordering::Release, Ordering::Relaxed);
            return;
        }
        let mut spins = 0;
        loop {
            // Ordering: Acquire pairs with the Release above.
            let now = self.round.load(Ordering::Acquire);
            assert!(now != BROKEN, "{ANOTHER_PANICKED}");
            if now != round {
                return;
            }
            spins += 1;
            if spins < SPINS {
                core::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }

    /// Makes everybody who waits, or will wait, panic instead: a worker is gone.
    pub fn break_up(&self) {
        // Ordering: Release, though nothing but the value itself is read.
        self.round.store(BROKEN, Ordering::Release);
    }
}
