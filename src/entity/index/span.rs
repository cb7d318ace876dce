//! The span word: which of 32 claim words are free in one piece, and which may have a free slot.
//!
//! `closed 32 | broken 32`, one word for 32 claim words, 2,048 slots; a claim word's *lane* is its place
//! in the span. Per lane:
//!
//! * *broken* 0: the claim word is **whole**: all its slots are free, and this bit is what says so and
//!   what one claims them by. The claim word itself is zero then.
//! * *broken* 1: each slot is taken, or free by its own bit in the claim word.
//! * *closed* 1: no slot is free by its own bit. A hint, and only where the lane is broken.
//!
//! Zero is a span that was never used: everything is whole. Claiming whole words sets both their bits,
//! so that a span where nothing is free is all ones, like any full word of the hints above it.
//!
//! Who owns all slots of a claim word may give it back whole, wherever it got them from: no slot of it
//! is free, so its claim word is zero. Nobody else can change either bit's meaning meanwhile.

use crate::sync::geometry::{WORDS, WORDS_PER_BLOCK};

/// Claim words of a span.
#[cfg(not(loom))]
pub(crate) const SPAN_WORDS: u32 = 32;
/// Claim words of a span.
#[cfg(loom)]
pub(crate) const SPAN_WORDS: u32 = 2;

/// Spans of an index.
pub(crate) const SPANS: u32 = WORDS / SPAN_WORDS;
/// Spans of a data block.
pub(crate) const SPANS_PER_BLOCK: u32 = WORDS_PER_BLOCK / SPAN_WORDS;

/// One bit for each lane.
const LANES: u64 = u64::MAX >> (64 - SPAN_WORDS);

/// The span word that says that nothing is free.
pub(crate) const CLOSED: u64 = u64::MAX >> (64 - 2 * SPAN_WORDS);

const _: () = assert!(2 * SPAN_WORDS <= 64 && WORDS_PER_BLOCK.is_multiple_of(SPAN_WORDS));

/// The span of a claim word.
#[inline(always)]
pub(crate) const fn of(word: u32) -> u32 {
    word / SPAN_WORDS
}

/// The bit of a claim word's lane.
#[inline(always)]
pub(crate) const fn lane(word: u32) -> u64 {
    1 << (word % SPAN_WORDS)
}

/// The lanes that are whole.
#[inline(always)]
pub(crate) const fn whole(span: u64) -> u64 {
    !span & LANES
}

/// The lanes that are broken.
#[inline(always)]
pub(crate) const fn broken(span: u64) -> u64 {
    span & LANES
}

/// The lanes that are whole or may have a free slot.
#[inline(always)]
pub(crate) const fn open(span: u64) -> u64 {
    !(span & span >> SPAN_WORDS) & LANES
}

/// The lanes of `lanes` from lane `first`, given as its bit, on that stand side by side, at most `count`.
#[inline(always)]
pub(crate) const fn run(lanes: u64, first: u64, count: usize) -> u64 {
    let long = !(lanes.wrapping_add(first)) & lanes & first.wrapping_neg();
    // A run ends where the sum of the lanes and its first one does not carry any more.
    let short = if count < SPAN_WORDS as usize {
        (first << count).wrapping_sub(first)
    } else {
        u64::MAX
    };
    long & short
}

/// The bits that say that `lanes` are closed.
#[inline(always)]
pub(crate) const fn closed(lanes: u64) -> u64 {
    lanes << SPAN_WORDS
}

/// The span word after whole `lanes` were claimed.
#[inline(always)]
pub(crate) const fn claimed(span: u64, lanes: u64) -> u64 {
    span | lanes | closed(lanes)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_closed_when_all_its_words_are_claimed() {
        let mut span = 0;
        for lane in 0..SPAN_WORDS {
            assert_eq!(whole(span).trailing_zeros(), lane);
            span = claimed(span, 1 << lane);
            assert_eq!((whole(span), open(span)), (whole(span), whole(span)));
        }
        assert_eq!((span, open(span)), (CLOSED, 0));
    }

    #[test]
    fn a_run_ends_where_a_lane_is_missing_or_enough_are_had() {
        for (lanes, first, count, expected) in [
            (0b1111_0111_u64, 0, 64, 0b111_u64),
            (0b1111_0111, 0, 2, 0b11),
            (0b1111_0111, 1, 2, 0b110),
            (0b1111_0111, 3, 9, 0),
            (0b1111_0111, 4, 4, 0b1111_0000),
            (LANES, 0, 31, LANES >> 1),
            (LANES, 0, 32, LANES),
            (LANES, 31, 32, 1 << 31),
        ] {
            assert_eq!(run(lanes, 1 << first, count), expected);
        }
    }

    #[test]
    fn a_lane_is_open_that_is_whole_whatever_its_hint_says_and_a_broken_one_by_its_hint() {
        let span = CLOSED & !lane(3);
        assert_eq!((whole(span), open(span)), (1 << 3, 1 << 3));
        let span = CLOSED & !closed(lane(35));
        assert_eq!((whole(span), open(span)), (0, 1 << 3));
    }
}
