//! `Demand`: how many chunks of 16 KiB what is saved takes when it is loaded, told before anything is made of it.

use core::alloc::Layout;

use crate::archetype::{Archetype, ChunkLayout, Content, Shortest, number_of};
use crate::chunk::MEGACHUNK_CHUNKS;
use crate::fragment::FragmentKind;
use crate::world::snapshot::fragments::SavedFragment;
use crate::world::snapshot::read::{SavedArchetype, SavedChunk};

/// Knows the layouts of archetypes by what a file says of their fragments.
pub(super) struct Demand<'s> {
    fragments: &'s [SavedFragment],
    /// Those of their names, which may be long: these are gone through once.
    numbers: Vec<u64>,
}

impl<'s> Demand<'s> {
    /// That of archetypes with these fragments. O(bytes of their names).
    pub(super) fn of(fragments: &'s [SavedFragment]) -> Self {
        let numbers = fragments.iter().map(|one| number_of(&one.name));
        Self {
            fragments,
            numbers: numbers.collect(),
        }
    }

    /// The chunks that an archetype comes to, if its values can be switched off here where they could there. Of one
    /// that no chunk has room for, which no load brings, they are what the file says.
    pub(super) fn lengths(&self, archetype: &SavedArchetype<'_>) -> Lengths {
        let shortest = self.shortest(archetype);
        let unknown = Lengths {
            run: archetype.run,
            capacity: u32::MAX,
        };
        shortest.map_or(unknown, |shortest| Lengths {
            run: shortest.run as u32,
            capacity: shortest.layout.capacity() as u32,
        })
    }

    fn shortest(&self, archetype: &SavedArchetype<'_>) -> Option<Shortest> {
        let (mut contents, mut once, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        let (mut bits, mut staggered) = (0, true);
        for &number in &archetype.fragments {
            let fragment = &self.fragments[number as usize];
            if fragment.known.is_none() {
                continue;
            }
            let align = usize::try_from(fragment.align_here).ok()?;
            let layout = Layout::from_size_align(fragment.size_here, align).ok()?;
            let content = Content::new("", layout);
            match fragment.kind {
                FragmentKind::Fragment => {
                    contents.push(content);
                    numbers.push(self.numbers[number as usize]);
                }
                FragmentKind::Chunk => once.push(content),
                _ => {}
            }
            bits += usize::from(fragment.enableable && !fragment.always_on);
            staggered &= align <= 64;
        }
        let bits: Vec<usize> = (0..bits).collect();
        let lay_out =
            |bytes| ChunkLayout::mixed_by_numbers(bytes, &contents, &numbers, &bits, &once);
        Shortest::of(archetype.run as usize, staggered, &contents, lay_out).ok()
    }
}

/// How long the chunks are that a saved one comes to: the shortest of its archetype, or 2 to the power of something as
/// long.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    /// Chunks of 16 KiB in one of the shortest.
    run: u32,
    /// Entities in it.
    capacity: u32,
}

impl Lengths {
    /// Those of an archetype that is there.
    pub(super) fn of(archetype: &Archetype) -> Self {
        Self {
            run: archetype.run,
            capacity: archetype.least_capacity,
        }
    }

    /// How often the shortest chunk is doubled for the one in which the first rows of a saved chunk come: for as long a
    /// one as that was, or if it is `cut` for no more than its entities need.
    pub(super) fn first(self, chunk: &SavedChunk, cut: bool) -> u32 {
        let had = (chunk.run / self.run).max(1).ilog2();
        match cut {
            true => had.min(self.needed(chunk.len)),
            false => had,
        }
    }

    /// The same for one that takes what did not fit, so many entities: no more memory than they need. (A chunk that was
    /// given another layout in place can have more rows than any run has room for.)
    pub(super) fn next(self, left: u32) -> u32 {
        self.needed(left).min(self.longest())
    }

    fn needed(self, entities: u32) -> u32 {
        let chunks = entities.div_ceil(self.capacity);
        let chunks = chunks.clamp(1, MEGACHUNK_CHUNKS as u32);
        chunks.next_power_of_two().ilog2()
    }

    fn longest(self) -> u32 {
        (MEGACHUNK_CHUNKS as u32 / self.run).max(1).ilog2()
    }

    /// Chunks of 16 KiB that a saved chunk comes to.
    pub(super) fn taken(self, chunk: &SavedChunk, cut: bool) -> u64 {
        let taken = |shift| u64::from(self.run << shift);
        let room = |shift| u64::from(self.capacity) << shift;
        let first = self.first(chunk, cut);
        let left = u64::from(chunk.len).saturating_sub(room(first));
        let longest = self.longest();
        // All but the last of those that take the rest are as long as there are any.
        let last = match (left % room(longest)) as u32 {
            0 => 0,
            left => taken(self.next(left)),
        };
        taken(first) + left / room(longest) * taken(longest) + last
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::archetype::Universe;
    use crate::entity::EntityMap;
    use crate::fragment::{Bundle, ConstShared, Value};
    use crate::world::World;
    use crate::world::snapshot::checksum::Checksum;
    use crate::world::snapshot::format::Header;
    use crate::world::snapshot::read::tests::{NOTHING, sealed};
    use crate::world::snapshot::{SnapshotOptions, SnapshotSummary};

    fn universe() -> Universe {
        let universe = Universe::new();
        universe.registry().register_plain::<u64>().unwrap();
        let layout = Layout::new::<[u8; 100_000]>();
        universe.registry().define_plain("big", layout).unwrap();
        universe
            .registry()
            .register_plain::<ConstShared<u32>>()
            .unwrap();
        universe
    }

    fn set(file: &mut [u8], at: usize, number: u32) {
        file[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }

    /// A file of a world that has one chunk, and besides it so many without entities: all as short as a file can say.
    fn with_short(file: &[u8], empty: u32) -> Vec<u8> {
        let mut header = Header::read(file, file.len() as u64).unwrap();
        let mut file = file.to_vec();
        let rest = file.split_off(file.len() - NOTHING);
        // How many chunks there are; length, run, place and checksum of one.
        let chunk = file.len() - 20;
        set(&mut file, chunk - 4, 1 + empty);
        set(&mut file, chunk - 9, 1);
        set(&mut file, chunk + 4, 1);
        set(&mut file, chunk + 8, 0);
        for place in 1..=empty {
            let at = file.len();
            file.resize(at + 12, 0);
            set(&mut file, at + 4, 1);
            set(&mut file, at + 8, place);
            file.extend(Checksum::of(&[]).to_le_bytes());
        }
        file.extend(rest);
        header.bytes = file.len() as u64;
        sealed(file, header)
    }

    /// Chunks that a load takes, and how many of them have nobody.
    fn taken(file: &[u8]) -> (u64, u64) {
        let world = World::from_snapshot(file, universe(), &Default::default()).unwrap();
        world.check().unwrap();
        let summary = SnapshotSummary::of(file).unwrap();
        let in_use = world.universe().chunk_stats().in_use as u64;
        assert_eq!(summary.chunk_bytes, in_use << 14);
        (summary.chunk_bytes >> 14, summary.empty_chunk_bytes >> 14)
    }

    #[test]
    fn chunks_have_room_for_their_entities_whatever_a_file_says() {
        let mut world = World::of(&Arc::new(universe())).unwrap();
        let big = world.registry().find("big").unwrap().id();
        let value = Value::from_bytes(world.registry(), big, &[7; 100_000]).unwrap();
        world.create_dynamic([value].into_iter().collect()).unwrap();
        let file = world.to_snapshot(&SnapshotOptions::new()).unwrap();
        assert_eq!(taken(&file), (49, 0));
        assert_eq!(taken(&with_short(&file, 40)), (41 * 49, 40 * 49));
    }

    #[test]
    fn what_does_not_fit_comes_to_a_chunk_of_its_own() {
        let mut world = World::of(&Arc::new(universe())).unwrap();
        world.create((0_u64,)).unwrap();
        let capacity = u64::from(world.archetypes[0].least_capacity);
        for count in [1, capacity, capacity + 1, 1_024, 2_100, 30_000, 64_000] {
            let mut world = World::of(&Arc::new(universe())).unwrap();
            world.set_chunk_size(64);
            let _ = world.create_batch((0..count).map(|n| (n,))).unwrap();
            let file = world.to_snapshot(&SnapshotOptions::new()).unwrap();
            assert_eq!(taken(&file), (64, 0), "{count}");
            let left = (count - 1) / capacity;
            let rest = if left == 0 {
                0
            } else {
                left.next_power_of_two()
            };
            assert_eq!(taken(&with_short(&file, 2)), (1 + rest + 2, 2), "{count}");
        }
    }

    #[test]
    fn chunks_that_were_long_and_take_little_leave_others_as_long_as_the_world_had_them() {
        let mut world = World::of(&Arc::new(universe())).unwrap();
        world.set_chunk_size(2);
        world.create(()).unwrap();
        world.set_chunk_size(1);
        for team in 0..80_u32 {
            world.create((7_u64,).const_shared(team)).unwrap();
        }
        let mut file = world.to_snapshot(&SnapshotOptions::new()).unwrap();
        let universe = Arc::new(universe());
        let anew = |file: &[u8]| {
            let anew = World::from_snapshot_remapped(
                file,
                &universe,
                &EntityMap::default(),
                &Default::default(),
            );
            let (anew, _) = anew.unwrap();
            anew.check().unwrap();
            universe.chunk_stats().in_use
        };
        assert_eq!(anew(&file), 2 + 80);
        // Length, run, place, shared value and checksum: all are said to have had 64 times 16 KiB, 80 MiB together.
        let end = file.len() - NOTHING;
        for chunk in (end - 80 * 24..end).step_by(24) {
            assert_eq!(file[chunk..chunk + 8], [1, 0, 0, 0, 1, 0, 0, 0]);
            set(&mut file, chunk + 4, 64);
        }
        let header = Header::read(&file, file.len() as u64).unwrap();
        assert_eq!(anew(&sealed(file, header)), 2 + 80);
    }
}
