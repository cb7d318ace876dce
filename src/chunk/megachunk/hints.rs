//! The hints: in which mega-chunks a run of a given length may be found.
//!
//! State: a tree of words, one for each mega-chunk, one for 64 of those, one for 64 of those again.
//! Bit `k - 1` set says "no run of `k` free chunks below here". The in-use masks are the truth; a
//! hint may lag. One bit for each length makes the tree serve single chunks (bit 0 is the classic
//! "is full") and runs alike.
//!
//! Operations: `learn` (a search looked and found no run: it says so for the next one), `learn_group`
//! (it has looked at a whole group: what all of that say is said above), `clear` (a free made a longer
//! run), `find`.
//!
//! Invariant: once all calls have returned, a set bit tells the truth. Why: as for the entity
//! index's summary. Who sets a bit looks at the child again afterwards; who made the longer run
//! clears the bits always, by a read-modify-write, after changing the child; both read-modify-writes
//! hit one word, so one of them comes last, and either clears or sees.
//!
//! Cost: a failed look at a mega-chunk sets its bits, so the next search skips it; it is looked at
//! again only after a free made a longer run there. So a request for 64 chunks in an allocator where
//! every second one is taken looks at each mega-chunk once, ever.

use core::ops::Range;
use std::io;

use crate::chunk::megachunk::bits::longest_run;
use crate::flaw::{FlawPlace, Found};
use crate::memory::Table;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::geometry::{ALL_CHUNKS, HINT_FANOUT, MEGACHUNK_CHUNKS, MEGACHUNKS};
use crate::sync::{mutant, probe};

/// Bits that a longest run of `longest` proves wrong.
const fn up_to(longest: u32) -> u64 {
    if longest == 0 {
        0
    } else {
        u64::MAX >> (64 - longest)
    }
}

/// Levels of the tree.
const LEVELS: usize = {
    let (mut levels, mut words) = (1, MEGACHUNKS / HINT_FANOUT);
    while words > 0 {
        levels += 1;
        words /= HINT_FANOUT;
    }
    levels
};

/// Mega-chunks below a word of each level, the lowest level first.
const SPANS: [u32; LEVELS] = {
    let (mut spans, mut level) = ([1; LEVELS], 1);
    while level < LEVELS {
        spans[level] = spans[level - 1] * HINT_FANOUT;
        level += 1;
    }
    spans
};

/// Where each level's words begin, and how many there are in all.
const FIRST: [u32; LEVELS + 1] = {
    let (mut first, mut level) = ([0; LEVELS + 1], 0);
    while level < LEVELS {
        first[level + 1] = first[level] + MEGACHUNKS / SPANS[level];
        level += 1;
    }
    first
};

/// The tree.
#[derive(Debug)]
pub(crate) struct Hints {
    words: Table<AtomicU64>,
}

impl Hints {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            words: Table::new(FIRST[LEVELS] as usize, 17 << 12)?,
        })
    }

    #[inline(always)]
    fn word(&self, level: usize, at: u32) -> &AtomicU64 {
        self.words.get((FIRST[level] + at) as usize)
    }

    /// A search found no run longer than `longest` in a mega-chunk. `look` gives its in-use mask now.
    pub(crate) fn learn(&self, megachunk: u32, longest: u32, look: impl FnOnce() -> u64) {
        let word = self.word(0, megachunk);
        // Ordering: Acquire pairs with the Release in `clear`: the look sees what was freed. Release, for whoever is
        // misled by the bits and asks who lags: see `Registry::quiet`.
        let order = mutant::ordering("hints_set_relaxed", Ordering::AcqRel);
        word.fetch_or(ALL_CHUNKS & !up_to(longest), order);
        if mutant::active("hints_no_recheck") {
            return;
        }
        let now = longest_run(look());
        if now > longest {
            self.clear(megachunk, now);
        }
    }

    /// A search found nothing in a whole group of mega-chunks: what all of them say, the word above
    /// can say.
    pub(crate) fn learn_group(&self, megachunk: u32) {
        let mut at = megachunk;
        for level in 1..LEVELS {
            at /= HINT_FANOUT;
            let agreed = self.agreed(level, at);
            if agreed == 0 {
                return;
            }
            // Ordering: as in `learn`; the children are looked at again below.
            let order = mutant::ordering("hints_group_relaxed", Ordering::AcqRel);
            self.word(level, at).fetch_or(agreed, order);
            if mutant::active("hints_no_group_recheck") {
                continue;
            }
            let wrong = agreed & !self.agreed(level, at);
            if wrong != 0 {
                self.clear_above(level, at, wrong);
                return;
            }
        }
    }

    /// What all children of a word say.
    fn agreed(&self, level: usize, at: u32) -> u64 {
        let children = at * HINT_FANOUT..(at + 1) * HINT_FANOUT;
        children.fold(ALL_CHUNKS, |all, child| {
            // Ordering: the Acquire of the set keeps the look that follows it behind it. Acquire, with the Release of
            // the set below: who says above what a child says has seen what that one's setter did before, that its
            // hints lag first of all, and passes it on. (See *Full* in papers/entity-index.md.)
            let order = mutant::ordering("hints_agreed_relaxed", Ordering::Acquire);
            all & self.word(level - 1, child).load(order)
        })
    }

    /// A mega-chunk has a run of `longest` free chunks now. Called by whoever made it.
    pub(crate) fn clear(&self, megachunk: u32, longest: u32) {
        self.clear_above(0, megachunk, up_to(longest));
    }

    fn clear_above(&self, level: usize, at: u32, bits: u64) {
        let (mut at, mut bits) = (at, bits);
        for level in level..LEVELS {
            let word = self.word(level, at);
            if mutant::active("hints_skip_if_clear") && word.load(Ordering::Acquire) & bits == 0 {
                return;
            }
            // Ordering: Release pairs with the Acquire of whoever sets a bit afterwards. Acquire, with the Release of who
            // cleared the bits before: who goes no further because they are clear has seen that the other's hints lag
            // until the words above are clear, too. Always a read-modify-write: see the file's head.
            let order = mutant::ordering("hints_clear_relaxed", Ordering::AcqRel);
            let order = mutant::released("hints_clear_release", order);
            let old = word.fetch_and(!bits, order);
            // Above, only bits that stood here can stand.
            bits &= old;
            if bits == 0 {
                return;
            }
            at /= HINT_FANOUT;
        }
    }

    /// The first of some places whose mega-chunk may have a run of `len`. Places count mega-chunks
    /// from the bottom, or with `down` from the top. A few hundred loads where the upper levels have learned what
    /// the lower ones say; a load for each mega-chunk at most.
    #[inline]
    pub(crate) fn find(&self, places: Range<u32>, len: u32, down: bool) -> Option<u32> {
        let bit = 1 << (len - 1);
        let mut place = places.start;
        while place < places.end {
            if place.is_multiple_of(HINT_FANOUT) {
                let skipped = self.skip(place, bit, down);
                if skipped > 0 {
                    place += skipped;
                    continue;
                }
            }
            if !self.says(0, at(place, down), bit) {
                return Some(place);
            }
            place += 1;
        }
        None
    }

    /// How many mega-chunks from a place on, the first of its group, the levels above say to skip.
    #[inline(always)]
    fn skip(&self, place: u32, bit: u64, down: bool) -> u32 {
        for level in (1..LEVELS).rev() {
            let span = SPANS[level];
            if place.is_multiple_of(span) && self.says(level, at(place, down) / span, bit) {
                return span;
            }
        }
        0
    }

    /// Notes whether a mega-chunk's word says that there is no run where there is one, given its in-use mask. Exact while
    /// nobody changes anything.
    pub(crate) fn check(&self, megachunk: u32, mask: u64, found: &mut Found) {
        // Ordering: Relaxed here and below: who says that it is quiet has seen what the others did.
        let said = self.word(0, megachunk).load(Ordering::Relaxed);
        if said == 0 {
            return;
        }
        let wrong = said & up_to(longest_run(mask));
        let at = FlawPlace::Hint {
            level: 0,
            word: megachunk,
        };
        found.expect(wrong == 0, at, || {
            let len = wrong.trailing_zeros() + 1;
            format!("it says that there is no run of {len}, and there is one")
        });
    }

    /// Notes each word above that says what not all below say. Exact while nobody changes anything.
    pub(crate) fn check_above(&self, found: &mut Found) {
        for (level, span) in SPANS.into_iter().enumerate().skip(1) {
            for word in 0..MEGACHUNKS / span {
                let said = self.word(level, word).load(Ordering::Relaxed);
                if said == 0 {
                    continue;
                }
                let wrong = said & !self.agreed(level, word);
                let at = FlawPlace::Hint {
                    level: level as u32,
                    word,
                };
                found.expect(wrong == 0, at, || {
                    let len = wrong.trailing_zeros() + 1;
                    format!("it says that there is no run of {len} below, and not all below say so")
                });
            }
        }
    }

    /// Clears a word of a level and leaves those above as they are, which no call does.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn forget(&self, level: usize, word: u32) {
        self.word(level, word).store(0, Ordering::Relaxed);
    }

    /// Whether a word has the bit.
    #[inline(always)]
    fn says(&self, level: usize, at: u32, bit: u64) -> bool {
        probe::probed(1);
        // Ordering: Relaxed, it is a hint.
        self.word(level, at).load(mutant::look()) & bit != 0
    }
}

/// The mega-chunk at a place.
#[inline]
pub(crate) fn at(place: u32, down: bool) -> u32 {
    if down { MEGACHUNKS - 1 - place } else { place }
}

/// Whether a search that goes on at place `next` has left the group of place `place`.
pub(crate) fn leaves_group(place: u32, next: Option<u32>) -> bool {
    next.is_none_or(|next| next / HINT_FANOUT != place / HINT_FANOUT)
}

const _: () = assert!(MEGACHUNKS.is_multiple_of(HINT_FANOUT) && MEGACHUNK_CHUNKS <= 64);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_was_learned_is_skipped_until_it_is_cleared() {
        let hints = Hints::new().unwrap();
        for megachunk in 0..MEGACHUNKS {
            hints.learn(megachunk, 3, || 0b1000_1000);
            if leaves_group(megachunk, Some(megachunk + 1)) {
                hints.learn_group(megachunk);
            }
        }
        for down in [false, true] {
            assert_eq!(
                hints.find(0..MEGACHUNKS, 4, down),
                Some(0),
                "the look said 56 are free"
            );
        }
        for megachunk in 0..MEGACHUNKS {
            hints.learn(megachunk, 3, || !0b111);
            hints.learn_group(megachunk);
        }
        for down in [false, true] {
            assert_eq!(hints.find(0..MEGACHUNKS, 4, down), None);
            assert_eq!(hints.find(0..MEGACHUNKS, 3, down), Some(0));
        }
        hints.clear(9_000, 5);
        assert_eq!(hints.find(0..MEGACHUNKS, 5, false), Some(9_000));
        assert_eq!(
            hints.find(0..MEGACHUNKS, 5, true),
            Some(MEGACHUNKS - 1 - 9_000)
        );
        assert_eq!(hints.find(0..MEGACHUNKS, 6, false), None);
    }
}
