//! What everybody may read of a thread's cache: what the thread keeps, and what it took from the masks.
//!
//! # State
//! The number of chunks in use by users is nowhere by itself: it is the sum over all nodes of what their
//! threads took from the masks less what they keep. So to take a chunk from the cache, or to put one there,
//! costs no word that others write.
//!
//! # Chunks that leave the cache
//! A thread that ends gives back what it kept, and may do so after others believe it gone: a scope of threads
//! waits for their closures only. Nobody takes or gives then, but the three words that make up this
//! node's part of the sum change one after the other. So the thread first writes down what they come to
//! ([`Tally::leaving`]), and who reads meanwhile, or finds that this was written since it read the words, takes
//! what is written there: it does not change while chunks only leave.
//!
//! # Orderings
//! The words are written by their owner alone, and others only count: relaxed, but for what says that chunks leave. (A
//! node goes from one owner to the next by the Release and the Acquire of `Registry`.)

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use crate::sync::local::{Lag, Lagging};
use crate::sync::mutant;

/// Bits of a sum over all nodes: there are 2²⁰ chunks, and in the middle of others' calls it can be below 0.
const SUM_BITS: u32 = 24;

/// The public part of a thread's node. Only the thread writes it, so loads and stores are enough.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// The chunk given back last, as a run's bits; 0 = none. By itself, so that to take and give one chunk
    /// again and again is two stores that do not wait for each other.
    pub(super) hand: AtomicU32,
    /// Chunks in the cache's array.
    pub(super) kept: AtomicU32,
    /// Chunks that this node's threads took from the masks less those that they gave back there, modulo
    /// 2⁶⁴.
    taken: AtomicU64,
    /// How often chunks began or ceased to leave the cache, odd while they do; and below that
    /// [`SUM_BITS`] bits of what was in use when they began last.
    leaving: AtomicU64,
    /// Set while the hints may lag behind what this node's thread has done.
    pub(crate) lag: Lag,
}

/// Chunks leave the cache until this is dropped.
#[derive(Debug)]
pub(crate) struct Leaving<'a>(&'a Tally);

impl Lagging for Tally {
    fn lag(&self) -> &Lag {
        &self.lag
    }
}

impl Tally {
    /// Counts chunks taken from the masks.
    #[inline]
    pub(crate) fn took(&self, chunks: u32) {
        self.add(chunks.into());
    }

    /// Counts chunks given back to the masks.
    #[inline]
    pub(crate) fn gave(&self, chunks: u32) {
        self.add(u64::from(chunks).wrapping_neg());
    }

    fn add(&self, chunks: u64) {
        let taken = self.taken.load(Ordering::Relaxed);
        self.taken
            .store(taken.wrapping_add(chunks), Ordering::Relaxed);
    }

    /// Chunks that the thread keeps for itself.
    pub(crate) fn cached(&self) -> u32 {
        self.kept.load(Ordering::Relaxed) + u32::from(self.hand.load(Ordering::Relaxed) != 0)
    }

    /// Whether chunks leave the cache now.
    pub(crate) fn is_leaving(&self) -> bool {
        // Ordering: Acquire, as in `in_use`.
        self.leaving.load(Ordering::Acquire) >> SUM_BITS & 1 == 1
    }

    /// Chunks leave the cache for the masks from now on; until the guard is dropped, the thread does nothing
    /// else with them. Only the owner of the node calls it.
    pub(crate) fn leave(&self) -> Leaving<'_> {
        let times = self.leaving.load(Ordering::Relaxed) >> SUM_BITS;
        let in_use = self.sum() & ((1 << SUM_BITS) - 1);
        let leaving = (times + 1) << SUM_BITS | in_use;
        if !mutant::active("leaving_not_said") {
            self.leaving.store(leaving, Ordering::Relaxed);
        }
        // Ordering: pairs with the fence in `in_use`: who sees one of the changes that follow sees this.
        if !mutant::active("leaving_no_fence") {
            fence(Ordering::Release);
        }
        Leaving(self)
    }

    /// This node's part of what is in use, modulo 2²⁴. Wait-free.
    fn in_use(&self) -> u64 {
        let numbered = |leaving: u64| (leaving >> SUM_BITS, leaving);
        // Ordering: Acquire pairs with the Release in `Leaving`: who sees that no chunk leaves any more sees
        // what became of the words.
        let (before, leaving) = numbered(self.leaving.load(Ordering::Acquire));
        if before % 2 == 1 {
            return leaving;
        }
        let sum = self.sum();
        // Ordering: pairs with the fence in `leave`.
        fence(Ordering::Acquire);
        let (after, leaving) = numbered(self.leaving.load(Ordering::Relaxed));
        // Chunks began to leave meanwhile, and the words may be from before and after: what was written down
        // then is right.
        if before == after { sum } else { leaving }
    }

    /// Chunks taken and not kept, modulo 2⁶⁴.
    fn sum(&self) -> u64 {
        let taken = self.taken.load(Ordering::Relaxed);
        taken.wrapping_sub(self.cached().into())
    }

    /// The sum over nodes of what is in use; it can be below 0 in the middle of their threads' calls.
    pub(crate) fn total<'a>(nodes: impl Iterator<Item = &'a Self>) -> i64 {
        let sum = nodes.fold(0, |sum: u64, tally| sum.wrapping_add(tally.in_use()));
        // The highest bit of the sum is its sign.
        (sum << (64 - SUM_BITS)).cast_signed() >> (64 - SUM_BITS)
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if !mutant::active("leaving_not_said") {
            let leaving = self.0.leaving.load(Ordering::Relaxed);
            // Ordering: Release pairs with the Acquire in `in_use`.
            self.0
                .leaving
                .store(leaving.wrapping_add(1 << SUM_BITS), Ordering::Release);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_use_is_taken_less_kept_by_whichever_thread() {
        let [taker, giver] = [(); 2].map(|()| Tally::default());
        taker.took(64);
        giver.gave(40);
        giver.kept.store(3, Ordering::Relaxed);
        giver.hand.store(1, Ordering::Relaxed);
        assert_eq!(Tally::total([&taker, &giver].into_iter()), 20);
        assert_eq!(Tally::total([&giver].into_iter()), -44);
    }

    #[test]
    fn what_is_in_use_stays_while_chunks_leave() {
        let tally = Tally::default();
        let in_use = || Tally::total([&tally].into_iter());
        tally.took(9);
        tally.kept.store(7, Ordering::Relaxed);
        tally.hand.store(1, Ordering::Relaxed);
        for _ in 0..2 {
            let leaving = tally.leave();
            tally.kept.store(0, Ordering::Relaxed);
            assert_eq!(in_use(), 1);
            tally.hand.store(0, Ordering::Relaxed);
            assert_eq!(in_use(), 1);
            tally.gave(8);
            drop(leaving);
            assert_eq!(in_use(), 1);
            tally.took(8);
            tally.kept.store(8, Ordering::Relaxed);
            assert_eq!(in_use(), 1);
        }
    }
}
