//! `MappedMemory`: a mapping for each mega-chunk.

use core::fmt;
use core::ops::Range;
use core::ptr::{self, NonNull};
use std::io;

use super::{MEGACHUNK_BYTES, Memory, there};
use crate::chunk::{CHUNK_BYTES, ChunkOptions, MEGACHUNK_CHUNKS, MEGACHUNKS};
use crate::memory::Reservation;
use crate::sync::atomic::{AtomicPtr, Ordering};

/// Maps each mega-chunk when it is committed and unmaps it when it is given back: for systems that
/// have no 16 GiB of addresses for one process, or that account addresses as memory: each takes 1,040 KiB of
/// them.
pub struct MappedMemory {
    /// For each mega-chunk its mapping, or null. Followed only by `decommit`, which owns it.
    maps: Box<[AtomicPtr<Reservation>]>,
    /// For each mega-chunk its first byte, or null. By itself, because anybody may ask for the base
    /// of a chunk that is just being given back: then a number is read and no mapping followed.
    starts: Box<[AtomicPtr<u8>]>,
    huge_pages: bool,
    populate: bool,
}

fn nulls<T>() -> Box<[AtomicPtr<T>]> {
    (0..MEGACHUNKS)
        .map(|_| AtomicPtr::new(ptr::null_mut()))
        .collect()
}

impl MappedMemory {
    /// Maps nothing yet. Of the options it takes [`huge_pages`](ChunkOptions::huge_pages) and
    /// [`populate`](ChunkOptions::populate); the others are the allocator's. O(mega-chunks).
    ///
    /// ```
    /// use megachunk::chunk::ChunkOptions;
    /// use megachunk::chunk::memory::MappedMemory;
    ///
    /// let options = ChunkOptions::new().huge_pages(false).populate(true);
    /// let allocator = options.build_with(MappedMemory::new(&options))?;
    /// let _chunk = allocator.allocate()?;
    /// assert_eq!(allocator.in_use(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(options: &ChunkOptions) -> Self {
        Self {
            maps: nulls(),
            starts: nulls(),
            huge_pages: options.huge_pages,
            populate: options.populate,
        }
    }
}

impl fmt::Debug for MappedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedMemory")
            .field("megachunks", &there(&self.starts))
            .field("huge_pages", &self.huge_pages)
            .field("populate", &self.populate)
            .finish_non_exhaustive()
    }
}

// SAFETY: a mapping is made by `commit`, lives until `decommit`, and belongs to one mega-chunk.
unsafe impl Memory for MappedMemory {
    unsafe fn commit(&self, megachunk: u32) -> io::Result<()> {
        // A chunk longer than it need be: systems put mappings one beside the other, so they begin at different places
        // of the cache.
        let memory = Reservation::behind(CHUNK_BYTES, MEGACHUNK_BYTES, 0)?;
        if self.huge_pages {
            // Advice: without it only speed differs.
            let _ = memory.advise_huge(0..memory.bytes());
        }
        if self.populate {
            match memory.populate(0..memory.bytes()) {
                Err(error) if super::reserved::is_unsupported(&error) => {}
                result => result?,
            }
        }
        // Ordering: Release pairs with the Acquire in `base`. Both are more than is needed, here and in `decommit`: whoever
        // has a chunk sees what was stored for it by the mask, and others follow no address.
        self.starts[megachunk as usize].store(memory.base().as_ptr(), Ordering::Release);
        let mapping = Box::into_raw(Box::new(memory));
        let old = self.maps[megachunk as usize].swap(mapping, Ordering::AcqRel);
        debug_assert!(old.is_null(), "mega-chunk {megachunk} was mapped twice");
        Ok(())
    }

    unsafe fn decommit(&self, megachunks: Range<u32>) -> io::Result<()> {
        for megachunk in megachunks {
            self.starts[megachunk as usize].store(ptr::null_mut(), Ordering::Release);
            let mapping = self.maps[megachunk as usize].swap(ptr::null_mut(), Ordering::AcqRel);
            if !mapping.is_null() {
                // SAFETY: from `commit`, taken out of the table by this call alone; the caller says
                // that nobody uses the memory.
                let mapping = unsafe { Box::from_raw(mapping) };
                // First: a system whose table of mappings is full does not unmap the middle of one, and nobody is told.
                // Then addresses are lost, and no memory.
                // SAFETY: as above.
                let _ = unsafe { mapping.discard(0..mapping.bytes()) };
            }
        }
        Ok(())
    }

    unsafe fn discard(&self, chunks: Range<u32>) -> io::Result<()> {
        let megachunk = chunks.start as usize / MEGACHUNK_CHUNKS;
        // Ordering: Relaxed: whoever has a chunk of the mega-chunk sees its mapping by the mask.
        let mapping = self.maps[megachunk].load(Ordering::Relaxed);
        // SAFETY: from `commit`; it lives as long as the mega-chunk is committed, which it is while the caller holds chunks
        // of it.
        let Some(mapping) = (unsafe { mapping.as_ref() }) else {
            return Ok(());
        };
        let offset = |chunk: u32| (chunk as usize - megachunk * MEGACHUNK_CHUNKS) * CHUNK_BYTES;
        // SAFETY: the caller holds these chunks, and nobody uses their memory.
        unsafe { mapping.discard(offset(chunks.start)..offset(chunks.end)) }
    }

    #[inline]
    fn base(&self, chunk: u32) -> NonNull<u8> {
        // Ordering: Acquire, see `commit`.
        let start = self.starts[chunk as usize / MEGACHUNK_CHUNKS].load(Ordering::Acquire);
        let offset = chunk as usize % MEGACHUNK_CHUNKS * CHUNK_BYTES;
        // Wrapping: for a chunk that is not committed the address means nothing.
        NonNull::new(start.wrapping_add(offset)).unwrap_or(NonNull::dangling())
    }
}

impl Drop for MappedMemory {
    fn drop(&mut self) {
        // SAFETY: `&mut self`: nobody uses any chunk any more.
        let _ = unsafe { self.decommit(0..MEGACHUNKS as u32) };
    }
}
