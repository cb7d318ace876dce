//! The thread's cache: a few chunks that it holds and nobody uses.
//!
//! Orderings: all relaxed: the words of the tally are written by their owner alone, and others only count (see there).

use super::seat::Seat;
use super::tally::Tally;
use crate::chunk::Run;
use crate::sync::atomic::Ordering;

/// Chunks that one thread can keep from the others at most. The number [may change in any version](crate#what-stays).
#[cfg(not(loom))]
pub const CACHED_CHUNKS: usize = 16;
/// Chunks that one thread can keep from the others at most. The number [may change in any version](crate#what-stays).
#[cfg(loom)]
pub const CACHED_CHUNKS: usize = 2;

/// Chunks that are taken at a time when the cache is empty, or given back when it is full.
pub(crate) const BATCH: u32 = CACHED_CHUNKS as u32 / 2;

/// Chunks in the cache's array; one more is in the hand.
pub(crate) const KEPT: usize = CACHED_CHUNKS - 1;

/// The part of one thread's cache that only the thread touches. The in-use bits of what it keeps stay
/// set.
#[derive(Debug)]
pub(crate) struct Cache {
    /// The mega-chunk that this thread took single chunks from last: where it looks first, unless it met another
    /// thread there.
    pub(crate) megachunk: Option<u32>,
    /// Where it looks for single chunks then.
    pub(crate) singles: Seat,
    /// Where it looks for runs.
    pub(crate) runs: Seat,
    /// The run that it gave back last: where it looks first for its next one, if that is as long.
    pub(crate) returned: Option<Run>,
    /// This node's number, from 1.
    pub(crate) ordinal: u32,
    /// The chunks below the one in the hand, the newest last; `Tally::kept` says how many.
    pub(crate) chunks: [Run; KEPT],
}

impl Cache {
    /// An empty cache of the thread with this number.
    pub(crate) const fn new(ordinal: u32) -> Self {
        Self {
            megachunk: Some(0),
            singles: Seat::new(),
            runs: Seat::new(),
            returned: None,
            ordinal,
            chunks: [Run::single(0); KEPT],
        }
    }

    /// The chunk that was given back last. Wait-free.
    #[inline(always)]
    pub(crate) fn pop(&self, tally: &Tally) -> Option<Run> {
        let hand = tally.hand.load(Ordering::Relaxed);
        if hand != 0 {
            tally.hand.store(0, Ordering::Relaxed);
            return Run::from_bits(hand);
        }
        let below = tally.kept.load(Ordering::Relaxed).checked_sub(1)?;
        let chunk = *self.chunks.get(below as usize)?;
        tally.kept.store(below, Ordering::Relaxed);
        Some(chunk)
    }

    /// Keeps a single chunk; `false` if there is no room. Wait-free.
    #[inline(always)]
    pub(crate) fn push(&mut self, tally: &Tally, chunk: Run) -> bool {
        if let Some(hand) = Run::from_bits(tally.hand.load(Ordering::Relaxed))
            && !self.push_below(tally, hand)
        {
            return false;
        }
        tally.hand.store(chunk.to_bits(), Ordering::Relaxed);
        true
    }

    /// Keeps a chunk below the one in the hand; `false` if there is no room.
    #[inline(always)]
    pub(crate) fn push_below(&mut self, tally: &Tally, chunk: Run) -> bool {
        let kept = tally.kept.load(Ordering::Relaxed);
        let Some(place) = self.chunks.get_mut(kept as usize) else {
            return false;
        };
        *place = chunk;
        tally.kept.store(kept + 1, Ordering::Relaxed);
        true
    }

    /// Takes the oldest chunks out of a full cache.
    pub(crate) fn take_oldest(&mut self, tally: &Tally) -> [Run; BATCH as usize] {
        debug_assert_eq!(tally.cached() as usize, CACHED_CHUNKS);
        let oldest = core::array::from_fn(|at| self.chunks[at]);
        self.chunks.copy_within(BATCH as usize.., 0);
        tally.kept.store(KEPT as u32 - BATCH, Ordering::Relaxed);
        oldest
    }

    /// Takes all chunks out; how many there are.
    pub(crate) fn take_all(&mut self, tally: &Tally, all: &mut [Run; CACHED_CHUNKS]) -> usize {
        let count = self.all(tally, all);
        tally.kept.store(0, Ordering::Relaxed);
        tally.hand.store(0, Ordering::Relaxed);
        count
    }

    /// All chunks; how many there are.
    pub(crate) fn all(&self, tally: &Tally, all: &mut [Run; CACHED_CHUNKS]) -> usize {
        all[..KEPT].copy_from_slice(&self.chunks);
        let kept = tally.kept.load(Ordering::Relaxed) as usize;
        let Some(hand) = Run::from_bits(tally.hand.load(Ordering::Relaxed)) else {
            return kept;
        };
        all[kept] = hand;
        kept + 1
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_back_newest_first_and_leave_oldest_first() {
        let (mut cache, tally) = (Cache::new(1), Tally::default());
        let all: Vec<Run> = (0..CACHED_CHUNKS as u32).map(Run::single).collect();
        assert!(all.iter().all(|&chunk| cache.push(&tally, chunk)));
        assert!(!cache.push(&tally, Run::single(99)), "it is full");
        assert_eq!(tally.cached() as usize, CACHED_CHUNKS);

        let batch = BATCH as usize;
        assert_eq!(cache.take_oldest(&tally)[..], all[..batch]);
        assert_eq!(cache.pop(&tally), Some(all[CACHED_CHUNKS - 1]));
        assert_eq!(cache.pop(&tally), Some(all[CACHED_CHUNKS - 2]));
        assert!(cache.push(&tally, Run::single(77)));

        let mut left = [all[0]; CACHED_CHUNKS];
        let count = cache.take_all(&tally, &mut left);
        assert_eq!(left[..count - 1], all[batch..CACHED_CHUNKS - 2]);
        assert_eq!(
            (left[count - 1], cache.pop(&tally)),
            (Run::single(77), None)
        );
        assert_eq!(tally.cached(), 0);
    }
}
