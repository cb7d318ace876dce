//! `Reservation`: a range of addresses, zero-filled, whose pages come on first touch.

use core::ops::Range;
use core::ptr::NonNull;
use std::io;

use super::HUGE_PAGE_BYTES;
use super::pages::Pages;

/// The border that a range begins behind, if nothing else is asked for: one of a huge page, where there are any.
const BORDER: usize = if cfg!(miri) {
    16 << 10
} else {
    HUGE_PAGE_BYTES
};

/// A private range of zero-filled memory that takes pages only where it is touched, and gives
/// them back on request. Its address never changes; it is unmapped when dropped. Pages are small, even where the system
/// gives huge ones unasked, but for those that are [advised](Self::advise_huge).
///
/// A range that was [reserved](Self::reserve) may be touched where it is [committed](Self::commit), and nowhere
/// else. Only some systems insist on that, Windows for one, which accounts what is committed as memory; for others
/// committing does nothing. One that is [`new`](Self::new) is committed.
///
/// Methods may be called from any thread; none takes a lock of this process.
///
/// ```
/// use megachunk::memory::Reservation;
///
/// // A terabyte of addresses takes no memory.
/// let table = Reservation::reserve(1 << 40, 0)?;
/// table.commit(0..4_096)?;
/// // SAFETY: committed, and nobody else's.
/// unsafe {
///     assert_eq!(table.base().read(), 0);
///     table.base().write(7);
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Reservation {
    pages: Pages,
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a reservation is a range of memory and no more; its methods only call the system, which
// serializes them. What lies in the memory is the user's to share.
unsafe impl Send for Reservation {}
// SAFETY: as above.
unsafe impl Sync for Reservation {}

/// The page size of any system divides this.
const LARGEST_PAGE: usize = 64 << 10;

/// The page size of this system divides this.
const PAGE: usize = if cfg!(any(target_arch = "x86", target_arch = "x86_64")) {
    4 << 10
} else {
    LARGEST_PAGE
};

impl Reservation {
    /// Takes `bytes` that may be touched. The first byte lies `stagger` bytes behind a 2 MiB border:
    /// tables that all began on such a border would fight for the same cache sets.
    ///
    /// # Errors
    /// What the system said, when it has no such range, or not so much memory.
    pub fn new(bytes: usize, stagger: usize) -> io::Result<Self> {
        Self::behind(BORDER, bytes, stagger)
    }

    /// The same, but the border is one of so many bytes, a power of two: as many addresses, no more, are reserved
    /// beside.
    ///
    /// # Errors
    /// As for [`new`](Self::new); `InvalidInput` if the border is no power of two.
    pub fn behind(border: usize, bytes: usize, stagger: usize) -> io::Result<Self> {
        if !border.is_power_of_two() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let reserved = Self::reserve_behind(border, bytes, stagger)?;
        reserved.commit(0..bytes)?;
        Ok(reserved)
    }

    /// Takes addresses of `bytes`, `stagger` behind a 2 MiB border, of which nothing is committed yet.
    ///
    /// # Errors
    /// What the system said, when it has no such range.
    pub fn reserve(bytes: usize, stagger: usize) -> io::Result<Self> {
        Self::reserve_behind(BORDER, bytes, stagger)
    }

    fn reserve_behind(border: usize, bytes: usize, stagger: usize) -> io::Result<Self> {
        let whole = bytes
            .checked_add(stagger)
            .and_then(|bytes| bytes.checked_add(border))
            .ok_or(io::ErrorKind::InvalidInput)?;
        let pages = Pages::reserve(whole).map_err(|error| refused(whole, error))?;
        let start = pages.start();
        let to_border = start.align_offset(border);
        // SAFETY: there are `border` and `stagger` more than `bytes`, so the base and `bytes` behind
        // it lie inside.
        let base = unsafe { start.add(to_border + stagger) };
        let base = NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { pages, base, bytes })
    }

    /// The first byte; from here on `bytes` are readable and writable where they are committed.
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

    /// Makes all pages that `range` touches readable and writable. What is committed stays as it is; several threads
    /// may commit the same at once.
    ///
    /// # Errors
    /// What the system said, when it has not so much memory. Nothing has changed then.
    ///
    /// # Panics
    /// If `range` is not one of the reservation.
    pub fn commit(&self, range: Range<usize>) -> io::Result<()> {
        let (offset, len) = self.pages_outside(range);
        self.pages.commit(offset, len)
    }

    /// Asks the system for huge pages in `range`, where it has them. Advice: a refusal changes
    /// nothing but speed.
    ///
    /// # Errors
    /// What the system said; `Unsupported` where there is no such advice.
    ///
    /// # Panics
    /// As for [`commit`](Self::commit).
    pub fn advise_huge(&self, range: Range<usize>) -> io::Result<()> {
        let (offset, len) = self.pages_outside(range);
        self.pages.advise_huge(offset, len)
    }

    /// The same for all of it; whether the system takes the advice. If it refuses, `tracing` tells whose memory goes
    /// without, and why.
    pub(crate) fn want_huge(&self, whose: &str) -> bool {
        let advised = self.advise_huge(0..self.bytes);
        if let Err(error) = &advised
            && error.kind() != io::ErrorKind::Unsupported
        {
            tracing::debug!(
                name: "no_huge_pages",
                target: "megachunk::memory",
                whose,
                %error,
                "no huge pages"
            );
        }
        advised.is_ok()
    }

    /// Fetches all pages of `range`, which is committed, now, in one call, instead of one fault a page on first touch.
    ///
    /// # Errors
    /// What the system said, out of memory for one; `Unsupported` where there is no such call.
    ///
    /// # Panics
    /// As for [`commit`](Self::commit).
    pub fn populate(&self, range: Range<usize>) -> io::Result<()> {
        let (offset, len) = self.pages_outside(range);
        self.pages.populate(offset, len)
    }

    /// Gives the pages that lie wholly in `range` back to the system: they are not committed any more. On Linux they
    /// read as zero afterwards, and whoever reads there meanwhile sees the old bytes or zeros, never a fault.
    ///
    /// # Errors
    /// What the system said; `Unsupported` where memory cannot be given back.
    ///
    /// # Panics
    /// As for [`commit`](Self::commit).
    ///
    /// # Safety
    /// Nobody relies on the content of `range` any more, touches it before it is [committed](Self::commit) again, or
    /// has a reference to it.
    pub unsafe fn decommit(&self, range: Range<usize>) -> io::Result<()> {
        let (offset, len) = self.pages_inside(range, LARGEST_PAGE);
        if len == 0 {
            return Ok(());
        }
        // SAFETY: the caller gives up the content of `range`, and these pages lie inside it.
        unsafe { self.pages.decommit(offset, len) }
    }

    /// Lets the system have the memory of pages that lie wholly in `range`, which stay committed: what is touched there
    /// has memory again, with zeros in it or with what was there.
    ///
    /// # Errors
    /// What the system said; `Unsupported` where it has no such call.
    ///
    /// # Panics
    /// As for [`commit`](Self::commit).
    ///
    /// # Safety
    /// `range` is committed, nobody relies on its content any more or has a reference to it.
    pub unsafe fn discard(&self, range: Range<usize>) -> io::Result<()> {
        let (offset, len) = self.pages_inside(range, PAGE);
        if len == 0 {
            return Ok(());
        }
        // SAFETY: the caller gives up the content of `range`, and these pages lie inside it.
        unsafe { self.pages.discard(offset, len) }
    }

    /// Offset and length from the first page of what `range` touches.
    fn pages_outside(&self, range: Range<usize>) -> (usize, usize) {
        self.check(&range);
        // Systems round the start down to a page and the end up.
        (self.offset() + range.start, range.end - range.start)
    }

    /// Offset and length from the first page of the pages of so many bytes that lie wholly in `range`.
    fn pages_inside(&self, range: Range<usize>, page: usize) -> (usize, usize) {
        self.check(&range);
        let base = self.base.as_ptr().addr();
        let start = (base + range.start).next_multiple_of(page);
        let end = (base + range.end) / page * page;
        (start - self.pages.start().addr(), end.saturating_sub(start))
    }

    /// Bytes from the first page to the base.
    fn offset(&self) -> usize {
        self.base.as_ptr().addr() - self.pages.start().addr()
    }

    fn check(&self, range: &Range<usize>) {
        assert!(
            range.start <= range.end && range.end <= self.bytes,
            "{range:?} of {self:?}"
        );
    }
}

/// What the system said, and to what: limits of addresses, and of mappings, are unknown to most whose program meets
/// one.
fn refused(bytes: usize, error: io::Error) -> io::Error {
    let limits = if cfg!(unix) {
        " (a limit of the process, `ulimit -v`, `-d` or `-l`, the system's of mappings, `vm.max_map_count`, or all addresses are taken?)"
    } else {
        ""
    };
    let (count, unit) = match bytes >> 20 {
        0 => (bytes.div_ceil(1 << 10), "KiB"),
        _ => (bytes.div_ceil(1 << 20), "MiB"),
    };
    let what = format!("{count} {unit} of addresses were refused: {error}{limits}");
    io::Error::new(error.kind(), what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_border_that_is_no_power_of_two_is_refused() {
        for border in [0, 3, 12_288, usize::MAX] {
            let error = Reservation::behind(border, 4_096, 0).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{border}");
        }
        let there = Reservation::behind(1 << 16, 4_096, 64).unwrap();
        assert_eq!(there.base().addr().get() % (1 << 16), 64);
    }
}
