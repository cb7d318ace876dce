//! Signals that wait: for their time, or for their entities to be built.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use megachunk::prelude::*;

use crate::rows::{Counted, Health, ants, numbers, reader, seconds};

#[test]
fn delayed_signals_come_with_the_worlds_time() {
    let mut world = World::new();
    let ant = ants(&mut world, 1)[0];
    let ring = world.signal::<u32>("ring").unwrap();
    let mut reader: SignalReader = reader(&mut world, ring);
    let mut signals = world.signals();
    signals.send_after(ring, ant, 30, seconds(3));
    signals.send_after(ring, ant, 10, seconds(1));
    signals.send(ring, ant, 0);
    signals.send_at(ring, ant, 1, Duration::ZERO);
    signals.send_after(ring, ant, 99, Duration::MAX);
    drop(signals);
    assert_eq!(numbers(&mut reader, &mut world, ring), [(ant, vec![0, 1])]);
    world.advance_time(Duration::from_millis(999));
    assert_eq!(numbers(&mut reader, &mut world, ring), []);
    world
        .signals()
        .send_after(ring, ant, 20, Duration::from_millis(1));
    world.advance_time(Duration::from_millis(1));
    assert_eq!(world.time(), seconds(1));
    assert_eq!(
        numbers(&mut reader, &mut world, ring),
        [(ant, vec![10, 20])]
    );
    world.signals().send(ring, ant, 5);
    world.advance_time(seconds(60));
    assert_eq!(numbers(&mut reader, &mut world, ring), [(ant, vec![5, 30])]);
}

#[test]
fn what_a_sender_has_left_comes_though_its_thread_has_another_one_open() {
    let mut world = World::new();
    let ant = ants(&mut world, 1)[0];
    let ring = world.signal::<u32>("ring").unwrap();
    let mut reader: SignalReader = reader(&mut world, ring);
    let senders = world.parallel_signals();
    senders.open().send(ring, ant, 1);
    let mut open = senders.open();
    open.send(ring, ant, 2);
    assert_eq!(world.pending().signals, 1);
    assert_eq!(numbers(&mut reader, &mut world, ring), [(ant, vec![1])]);
    // One that is forgotten keeps what it has sent itself, and no more.
    std::mem::forget(open);
    for round in 3..20 {
        senders.open().send(ring, ant, round);
        let open = senders.open();
        assert_eq!(numbers(&mut reader, &mut world, ring), [(ant, vec![round])]);
        drop(open);
    }
}

#[test]
fn a_world_says_what_waits() {
    let waits = |world: &World| {
        let pending = world.pending();
        let signals = (pending.signals, pending.delayed_signals);
        assert_eq!(
            pending.is_empty(),
            signals == (0, 0) && pending.commands == 0
        );
        (pending.entities, pending.commands, signals)
    };
    let mut world = World::new();
    assert!(world.pending().is_empty());
    let ant = ants(&mut world, 1)[0];
    let ring = world.signal::<u32>("ring").unwrap();
    let mut reader: SignalReader = reader(&mut world, ring);
    let unbuilt = world.reserve().unwrap();
    let mut signals = world.signals();
    signals.send(ring, ant, 1);
    signals.send(ring, unbuilt, 2);
    signals.send_after(ring, ant, 3, seconds(1));
    drop(signals);
    assert_eq!(waits(&world), (0, 0, (2, 1)));
    world.advance_time(Duration::ZERO);
    assert_eq!(waits(&world), (0, 0, (2, 1)), "collected, and not read");
    assert_eq!(numbers(&mut reader, &mut world, ring), [(ant, vec![1])]);
    assert_eq!(waits(&world), (0, 0, (1, 1)));
    let mut commands = world.commands();
    commands.build(unbuilt, (1_u8,)).unwrap();
    commands.create((1_u8,)).unwrap();
    commands.add(ant, (1_u8,)).unwrap();
    commands.destroy(ant);
    drop(commands);
    assert_eq!(waits(&world), (2, 2, (1, 1)));
    assert!(world.flush().is_clean());
    world.advance_time(seconds(1));
    numbers(&mut reader, &mut world, ring);
    drop(reader);
    world.advance_time(Duration::ZERO);
    assert!(world.pending().is_empty(), "{:?}", world.pending());
}

#[test]
fn who_subscribes_gets_what_was_sent_before_and_still_waits() {
    let mut world = World::new();
    let ant = ants(&mut world, 1)[0];
    let ring = world.signal::<u32>("ring").unwrap();
    let _early: SignalReader = reader(&mut world, ring);
    let unbuilt = world.reserve().unwrap();
    let parallel = world.parallel_signals();
    let mut open = parallel.open();
    open.send(ring, ant, 1);
    let mut signals = world.signals();
    signals.send(ring, ant, 2);
    signals.send_after(ring, ant, 3, seconds(1));
    signals.send(ring, unbuilt, 4);
    drop(signals);
    let mut late: SignalReader = reader(&mut world, ring);
    assert_eq!(numbers(&mut late, &mut world, ring), []);
    drop(open);
    assert_eq!(numbers(&mut late, &mut world, ring), [(ant, vec![1])]);
    world.advance_time(seconds(1));
    assert_eq!(numbers(&mut late, &mut world, ring), [(ant, vec![3])]);
    world.build(unbuilt, (Health(1),)).unwrap();
    assert_eq!(numbers(&mut late, &mut world, ring), [(unbuilt, vec![4])]);
}

#[test]
fn delayed_signals_that_nobody_hears_are_kept_until_their_time() {
    let drops = Arc::new(AtomicUsize::new(0));
    let count = || drops.load(Ordering::Relaxed);
    let mut world = World::new();
    let ant = ants(&mut world, 1)[0];
    let unbuilt = world.reserve().unwrap();
    let signal = world.signal_of::<Counted>();
    let mut signals = world.signals();
    for entity in [ant, unbuilt] {
        signals.send(signal, entity, Counted(Arc::clone(&drops)));
        signals.send_after(signal, entity, Counted(Arc::clone(&drops)), seconds(1));
    }
    drop(signals);
    world.advance_time(Duration::from_millis(999));
    assert_eq!(count(), 1, "the one that waits for nothing");
    world.advance_time(Duration::from_millis(1));
    assert_eq!(count(), 2, "its time has come");
    world.build(unbuilt, (Health(1),)).unwrap();
    world.collect_signals();
    assert_eq!(count(), 4, "their entity is built");
}

#[test]
fn who_gets_what_waits_for_an_entity_depends_on_no_other_reader() {
    for others in [false, true] {
        let mut world = World::new();
        let ring = world.signal::<u32>("ring").unwrap();
        let other: Option<SignalReader> = others.then(|| reader(&mut world, ring));
        let unbuilt = world.reserve().unwrap();
        world.signals().send(ring, unbuilt, 7);
        let mut late: SignalReader = reader(&mut world, ring);
        drop(other);
        world.build(unbuilt, (Health(1),)).unwrap();
        let got = numbers(&mut late, &mut world, ring);
        assert_eq!(got, [(unbuilt, vec![7])], "others: {others}");
    }
}

#[test]
fn a_delayed_signal_waits_for_its_entity_although_its_sender_was_open_when_its_time_came() {
    for open in [false, true] {
        let mut world = World::new();
        let ring = world.signal::<u32>("ring").unwrap();
        let unbuilt = world.reserve().unwrap();
        let parallel = world.parallel_signals();
        let mut signals = parallel.open();
        signals.send_at(ring, unbuilt, 7, seconds(1));
        let signals = open.then_some(signals);
        world.advance_time(seconds(1));
        drop(signals);
        let mut late: SignalReader = reader(&mut world, ring);
        world.build(unbuilt, (Health(1),)).unwrap();
        let got = numbers(&mut late, &mut world, ring);
        assert_eq!(got, [(unbuilt, vec![7])], "open: {open}");
    }
}

#[test]
fn what_waits_for_an_entity_that_nobody_will_build_goes_when_it_is_released() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let signal = world.signal_of::<Counted>();
    let unbuilt = world.reserve().unwrap();
    let mut signals = world.signals();
    for _ in 0..100 {
        signals.send(signal, unbuilt, Counted(Arc::clone(&drops)));
    }
    drop(signals);
    world.collect_signals();
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    world.release(unbuilt).unwrap();
    world.collect_signals();
    assert_eq!(drops.load(Ordering::Relaxed), 100);
}

#[test]
fn delayed_signals_for_the_same_time_keep_their_order_from_any_thread() {
    let run = |threads: u64| {
        let mut world = World::new();
        let all = ants(&mut world, 50);
        let ring = world.signal::<u32>("ring").unwrap();
        let mut reader: SignalReader = reader(&mut world, ring);
        let sender = world.parallel_signals();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (sender, all) = (&sender, &all);
                scope.spawn(move || {
                    for piece in (0..64).filter(|piece| piece % threads == thread) {
                        let mut signals = sender.open_at(piece);
                        for n in 0..40_u32 {
                            let ant = all[(n * 7 + piece as u32) as usize % all.len()];
                            let time = seconds(u64::from(n % 3));
                            signals.send_at(ring, ant, piece as u32 * 100 + n, time);
                        }
                    }
                });
            }
        });
        let now = numbers(&mut reader, &mut world, ring);
        world.advance_time(seconds(1));
        let first = numbers(&mut reader, &mut world, ring);
        world.advance_time(seconds(1));
        let second = numbers(&mut reader, &mut world, ring);
        let total = [&now, &first, &second].map(|got| got.iter().map(|(_, n)| n.len()).sum());
        assert_eq!(total.iter().sum::<usize>(), 64 * 40);
        for (_, numbers) in first.iter().chain(&second) {
            assert!(numbers.is_sorted(), "sent in this order: {numbers:?}");
        }
        [now, first, second]
    };
    let one = run(1);
    for threads in [2, 3, 4] {
        assert!(run(threads) == one, "{threads} threads");
    }
}

#[test]
fn entities_that_are_not_built_yet_get_their_signals_when_they_are() {
    let mut world = World::new();
    let hit = world.signal::<u32>("hit").unwrap();
    let mut reader: SignalReader = reader(&mut world, hit);
    let (reserved, lost) = (world.reserve().unwrap(), world.reserve().unwrap());
    let mut commands = world.commands();
    let recorded = commands.create((Health(1),)).unwrap();
    drop(commands);
    let mut signals = world.signals();
    signals.send_all(hit, &[recorded, reserved, lost], &1);
    signals.send(hit, recorded, 2);
    drop(signals);
    assert_eq!(numbers(&mut reader, &mut world, hit), []);
    assert!(world.flush().is_clean());
    world.release(lost).unwrap();
    world.signals().send(hit, recorded, 3);
    let mut got = Vec::new();
    let delivery = reader.deliver(&mut world, |entity, received| {
        got.push((entity, received.of(hit).copied().collect::<Vec<_>>()));
    });
    assert_eq!((got, delivery.dead), (vec![(recorded, vec![1, 2, 3])], 1));
    world.build(reserved, (Health(1),)).unwrap();
    assert_eq!(numbers(&mut reader, &mut world, hit), [(reserved, vec![1])]);
}

#[test]
fn what_waits_for_entities_is_found_however_many_wait() {
    let mut world = World::new();
    let ring = world.signal::<u32>("ring").unwrap();
    let mut reader: SignalReader = reader(&mut world, ring);
    let all: Vec<Entity> = (0..1_000).map(|_| world.reserve().unwrap()).collect();
    world.signals().send_all(ring, &all, &1);
    assert_eq!(numbers(&mut reader, &mut world, ring), []);
    // Built by a call, by a recorder, and for a closure of the same flush.
    world.build(all[900], (Health(1),)).unwrap();
    assert_eq!(
        numbers(&mut reader, &mut world, ring),
        [(all[900], vec![1])]
    );
    let mut commands = world.commands();
    commands.build(all[800], (Health(1),)).unwrap();
    let seen = Arc::new(AtomicUsize::new(0));
    let mine = Arc::clone(&seen);
    let built = all[800];
    commands.defer(move |world| {
        world.collect_signals();
        mine.store(usize::from(world.is_built(built)), Ordering::Relaxed);
    });
    drop(commands);
    assert_eq!(numbers(&mut reader, &mut world, ring), []);
    assert!(world.flush().is_clean());
    assert_eq!(seen.load(Ordering::Relaxed), 1);
    assert_eq!(
        numbers(&mut reader, &mut world, ring),
        [(all[800], vec![1])]
    );
    // Built in another world: it waits there, too, and is found when it comes.
    let mut other = World::of(&Arc::clone(world.universe())).unwrap();
    other.build(all[950], (Health(1),)).unwrap();
    other.move_to(&mut world, all[950]).unwrap();
    assert_eq!(
        numbers(&mut reader, &mut world, ring),
        [(all[950], vec![1])]
    );
    // Those that die are found by and by.
    all[500..800]
        .iter()
        .for_each(|&lost| world.release(lost).unwrap());
    let mut dead = 0;
    for _ in 0..20 {
        dead += reader.deliver(&mut world, |_, _| unreachable!()).dead;
    }
    assert_eq!(dead, 300);
    for &entity in all[..500].iter().chain(&all[801..900]) {
        world.build(entity, (Health(1),)).unwrap();
    }
    assert_eq!(numbers(&mut reader, &mut world, ring).len(), 599);
}

#[test]
fn a_schedule_looks_for_what_waits_though_nothing_was_sent() {
    let mut world = World::new();
    let hit = world.signal::<Arc<u8>>("hit").unwrap();
    let mut reader = SignalReader::<&u32>::new(&world).unwrap();
    reader.subscribe(&mut world, hit).unwrap();
    let payload = Arc::new(1);
    let [built, released] = [(); 2].map(|()| world.reserve().unwrap());
    for entity in [built, released] {
        world.signals().send(hit, entity, Arc::clone(&payload));
    }
    world.collect_signals();
    world.commands().build(built, (1_u32,)).unwrap();
    world.release(released).unwrap();
    let mut schedule = Schedule::new();
    schedule.run(&mut world).unwrap();
    assert_eq!(reader.read(&world, |_, _| ()).signals, 1);
    schedule.run(&mut world).unwrap();
    drop(reader);
    schedule.run(&mut world).unwrap();
    world.collect_signals();
    assert_eq!(Arc::strong_count(&payload), 1);
}
