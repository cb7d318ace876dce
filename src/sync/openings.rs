//! `Openings`: how often something was opened that leaves its things in a [`Pool`](super::pool::Pool), so that who
//! collects them need not look when nothing can be there.
//!
//! State: a count, and what it was when all things of the pool lay there, with nothing in them.
//!
//! Operations, on `&self`, wait-free: [`open`](Openings::open) counts, *after* a thing was taken from the pool or
//! added to it; [`count`](Openings::count) is asked *before* all are taken out of the pool; if these are all that
//! there are, and nothing is in them, the caller says so to [`settle`](Openings::settle), with that count;
//! [`is_settled`](Openings::is_settled) says that nobody has opened anything since. One thread at a time collects.
//!
//! Invariant: as long as the count is what it was then, nothing is left in the pool by anybody who has told the
//! collector so. Who is counted has taken a thing before: the collector would have missed it in the pool. Who
//! is not counted then is counted later, before leaving anything.
//!
//! Orderings: counting is a Release, and asking before a collection an Acquire, so that a collector
//! who sees a count sees what was taken before it. Whoever tells the collector that something was
//! left does so by what synchronises, so the rest is Relaxed.

use super::atomic::{AtomicU64, Ordering};
use super::mutant;

/// How often something was opened, and how often until nothing was left of it.
#[derive(Debug)]
pub struct Openings {
    count: AtomicU64,
    settled: AtomicU64,
}

/// No count.
const UNSETTLED: u64 = u64::MAX;

impl Openings {
    /// Nothing was opened yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            count: AtomicU64::new(0),
            settled: AtomicU64::new(0),
        }
    }

    /// One more: its number.
    #[inline]
    pub fn open(&self) -> u64 {
        // Ordering: Release pairs with the Acquire in `count`. The counts of others continue its release sequence.
        let order = mutant::ordering("opening_relaxed", Ordering::Release);
        self.count.fetch_add(1, order)
    }

    /// How many there were: asked before a collection.
    #[inline]
    pub fn count(&self) -> u64 {
        // Ordering: Acquire pairs with the Release in `open`.
        self.count.load(Ordering::Acquire)
    }

    /// A collection has found that nothing is left of those that were counted before it; with `None`, that this is not
    /// known.
    pub fn settle(&self, count: Option<u64>) {
        // Ordering: Relaxed: one collector after the other.
        self.settled
            .store(count.unwrap_or(UNSETTLED), Ordering::Relaxed);
    }

    /// Whether nothing was opened since nothing was left.
    #[inline]
    pub fn is_settled(&self) -> bool {
        // Ordering: Relaxed: see above.
        self.settled.load(Ordering::Relaxed) == self.count.load(Ordering::Relaxed)
    }
}

impl Default for Openings {
    fn default() -> Self {
        Self::new()
    }
}
