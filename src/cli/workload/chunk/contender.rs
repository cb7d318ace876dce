//! `ChunkContender`: what takes part in the chunk workloads.

use core::ptr::NonNull;

use crate::chunk::{ChunkAllocator, ChunkError, Run};

/// An allocator of chunks, as the workloads see it.
///
/// Every [`ChunkAllocator`] is one through [`ChunkSeam`]; an allocator that can do more than the
/// seam asks implements the trait itself.
pub trait ChunkContender: Send + Sync + Sized + 'static {
    /// The name in tables.
    const NAME: &'static str;
    /// Whether filling all 16 GiB chunk by chunk is a matter of seconds.
    const FILLS_QUICKLY: bool;
    /// Whether it gives memory back to the system while it lives.
    const GIVES_MEMORY_BACK: bool;

    /// A fresh allocator with nothing in use.
    fn fresh() -> Self;

    /// Takes a run of exactly `len` chunks.
    ///
    /// # Errors
    /// As the allocator has it.
    fn take(&self, len: usize) -> Result<Run, ChunkError>;

    /// Gives a run back.
    ///
    /// # Safety
    /// As [`ChunkAllocator::free`].
    unsafe fn give(&self, run: Run) -> Result<(), ChunkError>;

    /// Appends runs of `count` chunks in all to `out`, in the quickest way that there is.
    ///
    /// # Errors
    /// As the allocator has it.
    fn take_many(&self, out: &mut Vec<Run>, count: usize) -> Result<(), ChunkError> {
        for _ in 0..count {
            out.push(self.take(1)?);
        }
        Ok(())
    }

    /// The first byte of a run's memory.
    fn base(&self, run: Run) -> NonNull<u8>;

    /// Gives chunks that this thread keeps back to everybody.
    fn flush(&self);

    /// Gives the memory of all chunks that are not in use back to the system.
    fn trim(&self);
}

/// A [`ChunkAllocator`] as a contender: `FILLS` and `GIVES` say what the seam does not.
#[derive(Debug)]
pub struct ChunkSeam<A, const FILLS: bool, const GIVES: bool>(A);

impl<A: ChunkAllocator + 'static, const FILLS: bool, const GIVES: bool> ChunkContender
    for ChunkSeam<A, FILLS, GIVES>
{
    const NAME: &'static str = A::NAME;
    const FILLS_QUICKLY: bool = FILLS;
    const GIVES_MEMORY_BACK: bool = GIVES;

    fn fresh() -> Self {
        Self(A::fresh())
    }

    #[inline(always)]
    fn take(&self, len: usize) -> Result<Run, ChunkError> {
        self.0.allocate(len)
    }

    #[inline(always)]
    unsafe fn give(&self, run: Run) -> Result<(), ChunkError> {
        // SAFETY: the caller keeps the same promise.
        unsafe { self.0.free(run) }
    }

    #[inline(always)]
    fn base(&self, run: Run) -> NonNull<u8> {
        self.0.base(run)
    }

    fn flush(&self) {
        self.0.flush();
    }

    fn trim(&self) {
        // What the seam knows gives memory back by itself, with the last chunk, or never.
        self.0.flush();
    }
}
