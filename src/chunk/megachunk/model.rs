//! What loom models need of the allocator and an ordinary user does not: the steps in which searches that found
//! nothing say so for the next ones, without the searches. Exists under `cfg(loom)` only.

use crate::chunk::MegachunkAllocator;
use crate::chunk::memory::Memory;
use crate::sync::atomic::Ordering;

/// Says of a mega-chunk what a search says that looked at it when all of it was taken: that there is nothing. It looks
/// again, and takes that back if it is wrong.
pub fn learn_taken<M: Memory>(allocator: &MegachunkAllocator<M>, megachunk: u32) {
    allocator.with_cache(|core, _, tally| {
        let _lag = tally.lag.begin();
        core.hints.learn(megachunk, 0, || {
            core.mask(megachunk).load(Ordering::Relaxed)
        });
    });
}

/// Says above what all mega-chunks of a group say, as a search does that leaves the group.
pub fn learn_group<M: Memory>(allocator: &MegachunkAllocator<M>, megachunk: u32) {
    allocator.with_cache(|core, _, tally| {
        let _lag = tally.lag.begin();
        core.hints.learn_group(megachunk);
    });
}

/// Has this thread forget which run it gave back last, so that it searches for the next one.
pub fn forget_returned<M: Memory>(allocator: &MegachunkAllocator<M>) {
    allocator.with_cache(|_, cache, _| cache.returned = None);
}
