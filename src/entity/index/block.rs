//! Who works in which data block: a hint that keeps threads apart, and how a new block is opened.
//!
//! Orderings: relaxed: who works where says nothing of other memory; that a block is there says `Opened`.

use core::ops::Range;

use crate::entity::index::cache::{Cache, NO_BLOCK};
use crate::entity::index::core::Core;
#[cfg(not(loom))]
use crate::entity::index::core::SMALL_BLOCKS;
#[cfg(not(loom))]
use crate::entity::index::span::SPANS_PER_BLOCK;
#[cfg(not(loom))]
use crate::memory::{COMMITS, Table};
#[cfg(not(loom))]
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering;
use crate::sync::geometry::BLOCK_SLOTS;
#[cfg(not(loom))]
use crate::sync::geometry::{GROUP_SLOTS, WORD_BITS};

/// Blocks whose group words are fetched at a time, 64 KiB of them, where slots come by huge pages.
#[cfg(not(loom))]
const GROUPS_FETCHED: u32 = 16;

impl Core {
    /// Makes `block` the thread's, unless another thread works there. A hint: where no block is left, or no memory for
    /// one, two threads end up in one, which costs speed and nothing else.
    pub(crate) fn enter_block(&self, cache: &mut Cache, block: u32) -> bool {
        let worker = self.workers.get(block as usize);
        // By a read-modify-write: threads that begin at one time all look here at one time, and two that stay
        // in one block share lines of group words for as long as their slots go round.
        let entered = worker.load(Ordering::Relaxed) == 0
            && worker
                .compare_exchange(0, cache.ordinal, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if entered {
            cache.block = block;
        }
        entered
    }

    /// The thread does not work in its block any more.
    pub(crate) fn leave_block(&self, cache: &mut Cache) {
        if cache.block != NO_BLOCK {
            let worker = self.workers.get(cache.block as usize);
            if worker.load(Ordering::Relaxed) == cache.ordinal {
                worker.store(0, Ordering::Relaxed);
            }
            cache.block = NO_BLOCK;
        }
    }

    /// Makes a block that was never used the thread's; `None` if there is none, or no memory for it.
    ///
    /// Lock-free: a retry means that another thread, which searched, entered the block first.
    pub(crate) fn open_block(&self, cache: &mut Cache) -> Option<u32> {
        loop {
            let opened = self.opened.open_next(|blocks| self.commit_blocks(blocks))?;
            // Before its pages are fetched, which takes longer than others need to find it.
            if self.enter_block(cache, opened) {
                #[cfg(not(loom))]
                if opened >= self.fetched {
                    self.fetch_block(opened);
                }
                #[cfg(loom)]
                let _ = (self.huge, self.populate, BLOCK_SLOTS);
                return Some(opened);
            }
        }
    }

    /// Makes blocks usable; whether there is memory for them. Others may do the same at once.
    #[cfg(not(loom))]
    pub(super) fn commit_blocks(&self, blocks: Range<u32>) -> bool {
        #[cfg(test)]
        if blocks.end > self.granted.load(Ordering::Relaxed) {
            return false;
        }
        if !COMMITS || blocks.end <= self.fetched {
            return true;
        }
        // What stands for so many slots in a table.
        let commit = |table: &Table<AtomicU64>, slots: u32| {
            let of = |block: u32| (block * (BLOCK_SLOTS / slots)) as usize;
            table.commit(of(blocks.start)..of(blocks.end))
        };
        // The slots last: they are most of it, and what came before them stays. (What the system said is not told:
        // callers have a cache in their hands, and no code of the user's must run.)
        commit(&self.claims, WORD_BITS).is_ok()
            && commit(&self.groups, GROUP_SLOTS).is_ok()
            && commit(&self.slots, 1).is_ok()
    }

    /// Models have their memory from the beginning.
    #[cfg(loom)]
    pub(super) fn commit_blocks(&self, _: Range<u32>) -> bool {
        true
    }

    /// Counts blocks as used up to this one, without fetching their pages: few of their slots may be used. Whether there
    /// is memory for them.
    pub(super) fn open_to(&self, block: u32) -> bool {
        self.opened
            .open_to(block, |blocks| self.commit_blocks(blocks))
    }

    /// Fetches pages of a new block before it is used. A refusal means that they come later, one by one.
    #[cfg(not(loom))]
    fn fetch_block(&self, block: u32) {
        let slots = (block * BLOCK_SLOTS) as usize;
        let groups = (block * BLOCK_SLOTS / GROUP_SLOTS) as usize;
        if self.huge || !self.populate {
            // A page that is read first comes twice: as the one that all zeros share, and again
            // when it is written to. So it is written to first. (Not by `fetch_or(0)`, which
            // compilers take for a load.)
            let spans = (block * SPANS_PER_BLOCK) as usize;
            for first in [self.slots.get(slots), self.spans.get(spans)] {
                let _ = first.compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
        if !self.populate {
            return;
        }
        if !self.huge || block < SMALL_BLOCKS {
            let _ = self.slots.populate(slots..slots + BLOCK_SLOTS as usize);
        }
        // Where slots come by huge pages, the groups of the first million of them lie before the first border of one.
        let blocks = if self.huge { GROUPS_FETCHED } else { 1 };
        if block.is_multiple_of(blocks) {
            let end = ((block + blocks) * BLOCK_SLOTS / GROUP_SLOTS) as usize;
            let _ = self.groups.populate(groups..end);
        }
    }
}
