//! Universes that are like each other: one registry for all, and nothing else in common.

use core::alloc::Layout;
use std::ops::ControlFlow;
use std::sync::{Arc, Barrier};
use std::thread;

use megachunk::chunk::ChunkOptions;
use megachunk::entity::{EntityMap, IndexOptions};
use megachunk::fragment::FragmentError;
use megachunk::prelude::*;
use megachunk::query::QueryError;
use megachunk::template::spawner::Spawner;
use megachunk::world::SnapshotOptions;

use crate::differing::lines;

struct Late;

fn like(universe: &Universe) -> Arc<Universe> {
    Arc::new(Universe::like(universe))
}

fn numbers(universe: &Universe) -> Vec<(FragmentId, String)> {
    let all = universe.registry().iter();
    all.map(|info| (info.id(), info.name().to_owned()))
        .collect()
}

#[test]
fn what_is_registered_in_one_the_others_know_whenever_it_was_said() {
    let first = Arc::new(Universe::new());
    let early = first.registry().register_plain_as::<u32>("early").unwrap();
    let early = early.id();
    let second = like(&first);
    let third = like(&second);
    let registry = third.registry();
    assert_eq!(registry.find("early").unwrap().id(), early);
    assert_eq!(registry.of::<u32>().unwrap().id(), early);
    let late = registry.define_plain("late", Layout::new::<u8>());
    let late = late.unwrap().id();
    let world = World::of(&second).unwrap();
    world.registry().register::<Late>().unwrap();
    world.registry().register_clone::<String>().unwrap();
    assert_eq!(first.registry().find("late").unwrap().id(), late);
    assert_eq!(numbers(&first), numbers(&second));
    assert_eq!(numbers(&first), numbers(&third));
    let mut there = World::of(&first).unwrap();
    let ant = there.create((String::from("ant"),)).unwrap();
    // What was said of a type in one counts in the other.
    there.clone_entity(ant).unwrap();
}

#[test]
fn ids_and_chunks_are_their_own_and_entities_do_not_move_between_them() {
    let first = Arc::new(Universe::new());
    let second = like(&first);
    let (mut here, mut there) = (World::of(&first).unwrap(), World::of(&second).unwrap());
    let ant = here.create((1_u32,)).unwrap();
    let bee = there.create((2_u32,)).unwrap();
    assert_eq!((first.count(), second.count()), (1, 1));
    assert_eq!(
        here.move_to(&mut there, ant),
        Err(WorldError::OtherUniverse)
    );
    assert_eq!(here.get::<u32>(ant), Ok(&1));
    assert_eq!(there.get::<u32>(bee).unwrap(), &2);
    first.check([&here]).unwrap();
    second.check([&there]).unwrap();
}

#[test]
fn threads_that_register_at_once_in_several_agree() {
    let first = Universe::new();
    let all: Vec<Universe> = (0..4).map(|_| Universe::like(&first)).collect();
    let barrier = Barrier::new(all.len());
    let told: Vec<Vec<FragmentId>> = thread::scope(|scope| {
        let threads: Vec<_> = (all.iter())
            .map(|universe| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    let registry = universe.registry();
                    let one = registry.register::<u64>().unwrap().id();
                    let names = (0..200).map(|n| {
                        let name = format!("fragment {n}");
                        let info = registry.define_plain(&name, Layout::new::<u32>());
                        // Defined by another thread, which may have been quicker.
                        info.map_or_else(|_| registry.find(&name).unwrap().id(), |info| info.id())
                    });
                    [one].into_iter().chain(names).collect()
                })
            })
            .collect();
        let told = threads.into_iter().map(|thread| thread.join().unwrap());
        told.collect()
    });
    assert!(told.iter().all(|ids| *ids == told[0] && ids.len() == 201));
    assert_eq!(numbers(&first).len(), 201);
}

#[test]
fn they_end_in_any_order_and_the_registry_with_the_last() {
    struct Told;
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]] {
        let first = Arc::new(Universe::new());
        let held = Arc::new(());
        let kept = Arc::clone(&held);
        let write = move |_: &(Told, u8), bytes: &mut Vec<u8>| {
            bytes.push(Arc::strong_count(&kept) as u8);
        };
        let read = |_: &[u8], _: &EntityMap| Ok::<_, &str>((Told, 0_u8));
        let registry = first.registry();
        registry
            .register_written_as::<(Told, u8), _, _>("told", write, read)
            .unwrap();
        let mut worlds = [None, None, None];
        worlds[1] = Some(World::of(&like(&first)).unwrap());
        worlds[2] = Some(World::of(&like(&first)).unwrap());
        worlds[0] = Some(World::of(&first).unwrap());
        drop(first);
        for (at, world) in order.into_iter().enumerate() {
            let world = worlds[world].take();
            assert_eq!(Arc::strong_count(&held), 2);
            drop(world);
            let lives = at < 2;
            assert_eq!(Arc::strong_count(&held), 1 + usize::from(lives));
        }
        // On the memory of one of them: nothing is known there.
        assert_eq!(Universe::new().registry().iter().count(), 0);
    }
}

#[test]
fn a_snapshot_goes_from_one_to_the_other_with_nothing_said_there() {
    let first = Arc::new(Universe::ordered());
    first.registry().register_plain_as::<u32>("number").unwrap();
    let mut world = World::of(&first).unwrap();
    let mut ants = Vec::new();
    for n in 0..100_u32 {
        ants.push(world.create((n,)).unwrap());
    }
    world.destroy(ants[7]).unwrap();
    let saved = world.to_snapshot(&Default::default()).unwrap();
    let mut copy =
        World::from_snapshot(&saved, Universe::like(&first), &Default::default()).unwrap();
    assert!(copy.universe().is_ordered());
    assert_eq!(
        copy.state_hash(&Default::default()).unwrap(),
        world.state_hash(&Default::default()).unwrap()
    );
    assert_eq!(copy.get::<u32>(ants[99]), Ok(&99));
    assert_eq!(numbers(copy.universe()), numbers(&first));
    assert_eq!(copy.create((1_u32,)), world.create((1_u32,)));
}

#[test]
fn values_prototypes_and_queries_of_run_time_serve_the_worlds_of_both() {
    let first = Arc::new(Universe::new());
    let health = first
        .registry()
        .define_plain("health", Layout::new::<u32>());
    let health = health.unwrap().id();
    let (mut here, mut there) = (
        World::of(&first).unwrap(),
        World::of(&like(&first)).unwrap(),
    );
    let value = |n: u32| Value::from_bytes(first.registry(), health, &n.to_ne_bytes()).unwrap();
    there
        .create_dynamic(DynamicBundle::new().with(value(5)))
        .unwrap();
    let bundle = DynamicBundle::new().with(value(7));
    let ant = Arc::new(Prototype::new(first.registry(), bundle).unwrap());
    there.create_copy(&ant).unwrap();
    here.create_copy(&ant).unwrap();
    let mut query = DynamicQuery::builder(&here).read(health).build().unwrap();
    let mut sums = Vec::new();
    for world in [&mut here, &mut there] {
        let mut sum = 0;
        for mut chunk in query.on(world).unwrap().chunks() {
            sum += chunk
                .read(health)
                .unwrap()
                .plain::<u32>()
                .unwrap()
                .iter()
                .sum::<u32>();
        }
        sums.push(sum);
    }
    assert_eq!(sums, [7, 12]);
    let mut other = World::new();
    assert!(matches!(
        query.on(&mut other),
        Err(QueryError::OtherUniverse)
    ));
    // A query keeps the registry, not the universes.
    drop((here, there));
    drop(first);
    assert!(format!("{query:?}").contains("health"));
    let refused = other.create_dynamic(
        DynamicBundle::new().with(Value::new(&FragmentRegistry::new(), 1_u8).unwrap()),
    );
    let other_universe = WorldError::Fragment(FragmentError::OtherUniverse { id: health });
    assert_eq!(refused, Err(other_universe));
}

#[test]
fn handles_of_a_spawn_mean_nothing_in_the_other() {
    let first = Arc::new(Universe::new());
    let (mut here, mut there) = (
        World::of(&first).unwrap(),
        World::of(&like(&first)).unwrap(),
    );
    let value = Value::cloneable(first.registry(), 1_u8).unwrap();
    let ant = Prototype::new(first.registry(), DynamicBundle::new().with(value)).unwrap();
    let spawner = Spawner::new(10)
        .prototype("ant", &Arc::new(ant), 1.0)
        .unwrap();
    let ants = spawner.spawn(&mut here).unwrap();
    let others = spawner.spawn(&mut there).unwrap();
    // They have the same bits.
    assert!(ants.iter().eq(others.iter()));
    assert_eq!((ants.despawn(&mut there), there.count()), (0, 10));
    assert_eq!((ants.despawn(&mut here), here.count()), (10, 0));
}

#[test]
fn a_like_one_has_the_options_it_is_given_and_is_ordered_as_the_first() {
    let chunks = ChunkOptions::new().at_most(1);
    let first = Universe::ordered();
    first.registry().register::<u64>().unwrap();
    let second = Universe::like_with(&first, &IndexOptions::new(), &chunks).unwrap();
    assert!(second.is_ordered() && Universe::like(&second).is_ordered());
    assert!(!Universe::like(&Universe::new()).is_ordered());
    let mut world = World::of(&Arc::new(second)).unwrap();
    assert!(world.registry().of::<u64>().is_some());
    let many = world.create_batch((0..1_000_000_u64).map(|n| (n,)));
    assert!(many.is_err());
    drop(first);
    world.create((1_u64,)).unwrap();
}

/// A tag.
#[derive(Clone, Copy)]
struct Marked;
megachunk::plain!(Marked {});

fn register_number_and_team(registry: &FragmentRegistry) {
    registry.register_plain_as::<u32>("number").unwrap();
    registry.register_plain_as::<Shared<u16>>("team").unwrap();
}

/// A world of so many entities of a team, numbered; of a universe in which they are the first.
fn numbered(universe: Arc<Universe>) -> (World, Vec<Entity>) {
    let mut world = World::of(&universe).unwrap();
    let all = (0..5_u32).map(|n| world.create((n,).shared(5_u16)).unwrap());
    let all = all.collect();
    (world, all)
}

#[test]
fn what_worlds_of_both_differ_in_is_told_thing_by_thing() {
    let first = Arc::new(Universe::ordered());
    register_number_and_team(first.registry());
    let marked = first
        .registry()
        .register_plain_as::<Marked>("marked")
        .unwrap()
        .id();
    let (mut there, _) = numbered(like(&first));
    let (mut here, ants) = numbered(first);
    assert_eq!(lines(&here, &there), [""; 0]);
    assert_eq!(
        here.state_hash(&Default::default()),
        there.state_hash(&Default::default())
    );

    there.destroy(ants[4]).unwrap();
    there.set_shared(ants[3], 0x0505_u16).unwrap();
    here.add(ants[2], (Marked,)).unwrap();
    *here.get_mut::<u32>(ants[1]).unwrap() = 0x0101;
    here.destroy(ants[0]).unwrap();
    let [zero, one, two, three, four] = ants[..] else {
        unreachable!("five were created");
    };
    let told = lines(&here, &there);
    if cfg!(target_endian = "little") {
        let expected = [
            format!("{zero} is only there"),
            format!("{one}: fragment number differs at byte 1 of 4: 01010000 here, 01000000 there"),
            format!("{two} has only here a tag marked"),
            format!("{three}: shared fragment team differs at byte 1 of 2: 0500 here, 0505 there"),
            format!("{four} is only here"),
        ];
        assert_eq!(told, expected);
    }
    assert_eq!((told.len(), lines(&there, &here).len()), (5, 5));
    assert_ne!(
        here.state_hash(&Default::default()),
        there.state_hash(&Default::default())
    );
    // A number means the same in both.
    let options = SnapshotOptions::new().skip(marked);
    let told = here.differences(&there, &options, |_| ControlFlow::Continue(()));
    assert_eq!(told, Ok(4));
}

#[test]
fn a_world_of_another_registry_is_compared_by_names_and_what_cannot_be_is_an_error_that_names_it() {
    let first = Arc::new(Universe::ordered());
    register_number_and_team(first.registry());
    let (mut here, ants) = numbered(like(&first));
    let other = Universe::ordered();
    // Other numbers.
    other.registry().register_plain_as::<u8>("level").unwrap();
    register_number_and_team(other.registry());
    let (mut there, _) = numbered(Arc::new(other));
    assert_eq!(lines(&here, &there), [""; 0]);
    there.add(ants[0], (7_u8,)).unwrap();
    let told = format!("{} has only there a fragment level of 1 bytes", ants[0]);
    assert_eq!(lines(&here, &there), [told]);
    // Nothing says how it is compared.
    there.create((String::from("bee"),)).unwrap();
    for (one, two) in [(&here, &there), (&there, &here)] {
        let refused = one.differences(two, &SnapshotOptions::new(), |_| {
            unreachable!("it is refused")
        });
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("String"), "{refused}");
    }
    here.destroy(ants[0]).unwrap();
    here.check().unwrap();
    there.check().unwrap();
}
