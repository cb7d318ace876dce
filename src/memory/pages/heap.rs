//! `Pages` under Miri, which maps no memory: zero-filled memory from the allocator.

use core::alloc::Layout;
use core::ptr::NonNull;
use std::alloc::{alloc_zeroed, dealloc};
use std::io;

/// A page, as far as Miri is concerned: no reservation asks for a wider border there.
const PAGE_BYTES: usize = 16 << 10;

/// Zero-filled memory at addresses that never change; freed when dropped.
#[derive(Debug)]
pub(in crate::memory) struct Pages {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a range of memory and no more. What lies in it is the user's to share.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    pub(in crate::memory) fn reserve(bytes: usize) -> io::Result<Self> {
        let layout = Layout::from_size_align(bytes.max(1), PAGE_BYTES)
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        // SAFETY: at least one byte.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) });
        let start = start.ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, layout })
    }

    pub(in crate::memory) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Nothing: all is there.
    pub(in crate::memory) fn commit(&self, _: usize, _: usize) -> io::Result<()> {
        Ok(())
    }

    /// Nothing is given back.
    ///
    /// # Safety
    /// None.
    pub(in crate::memory) unsafe fn decommit(&self, _: usize, _: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Nothing is given back.
    ///
    /// # Safety
    /// None.
    pub(in crate::memory) unsafe fn discard(&self, _: usize, _: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::memory) fn advise_huge(&self, _: usize, _: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// All is there already.
    pub(in crate::memory) fn populate(&self, _: usize, _: usize) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: it was taken with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
