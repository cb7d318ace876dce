//! Enabled bits of single rows.

use crate::archetype::{Chunk, read_bit};
use crate::query::requirements::Mask;

/// Whether masks, if there are any, let a row through.
#[inline]
pub(crate) fn masked(masks: Option<&[Mask]>, chunk: &Chunk, row: u32) -> bool {
    let mut masks = masks.into_iter().flatten();
    masks.all(|mask| {
        // SAFETY: callers pass a row of the chunk, and masks of its archetype; bits change only through
        // `&mut` of the world.
        let on = unsafe { read_bit(chunk.array(mask.offset), row) };
        on != mask.inverted
    })
}

/// The rows among 64 that masks let through.
#[inline]
pub(super) fn mask_of(masks: &[Mask], chunk: &Chunk, word: u32) -> u64 {
    masks.iter().fold(u64::MAX, |rows, mask| {
        // SAFETY: the archetype's bits have a word for each 64 rows; they change only through `&mut` of the
        // world.
        let bits = unsafe { *chunk.array(mask.offset).cast::<u64>().add(word as usize) };
        rows & if mask.inverted { !bits } else { bits }
    })
}

/// The rows of a chunk that masks let through.
pub(super) fn masked_rows<'a>(
    masks: &'a [Mask],
    chunk: &'a Chunk,
) -> impl Iterator<Item = usize> + use<'a> {
    (0..chunk.len.div_ceil(64)).flat_map(move |word| {
        let mut rows = mask_of(masks, chunk, word);
        let left = chunk.len - word * 64;
        if left < 64 {
            rows &= (1 << left) - 1;
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
