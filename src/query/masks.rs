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
pub(super) fn masked_rows<'a>(
    masks: &'a [Mask],
    chunk: &'a Chunk,
    asked: Range<usize>,
) -> impl Iterator<Item = usize> + use<'a> {
    let asked = asked.start as u32..asked.end as u32;
    (asked.start / 64..asked.end.div_ceil(64)).flat_map(move |word| {
        let mut rows = mask_of(masks, chunk, word);
        let left = asked.end - word * 64;
        if left < 64 {
            rows &= (1 << left) - 1;
        }
        if word * 64 < asked.start {
            rows &= u64::MAX << (asked.start % 64);
        }
        core::iter::from_fn(move || {
            if rows == 0 {
                return None;
            }
            let row = rows.trailing_zeros();
            rows &= rows - 1;
            Some((word * 64 + row) as usize)
        })
    })
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
    let first = masked_rows(masks, chunk, from..len).next()?;
    let through = mask_of(masks, chunk, first as u32 / 64) >> (first % 64);
    // The first one may have been switched since.
    let run = (through | 1).trailing_ones() as usize;
    Some(first..len.min(first + run))
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
