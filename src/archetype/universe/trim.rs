//! How the chunks of a universe stand, and what of them goes back to the system.

use crate::archetype::universe::Universe;

impl Universe {
    /// How the chunks stand. Looks at every mega-chunk: microseconds.
    #[must_use]
    pub fn chunk_stats(&self) -> crate::chunk::ChunkStats {
        self.chunks.stats()
    }

    /// Gives memory of chunks that are not in use back to the system: of empty mega-chunks, which are counted, and of free
    /// chunks beside others that are in use. For the end of a peak: chunks that are taken next touch fresh memory. Worlds
    /// keep empty chunks until they are [trimmed](crate::world::World::trim). Lock-free, but for what the system does; what it
    /// takes: [`MegachunkAllocator::discard`](crate::chunk::MegachunkAllocator::discard).
    ///
    /// That has no budget, and takes the system milliseconds for a large world. It may run on a thread of its own while
    /// frames run: they find the chunks of one mega-chunk taken for a moment, 63 at most (of up to 64 empty ones that go
    /// in one call: all), and fetch what they take next from the system. In a frame: [`trim_to`](Self::trim_to), step by
    /// step.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use megachunk::prelude::*;
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..200_000_u64).map(|n| (n,)))?;
    /// world.clear();
    /// world.trim();
    /// let universe = Arc::clone(world.universe());
    /// let trimming = std::thread::spawn(move || universe.trim());
    /// world.create((1_u64,))?;
    /// trimming.join().expect("nothing panics");
    /// # Ok::<(), WorldError>(())
    /// ```
    pub fn trim(&self) -> usize {
        let trimmed = self.chunks.trim();
        self.chunks.discard();
        trimmed
    }

    /// Gives the memory of empty mega-chunks (1 MiB each) back to the system but for `keep` of them, which are taken
    /// next; how many went. With a few fewer than there are each time, it is [`trim`](Self::trim) in steps; free chunks
    /// beside others that are in use keep their memory. Lock-free, but for what the system does:
    /// [`MegachunkAllocator::trim_to`](crate::chunk::MegachunkAllocator::trim_to).
    ///
    /// ```
    /// # use megachunk::prelude::*;
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..2_000_000_u64).map(|n| (n,)))?;
    /// world.clear();
    /// world.trim();
    /// let universe = world.universe();
    /// // Four a frame.
    /// loop {
    ///     let empty = universe.chunk_stats().empty_megachunks;
    ///     if empty == 0 {
    ///         break;
    ///     }
    ///     assert_eq!(universe.trim_to(empty.saturating_sub(4)), empty.min(4));
    /// }
    /// # Ok::<(), WorldError>(())
    /// ```
    pub fn trim_to(&self, keep: usize) -> usize {
        self.chunks.trim_to(keep)
    }
}
