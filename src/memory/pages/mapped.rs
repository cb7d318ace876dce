//! `Pages` of systems that map memory: pages come on first touch, and there is nothing to commit.

use std::io;

use memmap2::{Advice, MmapOptions, MmapRaw, UncheckedAdvice};

/// Private zero-filled memory at addresses that never change; unmapped when dropped.
#[derive(Debug)]
pub(in crate::memory) struct Pages(MmapRaw);

impl Pages {
    /// Takes addresses; nothing is accounted as memory, where the system can be told so.
    pub(in crate::memory) fn reserve(bytes: usize) -> io::Result<Self> {
        let map = MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?;
        let pages = Self(MmapRaw::from(map));
        // Where the system gives huge pages unasked, the first touch of a table would take one. Advice: a refusal costs
        // memory, and nothing else.
        let _ = pages.advise(SMALL, 0, bytes);
        Ok(pages)
    }

    /// The first byte; begins a page.
    pub(in crate::memory) fn start(&self) -> *mut u8 {
        self.0.as_mut_ptr()
    }

    /// Nothing: what is reserved may be touched.
    pub(in crate::memory) fn commit(&self, _: usize, _: usize) -> io::Result<()> {
        Ok(())
    }

    /// Gives pages that lie wholly in a range back. Whoever reads there afterwards sees zeros, or, where
    /// the system takes its time, what was there.
    ///
    /// # Safety
    /// The range lies in the mapping, nobody relies on its content any more, and no Rust reference to it is alive.
    pub(in crate::memory) unsafe fn decommit(&self, offset: usize, len: usize) -> io::Result<()> {
        let Some(advice) = GIVEN_BACK else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        // SAFETY: the caller gives up the content of the range, which `Reservation` has checked lies in the mapping.
        unsafe { self.0.unchecked_advise_range(advice, offset, len) }
    }

    /// The same: what is touched there has memory again.
    ///
    /// # Safety
    /// As for [`decommit`](Self::decommit).
    pub(in crate::memory) unsafe fn discard(&self, offset: usize, len: usize) -> io::Result<()> {
        // SAFETY: the caller's.
        unsafe { self.decommit(offset, len) }
    }

    /// Asks for huge pages, which takes the advice of the beginning back.
    pub(in crate::memory) fn advise_huge(&self, offset: usize, len: usize) -> io::Result<()> {
        self.advise(HUGE, offset, len)
    }

    /// Fetches pages.
    pub(in crate::memory) fn populate(&self, offset: usize, len: usize) -> io::Result<()> {
        self.advise(POPULATED, offset, len)
    }

    fn advise(&self, advice: Option<Advice>, offset: usize, len: usize) -> io::Result<()> {
        let advice = advice.ok_or(io::ErrorKind::Unsupported)?;
        self.0.advise_range(advice, offset, len)
    }
}

#[cfg(target_os = "linux")]
const HUGE: Option<Advice> = Some(Advice::HugePage);
#[cfg(not(target_os = "linux"))]
const HUGE: Option<Advice> = None;

#[cfg(target_os = "linux")]
const SMALL: Option<Advice> = Some(Advice::NoHugePage);
#[cfg(not(target_os = "linux"))]
const SMALL: Option<Advice> = None;

#[cfg(target_os = "linux")]
const POPULATED: Option<Advice> = Some(Advice::PopulateWrite);
#[cfg(not(target_os = "linux"))]
const POPULATED: Option<Advice> = None;

#[cfg(any(target_os = "linux", target_os = "android"))]
const GIVEN_BACK: Option<UncheckedAdvice> = Some(UncheckedAdvice::DontNeed);
// Here the other advice gives nothing back. By this one pages go when the system wants memory.
#[cfg(target_vendor = "apple")]
const GIVEN_BACK: Option<UncheckedAdvice> = Some(UncheckedAdvice::Free);
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
const GIVEN_BACK: Option<UncheckedAdvice> = None;
