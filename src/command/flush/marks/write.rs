//! Rows that were named are written for the steps that follow, chunk by chunk.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::command::flush::locate::Item;
use crate::command::flush::marks::rows::{Numbered, Rows};
use crate::command::flush::marks::share::Share;
use crate::command::flush::marks::{Kept, ROW_BITS};
use crate::command::flush::memory::{Entries, Memory, Room};
use crate::command::flush::net::Net;
use crate::command::flush::work::{Group, Values, Work};
use crate::command::lane::NONE;
use crate::sync::geometry::WORD_BITS;
use crate::workers::fork_join;

/// Writes the rows that are named, chunk by chunk.
pub(super) struct Writer<'a> {
    pub(super) shares: &'a [Share],
    /// The ops that have values which are numbered.
    pub(super) known: &'a [u32],
    pub(super) kept: Kept,
    pub(super) op: u32,
    /// So many threads write.
    pub(super) threads: usize,
}

/// Where the rows of a chunk go, and the number of the first.
struct Task<'m> {
    numbered: Numbered,
    room: Room<'m>,
    first: u32,
}

impl Writer<'_> {
    /// Where the values of a chunk's rows lie.
    fn values(&self, chunk: Numbered) -> Values {
        let op = self.op;
        match self.kept {
            Kept::Values { .. } => Values::Kept {
                op,
                first: chunk.begin,
            },
            _ if self.known.len() > 1 => Values::Commands,
            _ => Values::Each { op },
        }
    }

    /// The bits of a word of rows.
    #[inline(always)]
    fn named(&self, word: usize) -> u64 {
        self.shares
            .iter()
            .fold(0, |named, share| named | share.named[word])
    }

    /// Where the values of a row lie that is named.
    #[inline(always)]
    fn number(&self, row: usize) -> u32 {
        if let [only] = self.shares {
            return only.numbers[row];
        }
        let (word, bit) = (row / WORD_BITS as usize, row as u32 % WORD_BITS);
        // Whose it is nobody foresees: no branch.
        let last = |value, share: &Share| match share.named[word] >> bit & 1 {
            0 => value,
            _ => share.numbers[row],
        };
        self.shares.iter().fold(NONE, last)
    }

    /// Writes all, and says what is to be done with it.
    pub(super) fn all(&self, rows: &Rows<'_>, net: &Arc<Net>, memory: &mut Memory) -> Vec<Work> {
        let words = |numbered: &Numbered| {
            let first = numbered.begin as usize / WORD_BITS as usize;
            first..first + numbered.len.div_ceil(WORD_BITS) as usize
        };
        let mut works = Vec::new();
        let mut total = 0;
        let mut named = Vec::new();
        for &numbered in &rows.chunks {
            let count = words(&numbered)
                .map(|word| self.named(word).count_ones())
                .sum();
            if count == 0 {
                continue;
            }
            works.push(Work {
                archetype: numbered.archetype,
                chunk: numbered.chunk,
                groups: SmallVec::from_iter([Group {
                    net: Arc::clone(net),
                    first: total as u32,
                    count,
                    leaving: 0,
                    values: self.values(numbered),
                }]),
                handed: None,
            });
            named.push(numbered);
            total += count as usize;
        }
        let lasts = if self.known.is_empty() { 0 } else { total };
        let items = if self.known.len() > 1 { total } else { 0 };
        // Of some of the rows, as of all of them.
        let entries = |rows: usize| Entries {
            rows,
            last: rows.min(lasts),
            items: rows.min(items),
        };
        let write = |mut room: Room<'_>| {
            let tasks = named.iter().zip(&works).map(|(&numbered, work)| {
                let Group { first, count, .. } = work.groups[0];
                Task {
                    numbered,
                    room: room.take(entries(count as usize)),
                    first,
                }
            });
            let tasks: Vec<_> = tasks.collect();
            if self.threads > 1 {
                fork_join::map_on(self.threads, tasks, |task| self.write(task));
            } else {
                tasks.into_iter().for_each(|task| self.write(task));
            }
        };
        // SAFETY: each chunk's task writes the room of its rows, and chunks have all rows.
        unsafe { memory.rewrite(entries(total), write) };
        works
    }

    /// Writes all that goes where a task says.
    fn write(&self, task: Task<'_>) {
        let Numbered { begin, len, .. } = task.numbered;
        let room = task.room;
        let mut to = 0;
        for first in (0..len).step_by(WORD_BITS as usize) {
            let mut left = self.named((begin + first) as usize / WORD_BITS as usize);
            while left != 0 {
                let row = first + left.trailing_zeros();
                left &= left - 1;
                room.rows[to].write(row);
                if let Some(last) = room.last.get_mut(to) {
                    let number = self.number((begin + row) as usize);
                    let at = number & ((1 << ROW_BITS) - 1);
                    if let Some(item) = room.items.get_mut(to) {
                        item.write(Item {
                            row,
                            op: self.known[(number >> ROW_BITS) as usize],
                            at,
                            before: NONE,
                        });
                        last.write(task.first + to as u32);
                    } else {
                        last.write(at);
                    }
                }
                to += 1;
            }
        }
        debug_assert_eq!(to, room.rows.len(), "as many rows as were counted");
    }
}
