//! `add_1m`, `remove_1m`: a component comes to one million entities of 100 bytes, and goes.

use std::sync::Mutex;

use super::{EcsContender, MILLION, Size, Tally, locked, settle};
use crate::cli::measure::{Stopwatch, Subject};

/// How a component comes and goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// A call for each entity; added to a world that never had it, removed, added again, removed.
    OneByOne,
    /// Added in one call, removed somehow, added again in one call.
    AddSlice,
    /// Added somehow, removed in one call.
    RemoveSlice,
}

/// A component comes to one million entities, and goes.
pub(super) struct Component<C: EcsContender> {
    ids: Mutex<Vec<C::Id>>,
    entities: u32,
    way: Way,
}

impl<C: EcsContender> Component<C> {
    pub(super) fn new(way: Way, size: Size) -> Self {
        let entities = size.of(MILLION);
        Self {
            ids: Mutex::new(Vec::with_capacity(entities as usize)),
            entities,
            way,
        }
    }

    fn is_added(&self, world: &mut C) {
        assert_eq!(world.extras(), super::extras(self.entities as usize));
        assert_eq!(world.positions(), super::positions(self.entities, 0));
    }

    fn is_removed(&self, world: &mut C) {
        assert_eq!(world.extras(), Tally::default());
        assert_eq!(world.positions(), super::positions(self.entities, 0));
    }
}

impl<C: EcsContender> Subject for Component<C> {
    fn repeat(&self, _worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        settle(self.entities);
        let ids = &mut *locked(&self.ids);
        let mut world = C::fresh();
        ids.clear();
        world.spawn_slice(0..self.entities, ids);
        let (ids, operations) = (&ids[..], u64::from(self.entities));
        match self.way {
            Way::OneByOne => {
                watch.time(0, operations, || world.add_each(ids));
                self.is_added(&mut world);
                world.remove_each(ids);
                self.is_removed(&mut world);
                watch.time(1, operations, || world.add_each(ids));
                self.is_added(&mut world);
                watch.time(2, operations, || world.remove_each(ids));
                self.is_removed(&mut world);
            }
            Way::AddSlice => {
                watch.time(0, operations, || world.add_slice(ids));
                self.is_added(&mut world);
                world.remove_each(ids);
                self.is_removed(&mut world);
                watch.time(1, operations, || world.add_slice(ids));
                self.is_added(&mut world);
            }
            Way::RemoveSlice => {
                world.add_each(ids);
                self.is_added(&mut world);
                watch.time(0, operations, || world.remove_slice(ids));
                self.is_removed(&mut world);
            }
        }
    }

    fn is_fixed(&self) -> bool {
        true
    }
}
