//! `Reservation`: a range of addresses, zero-filled, whose pages come on first touch.

use core::ops::Range;
use core::ptr::NonNull;
use std::io;

use memmap2::{MmapOptions, MmapRaw};

use super::HUGE_PAGE_BYTES;

/// A private range of zero-filled memory that takes pages only where it is touched, and gives
/// them back on request. Its address never changes; it is unmapped when dropped.
///
/// Methods may be called from any thread; none takes a lock of this process.
#[derive(Debug)]
pub struct Reservation {
    map: MmapRaw,
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a reservation is a range of memory and no more; its methods only call the system, which
// serializes them. What lies in the memory is the user's to share.
unsafe impl Send for Reservation {}
// SAFETY: as above.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// Reserves `bytes` of addresses. The first byte lies `stagger` bytes behind a 2 MiB border:
    /// tables that all began on such a border would fight for the same cache sets.
    ///
    /// # Errors
    /// What the system said, when it has no such range.
    pub fn new(bytes: usize, stagger: usize) -> io::Result<Self> {
        Self::behind(HUGE_PAGE_BYTES, bytes, stagger)
    }

    /// The same, but the border is one of so many bytes, a power of two: as many addresses, no more, are reserved
    /// beside.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn behind(border: usize, bytes: usize, stagger: usize) -> io::Result<Self> {
        let whole = bytes
            .checked_add(stagger)
            .and_then(|bytes| bytes.checked_add(border))
            .ok_or(io::ErrorKind::InvalidInput)?;
        let map = MmapOptions::new().len(whole).no_reserve_swap().map_anon()?;
        let map = MmapRaw::from(map);
        let start = map.as_mut_ptr();
        let to_border = start.align_offset(border);
        // SAFETY: the mapping is `border` and `stagger` longer than `bytes`, so the base and
        // `bytes` behind it lie inside it.
        let base = unsafe { start.add(to_border + stagger) };
        let base = NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { map, base, bytes })
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

    /// Asks the system for huge pages in `range`, where it has them. Advice: a refusal changes
    /// nothing but speed.
    ///
    /// # Errors
    /// What the system said; `Unsupported` where there is no such advice.
    pub fn advise_huge(&self, range: Range<usize>) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            let (offset, len) = self.pages_outside(range);
            self.map
                .advise_range(memmap2::Advice::HugePage, offset, len)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = range;
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    /// Fetches all pages of `range` now, in one call, instead of one fault a page on first touch.
    ///
    /// # Errors
    /// What the system said, out of memory for one; `Unsupported` where there is no such call.
    pub fn populate(&self, range: Range<usize>) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            let (offset, len) = self.pages_outside(range);
            self.map
                .advise_range(memmap2::Advice::PopulateWrite, offset, len)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = range;
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    /// Gives the pages that lie wholly in `range` back to the system; on Linux they read as zero
    /// afterwards. Whoever reads there meanwhile sees the old bytes or zeros, never a fault.
    ///
    /// # Errors
    /// What the system said; `Unsupported` where memory cannot be given back.
    ///
    /// # Safety
    /// Nobody relies on the content of `range` any more, and no Rust reference to it is alive.
    pub unsafe fn discard(&self, range: Range<usize>) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            let (offset, len) = self.pages_inside(range);
            if len == 0 {
                return Ok(());
            }
            // SAFETY: the caller gives up the content of `range`, and these pages lie inside it.
            unsafe {
                self.map
                    .unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, offset, len)
            }
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = range;
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    /// Offset and length in the mapping of the pages that `range` touches.
    #[cfg(target_os = "linux")]
    fn pages_outside(&self, range: Range<usize>) -> (usize, usize) {
        assert!(
            range.start <= range.end && range.end <= self.bytes,
            "{range:?} of {self:?}"
        );
        let offset = self.base.as_ptr().addr() - self.map.as_mut_ptr().addr() + range.start;
        // The system rounds the start down to a page and the end up.
        (offset, range.end - range.start)
    }

    /// Offset and length in the mapping of the pages that lie wholly in `range`.
    #[cfg(target_os = "linux")]
    fn pages_inside(&self, range: Range<usize>) -> (usize, usize) {
        assert!(
            range.start <= range.end && range.end <= self.bytes,
            "{range:?} of {self:?}"
        );
        // Any page size of Linux divides 64 KiB; ranges smaller than that are not worth a call.
        const PAGE: usize = 64 << 10;
        let base = self.base.as_ptr().addr();
        let start = (base + range.start).next_multiple_of(PAGE);
        let end = (base + range.end) / PAGE * PAGE;
        (
            start - self.map.as_mut_ptr().addr(),
            end.saturating_sub(start),
        )
    }
}
