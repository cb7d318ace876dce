//! `SavedArchetype`: what a file says of one archetype and its chunks.
//!
//! Must hold: archetypes that have become one composition, for some fragments are left out or not known, have chunks of one
//! length at least: see [`share_runs`].

use crate::world::snapshot::fragments::SavedFragment;
use crate::world::snapshot::read::SavedChunk;
use crate::world::snapshot::read::value::SavedValues;

pub(in crate::world::snapshot) struct SavedArchetype<'f> {
    /// Numbers of fragments, ascending.
    pub(in crate::world::snapshot) fragments: Vec<u32>,
    /// Fragments of it are left out, or not known.
    pub(in crate::world::snapshot) is_cut: bool,
    /// 16 KiB chunks in one of its shortest chunks, at least.
    pub(in crate::world::snapshot) run: u32,
    pub(in crate::world::snapshot) grows: bool,
    /// What its chunks begin with, each with the number of its chunk fragment.
    pub(in crate::world::snapshot) templates: SavedValues<'f>,
    pub(in crate::world::snapshot) chunks: Vec<SavedChunk>,
}

impl SavedArchetype<'_> {
    /// Some entity has it.
    pub(in crate::world::snapshot) fn is_inhabited(&self) -> bool {
        self.chunks.iter().any(|chunk| chunk.len > 0)
    }

    /// Without something nobody comes to have it but those who had it.
    pub(in crate::world::snapshot) fn comes(&self) -> bool {
        !self.is_cut || self.is_inhabited()
    }
}

/// Where several archetypes have become one composition, because some fragments are left out now, or were when the
/// world was saved, all come to chunks of one length at least: the least that any of them says. One that lacks something
/// says no more than the world's chunks are `set` to, for its own may have been longer for the sake of that.
pub(super) fn share_runs(
    archetypes: &mut [SavedArchetype<'_>],
    fragments: &[SavedFragment],
    set: u32,
) {
    for archetype in archetypes.iter_mut().filter(|archetype| archetype.is_cut) {
        archetype.run = archetype.run.min(set);
    }
    let known = |of: &usize| {
        let numbers = archetypes[*of].fragments.iter();
        numbers.filter(|&&number| fragments[number as usize].known.is_some())
    };
    let mut order: Vec<usize> = (0..archetypes.len())
        .filter(|&at| archetypes[at].comes())
        .collect();
    order.sort_by(|one, other| known(one).cmp(known(other)));
    let mut runs: Vec<u32> = Vec::with_capacity(order.len());
    for same in order.chunk_by(|one, other| known(one).eq(known(other))) {
        let least = same.iter().map(|&at| archetypes[at].run).min();
        runs.extend(core::iter::repeat_n(least.unwrap_or(1), same.len()));
    }
    for (at, run) in order.into_iter().zip(runs) {
        archetypes[at].run = run;
    }
}
