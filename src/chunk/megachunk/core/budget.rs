//! The budget: how many mega-chunks may have memory at one time.
//!
//! State: how many do, or are about to. Operations: [`claim`](Budget::claim), before memory is asked for, by a
//! compare-and-swap, so that nobody is refused because another one counts; [`gone`](Budget::gone), when it went back, or did
//! not come. Both belong to who holds all chunks of the mega-chunk.
//!
//! Must hold: the number is not less than that of the mega-chunks that are committed, and not more than the most.
//!
//! Orderings: relaxed. It is a count; mega-chunks and what is in them are passed on by their masks.

use crate::flaw::{FlawPlace, Found};
use crate::sync::atomic::{AtomicU64, Ordering};

/// Counts mega-chunks against a limit. Where there is none, nothing is counted.
#[derive(Debug)]
pub(super) struct Budget(Option<Limited>);

#[derive(Debug)]
struct Limited {
    most: u64,
    used: AtomicU64,
}

impl Budget {
    /// So many may have memory; all, if none is said.
    pub(super) fn new(most: Option<u64>) -> Self {
        let limited = |most| Limited {
            most,
            used: AtomicU64::new(0),
        };
        Self(most.map(limited))
    }

    /// One more may have memory, if that is not too many: whether it may. Lock-free.
    pub(super) fn claim(&self) -> bool {
        let Some(Limited { most, used }) = &self.0 else {
            return true;
        };
        let mut now = used.load(Ordering::Relaxed);
        while now < *most {
            match used.compare_exchange_weak(now, now + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }

    /// Notes whether so many have memory, as is counted when nobody is in a call, and whether that is too many.
    pub(super) fn check(&self, committed: u64, found: &mut Found) {
        let Some(Limited { most, used }) = &self.0 else {
            return;
        };
        let used = used.load(Ordering::Relaxed);
        let is_sound = used == committed && used <= *most;
        found.expect(is_sound, FlawPlace::Allocator, || {
            format!(
                "{committed} mega-chunks have memory, {used} are counted, and {most} may have some"
            )
        });
    }

    /// So many have none any more. Wait-free.
    pub(super) fn gone(&self, count: u32) {
        if let Some(Limited { used, .. }) = &self.0 {
            let before = used.fetch_sub(count.into(), Ordering::Relaxed);
            debug_assert!(before >= count.into(), "more went than there were");
        }
    }
}
