//! `Openings`: how often something was opened that leaves its things in a [`Pool`], and how often
//! these were collected, so that who collects need not look when nothing can be there, and who
//! opens leaves to the collector what that was to have.
//!
//! State: a count of openings; how many of these have closed idle, with nothing left in their
//! things; and by how much the former was ahead of the latter when all things of the pool lay
//! there, with nothing in them. A collection counts as `COLLECTION` openings, so that one word says
//! which opening came after which collection.
//!
//! Operations, on `&self`: [`open`](Openings::open) takes a thing from the pool, or adds one, and
//! *then* counts; what it was given is what it saw of the count before. If a collection has begun
//! meanwhile, and the thing has waited since before that, it goes back to its place, and another is
//! taken, and counted: lock-free, and without a second try unless somebody collects.
//! [`collect`](Openings::collect) counts *before* it takes things out of the pool, all but those
//! that wait since after it, and those that are idle, which it has seen, each at some time; if these are
//! all that there are, and nothing is in them, or nothing any more, the caller says so to
//! [`settle`](Openings::settle), with what the collection found.
//! [`idle`](Openings::idle) counts an opening that has left nothing, *before* its thing goes back.
//! [`is_settled`](Openings::is_settled) says that all that were opened since have been idle:
//! wait-free. One thread at a time collects.
//!
//! Invariants:
//!
//! * As long as the count is ahead of the idle by what it was then, nothing is left in the pool by
//!   anybody who has told the collector so. Who is counted has taken a thing before: the collector
//!   would have missed it in the pool. Who is not counted then is counted later, before leaving
//!   anything: also who has taken a thing that the collector has seen before that. Whose thing the collector has found and who was idle is among the idle that it has
//!   read; others among them were opened after that collection, which makes the lead too small, and
//!   no lead is ever that small again. And who asks reads the idle first: each of them is among the
//!   openings that are read then, so that what is left over is no less than how many were not idle.
//! * Who is counted after a collection has no thing in which something waits from before it. So
//!   what was left before a collection began comes with it, or is in a thing that somebody had
//!   opened before, or is about to put back; and it comes with the first collection that begins
//!   after that.
//! * What a collection has was opened before it. So it has nothing that a thread has left after
//!   something else that it has just missed: who was counted before it is seen to have left that.
//!
//! Orderings: counting is a Release, and counting a collection an Acquire, so that a collector who
//! sees a count sees what was taken, and left, before it. Which of the two came first, the count
//! says, as all its changes do. Counting an idle one is a Release, which the Acquire of who asks
//! pairs with. Whoever tells the collector that something was left does so by what synchronises, so
//! the rest is Relaxed.

use super::atomic::{AtomicU64, Ordering};
use super::mutant;
use super::pool::{Lent, Pool, Taken, is_before};

/// What a collection adds to the count. Each time that so many were opened they count as one more:
/// nobody goes on with what waits then. So where nobody collects, each such time leaves a few things behind that are
/// the collector's, and once these fill all slots of the pool, whatever leaves something behind takes a new thing: after a
/// billion openings, whose own leavings are more than that by then. After 2^40 collections the count begins anew, and of
/// two things of which one was opened before that and one after the second seems to be the older.
const COLLECTION: u64 = 1 << 24;

/// How often something was opened, and how often until nothing was left of it.
#[derive(Debug)]
pub struct Openings {
    count: AtomicU64,
    idle: AtomicU64,
    settled: AtomicU64,
}

/// What a collection has found.
#[derive(Debug)]
pub struct Collection<'p, T> {
    /// Things that nobody had, but those that were idle. In some nothing waits, in others what was left before
    /// the collection.
    pub things: Taken<'p, T>,
    /// About how many things somebody had.
    pub open: usize,
    /// What to [settle](Openings::settle) with if nothing waits in any of the things, or nothing any more. Who has
    /// emptied them need not collect once more to know that all is settled: it is, unless something was opened since.
    pub settles: Option<Lead>,
    /// Its number: all that was opened before has a lower one.
    pub number: u64,
}

/// By how much the count was ahead of the idle.
#[derive(Clone, Copy, Debug)]
pub struct Lead(u64);

/// Whether one was opened before a collection, or before another one, by their numbers.
#[must_use]
pub fn opened_before(number: u64, other: u64) -> bool {
    is_before(number, other)
}

/// No lead.
const UNSETTLED: u64 = u64::MAX;

impl Openings {
    /// Nothing was opened yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            count: AtomicU64::new(0),
            idle: AtomicU64::new(0),
            settled: AtomicU64::new(0),
        }
    }

    /// Opens one: a thing of the pool, or a new one, and its number, which is higher than those
    /// that were given before. If something is left in the thing it is to be [kept](Lent::keep)
    /// since that number.
    #[inline]
    pub fn open<'p, T>(&self, pool: &'p Pool<T>, new: impl Fn() -> T) -> (Lent<'p, T>, u64) {
        // Ordering: Relaxed: a guess; what the count was decides.
        let mut number = self.count.load(Ordering::Relaxed);
        loop {
            let thing = pool.take(Self::last_collection(number));
            let thing = thing.unwrap_or_else(|| pool.lend(new()));
            // Not before: who counts this one is to miss its thing. Ordering: Release pairs with
            // the Acquire in `collect`. The counts of others continue its release sequence.
            let order = mutant::ordering("opening_relaxed", Ordering::Release);
            number = self.count.fetch_add(1, order);
            let missed = thing.waits_since_before(Self::last_collection(number));
            if !missed || mutant::active("opening_takes_what_waits") {
                return (thing, number);
            }
            // It goes back to where the collector looks for it.
        }
    }

    /// A number that none has which was given before the last collection, and all since: what
    /// counts as a collection is a change of the upper bits.
    #[inline(always)]
    fn last_collection(number: u64) -> u64 {
        number & !(COLLECTION - 1)
    }

    /// A collection: takes what was left in the pool before it begins. Of things in which nothing waits `is_idle` says
    /// whether there is nothing to do with them, either; then they stay.
    #[inline]
    pub fn collect<'p, T>(
        &self,
        pool: &'p Pool<T>,
        is_idle: impl FnMut(&T) -> bool,
    ) -> Collection<'p, T> {
        // Ordering: Acquire pairs with the Release in `open`.
        let before = self.count.fetch_add(COLLECTION, Ordering::Acquire);
        let number = before.wrapping_add(COLLECTION);
        let found = pool.take_before(number, is_idle);
        // Asked after they were taken: one that came meanwhile is missing.
        let missing = pool.len().saturating_sub(found.seen);
        // Ordering: Relaxed: who has closed one of these things idle was counted before it came back.
        let lead = number.wrapping_sub(self.idle.load(Ordering::Relaxed));
        Collection {
            things: found.items,
            open: missing.saturating_sub(found.later),
            settles: (missing == 0 || mutant::active("settled_though_missing"))
                .then_some(Lead(lead)),
            number,
        }
    }

    /// No lower than the numbers of those that were opened before. Wait-free.
    #[inline]
    pub fn next_number(&self) -> u64 {
        // Ordering: Relaxed: who is opened meanwhile may have it or not.
        self.count.load(Ordering::Relaxed)
    }

    /// One closes, and nothing is left in its thing, neither of it nor of who had it before. Its thing has not gone
    /// back yet.
    #[inline]
    pub fn idle(&self) {
        // Ordering: Release pairs with the Acquire in `is_settled`. The others' continue its release sequence.
        let order = mutant::ordering("idle_relaxed", Ordering::Release);
        self.idle.fetch_add(1, order);
    }

    /// Nothing is left of those that were counted before a collection; with `None`, that is not known.
    pub fn settle(&self, lead: Option<Lead>) {
        // Ordering: Relaxed: one collector after the other.
        self.settled
            .store(lead.map_or(UNSETTLED, |lead| lead.0), Ordering::Relaxed);
    }

    /// Nothing is left of all that were counted, for who has the openings and their pool to itself: as by a collection and
    /// [`settle`](Self::settle), without a read-modify-write. All that were opened have closed, or are never to be heard of
    /// again.
    #[inline]
    pub fn settle_alone(&self) {
        // Ordering: Relaxed, thrice: the caller has seen all that others have done. No collection is counted: nothing waits
        // anywhere that a later one could miss.
        let count = self.count.load(Ordering::Relaxed);
        let lead = count.wrapping_sub(self.idle.load(Ordering::Relaxed));
        self.settled.store(lead, Ordering::Relaxed);
    }

    /// Whether nothing was opened since nothing was left, but what has closed idle.
    #[inline]
    pub fn is_settled(&self) -> bool {
        let first = mutant::active("idle_asked_late").then(|| self.count.load(Ordering::Relaxed));
        // Ordering: Acquire pairs with the Release in `idle`: who is counted there is counted below, too.
        let idle = self.idle.load(Ordering::Acquire);
        // Ordering: Relaxed, also below: see above.
        let count = first.unwrap_or_else(|| self.count.load(Ordering::Relaxed));
        let lead = count.wrapping_sub(idle);
        self.settled.load(Ordering::Relaxed) == lead
    }
}

impl Default for Openings {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_settles_alone_has_it_unsettled_by_what_is_opened_and_not_by_who_was_idle() {
        let (pool, openings) = (Pool::new(), Openings::new());
        assert!(openings.is_settled());
        let mut before = openings.next_number();
        for _ in 0..3 {
            let (thing, number) = openings.open(&pool, || 0_u32);
            assert!(number >= before && !openings.is_settled());
            thing.keep(number);
            drop(thing);
            // SAFETY: one thread.
            let only = unsafe { pool.only_waiting(|_| true) };
            only.unwrap().leave();
            openings.settle_alone();
            assert!(openings.is_settled());
            // One that leaves nothing.
            let (thing, number) = openings.open(&pool, || 0_u32);
            assert!(number >= before && !openings.is_settled());
            before = number + 1;
            openings.idle();
            drop(thing);
            assert!(openings.is_settled());
            let found = openings.collect(&pool, |_| true);
            assert_eq!((found.open, found.things.len()), (0, 0));
            openings.settle(found.settles);
            assert!(openings.is_settled() && openings.next_number() > before);
        }
    }

    #[test]
    fn what_waits_serves_again_though_nobody_collects_for_long() {
        let (pool, openings) = (Pool::new(), Openings::new());
        let open = || {
            let (thing, number) = openings.open(&pool, || 0_u32);
            thing.keep(number);
        };
        // Were 65,536 of them to count as a collection, all slots would hold what this one has missed.
        (0..5_000_000).for_each(|_| open());
        assert_eq!(pool.len(), 2, "a thread goes on with what it left last");
        let found = openings.collect(&pool, |_| true);
        assert_eq!(found.things.len(), 2);
        drop(found);
        open();
        assert!(pool.len() <= 4);
    }
}
