//! The surplus: empty mega-chunks beyond those that are to be kept, whose memory goes back.
//!
//! Must hold: the mapping changes only while its changer holds all chunks of the mega-chunk.
//!
//! Orderings: looks at masks and flags are relaxed where they only guess which mega-chunks can be held; the
//! compare-and-swap in `hold_empty` decides. The flag of one that is held is the holder's: relaxed, as the mask passes it on.

use core::ops::Range;

use super::{Core, Memory, Tally};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::{ALL_CHUNKS, MEGACHUNKS};
use crate::sync::mutant;

/// Mega-chunks whose memory one call gives back at most, in pairs: as many as there are too many when the first go
/// back. More take the system milliseconds, in the middle of somebody's frame.
const AT_ONCE: u32 = 10;

impl<M: Memory> Core<M> {
    /// Gives the memory of empty mega-chunks back until as many are left as are to be kept, or so many went back as may
    /// in one call: in pairs, because two make a huge page, which is cheap to give back whole and dear to break up; and
    /// first others than the one just emptied, which is likely to be wanted next.
    #[cold]
    pub(super) fn give_memory_back(&self, tally: &Tally, just_emptied: u32) {
        let (mut given, mut left) = (0, AT_ONCE);
        for group in self.touched() {
            let mut pair = group.start;
            while pair < group.end && left > 0 && self.spare.surplus() > 0 {
                // Neighbouring pairs go in one call.
                let start = pair;
                while pair < group.end
                    && pair - start < left
                    && u64::from(pair - start) < self.spare.surplus()
                    && pair != just_emptied & !1
                    && self.is_empty_pair(pair)
                {
                    pair += 2;
                }
                if pair > start {
                    given += self.hold_and_decommit(tally, start..pair);
                    left -= pair - start;
                } else {
                    pair += 2;
                }
            }
            if left == 0 {
                break;
            }
        }
        let own = just_emptied & !1;
        if left > 0 && self.spare.surplus() > 0 && self.is_empty_pair(own) {
            given += self.hold_and_decommit(tally, own..own + 2);
        }
        // If the system took none it need not be asked again soon.
        let goes_on = left == 0 && given > 0 && self.spare.surplus() > 0;
        self.spare.gave_back(given.into(), goes_on);
    }

    /// Whether nothing is in use in two mega-chunks, and at least one has memory to give back.
    fn is_empty_pair(&self, pair: u32) -> bool {
        let pair = pair..pair + 2;
        pair.clone()
            .all(|megachunk| self.mask(megachunk).load(Ordering::Relaxed) == 0)
            && pair.clone().any(|megachunk| self.has_memory(megachunk))
    }

    /// Holds the first whole pairs of a range that are empty, and gives their memory back; how many mega-chunks
    /// had any.
    fn hold_and_decommit(&self, tally: &Tally, pairs: Range<u32>) -> u32 {
        let held = self.hold_empty(pairs);
        let whole = held.start..held.end & !1;
        let given = if whole.is_empty() {
            0
        } else {
            self.decommit(whole.clone())
        };
        let held = if mutant::active("half_pair_stays_held") {
            whole
        } else {
            held
        };
        held.for_each(|megachunk| self.reopen(tally, megachunk));
        given
    }

    /// Takes all chunks of the first mega-chunks of a range, as long as they are empty.
    fn hold_empty(&self, range: Range<u32>) -> Range<u32> {
        let mut end = range.start;
        for megachunk in range.clone() {
            // Ordering: as in `take`: all who gave chunks back before are done with them.
            let order = mutant::ordering("hold_relaxed", Ordering::AcqRel);
            let word = self.mask(megachunk);
            let unheld = mutant::active("decommit_unheld") && word.load(Ordering::Acquire) == 0;
            if !unheld
                && word
                    .compare_exchange(0, ALL_CHUNKS, order, Ordering::Relaxed)
                    .is_err()
            {
                break;
            }
            end = megachunk + 1;
        }
        range.start..end
    }

    /// Gives the memory of neighbouring mega-chunks back, all held by the caller; how many had any.
    /// If the system refuses, they stay committed.
    fn decommit(&self, held: Range<u32>) -> u32 {
        let mut given = 0;
        let mut start = held.start;
        // A call for each stretch of committed ones.
        while start < held.end {
            let committed = (start..held.end).take_while(|&megachunk| self.has_memory(megachunk));
            let end = start + committed.count() as u32;
            if end == start {
                start += 1;
                continue;
            }
            self.decommits.fetch_add(1, Ordering::Relaxed);
            // SAFETY: the caller holds all their chunks, and the flags say that they are committed.
            if unsafe { self.memory.decommit(start..end) }.is_ok() {
                let keeps_flag = mutant::active("decommit_keeps_flag");
                for megachunk in start..if keeps_flag { start } else { end } {
                    self.committed
                        .get(megachunk as usize)
                        .store(0, Ordering::Relaxed);
                }
                self.spare.gone(end - start);
                self.budget.gone(end - start);
                given += end - start;
            }
            start = end;
        }
        given
    }

    /// Gives the memory of all empty mega-chunks back but `keep`, many at a time; how many those were.
    ///
    /// Kept are the outermost ones: single chunks are taken from the bottom up and runs from the top down, so that
    /// these are what comes next finds.
    pub(crate) fn trim(&self, tally: &Tally, keep: usize) -> u32 {
        if keep > 0 && self.spare.count() <= keep as u64 {
            return 0;
        }
        let inner = self.inner_empty(keep);
        let mut given = 0;
        for group in self.touched() {
            let end = group.end.min(inner.end);
            let mut start = group.start.max(inner.start);
            while start < end {
                if !self.is_empty(start) {
                    start += 1;
                    continue;
                }
                let held = self.hold_empty(start..end);
                start = held.end.max(start + 1);
                if mutant::active("decommit_early") {
                    held.clone()
                        .for_each(|megachunk| self.reopen(tally, megachunk));
                    given += self.decommit(held);
                    continue;
                }
                given += self.decommit(held.clone());
                held.for_each(|megachunk| self.reopen(tally, megachunk));
            }
        }
        self.spare.settle();
        given
    }

    /// Where the empty mega-chunks lie that have memory, but for the `keep` outermost ones: half of those from
    /// the bottom, half from the top, or more from where there are more.
    fn inner_empty(&self, keep: usize) -> Range<u32> {
        if keep == 0 {
            return 0..MEGACHUNKS;
        }
        let empty = || {
            let touched = self.touched().flatten();
            touched.filter(|&megachunk| self.is_empty(megachunk))
        };
        let (mut low, mut high) = (0, 0);
        for megachunk in empty() {
            match megachunk < MEGACHUNKS / 2 {
                true => low += 1,
                false => high += 1,
            }
        }
        let below = low.min((keep / 2).max(keep.saturating_sub(high)));
        let above = high.min(keep - below);
        let inner = low + high - below - above;
        let mut inner = empty().skip(below).take(inner);
        match (inner.next(), inner.last()) {
            (Some(first), last) => first..last.unwrap_or(first) + 1,
            (None, _) => 0..0,
        }
    }

    /// Whether a mega-chunk has memory and nothing in use.
    fn is_empty(&self, megachunk: u32) -> bool {
        self.mask(megachunk).load(Ordering::Relaxed) == 0 && self.has_memory(megachunk)
    }
}
