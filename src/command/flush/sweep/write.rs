//! Rows, and the commands whose values arrive, are written for the steps that follow.

use smallvec::SmallVec;

use crate::command::flush::locate::Item;
use crate::command::flush::memory::{Entries, Memory, Room};
use crate::command::flush::sweep::plan::Planned;
use crate::command::flush::work::Values;
use crate::command::lane::NONE;
use crate::workers::fork_join;

/// Writes rows and commands, on several threads or on one.
pub(super) fn write(
    planned: &[Planned],
    rows: usize,
    items: usize,
    threads: usize,
    memory: &mut Memory,
) {
    let listed = planned.iter().any(|planned| planned.listed);
    let lasts = if listed { rows } else { 0 };
    let entries = |rows: usize, items: usize| Entries {
        rows,
        last: rows.min(lasts),
        items,
    };
    let write = |mut room: Room<'_>| {
        let (mut first_row, mut first_item) = (0, 0);
        let tasks = planned.iter().map(|planned| {
            let task = Writing {
                planned,
                room: room.take(entries(planned.rows, planned.items)),
                first_row,
                first_item,
            };
            first_row += planned.rows as u32;
            first_item += planned.items as u32;
            task
        });
        let tasks: Vec<_> = tasks.collect();
        if threads > 1 {
            fork_join::map_on(threads, tasks, Writing::run);
        } else {
            tasks.into_iter().for_each(Writing::run);
        }
    };
    // SAFETY: each chunk's task writes the room of its rows and commands, and chunks have all of them.
    unsafe { memory.rewrite(entries(rows, items), write) };
}

/// A chunk's rows and commands, where they go, and the numbers of the first of each.
struct Writing<'a> {
    planned: &'a Planned,
    room: Room<'a>,
    first_row: u32,
    first_item: u32,
}

impl Writing<'_> {
    /// Writes all of the room.
    fn run(self) {
        let groups = self.planned.work.groups.iter();
        let mut next: SmallVec<[usize; 4]> = groups
            .map(|group| (group.first - self.first_row) as usize)
            .collect();
        let mut items = self.room.items;
        let mut number = self.first_item;
        for stretch in &self.planned.stretches {
            let count = stretch.rows.len();
            let next = &mut next[stretch.group as usize];
            let to = *next..*next + count;
            *next = to.end;
            for (to, row) in self.room.rows[to.clone()]
                .iter_mut()
                .zip(stretch.rows.clone())
            {
                to.write(row);
            }
            let last = self.room.last.get_mut(to).unwrap_or_default();
            let group = &self.planned.work.groups[stretch.group as usize];
            if let (Values::Each { .. }, [run]) = (group.values, stretch.live.as_slice()) {
                for (to, row) in last.iter_mut().zip(stretch.rows.clone()) {
                    to.write(run.values_of(row));
                }
                continue;
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
            for (to, nth) in last.iter_mut().zip(0..) {
                to.write(if before == NONE { NONE } else { before + nth });
            }
        }
    }
}
