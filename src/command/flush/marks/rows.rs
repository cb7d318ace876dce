//! All rows of a world under one number each.

use crate::archetype::{Finder, ROWS_PER_CHUNK};
use crate::chunk::{CHUNKS, Run};
use crate::command::lane::NONE;
use crate::entity::Entity;
use crate::sync::geometry::WORD_BITS;
use crate::world::World;

/// Rows for each command, on average, above which too many bits would be looked at in vain, and too much memory taken.
pub(super) const SPARSE: usize = 8;
/// But a list of so many chunks is never too long: 4 KiB.
const CLOSE: usize = 1_024;

/// Rows of a world under one number each: those of a chunk follow each other.
///
/// What leads from a place to its number is one list of four bytes a chunk, which lies nearer to the processor than
/// the directory's entries and the chunks' records do.
pub(super) struct Rows<'w> {
    finder: Finder<'w>,
    pub(super) chunks: Vec<Numbered>,
    /// For each 16 KiB chunk from the world's first to its last, the number of the first row that its places name;
    /// [`NONE`] if it is not the world's.
    begins: Vec<u32>,
    /// Where that begins: see [`position`].
    first: i32,
    /// Numbers in all.
    pub(super) count: usize,
}

/// Where the first of a run's chunks stands in a list. Single chunks are taken from the bottom of all memory, runs
/// from the top: the top half comes before the bottom, so that both are near each other.
fn position(run: Run) -> i32 {
    let first = run.first() as i32;
    if first < CHUNKS as i32 / 2 {
        first
    } else {
        first - CHUNKS as i32
    }
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
    /// Numbers for all rows; `None` if they are too many for so many commands, or lie too far apart.
    pub(super) fn of(world: &'w World, commands: usize) -> Option<Self> {
        let most = SPARSE * commands;
        let mut chunks = Vec::new();
        let mut count = 0;
        let (mut first, mut last) = (i32::MAX, i32::MIN);
        for (archetype, number) in world.archetypes.iter().zip(0..) {
            for (chunk, position_there) in archetype.chunks.iter().zip(0..) {
                chunks.push(Numbered {
                    archetype: number,
                    chunk: position_there,
                    begin: count as u32,
                    len: chunk.len,
                });
                // Words of bits are one chunk's each.
                count += chunk.len.next_multiple_of(WORD_BITS) as usize;
                if count > most {
                    return None;
                }
                first = first.min(position(chunk.run));
                last = last.max(position(chunk.run) + chunk.named() as i32);
            }
        }
        let length = last.saturating_sub(first).max(0) as usize;
        if length > most.max(CLOSE) {
            return None;
        }
        let mut begins = vec![NONE; length];
        let all = world.archetypes.iter().flat_map(|each| &each.chunks);
        for (chunk, numbered) in all.zip(&chunks) {
            let at = (position(chunk.run) - first) as usize;
            let named = &mut begins[at..][..chunk.named() as usize];
            for (begin, sub) in named.iter_mut().zip(0..) {
                *begin = numbered.begin + sub * ROWS_PER_CHUNK;
            }
        }
        Some(Self {
            finder: world.finder(),
            chunks,
            begins,
            first,
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
        let number = self.number(entity);
        debug_assert_eq!(number, self.number_by_directory(entity), "{entity}");
        number
    }

    #[inline(always)]
    fn number(&self, entity: Entity) -> u32 {
        // What has no place is at one whose row no chunk has, and so is what is being destroyed.
        let place = self.finder.place(entity);
        let Some(place) = place.filter(|place| place.row() < ROWS_PER_CHUNK) else {
            return NONE;
        };
        let at = place.chunk().wrapping_sub(self.first as u32) % CHUNKS as u32;
        match self.begins.get(at as usize) {
            Some(&begin) if begin != NONE => begin + place.row(),
            _ => NONE,
        }
    }

    /// The same by the long way.
    fn number_by_directory(&self, entity: Entity) -> u32 {
        let Some((archetype, row)) = self.finder.find(entity) else {
            return NONE;
        };
        let chunk = (archetype, row.chunk);
        let number = |known: &Numbered| (known.archetype, known.chunk);
        let known = self.chunks.binary_search_by_key(&chunk, number);
        let known = self.chunks[known.expect("a chunk of the world")];
        assert!(row.row < known.len, "{entity} lies behind the last row");
        known.begin + row.row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A world at both ends of the memory: short chunks at one, runs at the other. Beside it, one in the same universe.
    fn worlds() -> (World, World) {
        let mut world = World::new();
        let mut other = World::of(world.universe()).unwrap();
        for n in 0..10_u32 {
            for world in [&mut world, &mut other] {
                let _ = world
                    .create_batch((0..2_000).map(|n| (n, [0_u8; 12])))
                    .unwrap();
                world.create((n as u16,)).unwrap();
            }
        }
        (world, other)
    }

    #[test]
    fn rows_of_all_chunks_have_a_number_each_and_nothing_else_has() {
        let (mut world, other) = worlds();
        let dead = world.create((7_u64,)).unwrap();
        world.destroy(dead).unwrap();
        let reserved = world.reserve().unwrap();
        let total = 20_010;
        let rows = Rows::of(&world, total).unwrap();
        assert!(
            rows.first < 0 && rows.begins.len() < 1_000,
            "{}",
            rows.begins.len()
        );

        let mut begin = 0;
        let all = world.archetypes.iter().flat_map(|each| &each.chunks);
        for chunk in all {
            for (&entity, row) in chunk.entities().iter().zip(begin..) {
                assert_eq!(rows.find(entity), row);
            }
            begin += chunk.len.next_multiple_of(WORD_BITS);
        }
        assert_eq!(rows.count, begin as usize);
        let others = other.archetypes.iter().flat_map(|each| &each.chunks);
        let others = others.flat_map(|chunk| chunk.entities());
        for &nobody in others.chain(&[dead, reserved]) {
            assert_eq!(rows.find(nobody), NONE);
        }
    }

    #[test]
    fn few_commands_do_not_look_at_many_rows() {
        let (world, _) = worlds();
        let rows = Rows::of(&world, 20_010).unwrap().count;
        let enough = rows.div_ceil(SPARSE);
        assert!(Rows::of(&world, enough).is_some());
        assert!(Rows::of(&world, enough - 1).is_none());
    }

    #[test]
    fn chunks_far_apart_are_looked_for_elsewhere() {
        let mut world = World::new();
        world.create((1_u8,)).unwrap();
        let mut between = World::of(world.universe()).unwrap();
        let all = (0..170 * CLOSE).map(|_| ([0_u8; 100],));
        assert!(!between.create_batch(all).unwrap().is_empty());
        world.set_chunk_size(64);
        world.create((1_u16,)).unwrap();
        assert!(Rows::of(&world, 16).is_none());
        assert!(Rows::of(&world, 2 * CLOSE / SPARSE).is_some());
    }
}
