//! The handles that a batch names.

use megachunk::command::RecordedBatch;
use megachunk::prelude::*;
use megachunk::world::Batch;

/// The handles of a batch, as a list and one by one.
fn handles(batch: &Batch, world: &World) -> Vec<Entity> {
    let all = batch.to_vec(world);
    let mut left = batch.iter(world);
    for (at, &entity) in all.iter().enumerate() {
        assert_eq!(left.len(), all.len() - at);
        assert_eq!(left.next(), Some(entity));
    }
    assert_eq!((left.len(), left.next()), (0, None));
    let mut folded = Vec::new();
    let mut half = batch.iter(world);
    folded.extend(half.by_ref().take(all.len() / 2));
    half.for_each(|entity| folded.push(entity));
    assert!(folded == all);
    all
}

#[test]
fn a_batch_says_how_many_handles_are_left() {
    let mut world = World::new();
    let _ = world.create_batch((0..700_u32).map(|n| (n, 1_u8))).unwrap();
    // Several chunks, the first of which is begun.
    let batch = world.create_batch((0..9_000_u32).map(|n| (n, 2_u8)));
    let batch = batch.unwrap();
    let all = handles(&batch, &world);
    assert_eq!((all.len(), all.capacity()), (9_000, 9_000));
    let found = all.iter().map(|&ant| *world.get::<u32>(ant).unwrap());
    assert!(found.eq(0..9_000));
    // With shared values of their own they are noted one by one.
    let mixed = world.create_batch((0..90_u32).map(|n| (n,).shared(n % 7)));
    let mixed = handles(&mixed.unwrap(), &world);
    let found = mixed.iter().map(|&ant| *world.get::<u32>(ant).unwrap());
    assert!(found.eq(0..90));
    let none = world.create_batch(std::iter::empty::<(u32,)>()).unwrap();
    assert!(handles(&none, &world).is_empty());
    // Whose rows are gone are not among them, and not counted.
    world.clear();
    world.trim();
    assert!(handles(&batch, &world).is_empty());
}

#[test]
fn another_world_has_none_of_a_batch() {
    let mut world = World::new();
    let mut other = World::of(world.universe()).unwrap();
    let value = Value::cloneable(world.registry(), 1_u32).unwrap();
    let one = Prototype::new(world.registry(), DynamicBundle::new().with(value)).unwrap();
    for world in [&mut world, &mut other] {
        let _ = world.create_batch((0..10_u32).map(|n| (n,))).unwrap();
    }
    let batch = world.create_batch((0..10_u32).map(|n| (n,))).unwrap();
    let copies = world.create_copies(&one, 10).unwrap();
    let shared = world
        .create_batch((0..10_u32).map(|n| (n,).shared(n)))
        .unwrap();
    for batch in [batch, copies, shared] {
        assert_eq!(handles(&batch, &world).len(), 10);
        assert_eq!(handles(&batch, &other).len(), 0);
        assert_eq!(batch.len(), 10);
    }
    let none = Batch::default();
    assert!(none.is_empty() && handles(&none, &world).is_empty());
}

#[test]
fn a_recorded_batch_is_a_list_too() {
    let mut world = World::new();
    let mut commands = world.commands();
    let batch = commands.create_batch((0..5_000_u32).map(|n| (n,)));
    let batch = batch.unwrap();
    let all = batch.to_vec(&commands);
    assert_eq!(
        (batch.iter(&commands).len(), all.capacity()),
        (5_000, 5_000)
    );
    assert!(batch.iter(&commands).eq(all.iter().copied()));
    let other = world.commands();
    assert!(batch.to_vec(&other).is_empty() && batch.iter(&other).len() == 0);
    assert!(RecordedBatch::default().to_vec(&commands).is_empty());
    drop((commands, other));
    assert!(world.flush().is_clean());
    let found = all.iter().map(|&ant| *world.get::<u32>(ant).unwrap());
    assert!(found.eq(0..5_000));
}
