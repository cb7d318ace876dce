//! `Refusals`: for which compositions another world has no room, while a slice goes there.
//!
//! A composition that nobody has come to there goes again when the next one's turn is: to make it for each entity that is
//! refused then would take O(compositions of the other world) each time.
//!
//! # Invariant
//! A refusal is kept only as long as another entity of the composition would be refused as well: no memory has come free by
//! the call since, and nobody of the composition has come there.

use std::collections::BTreeMap;

use crate::archetype::{Archetype, Rows};
use crate::world::WorldError;

/// Compositions of the world that entities go from, by their archetypes there.
#[derive(Debug, Default)]
pub(crate) struct Refusals(BTreeMap<u32, Refusal>);

#[derive(Debug)]
struct Refusal {
    error: WorldError,
    /// Chunks would go there as they are: those need no memory.
    takes_whole: bool,
}

impl Refusals {
    /// Why a run would be refused, if it is known. O(log compositions that were).
    pub(crate) fn of(&self, source: &Archetype, rows: Rows) -> Option<&WorldError> {
        let refusal = self.0.get(&source.number)?;
        let is_whole = rows.count == source.chunks[rows.chunk as usize].len;
        (!(refusal.takes_whole && is_whole)).then_some(&refusal.error)
    }

    /// The other world cannot have the composition.
    #[cold]
    pub(crate) fn no_composition(&mut self, archetype: u32, error: &WorldError) {
        self.add(archetype, error, false);
    }

    /// The other world has no memory for the first chunk of the composition, which would [take](Refusal::takes_whole) one as
    /// it is.
    #[cold]
    pub(crate) fn no_chunk(&mut self, archetype: u32, error: &WorldError, takes_whole: bool) {
        // Of all else that is wrong the next run may know nothing.
        if let WorldError::Chunk(_) = error {
            self.add(archetype, error, takes_whole);
        }
    }

    /// Memory has come free.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    fn add(&mut self, archetype: u32, error: &WorldError, takes_whole: bool) {
        let error = error.clone();
        self.0.insert(archetype, Refusal { error, takes_whole });
    }
}
