//! `FreeWords`: the claim words that are free as a whole, from which recorders of an ordered universe take their ids.

use crate::entity::EntityIndex;
use crate::entity::index::core::Core;
use crate::entity::index::span::{self, SPAN_WORDS};
use crate::sync::atomic::Ordering;
#[cfg(not(loom))]
use crate::sync::geometry::WORDS;
use crate::sync::geometry::{FULL, WORDS_PER_BLOCK};
use crate::sync::mutant;

/// Claim words, in order: of each span a set of lanes.
#[derive(Debug, Default)]
pub(crate) struct FreeWords {
    /// How many words come before, the span's number, the lanes.
    spans: Vec<(u32, u32, u64)>,
    count: u32,
}

impl FreeWords {
    /// Those below `used`, of which these lanes of a span are free.
    fn of(used: u32, lanes: impl Fn(u32) -> u64) -> Self {
        let mut free = Self::default();
        for span in 0..used / SPAN_WORDS {
            free.extend(span, lanes(span));
        }
        free
    }

    fn extend(&mut self, span: u32, lanes: u64) {
        if lanes != 0 {
            self.spans.push((self.count, span, lanes));
            self.count += lanes.count_ones();
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    /// One of them. O(log spans).
    pub(crate) fn get(&self, at: u32) -> Option<u32> {
        if at >= self.count {
            return None;
        }
        let behind = self.spans.partition_point(|&(before, _, _)| before <= at);
        let &(before, span, mut lanes) = self.spans.get(behind.wrapping_sub(1))?;
        for _ in before..at {
            lanes &= lanes - 1;
        }
        Some(span * SPAN_WORDS + lanes.trailing_zeros())
    }
}

impl EntityIndex {
    /// Claim words that it has.
    #[cfg(not(loom))]
    pub(crate) const WORDS: u32 = WORDS;

    /// Slots that are neither free nor an entity's, and have not retired: threads keep them.
    /// O(words). Exact while nothing changes.
    #[cfg(not(loom))]
    pub(crate) fn kept(&self) -> usize {
        let core = &self.shared.core;
        let used = core.opened() * WORDS_PER_BLOCK;
        let taken = (0..used).map(|word| core.taken(word).count_ones() as usize);
        // What changes meanwhile may be seen in one of them alone.
        (taken.sum::<usize>()).saturating_sub(self.count() + self.retired())
    }

    /// The claim words of which all slots are free, among those that were ever used, in order; and the first
    /// one that was not. O(words of spans where something is free), or O(words) if another thread changes hints
    /// meanwhile: one that ends may still give back what it kept. Exact while nobody creates or destroys.
    pub(crate) fn free_words(&self) -> (FreeWords, u32) {
        let used = self.shared.core.opened() * WORDS_PER_BLOCK;
        let by_hints = self.with_cache(|core, _, tally| {
            let threads = &self.shared.registry;
            let before = threads.quiet(tally);
            if before.is_none() && !mutant::active("free_words_believe_hints") {
                return None;
            }
            let free = FreeWords::of(used, |span| core.free_lanes(span));
            let quiet = threads.quiet(tally) == before;
            (quiet || mutant::active("free_words_believe_hints")).then_some(free)
        });
        (
            by_hints.unwrap_or_else(|| self.free_words_by_claims(used)),
            used,
        )
    }

    /// The same, whatever hints say. O(words).
    #[cold]
    pub(super) fn free_words_by_claims(&self, used: u32) -> FreeWords {
        let core = &self.shared.core;
        FreeWords::of(used, |span| {
            let lanes = (0..SPAN_WORDS).filter(|lane| core.taken(span * SPAN_WORDS + lane) == 0);
            lanes.fold(0, |free, lane| free | 1 << lane)
        })
    }
}

impl Core {
    /// The words of a span of which all slots are free, as lanes. While no thread's hints lag they do not lie, and
    /// of most words nothing is free: they are not looked at.
    fn free_lanes(&self, number: u32) -> u64 {
        // Ordering: Acquire, so that claim words are looked at after the span word.
        //
        // SAFETY: callers pass spans below `SPANS`.
        let seen = unsafe { self.span(number) }.load(Ordering::Acquire);
        let mut free = span::whole(seen);
        let mut open = span::open(seen) & !free;
        while open != 0 {
            let lane = open & open.wrapping_neg();
            open ^= lane;
            // SAFETY: a word of the span.
            let claims = unsafe { self.claims(number * SPAN_WORDS + lane.trailing_zeros()) };
            if claims.load(Ordering::Acquire) == FULL {
                free |= lane;
            }
        }
        free
    }
}
