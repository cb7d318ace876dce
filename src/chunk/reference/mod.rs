//! **References, not the product**: what `MegachunkAllocator` is measured against. They [may change in any
//! version](crate#what-stays).
//!
//! * [`Naive`]: one mutex round a free list over heap memory, as an ordinary program would write
//!   it;
//! * [`MegachunkDots`]: the chunk store of Unity DOTS as published, one mask a mega-chunk.
//!
//! Both keep the same contract through the same [`ChunkAllocator`](crate::chunk::ChunkAllocator)
//! and pass the same tests. Where a published algorithm has a fault, the reference has it too: its
//! file lists it, and a test shows it.

mod megachunk_dots;
mod naive;

pub use megachunk_dots::MegachunkDots;
pub use naive::Naive;
