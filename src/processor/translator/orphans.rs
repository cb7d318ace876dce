//! `Orphans`: objects whose entities are gone, until their host takes them down.
//!
//! [`Hosts`](super::Hosts) bring them, and fetch one back whose entity has come back before. Must hold: an object is there
//! once, and leads by its slot to whom it was, as long as no later one of the same slot is there. Whoever comes gets none that
//! was there when the world last went back: he may be another, with the same handle.

use std::collections::HashMap;

use crate::entity::Entity;
use crate::fragment::Pile;
use crate::hashers::ByNumbers;

/// One time that an entity was given an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// Where the object is then.
    pub(super) slot: u32,
    /// No other time has it, of whatever hosts.
    pub(super) serial: u64,
}

/// Whose an object is, or was.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    pub(super) entity: Entity,
    /// By what the entity named an object when it went: mostly this one. `None` if the world has gone back since.
    pub(super) named: Option<Given>,
    /// When the object was given, and its own slot.
    pub(super) own: Given,
    /// When the host has changed it last: another may be in its slot meanwhile.
    pub(super) stamp: u64,
}

impl Owner {
    /// Who names the object, which the host has not changed.
    pub(super) fn new(entity: Entity, own: Given) -> Self {
        Self {
            entity,
            named: Some(own),
            own,
            stamp: 0,
        }
    }

    /// Whether its slot is not the one that the entity has named.
    fn is_stray(&self) -> bool {
        self.named.is_some_and(|named| named.slot != self.own.slot)
    }
}

pub(super) struct Orphans<H> {
    objects: Pile<H>,
    /// Of the same objects.
    owners: Vec<Owner>,
    /// For each slot where the last of its objects is, if it is there: its owner says so.
    of_slots: Vec<u32>,
    /// The slots of objects whose entities named other ones.
    strays: HashMap<Entity, u32, ByNumbers>,
}

impl<H> Orphans<H> {
    pub(super) fn new() -> Self {
        Self {
            objects: Pile::new(),
            owners: Vec::new(),
            of_slots: Vec::new(),
            strays: HashMap::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whose one of them was.
    pub(super) fn owner(&self, at: usize) -> Owner {
        self.owners[at]
    }

    /// One comes, from its slot. O(1).
    pub(super) fn push(&mut self, owner: Owner, object: H) {
        if owner.is_stray() {
            self.strays.insert(owner.entity, owner.own.slot);
        }
        let at = self.objects.len();
        self.objects.push(object);
        self.owners.push(owner);
        self.lies_at(owner.own.slot, at);
    }

    /// The object of an entity that is back, and names one as it did when it went, if `is_free` says of the object's
    /// slot that there is no other by now; and whose it is. O(1).
    pub(super) fn take_back(
        &mut self,
        entity: Entity,
        named: Given,
        is_free: impl FnOnce(u32) -> bool,
    ) -> Option<(Owner, H)> {
        let is_its = |owner: &Owner| (owner.entity, owner.named) == (entity, Some(named));
        let own = self.find(named.slot, is_its);
        let at = own.or_else(|| self.find(*self.strays.get(&entity)?, is_its))?;
        if !is_free(self.owners[at].own.slot) {
            return None;
        }
        Some(self.remove(at))
    }

    /// Takes one of them out; whose it is. The last one lies there then. O(1).
    pub(super) fn remove(&mut self, at: usize) -> (Owner, H) {
        let object = self.objects.swap_remove(at);
        let owner = self.owners.swap_remove(at);
        if owner.is_stray() && self.strays.get(&owner.entity) == Some(&owner.own.slot) {
            self.strays.remove(&owner.entity);
        }
        if let Some(&moved) = self.owners.get(at)
            && self.of_slots[moved.own.slot as usize] as usize == self.owners.len()
        {
            self.lies_at(moved.own.slot, at);
        }
        (owner, object)
    }

    /// The world has gone back, and gives handles again: who comes from now on, by one of theirs and naming what they named, may
    /// be a copy. So nobody takes one of them back; a look at whom the world has gone back to finds whose they are. O(objects).
    pub(super) fn forget_names(&mut self) {
        self.strays.clear();
        self.owners.iter_mut().for_each(|owner| owner.named = None);
    }

    /// All objects. O(1), and O(those whose entities named other ones).
    pub(super) fn take(&mut self) -> Vec<H> {
        self.owners.clear();
        self.strays.clear();
        core::mem::take(&mut self.objects).into_vec()
    }

    /// Where the last object of a slot is, if it has that owner.
    fn find(&self, slot: u32, is_its: impl FnOnce(&Owner) -> bool) -> Option<usize> {
        let at = *self.of_slots.get(slot as usize)? as usize;
        let owner = self.owners.get(at)?;
        (owner.own.slot == slot && is_its(owner)).then_some(at)
    }

    fn lies_at(&mut self, slot: u32, at: usize) {
        let slot = slot as usize;
        if slot >= self.of_slots.len() {
            self.of_slots.resize(slot + 1, 0);
        }
        self.of_slots[slot] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(n: u32) -> Entity {
        Entity::new(n, 1).unwrap()
    }

    fn given(slot: u32) -> Given {
        Given {
            slot,
            serial: 100 + u64::from(slot),
        }
    }

    fn owner(n: u32) -> Owner {
        Owner::new(entity(n), given(n))
    }

    /// The object, and its slot.
    fn taken<H>(back: Option<(Owner, H)>) -> Option<(u32, H)> {
        back.map(|(owner, object)| (owner.own.slot, object))
    }

    #[test]
    fn each_comes_back_in_whatever_order() {
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
            let mut orphans = Orphans::new();
            (0..3).for_each(|n| orphans.push(owner(n), n * 10));
            for n in order {
                assert_eq!(
                    taken(orphans.take_back(entity(n), given(n), |_| true)),
                    Some((n, n * 10))
                );
                assert_eq!(
                    taken(orphans.take_back(entity(n), given(n), |_| true)),
                    None
                );
            }
            assert!(orphans.is_empty());
        }
    }

    #[test]
    fn nobody_gets_what_was_not_his_or_has_no_place_or_was_taken_down() {
        let mut orphans = Orphans::new();
        orphans.push(owner(1), "one");
        let later = Given {
            serial: 7,
            ..given(1)
        };
        assert_eq!(taken(orphans.take_back(entity(1), later, |_| true)), None);
        assert_eq!(
            taken(orphans.take_back(entity(2), given(1), |_| true)),
            None
        );
        assert_eq!(
            taken(orphans.take_back(entity(1), given(1), |_| false)),
            None
        );
        assert_eq!(orphans.take(), ["one"]);
        assert_eq!(
            taken(orphans.take_back(entity(1), given(1), |_| true)),
            None
        );
        orphans.push(Owner::new(entity(1), later), "two");
        assert_eq!(
            taken(orphans.take_back(entity(1), given(1), |_| true)),
            None
        );
        assert_eq!(
            taken(orphans.take_back(entity(1), later, |_| true)),
            Some((1, "two"))
        );
    }

    #[test]
    fn who_names_the_objects_of_another_gets_his_own() {
        let mut orphans = Orphans::new();
        // Two have exchanged what they have.
        let [one, two] = [owner(1), owner(2)];
        let exchanged = |owner, named| Owner {
            named: Some(named),
            ..owner
        };
        orphans.push(exchanged(one, two.own), "one");
        orphans.push(exchanged(two, one.own), "two");
        assert_eq!(
            taken(orphans.take_back(entity(1), given(2), |_| true)),
            Some((1, "one"))
        );
        assert_eq!(
            taken(orphans.take_back(entity(2), given(1), |_| true)),
            Some((2, "two"))
        );
        assert!(orphans.is_empty() && orphans.strays.is_empty());
    }

    #[test]
    fn who_comes_after_the_world_went_back_gets_none_that_was_there_before() {
        let mut orphans = Orphans::new();
        orphans.push(owner(1), "one");
        let stray = Owner {
            named: Some(given(1)),
            ..owner(2)
        };
        orphans.push(stray, "two");
        orphans.forget_names();
        for n in [1, 2] {
            let back = orphans.take_back(entity(n), given(1), |_| true);
            assert_eq!(taken(back), None);
        }
        orphans.push(owner(3), "three");
        let back = orphans.take_back(entity(3), given(3), |_| true);
        assert_eq!(taken(back), Some((3, "three")));
        // Whoever looks finds them.
        assert_eq!(orphans.owner(1).own, given(2));
        assert_eq!(taken(Some(orphans.remove(1))), Some((2, "two")));
        assert_eq!(taken(Some(orphans.remove(0))), Some((1, "one")));
        assert!(orphans.is_empty() && orphans.strays.is_empty());
    }

    #[test]
    fn an_earlier_one_of_a_slot_is_taken_out_and_the_others_are_found() {
        let later = Given {
            serial: 7,
            ..given(1)
        };
        let mut orphans = Orphans::new();
        orphans.push(owner(1), "one");
        orphans.push(owner(2), "two");
        orphans.push(Owner::new(entity(3), later), "later");
        assert_eq!(orphans.owner(0).entity, entity(1));
        assert_eq!(taken(Some(orphans.remove(0))), Some((1, "one")));
        for (n, named, object) in [(3, later, "later"), (2, given(2), "two")] {
            let back = orphans.take_back(entity(n), named, |_| true);
            assert_eq!(taken(back), Some((named.slot, object)));
        }
        assert!(orphans.is_empty());
    }
}
