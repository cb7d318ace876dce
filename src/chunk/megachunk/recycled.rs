//! An allocator on the memory of one that has ended: with its pages, and nothing that threads kept.
//!
//! Must hold: no chunk stays taken. Threads that live on kept some of the old one's; they know their caches by the number
//! of its registry, which the new one has not, and would never give them back.

use super::{MegachunkAllocator, Memory, Shared};
use crate::sync::Arc;
use crate::sync::atomic::AtomicU32;
use crate::sync::local::Registry;

impl<M: Memory> MegachunkAllocator<M> {
    /// An allocator on the memory of this one, of which all is free, also what threads kept for themselves. `None` if
    /// chunks are in use, or if a thread that ends is giving its own back at this moment.
    pub(crate) fn recycle(self) -> Option<Self> {
        if self.in_use() != 0 {
            return None;
        }
        let shared = Arc::into_inner(self.shared)?;
        let core = shared.core;
        shared.registry.end(|cache, tally| core.flush(cache, tally));
        Some(Self {
            shared: Arc::new(Shared {
                core,
                registry: Registry::new(),
                caches: AtomicU32::new(0),
                tickets: shared.tickets,
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::chunk::ChunkError;

    #[test]
    fn what_a_thread_that_lives_on_keeps_is_free_in_the_next_allocator() -> Result<(), ChunkError> {
        let allocator = MegachunkAllocator::new();
        let (to, from) = channel::<MegachunkAllocator>();
        let (back, returned) = channel();
        let other = std::thread::spawn(move || {
            for allocator in from {
                let chunks: Vec<_> = (0..20).map(|_| allocator.allocate()).collect();
                drop(chunks);
                back.send(allocator).unwrap();
            }
        });
        let there_and_back = |allocator| {
            to.send(allocator).unwrap();
            returned.recv().unwrap()
        };
        let mut allocator = there_and_back(allocator);
        for _ in 0..3 {
            assert!(allocator.stats().cached > 0, "or this shows nothing");
            allocator = allocator.recycle().unwrap();
            assert_eq!(allocator.stats().cached, 0);
            allocator.trim();
            assert_eq!(allocator.stats().committed_megachunks, 0);
            allocator.check().unwrap();
            // The thread's cache of the old one is none of this one's.
            drop(allocator.allocate()?);
            allocator = there_and_back(allocator);
        }
        let chunk = allocator.allocate()?.into_raw();
        assert!(allocator.recycle().is_none(), "{chunk:?} is in use");
        drop(to);
        other.join().unwrap();
        Ok(())
    }
}
