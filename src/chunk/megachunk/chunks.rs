//! `Chunks`: the owner of a run of chunks; `RawChunks`: its ticket.

use core::fmt;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;
use core::slice;

use crate::chunk::memory::{Memory, SystemMemory};
use crate::chunk::{CHUNK_BYTES, MegachunkAllocator, Run};

/// Owns 1 to 64 neighbouring chunks; gives them back when it is dropped.
///
/// Neither `Copy` nor `Clone`: a double free cannot be written. To keep chunks in a table, turn the
/// handle into a [`RawChunks`] ticket and [`reclaim`](MegachunkAllocator::reclaim) it later.
///
/// The content of fresh chunks is unspecified. Sixteen bytes; `Send` and `Sync`.
///
/// ```
/// use megachunk::chunk::{CHUNK_BYTES, MegachunkAllocator};
///
/// let allocator = MegachunkAllocator::new();
/// let mut chunks = allocator.allocate_run(8)?;
/// let bytes = chunks.as_uninit();
/// assert_eq!(bytes.len(), 8 * CHUNK_BYTES);
/// bytes[0].write(42);
/// # Ok::<(), megachunk::chunk::ChunkError>(())
/// ```
#[must_use = "dropping it gives the chunks back at once"]
pub struct Chunks<'a, M: Memory = SystemMemory> {
    allocator: &'a MegachunkAllocator<M>,
    run: Run,
}

impl<'a, M: Memory> Chunks<'a, M> {
    /// The owner of a run.
    ///
    /// # Safety
    /// The run was taken from this allocator and has no other owner.
    #[inline(always)]
    pub(crate) unsafe fn new(allocator: &'a MegachunkAllocator<M>, run: Run) -> Self {
        Self { allocator, run }
    }

    /// Which chunks these are.
    #[inline(always)]
    #[must_use]
    pub fn run(&self) -> Run {
        self.run
    }

    /// The first byte of `len * 16 KiB`, aligned to 4 KiB (to 16 KiB, with reserved addresses).
    #[inline(always)]
    #[must_use]
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.allocator.base(self.run.first())
    }

    /// The memory, whose content is unspecified.
    #[must_use]
    pub fn as_uninit(&mut self) -> &mut [MaybeUninit<u8>] {
        let bytes = self.run.len() as usize * CHUNK_BYTES;
        // SAFETY: the handle owns the chunks, which are committed, neighbours, and nobody else's;
        // the borrow of the handle covers the slice.
        unsafe { slice::from_raw_parts_mut(self.as_ptr().as_ptr().cast(), bytes) }
    }

    /// Gives the chunks back. The same as dropping the handle, by its name.
    pub fn free(self) {
        drop(self);
    }

    /// Turns the handle into a ticket, for which the chunks can be had back once. Nothing is freed
    /// until then.
    #[must_use = "without the ticket the chunks stay taken for ever"]
    pub fn into_raw(self) -> RawChunks {
        let this = ManuallyDrop::new(self);
        this.allocator.issue_ticket(this.run)
    }
}

impl<M: Memory> Drop for Chunks<'_, M> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the handle owns the run, and ends here.
        unsafe { self.allocator.give_back(self.run) };
    }
}

impl<M: Memory> fmt::Debug for Chunks<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chunks({:?})", self.run)
    }
}

/// A ticket for chunks: plain data, to be kept in a table and turned back into [`Chunks`] once.
///
/// It may be copied; the first to [`reclaim`](MegachunkAllocator::reclaim) it gets the chunks, all
/// others an error. Tickets are numbered and never used twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawChunks {
    pub(crate) run: Run,
    pub(crate) ticket: u64,
    pub(crate) allocator: u64,
}

impl RawChunks {
    /// Which chunks these are.
    #[must_use]
    pub fn run(self) -> Run {
        self.run
    }
}

impl fmt::Debug for RawChunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawChunks({:?}, ticket {})", self.run, self.ticket)
    }
}
