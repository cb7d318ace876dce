//! Commands are brought to their entities' chunks, in order within each.

use rayon::prelude::*;

use crate::archetype::Row;
use crate::command::flush::{Piece, parallel};
use crate::command::lane::{Command, Lane};
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

/// What comes out.
#[derive(Debug, Default)]
pub(super) struct Located {
    pub(super) items: Vec<Item>,
    pub(super) buckets: Vec<Bucket>,
    /// Commands whose entity does not lie in the world: what is to be done, to which entity.
    pub(super) lost: Vec<(u32, Entity)>,
}

/// Neighbouring commands of a lane, and the number of its first op.
type Slice<'l> = (&'l [Command], u32);
/// Slices, and where their commands' entities lie.
type Part<'a, 'l> = (&'a [Slice<'l>], &'a [There]);

/// "In no chunk."
const NOWHERE: u32 = u32::MAX;
/// Commands that one task looks up.
const STEP: usize = 8_192;

/// Where a command's entity lies: the chunk's number among all of the world, and the row.
#[derive(Clone, Copy, Debug)]
struct There {
    chunk: u32,
    row: u32,
}

/// Finds the chunk of each command of `pieces`, in order.
pub(super) fn locate(
    world: &World,
    lanes: &[&Lane],
    first_of: &[u32],
    pieces: &[Piece],
) -> Located {
    let total: usize = pieces.iter().map(|piece| piece.commands.len()).sum();
    // Chunks under one number each.
    let mut first_chunk = Vec::with_capacity(world.archetypes.len());
    let mut chunks = 0_u32;
    for archetype in &world.archetypes {
        first_chunk.push(chunks);
        chunks += archetype.chunks.len() as u32;
    }
    // What each task looks up, and where it puts what it finds.
    let mut there = vec![
        There {
            chunk: NOWHERE,
            row: 0
        };
        total
    ];
    let mut tasks = Vec::with_capacity(total / STEP + pieces.len());
    {
        let mut rest = there.as_mut_slice();
        for piece in pieces {
            let lane = lanes[piece.lane];
            let commands =
                &lane.commands[piece.commands.start as usize..piece.commands.end as usize];
            for commands in commands.chunks(STEP) {
                let (out, after) = rest.split_at_mut(commands.len());
                rest = after;
                tasks.push((commands, first_of[piece.lane], out));
            }
        }
    }
    let look = |(commands, _, out): &mut (&[Command], u32, &mut [There])| {
        let mut lost = 0;
        for (command, out) in commands.iter().zip(out.iter_mut()) {
            match world.locate(command.entity) {
                Some((archetype, Row { chunk, row })) => {
                    *out = There {
                        chunk: first_chunk[archetype as usize] + chunk,
                        row,
                    };
                }
                None => lost += 1,
            }
        }
        lost
    };
    let missing: usize = if parallel(total) {
        tasks.par_iter_mut().map(look).sum()
    } else {
        tasks.iter_mut().map(look).sum()
    };
    let mut located = Located::default();
    let commands = tasks
        .into_iter()
        .map(|(commands, first, _)| (commands, first));
    let commands: Vec<Slice<'_>> = commands.collect();
    if missing > 0 {
        located.lost = lost(&commands, &there);
    }
    if total < chunks as usize / 4 {
        by_sorting(&mut located, &commands, &there);
    } else {
        by_counting(&mut located, &commands, &there, chunks as usize);
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
fn lost(commands: &[Slice<'_>], there: &[There]) -> Vec<(u32, Entity)> {
    let all = commands
        .iter()
        .flat_map(|(commands, first)| commands.iter().map(move |command| (command, first)));
    let lost = all.zip(there).filter(|(_, there)| there.chunk == NOWHERE);
    lost.map(|((command, first), _)| (first + command.op, command.entity))
        .collect()
}

fn item(command: &Command, first_op: u32, there: There) -> Item {
    Item {
        row: there.row,
        op: first_op + command.op,
        at: command.row,
        before: NOWHERE,
    }
}

/// Few commands in many chunks.
fn by_sorting(located: &mut Located, commands: &[Slice<'_>], there: &[There]) {
    let all = commands
        .iter()
        .flat_map(|(commands, first)| commands.iter().map(move |command| (command, *first)));
    let found = all.zip(there).filter(|(_, there)| there.chunk != NOWHERE);
    let mut sorted: Vec<(u32, Item)> = found
        .map(|((command, first), &there)| (there.chunk, item(command, first, there)))
        .collect();
    // Stable: the order within a chunk stays.
    sorted.sort_by_key(|&(chunk, _)| chunk);
    for (chunk, item) in sorted {
        let at = located.items.len() as u32;
        located.items.push(item);
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
fn by_counting(located: &mut Located, commands: &[Slice<'_>], there: &[There], chunks: usize) {
    let threads = if parallel(there.len()) {
        rayon::current_num_threads().min(16)
    } else {
        1
    };
    // Each part is a range of the slices, of about as many commands as the others.
    let per_part = there.len().div_ceil(threads).max(1);
    let mut parts: Vec<Part<'_, '_>> = Vec::with_capacity(threads);
    let (mut rest, mut where_rest) = (commands, there);
    while !rest.is_empty() {
        let (mut slices, mut count) = (0, 0);
        while slices < rest.len() && count < per_part {
            count += rest[slices].0.len();
            slices += 1;
        }
        let (part, after) = rest.split_at(slices);
        let (where_part, where_after) = where_rest.split_at(count);
        parts.push((part, where_part));
        (rest, where_rest) = (after, where_after);
    }
    let count = |(_, there): &Part<'_, '_>| {
        let mut counts = vec![0_u32; chunks];
        for there in *there {
            if there.chunk != NOWHERE {
                counts[there.chunk as usize] += 1;
            }
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
    for chunk in 0..chunks {
        let first = next;
        for counts in &mut counts {
            next += core::mem::replace(&mut counts[chunk], next);
        }
        if next > first {
            located.buckets.push(Bucket {
                archetype: 0,
                chunk: chunk as u32,
                first,
                end: next,
            });
        }
    }
    let mut items: Vec<Item> = Vec::with_capacity(next as usize);
    let out = Out(items.as_mut_ptr());
    let scatter = |(part, counts): (Part<'_, '_>, &mut Vec<u32>)| {
        let out = &out;
        let (slices, mut there) = part;
        for (commands, first) in slices {
            let (here, after) = there.split_at(commands.len());
            there = after;
            for (command, &there) in commands.iter().zip(here) {
                if there.chunk != NOWHERE {
                    let at = &mut counts[there.chunk as usize];
                    // SAFETY: below `next`, and no other command has this position.
                    unsafe { out.0.add(*at as usize).write(item(command, *first, there)) };
                    *at += 1;
                }
            }
        }
    };
    if threads > 1 {
        parts.into_par_iter().zip(&mut counts).for_each(scatter);
    } else {
        parts.into_iter().zip(&mut counts).for_each(scatter);
    }
    // SAFETY: every position below `next` was written.
    unsafe { items.set_len(next as usize) };
    located.items = items;
}

/// Where items go, from several threads.
struct Out(*mut Item);

// SAFETY: the tasks write to different positions.
unsafe impl Sync for Out {}
