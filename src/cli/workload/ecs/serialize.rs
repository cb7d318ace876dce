//! `serialize_1000`: the entities of `simple_insert`, a thousand of them, go to bytes and come back. The case `serialize`
//! of `ecs_bench_suite`, with its size, in the binary form; as text nobody here writes a world by itself.

use core::hint::black_box;
use std::sync::Mutex;

use super::{EcsContender, Size, locked};
use crate::cli::measure::{Stopwatch, Subject};

/// Entities.
const ENTITIES: u32 = 1_000;

/// A world that is saved and loaded.
pub(super) struct Serialize<C> {
    world: Mutex<C>,
    entities: u32,
}

impl<C: EcsContender> Serialize<C> {
    pub(super) fn new(size: Size) -> Self {
        let entities = size.of(ENTITIES);
        let mut world = C::fresh();
        world.spawn_slice(0..entities, &mut Vec::with_capacity(entities as usize));
        Self {
            world: Mutex::new(world),
            entities,
        }
    }
}

impl<C: EcsContender> Subject for Serialize<C> {
    fn repeat(&self, _worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let world = &mut *locked(&self.world);
        let operations = rounds * u64::from(self.entities);
        watch.time(0, operations, || {
            for _ in 0..rounds {
                black_box(world.save());
            }
        });
        let bytes = world.save();
        watch.time(1, operations, || {
            for _ in 0..rounds {
                black_box(&mut C::load(&bytes));
            }
        });
        let expected = super::positions(self.entities, 0);
        assert_eq!(C::load(&bytes).positions(), expected);
    }
}
