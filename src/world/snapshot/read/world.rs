//! `SavedWorld`: what a file says of one world.

use crate::world::snapshot::besides::SavedBesides;
use crate::world::snapshot::read::SavedArchetype;
use crate::world::snapshot::read::value::SavedValues;

pub(in crate::world::snapshot) struct SavedWorld<'f> {
    /// 16 KiB chunks that a chunk of a new archetype has at least.
    pub(in crate::world::snapshot) chunks_per_chunk: u32,
    /// Chunks of new archetypes grow.
    pub(in crate::world::snapshot) chunks_grow: bool,
    /// What chunks begin with, each with the number of its chunk fragment.
    /// In the order of the fragments' numbers.
    pub(in crate::world::snapshot) templates: SavedValues<'f>,
    /// Shared values, each with the number of its fragment.
    pub(in crate::world::snapshot) shared: SavedValues<'f>,
    pub(in crate::world::snapshot) archetypes: Vec<SavedArchetype<'f>>,
    pub(in crate::world::snapshot) besides: SavedBesides<'f>,
}
