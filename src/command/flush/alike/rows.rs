//! All rows of a world under one number each.

use crate::archetype::ROWS_PER_CHUNK;
use crate::command::lane::NONE;
use crate::entity::{Entity, Places};
use crate::sync::geometry::WORD_BITS;
use crate::world::World;

/// Rows for each command, on average, above which most bits would be looked at in vain.
const SPARSE: usize = 16;

/// Rows of the world under one number each: those of a chunk follow each other.
pub(super) struct Rows {
    /// For each 16 KiB chunk from the first one on: the number of its row 0, or [`NONE`].
    begins: Vec<u32>,
    first: u32,
    /// Where the numbers of each of the world's chunks begin and end.
    pub(super) chunks: Vec<Numbered>,
    /// Numbers in all.
    pub(super) count: usize,
}

/// A chunk of the world, its first row's number, and how many rows it has.
#[derive(Clone, Copy)]
pub(super) struct Numbered {
    pub(super) archetype: u32,
    pub(super) chunk: u32,
    pub(super) begin: u32,
    pub(super) len: u32,
}

impl Rows {
    /// Numbers for all rows; `None` if they are too many for so many commands.
    pub(super) fn of(world: &World, commands: usize) -> Option<Self> {
        let most = SPARSE * commands;
        let chunks = || {
            (0..)
                .zip(&world.archetypes)
                .flat_map(|(number, archetype)| {
                    let chunks = (0..).zip(&archetype.chunks);
                    chunks.map(move |(position, chunk)| (number, position, chunk))
                })
        };
        let mut numbered = Vec::new();
        let (mut first, mut end, mut count) = (u32::MAX, 0, 0_usize);
        for (archetype, position, chunk) in chunks() {
            numbered.push(Numbered {
                archetype,
                chunk: position,
                begin: count as u32,
                len: chunk.len,
            });
            first = first.min(chunk.run.first());
            end = end.max(chunk.run.first() + chunk.named());
            // Words of bits are one chunk's each.
            count += chunk.len.next_multiple_of(WORD_BITS) as usize;
            if count > most || numbered.len() > most {
                return None;
            }
        }
        if end.saturating_sub(first) as usize > most {
            return None;
        }
        let mut begins = vec![NONE; end.saturating_sub(first) as usize];
        for ((_, _, chunk), numbered) in chunks().zip(&numbered) {
            let from = (chunk.run.first() - first) as usize;
            let to = &mut begins[from..from + chunk.named() as usize];
            for (begin, number) in to
                .iter_mut()
                .zip((numbered.begin..).step_by(ROWS_PER_CHUNK as usize))
            {
                *begin = number;
            }
        }
        Some(Self {
            begins,
            first,
            chunks: numbered,
            count,
        })
    }

    /// The number of an entity's row; [`NONE`] if it does not lie in the world.
    #[inline(always)]
    pub(super) fn find(&self, places: Places<'_>, entity: Entity) -> u32 {
        let Some(place) = places.of(entity) else {
            return NONE;
        };
        let chunk = place.chunk().wrapping_sub(self.first);
        match self.begins.get(chunk as usize) {
            // What has no place, or is being destroyed, is at a row that no chunk has.
            Some(&begin) if begin != NONE && place.row() < ROWS_PER_CHUNK => begin + place.row(),
            _ => NONE,
        }
    }
}
