//! Discarding: free chunks lose their memory where others of their mega-chunk are in use.
//!
//! Must hold: the memory of a chunk is discarded only by who holds the chunk. So its free chunks are taken, as for any
//! use, and given back; for the others the mega-chunk is full meanwhile.

use core::ops::Range;
use std::io;

use super::{Core, Memory, Tally, Undo};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::{ALL_CHUNKS, MEGACHUNK_CHUNKS};
use crate::sync::{mutant, probe};

/// The runs of chunks of a mega-chunk that a mask names.
fn runs(megachunk: u32, mut mask: u64) -> impl Iterator<Item = Range<u32>> {
    core::iter::from_fn(move || {
        let first = (mask != 0).then(|| mask.trailing_zeros())?;
        let len = (mask >> first).trailing_ones();
        mask &= !(u64::MAX >> (64 - len) << first);
        let start = megachunk * MEGACHUNK_CHUNKS + first;
        Some(start..start + len)
    })
}

impl<M: Memory> Core<M> {
    /// Discards the memory of all free chunks of mega-chunks that are in use; how many chunks those were.
    pub(crate) fn discard(&self, tally: &Tally) -> usize {
        let mut discarded = 0;
        for megachunk in self.touched().flatten() {
            let Some(free) = self.hold_free(megachunk) else {
                continue;
            };
            // Also if the memory breaks its promise not to unwind.
            let held = Undo(|| {
                if !mutant::active("discard_unheld") {
                    self.give(tally, megachunk, free);
                }
            });
            for chunks in runs(megachunk, free) {
                // SAFETY: the caller holds the chunks; as some of the mega-chunk are in use, it is committed.
                match unsafe { self.memory.discard(chunks.clone()) } {
                    Ok(()) => discarded += chunks.len(),
                    Err(error) if error.kind() == io::ErrorKind::Unsupported => return discarded,
                    // The system may have the others.
                    Err(_) => {}
                }
            }
            drop(held);
        }
        discarded
    }

    /// Takes all free chunks of a mega-chunk in which some are in use: which these are. Lock-free.
    fn hold_free(&self, megachunk: u32) -> Option<u64> {
        let word = self.mask(megachunk);
        // Ordering: Relaxed: the compare-and-swap decides.
        let mut mask = word.load(Ordering::Relaxed);
        loop {
            probe::probed(1);
            if mask == 0 || mask == ALL_CHUNKS {
                return None;
            }
            // Ordering: Acquire, as in `take`: all who gave chunks back before are done with them.
            let order = mutant::ordering("discard_relaxed", Ordering::AcqRel);
            if mutant::active("discard_unheld") {
                return Some(ALL_CHUNKS & !mask);
            }
            match word.compare_exchange_weak(mask, ALL_CHUNKS, order, Ordering::Relaxed) {
                Ok(_) => return Some(ALL_CHUNKS & !mask),
                Err(now) => {
                    probe::failed_claim();
                    mask = now;
                }
            }
        }
    }
}
