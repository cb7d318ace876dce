//! Destroying many entities in no order.
//!
//! One by one, each would cost a read-modify-write of a line that is not at hand. So the handles are
//! first laid out by slot, in a table of expected versions, which is writing and no waiting; then
//! the table is swept group by group, one compare-and-swap for all that die in a group.
//!
//! Threads whose handles lie among each other sweep the same groups; each begins somewhere else, or all would go
//! along together, from line to line, and wait for each other at every one.

use crate::entity::index::cache::Tally;
use crate::entity::index::core::Core;
use crate::entity::index::deaths::{FEWEST, destroy_one, kill_expected, settle};
use crate::entity::index::freed::Freed;
use crate::entity::index::wide::Expected;
use crate::entity::{DestroyReport, Entity};
use crate::sync::geometry::GROUP_SLOTS;

/// Tables of up to so many groups lie on the stack.
const FEW: usize = 8;
/// So do those of up to so many, 4 KiB.
const MORE: usize = 64;
/// The table is worth its memory if it is at most this many times as long as the batch.
const SPARSEST: usize = 4;

/// Destroys the entities from position `at` on; how many handles it has seen to: all, or none if
/// they are spread too thinly.
///
/// Takes memory for one version a slot between the lowest and the highest, four bytes each: of the heap, if it is more
/// than 4 KiB.
#[cold]
#[inline(never)]
pub(crate) fn destroy(
    core: &Core,
    freed: &mut Freed<'_>,
    tally: &Tally,
    entities: &[Entity],
    at: usize,
    report: &mut DestroyReport,
) -> usize {
    let handles = &entities[at..];
    if handles.len() < FEWEST {
        return 0;
    }
    let there = core.slots_there();
    // Of those that can ever have lived; the highest and one more.
    let (mut lowest, mut end) = (u32::MAX, 0);
    for entity in handles {
        let index = entity.index();
        let number = if index < there { index + 1 } else { 0 };
        (lowest, end) = (lowest.min(index), end.max(number));
    }
    let lowest = lowest / GROUP_SLOTS;
    let groups = (end.div_ceil(GROUP_SLOTS) as usize).saturating_sub(lowest as usize);
    if groups == 0 {
        return 0;
    }
    if groups * GROUP_SLOTS as usize > handles.len() * SPARSEST {
        return 0;
    }
    with_table(groups, |expected| {
        let leftover = lay_out(handles, lowest, expected);
        let (low, high) = expected.split_at(first_of(freed.ordinal(), groups));
        let middle = lowest + low.len() as u32;
        let high = sweep(core, freed, tally, middle, high, report);
        let mut refused = sweep(core, freed, tally, lowest, low, report);
        refused.extend(high);
        for position in positions(handles, &refused) {
            destroy_one(core, freed, tally, handles[position], at + position, report);
        }
        // What did not fit in the table: a handle whose slot another one had taken, or out of range.
        for position in leftover {
            destroy_one(core, freed, tally, handles[position], at + position, report);
        }
    });
    handles.len()
}

/// Runs `work` on a table for so many groups; on the stack, if they are few.
#[inline(always)]
fn with_table(groups: usize, work: impl FnOnce(&mut [Expected])) {
    const EMPTY: Expected = [0; GROUP_SLOTS as usize];
    if groups <= FEW {
        work(&mut [EMPTY; FEW][..groups]);
    } else if groups <= MORE {
        work(&mut [EMPTY; MORE][..groups]);
    } else {
        work(&mut vec![EMPTY; groups]);
    }
}

/// Where among so many groups a thread begins: the first at the lowest, each other far from those before it, by the
/// golden ratio.
fn first_of(ordinal: u32, groups: usize) -> usize {
    const GOLDEN: u32 = 0x9e37_79b9;
    let part = ordinal.wrapping_sub(1).wrapping_mul(GOLDEN);
    ((u64::from(part) * groups as u64) >> 32) as usize
}

/// Writes each handle's version to its slot's place in the table; the positions of those that have
/// none there.
fn lay_out(handles: &[Entity], lowest: u32, expected: &mut [Expected]) -> Vec<usize> {
    let table = expected.as_flattened_mut();
    let mut leftover = Vec::new();
    for (position, entity) in handles.iter().enumerate() {
        let place = entity.index().wrapping_sub(lowest * GROUP_SLOTS) as usize;
        match table.get_mut(place) {
            Some(version) if *version == 0 => *version = entity.version(),
            _ => leftover.push(position),
        }
    }
    leftover
}

/// Destroys what the table expects; the handles that were not alive, in index order.
fn sweep(
    core: &Core,
    freed: &mut Freed<'_>,
    tally: &Tally,
    lowest: u32,
    expected: &[Expected],
    report: &mut DestroyReport,
) -> Vec<Entity> {
    let mut refused = Vec::new();
    for (number, expected) in (lowest..).zip(expected) {
        // (Not as arrays: to compare those is a call, which looks at one half first.)
        if expected.iter().fold(0, |all, version| all | version) == 0 {
            continue;
        }
        let died = kill_expected(core, number, expected);
        report.destroyed += died.killed.count_ones() as usize;
        settle(freed, tally, number, &died);
        let mut left = died.refused;
        while left != 0 {
            let lane = left.trailing_zeros();
            left &= left - 1;
            let index = number * GROUP_SLOTS + lane;
            refused.push(Entity::from_parts(index, expected[lane as usize]));
        }
    }
    refused
}

/// The first position of each of `wanted`, which are in order.
fn positions(handles: &[Entity], wanted: &[Entity]) -> Vec<usize> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut found = vec![false; wanted.len()];
    let mut first = |&(_, entity): &(usize, &Entity)| {
        wanted
            .binary_search(entity)
            .is_ok_and(|which| !core::mem::replace(&mut found[which], true))
    };
    handles
        .iter()
        .enumerate()
        .filter(|handle| first(handle))
        .map(|(position, _)| position)
        .collect()
}
