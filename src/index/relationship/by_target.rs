//! `ByTarget`: the list of each target, in the order of handles.
//!
//! A slot's last target, which is the one that lives if any does, is found by the slot. The dead of a slot are as many as
//! sources still name, and that may be all that it ever had: they stand in a tree.
//!
//! Must hold: of the targets that had one slot, `last` has the list of the one that had it last, and `earlier` those of
//! all others.

use std::collections::BTreeMap;

use crate::entity::Entity;
use crate::index::by_slot::BySlot;
use crate::index::lists::Finder;
use crate::panics::Panicked;

/// "No list."
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct ByTarget {
    /// The list of the last target of each slot.
    last: BySlot<Last>,
    /// Of each list whose target it is.
    targets: Vec<Entity>,
    /// The lists of targets whose slot a later target has.
    earlier: BTreeMap<Entity, u32>,
    /// The list of those that name nobody.
    nobody: Option<u32>,
}

/// A list, or [`NONE`].
#[derive(Clone, Copy, Debug)]
struct Last(u32);

impl Default for Last {
    fn default() -> Self {
        Self(NONE)
    }
}

impl ByTarget {
    pub(super) const fn new() -> Self {
        Self {
            last: BySlot::new(),
            targets: Vec::new(),
            earlier: BTreeMap::new(),
            nobody: None,
        }
    }

    /// Each target that is named, and the number of its list, in the order of handles. Nobody is no target.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Entity, u32)> {
        let mut earlier = self.earlier.iter().map(pair).peekable();
        let mut last = self.last.iter().filter_map(|last| self.target(last));
        let mut next = last.next();
        core::iter::from_fn(move || {
            let before =
                earlier.next_if(|(target, _)| next.is_some_and(|(next, _)| *target < next));
            before.or_else(|| core::mem::replace(&mut next, last.next()))
        })
    }

    /// The target of a list, and the list.
    #[inline]
    fn target(&self, Last(list): Last) -> Option<(Entity, u32)> {
        Some((*self.targets.get(list as usize)?, list))
    }

    /// The last of the slot's targets before this one.
    fn before(&self, target: Entity) -> Option<(Entity, u32)> {
        let before = self.earlier.range(..target).next_back().map(pair);
        before.filter(|(before, _)| before.index() == target.index())
    }
}

fn pair((&target, &list): (&Entity, &u32)) -> (Entity, u32) {
    (target, list)
}

impl Finder<Entity> for ByTarget {
    #[inline]
    fn find(&self, &target: &Entity) -> Option<u32> {
        if target == Entity::PLACEHOLDER {
            return self.nobody;
        }
        let (last, list) = self.target(self.last.get(target.index()))?;
        if last == target {
            return Some(list);
        }
        self.earlier.get(&target).copied()
    }

    fn enter(&mut self, &target: &Entity, list: u32) {
        if self.targets.len() <= list as usize {
            self.targets.resize(list as usize + 1, Entity::PLACEHOLDER);
        }
        if target == Entity::PLACEHOLDER {
            self.nobody = Some(list);
            return;
        }
        self.targets[list as usize] = target;
        let known = self.target(self.last.get(target.index()));
        match known {
            Some((last, _)) if target < last => _ = self.earlier.insert(target, list),
            _ => {
                self.earlier.extend(known);
                self.last.at(target.index()).0 = list;
            }
        }
    }

    fn leave(&mut self, &target: &Entity) {
        if target == Entity::PLACEHOLDER {
            self.nobody = None;
        } else if self.earlier.remove(&target).is_none() && self.find(&target).is_some() {
            let before = self.before(target);
            self.last.at(target.index()).0 = before.map_or(NONE, |(_, list)| list);
            if let Some((before, _)) = before {
                self.earlier.remove(&before);
            }
        }
    }

    fn end(&mut self, _: &mut Panicked) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_few_slots_stand_in_the_order_of_handles_however_they_come_and_go() {
        let mut state = 5_u64;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) % limit
        };
        // Slots of two blocks, 30 targets each, and nobody.
        let slots = [0, 1, 1_500];
        let all: Vec<Entity> = (slots.iter())
            .flat_map(|&slot| (0..30).map(move |n| Entity::new(slot, 2 * n + 1).unwrap()))
            .chain([Entity::PLACEHOLDER])
            .collect();
        let mut by_target = ByTarget::new();
        let mut expected: BTreeMap<Entity, u32> = BTreeMap::new();
        let mut free: Vec<u32> = (0..all.len() as u32).collect();
        let mut most = 0;
        for step in 0..4_000 {
            let target = all[below(all.len() as u64) as usize];
            // Now more come than go, and now the other way round.
            let comes = below(4) < if step / 400 % 2 == 0 { 3 } else { 1 };
            match expected.get(&target) {
                None if comes => {
                    let list = free.swap_remove(below(free.len() as u64) as usize);
                    expected.insert(target, list);
                    by_target.enter(&target, list);
                }
                Some(&list) if !comes => {
                    expected.remove(&target);
                    free.push(list);
                    by_target.leave(&target);
                }
                _ => by_target.leave(&Entity::new(7, 1).unwrap()),
            }
            let known = expected.iter().map(pair);
            assert!(
                by_target
                    .iter()
                    .eq(known.filter(|(target, _)| *target != Entity::PLACEHOLDER))
            );
            for target in &all {
                assert_eq!(
                    by_target.find(target),
                    expected.get(target).copied(),
                    "{target}"
                );
            }
            // The last one of each slot is in no tree.
            let mut found: Vec<u32> = expected.keys().map(|target| target.index()).collect();
            found.dedup();
            assert_eq!(
                by_target.earlier.len() + found.len(),
                expected.len(),
                "nobody is one, too"
            );
            most = most.max(by_target.earlier.len());
        }
        assert!(most > 60, "{most}");
    }
}
