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
    let world = World::from_snapshot(file, universe()).unwrap();
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
    let (mut copy, come) =
        World::from_snapshot_remapped(&file, world.universe(), &EntityMap::default()).unwrap();
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
    let loaded = load(&save(&mut world));
    assert_eq!(loaded.pending().delayed_signals, 1);
    assert_eq!(loaded.pending().signals, 0);
    // Of what was sent and not collected nothing is saved.
    world.signals().send_after(ring, alive, 5, seconds(1));
    let file = world.to_snapshot(&SnapshotOptions::new()).unwrap();
    assert_eq!(load(&file).pending().delayed_signals, 1);
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
        let write = |_: &Burns, _: &mut Vec<u8>| Ok::<(), String>(());
        let read = |_: &[u8], _: &EntityMap| Ok(Burns::new());
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
    let load = || World::from_snapshot(&file, universe()).unwrap();
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
