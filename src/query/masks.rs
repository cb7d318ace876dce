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
