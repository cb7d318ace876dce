//! `ReservedMemory`: 16 GiB of address space, taken once.

use core::ops::Range;
use core::ptr::NonNull;
use std::io;

use super::{MEGACHUNK_BYTES, Memory};
use crate::chunk::{CHUNK_BYTES, ChunkOptions, MEGACHUNKS};
use crate::memory::Reservation;

/// One range of addresses for all chunks: a chunk's address is an addition away, committing costs
/// nothing (or one call, with `populate`, or on Windows), and memory comes on first touch.
#[derive(Debug)]
pub struct ReservedMemory {
    range: Reservation,
    populate: bool,
}

impl ReservedMemory {
    /// Reserves 16 GiB of addresses; no memory. Of the options it takes
    /// [`huge_pages`](ChunkOptions::huge_pages) and [`populate`](ChunkOptions::populate); the others are the allocator's.
    ///
    /// # Errors
    /// What the system said, when it has no such range.
    pub fn new(options: &ChunkOptions) -> io::Result<Self> {
        let range = Reservation::reserve(MEGACHUNKS * MEGACHUNK_BYTES, 0)?;
        if options.huge_pages {
            range.want_huge("chunks");
        }
        Ok(Self {
            range,
            populate: options.populate,
        })
    }
}

/// Whether a system says that it has no such call.
pub(super) fn is_unsupported(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput
    )
}

// SAFETY: the range is never unmapped, and readable and writable where it is committed; chunk `n` is the
// `n`th 16 KiB of it, which begins on a 2 MiB border.
unsafe impl Memory for ReservedMemory {
    unsafe fn commit(&self, megachunk: u32) -> io::Result<()> {
        let start = megachunk as usize * MEGACHUNK_BYTES;
        let range = start..start + MEGACHUNK_BYTES;
        self.range.commit(range.clone())?;
        if !self.populate {
            return Ok(());
        }
        match self.range.populate(range.clone()) {
            // A system without that call brings the pages on first touch, as without `populate`.
            Err(error) if is_unsupported(&error) => Ok(()),
            Err(error) => {
                // Some pages may have come; and on Windows all are committed.
                // SAFETY: the caller holds all chunks of the mega-chunk, and nobody has used it yet.
                let _ = unsafe { self.range.decommit(range) };
                Err(error)
            }
            Ok(()) => Ok(()),
        }
    }

    unsafe fn decommit(&self, megachunks: Range<u32>) -> io::Result<()> {
        let start = megachunks.start as usize * MEGACHUNK_BYTES;
        let end = megachunks.end as usize * MEGACHUNK_BYTES;
        // SAFETY: the caller holds all chunks in the range, and nobody uses their memory.
        unsafe { self.range.decommit(start..end) }
    }

    unsafe fn discard(&self, chunks: Range<u32>) -> io::Result<()> {
        let (start, end) = (chunks.start as usize, chunks.end as usize);
        // SAFETY: the caller holds these chunks, and nobody uses their memory.
        unsafe { self.range.discard(start * CHUNK_BYTES..end * CHUNK_BYTES) }
    }

    #[inline(always)]
    fn base(&self, chunk: u32) -> NonNull<u8> {
        debug_assert!((chunk as usize) < crate::chunk::CHUNKS);
        // Wrapping, so that a number out of range gives a meaningless address, not undefined
        // behaviour; the trait promises no more for chunks that are not committed.
        let base = self
            .range
            .base()
            .as_ptr()
            .wrapping_add(chunk as usize * CHUNK_BYTES);
        NonNull::new(base).unwrap_or(NonNull::dangling())
    }
}
