//! `Population`: the entities whose changes are recorded, and the commands of a mix.

use super::{EcsContender, Mixed, Tally, values};
use crate::cli::workload::Shuffler;

/// So many entities, and the order in which commands name them.
pub(super) struct Population {
    /// How many.
    pub(super) entities: u32,
    order: Vec<u32>,
}

impl Population {
    /// Named in the order of creation.
    pub(super) fn in_order(entities: u32) -> Self {
        Self {
            entities,
            order: (0..entities).collect(),
        }
    }

    /// Named in no order.
    pub(super) fn shuffled(entities: u32) -> Self {
        let mut population = Self::in_order(entities);
        Shuffler::new(11).shuffle(&mut population.order);
        population
    }

    /// Creates all entities: their handles, in the order in which they are named. `ids` has room for them.
    pub(super) fn create<C: EcsContender>(
        &self,
        world: &mut C,
        ids: &mut Vec<C::Id>,
    ) -> Vec<C::Id> {
        ids.clear();
        world.spawn_slice(0..self.entities, ids);
        self.order.iter().map(|&n| ids[n as usize]).collect()
    }

    /// A tenth of all commands of a mix.
    fn tenth(&self) -> usize {
        self.entities as usize / 10
    }

    /// Creates all entities, gives the component to those that are to lose it: of ten commands three that create, three
    /// that destroy, two that add, two that remove, in no order.
    pub(super) fn mix<C: EcsContender>(
        &self,
        world: &mut C,
        ids: &mut Vec<C::Id>,
    ) -> Vec<Mixed<C::Id>> {
        let named = self.create(world, ids);
        let tenth = self.tenth();
        let (despawned, named) = named.split_at(3 * tenth);
        let (inserted, named) = named.split_at(2 * tenth);
        let removed = &named[..2 * tenth];
        world.add_each(removed);
        let spawned = self.entities..self.entities + 3 * tenth as u32;
        let mut mixed: Vec<Mixed<C::Id>> = spawned.map(Mixed::Spawn).collect();
        mixed.extend(despawned.iter().map(|&id| Mixed::Despawn(id)));
        mixed.extend(inserted.iter().map(|&id| Mixed::Insert(id)));
        mixed.extend(removed.iter().map(|&id| Mixed::Remove(id)));
        Shuffler::new(13).shuffle(&mut mixed);
        mixed
    }

    /// Asserts that a mix has done all that its commands say.
    pub(super) fn assert_mixed<C: EcsContender>(&self, world: &mut C) {
        let stay = self.order[3 * self.tenth()..].iter().copied();
        let new = self.entities..self.entities + 3 * self.tenth() as u32;
        let positions = Tally::of(stay.chain(new).map(|number| values::position(number)[0]));
        assert_eq!(world.positions(), positions);
        assert_eq!(world.extras(), super::extras(2 * self.tenth()));
    }
}
