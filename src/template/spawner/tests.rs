//! Memory that ends in the middle of a spawn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Grid, SpawnError, SpawnPoint, Spawner};
use crate::archetype::scarce::Scarce;
use crate::counted::Counted;
use crate::fragment::{DynamicBundle, Value};
use crate::observer::Observed;
use crate::world::{Prototype, World, WorldError};

#[test]
fn memory_that_ends_at_any_claim_leaves_nothing() {
    /// Chunks of each of three entries.
    const EACH: usize = 3;
    let mut scarce = Scarce::new();
    let universe = Arc::clone(&scarce.universe);
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
        scarce.leave(chunks);
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
        }
    }
    assert_eq!(alive.load(Ordering::Relaxed), 2);
}
