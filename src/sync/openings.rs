//! `Openings`: how often something was opened that leaves its things in a [`Pool`], and how often
//! these were collected, so that who collects need not look when nothing can be there, and who opens
//! leaves to the collector what that was to have.
//!
//! State: a count; what it was when all things of the pool lay there, with nothing in them. A
//! collection counts as [`COLLECTION`] openings, so that one word says which opening came after
//! which collection.
//!
//! Operations, on `&self`: [`open`](Openings::open) takes a thing from the pool, or adds one, and
//! *then* counts; what it was given is what it saw of the count before. If a collection has begun
//! meanwhile, and the thing has waited since before that, it goes back to its place, and another is
//! taken, and counted: lock-free, and without a second try unless somebody collects.
//! [`collect`](Openings::collect) counts *before* all are taken out of the pool; if these are all
//! that there are, and nothing is in them, the caller says so to [`settle`](Openings::settle), with
//! that count; [`is_settled`](Openings::is_settled) says that nobody has opened anything since:
//! both wait-free. One thread at a time collects.
//!
//! Invariants: as long as the count is what it was then, nothing is left in the pool by anybody who
//! has told the collector so. Who is counted has taken a thing before: the collector would have
//! missed it in the pool. Who is not counted then is counted later, before leaving anything. And:
//! who is counted after a collection has no thing in which something waits from before it. So what
//! was left before a collection began comes with it, or is in a thing that somebody had opened
//! before, and comes with the first collection that begins after that is given back.
//!
//! Orderings: counting is a Release, and counting a collection an Acquire, so that a collector who
//! sees a count sees what was taken before it. Which of the two came first, the count says, as all
//! its changes do. Whoever tells the collector that something was left does so by what
//! synchronises, so the rest is Relaxed.

use super::atomic::{AtomicU64, Ordering};
use super::mutant;
use super::pool::{Lent, Pool};

/// What a collection adds to the count. So many openings between two collections count as one more, which does no harm; after
/// 2^40 collections the count begins anew.
const COLLECTION: u64 = 1 << 24;

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

    /// Opens one: a thing of the pool, or a new one, and its number, which is higher than those that were given before.
    #[inline]
    pub fn open<'p, T>(&self, pool: &'p Pool<T>, new: impl Fn() -> T) -> (Lent<'p, T>, u64) {
        // Ordering: Relaxed: a guess; what the count was decides.
        let mut age = self.count.load(Ordering::Relaxed) / COLLECTION;
        loop {
            let thing = pool.take(age);
            let thing = thing.unwrap_or_else(|| pool.lend(new()));
            // Not before: who counts this one is to miss its thing.
            // Ordering: Release pairs with the Acquire in `collect`. The counts of others continue its release sequence.
            let order = mutant::ordering("opening_relaxed", Ordering::Release);
            let number = self.count.fetch_add(1, order);
            age = Self::age(number);
            if mutant::active("opening_takes_what_waits") || thing.is_of(age) {
                return (thing, number);
            }
            // It goes back to where the collector looks for it.
        }
    }

    /// The age of what was opened under a number: how many collections had begun.
    #[inline(always)]
    #[must_use]
    pub fn age(number: u64) -> u64 {
        number / COLLECTION
    }

    /// A collection begins: before it takes anything. The count, for [`settle`](Self::settle).
    #[inline]
    pub fn collect(&self) -> u64 {
        // Ordering: Acquire pairs with the Release in `open`.
        let before = self.count.fetch_add(COLLECTION, Ordering::Acquire);
        before.wrapping_add(COLLECTION)
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
