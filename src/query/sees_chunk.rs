//! `SeesChunk`: whether a run sees a chunk.

use crate::query::ChunkView;

/// Decides whether a run sees a chunk.
pub(super) type SeesChunk<'q> = Box<dyn Fn(&ChunkView<'_>) -> bool + Sync + 'q>;

/// Sees what both see; `filter` is asked only of what `before` sees.
pub(super) fn and<'q>(
    before: Option<SeesChunk<'q>>,
    filter: impl Fn(&ChunkView<'_>) -> bool + Sync + 'q,
) -> SeesChunk<'q> {
    match before {
        None => Box::new(filter),
        Some(before) => Box::new(move |chunk| before(chunk) && filter(chunk)),
    }
}
