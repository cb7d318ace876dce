//! Memory that ends in the middle of a spawn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Grid, SpawnError, SpawnPoint, Spawner};
use crate::chunk::{ChunkOptions, Run};
use crate::entity::IndexOptions;
use crate::fragment::{DynamicBundle, Value};
use crate::observer::Observed;
use crate::world::{Prototype, Universe, World, WorldError};

/// Counts itself.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(alive))
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn memory_that_ends_at_any_claim_leaves_nothing() {
    /// Chunks of each of three entries.
    const EACH: usize = 3;
    let (index, chunks) = (IndexOptions::new(), ChunkOptions::new());
    let universe = Universe::with(&index.huge_pages(false), &chunks.huge_pages(false)).unwrap();
    let universe = Arc::new(universe);
    let mut free: Vec<Run> = (0..3 * EACH)
        .map(|_| universe.take_chunk(1).unwrap())
        .collect();
    for len in [64, 32, 16, 8, 4, 2, 1] {
        while universe.take_chunk(len).is_ok() {}
    }
    let alive = Arc::new(AtomicUsize::new(0));
    let told = Arc::new(AtomicUsize::new(0));
    let registry = universe.registry();
    let kind = |team: &str| {
        let values = DynamicBundle::new()
            .with(Value::cloneable(registry, Counted::new(&alive)).unwrap())
            .with(Value::cloneable(registry, [7_u64; 100]).unwrap())
            .with(Value::cloneable(registry, [0.0_f32; 3]).unwrap())
            .with(Value::shared(registry, String::from(team)).unwrap());
        Arc::new(Prototype::new(registry, values).unwrap())
    };
    // Nineteen in a chunk. Two entries are of one archetype.
    let total = 3 * EACH * 19;
    let (red, blue) = (kind("red"), kind("blue"));
    let placed = Arc::clone(&alive);
    let spawner = Spawner::new(total)
        .prototype("red", &red, 1.0)
        .unwrap()
        .prototype("blue", &blue, 1.0)
        .unwrap()
        .prototype("more red", &red, 1.0)
        .unwrap()
        .generator(Grid::new([0.0; 3], 1.0, 100).unwrap())
        .place(|point: &SpawnPoint| (point.position,))
        .place(move |_: &SpawnPoint| (Counted::new(&placed),));
    for chunks in 0..=3 * EACH {
        let mut world = World::of(&universe).unwrap();
        world.set_chunk_size(1);
        let heard = Arc::clone(&told);
        world
            .observe::<[f32; 3], ()>(Observed::CREATE, move |batch, _| {
                heard.fetch_add(batch.len(), Ordering::Relaxed);
            })
            .unwrap();
        let result = spawner.spawn(&mut world);
        world.check().unwrap();
        if chunks == 3 * EACH {
            assert_eq!(result.unwrap().len(), total);
            assert_eq!(told.load(Ordering::Relaxed), total);
            assert_eq!(alive.load(Ordering::Relaxed), total + 2);
        } else {
            assert!(
                matches!(result, Err(SpawnError::World(WorldError::Chunk(_)))),
                "{chunks} chunks"
            );
            assert_eq!((world.count(), universe.count()), (0, 0));
            assert_eq!(alive.load(Ordering::Relaxed), 2);
            assert_eq!(told.load(Ordering::Relaxed), 0);
            // SAFETY: taken above, and not used.
            unsafe { universe.give_chunk(free.pop().unwrap()) };
        }
    }
    assert_eq!(alive.load(Ordering::Relaxed), 2);
}
