//! What is written comes back: from whole worlds, from some of their entities, beside others, by any number of threads.

use std::sync::Arc;

use megachunk::entity::EntityMap;
use megachunk::prelude::*;
use megachunk::world::{SnapshotError, SnapshotState, SnapshotSummary};

use crate::snapshot_world::{check, let_speak, small_world, small_worlds};
use crate::written::all;
use crate::written::forms::{Faction, Name, Order, Pack, filled, told, universe};

#[test]
fn a_world_with_texts_lists_and_enums_comes_back_the_same() {
    for count in [0, 1, 2, 40, 3_000] {
        let (world, entities) = filled(count);
        let file = world.to_snapshot(&all()).unwrap();
        let loaded = World::from_snapshot(&file, universe(), &Default::default()).unwrap();
        loaded.check().unwrap();
        assert_eq!(loaded.count(), world.count());
        for &entity in entities.iter().skip(1) {
            assert_eq!(told(&loaded, entity, |e| e), told(&world, entity, |e| e));
        }
        assert_eq!(
            loaded.state_hash(&Default::default()).unwrap(),
            world.state_hash(&Default::default()).unwrap()
        );
        assert_eq!(loaded.to_snapshot(&all()).unwrap(), file);
        let continued = [&world, &loaded].map(|world| world.continuation_hash(&all()).unwrap());
        assert_eq!(continued[0], continued[1]);
        let state = SnapshotState::of(&file).unwrap();
        let hashes = world.state_hashes(&all()).unwrap();
        assert_eq!(state.state_hashes(0), Some(hashes));
        assert!(
            world
                .first_differences(&loaded, &all(), 1)
                .unwrap()
                .is_empty()
        );
    }
}

#[test]
fn files_are_of_the_format_of_plain_data_unless_something_is_written() {
    let format = |world: &World| SnapshotSummary::of(&world.to_snapshot(&all()).unwrap());
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let ant = world.create((1_u32,)).unwrap();
    assert_eq!(format(&world).unwrap().format, 5);
    world.add(ant, (Name("ant".into()),)).unwrap();
    let summary = format(&world).unwrap();
    assert_eq!(summary.format, 6);
    let [health, name] = &summary.fragments[..] else {
        panic!("{summary}");
    };
    assert_eq!((health.is_written, name.is_written), (false, true));
    assert_eq!(name.size, size_of::<Name>() as u64);
    assert!(
        summary.to_string().contains("written  name (fragment)"),
        "{summary}"
    );
    assert!(summary.chunk_bytes >= 16 << 10);
}

#[test]
fn handles_in_written_values_lead_to_those_who_have_come() {
    let (world, entities) = filled(300);
    let file = world.to_snapshot(&all()).unwrap();
    let universe = Arc::new(universe());
    let mut native = World::of(&universe).unwrap();
    let hare = native
        .create((1_u32, Name("hare".into()), Order::Idle))
        .unwrap();
    // The dead one is the hare, here.
    let known: EntityMap = [(entities[0], hare)].into_iter().collect();
    for _ in 0..2 {
        let (mut copy, come) =
            World::from_snapshot_remapped(&file, &universe, &known, &Default::default()).unwrap();
        copy.check().unwrap();
        let new = |old| come.get(old).unwrap_or(hare);
        for &old in &entities[1..] {
            assert_eq!(told(&copy, new(old), |e| e), told(&world, old, new));
        }
        copy.move_all_to(&mut native).unwrap();
    }
    native.check().unwrap();
    assert_eq!(native.count(), 1 + 2 * world.count());
    // Nobody is known: who is dead is nobody.
    let (copy, come) =
        World::from_snapshot_remapped(&file, &universe, &EntityMap::default(), &Default::default())
            .unwrap();
    let nobody = |old| come.get(old).unwrap_or(Entity::PLACEHOLDER);
    for &old in &entities[1..] {
        assert_eq!(told(&copy, nobody(old), |e| e), told(&world, old, nobody));
    }
}

#[test]
fn some_entities_are_copied_and_pasted() {
    let (mut world, entities) = filled(60);
    let chosen: Vec<Entity> = entities.iter().skip(1).step_by(3).rev().copied().collect();
    let copied = world.slice_to_snapshot(&chosen, &all()).unwrap();
    assert_eq!(copied, world.slice_to_snapshot(&chosen, &all()).unwrap());
    let known = EntityMap::default().keeping_others();
    let (mut pasted, come) =
        World::from_snapshot_remapped(&copied, world.universe(), &known, &Default::default())
            .unwrap();
    pasted.check().unwrap();
    pasted.move_all_to(&mut world).unwrap();
    assert_eq!(world.count(), 59 + chosen.len());
    let new = |old| come.get(old).unwrap_or(old);
    for &old in &chosen {
        assert_ne!(new(old), old);
        assert_eq!(told(&world, new(old), |e| e), told(&world, old, new));
    }
}

#[test]
fn what_is_written_can_be_switched_off() {
    let universe = || {
        let universe = universe();
        universe.registry().register_enableable::<Name>().unwrap();
        universe
    };
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let all_of = (0..100_u32).map(|n| (n, Name(n.to_string()), Order::Idle));
    let batch = world.create_batch(all_of).unwrap();
    let entities: Vec<Entity> = batch.iter(&world).collect();
    for &entity in entities.iter().step_by(3) {
        world.set_enabled::<Name>(entity, false).unwrap();
    }
    let file = world.to_snapshot(&all()).unwrap();
    let loaded = World::from_snapshot(&file, universe(), &Default::default()).unwrap();
    for (n, &entity) in entities.iter().enumerate() {
        assert_eq!(loaded.is_enabled::<Name>(entity).unwrap(), n % 3 != 0);
        assert_eq!(loaded.get::<Name>(entity).unwrap().0, n.to_string());
    }
    assert_eq!(
        loaded.state_hash(&Default::default()).unwrap(),
        world.state_hash(&Default::default()).unwrap()
    );
    // Somebody has it off, and nobody can here.
    let refused = World::from_snapshot(&file, self::universe(), &Default::default()).unwrap_err();
    assert!(
        matches!(refused, SnapshotError::NotEnableable { .. }),
        "{refused}"
    );
}

#[test]
fn chunks_that_are_cut_up_have_each_value_once() {
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let rows = (0..50_000_u32).map(|n| (n, Name(format!("{n}")), Pack(vec![(String::new(), n)])));
    let batch = world.create_batch(rows).unwrap();
    let entities: Vec<Entity> = batch.iter(&world).collect();
    let file = world.to_snapshot(&all()).unwrap();
    // Here there must be room for bits.
    let narrow = universe();
    narrow.registry().register_enableable::<Name>().unwrap();
    narrow.registry().register_enableable::<Pack>().unwrap();
    narrow.registry().register_enableable::<u32>().unwrap();
    let loaded = World::from_snapshot(&file, narrow, &Default::default()).unwrap();
    loaded.check().unwrap();
    let chunks = [&world, &loaded].map(|world| world.stats().chunks);
    assert!(chunks[1] > chunks[0], "{chunks:?}");
    for (n, &entity) in (0..).zip(&entities) {
        assert_eq!(loaded.get::<Name>(entity).unwrap().0, format!("{n}"));
        assert_eq!(loaded.get::<Pack>(entity).unwrap().0, [(String::new(), n)]);
    }
    assert_eq!(
        loaded.state_hash(&Default::default()).unwrap(),
        world.state_hash(&Default::default()).unwrap()
    );
}

#[test]
fn files_and_hashes_are_the_same_for_any_number_of_threads() {
    let (world, _) = filled(20_000);
    let seen = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let file = world.to_snapshot(&all()).unwrap();
            let loaded = World::from_snapshot(&file, universe(), &Default::default()).unwrap();
            let hashes = loaded.state_hashes(&all()).unwrap();
            (
                file,
                loaded.state_hash(&Default::default()).unwrap(),
                hashes,
            )
        })
    };
    let one = seen(1);
    assert_eq!(one.1, world.state_hash(&Default::default()).unwrap());
    for threads in [2, 4] {
        assert!(seen(threads) == one, "{threads} threads");
    }
}

#[test]
fn a_game_goes_back_and_comes_on_again() {
    fn tick(world: &mut World, n: u32) {
        let query = world.query::<(Entity, &mut Name), ()>().unwrap();
        let names: Vec<Entity> = query
            .into_iter()
            .map(|(entity, name)| {
                name.0.push(char::from(b'a' + (n % 26) as u8));
                entity
            })
            .collect();
        let (first, last) = (names[0], names[names.len() - 1]);
        world
            .add(
                last,
                (Order::Guard {
                    whom: vec![first],
                    words: n.to_string(),
                },),
            )
            .unwrap();
        if n.is_multiple_of(2) {
            world.destroy(first).unwrap();
        }
        let new = world
            .create((n, Name(String::new()), Pack(vec![("egg".into(), n)])))
            .unwrap();
        world
            .add(
                new,
                (Order::Follow(last),).shared(Faction(format!("of {}", n % 3))),
            )
            .unwrap();
    }
    let (mut world, _) = filled(50);
    let mut ring = Vec::new();
    for n in 0..12 {
        ring.push((
            world.to_snapshot(&all()).unwrap(),
            world.continuation_hash(&all()).unwrap(),
        ));
        tick(&mut world, n);
    }
    let expected = (
        world.state_hash(&Default::default()).unwrap(),
        world.to_snapshot(&all()).unwrap(),
    );
    for back in [0, 5, 11] {
        let mut again =
            World::from_snapshot(&ring[back].0, universe(), &Default::default()).unwrap();
        for (n, (_, expected)) in (0..).zip(&ring).skip(back) {
            let hash = again.continuation_hash(&all()).unwrap();
            assert_eq!(hash, *expected, "tick {n}");
            tick(&mut again, n);
        }
        assert_eq!(again.state_hash(&Default::default()).unwrap(), expected.0);
        assert!(
            again.to_snapshot(&all()).unwrap() == expected.1,
            "from {back}"
        );
    }
}

#[test]
fn worlds_with_something_of_everything_are_whole_with_written_values() {
    let (mut world, _) = small_world(39);
    let_speak(&mut world);
    check(&world.to_snapshot(&all()).unwrap()).unwrap();
    check(&world.to_snapshot(&all().skip_dead()).unwrap()).unwrap();
    let mut worlds = small_worlds(20);
    worlds.iter_mut().for_each(let_speak);
    let file = World::worlds_to_snapshot(&worlds.each_ref(), &all()).unwrap();
    check(&file).unwrap();
}
