//! `Pulse`: how often the agents of a chunk are moved.

use megachunk::query::ChunkView;

/// How often the agents of a chunk are moved: a chunk fragment, so that one look spares a whole chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pulse {
    /// Every so many frames; a power of two.
    pub(crate) every: u32,
}

impl Pulse {
    pub(crate) const NEAR: Self = Self { every: 1 };
    pub(crate) const FAR: Self = Self { every: 4 };
    pub(crate) const HIDDEN: Self = Self { every: 16 };
}

/// For how many frames the agents of the chunk are to be moved in this one: 0 if it is not their turn. Chunks
/// take turns, so that every frame has about the same work.
#[inline]
pub(crate) fn due(chunk: &ChunkView<'_>, tick: u64) -> u32 {
    let every = chunk
        .chunk_fragment::<Pulse>()
        .map_or(1, |pulse| pulse.every);
    if (tick + chunk.sort_key()) & u64::from(every - 1) == 0 {
        every
    } else {
        0
    }
}
