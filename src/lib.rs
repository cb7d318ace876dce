//! Lock-free concurrent entity index and mega-chunk allocator.
//!
//! * [`entity`]: `EntityIndex`, 134,217,728 generational ids that any thread may create, destroy
//!   and look up at any moment without a lock.
//! * [`chunk`]: `MegachunkAllocator`, 1,048,576 chunks of 16 KiB that any thread may take and
//!   give back, singly or in contiguous runs of up to 64.

pub mod chunk;
pub mod entity;
pub mod memory;

pub mod sync;

#[cfg(feature = "cli")]
pub mod cli;
