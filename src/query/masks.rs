//! Enabled bits of single rows.

use core::ops::Range;

use crate::archetype::Chunk;
use crate::query::requirements::Mask;
use crate::sync::atomic::{AtomicU64, Ordering};

/// Whether masks, if there are any, let a row through.
#[inline]
pub(crate) fn masked(masks: Option<&[Mask]>, chunk: &Chunk, row: u32) -> bool {
    let mut masks = masks.into_iter().flatten();
    masks.all(|mask| {
        let bits = word_of(mask, chunk, row / 64);
        (bits >> (row % 64) & 1 == 1) != mask.inverted
    })
}

/// Whether masks, if there are any, let one of these rows through. Who lends asks before it is noted what is lent: a
/// chunk of which nothing is lent is not written to.
#[inline(always)]
pub(super) fn any_masked(masks: Option<&[Mask]>, chunk: &Chunk, rows: Range<usize>) -> bool {
    masks.is_none_or(|masks| next_run(masks, chunk, rows.start, rows.end).is_some())
}

/// The rows among 64 that masks let through.
#[inline]
pub(super) fn mask_of(masks: &[Mask], chunk: &Chunk, word: u32) -> u64 {
    masks.iter().fold(u64::MAX, |rows, mask| {
        let bits = word_of(mask, chunk, word);
        rows & if mask.inverted { !bits } else { bits }
    })
}

/// The bits of a mask for 64 rows.
#[inline]
fn word_of(mask: &Mask, chunk: &Chunk, word: u32) -> u64 {
    let load = |offset: u32| {
        // Ordering: Relaxed: a query that runs may switch bits; a bit says nothing but itself.
        //
        // SAFETY: callers pass masks of the chunk's archetype, and words of the chunk's rows.
        unsafe { enabled_word(chunk, offset, word) }.load(Ordering::Relaxed)
    };
    let others = mask.others.iter();
    others.fold(load(mask.offset), |bits, &offset| bits | load(offset))
}

/// The enabled bits of 64 rows, which any thread may switch while a query runs.
///
/// # Safety
/// `offset` is that of bits of the chunk's archetype, and the chunk has such rows. While the word is lent it
/// changes only by atomic accesses.
#[inline(always)]
pub(super) unsafe fn enabled_word(chunk: &Chunk, offset: u32, word: u32) -> &AtomicU64 {
    // SAFETY: the archetype's bits have a word for each 64 rows, aligned; for the rest the caller's.
    unsafe { &*chunk.array(offset).cast::<AtomicU64>().add(word as usize) }
}

/// Of these rows of a chunk, those that masks let through.
#[inline]
pub(super) fn masked_rows<'a>(
    masks: &'a [Mask],
    chunk: &'a Chunk,
    asked: Range<usize>,
) -> MaskedRows<'a> {
    MaskedRows {
        masks,
        chunk,
        left: asked,
        word: 0,
        rows: 0,
    }
}

/// Rows that masks let through: each 64 of them as they stand when it comes to them.
///
/// Where all are wanted, [`fold`](Iterator::fold) and what is made of it walk 64 rows that are all
/// let through as if there were no masks.
pub(super) struct MaskedRows<'a> {
    masks: &'a [Mask],
    chunk: &'a Chunk,
    /// Rows whose bits have not been looked at.
    left: Range<usize>,
    /// The rows in hand: the number of their word, and the bits of those that are left.
    word: usize,
    rows: u64,
}

impl MaskedRows<'_> {
    /// The next rows whose bits are in one word, and those of them that masks let through.
    #[inline(always)]
    fn advance(&mut self) -> Option<(Range<usize>, u64)> {
        let Range { start, end } = self.left;
        if start >= end {
            return None;
        }
        let word = start / 64;
        let behind = end.min((word + 1) * 64);
        self.left.start = behind;
        let rows = mask_of(self.masks, self.chunk, word as u32) & bits_of(start, behind);
        Some((start..behind, rows))
    }
}

/// The bits of rows whose bits are in one word.
#[inline(always)]
fn bits_of(start: usize, end: usize) -> u64 {
    u64::MAX >> (64 - (end - start)) << (start % 64)
}

impl Iterator for MaskedRows<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.rows == 0 {
            let (asked, rows) = self.advance()?;
            (self.word, self.rows) = (asked.start / 64, rows);
        }
        let row = self.rows.trailing_zeros() as usize;
        self.rows &= self.rows - 1;
        Some(self.word * 64 + row)
    }

    #[inline]
    fn fold<B, E: FnMut(B, usize) -> B>(mut self, init: B, mut each: E) -> B {
        let mut result = init;
        let (mut word, mut rows) = (self.word, self.rows);
        loop {
            while rows != 0 {
                result = each(result, word * 64 + rows.trailing_zeros() as usize);
                rows &= rows - 1;
            }
            let Some((asked, through)) = self.advance() else {
                return result;
            };
            if through == bits_of(asked.start, asked.end) {
                for row in asked {
                    result = each(result, row);
                }
            } else {
                (word, rows) = (asked.start / 64, through);
            }
        }
    }

    #[inline]
    fn count(mut self) -> usize {
        let mut count = self.rows.count_ones();
        while let Some((_, rows)) = self.advance() {
            count += rows.count_ones();
        }
        count as usize
    }
}

/// The next rows one after the other that masks let through, from `from` on and below `len`: at most up to the
/// next multiple of 64.
///
/// Not inlined, because the iterator that calls it is: bits are rare.
#[inline(never)]
pub(super) fn next_run(
    masks: &[Mask],
    chunk: &Chunk,
    from: usize,
    len: usize,
) -> Option<Range<usize>> {
    let mut asked = masked_rows(masks, chunk, from..len);
    loop {
        let (here, rows) = asked.advance()?;
        if rows != 0 {
            let before = rows.trailing_zeros();
            let run = (rows >> before).trailing_ones() as usize;
            let first = here.start / 64 * 64 + before as usize;
            return Some(first..first + run);
        }
    }
}

/// The next rows one after the other that masks, if there are any, let through, from `from` on: as many as there are.
pub(super) fn next_stretch(
    masks: Option<&[Mask]>,
    chunk: &Chunk,
    from: usize,
) -> Option<Range<usize>> {
    let len = chunk.len as usize;
    let Some(masks) = masks else {
        return (from < len).then_some(from..len);
    };
    let mut stretch = next_run(masks, chunk, from, len)?;
    while let Some(more) = next_run(masks, chunk, stretch.end, len)
        && more.start == stretch.end
    {
        stretch.end = more.end;
    }
    Some(stretch)
}
