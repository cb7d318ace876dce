//! Commands for neighbours, row after row as a query records them: found and merged by runs of rows, not one by one.
//!
//! A [`Run`] is commands that follow each other and do the same to neighbouring rows; or each of several commands that
//! come again and again, for one row after the other. Where the runs of a chunk begin
//! and end, its rows fall into stretches whose rows all got the same commands: what these are together is asked once for
//! each. The same net changes come out as by the general way, in the same order; of the commands only those whose
//! values arrive.
//!
//! What is not so simple, because an entity does not lie in the world, or because rows come in no order, is left to
//! the [general way](mod@super::locate).

mod find;
mod plan;
mod write;

use crate::command::flush::memory::Memory;
use crate::command::flush::net::Nets;
use crate::command::flush::ops::Ops;
use crate::command::flush::work::Work;
use crate::command::flush::{Cost, Part};
use crate::workers::fork_join;
use crate::world::World;
use find::runs;
use plan::{Planned, plan};
use write::write;

/// Commands that do the same to neighbouring rows of a chunk.
#[derive(Clone, Copy, Debug)]
struct Run {
    archetype: u32,
    chunk: u32,
    first: u32,
    count: u32,
    /// The common number of what they do.
    op: u32,
    /// The row of the first one's values, if they have any; and how far from there those of the next one are.
    at: u32,
    step: u32,
}

impl Run {
    fn chunk(&self) -> (u32, u32) {
        (self.archetype, self.chunk)
    }

    fn end(&self) -> u32 {
        self.first + self.count
    }

    /// Whether another run goes on where this one ends.
    fn goes_on_in(&self, next: &Self) -> bool {
        let begins = (
            self.chunk(),
            self.end(),
            self.op,
            self.values_of(self.end()),
        );
        begins == (next.chunk(), next.first, next.op, next.at) && self.step == next.step
    }

    /// The row of the values for a row of the chunk, one of the run's or the next.
    fn values_of(&self, row: u32) -> u32 {
        self.at
            .wrapping_add((row - self.first).wrapping_mul(self.step))
    }
}

/// The works of a batch; `None` if it is for the general way.
pub(super) fn sweep(
    world: &World,
    ops: &Ops<'_>,
    parts: &[Part<'_>],
    memory: &mut Memory,
) -> Option<Vec<Work>> {
    let total = parts.iter().map(|part| part.log.words.len()).sum();
    let find = |part: &Part<'_>| runs(world, ops, part);
    let threads = world.flush_threads(total, Cost::Low);
    let found: Option<Vec<Vec<Run>>> = if threads > 1 {
        let found = fork_join::map_on(threads, parts.iter().collect(), find);
        found.into_iter().collect()
    } else {
        parts.iter().map(find).collect()
    };
    let runs = in_chunks(found?);
    let mut nets = Nets::new();
    let (mut rows, mut items) = (0, 0);
    let chunks = runs.chunk_by(|a, b| a.chunk() == b.chunk());
    let planned: Option<Vec<Planned>> = chunks
        .map(|runs| {
            let planned = plan(&mut nets, &ops.all, runs, rows as u32)?;
            rows += planned.rows;
            items += planned.items;
            Some(planned)
        })
        .collect();
    let planned = planned?;
    write(&planned, rows, items, threads, memory);
    Some(planned.into_iter().map(|planned| planned.work).collect())
}

/// All runs, those of a chunk side by side, in their order; chunks in the order of the world.
fn in_chunks(found: Vec<Vec<Run>>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::with_capacity(found.iter().map(Vec::len).sum());
    for run in found.into_iter().flatten() {
        match runs.last_mut() {
            // It was another task's.
            Some(last) if last.goes_on_in(&run) => last.count += run.count,
            _ => runs.push(run),
        }
    }
    if !runs.is_sorted_by_key(Run::chunk) {
        runs.sort_by_key(Run::chunk);
    }
    runs
}
