//! Spawners where ids run out.

use std::sync::Arc;

use megachunk::fragment::{DynamicBundle, Value};
use megachunk::prelude::*;
use megachunk::template::spawner::{SpawnError, Spawner};
use megachunk::world::Prototype;

use crate::full;

/// Entities of three kinds, as many of each.
fn spawner(world: &World, total: usize) -> Spawner {
    let mut spawner = Spawner::new(total);
    for number in 0..3_u64 {
        let value = Value::cloneable(world.registry(), number).unwrap();
        let prototype = Prototype::new(world.registry(), DynamicBundle::new().with(value)).unwrap();
        spawner = spawner
            .prototype(&format!("kind {number}"), &Arc::new(prototype), 1.0)
            .unwrap();
    }
    spawner
}

#[test]
#[ignore = "fills the index: 1.2 GB"]
fn ids_that_run_out_leave_nothing() {
    let (universe, mut last) = full();
    let mut world = World::of(&universe).unwrap();
    let spawner = spawner(&world, 900);
    for left in [0, 299, 300, 450, 600, 899] {
        for entity in last.drain(..left) {
            world.release(entity).unwrap();
        }
        let error = spawner.spawn(&mut world);
        assert!(matches!(error, Err(SpawnError::World(WorldError::Full(_)))));
        assert!(world.is_empty());
        world.check().unwrap();
        // They are there still: as many as before can be had.
        let mut again = vec![Entity::PLACEHOLDER; left];
        universe.reserve_slice(&mut again).unwrap();
        last.extend(again);
    }
}
