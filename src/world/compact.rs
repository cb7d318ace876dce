//! Compaction: the entities of half-empty chunks come together, when somebody asks.

use core::cmp::Reverse;
use core::fmt;
use std::time::{Duration, Instant};

use crate::archetype::{Archetype, Edge, Rows, copy_bits, copy_rows};
use crate::chunk::CHUNK_BYTES;
use crate::fragment::FragmentRegistry;
use crate::world::World;

/// How much work a call may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Budget {
    /// As much as there is.
    Unlimited,
    /// So many entities, and at least one, so that calls come to an end: the same world becomes the same, whatever the
    /// machine does.
    Entities(usize),
    /// So much time, looked at between chunks (tens of microseconds): one is emptied in any case, so that calls
    /// come to an end however little time each has.
    Time(Duration),
}

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct CompactReport {
    /// Entities that moved.
    pub entities: usize,
    /// Chunks that were given back.
    pub chunks: usize,
    /// Their memory, in bytes.
    pub bytes: usize,
    /// Whether nothing is left to do: no chunk that has room could be emptied into others that have.
    pub is_done: bool,
}

/// One line.
impl fmt::Display for CompactReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} entities moved; {} chunks given back, {} KiB; {}",
            self.entities,
            self.chunks,
            self.bytes / 1_024,
            match self.is_done {
                true => "nothing is left to do",
                false => "not done",
            }
        )
    }
}

/// What is left of a budget.
struct Left {
    entities: usize,
    until: Option<Instant>,
    /// A chunk was emptied.
    has_begun: bool,
}

impl Left {
    fn new(budget: Budget) -> Self {
        match budget {
            Budget::Unlimited => Self {
                entities: usize::MAX,
                until: None,
                has_begun: false,
            },
            Budget::Entities(entities) => Self {
                entities: entities.max(1),
                until: None,
                has_begun: false,
            },
            Budget::Time(time) => Self {
                entities: usize::MAX,
                until: Instant::now().checked_add(time),
                has_begun: false,
            },
        }
    }

    /// Nothing: empty chunks go back, and no entity moves.
    #[cfg(test)]
    fn nothing() -> Self {
        Self {
            entities: 0,
            until: None,
            has_begun: false,
        }
    }

    fn is_spent(&self) -> bool {
        let is_late = |until| self.has_begun && Instant::now() >= until;
        self.entities == 0 || self.until.is_some_and(is_late)
    }
}

/// A chunk with room.
#[derive(Clone)]
struct Open {
    group: u32,
    /// Where the first of its group lies that has the same chunk fragments.
    alike: u32,
    len: u32,
    capacity: u32,
    position: u32,
}

impl World {
    /// Moves entities from the emptiest chunks of each composition (and combination of shared values) to
    /// its fullest ones, as long as that saves chunks, and gives all empty chunks back.
    ///
    /// O(compositions + chunks, of which those with room are sorted, + entities that move). The
    /// budget is for the last of these only: a call looks at all compositions and their chunks
    /// however small it is. Those chunks of a composition with chunk fragments that have room are sorted by these, too:
    /// O(such chunks × log of them) comparisons, each as far as two are the same.
    ///
    /// Chunks are emptied by how empty they are, not by where they lie: the memory of a mega-chunk, 1 MiB, goes back by
    /// itself when all of its chunks are empty. That of free chunks beside others that are in use goes back with
    /// [`Universe::trim`](crate::world::Universe::trim).
    ///
    /// Entities change rows, as when others are destroyed; values, ids and bits stay. So do [chunk
    /// fragments](crate::fragment::PerChunk): entities come to chunks only whose chunk fragments are equal, byte by byte, to those
    /// that they had, which is known of what is [registered as plain](crate::fragment::FragmentRegistry::register_plain) alone; with
    /// others each chunk keeps its entities. Afterwards the chunks of a composition (and combination, and of equal chunk
    /// fragments) that have room have less of it in all than the shortest of them holds.
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::world::Budget;
    ///
    /// let mut world = World::new();
    /// let batch = world.create_batch((0..100_000_u64).map(|n| (n,)))?;
    /// let all = batch.to_vec(&world);
    /// for pair in all.chunks(4) {
    ///     pair[1..].iter().try_for_each(|&entity| world.destroy(entity))?;
    /// }
    /// while !world.compact(Budget::Entities(1_000)).is_done {}
    /// assert!(world.stats().occupancy() > 0.75);
    /// # Ok::<(), WorldError>(())
    /// ```
    pub fn compact(&mut self, budget: Budget) -> CompactReport {
        self.compact_within(Left::new(budget))
    }

    fn compact_within(&mut self, mut left: Left) -> CompactReport {
        let mut report = CompactReport {
            is_done: true,
            ..CompactReport::default()
        };
        for archetype in 0..self.archetypes.len() as u32 {
            let data = &self.archetypes[archetype as usize];
            let mut edge = None;
            let mut with_room = data.with_room();
            data.tell_apart(self.universe.registry(), &mut with_room);
            with_room.sort_unstable_by_key(|chunk| (chunk.group, chunk.alike, chunk.position));
            let groups = with_room.chunk_by(|a, b| (a.group, a.alike) == (b.group, b.alike));
            let mut groups: Vec<&[Open]> = groups.filter(|chunks| chunks.len() > 1).collect();
            // By where they stand: a world that was loaded numbers its groups otherwise.
            groups.sort_unstable_by_key(|chunks| chunks[0].position);
            for open in groups {
                let data = &self.archetypes[archetype as usize];
                let edge =
                    edge.get_or_insert_with(|| Edge::new(data, data, Box::default(), |_| false));
                let open = open.to_vec();
                self.compact_group(archetype, open, edge, &mut left, &mut report);
            }
            let data = &mut self.archetypes[archetype as usize];
            for empty in data.empty_chunks() {
                let run = data.chunks[empty as usize].run;
                report.bytes += run.len() as usize * CHUNK_BYTES;
                data.release_chunk(&self.universe, self.number, empty);
                report.chunks += 1;
            }
            self.settle_groups(archetype);
            // Else each call would look at all that there ever were.
            let data = &mut self.archetypes[archetype as usize];
            if data.idle_groups.len() > data.groups.len() / 2 {
                data.forget_idle_groups();
            }
        }
        report
    }

    fn compact_group(
        &mut self,
        archetype: u32,
        mut open: Vec<Open>,
        edge: &Edge,
        left: &mut Left,
        report: &mut CompactReport,
    ) {
        // The fullest first, for its length; of equal ones the one that stands first, so that the same world becomes
        // the same.
        let fullness = |chunk: &Open| (u64::from(chunk.len) << 32) / u64::from(chunk.capacity);
        open.sort_unstable_by_key(|chunk| (Reverse(fullness(chunk)), chunk.position));
        let free = |chunk: &Open| (chunk.capacity - chunk.len) as usize;
        let mut room: usize = open.iter().map(free).sum();
        let mut fullest = 0;
        // The emptiest chunk that the others have room for.
        while let Some(emptiest) = open.iter().rposition(|c| c.capacity as usize <= room) {
            let from = open.remove(emptiest);
            room -= from.capacity as usize;
            if emptiest < fullest {
                fullest -= 1;
            }
            let mut len = from.len;
            while len > 0 {
                if left.is_spent() {
                    report.is_done = false;
                    return;
                }
                let to = &mut open[fullest];
                let count = len
                    .min(to.capacity - to.len)
                    .min(u32::try_from(left.entities).unwrap_or(u32::MAX));
                len -= count;
                let rows = Rows {
                    chunk: from.position,
                    first: len,
                    count,
                };
                to.len += count;
                let (position, is_full) = (to.position, to.len == to.capacity);
                fullest += usize::from(is_full);
                left.entities -= count as usize;
                report.entities += count as usize;
                self.shift(archetype, rows, position, edge);
            }
            left.has_begun = true;
        }
    }

    /// Moves the last rows of a chunk to the end of another.
    fn shift(&mut self, archetype: u32, rows: Rows, to: u32, edge: &Edge) {
        let version = self.stamp();
        let data = &mut self.archetypes[archetype as usize];
        if !data.chunks[to as usize].is_open() {
            data.open(to);
        }
        data.expect_rows(to, rows.count);
        let (from, chunk) = (&data.chunks[rows.chunk as usize], &data.chunks[to as usize]);
        let at = chunk.len;
        // SAFETY: the last rows of one chunk, and as many empty ones behind the last of another.
        let entities = unsafe { copy_rows(edge, from, rows.first, chunk, at, rows.count) };
        self.universe.place_rows(entities, chunk.run, at);
        data.grown(to, rows.count, version);
        let (from, chunk) = (&data.chunks[rows.chunk as usize], &data.chunks[to as usize]);
        // SAFETY: as above; the rows are filled now.
        unsafe { copy_bits(edge, from, rows.first, chunk, at, rows.count) };
        data.fill_gap(&self.universe, rows, version);
    }
}

impl Archetype {
    /// The chunks that have entities, and room for more; those, too, that are not filled next.
    fn with_room(&self) -> Vec<Open> {
        let with_room = (0..).zip(&self.chunks);
        let with_room = with_room.filter(|(_, chunk)| chunk.len > 0 && !chunk.is_full());
        let open = with_room.map(|(position, chunk)| Open {
            group: chunk.group,
            alike: 0,
            len: chunk.len,
            capacity: self.unfolded_capacity(chunk),
            position,
        });
        open.collect()
    }

    /// Says of chunks, in whatever order, which have the same chunk fragments; they are in another one then. Of values that are
    /// not known to be plain it is not known. O(chunks × log chunks) comparisons of those of the same group.
    fn tell_apart(&self, registry: &FragmentRegistry, open: &mut [Open]) {
        if self.chunk_values.is_empty() || open.len() < 2 {
            return;
        }
        let sizes = (self.chunk_values.iter()).map(|value| {
            let info = registry.get(value.id).filter(|info| info.is_plain())?;
            Some((value.offset, info.layout().size()))
        });
        let Some(plain) = sizes.collect::<Option<Vec<_>>>() else {
            open.iter_mut()
                .for_each(|chunk| chunk.alike = chunk.position);
            return;
        };
        let values = |chunk: &Open| {
            let chunk = &self.chunks[chunk.position as usize];
            plain.iter().map(|&(offset, size)| {
                let value = chunk.array(offset).cast::<u8>();
                // SAFETY: a value of this size, plain: all of its bytes are written, and nobody writes them meanwhile.
                unsafe { core::slice::from_raw_parts(value, size) }
            })
        };
        open.sort_unstable_by(|a, b| {
            let groups = a.group.cmp(&b.group);
            let values = groups.then_with(|| values(a).cmp(values(b)));
            values.then(a.position.cmp(&b.position))
        });
        let is_alike = |a: &Open, b: &Open| a.group == b.group && values(a).eq(values(b));
        for alike in open.chunk_by_mut(is_alike) {
            let first = alike[0].position;
            alike.iter_mut().for_each(|chunk| chunk.alike = first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Entity;
    use crate::fragment::Bundle;

    #[test]
    fn groups_and_shared_values_that_are_gone_keep_no_room() {
        for trims in [true, false] {
            let mut world = World::new();
            let mut ants: Vec<Entity> = Vec::new();
            for team in 0..1_000_u16 {
                let ant = world.create((u32::from(team),).shared(team).shared(u64::from(team % 7)));
                ants.push(ant.unwrap());
            }
            for (at, &ant) in ants.iter().enumerate() {
                if at % 100 != 50 {
                    world.destroy(ant).unwrap();
                }
            }
            let groups = |world: &World| world.archetypes[0].groups.len();
            assert_eq!(groups(&world), 1_000);
            let free = [ants[50], ants[650], ants[950]];
            let number = |world: &World, ant| {
                let (_, row) = world.locate(ant).unwrap();
                world.archetypes[0].chunks[row.chunk as usize].group
            };
            if trims {
                world.trim();
                assert!(world.archetypes[0].groups.capacity() < 20);
                assert!(world.archetypes[0].group_of.capacity() < 40);
                assert!(world.shared.numbers() < 1_000);
            } else {
                let _ = world.compact_within(Left::nothing());
            }
            assert_eq!(groups(&world), 10);
            assert_eq!(free.map(|ant| number(&world, ant)), [0, 6, 9]);
            world.check().unwrap();
            for (team, &ant) in (0..).zip(&ants).skip(50).step_by(100) {
                assert_eq!(world.shared::<u16>(ant).unwrap(), &team);
                assert_eq!(world.get::<u32>(ant).unwrap(), &u32::from(team));
            }
            // They go on: those that are there are found, and others come.
            let again = world
                .create((0_u32,).shared(650_u16).shared(650_u64 % 7))
                .unwrap();
            assert_eq!(number(&world, again), 6);
            world.create((0_u32,).shared(7_u16).shared(0_u64)).unwrap();
            assert_eq!(groups(&world), 11);
            world.check().unwrap();
            world.clear();
            world.check().unwrap();
            if trims {
                world.trim();
                assert_eq!((groups(&world), world.shared.numbers()), (0, 0));
            }
            world.create((0_u32,).shared(7_u16).shared(0_u64)).unwrap();
            world.check().unwrap();
        }
    }

    #[test]
    fn empty_chunks_are_found_among_those_with_room() {
        let mut world = World::new();
        world.set_chunk_size(1);
        let mut ants: Vec<Entity> = Vec::new();
        for team in 0..3_u8 {
            let bundles = (0..10_000_u64).map(|n| (n, [n; 4]).shared(team));
            let batch = world.create_batch(bundles).unwrap();
            ants.extend(batch.iter(&world));
        }
        let batch = world.create_batch((0..10_000_u64).map(|n| (n,))).unwrap();
        ants.extend(batch.iter(&world));
        let mut state = 1_u64;
        while !ants.is_empty() {
            for _ in 0..ants.len().min(1_000) {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                // Many side by side, so that chunks become empty.
                let at = ((state >> 33) as usize % ants.len()) & !255;
                world.destroy(ants.remove(at)).unwrap();
            }
            let mut expected = CompactReport::default();
            for data in &world.archetypes {
                let chunks = (0..data.chunks.len() as u32).rev();
                let empty = chunks.filter(|&chunk| data.chunks[chunk as usize].len == 0);
                let empty: Vec<u32> = empty.collect();
                assert_eq!(data.empty_chunks(), empty);
                let runs = empty.iter().map(|&at| data.chunks[at as usize].run.len());
                expected.chunks += empty.len();
                expected.bytes += runs.sum::<u32>() as usize * CHUNK_BYTES;
            }
            let report = world.compact_within(Left::nothing());
            assert_eq!(
                (report.chunks, report.bytes),
                (expected.chunks, expected.bytes)
            );
            world.check().unwrap();
        }
        assert_eq!(
            world
                .stats()
                .archetypes
                .iter()
                .map(|a| a.chunks)
                .sum::<usize>(),
            0
        );
    }
}
