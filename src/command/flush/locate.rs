//! Commands are brought to their entities' chunks, in order within each.

use core::mem::MaybeUninit;

use rayon::prelude::*;

use crate::archetype::{Finder, Row};
use crate::command::flush::memory::Memory;
use crate::command::flush::ops::Ops;
use crate::command::flush::{Part, parallel};
use crate::entity::Entity;
use crate::world::World;

/// A command at its entity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) row: u32,
    pub(super) op: u32,
    /// The row of its payload.
    pub(super) at: u32,
    /// The command before it for the same entity, as [`merge`](super::merge) links them.
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
    /// Commands whose entity does not lie in the world: what is to be done, to which entity.
    pub(super) lost: Vec<(u32, Entity)>,
}

/// "In no chunk."
const NOWHERE: u32 = u32::MAX;
/// So many commands ahead memory is asked for.
const AHEAD: usize = 16;

/// What one task looks up, and where it puts what it finds.
struct Task<'a> {
    part: &'a Part<'a>,
    items: &'a mut [MaybeUninit<Item>],
    chunks: &'a mut [MaybeUninit<u32>],
}

/// What it has found.
struct Found {
    lost: usize,
    /// Where commands of another chunk begin, if chunks come in order.
    starts: Option<Vec<(u32, u32)>>,
}

/// Where the last entity lies, if the one before lies in the same chunk: then the next one is likely to be its
/// neighbour. The handle there says so, without a look into the index.
#[derive(Default)]
struct Near<'w> {
    entities: &'w [Entity],
    row: u32,
}

impl Near<'_> {
    #[inline(always)]
    fn find(&mut self, entity: Entity) -> Option<u32> {
        if self.entities.get(self.row as usize + 1) != Some(&entity) {
            return None;
        }
        self.row += 1;
        Some(self.row)
    }
}

/// Looks entities up, one after the other.
struct LookUp<'w> {
    world: &'w World,
    finder: Finder<'w>,
    first_chunk: &'w [u32],
    near: Near<'w>,
    /// The last one's chunk.
    last: u32,
}

impl LookUp<'_> {
    /// The chunk, by number, and the row of an entity. The one that is named with it comes somewhat later, and is likely
    /// to lie anywhere: what it takes to find it is asked for.
    #[inline(always)]
    fn find(&mut self, entity: Entity, later: Option<&Entity>) -> (u32, u32) {
        if let Some(row) = self.near.find(entity) {
            return (self.last, row);
        }
        if let Some(&later) = later {
            self.finder.expect(later);
        }
        self.near = Near::default();
        let Some((archetype, Row { chunk, row })) = self.finder.find(entity) else {
            self.last = NOWHERE;
            return (NOWHERE, 0);
        };
        let number = self.first_chunk[archetype as usize] + chunk;
        if number == self.last {
            let chunk = &self.world.archetypes[archetype as usize].chunks[chunk as usize];
            let entities = chunk.entities();
            self.near = Near { entities, row };
        }
        self.last = number;
        (number, row)
    }
}

impl Task<'_> {
    fn run(&mut self, world: &World, ops: &Ops<'_>, first_chunk: &[u32]) -> Found {
        let mut lost = 0;
        let mut starts = Some(Vec::new());
        let mut last = NOWHERE;
        let mut look_up = LookUp {
            world,
            finder: world.finder(),
            first_chunk,
            near: Near::default(),
            last: NOWHERE,
        };
        let mut rows = self.part.rows();
        let entities = self.part.log.entities;
        let mut next = 0;
        let (mut chunk, mut row) = (NOWHERE, 0);
        let out = self.items.iter_mut().zip(self.chunks.iter_mut());
        for ((&word, (item, to)), at) in self.part.log.words.iter().zip(out).zip(0..) {
            if word.is_for_another() {
                (chunk, row) = look_up.find(entities[next], entities.get(next + AHEAD));
                next += 1;
                if chunk != last {
                    match &mut starts {
                        Some(list) if last == NOWHERE || chunk > last => list.push((chunk, at)),
                        _ => starts = None,
                    }
                    last = chunk;
                }
            }
            lost += usize::from(chunk == NOWHERE);
            to.write(chunk);
            let op = self.part.op(word);
            item.write(Item {
                row,
                op,
                at: rows.take(ops.payload_of[op as usize]),
                before: NOWHERE,
            });
        }
        Found { lost, starts }
    }
}

/// Finds the chunk of each command, in order, and puts them into `memory.items`.
pub(super) fn locate(
    world: &World,
    ops: &Ops<'_>,
    parts: &[Part<'_>],
    memory: &mut Memory,
) -> Located {
    let total: usize = parts.iter().map(|part| part.log.words.len()).sum();
    // Chunks under one number each.
    let mut first_chunk = Vec::with_capacity(world.archetypes.len());
    let mut chunks = 0_u32;
    for archetype in &world.archetypes {
        first_chunk.push(chunks);
        chunks += archetype.chunks.len() as u32;
    }
    memory.recorded.clear();
    memory.recorded.reserve(total);
    memory.chunks.clear();
    memory.chunks.reserve(total);
    let mut tasks = Vec::with_capacity(parts.len());
    {
        let mut items = &mut memory.recorded.spare_capacity_mut()[..total];
        let mut chunks = &mut memory.chunks.spare_capacity_mut()[..total];
        for part in parts {
            let count = part.log.words.len();
            let (items_here, items_after) = items.split_at_mut(count);
            let (chunks_here, chunks_after) = chunks.split_at_mut(count);
            (items, chunks) = (items_after, chunks_after);
            tasks.push(Task {
                part,
                items: items_here,
                chunks: chunks_here,
            });
        }
    }
    let look = |task: &mut Task<'_>| task.run(world, ops, &first_chunk);
    let found: Vec<Found> = if parallel(total) {
        tasks.par_iter_mut().map(look).collect()
    } else {
        tasks.iter_mut().map(look).collect()
    };
    let sizes = tasks.iter().map(|task| task.items.len() as u32);
    let sizes: Vec<u32> = sizes.collect();
    // SAFETY: the tasks have written every entry.
    unsafe {
        memory.recorded.set_len(total);
        memory.chunks.set_len(total);
    }
    let mut located = Located::default();
    if found.iter().any(|found| found.lost > 0) {
        located.lost = lost(parts, memory);
    }
    if !in_order(&mut located, &found, &sizes, memory) {
        if total < chunks as usize / 4 {
            by_sorting(&mut located, memory);
        } else {
            by_counting(&mut located, memory, chunks as usize);
        }
    }
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

/// The commands that have lost their entities, in order.
fn lost(parts: &[Part<'_>], memory: &Memory) -> Vec<(u32, Entity)> {
    let commands = parts.iter().flat_map(|part| part.log.commands());
    let found = memory.recorded.iter().zip(&memory.chunks);
    let lost = commands
        .zip(found)
        .filter(|(_, (_, chunk))| **chunk == NOWHERE);
    lost.map(|((entity, _), (item, _))| (item.op, entity))
        .collect()
}

/// If commands were recorded in the order of chunks, as a query does it, they are where they belong.
fn in_order(located: &mut Located, found: &[Found], sizes: &[u32], memory: &mut Memory) -> bool {
    let mut first = 0;
    for (found, size) in found.iter().zip(sizes) {
        let Found {
            lost: 0,
            starts: Some(starts),
        } = found
        else {
            located.buckets.clear();
            return false;
        };
        for &(chunk, at) in starts {
            match located.buckets.last_mut() {
                Some(last) if last.chunk == chunk => continue,
                Some(last) if last.chunk > chunk => {
                    located.buckets.clear();
                    return false;
                }
                Some(last) => last.end = first + at,
                None => {}
            }
            located.buckets.push(Bucket {
                archetype: 0,
                chunk,
                first: first + at,
                end: 0,
            });
        }
        first += size;
    }
    if let Some(last) = located.buckets.last_mut() {
        last.end = first;
    }
    core::mem::swap(&mut memory.items, &mut memory.recorded);
    true
}

/// Few commands in many chunks.
fn by_sorting(located: &mut Located, memory: &mut Memory) {
    let found = memory.chunks.iter().zip(0_u32..);
    let found = found.filter(|(chunk, _)| **chunk != NOWHERE);
    // With its position, each is different: the order within a chunk stays.
    let mut sorted: Vec<(u32, u32)> = found.map(|(&chunk, at)| (chunk, at)).collect();
    sorted.sort_unstable();
    memory.items.clear();
    for (chunk, from) in sorted {
        let at = memory.items.len() as u32;
        memory.items.push(memory.recorded[from as usize]);
        match located.buckets.last_mut() {
            Some(bucket) if bucket.chunk == chunk => bucket.end = at + 1,
            _ => located.buckets.push(Bucket {
                archetype: 0,
                chunk,
                first: at,
                end: at + 1,
            }),
        }
    }
}

/// Many commands: a counting sort, in as many parts as there are threads.
fn by_counting(located: &mut Located, memory: &mut Memory, chunks: usize) {
    let total = memory.chunks.len();
    let threads = if parallel(total) {
        rayon::current_num_threads().min(16)
    } else {
        1
    };
    let per_part = total.div_ceil(threads).max(1);
    let parts = memory.chunks.chunks(per_part);
    let parts: Vec<(&[u32], &[Item])> = parts.zip(memory.recorded.chunks(per_part)).collect();
    let count = |(there, _): &(&[u32], &[Item])| {
        // The last counts those that are nowhere.
        let mut counts = vec![0_u32; chunks + 1];
        for &chunk in *there {
            counts[(chunk as usize).min(chunks)] += 1;
        }
        counts
    };
    let mut counts: Vec<Vec<u32>> = if threads > 1 {
        parts.par_iter().map(count).collect()
    } else {
        parts.iter().map(count).collect()
    };
    // Counts become the positions where each part puts its next command of each chunk.
    let mut next = 0;
    for chunk in 0..=chunks {
        let first = next;
        for counts in &mut counts {
            next += core::mem::replace(&mut counts[chunk], next);
        }
        if next > first && chunk < chunks {
            located.buckets.push(Bucket {
                archetype: 0,
                chunk: chunk as u32,
                first,
                end: next,
            });
        }
    }
    memory.items.clear();
    memory.items.reserve(total);
    let out = Out(memory.items.as_mut_ptr());
    let scatter = |((there, items), counts): ((&[u32], &[Item]), &mut Vec<u32>)| {
        let out = &out;
        for (&chunk, &item) in there.iter().zip(items) {
            let at = &mut counts[(chunk as usize).min(chunks)];
            // SAFETY: below `total`, and no other command has this position.
            unsafe { out.0.add(*at as usize).write(item) };
            *at += 1;
        }
    };
    if threads > 1 {
        parts.into_par_iter().zip(&mut counts).for_each(scatter);
    } else {
        parts.into_iter().zip(&mut counts).for_each(scatter);
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
