//! `HeapMemory`: mega-chunks from Rust's allocator.

use core::fmt;
use core::ops::Range;
use core::ptr::{self, NonNull};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;

use super::{MEGACHUNK_BYTES, Memory, there};
use crate::chunk::{CHUNK_BYTES, MEGACHUNK_CHUNKS, MEGACHUNKS};
use crate::sync::atomic::{AtomicPtr, Ordering};

const LAYOUT: Layout = match Layout::from_size_align(MEGACHUNK_BYTES, CHUNK_BYTES) {
    Ok(layout) => layout,
    Err(_) => panic!("a mega-chunk has a layout"),
};

/// Takes each mega-chunk from Rust's global allocator: for platforms without memory mapping, for
/// fuzzing and for tools that watch the heap.
pub struct HeapMemory {
    /// For each mega-chunk its first byte, or null.
    blocks: Box<[AtomicPtr<u8>]>,
}

impl HeapMemory {
    /// Takes nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            blocks: (0..MEGACHUNKS)
                .map(|_| AtomicPtr::new(ptr::null_mut()))
                .collect(),
        }
    }
}

impl fmt::Debug for HeapMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeapMemory")
            .field("megachunks", &there(&self.blocks))
            .finish_non_exhaustive()
    }
}

impl Default for HeapMemory {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: a block is taken by `commit`, lives until `decommit`, and belongs to one mega-chunk.
unsafe impl Memory for HeapMemory {
    unsafe fn commit(&self, megachunk: u32) -> io::Result<()> {
        // SAFETY: the layout has a size.
        let block = unsafe { alloc_zeroed(LAYOUT) };
        if block.is_null() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        // Ordering: Release pairs with the Acquire in `base`. Both are more than is needed, here and in `decommit`: whoever
        // has a chunk sees what was stored for it by the mask, and others follow no address.
        let old = self.blocks[megachunk as usize].swap(block, Ordering::AcqRel);
        debug_assert!(old.is_null(), "mega-chunk {megachunk} was taken twice");
        Ok(())
    }

    unsafe fn decommit(&self, megachunks: Range<u32>) -> io::Result<()> {
        for megachunk in megachunks {
            let block = self.blocks[megachunk as usize].swap(ptr::null_mut(), Ordering::AcqRel);
            if !block.is_null() {
                // SAFETY: from `alloc_zeroed` with this layout, taken out of the table by this call
                // alone; the caller says that nobody uses the memory.
                unsafe { dealloc(block, LAYOUT) };
            }
        }
        Ok(())
    }

    #[inline]
    fn base(&self, chunk: u32) -> NonNull<u8> {
        // Ordering: Acquire, see `commit`.
        let block = self.blocks[chunk as usize / MEGACHUNK_CHUNKS].load(Ordering::Acquire);
        let offset = chunk as usize % MEGACHUNK_CHUNKS * CHUNK_BYTES;
        // Wrapping: for a chunk that is not committed the address means nothing.
        NonNull::new(block.wrapping_add(offset)).unwrap_or(NonNull::dangling())
    }
}

impl Drop for HeapMemory {
    fn drop(&mut self) {
        // SAFETY: `&mut self`: nobody uses any chunk any more.
        let _ = unsafe { self.decommit(0..MEGACHUNKS as u32) };
    }
}
