//! What a thread keeps: how it comes back to everybody.

use super::{Core, Memory, Tally};
use crate::chunk::Run;
use crate::chunk::megachunk::bits::lowest_run;
use crate::chunk::megachunk::cache::{CACHED_CHUNKS, Cache};
use crate::sync::atomic::Ordering;

impl<M: Memory> Core<M> {
    /// Puts a chunk into a full cache, and gives the oldest ones of it back.
    #[cold]
    #[inline(never)]
    pub(crate) fn spill(&self, cache: &mut Cache, tally: &Tally, chunk: Run) {
        let leaving = tally.leave();
        let mut oldest = cache.take_oldest(tally);
        let emptied = self.free_each(tally, &mut oldest);
        drop(leaving);
        cache.push(tally, chunk);
        if let Some(emptied) = emptied {
            self.give_memory_back(tally, emptied);
        }
    }

    /// Gives all chunks of a cache back.
    pub(crate) fn flush(&self, cache: &mut Cache, tally: &Tally) {
        if let Some(emptied) = self.free_all(cache, tally) {
            self.give_memory_back(tally, emptied);
        }
    }

    /// Gives all chunks of a cache back, and all empty mega-chunks' memory but that of `keep`; how many those were.
    pub(crate) fn flush_and_trim(&self, cache: &mut Cache, tally: &Tally, keep: usize) -> u32 {
        let _ = self.free_all(cache, tally);
        self.trim(tally, keep)
    }

    /// Whether what a cache keeps is all that is missing to a run of `len` where memory is.
    pub(crate) fn is_missing(&self, cache: &Cache, tally: &Tally, len: u32) -> bool {
        let mut kept = [Run::single(0); CACHED_CHUNKS];
        let count = cache.all(tally, &mut kept);
        let kept = &kept[..count];
        kept.iter().any(|one| {
            let own = kept
                .iter()
                .filter(|chunk| chunk.megachunk() == one.megachunk());
            let bits = own.fold(0, |bits, chunk| bits | chunk.mask());
            // Ordering: Relaxed, a guess; who takes then decides.
            let mask = self.mask(one.megachunk()).load(Ordering::Relaxed) & !bits;
            lowest_run(mask, len).is_some()
        })
    }

    /// Frees all chunks of a cache, as [`free_each`](Self::free_each) does.
    pub(crate) fn free_all(&self, cache: &mut Cache, tally: &Tally) -> Option<u32> {
        if tally.cached() == 0 {
            return None;
        }
        let _leaving = tally.leave();
        let mut all = [Run::single(0); CACHED_CHUNKS];
        let count = cache.take_all(tally, &mut all);
        self.free_each(tally, &mut all[..count])
    }

    /// Frees single chunks, by mega-chunk; the last mega-chunk that was emptied, if memory is to be given back now.
    /// That is done when all are free: memory that breaks its promise not to unwind takes none of them with it.
    fn free_each(&self, tally: &Tally, chunks: &mut [Run]) -> Option<u32> {
        let mut emptied = None;
        let mut left = chunks.len();
        while left > 0 {
            let megachunk = chunks[0].megachunk();
            let (mut bits, mut others) = (0_u64, 0);
            for at in 0..left {
                let chunk = chunks[at];
                if chunk.megachunk() == megachunk {
                    bits |= chunk.mask();
                } else {
                    chunks[others] = chunk;
                    others += 1;
                }
            }
            tally.gave(bits.count_ones());
            if self.free(tally, megachunk, bits) {
                emptied = Some(megachunk);
            }
            left = others;
        }
        emptied
    }
}
