//! Saved entities come back with new ids, where others live.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use crate::snapshot_files::Path;
use crate::snapshot_world::{check, small_world, small_worlds};
use crate::snapshots::bytes;
use megachunk::entity::EntityMap;
use megachunk::fragment::{FragmentRegistry, MapEntities, Plain};
use megachunk::prelude::*;
use megachunk::world::{SnapshotError, SnapshotOptions};

/// Who belongs to whom, as a fragment, a chunk's, and a shared one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
struct Owner {
    whom: Entity,
    also: [Entity; 2],
    since: u32,
    _padding: [u8; 4],
}
megachunk::plain!(Owner {
    whom,
    also,
    since,
    _padding
});

fn owner(whom: Entity, since: u32) -> Owner {
    Owner {
        whom,
        also: [whom, Entity::PLACEHOLDER],
        since,
        _padding: [0; 4],
    }
}

fn register(registry: &FragmentRegistry) {
    registry.register_plain::<Owner>().unwrap();
    registry.register_plain::<PerChunk<Owner>>().unwrap();
    registry.register_plain::<Shared<Owner>>().unwrap();
    registry.register_plain::<ConstShared<Owner>>().unwrap();
    registry.register_plain::<u32>().unwrap();
}

fn universe() -> Arc<Universe> {
    let universe = Arc::new(Universe::new());
    register(universe.registry());
    universe
}

/// A world that others share a universe with.
fn inhabited() -> (World, Vec<Entity>) {
    let mut world = World::of(&universe()).unwrap();
    let all = world.create_batch((0..1_000_u32).map(|n| (n,))).unwrap();
    let all: Vec<Entity> = all.iter(&world).collect();
    (world, all)
}

#[test]
fn all_that_a_snapshot_can_hold_comes_back_under_other_names() {
    for count in [0, 1, 17, 2_000] {
        check(&bytes(&small_world(count).0)).unwrap();
        let worlds = small_worlds(count);
        let worlds = worlds.each_ref();
        for options in [SnapshotOptions::new(), SnapshotOptions::new().skip_dead()] {
            check(&World::worlds_to_snapshot(&worlds, &options).unwrap()).unwrap();
        }
    }
}

#[test]
fn handles_lead_to_whom_they_meant_in_every_role() {
    let mut world = World::new();
    register(world.registry());
    let ants = world.create_batch((0..600_u32).map(|n| (n,))).unwrap();
    let ants: Vec<Entity> = ants.iter(&world).collect();
    for pair in ants.windows(2).step_by(2) {
        // To whom comes later in the file, too.
        world.add(pair[0], (owner(pair[1], 1),)).unwrap();
        world.add(pair[1], (owner(pair[0], 2),)).unwrap();
    }
    world
        .add(
            ants[3],
            ().per_chunk(owner(ants[4], 3))
                .shared(owner(ants[5], 4))
                .const_shared(owner(ants[6], 5)),
        )
        .unwrap();
    *world.chunk_fragment_mut::<Owner>(ants[3]).unwrap() = owner(ants[7], 6);
    // Two values that only the dead tell apart.
    let (dead, dying) = (ants[100], ants[101]);
    world.add(ants[8], ().shared(owner(dead, 7))).unwrap();
    world.add(ants[9], ().shared(owner(dying, 7))).unwrap();
    world.add(ants[10], (owner(dead, 8),)).unwrap();
    world.destroy(dead).unwrap();
    world.destroy(dying).unwrap();

    let (mut native, natives) = inhabited();
    let saved = bytes(&world);
    let (mut copy, entities) = World::from_snapshot_remapped(
        &saved,
        native.universe(),
        &EntityMap::default(),
        &Default::default(),
    )
    .unwrap();
    copy.check().unwrap();
    let new = |old: Entity| entities.get(old).unwrap();
    assert!(
        ants.iter()
            .all(|&ant| entities.get(ant).is_some() == world.exists(ant))
    );
    let expected = |old: &Owner| Owner {
        whom: entities.get(old.whom).unwrap_or(Entity::PLACEHOLDER),
        also: old
            .also
            .map(|old| entities.get(old).unwrap_or(Entity::PLACEHOLDER)),
        ..*old
    };
    for &ant in ants.iter().filter(|&&ant| world.exists(ant)) {
        let here = world.get::<Owner>(ant).ok().map(expected);
        assert_eq!(copy.get::<Owner>(new(ant)).ok().copied(), here);
    }
    let three = new(ants[3]);
    let chunk = copy.chunk_fragment::<Owner>(three).unwrap();
    assert_eq!(chunk, &owner(new(ants[7]), 6));
    let shared = copy.shared::<Owner>(three).unwrap();
    assert_eq!(shared, &owner(new(ants[5]), 4));
    let shared = copy.const_shared::<Owner>(three).unwrap();
    assert_eq!(shared, &owner(new(ants[6]), 5));
    // What new chunks of the composition begin with.
    let begins = copy
        .create(
            ().per_chunk(owner(three, 9))
                .shared(owner(three, 4))
                .const_shared(owner(three, 5)),
        )
        .unwrap();
    assert!(copy.is_built(begins));
    let [eight, nine] = [ants[8], ants[9]].map(|ant| *copy.shared::<Owner>(new(ant)).unwrap());
    assert_eq!((eight, eight.whom), (nine, Entity::PLACEHOLDER));
    copy.check().unwrap();

    // They go on together with those that were there.
    let count = copy.count();
    assert_eq!(copy.move_all_to(&mut native).unwrap(), count);
    native.check().unwrap();
    assert_eq!(
        native.get::<Owner>(new(ants[0])).unwrap().whom,
        new(ants[1])
    );
    assert!(
        (0..)
            .zip(&natives)
            .all(|(n, &ant)| native.get::<u32>(ant) == Ok(&n))
    );
}

#[test]
fn threads_load_the_same_file_while_others_create_and_destroy() {
    let mut world = World::new();
    register(world.registry());
    let first = world.create((0_u32,)).unwrap();
    let _ = world
        .create_batch((1..5_000_u32).map(|n| (n, owner(first, n))))
        .unwrap();
    let path = Path::new("remapped");
    world.save(&path.0, &Default::default()).unwrap();

    let (mut native, natives) = inhabited();
    let universe = Arc::clone(native.universe());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (sender, universe, path) = (sender.clone(), &universe, &path);
            scope.spawn(move || {
                for _ in 0..6 {
                    let loaded = World::load_remapped(
                        &path.0,
                        universe,
                        &EntityMap::default(),
                        &Default::default(),
                    )
                    .unwrap();
                    sender.send(loaded).unwrap();
                }
            });
        }
        drop(sender);
        let mut loaded = 0;
        while loaded < 12 {
            let spark = native.create((1_u32,)).unwrap();
            if let Ok((mut copy, entities)) = receiver.try_recv() {
                loaded += 1;
                let leader = entities.get(first).unwrap();
                copy.read::<&Owner, ()>().unwrap().iter().for_each(|owner| {
                    assert_eq!(owner.whom, leader);
                });
                if loaded % 3 == 0 {
                    drop(copy);
                } else {
                    assert_eq!(copy.move_all_to(&mut native).unwrap(), 5_000);
                }
            }
            native.destroy(spark).unwrap();
        }
    });
    native.check().unwrap();
    assert_eq!(native.count(), 1_000 + 8 * 5_000);
    assert_eq!(universe.count(), native.count());
    assert!(natives.iter().all(|&ant| native.is_built(ant)));
}

#[test]
fn chunks_that_were_loaded_are_handed_over_where_they_are() {
    let mut world = World::new();
    register(world.registry());
    let _ = world
        .create_batch((0..50_000_u32).map(|n| (n, owner(Entity::PLACEHOLDER, n))))
        .unwrap();
    let (mut native, _) = inhabited();
    let (mut copy, entities) = World::from_snapshot_remapped(
        &bytes(&world),
        native.universe(),
        &EntityMap::default(),
        &Default::default(),
    )
    .unwrap();
    let address = |world: &World| -> Vec<usize> {
        let all = entities
            .iter()
            .map(|(_, now)| core::ptr::from_ref(world.get::<Owner>(now).unwrap()));
        all.map(|at| at.addr()).collect()
    };
    let before = address(&copy);
    copy.move_all_to(&mut native).unwrap();
    let stayed = before
        .iter()
        .zip(address(&native))
        .filter(|(a, b)| **a == *b);
    // The last chunk may be less than half full.
    assert!(stayed.count() > 40_000);
}

#[test]
fn an_ordered_universe_gives_the_same_ids_each_time() {
    let saved = bytes(&small_world(500).0);
    let ids = || {
        let universe = Universe::ordered();
        crate::snapshot_world::register(universe.registry());
        let universe = Arc::new(universe);
        let mut native = World::of(&universe).unwrap();
        let natives: Vec<Entity> = (0..200_u64).map(|n| native.create((n,)).unwrap()).collect();
        natives
            .iter()
            .step_by(3)
            .for_each(|&ant| native.destroy(ant).unwrap());
        let (copy, entities) = World::from_snapshot_remapped(
            &saved,
            &universe,
            &EntityMap::default(),
            &Default::default(),
        )
        .unwrap();
        universe.check([&native, &copy]).unwrap();
        let hash = copy.state_hash(&Default::default()).unwrap();
        drop(copy);
        universe.check([&native]).unwrap();
        let next = native.create((7_u64,)).unwrap();
        (entities.iter().collect::<Vec<_>>(), hash, next)
    };
    let first = ids();
    assert_eq!(first, ids());
    assert_eq!(first.2.index(), 0, "the lowest is free again");
}

#[test]
fn whom_else_handles_mean_is_said_by_whoever_loads() {
    let (mut native, natives) = inhabited();
    let universe = Arc::clone(native.universe());
    // Two regions of this very universe are saved, and go.
    let region = |number: u32, friends: [Entity; 2]| {
        let mut region = World::of(&universe).unwrap();
        let first = region.create((number,)).unwrap();
        let owner = |also| Owner {
            also,
            ..owner(first, number)
        };
        region.add(first, (owner(friends),)).unwrap();
        (first, bytes(&region))
    };
    let (one, saved_one) = region(1, [natives[5], natives[6]]);
    let (two, saved_two) = region(2, [natives[5], one]);
    native.destroy(natives[6]).unwrap();
    // Who has not gone since is meant still.
    let known: EntityMap = [(natives[5], natives[5])].into_iter().collect();
    let (world_one, come) =
        World::from_snapshot_remapped(&saved_one, &universe, &known, &Default::default()).unwrap();
    let first = come.get(one).unwrap();
    let expected = Owner {
        also: [natives[5], Entity::PLACEHOLDER],
        ..owner(first, 1)
    };
    assert_eq!(world_one.get::<Owner>(first), Ok(&expected));
    assert_eq!(
        come.iter().collect::<Vec<_>>(),
        [(one, first)],
        "who has come, and nobody else"
    );
    // One region means another one's. Who comes is meant before who is known.
    let known: EntityMap = known
        .iter()
        .chain(come.iter())
        .chain([(two, natives[7])])
        .collect();
    let (world_two, come) =
        World::from_snapshot_remapped(&saved_two, &universe, &known, &Default::default()).unwrap();
    let second = come.get(two).unwrap();
    let expected = Owner {
        also: [natives[5], first],
        ..owner(second, 2)
    };
    assert_eq!(world_two.get::<Owner>(second), Ok(&expected));
    // Or all who do not come are meant as ever: it is the same universe.
    let all = EntityMap::default().keeping_others();
    let (world_three, come) =
        World::from_snapshot_remapped(&saved_one, &universe, &all, &Default::default()).unwrap();
    let third = come.get(one).unwrap();
    let expected = Owner {
        also: [natives[5], natives[6]],
        ..owner(third, 1)
    };
    assert_eq!(world_three.get::<Owner>(third), Ok(&expected));
    assert!(!universe.exists(natives[6]), "who is dead stays dead");
    let mut friends = [one, natives[5]];
    come.clone().keeping_others().apply(&mut friends);
    assert_eq!(friends, [third, natives[5]]);
    // The placeholder is nobody, whatever a map says.
    let all: EntityMap = [(Entity::PLACEHOLDER, third)].into_iter().collect();
    let mut nobody = Entity::PLACEHOLDER;
    all.apply(&mut nobody);
    assert_eq!(nobody, Entity::PLACEHOLDER);
    // Another handle of its slot, which nobody can have, is one of those that do not come.
    let nobody = Entity::new(Entity::PLACEHOLDER.index(), 37).unwrap();
    let mut both = [nobody; 2];
    come.apply(&mut both[0]);
    come.clone().keeping_others().apply(&mut both[1]);
    assert_eq!(both, [Entity::PLACEHOLDER, nobody]);
    // By hand, as what is not of any fragment.
    let mut friends = [one, two];
    known.apply(&mut friends);
    assert_eq!(friends, [first, natives[7]]);
    let mut nothing = [7_u8; 4];
    known.apply(&mut nothing);
    assert_eq!(nothing, [7; 4]);
}

#[test]
fn of_the_living_only_a_file_is_short_and_does_not_come_with_its_ids() {
    let mut world = World::new();
    register(world.registry());
    let crowd = world.create_batch((0..200_000_u32).map(|n| (n,))).unwrap();
    let crowd: Vec<Entity> = crowd.iter(&world).collect();
    let mut few = World::of(world.universe()).unwrap();
    for number in 0..10_u32 {
        few.create((owner(crowd[7], number),)).unwrap();
    }
    let options = SnapshotOptions::new().skip_dead();
    let (all, living) = (bytes(&few), few.to_snapshot(&options).unwrap());
    assert!(
        all.len() > 4 * 200_000 && living.len() < 2_000,
        "{}",
        living.len()
    );
    assert_eq!(
        few.state_hash(&Default::default()),
        few.state_hash(&options)
    );
    let fresh = Universe::new();
    register(fresh.registry());
    let refused = World::from_snapshot(&living, fresh, &Default::default()).unwrap_err();
    assert_eq!(refused, SnapshotError::DeadSkipped);
    for saved in [all, living] {
        let (copy, entities) = World::from_snapshot_remapped(
            &saved,
            world.universe(),
            &EntityMap::default(),
            &Default::default(),
        )
        .unwrap();
        assert_eq!((copy.count(), entities.len()), (10, 10));
        let sum: u32 = copy
            .read::<&Owner, ()>()
            .unwrap()
            .iter()
            .map(|owner| owner.since)
            .sum();
        assert_eq!(sum, 45);
    }
}

#[test]
fn chunks_without_entities_do_not_come() {
    let mut world = World::new();
    register(world.registry());
    world.set_chunk_size(64);
    for number in 0..20_u32 {
        let ant = world
            .create((number,).shared(owner(Entity::PLACEHOLDER, number)))
            .unwrap();
        let _ = world.create((owner(ant, 1), number)).unwrap();
    }
    world.clear();
    world.create((owner(Entity::PLACEHOLDER, 1),)).unwrap();
    let saved = bytes(&world);
    let (native, _) = inhabited();
    let before = native.universe().chunk_stats().in_use;
    let (copy, _) = World::from_snapshot_remapped(
        &saved,
        native.universe(),
        &EntityMap::default(),
        &Default::default(),
    )
    .unwrap();
    assert_eq!(copy.count(), 1);
    assert_eq!(native.universe().chunk_stats().in_use, before + 64);
    drop(copy);
    assert_eq!(native.universe().chunk_stats().in_use, before);
}

/// A handle that must be somebody's: of a dead one's there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
struct Target(Entity);

// SAFETY: a handle, and what it becomes is one.
unsafe impl Plain for Target {
    const IS_VALUE: Option<fn(&[u8]) -> bool> = Some(|bytes| {
        let is_entity = Entity::IS_VALUE.is_some_and(|is_entity| is_entity(bytes));
        is_entity && bytes[..4] != Entity::PLACEHOLDER.index().to_ne_bytes()
    });
    const MAP_ENTITIES: Option<MapEntities> = Entity::MAP_ENTITIES;
}

#[test]
fn a_value_that_is_none_when_it_names_nobody_is_refused_in_every_role() {
    let registered = |registry: &FragmentRegistry| {
        registry.register_plain::<Target>().unwrap();
        registry.register_plain::<PerChunk<Target>>().unwrap();
        registry.register_plain::<Shared<Target>>().unwrap();
    };
    let roles: [fn(&mut World, Target); 3] = [
        |world, target| _ = world.create((target,)).unwrap(),
        |world, target| _ = world.create(().per_chunk(target)).unwrap(),
        |world, target| _ = world.create(().shared(target)).unwrap(),
    ];
    let (native, _) = inhabited();
    let universe = native.universe();
    registered(universe.registry());
    for (role, fill) in roles.iter().enumerate() {
        let mut world = World::new();
        registered(world.registry());
        let ant = world.create(()).unwrap();
        fill(&mut world, Target(ant));
        let load = |saved: &[u8]| {
            World::from_snapshot_remapped(
                saved,
                universe,
                &EntityMap::default(),
                &Default::default(),
            )
        };
        let (copy, _) = load(&bytes(&world)).unwrap();
        assert_eq!(copy.count(), 2);
        drop(copy);
        world.destroy(ant).unwrap();
        let saved = bytes(&world);
        let Err(SnapshotError::NotAValue { name, at, .. }) = load(&saved) else {
            panic!("role {role}");
        };
        assert!(name.ends_with("Target"));
        assert_eq!(
            saved[at as usize..][..4],
            ant.index().to_ne_bytes(),
            "role {role}"
        );
        assert_eq!(universe.count(), 1_000);
    }
}

#[test]
fn what_new_chunks_began_with_and_is_none_when_it_names_nobody_is_what_a_chunk_has() {
    let mut world = World::new();
    let registered = |registry: &FragmentRegistry| {
        registry.register_plain::<PerChunk<Target>>().unwrap();
        registry.register_plain::<u32>().unwrap();
        registry.register_plain::<u8>().unwrap();
    };
    registered(world.registry());
    let (ant, bee) = (world.create(()).unwrap(), world.create(()).unwrap());
    let bundle = (1_u32, 7_u8).per_chunk(Target(ant));
    let child = world.create(bundle).unwrap();
    *world.chunk_fragment_mut::<Target>(child).unwrap() = Target(bee);
    world.destroy(ant).unwrap();
    let saved = bytes(&world);
    let fresh = Universe::new();
    registered(fresh.registry());
    World::from_snapshot(&saved, fresh, &Default::default()).unwrap();
    let (native, _) = inhabited();
    registered(native.registry());
    let known = EntityMap::default();
    let (mut copy, entities) =
        World::from_snapshot_remapped(&saved, native.universe(), &known, &Default::default())
            .unwrap();
    copy.check().unwrap();
    assert_eq!(copy.count(), 2);
    let (bee, child) = (entities.get(bee).unwrap(), entities.get(child).unwrap());
    assert_eq!(copy.chunk_fragment::<Target>(child).unwrap(), &Target(bee));
    assert_eq!(copy.get::<u8>(child).unwrap(), &7);
    // Who comes to a chunk of its own finds what the other has.
    copy.destroy(child).unwrap();
    let next = copy.create((2_u32, 8_u8).per_chunk(Target(child)));
    let next = copy.chunk_fragment::<Target>(next.unwrap()).unwrap();
    assert_eq!(next, &Target(bee));
}

type Meanwhile = Box<dyn FnMut(&EntityMap)>;

std::thread_local! {
    /// What is to be done when a value's handles are mapped.
    static MEANWHILE: RefCell<Option<Meanwhile>> = const { RefCell::new(None) };
}

/// Something that does as told when its handles are mapped.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Nosy(u64);

// SAFETY: a number.
unsafe impl Plain for Nosy {
    const MAP_ENTITIES: Option<MapEntities> = Some(|_, entities| {
        MEANWHILE.with_borrow_mut(|meanwhile| {
            if let Some(meanwhile) = meanwhile {
                meanwhile(entities);
            }
        });
    });
}

#[test]
fn who_is_on_the_way_is_elsewhere_to_all_others() {
    let mut world = World::new();
    world.registry().register_plain::<Nosy>().unwrap();
    world.registry().register_plain::<u32>().unwrap();
    let all: Vec<Entity> = (0..3).map(|n| world.create((Nosy(n),)).unwrap()).collect();
    let last = world.create((Nosy(9), 1_u32)).unwrap();
    let saved = bytes(&world);
    let (mut native, _) = inhabited();
    native.registry().register_plain::<Nosy>().unwrap();
    let universe = Arc::clone(native.universe());
    let seen = Rc::new(RefCell::new(Vec::new()));
    let note = Rc::clone(&seen);
    let other = World::of(&universe).unwrap();
    MEANWHILE.set(Some(Box::new(move |entities| {
        for &old in all.iter().chain([&last]) {
            let new = entities.get(old).unwrap();
            assert!(native.universe().exists(new));
            let answers = [
                native.destroy(new).unwrap_err(),
                native.add(new, (1_u32,)).unwrap_err(),
                native.get::<u32>(new).map(drop).unwrap_err(),
                native.set_name(new, "mine").unwrap_err(),
            ];
            assert!(answers.iter().all(
                |error| matches!(error, WorldError::Elsewhere { entity, .. } if *entity == new)
            ));
            assert_eq!(
                native.build(new, (1_u32,)),
                Err(WorldError::AlreadyBuilt { entity: new })
            );
            assert_eq!(
                other.release(new),
                Err(WorldError::AlreadyBuilt { entity: new })
            );
            let mut commands = native.commands();
            commands.destroy(new);
            commands.add(new, (1_u32,)).unwrap();
            drop(commands);
            let report = native.flush();
            assert_eq!((report.dead, report.refused.len()), (0, 2));
            note.borrow_mut().push(new);
        }
    })));
    let (copy, entities) = World::from_snapshot_remapped(
        &saved,
        &universe,
        &EntityMap::default(),
        &Default::default(),
    )
    .unwrap();
    MEANWHILE.set(None);
    assert_eq!(seen.borrow().len(), 4 * 4);
    assert!(entities.iter().all(|(_, new)| copy.is_built(new)));
    copy.check().unwrap();
}

/// A byte, of which 171 is none, and about which 255 panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
struct Digit(u8);

// SAFETY: one byte.
unsafe impl Plain for Digit {
    const IS_VALUE: Option<fn(&[u8]) -> bool> = Some(|bytes| {
        assert!(bytes[0] != 255, "such a byte was never seen");
        bytes[0] != 171
    });
}

#[test]
fn what_is_refused_halfway_leaves_no_entity_and_no_chunk() {
    type Fill = fn(&mut World, fn(u8) -> [u8; 1], u8);
    // Under the name of another type its bytes are what they want.
    let saved = |fill: Fill, byte: u8| {
        let mut world = World::new();
        let registry = world.registry();
        registry.register_plain_as::<[u8; 1]>("digit").unwrap();
        registry
            .register_plain_as::<PerChunk<[u8; 1]>>("chunk digit")
            .unwrap();
        registry
            .register_plain_as::<Shared<[u8; 1]>>("shared digit")
            .unwrap();
        registry.register_plain::<u32>().unwrap();
        let _ = world
            .create_batch((0..5_000_u32).map(|n| (n, [7_u8])))
            .unwrap();
        fill(&mut world, |byte| [byte], byte);
        bytes(&world)
    };
    let roles: [Fill; 3] = [
        |world, digit, byte| _ = world.create((1_u32, digit(byte))).unwrap(),
        |world, digit, byte| {
            let ant = world.create((1_u32,).per_chunk(digit(1))).unwrap();
            *world.chunk_fragment_mut::<[u8; 1]>(ant).unwrap() = digit(byte);
        },
        |world, digit, byte| _ = world.create((1_u32,).shared(digit(byte))).unwrap(),
    ];
    let (mut native, natives) = {
        let (native, natives) = inhabited();
        let registry = native.registry();
        registry.register_plain_as::<Digit>("digit").unwrap();
        registry
            .register_plain_as::<PerChunk<Digit>>("chunk digit")
            .unwrap();
        registry
            .register_plain_as::<Shared<Digit>>("shared digit")
            .unwrap();
        (native, natives)
    };
    let universe = Arc::clone(native.universe());
    let stands = || (universe.count(), universe.chunk_stats().in_use);
    let before = stands();
    for (role, &fill) in roles.iter().enumerate() {
        let (copy, _) = World::from_snapshot_remapped(
            &saved(fill, 9),
            &universe,
            &EntityMap::default(),
            &Default::default(),
        )
        .unwrap();
        assert_eq!(copy.count(), 5_001);
        drop(copy);
        assert_eq!(stands(), before, "role {role}");
        let refused = World::from_snapshot_remapped(
            &saved(fill, 171),
            &universe,
            &EntityMap::default(),
            &Default::default(),
        );
        assert!(
            matches!(refused, Err(SnapshotError::NotAValue { .. })),
            "role {role}"
        );
        drop(refused);
        assert_eq!(stands(), before, "role {role}");
        let bytes = saved(fill, 255);
        let load = || {
            World::from_snapshot_remapped(
                &bytes,
                &universe,
                &EntityMap::default(),
                &Default::default(),
            )
            .map(drop)
        };
        catch_unwind(AssertUnwindSafe(load)).unwrap_err();
        assert_eq!(stands(), before, "role {role}");
    }
    native.check().unwrap();
    assert!(natives.iter().all(|&ant| native.destroy(ant).is_ok()));
}

#[test]
fn what_is_no_snapshot_or_not_registered_changes_nothing() {
    let (native, _) = inhabited();
    let universe = native.universe();
    let error = World::from_snapshot_remapped(
        b"no snapshot",
        universe,
        &EntityMap::default(),
        &Default::default(),
    )
    .unwrap_err();
    assert_eq!(error, SnapshotError::Foreign);
    let two = small_worlds(3);
    let two = World::worlds_to_snapshot(&two.each_ref(), &SnapshotOptions::new()).unwrap();
    let error =
        World::from_snapshot_remapped(&two, universe, &EntityMap::default(), &Default::default())
            .unwrap_err();
    assert!(
        matches!(error, SnapshotError::Unregistered { .. }),
        "{error}"
    );
    let known = Arc::new(crate::snapshot_world::universe());
    let error =
        World::from_snapshot_remapped(&two, &known, &EntityMap::default(), &Default::default())
            .unwrap_err();
    assert_eq!(error, SnapshotError::Worlds { found: 2 });
    assert_eq!((known.count(), universe.count()), (0, 1_000));
    let empty = Path::new("remapped-empty");
    std::fs::write(&empty.0, b"").unwrap();
    let error = World::load_remapped(
        &empty.0,
        universe,
        &EntityMap::default(),
        &Default::default(),
    )
    .unwrap_err();
    let SnapshotError::In { error, .. } = error else {
        panic!("{error:?}");
    };
    assert!(matches!(*error, SnapshotError::Length { found: 0, .. }));
    let error = World::load_worlds_remapped(
        "nowhere/at/all",
        universe,
        &EntityMap::default(),
        &LoadOptions::new(),
    )
    .unwrap_err();
    assert!(matches!(error, SnapshotError::File { .. }), "{error}");
}
