//! The thread's cache: a few chunks that it holds and nobody uses.

use crate::sync::local::{Lag, Lagging};

/// Chunks that one thread can keep from the others at most.
#[cfg(not(loom))]
pub const CACHED_CHUNKS: usize = 16;
/// Chunks that one thread can keep from the others at most.
#[cfg(loom)]
pub const CACHED_CHUNKS: usize = 2;

/// Chunks that are taken at a time when the cache is empty, or given back when it is full.
pub(crate) const BATCH: u32 = CACHED_CHUNKS as u32 / 2;

/// One thread's chunks, the one given back last on top. Their in-use bits stay set.
#[derive(Debug)]
pub(crate) struct Cache {
    pub(crate) len: u32,
    /// The mega-chunk that this thread took chunks from last: where it looks first.
    pub(crate) megachunk: u32,
    pub(crate) chunks: [u32; CACHED_CHUNKS],
}

impl Cache {
    pub(crate) const fn new() -> Self {
        Self {
            len: 0,
            megachunk: 0,
            chunks: [0; CACHED_CHUNKS],
        }
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        self.chunks.get(self.len as usize).copied()
    }

    /// Keeps a chunk; `false` if there is no room.
    #[inline(always)]
    pub(crate) fn push(&mut self, chunk: u32) -> bool {
        let len = self.len as usize;
        if len < CACHED_CHUNKS {
            self.chunks[len] = chunk;
            self.len += 1;
            return true;
        }
        false
    }
}

/// What everybody may read of a thread's cache.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Chunks that this node's threads took less those that they gave back, modulo 2⁶⁴. Only the
    /// owner writes it.
    pub(crate) in_use: crate::sync::atomic::AtomicU64,
    /// Set while the hints may lag behind what this node's thread has done.
    pub(crate) lag: Lag,
}

impl Lagging for Tally {
    fn lag(&self) -> &Lag {
        &self.lag
    }
}

impl Tally {
    /// Counts chunks taken (or, as a two's complement, given back). Only the owner calls it, so a
    /// load and a store are enough.
    #[inline(always)]
    pub(crate) fn add(&self, chunks: u64) {
        use crate::sync::atomic::Ordering;
        let in_use = self.in_use.load(Ordering::Relaxed);
        self.in_use
            .store(in_use.wrapping_add(chunks), Ordering::Relaxed);
    }
}
