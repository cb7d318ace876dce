//! Batches of commands that do nothing but destroy, mostly neighbours: found by runs of rows, not one by one.
//!
//! Nothing is to be merged there but the runs of each chunk. What is not so simple, because an entity is named twice or
//! does not lie in the world, or because rows come in no order, is left to the [general way](super::locate).

use rayon::prelude::*;
use smallvec::smallvec;

use crate::archetype::Row;
use crate::command::flush::locate::STEP;
use crate::command::flush::memory::Memory;
use crate::command::flush::merge::{Group, Work};
use crate::command::flush::net::Nets;
use crate::command::flush::ops::{FlushOp, Ops};
use crate::command::flush::{Piece, parallel};
use crate::command::lane::{Command, DESTROY, Lane};
use crate::entity::Entity;
use crate::world::World;

/// Neighbouring rows of a chunk whose entities die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    archetype: u32,
    chunk: u32,
    first: u32,
    count: u32,
}

impl Run {
    fn chunk(&self) -> (u32, u32) {
        (self.archetype, self.chunk)
    }
}

/// Commands in a run, on average, from which on runs are worth it; and so many shorter ones do no harm.
const LEAST: usize = 4;
const SHORT: usize = 16;

/// The works of a batch that only destroys; `None` if it is for the general way.
pub(super) fn cull(
    world: &World,
    lanes: &[&Lane],
    ops: &Ops<'_>,
    pieces: &[Piece],
    memory: &mut Memory,
) -> Option<Vec<Work>> {
    let commands = pieces.iter().flat_map(|piece| {
        let range = piece.commands.start as usize..piece.commands.end as usize;
        lanes[piece.lane].commands[range].chunks(STEP)
    });
    let tasks: Vec<&[Command]> = commands.collect();
    let total = tasks.iter().map(|commands| commands.len()).sum();
    let found: Option<Vec<Vec<Run>>> = if parallel(total) {
        tasks.par_iter().map(|task| runs(world, task)).collect()
    } else {
        tasks.iter().map(|task| runs(world, task)).collect()
    };
    let mut runs = found?.concat();
    if !runs.is_sorted() {
        runs.sort_unstable();
    }
    let apart = |pair: &[Run]| {
        let (one, next) = (&pair[0], &pair[1]);
        one.chunk() != next.chunk() || one.first + one.count <= next.first
    };
    if !runs.windows(2).all(apart) {
        return None;
    }
    let mut nets = Nets::new();
    let destroy = ops.first_of[pieces.first()?.lane] + DESTROY;
    debug_assert!(matches!(ops.all[destroy as usize], FlushOp::Destroy));
    let net = nets.step(0, destroy, &ops.all);
    memory.items.clear();
    memory.last.clear();
    memory.rows.clear();
    memory.rows.reserve(total);
    let works = runs.chunk_by(|a, b| a.chunk() == b.chunk()).map(|runs| {
        let first = memory.rows.len() as u32;
        for run in runs {
            memory.rows.extend(run.first..run.first + run.count);
        }
        Work {
            archetype: runs[0].archetype,
            chunk: runs[0].chunk,
            groups: smallvec![Group {
                net: nets.all[net as usize].clone(),
                first,
                count: memory.rows.len() as u32 - first,
                leaving: 0,
                uniform: true,
            }],
            handed: None,
        }
    });
    Some(works.collect())
}

/// The rows of the entities that commands destroy, in their order; `None` if one does not lie in the world, if
/// hardly any are neighbours, or if a command does something else.
fn runs(world: &World, commands: &[Command]) -> Option<Vec<Run>> {
    let mut runs = Vec::new();
    let mut at = 0;
    while let Some(command) = commands.get(at) {
        let (archetype, Row { chunk, row }) = world.locate(command.entity)?;
        let entities = world.archetypes[archetype as usize].chunks[chunk as usize].entities();
        let rows = entities[row as usize..].iter().zip(&commands[at..]);
        let dies = |(entity, command): &(&Entity, &Command)| {
            (**entity == command.entity) & (command.op == DESTROY)
        };
        let count = rows.take_while(dies).count();
        if count == 0 {
            return None;
        }
        runs.push(Run {
            archetype,
            chunk,
            first: row,
            count: count as u32,
        });
        at += count;
        if runs.len() > SHORT + at / LEAST {
            return None;
        }
    }
    Some(runs)
}
