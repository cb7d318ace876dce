//! A world's time, and signals that wait for theirs, are saved and come back.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use megachunk::entity::EntityMap;
use megachunk::prelude::*;
use megachunk::world::SnapshotOptions;

use crate::rows::{numbers, reader, seconds};

fn universe() -> Universe {
    let universe = Universe::ordered();
    universe.registry().register_state::<u32>().unwrap();
    universe.registry().register_state::<Entity>().unwrap();
    universe
}

/// Entities without fragments.
fn world(count: usize) -> (World, Vec<Entity>) {
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let all = (0..count).map(|_| world.create(()).unwrap()).collect();
    (world, all)
}

fn save(world: &mut World) -> Vec<u8> {
    world.collect_signals();
    world.to_snapshot(&SnapshotOptions::new()).unwrap()
}

fn load(file: &[u8]) -> World {
    let world = World::from_snapshot(file, universe(), &Default::default()).unwrap();
    world.check().unwrap();
    world
}

#[test]
fn delayed_signals_come_in_the_loaded_world_when_they_would_have() {
    let (mut world, all) = world(2);
    let [ant, bee] = all[..] else { unreachable!() };
    let ring = world.signal::<u32>("ring").unwrap();
    world.advance_time(seconds(3));
    let mut signals = world.signals();
    signals.send_after(ring, ant, 30, seconds(3));
    signals.send_after(ring, bee, 10, seconds(1));
    signals.send_after(ring, bee, 11, seconds(1));
    signals.send_after(ring, ant, 31, seconds(3));
    drop(signals);
    let mut loaded = load(&save(&mut world));
    assert_eq!(loaded.time(), seconds(3));
    assert_eq!(loaded.pending().delayed_signals, 4);
    let ring = loaded.signal::<u32>("ring").unwrap();
    // Those that are sent now come behind them.
    loaded.signals().send_after(ring, bee, 12, seconds(1));
    let mut reader: SignalReader = reader(&mut loaded, ring);
    assert_eq!(numbers(&mut reader, &mut loaded, ring), []);
    loaded.advance_time(seconds(1));
    let got = numbers(&mut reader, &mut loaded, ring);
    assert_eq!(got, [(bee, vec![10, 11, 12])]);
    loaded.advance_time(seconds(2));
    let got = numbers(&mut reader, &mut loaded, ring);
    assert_eq!(got, [(ant, vec![30, 31])]);
    assert!(loaded.pending().is_empty());
}

#[test]
fn each_of_many_signals_is_saved_and_moved_as_what_it_is() {
    const SIGNALS: u32 = 50;
    let signal = |world: &World, number: u32| {
        let name = format!("signal {number}");
        world.signal::<u32>(&name).unwrap()
    };
    // All come at one time, in the order in which they were sent.
    let sent = || (0..2 * SIGNALS).map(|n| 7 * n % SIGNALS);
    let hear = |world: &mut World, entity: Entity| {
        let mut reader = SignalReader::<Entity>::new(world).unwrap();
        // Known there in another order.
        let all: Vec<_> = (0..SIGNALS).rev().map(|n| signal(world, n)).collect();
        for &signal in &all {
            reader.subscribe(world, signal).unwrap();
        }
        world.advance_time(seconds(2));
        let mut heard = Vec::new();
        let delivery = reader.deliver(world, |signalled, received| {
            assert_eq!(signalled, entity);
            heard.extend(received.names().map(str::to_owned));
            for (&signal, number) in all.iter().rev().zip(0..) {
                let carried: Vec<u32> = received.of(signal).copied().collect();
                assert_eq!(carried, [number; 2]);
            }
        });
        assert_eq!((delivery.entities, delivery.dead), (1, 0));
        let names: Vec<String> = sent().map(|number| format!("signal {number}")).collect();
        assert_eq!(heard, names);
    };
    let (mut world, all) = world(1);
    let known: Vec<_> = (0..SIGNALS).map(|number| signal(&world, number)).collect();
    let mut signals = world.signals();
    for number in sent() {
        signals.send_after(known[number as usize], all[0], number, seconds(1));
    }
    drop(signals);
    let file = save(&mut world);
    hear(&mut load(&file), all[0]);
    // To a world that knows some of them already, and back.
    let universe = Arc::clone(world.universe());
    let mut other = World::of(&universe).unwrap();
    let _ = [30, 20].map(|number| signal(&other, number));
    for _ in 0..2 {
        world.move_to(&mut other, all[0]).unwrap();
        let moved = world.move_signals_to(&mut other).unwrap();
        assert_eq!(moved, 2 * SIGNALS as usize);
        core::mem::swap(&mut world, &mut other);
    }
    hear(&mut world, all[0]);
}

#[test]
fn signals_are_known_by_their_names_or_by_what_they_carry() {
    let (mut world, all) = world(1);
    let named = world.signal::<u32>("ring").unwrap();
    let of_type = world.signal_of::<u32>();
    let whom = world.signal::<Entity>("whom").unwrap();
    let mut signals = world.signals();
    signals.send_after(named, all[0], 1, seconds(1));
    signals.send_after(of_type, all[0], 2, seconds(1));
    signals.send_after(whom, all[0], all[0], seconds(1));
    drop(signals);
    let file = save(&mut world);

    let mut loaded = load(&file);
    let of_type = loaded.signal_of::<u32>();
    // The name means something else now: nobody can hear what it carried.
    let whom = loaded.signal::<u32>("whom").unwrap();
    let mut reader: SignalReader = reader(&mut loaded, of_type);
    reader.subscribe(&mut loaded, whom).unwrap();
    assert_eq!(loaded.pending().delayed_signals, 3);
    // They wait on, and are saved again.
    assert_eq!(save(&mut loaded), file);
    loaded.advance_time(seconds(1));
    assert_eq!(loaded.pending().delayed_signals, 0);
    let got = numbers(&mut reader, &mut loaded, of_type);
    assert_eq!(got, [(all[0], vec![2])]);
}

#[test]
fn a_file_is_the_same_whoever_asks_for_the_signals() {
    let (mut world, all) = world(3);
    let [ring, toll] = ["ring", "toll"].map(|name| world.signal::<u32>(name).unwrap());
    let mut signals = world.signals();
    for (number, &entity) in (0..40).zip(all.iter().cycle()) {
        let signal = [ring, toll][number as usize % 2];
        let after = Duration::from_millis(u64::from(number * 7 % 5));
        signals.send_after(signal, entity, number, seconds(1) + after);
    }
    drop(signals);
    let file = save(&mut world);
    let mut loaded = load(&file);
    assert_eq!(loaded.to_snapshot(&SnapshotOptions::new()).unwrap(), file);
    // One of them is known, the other is not.
    let toll = loaded.signal::<u32>("toll").unwrap();
    let mut heard: SignalReader = reader(&mut loaded, toll);
    assert_eq!(save(&mut loaded), file);
    let mut again = load(&save(&mut loaded));
    loaded.advance_time(seconds(2));
    let got = numbers(&mut heard, &mut loaded, toll);
    let toll = again.signal::<u32>("toll").unwrap();
    let mut heard: SignalReader = reader(&mut again, toll);
    again.advance_time(seconds(2));
    assert_eq!(numbers(&mut heard, &mut again, toll), got);
    let count = got.iter().map(|(_, numbers)| numbers.len());
    assert_eq!(count.sum::<usize>(), 20);
}

#[test]
fn what_a_signal_carries_names_those_who_come() {
    let (mut world, all) = world(3);
    let whom = world.signal::<Entity>("whom").unwrap();
    world.signals().send_after(whom, all[1], all[2], seconds(1));
    world.signals().send_after(whom, all[2], all[0], seconds(1));
    world.collect_signals();
    world.destroy(all[0]).unwrap();
    let file = save(&mut world);
    let (mut copy, come) = World::from_snapshot_remapped(
        &file,
        world.universe(),
        &EntityMap::default(),
        &Default::default(),
    )
    .unwrap();
    let whom = copy.signal::<Entity>("whom").unwrap();
    let mut reader: SignalReader = reader(&mut copy, whom);
    copy.advance_time(seconds(1));
    let mut got = Vec::new();
    let _ = reader.deliver(&mut copy, |entity, received| {
        got.extend(received.of(whom).map(|&about| (entity, about)));
    });
    let [bee, cow] = [1, 2].map(|at: usize| come.get(all[at]).unwrap());
    got.sort_unstable();
    let mut expected = [(bee, cow), (cow, Entity::PLACEHOLDER)];
    expected.sort_unstable();
    assert_eq!(got, expected);
}

#[test]
fn what_cannot_be_saved_or_heard_is_left_out() {
    let (mut world, all) = world(2);
    let [alive, dead] = all[..] else {
        unreachable!()
    };
    let reserved = world.universe().reserve().unwrap();
    let ring = world.signal::<u32>("ring").unwrap();
    let text = world.signal::<String>("text").unwrap();
    let mut signals = world.signals();
    signals.send_after(ring, dead, 1, seconds(1));
    signals.send_after(ring, reserved, 2, seconds(1));
    signals.send_after(text, alive, "no registered type".into(), seconds(1));
    signals.send(ring, alive, 3);
    signals.send_after(ring, alive, 4, seconds(1));
    drop(signals);
    world.destroy(dead).unwrap();
    world.resources_mut().insert(1_u32);
    world.resources_mut().insert('x');
    let unsaved = world.unsaved(&SnapshotOptions::new());
    let counts = (unsaved.delayed_signals, unsaved.signals);
    assert_eq!(counts, (4, 1), "none is collected");
    let loaded = load(&save(&mut world));
    let unsaved = world.unsaved(&SnapshotOptions::new());
    assert_eq!(
        unsaved.to_string(),
        "not saved: the resource char, delayed signals: 2, delayed signals for the dead: 1"
    );
    assert_eq!((unsaved.delayed_signals, unsaved.dead_signals), (2, 1));
    let options = SnapshotOptions::new()
        .skip_signals()
        .skip_resource::<char>();
    assert!(world.unsaved(&options).is_empty());
    assert!(loaded.unsaved(&SnapshotOptions::new()).is_empty());
    assert_eq!(loaded.pending().delayed_signals, 1);
    assert_eq!(loaded.pending().signals, 0);
    // Of what was sent and not collected nothing is saved.
    world.signals().send_after(ring, alive, 5, seconds(1));
    let file = world.to_snapshot(&SnapshotOptions::new()).unwrap();
    assert_eq!(load(&file).pending().delayed_signals, 1);
}

#[test]
fn signals_for_entities_of_a_world_that_is_saved_too_come_along() {
    let (mut one, _) = world(0);
    let mut other = World::of(one.universe()).unwrap();
    let bee = other.create(()).unwrap();
    let ring = one.signal::<u32>("ring").unwrap();
    one.signals().send_after(ring, bee, 7, seconds(5));
    one.collect_signals();
    let options = SnapshotOptions::new();
    let both = World::worlds_to_snapshot(&[&one, &other], &options).unwrap();
    let none = World::worlds_to_snapshot(&[&one, &other], &options.skip_signals()).unwrap();
    let mut worlds = World::worlds_from_snapshot(&none, universe(), &LoadOptions::new()).unwrap();
    assert_eq!(worlds[0].pending().delayed_signals, 0);
    let nobody = EntityMap::default();
    let shared = Arc::new(universe());
    let remapped =
        World::worlds_from_snapshot_remapped(&both, &shared, &nobody, &LoadOptions::new()).unwrap();
    for (came, bee) in [
        (
            World::worlds_from_snapshot(&both, universe(), &LoadOptions::new()).unwrap(),
            bee,
        ),
        (remapped.0, remapped.1.get(bee).unwrap()),
    ] {
        worlds = came;
        let [one, other] = &mut worlds[..] else {
            unreachable!()
        };
        let ring = one.signal::<u32>("ring").unwrap();
        let mut reader: SignalReader = reader(one, ring);
        other.move_all_to(one).unwrap();
        one.advance_time(seconds(5));
        assert_eq!(numbers(&mut reader, one, ring), [(bee, vec![7])]);
    }
}

#[test]
fn a_simulation_hears_what_arrives_with_its_first_tick() {
    let step = Duration::from_millis(20);
    let simulation = |world: World| {
        let mut schedule = Schedule::new();
        schedule.add(
            processor(
                "hear",
                |mut rung: Signalled<'_>, ring: &Signal<u32>, heard: &mut Vec<u32>| {
                    let _ = rung.deliver(|_, received| heard.extend(received.of(*ring)));
                },
            )
            .hears::<u32>("ring"),
        );
        let mut simulation = Simulation::continuing(world, schedule);
        let world = simulation.world_mut();
        let ring = world.signal::<u32>("ring").unwrap();
        world.resources_mut().insert(ring);
        world.resources_mut().insert(Vec::<u32>::new());
        simulation
    };
    let (world, all) = world(1);
    Time::register(world.registry()).unwrap();
    let ring = world.signal::<u32>("ring").unwrap();
    let mut signals = world.signals();
    for after in 1..=4 {
        signals.send_after(ring, all[0], after, step * after);
    }
    drop(signals);
    let mut played = simulation(world);
    let mut heard = Vec::new();
    for tick in 0..4 {
        played.advance(step).unwrap();
        heard.push(tick as u32 + 1);
        let resources = played.world().resources();
        assert_eq!(resources.get::<Vec<u32>>(), Some(&heard));
        assert_eq!(resources.get::<Time>().unwrap().tick, tick);
        // From here on the loaded one goes on.
        let file = save(played.world_mut());
        let universe = universe();
        Time::register(universe.registry()).unwrap();
        played = simulation(World::from_snapshot(&file, universe, &Default::default()).unwrap());
        assert_eq!(played.tick(), tick + 1);
        heard.clear();
    }
}

#[test]
fn what_waited_for_somebody_who_is_built_elsewhere_goes_there() {
    let (mut land, _) = world(0);
    let mut sea = World::of(land.universe()).unwrap();
    let [egg, other] = [(); 2].map(|()| land.universe().reserve().unwrap());
    let ring = land.signal::<u32>("ring").unwrap();
    let mut signals = land.signals();
    signals.send(ring, egg, 1);
    signals.send(ring, other, 2);
    signals.send_after(ring, egg, 3, seconds(1));
    drop(signals);
    land.advance_time(seconds(1));
    let here: SignalReader = reader(&mut land, ring);
    sea.build(egg, ()).unwrap();
    assert_eq!(land.move_signals_to(&mut sea), Ok(2));
    assert_eq!(land.pending().signals, 1);
    drop(here);
    let ring = sea.signal::<u32>("ring").unwrap();
    // Who subscribes before they are collected gets them, as at home.
    let mut heard: SignalReader = SignalReader::new(&sea).unwrap();
    assert_eq!(sea.pending().delayed_signals, 2);
    let late = heard.subscribe(&mut sea, ring);
    assert_eq!((late, sea.pending().delayed_signals), (Ok(()), 0));
    sea.build(other, ()).unwrap();
    assert_eq!(land.move_signals_to(&mut sea), Ok(1));
    assert_eq!(numbers(&mut heard, &mut sea, ring), [(other, vec![2])]);
}

#[test]
fn who_starts_with_a_tick_is_told_of_it() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    struct Starts(Vec<Option<Time>>);
    impl Processor for Starts {
        type Params = ();
        type Output = ();
        fn start(&mut self, world: &mut World) {
            self.0.push(world.resources().get().copied());
        }
        fn execute(&mut self, (): ()) {
            let step = seconds(2);
            assert_eq!(self.0, [Some(Time::new(step, step, 0))]);
            RUNS.fetch_add(1, Ordering::Relaxed);
        }
    }
    let mut schedule = Schedule::new();
    schedule.add(ProcessorBuilder::of("starts", Starts(Vec::new())));
    let mut simulation = Simulation::new(World::new(), schedule);
    simulation.advance(seconds(2)).unwrap();
    assert_eq!(simulation.world().time(), seconds(2));
    assert_eq!(RUNS.load(Ordering::Relaxed), 1);
}

#[test]
fn signals_that_wait_go_after_their_entities() {
    let (mut land, all) = world(3);
    let mut sea = World::of(land.universe()).unwrap();
    let [ant, bee, seal] = all[..] else {
        unreachable!()
    };
    land.advance_time(seconds(10));
    sea.advance_time(seconds(100));
    let (ring, there) = (
        land.signal::<u32>("ring").unwrap(),
        sea.signal::<u32>("ring").unwrap(),
    );
    let toll = land.signal::<u32>("toll").unwrap();
    let other = land.signal::<Entity>("toll too").unwrap();
    sea.signals().send_after(there, seal, 50, seconds(5));
    let mut signals = land.signals();
    for (number, entity) in (0..6).zip(all.iter().cycle()) {
        signals.send_after(ring, *entity, number, seconds(5));
    }
    signals.send_after(toll, seal, 10, seconds(1));
    signals.send_after(other, seal, ant, seconds(1));
    drop(signals);
    assert_eq!(land.move_signals_to(&mut sea), Ok(0));
    let mut heard: SignalReader = reader(&mut sea, there);
    for entity in [ant, seal] {
        land.move_to(&mut sea, entity).unwrap();
    }
    assert_eq!(land.move_signals_to(&mut sea), Ok(6));
    assert_eq!(land.move_signals_to(&mut sea), Ok(0));
    assert_eq!(land.pending().delayed_signals, 2);
    assert_eq!(sea.pending().delayed_signals, 7);
    // What nobody knows there goes on to another world, too, or is saved.
    let loaded = load(&save(&mut sea));
    assert_eq!(loaded.pending().delayed_signals, 7);
    let mut third = World::of(land.universe()).unwrap();
    sea.move_to(&mut third, seal).unwrap();
    assert_eq!(sea.move_signals_to(&mut third), Ok(5));
    sea.advance_time(seconds(5));
    assert_eq!(numbers(&mut heard, &mut sea, there), [(ant, vec![0, 3])]);
    let [ring, toll] = ["ring", "toll"].map(|name| third.signal::<u32>(name).unwrap());
    let mut heard: SignalReader = reader(&mut third, ring);
    heard.subscribe(&mut third, toll).unwrap();
    third.advance_time(seconds(1));
    assert_eq!(numbers(&mut heard, &mut third, toll), [(seal, vec![10])]);
    third.advance_time(seconds(4));
    assert_eq!(
        numbers(&mut heard, &mut third, ring),
        [(seal, vec![50, 2, 5])]
    );
    assert!(third.pending().is_empty());
    let ring = land.signal::<u32>("ring").unwrap();
    let mut heard: SignalReader = reader(&mut land, ring);
    land.advance_time(seconds(5));
    assert_eq!(numbers(&mut heard, &mut land, ring), [(bee, vec![1, 4])]);
    let elsewhere = land.move_signals_to(&mut World::new());
    assert_eq!(elsewhere, Err(WorldError::OtherUniverse));
}

static ALIVE: AtomicUsize = AtomicUsize::new(0);

/// What cannot end without a panic.
struct Burns;

impl Burns {
    fn new() -> Self {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Burns {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Relaxed);
        if !std::thread::panicking() {
            resume_unwind(Box::new("as if it burnt"));
        }
    }
}

#[test]
fn what_has_come_and_nobody_heard_is_dropped_once() {
    let universe = || {
        let universe = Universe::new();
        let write = |_: &Burns, _: &mut Vec<u8>| ();
        let read = |_: &[u8], _: &EntityMap| Ok::<_, String>(Burns::new());
        let registry = universe.registry();
        registry.register_state_with("burns", write, read).unwrap();
        universe
    };
    let alive = || ALIVE.load(Ordering::Relaxed);
    let burns = |ends: &mut dyn FnMut()| {
        let burnt = catch_unwind(AssertUnwindSafe(ends)).unwrap_err();
        assert_eq!(burnt.downcast_ref(), Some(&"as if it burnt"));
    };
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let ant = world.create(()).unwrap();
    let ring = world.signal::<Burns>("ring").unwrap();
    for delay in 1..=3 {
        let mut signals = world.signals();
        signals.send_after(ring, ant, Burns::new(), seconds(delay));
    }
    let file = save(&mut world);
    burns(&mut || drop(std::mem::take(&mut world)));
    assert_eq!(alive(), 0);
    // With the world, before anybody has collected and after it, or when their time has come.
    let load = || World::from_snapshot(&file, universe(), &Default::default()).unwrap();
    let mut loaded = load();
    assert_eq!(alive(), 3);
    burns(&mut || drop(std::mem::take(&mut loaded)));
    assert_eq!(alive(), 0);
    for knows in [false, true] {
        let mut loaded = load();
        if knows {
            let _ = loaded.signal::<Burns>("ring").unwrap();
        }
        burns(&mut || loaded.advance_time(seconds(2)));
        assert_eq!((alive(), loaded.pending().delayed_signals), (1, 1));
        burns(&mut || drop(std::mem::take(&mut loaded)));
        assert_eq!(alive(), 0);
    }
}

#[test]
fn a_world_that_waits_for_nothing_has_its_time() {
    let (mut world, _) = world(1);
    world.advance_time(Duration::from_nanos(1_234_567_890_123));
    let file = save(&mut world);
    let mut loaded = load(&file);
    assert_eq!(loaded.to_snapshot(&SnapshotOptions::new()).unwrap(), file);
    assert_eq!(loaded.time(), world.time());
    loaded.advance_time(seconds(1));
    assert_eq!(loaded.time(), world.time() + seconds(1));
}

#[test]
fn signals_for_those_who_have_died_are_counted_apart_and_nothing_is_missing_without_them() {
    let (mut world, all) = world(3);
    let [ant, bee, cow] = all[..] else {
        unreachable!()
    };
    let ring = world.signal::<u32>("ring").unwrap();
    for entity in [ant, bee, cow] {
        world.signals().send_after(ring, entity, 1, seconds(1));
    }
    world.collect_signals();
    world.destroy(ant).unwrap();
    let unsaved = |world: &World| world.unsaved(&SnapshotOptions::new());
    assert_eq!(unsaved(&world).dead_signals, 1);
    assert!(unsaved(&world).is_empty());
    assert_eq!(
        unsaved(&world).to_string(),
        "not saved: delayed signals for the dead: 1"
    );
    let skipping = SnapshotOptions::new().skip_signals();
    assert_eq!(world.unsaved(&skipping).dead_signals, 0);
    // Who lives elsewhere can be gone after.
    let mut other = World::of(world.universe()).unwrap();
    world.move_to(&mut other, bee).unwrap();
    let counts = |world: &World| (unsaved(world).delayed_signals, unsaved(world).dead_signals);
    assert_eq!(counts(&world), (1, 1));
    assert!(!unsaved(&world).is_empty());
    other.move_to(&mut world, bee).unwrap();
    assert_eq!(counts(&world), (0, 1));
    // The world that goes on counts it when its time comes, the loaded one does not.
    let mut loaded = load(&save(&mut world));
    assert_eq!(counts(&loaded), (0, 0));
    let delivered = [&mut world, &mut loaded].map(|world| {
        let ring = world.signal::<u32>("ring").unwrap();
        let mut reader: SignalReader = reader(world, ring);
        world.advance_time(seconds(1));
        let delivery = reader.deliver(world, |_, _| ());
        (delivery.entities, delivery.signals, delivery.dead)
    });
    assert_eq!(delivered, [(2, 2, 1), (2, 2, 0)]);
}
