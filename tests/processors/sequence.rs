//! What comes before what: commands and signals of runs, flushes, closures and observers.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::sync::{Arc, Mutex};

use megachunk::observer::Observed;
use megachunk::prelude::*;

use crate::misused::{A, B, Said, said, world};

#[test]
fn what_was_recorded_before_a_run_comes_before_what_processors_record() {
    let mut world = World::new();
    let ant = world.create((A(0),)).expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(processor("later", move |mut commands: Commands| {
        commands.set(ant, A(2)).expect("it may");
    }));
    schedule.solve(&mut world).expect("it is right");
    world.commands().set(ant, A(1)).expect("it may");
    schedule.run(&mut world).expect("it runs");
    assert_eq!(
        world.get::<A>(ant).expect("it lives").0,
        2,
        "the last write wins"
    );
}

#[test]
fn what_a_flush_has_left_comes_before_what_processors_record_later() {
    let mut world = World::new();
    world.set_flush_rounds(1);
    let ant = world.create((A(0),)).expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(processor("first", move |mut commands: Commands| {
        commands.defer(move |world| {
            let set = world.commands().set(ant, A(1));
            set.expect("it may");
        });
    }));
    let second = processor("second", move |mut commands: Commands| {
        commands.set(ant, A(2)).expect("it may");
    });
    schedule.add(second.phase(Phase::StartPhysics));
    assert!(schedule.run(&mut world).expect("it runs").flush.unfinished);
    let _ = world.flush();
    assert_eq!(world.get::<A>(ant).expect("it lives").0, 2);
}

/// Who sends 1 before a processor of the schedule sends 2.
#[derive(Clone, Copy, Debug, PartialEq)]
enum First {
    Exclusive,
    Inner,
    Closure,
    Observer,
}

#[test]
fn signals_come_in_the_order_of_the_schedule_whoever_sends_them() {
    for first in [
        First::Exclusive,
        First::Inner,
        First::Closure,
        First::Observer,
    ] {
        let mut world = World::new();
        let ping = world.signal::<u32>("ping").expect("it is new");
        let ant = world.create((A(0),)).expect("there is room");
        let mut schedule = Schedule::new();
        let mut inner = Schedule::new();
        for number in 0..10 {
            inner.add(processor(format!("pad {number}"), || {}));
        }
        let sends = move |mut signals: Signals| signals.send(ping, ant, 1);
        inner.add(processor("inner", sends).after("pad 9"));
        schedule.add(match first {
            First::Exclusive => exclusive_processor("first", move |world: &mut World| {
                world.signals().send(ping, ant, 1);
            }),
            First::Inner => exclusive_processor("first", move |world: &mut World| {
                inner.run(world).expect("it runs");
            }),
            First::Closure => processor("first", move |mut commands: Commands| {
                commands.defer(move |world| world.signals().send(ping, ant, 1));
            }),
            First::Observer => processor("first", |mut commands: Commands| {
                commands.create((B,)).expect("there is room");
            }),
        });
        let out = world.parallel_signals();
        schedule.add(observing_processor::<B, ()>(
            "watch",
            Observed::COME,
            move |_, _| out.open().send(ping, ant, 1),
        ));
        let second = processor("second", move |mut signals: Signals| {
            signals.send(ping, ant, 2);
        });
        schedule.add(match first {
            First::Exclusive | First::Inner => second.after("first"),
            First::Closure | First::Observer => second.phase(Phase::StartPhysics),
        });
        let heard = Arc::new(Mutex::new(Vec::new()));
        let note = Arc::clone(&heard);
        let hear = processor("hear", move |mut pings: Signalled<Entity>| {
            let _ = pings.deliver(|_, received| {
                let mut heard = note.lock().expect("nobody panicked");
                heard.extend(received.of(ping).copied());
            });
        });
        schedule.add(hear.hears::<u32>("ping").phase(Phase::FrameEnd));
        for _ in 0..2 {
            schedule.run(&mut world).expect("it runs");
            let heard = core::mem::take(&mut *heard.lock().expect("nobody panicked"));
            assert_eq!(heard, [1, 2], "{first:?}");
        }
    }
}

#[test]
fn signals_of_one_frame_come_before_those_of_the_next() {
    let mut world = world();
    let ping = world.signal::<u32>("ping").expect("it is new");
    let ant = world.create((A(0),)).expect("there is room");
    let mut schedule = Schedule::new();
    let mut frame = 0;
    schedule.add(processor("early", move |mut signals: Signals| {
        frame += 1;
        signals.send(ping, ant, frame * 10);
    }));
    let mut frame = 0;
    schedule.add(
        processor("late", move |mut signals: Signals| {
            frame += 1;
            signals.send(ping, ant, frame * 10 + 1);
        })
        .phase(Phase::FrameEnd),
    );
    schedule.add(
        processor("hear", move |mut heard: Signalled<&A>, said: &mut Said| {
            let _ = heard.deliver(|_, received| {
                let numbers: Vec<String> = received.of(ping).map(u32::to_string).collect();
                said.0.push(numbers.join(" "));
            });
        })
        .hears::<u32>("ping")
        .phase(Phase::DuringPhysics),
    );
    for _ in 0..3 {
        schedule.run(&mut world).expect("it runs");
    }
    assert_eq!(said(&mut world), ["10", "11 20", "21 30"]);
}

#[test]
fn signals_come_in_the_order_of_runs_though_no_processor_hears_them() {
    let mut world = world();
    let ping = world.signal::<u32>("ping").expect("it is new");
    let ant = world.create((A(0),)).expect("there is room");
    let mut reader = SignalReader::<Entity>::new(&world).expect("it is well formed");
    reader.subscribe(&mut world, ping).expect("it is new");
    let sends = |name: &str, base: u32| {
        let mut frame = 0;
        processor(name, move |mut signals: Signals| {
            frame += 1;
            signals.send(ping, ant, base + frame);
        })
    };
    let mut schedule = Schedule::new();
    schedule.add(sends("first", 10));
    schedule.add(sends("second", 20).after("first"));
    world.signals().send(ping, ant, 1);
    for _ in 0..2 {
        schedule.run(&mut world).expect("it runs");
    }
    world.signals().send(ping, ant, 2);
    let mut got: Vec<u32> = Vec::new();
    let _ = reader.deliver(&mut world, |_, received| got.extend(received.of(ping)));
    assert_eq!(got, [1, 11, 21, 12, 22, 2]);
}

#[test]
fn signals_that_nobody_has_asked_for_end_with_the_next_run() {
    let mut world = world();
    let payload = Arc::new(());
    let ping = world.signal::<Arc<()>>("ping").expect("it is new");
    let ant = world.create((A(0),)).expect("there is room");
    let mut schedule = Schedule::new();
    let sent = Arc::clone(&payload);
    schedule.add(processor("ping", move |mut signals: Signals| {
        signals.send(ping, ant, Arc::clone(&sent));
    }));
    for _ in 0..100 {
        schedule.run(&mut world).expect("it runs");
    }
    assert_eq!(
        Arc::strong_count(&payload),
        3,
        "the processor's, and one signal's"
    );
}

#[test]
fn signals_of_a_sender_that_stays_open_over_runs_arrive_all_the_same() {
    let mut world = world();
    let ping = world.signal::<u32>("ping").expect("it is new");
    let ant = world.create((A(0),)).expect("there is room");
    let mut reader = SignalReader::<Entity>::new(&world).expect("it is well formed");
    reader.subscribe(&mut world, ping).expect("it is new");
    let senders = world.parallel_signals();
    let mut schedule = Schedule::new();
    schedule.add(processor("nothing", || {}));
    let mut sender = senders.open();
    sender.send(ping, ant, 1);
    for _ in 0..2 {
        schedule.run(&mut world).expect("it runs");
    }
    drop(sender);
    schedule.run(&mut world).expect("it runs");
    let mut got: Vec<u32> = Vec::new();
    let _ = reader.deliver(&mut world, |_, received| got.extend(received.of(ping)));
    assert_eq!(got, [1]);
}
