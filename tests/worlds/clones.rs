//! Clones of entities, and prototypes with their values.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::counted::{Counted, FUSE};
use megachunk::entity::EntityFault;
use megachunk::prelude::*;

#[derive(Clone)]
struct Busy;

/// An ant in every role.
fn ant(world: &mut World, alive: &Arc<AtomicUsize>) -> Entity {
    let registry = world.registry();
    registry.register_clone::<Counted>().unwrap();
    registry.register_clone::<(Counted, u8)>().unwrap();
    registry.register_clone::<Busy>().unwrap();
    let fragments = (Counted::new(alive), (Counted::new(alive), 7_u8), Busy);
    let bundle = fragments.shared("red").const_shared(3_u64);
    world.create(bundle.per_chunk('c')).unwrap()
}

fn is_ant(world: &World, entity: Entity) -> bool {
    let view = world.entity(entity).unwrap();
    view.get::<(Counted, u8)>().unwrap().1 == 7
        && view.has::<Busy>()
        && view.shared::<&str>().unwrap() == &"red"
        && view.const_shared::<u64>().unwrap() == &3
        && view.chunk_fragment::<char>().unwrap() == &'c'
}

/// A world with an ant that has a name, and a value that is switched off.
fn with_named_ant(alive: &Arc<AtomicUsize>) -> (World, Entity) {
    let mut world = World::new();
    world.registry().register_enableable::<Counted>().unwrap();
    let ant = ant(&mut world, alive);
    world.set_name(ant, "ant").unwrap();
    world.set_enabled::<Counted>(ant, false).unwrap();
    (world, ant)
}

#[test]
fn a_reserved_entity_becomes_a_clone_with_its_switches_and_without_a_name() {
    let alive = Arc::new(AtomicUsize::new(0));
    let (mut world, ant) = with_named_ant(&alive);
    let twin = world.reserve().unwrap();
    world.build_clone(twin, ant).unwrap();
    assert!(is_ant(&world, twin) && !world.is_enabled::<Counted>(twin).unwrap());
    assert_eq!(world.name(twin).unwrap(), None);
    assert_eq!((world.count(), alive.load(Ordering::Relaxed)), (2, 4));
    world.check().unwrap();
    world.clear();
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn who_cannot_be_built_as_a_clone_is_as_before() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let ant = ant(&mut world, &alive);
    let built = world.create((1_u8,)).unwrap();
    let dead = world.create((1_u8,)).unwrap();
    world.destroy(dead).unwrap();
    let twin = world.reserve().unwrap();
    FUSE.set(1);
    let error = world.build_clone(built, ant).unwrap_err();
    assert!(matches!(error, WorldError::AlreadyBuilt { entity } if entity == built));
    let error = world.build_clone(dead, ant).unwrap_err();
    assert!(matches!(error, WorldError::Entity(error) if error.fault == EntityFault::Destroyed));
    let error = world.build_clone(twin, dead).unwrap_err();
    assert_eq!(error.entity(), Some(dead));
    let error = world.build_clone(twin, twin).unwrap_err();
    assert!(matches!(error, WorldError::NotBuilt { .. }));
    let error = world.build_clone(twin, built).unwrap_err();
    assert!(matches!(error, WorldError::NotCloneable { name, .. } if &*name == "u8"));
    FUSE.set(0);
    for call in 1..=2 {
        FUSE.set(call);
        catch_unwind(AssertUnwindSafe(|| world.build_clone(twin, ant))).unwrap_err();
        FUSE.set(0);
        assert!(world.exists(twin) && !world.is_built(twin));
        assert_eq!((world.count(), alive.load(Ordering::Relaxed)), (2, 2));
        world.check().unwrap();
    }
    world.build_clone(twin, ant).unwrap();
    assert!(is_ant(&world, twin));
}

#[test]
fn observers_hear_of_a_clone_that_is_built_once() {
    let mut world = World::new();
    world.registry().register_clone::<u8>().unwrap();
    world.resources_mut().insert(Vec::<Entity>::new());
    let ant = world.create((1_u8,)).unwrap();
    world
        .observe::<u8, ()>(Observed::COME, |batch, _| {
            let new: Vec<Entity> = batch.entities().collect();
            let all = batch.resources_mut().get_mut::<Vec<Entity>>();
            all.unwrap().extend(new);
        })
        .unwrap();
    let twin = world.reserve().unwrap();
    world.build_clone(twin, ant).unwrap();
    assert_eq!(world.resources().get::<Vec<Entity>>().unwrap(), &[twin]);
}

#[test]
fn a_prototype_has_the_values_of_an_entity_in_their_roles() {
    let alive = Arc::new(AtomicUsize::new(0));
    let (mut world, ant) = with_named_ant(&alive);
    let prototype = Prototype::of(&world, ant).unwrap();
    assert_eq!(alive.load(Ordering::Relaxed), 4);
    assert_eq!(prototype.composition(), world.composition(ant).unwrap());
    world.clear();
    assert_eq!(alive.load(Ordering::Relaxed), 2);
    let ants = world.create_copies(&prototype, 3_000).unwrap();
    for ant in ants.iter(&world) {
        assert!(is_ant(&world, ant) && world.is_enabled::<Counted>(ant).unwrap());
        assert_eq!(world.name(ant).unwrap(), None);
    }
    // In another world of the universe, which has none of it yet.
    let mut other = World::of(world.universe()).unwrap();
    let copies = other.create_copies(&prototype, 2).unwrap();
    assert!(copies.iter(&other).all(|ant| is_ant(&other, ant)));
    world.check().unwrap();
    other.check().unwrap();
    drop((world, other, prototype));
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_prototype_of_who_cannot_be_cloned_is_refused_before_anything_is() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let ant = ant(&mut world, &alive);
    FUSE.set(1);
    world.add(ant, (1_u8,)).unwrap();
    let error = Prototype::of(&world, ant).unwrap_err();
    assert!(matches!(error, WorldError::NotCloneable { name, .. } if &*name == "u8"));
    struct Proud;
    world.swap::<(u8,), _>(ant, (Proud,)).unwrap();
    let error = Prototype::of(&world, ant).unwrap_err();
    assert!(matches!(error, WorldError::NotCloneable { name, .. } if name.contains("Proud")));
    world.remove::<(Proud,)>(ant).unwrap();
    let reserved = world.reserve().unwrap();
    let error = Prototype::of(&world, reserved).unwrap_err();
    assert!(matches!(error, WorldError::NotBuilt { entity } if entity == reserved));
    assert_eq!(alive.load(Ordering::Relaxed), 2);
    for call in 1..=2 {
        FUSE.set(call);
        catch_unwind(AssertUnwindSafe(|| Prototype::of(&world, ant))).unwrap_err();
        assert_eq!(alive.load(Ordering::Relaxed), 2, "clone {call}");
    }
    FUSE.set(0);
    let prototype = Prototype::of(&world, ant).unwrap();
    drop(prototype);
    assert_eq!(alive.load(Ordering::Relaxed), 2);
}
