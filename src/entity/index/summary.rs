//! The summary: where a span with something free may be found, in a few loads.
//!
//! State: a tree of hint words over the span words, 64 children a word; a set bit says "full". The
//! span words know better; a hint may lag.
//!
//! Operations: `mark_full` (who filled a child), `mark_open` (who opened a full one), `find`.
//!
//! Invariant: once all calls have returned, a set bit stands over a full child. (A clear bit may
//! stand over a full child: that costs a searcher one look. If the child is a leaf, the searcher sets the bit.)
//!
//! Why no open child stays hidden. The filler sets the bit *and then* looks at the child again; the
//! opener changes the child *and then* clears the bit, always by a read-modify-write, never "only if
//! it looks set". Both read-modify-writes hit the same word, so one comes first. If the clearing
//! comes last, the bit is clear. If the setting comes last, it reads from the clearing (or from a
//! read-modify-write after it) and with Acquire sees the opened child, and clears. The same holds
//! a level up, with the hint word as the child.
//!
//! A thread that stops for ever between opening a child and clearing its bit hides what lies below
//! that bit. So before anybody reports "nothing left", all other threads are asked whether their hints
//! lag: the hints are believed if none does, else the claim words are scanned without them.
//!
//! The hints of the claim words themselves, in the span words, work by the same rule.

use std::io;

use crate::flaw::{FlawPlace, Found};
use crate::memory::Table;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::geometry::{FULL, WORD_BITS};
use crate::sync::{mutant, probe};

/// Children of a hint word.
pub(crate) const FANOUT: usize = WORD_BITS as usize;

/// The hint words over some leaves.
#[derive(Debug)]
pub(crate) struct Summary {
    words: Table<AtomicU64>,
    /// Where each level begins in `words`, the lowest level first.
    levels: Vec<usize>,
    /// Words of the top level.
    top_words: usize,
}

impl Summary {
    /// A summary over `leaves` children, none full; `leaves` fills each level but the top.
    ///
    /// Levels are added until one has at most `top` words.
    pub(crate) fn new(leaves: usize, top: usize, stagger: usize) -> io::Result<Self> {
        let mut levels = Vec::new();
        let mut total = 0;
        let mut children = leaves;
        loop {
            assert!(
                children.is_multiple_of(FANOUT),
                "{children} children do not fill their words"
            );
            let words = children / FANOUT;
            levels.push(total);
            total += words;
            if words <= top {
                let words_table = Table::new(total, stagger)?;
                return Ok(Self {
                    words: words_table,
                    levels,
                    top_words: words,
                });
            }
            children = words;
        }
    }

    /// Makes the first leaves open; the others are.
    #[cfg(not(loom))]
    pub(crate) fn reset(&mut self, leaves: usize) {
        let mut words = leaves;
        for &first in &self.levels {
            words = words.div_ceil(FANOUT);
            self.words.clear(first..first + words);
        }
    }

    #[inline(always)]
    fn word(&self, level: usize, word: usize) -> &AtomicU64 {
        self.words.get(self.levels[level] + word)
    }

    /// Says that leaf `leaf` was found full, unless `still_full` now says otherwise.
    pub(crate) fn mark_full(&self, leaf: usize, still_full: impl Fn() -> bool) {
        let mut child = leaf;
        for level in 0..self.levels.len() {
            let bit = 1 << (child % FANOUT);
            let old = self.set(level, child / FANOUT, bit);
            // Ordering: the Acquire in `set` keeps the look behind it. Acquire, here and in `still_full`: who passes a hint
            // on has seen what its setter did before, that its hints lag first of all. (See *Full* in
            // papers/entity-index.md.)
            let is_full = match level {
                0 => still_full(),
                _ => {
                    let order = mutant::ordering("summary_look_relaxed", Ordering::Acquire);
                    self.word(level - 1, child).load(order) == FULL
                }
            };
            let recheck = match level {
                0 => "summary_no_recheck",
                _ => "summary_no_recheck_above",
            };
            if !is_full && !mutant::active(recheck) {
                self.clear(level, child / FANOUT, bit);
                return;
            }
            if old | bit != FULL {
                return;
            }
            child /= FANOUT;
        }
    }

    /// Says that leaf `leaf`, which was full, is not any more. Called by whoever changed it.
    #[inline]
    pub(crate) fn mark_open(&self, leaf: usize) {
        self.clear(0, leaf / FANOUT, 1 << (leaf % FANOUT));
    }

    /// Sets bits of a hint word; the word before.
    #[inline(always)]
    fn set(&self, level: usize, word: usize, bits: u64) -> u64 {
        // Ordering: AcqRel. Acquire pairs with the Release in `clear`, so that the look that
        // follows sees the child as its opener left it.
        let order = mutant::ordering("summary_set_relaxed", Ordering::AcqRel);
        self.word(level, word).fetch_or(bits, order)
    }

    /// Clears bits of a hint word, and above it, where it was full.
    fn clear(&self, level: usize, word: usize, bits: u64) {
        let (mut child, mut bits) = (word, bits);
        for level in level..self.levels.len() {
            let word = self.word(level, child);
            if mutant::active("summary_skip_if_clear") && word.load(Ordering::Acquire) & bits == 0 {
                return;
            }
            // Ordering: AcqRel. Release pairs with the Acquire in `set`: whoever sets a bit after
            // this sees the child opened. Acquire, with the Release of who opened this word before:
            // who goes no further because of that has seen that the other's hints lag until the
            // words above follow. Always a read-modify-write: see the file's head.
            let order = mutant::ordering("summary_clear_relaxed", Ordering::AcqRel);
            let order = mutant::released("summary_clear_release", order);
            let old = word.fetch_and(!bits, order);
            if old != FULL || mutant::active("summary_clear_one_level") {
                return;
            }
            bits = 1 << (child % FANOUT);
            child /= FANOUT;
        }
    }

    /// Notes each bit that stands over what is not full, given whether a leaf is. Exact while nobody changes anything.
    pub(crate) fn check(&self, found: &mut Found, is_full: impl Fn(usize) -> bool) {
        let ends = self.levels.iter().skip(1).copied();
        let words = ends.zip(&self.levels).map(|(end, first)| end - first);
        for (level, words) in words.chain([self.top_words]).enumerate() {
            for word in 0..words {
                // Ordering: Relaxed here and below: who says that it is quiet has seen what the others did.
                let mut said = self.word(level, word).load(Ordering::Relaxed);
                while said != 0 {
                    let child = word * FANOUT + said.trailing_zeros() as usize;
                    said &= said - 1;
                    let full = match level {
                        0 => is_full(child),
                        _ => self.word(level - 1, child).load(Ordering::Relaxed) == FULL,
                    };
                    let at = FlawPlace::Summary {
                        level: level as u32,
                        word: word as u32,
                    };
                    found.expect(full, at, || {
                        format!(
                            "it says of {child} below that nothing is free there, and something is"
                        )
                    });
                }
            }
        }
    }

    /// Clears the word over a leaf and leaves those above as they are, which no call does.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn forget(&self, leaf: usize) {
        self.word(0, leaf / FANOUT).store(0, Ordering::Relaxed);
    }

    /// The first leaf in `from..to` that is not marked full. Wait-free; a few loads, unless hints
    /// of different levels disagree.
    pub(crate) fn find(&self, from: usize, to: usize) -> Option<usize> {
        let top = self.levels.len() - 1;
        let mut level = 0;
        // A child of `level`.
        let mut child = from;
        loop {
            // The first leaf below the child that is looked at.
            let leaf = child * FANOUT.pow(level as u32);
            if leaf >= to {
                return None;
            }
            let (word, lane) = (child / FANOUT, child % FANOUT);
            if level == top && word >= self.top_words {
                return None;
            }
            probe::probed(1);
            // Ordering: Relaxed, it is a hint.
            let open = !self.word(level, word).load(mutant::look()) & (FULL << lane) & FULL;
            if open != 0 {
                child = word * FANOUT + open.trailing_zeros() as usize;
                if level == 0 {
                    return (child < to).then_some(child);
                }
                level -= 1;
                child *= FANOUT;
            } else if level < top {
                level += 1;
                child = word + 1;
            } else {
                child = (word + 1) * FANOUT;
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_marked_full_is_skipped_and_found_again_when_open() {
        let summary = Summary::new(1 << 18, 64, 0).unwrap();
        for leaf in 0..10_000 {
            assert_eq!(summary.find(0, 1 << 18), Some(leaf));
            summary.mark_full(leaf, || true);
        }
        assert_eq!(summary.find(0, 10_000), None);
        summary.mark_open(4_711);
        assert_eq!(summary.find(0, 10_000), Some(4_711));
        assert_eq!(summary.find(4_712, 1 << 18), Some(10_000));
    }

    #[test]
    fn a_full_tree_has_no_open_leaf_and_one_opening_shows_at_every_level() {
        let leaves = 1 << 18;
        let summary = Summary::new(leaves, 1, 0).unwrap();
        (0..leaves).for_each(|leaf| summary.mark_full(leaf, || true));
        assert_eq!(summary.find(0, leaves), None);
        summary.mark_open(leaves - 1);
        assert_eq!(summary.find(0, leaves), Some(leaves - 1));
    }

    #[test]
    fn a_leaf_that_opened_meanwhile_is_not_marked() {
        let summary = Summary::new(1 << 12, 64, 0).unwrap();
        summary.mark_full(3, || false);
        assert_eq!(summary.find(3, 4), Some(3));
    }
}
