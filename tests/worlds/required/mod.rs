//! Whoever comes to have a fragment comes to have those with it that it requires, whichever way it comes.
//!
//! Each way is gone twice: in a world in which the owner requires what it needs, and in one in which every call names all
//! that comes. Both must come to the same [`World::state_hash`], and observers must be told the same.

mod brittle;
mod chunks;
mod programs;
mod sizes;
mod tokens;
mod ways;
mod whole;

use std::sync::Arc;

use megachunk::command::Commands;
use megachunk::fragment::{FragmentError, FragmentRegistry};
use megachunk::observer::{Observed, ObservedBatch};
use megachunk::prelude::*;
use megachunk::world::SnapshotOptions;

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Sprite(u32);
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Transform(u32);
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
struct Depth(u16);
#[derive(Clone, Copy, Debug, Default)]
struct Drawn;
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
struct Other(u64);
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
struct Team(u8);

megachunk::plain!(Sprite { 0 });
megachunk::plain!(Transform { 0 });
megachunk::plain!(Depth { 0 });
megachunk::plain!(Drawn {});
megachunk::plain!(Other { 0 });
megachunk::plain!(Team { 0 });

const TRANSFORM: Transform = Transform(7);

/// Entities that observers were told of: what was observed, and each with what it had then.
type Heard = Vec<(&'static str, Entity, Option<u32>)>;

fn register(registry: &FragmentRegistry, requires: bool) {
    registry.register_plain::<Sprite>().unwrap();
    registry.register_plain::<Transform>().unwrap();
    registry.register_plain::<Depth>().unwrap();
    registry.register_plain::<Drawn>().unwrap();
    registry.register_plain::<Other>().unwrap();
    registry.register_plain::<Shared<Team>>().unwrap();
    if requires {
        registry
            .require_with::<Sprite, Transform>(|| TRANSFORM)
            .unwrap();
        registry.require::<Transform, Depth>().unwrap();
        registry.require::<Sprite, Drawn>().unwrap();
        // A cycle.
        registry
            .require_with::<Depth, Transform>(|| Transform(8))
            .unwrap();
    }
}

/// A world with an observer of all that comes; it requires, or not.
fn world(requires: bool) -> World {
    let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
    register(world.registry(), requires);
    world.resources_mut().insert(Heard::new());
    for (what, name) in [(Observed::CREATE, "create"), (Observed::ADD, "add")] {
        let hear = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
            let mut all = Heard::new();
            batch
                .for_each::<(Entity, Option<&Transform>)>(|(entity, transform)| {
                    all.push((name, entity, transform.map(|transform| transform.0)));
                })
                .unwrap();
            batch
                .resources_mut()
                .get_mut::<Heard>()
                .unwrap()
                .extend(all);
        };
        world.observe::<Transform, ()>(what, hear).unwrap();
        world.observe::<Depth, ()>(what, hear).unwrap();
    }
    world
}

fn others(world: &mut World, count: u64) -> Vec<Entity> {
    let batch = world.create_batch((0..count).map(|n| (Other(n),))).unwrap();
    batch.iter(world).collect()
}

/// Records, and flushes.
fn record(world: &mut World, record: impl FnOnce(&mut Commands<'_>)) {
    let mut commands = world.commands();
    record(&mut commands);
    drop(commands);
    let report = world.flush();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn what_is_required_may_go_alone_and_comes_back_with_the_owner() {
    let mut world = world(true);
    let ant = world.create((Sprite(1),)).unwrap();
    assert!(world.remove::<(Transform,)>(ant).unwrap());
    world.add(ant, (Other(1),)).unwrap();
    assert!(!world.has::<Transform>(ant).unwrap());
    let clone = world.clone_entity(ant).unwrap();
    assert!(!world.has::<Transform>(clone).unwrap());
    world.add(ant, (Sprite(2),)).unwrap();
    assert_eq!(world.get::<Transform>(ant), Ok(&TRANSFORM));
    // What is named as going does not come.
    world.swap::<(Transform,), _>(ant, (Sprite(3),)).unwrap();
    assert!(!world.has::<Transform>(ant).unwrap());
    world.swap::<(Sprite,), _>(ant, (Depth(3),)).unwrap();
    assert_eq!(world.get::<Transform>(ant), Ok(&Transform(8)));
    world.check().unwrap();
}

#[test]
fn it_is_said_before_an_owner_has_come() {
    let mut world = World::new();
    let registry = world.registry();
    registry
        .require_with::<Sprite, Transform>(|| TRANSFORM)
        .unwrap();
    registry.register::<Depth>().unwrap();
    // Who asks for it does not settle it.
    drop(world.commands());
    assert_eq!(world.matching::<With<Sprite>>().unwrap().destroy(), 0);
    world.registry().require_with::<Sprite, u8>(|| 1).unwrap();
    let ant = world.create((Other(1),)).unwrap();
    let mut commands = world.commands();
    commands.add(ant, (Sprite(1),)).unwrap();
    let late = world.registry().require::<Sprite, Depth>();
    let Err(FragmentError::RequiredLate { owner, needed, .. }) = &late else {
        panic!("{late:?}");
    };
    assert!(owner.ends_with("Sprite") && needed.ends_with("Depth"));
    // And so it is of what came with it.
    let late = world.registry().require::<Transform, Depth>();
    assert!(matches!(late, Err(FragmentError::RequiredLate { .. })));
    // Said again it is no error, and changes nothing.
    world
        .registry()
        .require_with::<Sprite, Transform>(|| Transform(1))
        .unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(world.get::<Transform>(ant), Ok(&TRANSFORM));
    // All worlds of a universe agree.
    let universe = Arc::clone(world.universe());
    let mut sea = World::of(&universe).unwrap();
    let fish = sea.create((Sprite(2),)).unwrap();
    assert_eq!(sea.get::<Transform>(fish), Ok(&TRANSFORM));
}

#[test]
fn a_value_is_required_by_its_number() {
    let mut world = World::new();
    let registry = world.registry();
    let sprite = registry.register_plain::<Sprite>().unwrap().id();
    let transform = registry.register_plain::<Transform>().unwrap().id();
    registry
        .require_value(sprite, Value::new(registry, TRANSFORM).unwrap())
        .unwrap();
    assert_eq!(registry.required_by(sprite), [transform]);
    let foreign = Value::new(World::new().registry(), 1_u8).unwrap();
    let refused = registry.require_value(sprite, foreign);
    assert!(matches!(refused, Err(FragmentError::OtherUniverse { .. })));
    let unique = Value::new(registry, std::sync::Mutex::new(1)).unwrap();
    let refused = registry.require_value(sprite, unique);
    assert!(matches!(refused, Err(FragmentError::NotCloneable { .. })));
    let shared = Value::shared(registry, Team(1)).unwrap();
    let refused = registry.require_value(sprite, shared);
    assert!(matches!(refused, Err(FragmentError::WrongKind { .. })));
    let ant = world.create((Sprite(1),)).unwrap();
    assert_eq!(world.get::<Transform>(ant), Ok(&TRANSFORM));
}

#[test]
fn what_a_file_lacks_is_added_when_it_is_asked_for() {
    let mut old = world(false);
    let ant = old.create((Sprite(1), Other(1))).unwrap();
    let bee = old.create((Sprite(2), Transform(9))).unwrap();
    let _ = others(&mut old, 3_000);
    let saved = old.to_snapshot(&SnapshotOptions::new()).unwrap();
    let universe = Universe::ordered();
    register(universe.registry(), true);
    let mut new = World::from_snapshot(&saved, universe, &Default::default()).unwrap();
    // As it was saved.
    assert!(!new.has::<Transform>(ant).unwrap());
    assert_eq!(
        new.state_hash(&Default::default()).unwrap(),
        old.state_hash(&Default::default()).unwrap()
    );
    assert_eq!(new.add_required().unwrap(), 2);
    assert_eq!(new.get::<Transform>(ant), Ok(&TRANSFORM));
    assert_eq!(new.get::<Transform>(bee), Ok(&Transform(9)));
    assert!(new.has::<Depth>(bee).unwrap() && new.has::<Drawn>(bee).unwrap());
    assert_eq!(new.add_required().unwrap(), 0);
    assert_eq!(old.add_required().unwrap(), 0);
    new.check().unwrap();
}
