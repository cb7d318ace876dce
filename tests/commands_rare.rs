//! Rare cases of recording and the flush, each of which was wrong once.

use megachunk::prelude::*;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u32);
#[derive(Clone, Copy, Debug, PartialEq)]
struct Switch(u32);

#[test]
fn shared_values_are_recorded_in_flush_after_flush() {
    let mut world = World::new();
    let ant = world.create((1_u32,)).unwrap();
    for round in 0..4 {
        let mut commands = world.commands();
        commands.set_shared(ant, Team(round)).unwrap();
        drop(commands);
        assert!(world.flush().is_clean());
        assert_eq!(world.shared::<Team>(ant).unwrap(), &Team(round));
        world.commands().set(ant, round).unwrap();
        assert!(world.flush().is_clean());
    }
}

#[test]
fn entities_with_shared_values_are_created_in_flush_after_flush() {
    let mut world = World::new();
    for round in 0..4 {
        let mut commands = world.commands();
        let ant = commands.create((round,).shared(Team(round))).unwrap();
        drop(commands);
        assert!(world.flush().is_clean());
        assert_eq!(world.shared::<Team>(ant).unwrap(), &Team(round));
    }
}

#[test]
fn a_template_comes_along_although_nothing_is_created() {
    let mut world = World::new();
    let ant = world.create((1_u32,)).unwrap();
    world
        .commands()
        .add(ant, (2_u64,).per_chunk(0.5_f64))
        .unwrap();
    let report = world.flush();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(world.chunk_fragment::<f64>(ant).unwrap(), &0.5);
}

#[test]
fn two_teams_change_places_in_one_flush() {
    let mut world = World::new();
    let a: Vec<Entity> = (0..1_000)
        .map(|n| world.create((n as u32,).shared(Team(1))).unwrap())
        .collect();
    let b: Vec<Entity> = (0..1_000)
        .map(|n| world.create((n as u32,).shared(Team(2))).unwrap())
        .collect();
    let mut commands = world.commands();
    for &e in &a {
        commands.set_shared(e, Team(2)).unwrap();
    }
    for &e in &b {
        commands.set_shared(e, Team(1)).unwrap();
    }
    drop(commands);
    assert!(world.flush().is_clean());
    for &e in &a {
        assert_eq!(world.shared::<Team>(e).unwrap(), &Team(2));
    }
    for &e in &b {
        assert_eq!(world.shared::<Team>(e).unwrap(), &Team(1));
    }
}

#[test]
fn what_is_removed_and_added_again_is_switched_on() {
    let universe = Arc::new(Universe::new());
    universe.registry().register_enableable::<Switch>().unwrap();
    let mut world = World::of(&universe).unwrap();
    let ant = world.create((Switch(1),)).unwrap();
    world.set_enabled::<Switch>(ant, false).unwrap();
    let mut commands = world.commands();
    commands.remove::<(Switch,)>(ant).unwrap();
    commands.add(ant, (Switch(2),)).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert!(world.is_enabled::<Switch>(ant).unwrap());
}

#[test]
fn a_reserved_entity_is_released_once_and_dead_then() {
    let mut world = World::new();
    let ant = world.reserve().unwrap();
    let mut commands = world.commands();
    commands.destroy(ant);
    commands.destroy(ant);
    commands.set(ant, 5_u32).unwrap();
    drop(commands);
    let report = world.flush();
    assert_eq!(
        (report.destroyed, report.dead, report.refused.len()),
        (1, 2, 0),
        "{report:?}"
    );
}

#[test]
fn a_recorder_finds_its_entities_in_every_part_of_a_long_chunk() {
    let mut world = World::new();
    world.set_chunk_size(16);
    let mut commands = world.commands();
    let batch = commands.create_batch((0..40_000_u32).map(|n| (n,)));
    let all: Vec<Entity> = batch.unwrap().iter(&commands).collect();
    for (&entity, n) in all.iter().zip(0..) {
        assert_eq!(commands.get::<u32>(entity).unwrap(), &n);
    }
    drop(commands);
    assert_eq!(world.flush().created, 40_000);
    world.check().unwrap();
}
