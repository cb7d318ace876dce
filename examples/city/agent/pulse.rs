//! `Pulse`: how often the agents of a chunk are moved.

use megachunk::prelude::*;

use super::{Far, Hidden, Near};

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

    /// Says which one the agents of each level have, whatever they have beside it, and whatever they get.
    pub(crate) fn rule(world: &mut World) -> Result<(), QueryError> {
        world.set_chunk_rule::<Self, With<Near>>(Self::NEAR)?;
        world.set_chunk_rule::<Self, With<Far>>(Self::FAR)?;
        world.set_chunk_rule::<Self, With<Hidden>>(Self::HIDDEN)?;
        Ok(())
    }
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
