//! What a filter of run time matches when a flush comes to it goes.

use megachunk::prelude::*;
use megachunk::query::{DynamicFilter, QueryError};

#[test]
fn who_matches_when_its_turn_comes_is_destroyed() {
    let mut world = World::new();
    let registry = world.registry();
    let number = registry.register::<u32>().unwrap().id();
    let small = registry.register_enableable::<u8>().unwrap().id();
    let kept = world.create((1_u32,)).unwrap();
    let _ = world.create_batch((0..500_u32).map(|n| (n, 1_u8))).unwrap();
    let off = world.create((1_u32, 1_u8)).unwrap();
    world.set_enabled::<u8>(off, false).unwrap();
    let mut commands = world.commands();
    let before = commands.create((2_u32, 1_u8)).unwrap();
    commands.remove::<(u8,)>(before).unwrap();
    commands
        .destroy_matching_dynamic(DynamicFilter::new().any(&[number]).with(small))
        .unwrap();
    commands.add(kept, (1_u8,)).unwrap();
    drop(commands);
    assert_eq!(world.flush().destroyed, 500);
    for entity in [kept, off, before] {
        assert!(world.is_built(entity));
    }
    let mut commands = world.commands();
    let filter = DynamicFilter::new().with(small).without(small);
    let refused = commands.destroy_matching_dynamic(filter);
    assert!(matches!(refused, Err(QueryError::Contradiction { .. })));
    commands
        .destroy_matching_dynamic(DynamicFilter::new())
        .unwrap();
    drop(commands);
    assert_eq!(world.flush().destroyed, 3);
}
