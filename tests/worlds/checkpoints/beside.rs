//! What stands beside a world that goes back: queries, indices, signals, and processors that wait for a change.

use std::time::Duration;

use megachunk::index::ValueIndex;
use megachunk::prelude::*;
use megachunk::world::Checkpoints;

use crate::checkpoints::{Asleep, Spot, Wide, bytes, world};

#[test]
fn queries_and_indices_that_were_there_see_what_was() {
    let mut world = world();
    let ants: Vec<Entity> = (0..50)
        .map(|n| world.create((Spot(n % 7),)).unwrap())
        .collect();
    let mut all = Query::<(Entity, &Spot)>::new(&world).unwrap();
    let mut changed = Query::<Entity, Changed<Spot>>::new(&world).unwrap();
    let mut index = ValueIndex::<Spot, u64>::new(&world, |spot| spot.0).unwrap();
    index.update(&world);
    let mut checkpoints = Checkpoints::new(2);
    let taken = checkpoints.take(&mut world).unwrap();
    let told = |world: &World, all: &mut Query<(Entity, &Spot)>| {
        let mut run = all.read(world);
        let all = run.iter().map(|(entity, spot)| (entity, *spot));
        all.collect::<Vec<_>>()
    };
    let before = told(&world, &mut all);
    for (n, &ant) in ants.iter().enumerate() {
        match n % 3 {
            0 => world.destroy(ant).unwrap(),
            1 => world.add(ant, (Asleep,)).unwrap(),
            _ => world.get_mut::<Spot>(ant).unwrap().0 = 3,
        }
    }
    world
        .create_batch((0..200).map(|n| (Spot(n), Wide([1; 20]))))
        .unwrap();
    index.update(&world);
    assert_ne!(told(&world, &mut all), before);
    let _ = changed.read(&world).count();
    checkpoints.roll_back(&mut world, taken).unwrap();
    assert_eq!(told(&world, &mut all), before);
    assert_eq!(
        changed.read(&world).count(),
        50,
        "what has gone back has changed"
    );
    assert_eq!(changed.read(&world).count(), 0);
    index.update(&world);
    for spot in 0..7 {
        let expected = before.iter().filter(|(_, at)| at.0 == spot).count();
        assert_eq!(index.entities(&spot).len(), expected);
    }
    // Nothing has: nothing is seen.
    checkpoints.roll_back(&mut world, taken).unwrap();
    assert_eq!(changed.read(&world).count(), 0);
}

#[test]
fn signals_wait_as_they_did_and_those_that_were_sent_since_are_gone() {
    let mut world = world();
    let ant = world.create((Spot(1),)).unwrap();
    let rings = world.signal::<u64>("rings").unwrap();
    let mut reader = SignalReader::<Entity>::new(&world).unwrap();
    reader.subscribe(&mut world, rings).unwrap();
    let second = Duration::from_secs(1);
    world.signals().send_after(rings, ant, 1, 2 * second);
    world.signals().send_after(rings, ant, 2, 2 * second);
    world.signals().broadcast_after(rings, 7, 2 * second);
    let mut hall = BroadcastReader::<u64>::new();
    hall.subscribe(&mut world, rings).unwrap();
    world.collect_signals();
    let mut checkpoints = Checkpoints::new(2);
    let taken = checkpoints.take(&mut world).unwrap();
    let was = bytes(&world);
    let mut heard = |world: &mut World| {
        let mut heard: Vec<u64> = Vec::new();
        let _ = reader.deliver(world, |_, received| heard.extend(received.of(rings)));
        heard
    };
    for _ in 0..3 {
        world.signals().send(rings, ant, 3);
        world.signals().send_after(rings, ant, 4, second);
        world.advance_time(second);
        // One is collected and not read, one not even collected.
        world.signals().send(rings, ant, 5);
        world.signals().broadcast_after(rings, 8, second);
        checkpoints.roll_back(&mut world, taken).unwrap();
        assert!(bytes(&world) == was);
        assert_eq!(world.time(), Duration::ZERO);
        assert_eq!(heard(&mut world), [0; 0]);
    }
    world.signals().send_after(rings, ant, 6, 2 * second);
    world.advance_time(2 * second);
    assert_eq!(heard(&mut world), [1, 2, 6]);
    assert!(hall.hear(&mut world).iter().eq(&[7]));
}

#[test]
fn what_follows_a_resource_that_is_no_state_follows_it_again_when_the_world_has_gone_back() {
    #[derive(Clone, Copy)]
    struct Settings(u64);
    let mut schedule = Schedule::new();
    schedule.add(
        processor(
            "apply",
            |settings: &Settings, mut all: QueryRun<'_, &mut Spot>| {
                all.for_each(|spot| spot.0 = settings.0);
            },
        )
        .run_if_changed::<Settings>(),
    );
    let mut world = world();
    let ant = world.create((Spot(0),)).unwrap();
    world.resources_mut().insert(Settings(1));
    schedule.run(&mut world).unwrap();
    let mut checkpoints = Checkpoints::new(2);
    let taken = checkpoints.take(&mut world).unwrap();
    world.resources_mut().insert(Settings(2));
    schedule.run(&mut world).unwrap();
    assert_eq!(world.get::<Spot>(ant).unwrap().0, 2);
    checkpoints.roll_back(&mut world, taken).unwrap();
    assert_eq!(world.get::<Spot>(ant).unwrap().0, 1);
    schedule.run(&mut world).unwrap();
    assert_eq!(
        world.get::<Spot>(ant).unwrap().0,
        2,
        "the settings are not the world's"
    );
}

#[test]
fn what_waits_for_a_change_runs_once_after_each_time_that_the_world_went_back() {
    struct Terrain;
    struct Drawn(u32);
    let mut world = world();
    world.resources_mut().insert(Terrain);
    world.resources_mut().insert(Drawn(0));
    let mut schedule = Schedule::new();
    let draw = processor("draw", |_: &Terrain, drawn: &mut Drawn| drawn.0 += 1);
    schedule.add(draw.run_if_changed::<Terrain>());
    let mut checkpoints = Checkpoints::new(2);
    let taken = checkpoints.take(&mut world).unwrap();
    for round in 1..=3 {
        (0..2).for_each(|_| _ = schedule.run(&mut world).unwrap());
        assert_eq!(world.resources().get::<Drawn>().unwrap().0, round);
        checkpoints.roll_back(&mut world, taken).unwrap();
    }
}
