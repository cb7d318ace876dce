//! `ChunkAllocator`: the seam between the product and the references it is measured against.

use core::ptr::NonNull;
use std::io;

use crate::chunk::{ChunkError, Run};

/// What every chunk allocator of this crate can do, the product and the references alike. Open, for an allocator of
/// your own beside ours; it [may change in any version](crate#what-stays).
///
/// Tests, benchmarks and fuzz targets are written against this trait. All methods take `&self`
/// and may be called from any thread at any time. It deals in raw [`Run`]s and is therefore
/// unsafe to free through; the product's own face is safe.
///
/// # Safety
/// A run that [`allocate`](Self::allocate) gives has the length that was asked for and no chunk in common with another
/// run in use. Until it is [freed](Self::free), [`base`](Self::base) gives (or panics) the same address of so many
/// bytes, readable and writable, which nobody else uses: workloads write there.
///
/// ```compile_fail,E0200
/// # use core::ptr::NonNull;
/// # use megachunk::chunk::{ChunkAllocator, ChunkError, Run};
/// struct Liar;
/// impl ChunkAllocator for Liar {
///     const NAME: &'static str = "liar";
///     fn fresh() -> Self { Self }
///     fn allocate(&self, len: usize) -> Result<Run, ChunkError> {
///         Run::new(0, len as u32).ok_or(ChunkError::BadLength { len })
///     }
///     unsafe fn free(&self, _: Run) -> Result<(), ChunkError> { Ok(()) }
///     fn base(&self, _: Run) -> NonNull<u8> { NonNull::dangling() }
///     fn in_use(&self) -> usize { 0 }
/// }
/// ```
pub unsafe trait ChunkAllocator: Send + Sync {
    /// The name in tables: `naive`, `megachunk_dots`, `megachunk`.
    const NAME: &'static str;

    /// A fresh allocator with nothing in use.
    fn fresh() -> Self
    where
        Self: Sized;

    /// [`fresh`](Self::fresh), where an allocator needs much of the system at once: without a panic.
    ///
    /// # Errors
    /// What the system said, if it has no room.
    fn try_fresh() -> io::Result<Self>
    where
        Self: Sized,
    {
        Ok(Self::fresh())
    }

    /// Takes a run of exactly `len` neighbouring chunks (1 to 64) of one mega-chunk.
    ///
    /// # Errors
    /// [`ChunkError`]; what was in use is so still, and nothing else is.
    fn allocate(&self, len: usize) -> Result<Run, ChunkError>;

    /// Gives a run back.
    ///
    /// # Errors
    /// [`ChunkError::NotInUse`] where the allocator can see that the run is not in use; nothing
    /// has changed then.
    ///
    /// # Safety
    /// `run` came from [`allocate`](Self::allocate) of this allocator, was not given back since,
    /// and nobody uses its memory from now on.
    unsafe fn free(&self, run: Run) -> Result<(), ChunkError>;

    /// The first byte of the run's memory: `len * 16 KiB` bytes, readable and writable while the
    /// run is in use.
    fn base(&self, run: Run) -> NonNull<u8>;

    /// Chunks in use: exact while no other thread takes or gives.
    fn in_use(&self) -> usize;

    /// Returns the chunks that this thread keeps for itself, so that any thread can have them.
    fn flush(&self) {}
}
