//! **References, not the product**: what `EntityIndex` is measured against. They [may change in any
//! version](crate#what-stays).
//!
//! * [`Naive`]: one mutex round a free list, as an ordinary program would write it;
//! * [`BusyBlock`]: the entity store of Unity DOTS as published, with one busy flag a data block.
//!
//! Both keep the same contract through the same [`EntityAllocator`](crate::entity::EntityAllocator)
//! and pass the same tests. Where a published algorithm has a fault, the reference has it too: its
//! file lists it, and a test shows it.

mod busy_block;
mod naive;

pub use busy_block::BusyBlock;
pub use naive::Naive;
