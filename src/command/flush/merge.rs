//! The commands of a chunk become one net change for each of its entities.

use core::mem::MaybeUninit;

use smallvec::SmallVec;

use crate::archetype::Refitting;
use crate::command::flush::locate::{Bucket, Item};
use crate::command::flush::net::{Net, Nets};
use crate::command::flush::ops::FlushOp;
use crate::command::lane::NONE;

/// The entities of a chunk that change, by net change; groups in the order of their first rows.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) archetype: u32,
    pub(super) chunk: u32,
    pub(super) groups: SmallVec<[Group; 1]>,
    /// The chunk is handed over to another archetype or group, as it is.
    pub(super) handed: Option<Handed>,
}

/// Where a chunk goes as it is.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) target: u32,
    pub(super) group: u32,
    /// If the target lays its chunks out otherwise: the columns stay where they are, what comes lies outside.
    pub(super) refitting: Option<Refitting>,
}

/// Entities of a chunk with the same net change: rows in the [memory](super::memory), in order.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) net: Net,
    pub(super) first: u32,
    pub(super) count: u32,
    /// So many of them, the first ones, leave the chunk; once it is planned.
    pub(super) leaving: u32,
    /// Every row has one command only whose values may arrive, and all these have the same op.
    pub(super) uniform: bool,
    /// All values that come are of these commands.
    pub(super) values: Option<Values>,
}

/// Commands of one op whose values follow each other as the rows of a group do: the op, the row of the first values, and
/// how far from there the next ones are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Values {
    pub(super) op: u32,
    pub(super) at: u32,
    pub(super) step: u32,
}

impl Group {
    /// Where its rows stand in the memory.
    #[inline(always)]
    pub(super) fn range(&self) -> core::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

impl Work {
    /// Rows that leave the chunk.
    pub(super) fn leaving(&self) -> u32 {
        self.groups.iter().map(|group| group.leaving).sum()
    }
}

/// What a thread needs for merging, kept from chunk to chunk.
#[derive(Debug)]
pub(super) struct Scratch {
    nets: Nets,
    rows: Vec<RowState>,
    touched: Vec<u32>,
    /// Net change → group of the chunk at hand.
    group_of: Vec<u32>,
    /// For each group, where its next row goes.
    next: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct RowState {
    net: u32,
    last: u32,
}

const UNTOUCHED: RowState = RowState { net: 0, last: NONE };

impl Scratch {
    pub(super) fn new() -> Self {
        Self {
            nets: Nets::new(),
            rows: Vec::new(),
            touched: Vec::new(),
            group_of: Vec::new(),
            next: Vec::new(),
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
pub(super) fn merge(
    scratch: &mut Scratch,
    ops: &[FlushOp<'_>],
    chunk: Chunk<'_>,
    len: u32,
) -> Work {
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
    if is_uniform(items) {
        let net = scratch.nets.step(0, items[0].op, ops);
        for (to, item) in rows.iter_mut().zip(&*items) {
            to.write(item.row);
        }
        for (to, at) in last.iter_mut().zip(bucket.first..) {
            to.write(at);
        }
        work.groups.push(Group {
            net: scratch.nets.all[net as usize].clone(),
            first: bucket.first,
            count: items.len() as u32,
            leaving: 0,
            uniform: true,
            values: None,
        });
        return work;
    }
    if scratch.rows.len() < len as usize {
        scratch.rows.resize(len as usize, UNTOUCHED);
    }
    for (item, at) in items.iter_mut().zip(bucket.first..) {
        let state = &mut scratch.rows[item.row as usize];
        if state.last == NONE {
            scratch.touched.push(item.row);
        }
        item.before = state.last;
        state.last = at;
        state.net = scratch.nets.step(state.net, item.op, ops);
    }
    if scratch.touched.len() > len as usize / 16 {
        scratch.touched.clear();
        let states = scratch.rows[..len as usize].iter().zip(0..);
        let touched = states.filter(|(state, _)| state.last != NONE);
        scratch.touched.extend(touched.map(|(_, row)| row));
    } else {
        scratch.touched.sort_unstable();
    }
    // Groups, and how many rows each has.
    scratch.group_of.resize(scratch.nets.all.len(), NONE);
    for &row in &scratch.touched {
        let net = scratch.rows[row as usize].net;
        let group = &mut scratch.group_of[net as usize];
        if *group == NONE {
            *group = work.groups.len() as u32;
            work.groups.push(Group {
                net: scratch.nets.all[net as usize].clone(),
                first: 0,
                count: 0,
                leaving: 0,
                uniform: false,
                values: None,
            });
        }
        work.groups[*group as usize].count += 1;
    }
    let mut first = 0;
    for group in &mut work.groups {
        group.first = bucket.first + first;
        scratch.next.push(first);
        first += group.count;
    }
    for &row in &scratch.touched {
        let state = core::mem::replace(&mut scratch.rows[row as usize], UNTOUCHED);
        let group = scratch.group_of[state.net as usize];
        let next = &mut scratch.next[group as usize];
        rows[*next as usize].write(row);
        last[*next as usize].write(state.last);
        *next += 1;
    }
    // Several commands of one entity leave places over.
    rows[first as usize..].fill(MaybeUninit::new(0));
    last[first as usize..].fill(MaybeUninit::new(NONE));
    scratch.touched.clear();
    scratch.group_of.clear();
    scratch.next.clear();
    work
}

/// Whether there is one command for each entity, in the order of rows, and all do the same: what a query
/// records.
fn is_uniform(items: &[Item]) -> bool {
    let pairs = items.windows(2);
    pairs.fold(true, |uniform, pair| {
        uniform & (pair[0].row < pair[1].row) & (pair[0].op == pair[1].op)
    })
}
