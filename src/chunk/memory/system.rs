//! `SystemMemory`: reserved addresses where the system has them, single mappings where not.

use core::ops::Range;
use core::ptr::NonNull;
use std::io;

use super::{MappedMemory, Memory, ReservedMemory};
use crate::chunk::ChunkOptions;

/// The default: [`ReservedMemory`]; where 16 GiB of addresses are refused (a limit on the process, a
/// system that accounts addresses as memory), [`MappedMemory`], and a warning through `tracing`.
#[derive(Debug)]
#[non_exhaustive]
pub enum SystemMemory {
    /// One range for all.
    Reserved(ReservedMemory),
    /// A mapping for each mega-chunk.
    Mapped(MappedMemory),
}

impl SystemMemory {
    /// Reserves addresses, or falls back. Of the options it takes
    /// [`huge_pages`](ChunkOptions::huge_pages) and [`populate`](ChunkOptions::populate); the others are the allocator's.
    #[must_use]
    pub fn new(options: &ChunkOptions) -> Self {
        if cfg!(miri) {
            // It has no address space to reserve.
            return Self::Mapped(MappedMemory::new(options));
        }
        match ReservedMemory::new(options) {
            Ok(memory) => Self::Reserved(memory),
            Err(error) => {
                tracing::warn!(
                    name: "addresses_refused",
                    target: "megachunk::memory",
                    %error,
                    "16 GiB of address space refused: each mega-chunk gets a mapping of its own"
                );
                Self::Mapped(MappedMemory::new(options))
            }
        }
    }
}

// SAFETY: each call goes to the one variant there is, which keeps the promise.
unsafe impl Memory for SystemMemory {
    unsafe fn commit(&self, megachunk: u32) -> io::Result<()> {
        // SAFETY: the caller's.
        unsafe {
            match self {
                Self::Reserved(memory) => memory.commit(megachunk),
                Self::Mapped(memory) => memory.commit(megachunk),
            }
        }
    }

    unsafe fn decommit(&self, megachunks: Range<u32>) -> io::Result<()> {
        // SAFETY: the caller's.
        unsafe {
            match self {
                Self::Reserved(memory) => memory.decommit(megachunks),
                Self::Mapped(memory) => memory.decommit(megachunks),
            }
        }
    }

    unsafe fn discard(&self, chunks: Range<u32>) -> io::Result<()> {
        // SAFETY: the caller's.
        unsafe {
            match self {
                Self::Reserved(memory) => memory.discard(chunks),
                Self::Mapped(memory) => memory.discard(chunks),
            }
        }
    }

    #[inline(always)]
    fn base(&self, chunk: u32) -> NonNull<u8> {
        match self {
            Self::Reserved(memory) => memory.base(chunk),
            Self::Mapped(memory) => memory.base(chunk),
        }
    }
}
