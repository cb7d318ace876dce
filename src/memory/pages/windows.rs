//! `Pages` of Windows, which counts memory when it is committed, not when it is touched.
//!
//! Committing all of 16 GiB of chunks, of which a program uses some, would take them from what all
//! programs have together. So addresses are reserved, which costs nothing, and parts committed when
//! somebody is about to use them.

use core::ffi::c_void;
use core::ptr::{self, NonNull};
use std::io;

use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_DECOMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_NOACCESS, PAGE_READWRITE,
    VirtualAlloc, VirtualFree,
};

/// Private zero-filled memory at addresses that never change; released when dropped.
#[derive(Debug)]
pub(in crate::memory) struct Pages {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a range of addresses and no more; the calls are serialized by the system. What lies in the memory is
// the user's to share.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Takes addresses; nothing there may be touched yet.
    pub(in crate::memory) fn reserve(bytes: usize) -> io::Result<Self> {
        // SAFETY: no address is asked for, so that nobody's memory changes.
        let start = unsafe { VirtualAlloc(ptr::null(), bytes, MEM_RESERVE, PAGE_NOACCESS) };
        let start = NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { start, bytes })
    }

    /// The first byte; begins 64 KiB of addresses.
    pub(in crate::memory) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Makes all pages that a range touches usable; those that are stay as they are, whoever else commits them.
    pub(in crate::memory) fn commit(&self, offset: usize, len: usize) -> io::Result<()> {
        if len == 0 {
            return Ok(());
        }
        let first = self.address(offset, len);
        // SAFETY: pages of this reservation, which become readable and writable or stay so.
        let committed = unsafe { VirtualAlloc(first, len, MEM_COMMIT, PAGE_READWRITE) };
        if committed.is_null() {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Gives pages back; they must be committed before anybody touches them again.
    ///
    /// # Safety
    /// Whole pages, which nobody touches any more.
    pub(in crate::memory) unsafe fn decommit(&self, offset: usize, len: usize) -> io::Result<()> {
        let first = self.address(offset, len);
        // SAFETY: pages of this reservation; the caller says that nobody uses them.
        if unsafe { VirtualFree(first, len, MEM_DECOMMIT) } == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// What is not committed may not be touched, and what is committed is accounted.
    ///
    /// # Safety
    /// None.
    pub(in crate::memory) unsafe fn discard(&self, _: usize, _: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Huge pages take a right here that few programs have, and are never taken apart.
    pub(in crate::memory) fn advise_huge(&self, _: usize, _: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Pages come on first touch.
    pub(in crate::memory) fn populate(&self, _: usize, _: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn address(&self, offset: usize, len: usize) -> *mut c_void {
        assert!(
            offset <= self.bytes && len <= self.bytes - offset,
            "{len} bytes from {offset} on of {self:?}"
        );
        self.start.as_ptr().wrapping_add(offset).cast()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: reserved by `reserve`, and nobody borrows it any more.
        let released = unsafe { VirtualFree(self.start.as_ptr().cast(), 0, MEM_RELEASE) };
        debug_assert!(released != 0, "{}", io::Error::last_os_error());
    }
}
