//! `simple_insert`, `simple_iter`, `fragmented_iter`, `add_remove`: the cases of
//! `ecs_bench_suite`, with its sizes.

use core::hint::black_box;
use std::sync::Mutex;

use super::{Change, EcsContender, Size, locked, values};
use crate::cli::measure::{Stopwatch, Subject};

/// Entities of `simple_insert`, `simple_iter` and `add_remove`.
const ENTITIES: u32 = 10_000;

/// A fresh world gets its entities, and goes, handles, memory and all.
pub(super) struct SimpleInsert<C: EcsContender> {
    ids: Mutex<Vec<C::Id>>,
    entities: u32,
}

impl<C: EcsContender> SimpleInsert<C> {
    pub(super) fn new(size: Size) -> Self {
        let entities = size.of(ENTITIES);
        let mut ids = Vec::with_capacity(entities as usize);
        let mut world = C::fresh();
        world.spawn_slice(0..entities, &mut ids);
        assert_eq!(world.positions(), super::positions(entities, 0));
        Self {
            ids: Mutex::new(ids),
            entities,
        }
    }
}

impl<C: EcsContender> Subject for SimpleInsert<C> {
    fn repeat(&self, _worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut ids = locked(&self.ids);
        watch.time(0, rounds * u64::from(self.entities), || {
            for _ in 0..rounds {
                ids.clear();
                let mut world = C::fresh();
                world.spawn_slice(0..self.entities, &mut ids);
                black_box(&mut world);
            }
        });
        assert_eq!(ids.len(), self.entities as usize, "a handle for each");
    }
}

/// Velocity is added to position.
pub(super) struct SimpleIter<C> {
    course: Mutex<(C, u64)>,
    entities: u32,
}

impl<C: EcsContender> SimpleIter<C> {
    pub(super) fn new(size: Size) -> Self {
        let entities = size.of(ENTITIES);
        let mut world = C::fresh();
        let mut ids = Vec::with_capacity(entities as usize);
        world.spawn_slice(0..entities, &mut ids);
        Self {
            course: Mutex::new((world, 0)),
            entities,
        }
    }
}

impl<C: EcsContender> Subject for SimpleIter<C> {
    fn repeat(&self, _worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let (world, steps) = &mut *locked(&self.course);
        watch.time(0, rounds * u64::from(self.entities), || {
            for _ in 0..rounds {
                world.step();
            }
        });
        *steps += rounds;
        assert_eq!(world.positions(), super::positions(self.entities, *steps));
    }
}

/// Entities of each of the 26 archetypes of `fragmented_iter`.
const OF_EACH_KIND: u32 = 20;

/// A world with so many entities of each kind.
pub(super) fn fragmented<C: EcsContender>(of_each: u32) -> C {
    let mut world = C::fresh();
    for spawn in super::kinds::<C>() {
        spawn(&mut world, of_each);
    }
    world.settled();
    world
}

/// A number is doubled that entities of 26 archetypes have.
pub(super) struct FragmentedIter<C> {
    course: Mutex<(C, f32)>,
}

impl<C: EcsContender> FragmentedIter<C> {
    /// Entities in all.
    const ENTITIES: u64 = 26 * OF_EACH_KIND as u64;

    pub(super) fn new() -> Self {
        Self {
            course: Mutex::new((fragmented(OF_EACH_KIND), values::DATA)),
        }
    }
}

impl<C: EcsContender> Subject for FragmentedIter<C> {
    fn repeat(&self, _worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let (world, value) = &mut *locked(&self.course);
        watch.time(0, rounds * Self::ENTITIES, || {
            for _ in 0..rounds {
                world.double();
            }
        });
        for _ in 0..rounds.min(200) {
            // Infinite after 128 times, as in the original.
            *value *= 2.0;
        }
        let data = world.data();
        assert_eq!(data.count as u64, Self::ENTITIES, "nobody is lost");
        assert_eq!(data.sum, f64::from(*value) * Self::ENTITIES as f64);
    }
}

/// A component is added to each entity, then removed from each; an operation is both.
pub(super) struct AddRemove<C: EcsContender> {
    course: Mutex<(C, Vec<C::Id>)>,
    in_slices: bool,
}

impl<C: EcsContender> AddRemove<C> {
    pub(super) fn new(in_slices: bool, size: Size) -> Self {
        let mut world = C::fresh();
        let ids = world.spawn_small(size.of(ENTITIES));
        Self {
            course: Mutex::new((world, ids)),
            in_slices,
        }
    }
}

impl<C: EcsContender> Subject for AddRemove<C> {
    fn repeat(&self, _worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let (world, ids) = &mut *locked(&self.course);
        let (add, remove): (Change<C>, Change<C>) = match self.in_slices {
            true => (C::add_slice, C::remove_slice),
            false => (C::add_each, C::remove_each),
        };
        watch.time(0, rounds * ids.len() as u64, || {
            for _ in 0..rounds {
                add(world, ids);
                remove(world, ids);
            }
        });
        assert_eq!(world.extras().count, 0, "all are removed");
        add(world, ids);
        assert_eq!(world.extras(), super::extras(ids.len()), "all are added");
        remove(world, ids);
    }
}
