//! `EntityMapIter`: the entities of a map, one after the other.

use core::fmt;
use core::iter::{Copied, Enumerate, Zip};
use core::slice::Iter;
use std::vec::IntoIter;

use crate::entity::Entity;

/// Each entity of a map, as it was and as it is, in the order of the old indices, from
/// [`EntityMap::iter`](crate::entity::EntityMap::iter). O(memory of the map) in all.
#[derive(Clone)]
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct EntityMapIter<'a> {
    /// The slot of the first of those that lie by slots.
    first: u32,
    /// Their versions, 0 where there is none, and what they have become.
    slots: Enumerate<Zip<Iter<'a, u32>, Iter<'a, Entity>>>,
    /// Those that do not.
    sorted: Copied<Iter<'a, (Entity, Entity)>>,
    /// Those that had to be put in order.
    ordered: IntoIter<(Entity, Entity)>,
    /// How many are to come.
    left: usize,
}

impl<'a> EntityMapIter<'a> {
    /// `count` of the slots have somebody.
    pub(super) fn by_slot(
        first: u32,
        versions: &'a [u32],
        new: &'a [Entity],
        count: usize,
    ) -> Self {
        Self {
            left: count,
            first,
            slots: versions.iter().zip(new).enumerate(),
            sorted: [].iter().copied(),
            ordered: Vec::new().into_iter(),
        }
    }

    pub(super) fn sorted(pairs: &'a [(Entity, Entity)]) -> Self {
        Self {
            sorted: pairs.iter().copied(),
            ..Self::by_slot(0, &[], &[], pairs.len())
        }
    }
}

impl EntityMapIter<'_> {
    pub(super) fn ordered(pairs: Vec<(Entity, Entity)>) -> Self {
        Self {
            left: pairs.len(),
            ordered: pairs.into_iter(),
            ..Self::by_slot(0, &[], &[], 0)
        }
    }
}

impl Iterator for EntityMapIter<'_> {
    type Item = (Entity, Entity);

    fn next(&mut self) -> Option<(Entity, Entity)> {
        let first = self.first;
        let by_slot = self.slots.find_map(|(at, (&version, &new))| {
            Some((Entity::new(first + at as u32, version)?, new))
        });
        let next = by_slot.or_else(|| self.sorted.next());
        let next = next.or_else(|| self.ordered.next())?;
        self.left -= 1;
        Some(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for EntityMapIter<'_> {}

impl core::iter::FusedIterator for EntityMapIter<'_> {}

/// How many are to come, not which.
impl fmt::Debug for EntityMapIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntityMapIter")
            .field("len", &self.left)
            .finish_non_exhaustive()
    }
}
