//! Some entities of a world in a file of their own.

use core::ops::ControlFlow;
use std::sync::Arc;

use megachunk::entity::EntityMap;
use megachunk::fragment::Plain;
use megachunk::prelude::*;
use megachunk::world::{SnapshotError, SnapshotOptions, SnapshotState};

use crate::snapshot_world::{Asleep, Team, check, register, small_world, universe};

/// What is saved when the entities have moved to a world of their own.
fn moved(world: &World, entities: &[Entity]) -> Vec<u8> {
    let all = world.to_snapshot(&SnapshotOptions::new()).unwrap();
    let mut copy = World::from_snapshot(&all, universe(), &Default::default()).unwrap();
    let mut own = World::of(copy.universe()).unwrap();
    let report = copy.move_slice_to(&mut own, entities).unwrap();
    assert_eq!(report.into_result().unwrap(), entities.len());
    own.to_snapshot(&SnapshotOptions::new().skip_dead())
        .unwrap()
}

fn differences(one: &[u8], other: &[u8]) -> Vec<String> {
    let (one, other) = (SnapshotState::of(one), SnapshotState::of(other));
    let mut told = Vec::new();
    one.unwrap().differences(&other.unwrap(), |_, difference| {
        told.push(difference.to_string());
        ControlFlow::Continue(())
    });
    told
}

#[test]
fn a_slice_is_what_is_saved_of_a_world_with_those_alone() {
    let (world, all) = small_world(700);
    let alive: Vec<Entity> = all.into_iter().filter(|&one| world.exists(one)).collect();
    let options = SnapshotOptions::new();
    let reversed: Vec<Entity> = alive.iter().copied().rev().collect();
    for (all, step) in [(&alive, 1), (&alive, 3), (&reversed, 7), (&alive, 1_000)] {
        let some: Vec<Entity> = all.iter().copied().step_by(step).collect();
        let bytes = world.slice_to_snapshot(&some, &options).unwrap();
        assert_eq!(
            differences(&bytes, &moved(&world, &some)),
            [""; 0],
            "each {step}"
        );
        assert_eq!(world.slice_to_snapshot(&some, &options).unwrap(), bytes);
        check(&bytes).unwrap();

        // Who has a value together with others has it still.
        let there = Arc::new(universe());
        let (copy, come) = World::from_snapshot_remapped(
            &bytes,
            &there,
            &EntityMap::default(),
            &Default::default(),
        )
        .unwrap();
        assert_eq!((copy.count(), come.len()), (some.len(), some.len()));
        copy.check().unwrap();
        for &old in &some {
            let new = come.get(old).unwrap();
            assert_eq!(
                copy.chunk_fragment::<i64>(new).ok(),
                world.chunk_fragment(old).ok()
            );
            assert_eq!(
                copy.chunk_fragment::<bool>(new).ok(),
                world.chunk_fragment(old).ok()
            );
            assert_eq!(copy.name(new).unwrap(), world.name(old).unwrap());
        }
    }
    // Nothing but its directory.
    let none = world.slice_to_snapshot(&[], &options).unwrap();
    check(&none).unwrap();
    assert!(none.len() < 300, "{} bytes", none.len());
}

#[test]
fn what_is_not_saved_of_a_slice() {
    let (world, all) = small_world(50);
    let some = [all[0], all[5]];
    let bytes = world
        .slice_to_snapshot(&some, &SnapshotOptions::new())
        .unwrap();
    let refused = World::from_snapshot(&bytes, universe(), &Default::default()).unwrap_err();
    assert_eq!(refused, SnapshotError::DeadSkipped);
    let (copy, _) = World::from_snapshot_remapped(
        &bytes,
        &Arc::new(universe()),
        &EntityMap::default(),
        &Default::default(),
    )
    .unwrap();
    assert_eq!(copy.time(), core::time::Duration::ZERO);
    assert!(copy.resources().is_empty());
    assert_eq!(copy.pending().delayed_signals, 0);
    assert_eq!(
        copy.stats()
            .archetypes
            .iter()
            .map(|of| of.entities)
            .sum::<usize>(),
        2
    );
}

#[test]
fn the_dead_and_who_is_named_twice_are_refused() {
    let (mut world, all) = small_world(20);
    let mut other = World::of(world.universe()).unwrap();
    let options = SnapshotOptions::new();
    let refused = |world: &World, entities: &[Entity]| {
        world.slice_to_snapshot(entities, &options).unwrap_err()
    };
    let twice = refused(&world, &[all[2], all[3], all[2]]);
    assert_eq!(twice, SnapshotError::EntityTwice { entity: all[2] });
    assert!(twice.to_string().contains(&all[2].to_string()), "{twice}");
    world.destroy(all[3]).unwrap();
    let dead = refused(&world, &[all[2], all[3]]);
    assert!(
        matches!(dead, SnapshotError::World(WorldError::Entity(_))),
        "{dead}"
    );
    world.move_to(&mut other, all[4]).unwrap();
    let elsewhere = refused(&world, &[all[4]]);
    assert!(
        matches!(
            elsewhere,
            SnapshotError::World(WorldError::Elsewhere { .. })
        ),
        "{elsewhere}"
    );
    let reserved = world.reserve().unwrap();
    let reserved = refused(&world, &[reserved]);
    assert!(
        matches!(reserved, SnapshotError::World(WorldError::NotBuilt { .. })),
        "{reserved}"
    );
}

#[test]
fn only_fragments_of_those_who_are_saved_must_be_plain() {
    #[derive(Clone, Copy)]
    struct Percent(#[expect(dead_code, reason = "its byte is looked at")] u8);
    // SAFETY: one byte; that it is at most 100 is no matter of safety.
    unsafe impl Plain for Percent {
        const IS_VALUE: Option<fn(&[u8]) -> bool> = Some(|bytes| bytes[0] <= 100);
    }
    let mut world = World::new();
    register(world.registry());
    world.registry().register_plain::<Percent>().unwrap();
    let plain = world.create((1_u64, Percent(100))).unwrap();
    let text = world.create((2_u64, String::from("two"))).unwrap();
    let wrong = world.create((3_u64, Percent(101))).unwrap();
    let options = SnapshotOptions::new();
    assert!(world.slice_to_snapshot(&[plain], &options).is_ok());
    let refused = world
        .slice_to_snapshot(&[plain, text], &options)
        .unwrap_err();
    assert!(
        matches!(refused, SnapshotError::NotPlain { .. }),
        "{refused}"
    );
    let refused = world
        .slice_to_snapshot(&[plain, wrong], &options)
        .unwrap_err();
    assert!(
        matches!(refused, SnapshotError::Unloadable { entity: Some(entity), .. } if entity == wrong)
    );
    let skipped = world
        .slice_to_snapshot(&[plain, text], &options.skip_not_plain())
        .unwrap();
    let there = Arc::new(universe());
    there.registry().register_plain::<Percent>().unwrap();
    let (copy, come) =
        World::from_snapshot_remapped(&skipped, &there, &EntityMap::default(), &Default::default())
            .unwrap();
    assert_eq!(copy.get::<u64>(come.get(text).unwrap()).unwrap(), &2);
}

#[test]
fn handles_of_others_mean_whom_the_one_who_loads_says() {
    let mut world = World::new();
    world.registry().register_plain::<[Entity; 2]>().unwrap();
    let road = world.create(()).unwrap();
    let car = world.create(([road, road],)).unwrap();
    let wheel = world.create(([car, road],)).unwrap();
    let bytes = world
        .slice_to_snapshot(&[wheel, car], &SnapshotOptions::new())
        .unwrap();
    let keeping = EntityMap::default().keeping_others();
    for (known, others) in [(EntityMap::default(), Entity::PLACEHOLDER), (keeping, road)] {
        let (mut copy, come) =
            World::from_snapshot_remapped(&bytes, world.universe(), &known, &Default::default())
                .unwrap();
        let (second, its) = (come.get(car).unwrap(), come.get(wheel).unwrap());
        assert_eq!(copy.get::<[Entity; 2]>(its).unwrap(), &[second, others]);
        // In the order in which they were named.
        let order: Vec<Entity> = copy.query::<Entity, ()>().unwrap().iter().collect();
        assert_eq!(order, [its, second]);
        copy.move_all_to(&mut world).unwrap();
    }
    assert_eq!(world.count(), 7);
    world.check().unwrap();
}

#[test]
fn those_of_many_chunks_are_together_where_they_come() {
    let mut world = World::new();
    register(world.registry());
    let all = world
        .create_batch((0..200_000_u64).map(|n| (n, Asleep)))
        .unwrap()
        .to_vec(&world);
    for (n, &entity) in all.iter().enumerate().step_by(500) {
        world.set_enabled::<Asleep>(entity, n % 1_000 == 0).unwrap();
    }
    let some: Vec<Entity> = all.iter().copied().step_by(500).collect();
    let bytes = world
        .slice_to_snapshot(&some, &SnapshotOptions::new())
        .unwrap();
    assert!(bytes.len() < 400 * 20, "{} bytes", bytes.len());
    let there = Arc::new(universe());
    let (copy, come) =
        World::from_snapshot_remapped(&bytes, &there, &EntityMap::default(), &Default::default())
            .unwrap();
    assert_eq!(there.chunk_stats().in_use, 1);
    for (n, &old) in (0..).step_by(500).zip(&some) {
        let new = come.get(old).unwrap();
        assert_eq!(
            (
                copy.get::<u64>(new).unwrap(),
                copy.is_enabled::<Asleep>(new).unwrap()
            ),
            (&n, n % 1_000 == 0)
        );
    }
    // More than one chunk of any length holds.
    let bytes = world
        .slice_to_snapshot(&all, &SnapshotOptions::new())
        .unwrap();
    let (copy, come) =
        World::from_snapshot_remapped(&bytes, &there, &EntityMap::default(), &Default::default())
            .unwrap();
    copy.check().unwrap();
    assert_eq!(
        copy.get::<u64>(come.get(all[199_999]).unwrap()).unwrap(),
        &199_999
    );
}

#[test]
fn shared_values_that_are_skipped_tell_nobody_apart() {
    let mut world = World::new();
    register(world.registry());
    let mut all = Vec::new();
    for n in 0..40_u16 {
        all.push(
            world
                .create((u64::from(n),).shared(Team(n)).const_shared((n % 2) as u8))
                .unwrap(),
        );
    }
    let team = world.registry().register::<Shared<Team>>().unwrap().id();
    let bytes = world
        .slice_to_snapshot(&all, &SnapshotOptions::new().skip(team))
        .unwrap();
    check(&bytes).unwrap();
    let there = Arc::new(universe());
    let (copy, come) =
        World::from_snapshot_remapped(&bytes, &there, &EntityMap::default(), &Default::default())
            .unwrap();
    assert_eq!(there.chunk_stats().in_use, 2);
    for (n, &old) in all.iter().enumerate() {
        let new = come.get(old).unwrap();
        assert!(
            !copy
                .has_dynamic(
                    new,
                    there.registry().register::<Shared<Team>>().unwrap().id()
                )
                .unwrap()
        );
        assert_eq!(copy.const_shared::<u8>(new).unwrap(), &((n % 2) as u8));
    }
}
