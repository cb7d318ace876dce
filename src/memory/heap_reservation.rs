//! `Reservation` under Miri, which maps no memory: zero-filled memory from the allocator. Nothing
//! is given back before the end.

use core::alloc::Layout;
use core::ops::Range;
use core::ptr::NonNull;
use std::alloc::{alloc_zeroed, dealloc};
use std::io;

/// A page, as far as Miri is concerned.
const PAGE_BYTES: usize = 4_096;

/// A private range of zero-filled memory. Its address never changes; it is freed when dropped.
///
/// Methods may be called from any thread.
#[derive(Debug)]
pub struct Reservation {
    start: NonNull<u8>,
    layout: Layout,
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a range of memory and no more. What lies in it is the user's to share.
unsafe impl Send for Reservation {}
// SAFETY: as above.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// Takes `bytes`. The first one lies `stagger` bytes behind the border of a page.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(bytes: usize, stagger: usize) -> io::Result<Self> {
        Self::behind(PAGE_BYTES, bytes, stagger)
    }

    /// The same, but the border is one of so many bytes, a power of two.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn behind(border: usize, bytes: usize, stagger: usize) -> io::Result<Self> {
        let whole = bytes
            .checked_add(stagger)
            .ok_or(io::ErrorKind::InvalidInput)?;
        let layout = Layout::from_size_align(whole.max(1), border)
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        // SAFETY: at least one byte.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) });
        let start = start.ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: not behind the end.
        let base = unsafe { start.add(stagger) };
        Ok(Self {
            start,
            layout,
            base,
            bytes,
        })
    }

    /// The first byte; `bytes` from here on are readable and writable.
    #[inline(always)]
    #[must_use]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// The size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// There are no huge pages here.
    ///
    /// # Errors
    /// `Unsupported`.
    pub fn advise_huge(&self, _: Range<usize>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// All is there already.
    ///
    /// # Errors
    /// None.
    pub fn populate(&self, _: Range<usize>) -> io::Result<()> {
        Ok(())
    }

    /// Nothing is given back.
    ///
    /// # Errors
    /// `Unsupported`.
    ///
    /// # Safety
    /// As where there are pages: nobody relies on the content of `range` any more.
    pub unsafe fn discard(&self, _: Range<usize>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: it was taken with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
