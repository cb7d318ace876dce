//! `Opened`: how many blocks are in use, and there to be looked at.
//!
//! State: a number that grows. Blocks below it have memory: whoever opens one has it committed first, and says so
//! by the number then. Several threads may commit a block at once, which systems allow; the compare-and-swap says
//! whose block it is (the linearization point). A thread that stops in between has promised nothing to anybody.
//!
//! Invariant: who has seen the number may touch the slots of all blocks below it.
//!
//! Where memory comes on first touch, committing does nothing, and nobody needs the number before a slot is touched.

use core::ops::Range;

use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::geometry::BLOCKS;
use crate::sync::mutant;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Opened(AtomicU32);

impl Opened {
    /// None.
    pub(crate) fn none() -> Self {
        Self(AtomicU32::new(0))
    }

    /// How many blocks are open. Wait-free, one load.
    #[inline(always)]
    pub(crate) fn count(&self) -> u32 {
        // Ordering: Acquire pairs with the Release of `raise`: there is memory for these blocks.
        self.0
            .load(mutant::ordering("opened_read_relaxed", Ordering::Acquire))
    }

    /// Opens the next block, which is the caller's to begin with; `None` if there is none, or `commit` says that there
    /// is no memory. Lock-free: a retry means that another block was opened.
    pub(crate) fn open_next(&self, commit: impl Fn(Range<u32>) -> bool) -> Option<u32> {
        self.raise(|opened| opened + 1, commit)
    }

    /// Opens all blocks up to this one; whether they are open now, or `commit` said that there is no memory.
    pub(crate) fn open_to(&self, block: u32, commit: impl Fn(Range<u32>) -> bool) -> bool {
        self.raise(|opened| opened.max(block + 1), commit).is_some()
    }

    /// Raises the number to what is wanted; what it was before.
    fn raise(
        &self,
        wanted: impl Fn(u32) -> u32,
        commit: impl Fn(Range<u32>) -> bool,
    ) -> Option<u32> {
        // Ordering: Acquire, as in `count`: the block that is wanted may be open.
        let known = mutant::ordering("opened_known_relaxed", Ordering::Acquire);
        let mut opened = self.0.load(known);
        loop {
            let wanted = wanted(opened);
            if wanted == opened {
                return Some(opened);
            }
            let late = mutant::active("opened_before_commit");
            if wanted > BLOCKS || !late && !commit(opened..wanted) {
                return None;
            }
            // Ordering: Release pairs with the Acquire of `count`. Relaxed where it fails: of the blocks that are open
            // then, this thread has committed those itself that it did not find open before.
            match self.0.compare_exchange_weak(
                opened,
                wanted,
                mutant::ordering("opened_relaxed", Ordering::Release),
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    return (!late || commit(opened..wanted)).then_some(opened);
                }
                Err(now) => opened = now,
            }
        }
    }
}
