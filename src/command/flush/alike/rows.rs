//! All rows of a world under one number each.

use crate::archetype::{Finder, ROWS_PER_CHUNK};
use crate::command::lane::NONE;
use crate::entity::Entity;
use crate::sync::geometry::WORD_BITS;
use crate::world::World;

/// Rows for each command and share, on average, above which too many bits would be looked at in vain, and too much memory
/// taken.
const SPARSE: usize = 8;

/// Rows of a world under one number each: those of a chunk follow each other.
///
/// Of a place, one small list says the number, which lies nearer to the processor than the directory of all chunks.
pub(super) struct Rows<'w> {
    finder: Finder<'w>,
    pub(super) chunks: Vec<Numbered>,
    /// For each 16 KiB chunk from the world's lowest to its highest, the number of the first row that its places name;
    /// [`NONE`] if it is not the world's.
    begins: Vec<u32>,
    lowest: u32,
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
    /// Numbers for all rows; `None` if they are too many for so many commands in so many shares, or too far apart.
    pub(super) fn of(world: &'w World, commands: usize, shares: usize) -> Option<Self> {
        let most = SPARSE * commands / shares;
        let mut chunks = Vec::new();
        let mut count = 0;
        let (mut lowest, mut highest) = (u32::MAX, 0);
        for (archetype, number) in world.archetypes.iter().zip(0..) {
            for (chunk, position) in archetype.chunks.iter().zip(0..) {
                chunks.push(Numbered {
                    archetype: number,
                    chunk: position,
                    begin: count as u32,
                    len: chunk.len,
                });
                // Words of bits are one chunk's each.
                count += chunk.len.next_multiple_of(WORD_BITS) as usize;
                if count > most {
                    return None;
                }
                let first = chunk.run.first();
                lowest = lowest.min(first);
                highest = highest.max(first + chunk.named());
            }
        }
        let length = highest.saturating_sub(lowest) as usize;
        if length > most {
            return None;
        }
        let mut begins = vec![NONE; length];
        let all = world.archetypes.iter().flat_map(|each| &each.chunks);
        for (chunk, numbered) in all.zip(&chunks) {
            let first = (chunk.run.first() - lowest) as usize;
            let named = &mut begins[first..][..chunk.named() as usize];
            for (begin, sub) in named.iter_mut().zip(0..) {
                *begin = numbered.begin + sub * ROWS_PER_CHUNK;
            }
        }
        Some(Self {
            finder: world.finder(),
            chunks,
            begins,
            lowest,
            count,
        })
    }

    /// Asks the processor for what it takes to find an entity soon.
    #[inline(always)]
    pub(super) fn expect(&self, entity: Entity) {
        self.finder.expect(entity);
    }

    /// The number of an entity's row; [`NONE`] if it does not lie in the world.
    #[inline(always)]
    pub(super) fn find(&self, entity: Entity) -> u32 {
        let Some(place) = self.finder.place(entity) else {
            return NONE;
        };
        let chunk = place.chunk().wrapping_sub(self.lowest);
        match self.begins.get(chunk as usize) {
            // What has no place is at one whose row no chunk has.
            Some(&begin) if begin != NONE && place.row() < ROWS_PER_CHUNK => begin + place.row(),
            _ => NONE,
        }
    }
}
