//! Commands are brought to their entities' chunks, in order within each.

use core::mem::MaybeUninit;

use crate::archetype::Row;
use crate::command::flush::memory::Memory;
use crate::command::flush::ops::Ops;
use crate::command::flush::{Cost, Lost, Part};
use crate::command::lane::NONE;
use crate::entity::Entity;
use crate::memory::prefetch;
use crate::workers::fork_join;
use crate::world::World;

/// A command at its entity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) row: u32,
    pub(super) op: u32,
    /// The row of its payload.
    pub(super) at: u32,
    /// The command before it for the same entity, as [`merge`](mod@super::merge) links them.
    pub(super) before: u32,
}

/// The commands of one chunk: `items[first..end]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    pub(super) archetype: u32,
    pub(super) chunk: u32,
    pub(super) first: u32,
    pub(super) end: u32,
}

/// What comes out, beside the items.
#[derive(Debug, Default)]
pub(super) struct Located {
    pub(super) buckets: Vec<Bucket>,
    /// Commands whose entity does not lie in the world.
    pub(super) lost: Vec<Lost>,
}

/// Where an entity lies: its chunk, by a number that all chunks of the world share, and its row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    chunk: u32,
    row: u32,
}

/// In no chunk.
const NOWHERE: Spot = Spot {
    chunk: u32::MAX,
    row: 0,
};

impl Spot {
    fn is_nowhere(self) -> bool {
        self.chunk == NOWHERE.chunk
    }
}

/// So many entities ahead memory is asked for.
const AHEAD: usize = 32;

/// A part, and where its entities lie.
#[derive(Clone, Copy)]
struct Spotted<'a> {
    part: &'a Part<'a>,
    spots: &'a [Spot],
}

impl<'a> Spotted<'a> {
    /// Its commands: in which chunk, and what.
    #[inline(always)]
    fn items(self, ops: &'a Ops<'_>) -> impl Iterator<Item = (u32, Item)> + 'a {
        let part = self.part;
        let payload_of = &ops.payload_of[part.first_op as usize..];
        let mut rows = part.rows();
        let mut spots = self.spots.iter();
        let mut spot = NOWHERE;
        part.log.words.iter().map(move |&word| {
            if word.is_for_another()
                && let Some(&next) = spots.next()
            {
                spot = next;
            }
            let at = &mut rows.as_mut_slice()[payload_of[word.op() as usize] as usize];
            let item = Item {
                row: spot.row,
                op: part.op(word),
                at: *at,
                before: NONE,
            };
            *at += 1;
            (spot.chunk, item)
        })
    }
}

/// Finds where entities lie; whether all do, and in the order of chunks.
fn look_up(
    world: &World,
    first_chunk: &[u32],
    entities: &[Entity],
    spots: &mut [MaybeUninit<Spot>],
) -> (bool, bool) {
    let finder = world.finder();
    let mut in_order = true;
    let mut nowhere = 0;
    let mut last = 0;
    for ((&entity, to), at) in entities.iter().zip(spots).zip(AHEAD..) {
        // They are likely to be in no order.
        if let Some(&later) = entities.get(at) {
            finder.expect(later);
        }
        let spot = match finder.find(entity) {
            Some((archetype, Row { chunk, row })) => Spot {
                chunk: first_chunk[archetype as usize] + chunk,
                row,
            },
            None => NOWHERE,
        };
        nowhere += usize::from(spot.is_nowhere());
        in_order &= last <= spot.chunk;
        last = spot.chunk;
        to.write(spot);
    }
    (nowhere == 0, in_order)
}

/// Finds the chunk of each command, in order, and puts them into `memory.items`.
pub(super) fn locate(
    world: &World,
    ops: &Ops<'_>,
    parts: &[Part<'_>],
    memory: &mut Memory,
) -> Located {
    let entities = parts.iter().map(|part| part.log.entities.len()).sum();
    let total = parts.iter().map(|part| part.log.words.len()).sum();
    // Chunks under one number each.
    let mut first_chunk = Vec::with_capacity(world.archetypes.len());
    let mut chunks = 0_u32;
    for archetype in &world.archetypes {
        first_chunk.push(chunks);
        chunks += archetype.chunks.len() as u32;
    }
    let mut spots = core::mem::take(&mut memory.spots);
    spots.clear();
    spots.reserve(entities);
    let mut free = &mut spots.spare_capacity_mut()[..entities];
    let mut tasks = Vec::with_capacity(parts.len());
    for part in parts {
        let (here, after) = free.split_at_mut(part.log.entities.len());
        free = after;
        tasks.push((part.log.entities, here));
    }
    let look =
        |(entities, spots): (&[Entity], &mut [_])| look_up(world, &first_chunk, entities, spots);
    let threads = world.flush_threads(total, Cost::High);
    let found: Vec<(bool, bool)> = if threads > 1 {
        fork_join::map_on(threads, tasks, look)
    } else {
        tasks.into_iter().map(look).collect()
    };
    // SAFETY: the tasks have written every entry.
    unsafe { spots.set_len(entities) };
    let mut left = spots.as_slice();
    let spotted = parts.iter().map(|part| {
        let (here, after) = left.split_at(part.log.entities.len());
        left = after;
        Spotted { part, spots: here }
    });
    let spotted: Vec<Spotted<'_>> = spotted.collect();
    let all_there = found.iter().all(|(there, _)| *there);
    let follow = spotted.windows(2).all(|parts| {
        // Each has commands, and so an entity.
        let (last, next) = (parts[0].spots.last(), parts[1].spots.first());
        last.map(|spot| spot.chunk) <= next.map(|spot| spot.chunk)
    });
    let in_order = all_there && follow && found.iter().all(|(_, in_order)| *in_order);
    let mut located = Located::default();
    if !all_there {
        located.lost = lost(ops, &spotted);
    }
    if in_order {
        as_recorded(&mut located, ops, &spotted, memory, threads);
    } else if total < chunks as usize / 4 {
        by_sorting(&mut located, ops, &spotted, memory);
    } else {
        by_counting(
            &mut located,
            ops,
            &spotted,
            memory,
            chunks as usize,
            threads,
        );
    }
    memory.spots = spots;
    // From numbers back to archetypes: upwards in both.
    let mut archetype = 0;
    for bucket in &mut located.buckets {
        while first_chunk
            .get(archetype + 1)
            .is_some_and(|&first| first <= bucket.chunk)
        {
            archetype += 1;
        }
        bucket.archetype = archetype as u32;
        bucket.chunk -= first_chunk[archetype];
    }
    located
}

/// How many commands there are.
fn total_of(parts: &[Spotted<'_>]) -> usize {
    parts.iter().map(|part| part.part.log.words.len()).sum()
}

/// The commands that have lost their entities, in order.
fn lost(ops: &Ops<'_>, parts: &[Spotted<'_>]) -> Vec<Lost> {
    let lost = parts.iter().flat_map(|part| {
        let commands = part.part.log.commands().zip(part.items(ops));
        let lost = commands.filter(|(_, (chunk, _))| *chunk == NOWHERE.chunk);
        let piece = part.part.piece;
        lost.map(move |((entity, _), (_, item))| Lost {
            op: item.op,
            at: item.at,
            entity,
            piece,
        })
    });
    lost.collect()
}

/// If commands were recorded in the order of chunks, as a query does it, they are where they belong.
fn as_recorded(
    located: &mut Located,
    ops: &Ops<'_>,
    parts: &[Spotted<'_>],
    memory: &mut Memory,
    threads: usize,
) {
    let total = total_of(parts);
    memory.items.clear();
    memory.items.reserve(total);
    let mut free = &mut memory.items.spare_capacity_mut()[..total];
    let mut tasks = Vec::with_capacity(parts.len());
    let mut first = 0;
    for &part in parts {
        let count = part.part.log.words.len();
        let (here, after) = free.split_at_mut(count);
        free = after;
        tasks.push((part, here, first));
        first += count as u32;
    }
    // Where the commands of another chunk begin.
    let write = |(part, to, first): (Spotted<'_>, &mut [MaybeUninit<Item>], u32)| {
        let mut starts: Vec<(u32, u32)> = Vec::new();
        let mut last = NOWHERE.chunk;
        for (((chunk, item), to), at) in part.items(ops).zip(to).zip(first..) {
            to.write(item);
            if chunk != last {
                last = chunk;
                starts.push((chunk, at));
            }
        }
        starts
    };
    let starts: Vec<Vec<(u32, u32)>> = if threads > 1 {
        fork_join::map_on(threads, tasks, write)
    } else {
        tasks.into_iter().map(write).collect()
    };
    // SAFETY: the tasks have written every entry.
    unsafe { memory.items.set_len(total) };
    for (chunk, at) in starts.into_iter().flatten() {
        located.add(chunk, at, at);
    }
    located.end(total as u32);
}

impl Located {
    /// Commands of a chunk, if they are not more of the same one.
    fn add(&mut self, chunk: u32, first: u32, end: u32) {
        match self.buckets.last_mut() {
            Some(last) if last.chunk == chunk => last.end = end,
            last => {
                if let Some(last) = last {
                    last.end = first;
                }
                self.buckets.push(Bucket {
                    archetype: 0,
                    chunk,
                    first,
                    end,
                });
            }
        }
    }

    /// No more come.
    fn end(&mut self, end: u32) {
        if let Some(last) = self.buckets.last_mut() {
            last.end = end;
        }
    }
}

/// Few commands in many chunks.
fn by_sorting(located: &mut Located, ops: &Ops<'_>, parts: &[Spotted<'_>], memory: &mut Memory) {
    let found = parts.iter().flat_map(|part| part.items(ops));
    let mut sorted: Vec<(u32, Item)> = found.collect();
    sorted.retain(|(chunk, _)| *chunk != NOWHERE.chunk);
    // Stable: the order within a chunk stays.
    sorted.sort_by_key(|(chunk, _)| *chunk);
    memory.items.clear();
    for ((chunk, item), at) in sorted.into_iter().zip(0..) {
        memory.items.push(item);
        located.add(chunk, at, at + 1);
    }
    located.end(memory.items.len() as u32);
}

/// Threads that count the commands of all chunks, each for itself.
const COUNTERS: usize = 16;

/// Many commands: a counting sort, in as many parts as there are threads.
fn by_counting(
    located: &mut Located,
    ops: &Ops<'_>,
    parts: &[Spotted<'_>],
    memory: &mut Memory,
    chunks: usize,
    threads: usize,
) {
    let total = total_of(parts);
    let threads = threads.min(COUNTERS);
    let parts: Vec<&[Spotted<'_>]> = parts.chunks(parts.len().div_ceil(threads)).collect();
    let count = |parts: &[Spotted<'_>]| {
        // The last counts those that are nowhere.
        let mut counts = vec![0_u32; chunks + 1];
        for part in parts {
            if part.spots.len() == part.part.log.words.len() {
                for spot in part.spots {
                    counts[(spot.chunk as usize).min(chunks)] += 1;
                }
            } else {
                for (chunk, _) in part.items(ops) {
                    counts[(chunk as usize).min(chunks)] += 1;
                }
            }
        }
        counts
    };
    let mut counts: Vec<Vec<u32>> = if threads > 1 {
        fork_join::map_on(threads, parts.clone(), count)
    } else {
        parts.iter().copied().map(count).collect()
    };
    // Counts become the positions where each part puts its next command of each chunk.
    let mut next = 0;
    for chunk in 0..=chunks {
        let first = next;
        for counts in &mut counts {
            next += core::mem::replace(&mut counts[chunk], next);
        }
        if next > first && chunk < chunks {
            located.add(chunk as u32, first, next);
        }
    }
    memory.items.clear();
    memory.items.reserve(total);
    let out = Out(memory.items.as_mut_ptr());
    let scatter = |(parts, counts): (&[Spotted<'_>], &mut Vec<u32>)| {
        let out = &out;
        for part in parts {
            for ((chunk, item), later) in part.items(ops).zip(AHEAD..) {
                if let Some(later) = part.spots.get(later) {
                    let at = counts[(later.chunk as usize).min(chunks)];
                    prefetch(out.0.wrapping_add(at as usize));
                }
                let at = &mut counts[(chunk as usize).min(chunks)];
                // SAFETY: below `total`, and no other command has this position.
                unsafe { out.0.add(*at as usize).write(item) };
                *at += 1;
            }
        }
    };
    let tasks = parts.into_iter().zip(&mut counts);
    if threads > 1 {
        fork_join::map_on(threads, tasks.collect(), scatter);
    } else {
        tasks.for_each(scatter);
    }
    // SAFETY: every position was written.
    unsafe { memory.items.set_len(total) };
    let found = located.buckets.last().map_or(0, |bucket| bucket.end);
    memory.items.truncate(found as usize);
}

/// Where items go, from several threads.
struct Out(*mut Item);

// SAFETY: the tasks write to different positions.
unsafe impl Sync for Out {}
