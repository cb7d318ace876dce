//! The commands of a chunk become one net change for each of its entities.

use core::mem::MaybeUninit;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::command::flush::locate::{Bucket, Item};
use crate::command::flush::net::{Net, Nets};
use crate::command::flush::ops::Ops;
use crate::command::flush::work::{Group, Values, Work};
use crate::command::lane::NONE;

/// What a thread needs for merging, kept from chunk to chunk.
#[derive(Debug)]
pub(super) struct Scratch {
    nets: Nets,
    /// A bit for each row of the chunk that a command names; none between two chunks.
    named: Vec<u64>,
    /// What is known of those rows. What others say is of chunks before.
    rows: Vec<RowState>,
    /// Net change → group of the chunk at hand, or [`NONE`], as for all of them between two chunks.
    group_of: Vec<u32>,
    /// The net changes of the chunk at hand; none between two.
    met: Vec<u32>,
    /// For each group, where its next row goes.
    next: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct RowState {
    net: u32,
    /// The last command, or where its values lie.
    last: u32,
}

/// Of a row that no command has named yet.
const UNTOUCHED: RowState = RowState { net: 0, last: NONE };

impl Scratch {
    pub(super) fn new() -> Self {
        Self {
            nets: Nets::new(),
            named: Vec::new(),
            rows: Vec::new(),
            group_of: Vec::new(),
            met: Vec::new(),
            next: Vec::new(),
        }
    }

    /// What is known of a row, to be written; it counts as named from now on.
    #[inline(always)]
    fn name(&mut self, row: u32) -> &mut RowState {
        let (word, bit) = (row as usize / 64, 1 << (row % 64));
        let state = &mut self.rows[row as usize];
        if self.named[word] & bit == 0 {
            self.named[word] |= bit;
            *state = UNTOUCHED;
        }
        state
    }

    /// Visits the rows of a chunk with so many that were named, in order, with what is known of them.
    #[inline(always)]
    fn each_named(&self, len: u32, mut visit: impl FnMut(u32, RowState)) {
        let words = &self.named[..len.div_ceil(64) as usize];
        for (word, &named) in words.iter().enumerate() {
            let mut left = named;
            while left != 0 {
                let row = 64 * word as u32 + left.trailing_zeros();
                left &= left - 1;
                visit(row, self.rows[row as usize]);
            }
        }
    }
}

/// The commands of a chunk, and room for as many rows.
pub(super) struct Chunk<'a> {
    pub(super) bucket: Bucket,
    pub(super) items: &'a mut [Item],
    pub(super) rows: &'a mut [MaybeUninit<u32>],
    pub(super) last: &'a mut [MaybeUninit<u32>],
}

/// Merges the commands of a chunk with `len` entities: links the commands of each, and writes all of `rows`
/// and `last`.
pub(super) fn merge(scratch: &mut Scratch, ops: &Ops<'_>, chunk: Chunk<'_>, len: u32) -> Work {
    let Chunk {
        bucket,
        items,
        rows,
        last,
    } = chunk;
    let mut work = Work {
        archetype: bucket.archetype,
        chunk: bucket.chunk,
        groups: SmallVec::new(),
        handed: None,
    };
    let op = items[0].op;
    let net = scratch.nets.step(0, op, &ops.all);
    let group = |net: &Arc<Net>, values| Group {
        net: Arc::clone(net),
        first: bucket.first,
        count: 0,
        leaving: 0,
        values,
    };
    let is_one_op = items.iter().fold(true, |one, item| one & (item.op == op));
    let same = |item: &Item| ops.same_as[item.op as usize] == ops.same_as[op as usize];
    // All do the same, and done twice it is the same as done once.
    let is_one =
        (is_one_op || items.iter().all(same)) && scratch.nets.step(net, op, &ops.all) == net;
    let one = match is_one_op {
        true => Values::Each { op },
        false => Values::Commands,
    };
    if is_one && is_one_op && is_ascending(items) {
        // What a query records.
        for ((row, last), item) in rows.iter_mut().zip(last).zip(&*items) {
            row.write(item.row);
            last.write(item.at);
        }
        let mut group = group(&scratch.nets.all[net as usize], one);
        group.count = items.len() as u32;
        work.groups.push(group);
        return work;
    }
    if scratch.rows.len() < len as usize {
        scratch.rows.resize(len as usize, UNTOUCHED);
        scratch.named.resize(len.div_ceil(64) as usize, 0);
    }
    if is_one {
        // Each has all values: nobody asks for one before the last.
        for (item, at) in items.iter().zip(bucket.first..) {
            scratch.name(item.row).last = if is_one_op { item.at } else { at };
        }
        let mut count = 0;
        scratch.each_named(len, |row, state| {
            rows[count as usize].write(row);
            last[count as usize].write(state.last);
            count += 1;
        });
        let mut group = group(&scratch.nets.all[net as usize], one);
        group.count = count;
        work.groups.push(group);
    } else {
        for (item, at) in items.iter_mut().zip(bucket.first..) {
            let state = *scratch.name(item.row);
            item.before = state.last;
            let net = scratch.nets.step(state.net, item.op, &ops.all);
            scratch.rows[item.row as usize] = RowState { net, last: at };
        }
        // Groups, and how many rows each has.
        let mut group_of = core::mem::take(&mut scratch.group_of);
        let mut met = core::mem::take(&mut scratch.met);
        group_of.resize(scratch.nets.all.len(), NONE);
        scratch.each_named(len, |_, state| {
            let number = &mut group_of[state.net as usize];
            if *number == NONE {
                *number = work.groups.len() as u32;
                met.push(state.net);
                let net = &scratch.nets.all[state.net as usize];
                work.groups.push(group(net, Values::Commands));
            }
            work.groups[*number as usize].count += 1;
        });
        let mut next = core::mem::take(&mut scratch.next);
        let mut first = 0;
        for group in &mut work.groups {
            group.first = bucket.first + first;
            next.push(first);
            first += group.count;
        }
        scratch.each_named(len, |row, state| {
            let next = &mut next[group_of[state.net as usize] as usize];
            rows[*next as usize].write(row);
            last[*next as usize].write(state.last);
            *next += 1;
        });
        // There may be as many nets as chunks: only what this one has met is forgotten.
        for net in met.drain(..) {
            group_of[net as usize] = NONE;
        }
        next.clear();
        (scratch.group_of, scratch.met, scratch.next) = (group_of, met, next);
    }
    let named = len.div_ceil(64) as usize;
    scratch.named[..named].fill(0);
    // Several commands of one entity leave places over.
    let count: u32 = work.groups.iter().map(|group| group.count).sum();
    rows[count as usize..].fill(MaybeUninit::new(0));
    last[count as usize..].fill(MaybeUninit::new(NONE));
    work
}

/// Whether there is one command for each entity, in the order of rows.
fn is_ascending(items: &[Item]) -> bool {
    let pairs = items.windows(2);
    pairs.fold(true, |ascending, pair| {
        ascending & (pair[0].row < pair[1].row)
    })
}
