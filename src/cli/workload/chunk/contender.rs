//! `ChunkContender`: what takes part in the chunk workloads.

use core::ptr::NonNull;
use std::io;

use crate::chunk::{ChunkError, Run};

/// An allocator of chunks, as the workloads see it.
///
/// A [`ChunkAllocator`](crate::chunk::ChunkAllocator) is one through
/// [`ChunkSeam`](super::ChunkSeam), once a recipe says what the seam does not.
///
/// # Safety
/// As [`ChunkAllocator`](crate::chunk::ChunkAllocator)'s: workloads write to the runs that they take.
pub unsafe trait ChunkContender: Send + Sync + Sized + 'static {
    /// The name in tables.
    const NAME: &'static str;
    /// Whether filling all 16 GiB chunk by chunk is a matter of seconds.
    const FILLS_QUICKLY: bool;
    /// Whether it gives memory back to the system while it lives.
    const GIVES_MEMORY_BACK: bool;
    /// Whether a fresh one may get memory from the process's heap that others had touched before.
    const TAKES_FROM_HEAP: bool;

    /// A fresh allocator with nothing in use.
    fn fresh() -> Self;

    /// Whether the system has room for one: [`fresh`](Self::fresh) can only panic.
    ///
    /// # Errors
    /// What the system says.
    fn try_room() -> io::Result<()> {
        Ok(())
    }

    /// Takes a run of exactly `len` chunks.
    ///
    /// # Errors
    /// As the allocator has it.
    fn take(&self, len: usize) -> Result<Run, ChunkError>;

    /// Gives a run back.
    ///
    /// # Safety
    /// As [`ChunkAllocator::free`](crate::chunk::ChunkAllocator::free).
    unsafe fn give(&self, run: Run) -> Result<(), ChunkError>;

    /// The first byte of a run's memory.
    fn base(&self, run: Run) -> NonNull<u8>;

    /// Gives chunks that this thread keeps back to everybody.
    fn flush(&self);

    /// Gives the memory of all chunks that are not in use back to the system.
    fn trim(&self);
}
