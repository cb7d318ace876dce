//! The commands of a chunk become one net change for each of its entities.

use crate::command::flush::locate::{Bucket, Item};
use crate::command::flush::net::{Net, Nets};
use crate::command::flush::ops::FlushOp;
use crate::command::lane::NONE;

/// The entities of a chunk that change, by net change; groups in the order of their first rows.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) archetype: u32,
    pub(super) chunk: u32,
    pub(super) groups: Vec<Group>,
    /// The chunk is handed over to another archetype or group, as it is.
    pub(super) handed: Option<(u32, u32)>,
    /// Rows that leave the chunk, in order; once it is planned.
    pub(super) leaving: Vec<u32>,
    /// Among those, the entities that die.
    pub(super) dying: Vec<u32>,
}

/// Entities of a chunk with the same net change.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) net: Net,
    /// In order.
    pub(super) rows: Vec<u32>,
    /// For each row, its last command: an index into the items.
    pub(super) last: Vec<u32>,
    /// Every row has one command only, and all have the same op.
    pub(super) uniform: bool,
}

/// What a thread needs for merging, kept from chunk to chunk.
#[derive(Debug)]
pub(super) struct Scratch {
    nets: Nets,
    rows: Vec<RowState>,
    touched: Vec<u32>,
    /// Net change → group of the chunk at hand.
    group_of: Vec<u32>,
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
        }
    }
}

/// Merges the commands of a chunk with `len` entities. Links the commands of each entity.
pub(super) fn merge(
    scratch: &mut Scratch,
    ops: &[FlushOp<'_>],
    items: &mut [Item],
    bucket: Bucket,
    len: u32,
) -> Work {
    let mut work = Work {
        archetype: bucket.archetype,
        chunk: bucket.chunk,
        groups: Vec::new(),
        handed: None,
        leaving: Vec::new(),
        dying: Vec::new(),
    };
    if is_uniform(items) {
        let net = scratch.nets.step(0, items[0].op, ops);
        work.groups.push(Group {
            net: scratch.nets.all[net as usize].clone(),
            rows: items.iter().map(|item| item.row).collect(),
            last: (bucket.first..bucket.end).collect(),
            uniform: true,
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
        let rows = scratch.rows[..len as usize].iter().zip(0..);
        let touched = rows.filter(|(state, _)| state.last != NONE);
        scratch.touched.extend(touched.map(|(_, row)| row));
    } else {
        scratch.touched.sort_unstable();
    }
    scratch.group_of.resize(scratch.nets.all.len(), NONE);
    for &row in &scratch.touched {
        let state = core::mem::replace(&mut scratch.rows[row as usize], UNTOUCHED);
        let group = &mut scratch.group_of[state.net as usize];
        if *group == NONE {
            *group = work.groups.len() as u32;
            work.groups.push(Group {
                net: scratch.nets.all[state.net as usize].clone(),
                rows: Vec::new(),
                last: Vec::new(),
                uniform: false,
            });
        }
        let group = &mut work.groups[*group as usize];
        group.rows.push(row);
        group.last.push(state.last);
    }
    scratch.touched.clear();
    scratch.group_of.clear();
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
