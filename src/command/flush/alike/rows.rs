//! All rows of a world under one number each.

use crate::archetype::{Finder, Row};
use crate::command::lane::NONE;
use crate::entity::Entity;
use crate::sync::geometry::WORD_BITS;
use crate::world::World;

/// Rows for each command and share, on average, above which too many bits would be looked at in vain, and too much memory
/// taken.
const SPARSE: usize = 8;

/// Rows of a world under one number each: those of a chunk follow each other.
pub(super) struct Rows<'w> {
    finder: Finder<'w>,
    pub(super) chunks: Vec<Numbered>,
    /// For each archetype, which of the chunks is its first.
    first_chunk: Vec<u32>,
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

impl<'w> Rows<'w> {
    /// Numbers for all rows; `None` if they are too many for so many commands in so many shares.
    pub(super) fn of(world: &'w World, commands: usize, shares: usize) -> Option<Self> {
        let most = SPARSE * commands / shares;
        let mut rows = Self {
            finder: world.finder(),
            chunks: Vec::new(),
            first_chunk: Vec::with_capacity(world.archetypes.len()),
            count: 0,
        };
        for (archetype, number) in world.archetypes.iter().zip(0..) {
            rows.first_chunk.push(rows.chunks.len() as u32);
            for (chunk, position) in archetype.chunks.iter().zip(0..) {
                rows.chunks.push(Numbered {
                    archetype: number,
                    chunk: position,
                    begin: rows.count as u32,
                    len: chunk.len,
                });
                // Words of bits are one chunk's each.
                rows.count += chunk.len.next_multiple_of(WORD_BITS) as usize;
                if rows.count > most {
                    return None;
                }
            }
        }
        Some(rows)
    }

    /// Asks the processor for what it takes to find an entity soon.
    #[inline(always)]
    pub(super) fn expect(&self, entity: Entity) {
        self.finder.expect(entity);
    }

    /// The number of an entity's row; [`NONE`] if it does not lie in the world.
    #[inline(always)]
    pub(super) fn find(&self, entity: Entity) -> u32 {
        let Some((archetype, Row { chunk, row })) = self.finder.find(entity) else {
            return NONE;
        };
        let chunk = self.first_chunk[archetype as usize] + chunk;
        self.chunks[chunk as usize].begin + row
    }
}
