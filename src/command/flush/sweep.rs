//! Commands for neighbours, row after row as a query records them: found and merged by runs of rows, not one by one.
//!
//! A [`Run`] is commands that follow each other and do the same to neighbouring rows; or each of several commands that
//! come again and again, for one row after the other. Where the runs of a chunk begin
//! and end, its rows fall into stretches whose rows all got the same commands: what these are together is asked once for
//! each. The same net changes come out as by the general way, in the same order; of the commands only those whose
//! values arrive.
//!
//! What is not so simple, because an entity does not lie in the world, or because rows come in no order, is left to
//! the [general way](super::locate).

use core::mem::MaybeUninit;
use core::ops::Range;

use rayon::prelude::*;
use smallvec::SmallVec;

use crate::archetype::Row;
use crate::command::flush::locate::{Item, STEP};
use crate::command::flush::memory::Memory;
use crate::command::flush::merge::{Group, Values, Work};
use crate::command::flush::net::Nets;
use crate::command::flush::ops::{FlushOp, Ops};
use crate::command::flush::{Piece, parallel};
use crate::command::lane::{Command, Lane, NONE};
use crate::entity::Entity;
use crate::world::World;

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

/// Neighbouring rows of a chunk that got the same commands.
#[derive(Debug)]
struct Stretch {
    rows: Range<u32>,
    /// Which of the work's groups is theirs.
    group: u32,
    /// The runs whose values arrive, in the order of commands; none if the group says where the values are.
    live: SmallVec<[Run; 1]>,
}

/// A chunk's net changes, and what is to be written of them.
#[derive(Debug)]
struct Planned {
    work: Work,
    stretches: Vec<Stretch>,
    rows: usize,
    items: usize,
}

/// Commands in a run, on average, from which on runs are worth it; and so many shorter ones do no harm.
const LEAST: usize = 4;
const SHORT: usize = 16;

/// The works of a batch; `None` if it is for the general way.
pub(super) fn sweep(
    world: &World,
    lanes: &[&Lane],
    ops: &Ops<'_>,
    pieces: &[Piece],
    memory: &mut Memory,
) -> Option<Vec<Work>> {
    let tasks = pieces.iter().flat_map(|piece| {
        let range = piece.commands.start as usize..piece.commands.end as usize;
        let commands = &lanes[piece.lane].commands[range];
        let first_op = ops.first_of[piece.lane];
        commands.chunks(STEP).map(move |part| (part, first_op))
    });
    let tasks: Vec<(&[Command], u32)> = tasks.collect();
    let total = tasks.iter().map(|(commands, _)| commands.len()).sum();
    let find = |&(commands, first_op): &(&[Command], u32)| runs(world, ops, commands, first_op);
    let found: Option<Vec<Vec<Run>>> = if parallel(total) {
        tasks.par_iter().map(find).collect()
    } else {
        tasks.iter().map(find).collect()
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
    write(&planned, rows, items, memory);
    Some(planned.into_iter().map(|planned| planned.work).collect())
}

/// So many commands may be recorded for one entity before those for the next.
const MOST: usize = 16;

/// The runs of some commands, in their order; `None` if one's entity does not lie in the world, or if hardly any are
/// neighbours.
fn runs(world: &World, ops: &Ops<'_>, commands: &[Command], first_op: u32) -> Option<Vec<Run>> {
    let mut runs = Vec::new();
    let mut at = 0;
    while let Some(command) = commands.get(at) {
        let (archetype, Row { chunk, row }) = world.locate(command.entity)?;
        let entities = world.archetypes[archetype as usize].chunks[chunk as usize].entities();
        let entities = &entities[row as usize..];
        let left = &commands[at..];
        if entities.first() != Some(&command.entity) {
            return None;
        }
        let of_one = left.iter().take(MOST);
        let of_one = of_one.take_while(|next| next.entity == command.entity);
        let of_one = of_one.count();
        let run = |command: &Command, count, step| {
            let op = first_op + command.op;
            let has_values = ops.all[op as usize].has_values();
            Run {
                archetype,
                chunk,
                first: row,
                count,
                op,
                at: if has_values { command.row } else { 0 },
                step: if has_values { step } else { 0 },
            }
        };
        if of_one == 1 {
            let one = run(command, 1, 1);
            let count = follow(entities, left, one.step);
            runs.push(Run { count, ..one });
            at += count as usize;
        } else {
            let (first, others) = left.split_at(of_one);
            let steps: SmallVec<[u32; MOST]> = (first.iter().zip(others))
                .map(|(one, next)| run(one, 1, next.row.wrapping_sub(one.row)).step)
                .collect();
            let count = follow_several(entities, first, others, &steps);
            let step = |nth| if count > 1 { steps[nth] } else { 0 };
            let several = first.iter().enumerate();
            runs.extend(several.map(|(nth, one)| run(one, count, step(nth))));
            at += of_one * count as usize;
        }
        if runs.len() > SHORT + at / LEAST {
            return None;
        }
    }
    Some(runs)
}

/// How many commands do what the first one does to one row after the other, with values so far apart.
#[inline]
fn follow(entities: &[Entity], commands: &[Command], step: u32) -> u32 {
    let op = commands[0].op;
    let rows = entities.iter().zip(commands);
    let same = |(entity, next): &(&Entity, &Command)| (**entity == next.entity) & (next.op == op);
    let count = if step == 0 {
        rows.take_while(same).count()
    } else {
        let rows = rows.zip(commands[0].row..);
        rows.take_while(|&(pair, value)| same(&pair) & (pair.1.row == value))
            .count()
    };
    count as u32
}

/// How many rows, one after the other, get the commands that the first one gets: `others` are those that follow. Of
/// each command the values are so far apart from row to row; where that is 0 they do not matter.
#[inline]
fn follow_several(
    entities: &[Entity],
    first: &[Command],
    others: &[Command],
    steps: &[u32],
) -> u32 {
    let mut count = 1;
    let groups = entities[1..].iter().zip(others.chunks_exact(first.len()));
    for (entity, group) in groups {
        let pairs = first.iter().zip(group).zip(steps);
        let mut same = true;
        for ((one, next), &step) in pairs {
            let values = one.row.wrapping_add(step.wrapping_mul(count));
            same &= (next.entity == *entity)
                & (next.op == one.op)
                & ((step == 0) | (next.row == values));
        }
        if !same {
            break;
        }
        count += 1;
    }
    count
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

/// What the runs of a chunk are together; its rows come at `first` in the list of all. `None` if they come to so
/// many different changes that single commands are quicker.
fn plan(nets: &mut Nets, ops: &[FlushOp<'_>], runs: &[Run], first: u32) -> Option<Planned> {
    let commands: usize = runs.iter().map(|run| run.count as usize).sum();
    let borders = runs.iter().flat_map(|run| [run.first, run.end()]);
    let mut borders: SmallVec<[u32; 32]> = borders.collect();
    borders.sort_unstable();
    borders.dedup();
    let mut planned = Planned {
        work: Work {
            archetype: runs[0].archetype,
            chunk: runs[0].chunk,
            groups: SmallVec::new(),
            handed: None,
        },
        stretches: Vec::with_capacity(borders.len() - 1),
        rows: 0,
        items: 0,
    };
    // Of each group: its net change's number, and the op whose values arrive.
    let mut groups: SmallVec<[(u32, u32); 4]> = SmallVec::new();
    let mut by_first: SmallVec<[usize; 16]> = (0..runs.len()).collect();
    by_first.sort_by_key(|&run| runs[run].first);
    let mut coming = by_first.into_iter().peekable();
    // The runs that name the rows at hand, in their order.
    let mut active: SmallVec<[usize; 16]> = SmallVec::new();
    let mut looks = 0;
    for border in borders.windows(2) {
        let rows = border[0]..border[1];
        active.retain(|run| rows.start < runs[*run].end());
        while let Some(run) = coming.next_if(|&run| runs[run].first == rows.start) {
            active.insert(active.partition_point(|&other| other < run), run);
        }
        if active.is_empty() {
            continue;
        }
        // Each that is active has a command here. Only groups may be many.
        looks += groups.len();
        if looks > 64 + commands {
            return None;
        }
        let here = || active.iter().map(|&run| &runs[run]);
        let net = here().fold(0, |net, run| nets.step(net, run.op, ops));
        let live = live(&nets.all[net as usize].come, here().rev(), ops);
        let values = match live.as_slice() {
            [only] => Some(Values {
                op: only.op,
                at: only.values_of(rows.start),
                step: only.step,
            }),
            _ => None,
        };
        let op = values.map_or(NONE, |values| values.op);
        let group = groups.iter().position(|&(known, _)| known == net);
        let group = group.unwrap_or_else(|| {
            groups.push((net, op));
            planned.work.groups.push(Group {
                net: nets.all[net as usize].clone(),
                first: 0,
                count: 0,
                leaving: 0,
                uniform: true,
                values,
            });
            groups.len() - 1
        });
        let to = &mut planned.work.groups[group];
        to.uniform &= op != NONE && op == groups[group].1;
        // Those of the stretches before go on here, or each row is to say where its own are.
        to.values = to.values.filter(|before| {
            let at = before.at.wrapping_add(to.count.wrapping_mul(before.step));
            values == Some(Values { at, ..*before })
        });
        to.count += rows.len() as u32;
        planned.rows += rows.len();
        planned.stretches.push(Stretch {
            rows,
            group: group as u32,
            live,
        });
    }
    let mut next = first;
    for group in &mut planned.work.groups {
        group.first = next;
        next += group.count;
    }
    for stretch in &mut planned.stretches {
        if planned.work.groups[stretch.group as usize].values.is_some() {
            stretch.live.clear();
        }
        planned.items += stretch.rows.len() * stretch.live.len();
    }
    Some(planned)
}

/// Those of some runs, the last one first, whose values arrive: for each fragment that comes the last one that has it.
/// In the order of commands.
fn live<'r>(
    come: &[crate::fragment::FragmentId],
    runs: impl Iterator<Item = &'r Run> + Clone,
    ops: &[FlushOp<'_>],
) -> SmallVec<[Run; 1]> {
    let mut found: SmallVec<[(usize, Run); 2]> = SmallVec::new();
    for &id in come {
        let mut runs = runs.clone().enumerate();
        let last = runs.find(|(_, run)| ops[run.op as usize].column(id).is_some());
        if let Some((at, run)) = last
            && !found.iter().any(|&(known, _)| known == at)
        {
            found.push((at, *run));
        }
    }
    found.sort_unstable_by_key(|&(at, _)| core::cmp::Reverse(at));
    found.into_iter().map(|(_, run)| run).collect()
}

/// Writes rows and commands.
fn write(planned: &[Planned], rows: usize, items: usize, memory: &mut Memory) {
    // If no row has a last command, no list is needed that says so.
    let lasts = if items > 0 { rows } else { 0 };
    memory.rows.clear();
    memory.last.clear();
    memory.items.clear();
    memory.rows.reserve(rows);
    memory.last.reserve(lasts);
    memory.items.reserve(items);
    let mut tasks = Vec::with_capacity(planned.len());
    {
        let mut rows = &mut memory.rows.spare_capacity_mut()[..rows];
        let mut last = &mut memory.last.spare_capacity_mut()[..lasts];
        let mut items = &mut memory.items.spare_capacity_mut()[..items];
        let (mut first_row, mut first_item) = (0, 0);
        for planned in planned {
            let (rows_here, rows_after) = rows.split_at_mut(planned.rows);
            let (last_here, last_after) = last.split_at_mut(planned.rows.min(lasts));
            let (items_here, items_after) = items.split_at_mut(planned.items);
            (rows, last, items) = (rows_after, last_after, items_after);
            tasks.push(Writing {
                planned,
                rows: rows_here,
                last: last_here,
                items: items_here,
                first_row,
                first_item,
            });
            first_row += planned.rows as u32;
            first_item += planned.items as u32;
        }
    }
    if parallel(rows) {
        tasks.into_par_iter().for_each(Writing::run);
    } else {
        tasks.into_iter().for_each(Writing::run);
    }
    // SAFETY: each chunk's share was written.
    unsafe {
        memory.rows.set_len(rows);
        memory.last.set_len(lasts);
        memory.items.set_len(items);
    }
}

/// A chunk's rows and commands, where they go, and the numbers of the first of each.
struct Writing<'a> {
    planned: &'a Planned,
    rows: &'a mut [MaybeUninit<u32>],
    last: &'a mut [MaybeUninit<u32>],
    items: &'a mut [MaybeUninit<Item>],
    first_row: u32,
    first_item: u32,
}

impl Writing<'_> {
    /// Writes all of `rows`, `last` and `items`.
    fn run(self) {
        let groups = self.planned.work.groups.iter();
        let mut next: SmallVec<[usize; 4]> = groups
            .map(|group| (group.first - self.first_row) as usize)
            .collect();
        let mut items = self.items;
        let mut number = self.first_item;
        for stretch in &self.planned.stretches {
            let count = stretch.rows.len();
            let next = &mut next[stretch.group as usize];
            let to = *next..*next + count;
            *next = to.end;
            for (to, row) in self.rows[to.clone()].iter_mut().zip(stretch.rows.clone()) {
                to.write(row);
            }
            let mut before = NONE;
            for run in &stretch.live {
                let (here, after) = items.split_at_mut(count);
                items = after;
                for ((item, row), nth) in here.iter_mut().zip(stretch.rows.clone()).zip(0..) {
                    item.write(Item {
                        row,
                        op: run.op,
                        at: run.values_of(row),
                        before: if before == NONE { NONE } else { before + nth },
                    });
                }
                before = number;
                number += count as u32;
            }
            let last = self.last.get_mut(to).unwrap_or_default();
            for (to, nth) in last.iter_mut().zip(0..) {
                to.write(if before == NONE { NONE } else { before + nth });
            }
        }
    }
}
