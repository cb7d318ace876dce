//! What is broadcast: who hears it, when, for how long it waits, and that it is saved.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;
use megachunk::signal::{Delivery, SignalError};
use megachunk::world::SnapshotOptions;

use crate::rows::{Counted, ants, numbers, reader, seconds};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scored(u32);

#[derive(Default)]
struct Said(Vec<u32>);

fn hears<P>(world: &mut World, signal: Signal<P>) -> BroadcastReader<P> {
    let mut reader = BroadcastReader::new();
    reader.subscribe(world, signal).unwrap();
    reader
}

fn heard(reader: &mut BroadcastReader<u32>, world: &mut World) -> Vec<u32> {
    reader.hear(world).iter().copied().collect()
}

fn said(world: &mut World) -> Vec<u32> {
    let said = world.resources_mut().get_mut::<Said>().unwrap();
    core::mem::take(&mut said.0)
}

#[test]
fn who_listens_hears_each_once_in_order_and_entities_get_nothing_of_it() {
    let mut world = World::new();
    let ant = ants(&mut world, 1)[0];
    let [goal, foul] = ["goal", "foul"].map(|name| world.signal::<u32>(name).unwrap());
    let mut all = hears(&mut world, goal);
    all.subscribe(&mut world, foul).unwrap();
    let twice = all.subscribe(&mut world, goal);
    assert_eq!(
        twice,
        Err(SignalError::Twice {
            name: "goal".into()
        })
    );
    let mut goals = hears(&mut world, goal);
    let mut signalled: SignalReader = reader(&mut world, goal);
    let mut signals = world.signals();
    signals.broadcast(goal, 1);
    signals.send(goal, ant, 2);
    signals.broadcast(foul, 3);
    signals.send(goal, Entity::PLACEHOLDER, 4);
    signals.broadcast(goal, 5);
    assert_eq!(signals.len(), 5);
    drop(signals);
    assert!(all.read(&world).is_empty(), "not collected");
    let lent = all.hear(&mut world);
    assert_eq!((lent.len(), lent.is_empty()), (3, false));
    assert!(
        lent.iter().eq(&[1, 3, 5]) && lent.iter().rev().eq(&[5, 3, 1]),
        "twice"
    );
    assert_eq!(heard(&mut all, &mut world), [0_u32; 0]);
    // Each has its own place.
    assert_eq!(goals.read(&world).iter().collect::<Vec<_>>(), [&1, &5]);
    let mut late = hears(&mut world, goal);
    assert_eq!(heard(&mut late, &mut world), [0_u32; 0]);
    let delivery = signalled.deliver(&mut world, |entity, received| {
        assert_eq!((entity, received.len()), (ant, 1));
    });
    assert_eq!(
        (delivery.signals, delivery.dead, delivery.unmatched),
        (1, 1, 0)
    );
    // Of another world.
    let mut other = World::new();
    let foreign = other.signal_of::<u32>();
    let refused = all.subscribe(&mut other, foreign);
    assert_eq!(refused, Err(SignalError::OtherWorld));
    let sent = catch_unwind(AssertUnwindSafe(|| world.signals().broadcast(foreign, 1)));
    assert!(sent.is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| all.hear(&mut other).len())).is_err());
    assert_eq!(heard(&mut BroadcastReader::new(), &mut other), [0_u32; 0]);
}

#[test]
fn it_waits_as_long_as_signals_to_entities_do_and_ends_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    let counted = || Counted(Arc::clone(&drops));
    let count = || drops.swap(0, Ordering::Relaxed);
    let mut world = World::new();
    let signal = world.signal_of::<Counted>();
    world.signals().broadcast(signal, counted());
    world.collect_signals();
    assert_eq!(count(), 1, "nobody listens");
    let mut one = hears(&mut world, signal);
    let mut other = hears(&mut world, signal);
    for _ in 0..3 {
        world.signals().broadcast(signal, counted());
    }
    assert_eq!(world.pending().signals, 3);
    assert_eq!(one.hear(&mut world).len(), 3);
    world.collect_signals();
    assert_eq!((count(), world.pending().signals), (0, 3));
    assert_eq!(other.discard(&mut world), 3);
    assert_eq!((count(), world.pending().signals), (3, 0));
    // Trimmed, delayed, and in a world that ends.
    world.trim();
    world
        .signals()
        .broadcast_after(signal, counted(), seconds(1));
    world.signals().broadcast(signal, counted());
    assert_eq!(one.hear(&mut world).len(), 1);
    assert_eq!(
        (world.pending().signals, world.pending().delayed_signals),
        (1, 1)
    );
    drop((world, one, other));
    assert_eq!(count(), 2);
}

#[test]
fn it_can_wait_for_its_time_and_is_saved_as_others_are() {
    let universe = || {
        let universe = Universe::ordered();
        universe.registry().register_state::<u32>().unwrap();
        universe
    };
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let ant = world.create(()).unwrap();
    let named = world.signal::<u32>("noon").unwrap();
    let typed = world.signal_of::<u32>();
    let mut signals = world.signals();
    signals.broadcast_at(named, 20, seconds(2));
    signals.broadcast_after(named, 10, seconds(1));
    signals.send_after(named, ant, 11, seconds(1));
    signals.broadcast_after(typed, 12, seconds(1));
    signals.broadcast_after(signals.signal_of(), 'x', seconds(9));
    drop(signals);
    let options = SnapshotOptions::new();
    assert_eq!(world.unsaved(&options).delayed_signals, 5, "not collected");
    world.collect_signals();
    let unsaved = world.unsaved(&options);
    assert_eq!(
        (unsaved.delayed_signals, unsaved.dead_signals),
        (1, 0),
        "no state"
    );
    let file = world.to_snapshot(&options).unwrap();
    let mut loaded = World::from_snapshot(&file, universe(), &Default::default()).unwrap();
    assert_eq!(loaded.pending().delayed_signals, 4);
    assert!(
        loaded.to_snapshot(&options).unwrap() == file,
        "also before anybody asks for the signal"
    );
    for world in [&mut world, &mut loaded] {
        let named = world.signal::<u32>("noon").unwrap();
        let typed = world.signal_of::<u32>();
        let mut all = hears(world, named);
        all.subscribe(world, typed).unwrap();
        let mut to_ant: SignalReader = reader(world, named);
        assert_eq!(heard(&mut all, world), [0_u32; 0]);
        world.advance_time(seconds(1));
        assert_eq!(heard(&mut all, world), [10, 12]);
        assert_eq!(numbers(&mut to_ant, world, named), [(ant, vec![11])]);
        world.advance_time(seconds(1));
        assert_eq!(heard(&mut all, world), [20]);
        assert_eq!(to_ant.deliver(world, |_, _| {}), Delivery::default());
        world.check().unwrap();
    }
}

#[test]
fn it_stays_when_entities_go_to_another_world() {
    let universe = Arc::new(Universe::new());
    let [mut here, mut there] = [(); 2].map(|()| World::of(&universe).unwrap());
    let ant = here.create(()).unwrap();
    let ring = here.signal::<u32>("ring").unwrap();
    here.signals().send_after(ring, ant, 1, seconds(1));
    here.signals().broadcast_after(ring, 2, seconds(1));
    here.move_to(&mut there, ant).unwrap();
    assert_eq!(here.move_signals_to(&mut there).unwrap(), 1);
    let mut all = hears(&mut here, ring);
    here.advance_time(seconds(1));
    assert_eq!(heard(&mut all, &mut here), [2]);
}

#[test]
fn processors_hear_what_is_known_by_its_type_or_what_their_builders_name() {
    let mut world = World::new();
    world.resources_mut().insert(Said::default());
    let mut schedule = Schedule::new();
    let send = |mut signals: Signals| {
        let named = signals.signal::<Scored>("away").unwrap();
        signals.broadcast(named, Scored(2));
        signals.broadcast(signals.signal_of(), Scored(3));
    };
    let by_type = |all: Heard<Scored>, said: &mut Said| {
        said.0.extend(all.iter().map(|scored| scored.0));
    };
    let by_name = |all: Heard<Scored>, said: &mut Said| {
        said.0.extend(all.iter().map(|scored| 10 * scored.0));
    };
    let both = |all: Heard<Scored>, said: &mut Said| {
        said.0.extend(all.iter().map(|scored| 100 * scored.0));
    };
    schedule.add(processor("send", send));
    schedule.add(processor("by type", by_type).phase(Phase::EndPhysics));
    let by_name = processor("by name", by_name).hears::<Scored>("away");
    schedule.add(by_name.phase(Phase::PostPhysics));
    let both = processor("both", both)
        .hears::<Scored>("away")
        .hears_type::<Scored>();
    schedule.add(both.phase(Phase::FrameEnd));
    for _ in 0..2 {
        schedule.run(&mut world).unwrap();
        assert_eq!(said(&mut world), [3, 20, 200, 300]);
    }
    // Who is switched off gets it later, or never.
    schedule.set_enabled("by type", false).unwrap();
    schedule.run(&mut world).unwrap();
    assert_eq!(said(&mut world), [20, 200, 300]);
    schedule.set_enabled("send", false).unwrap();
    schedule.set_enabled("by type", true).unwrap();
    schedule.run(&mut world).unwrap();
    assert_eq!(said(&mut world), [3]);
    world.signals().broadcast(world.signal_of(), Scored(7));
    assert_eq!(schedule.discard_signals(&mut world, "by type").unwrap(), 1);
    schedule.run(&mut world).unwrap();
    assert_eq!(said(&mut world), [700]);
}

#[test]
fn who_names_what_no_parameter_takes_is_refused() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(processor("vain", |_: Heard<u8>| {}).hears_type::<u16>());
    let refused = schedule.run(&mut world).unwrap_err().to_string();
    assert!(
        refused.contains("`vain` subscribes to signals, but takes none"),
        "{refused}"
    );
    let mut schedule = Schedule::new();
    let two = |_: Heard<u8>, _: Heard<u16>, mut one: Signalled| {
        let _ = one.deliver(|_, _| {});
    };
    schedule.add(processor("two", two).hears_type::<u32>());
    schedule.run(&mut world).unwrap();
}

#[test]
fn who_could_not_run_for_want_of_a_resource_hears_it_later() {
    struct Missing;
    let mut world = World::new();
    world.resources_mut().insert(Said::default());
    let mut schedule = Schedule::new();
    let hear = |all: Heard<Scored>, _: &Missing, said: &mut Said| {
        said.0.extend(all.iter().map(|scored| scored.0));
    };
    schedule.add(processor("hear", hear));
    world.resources_mut().insert(Missing);
    schedule.run(&mut world).unwrap();
    world.resources_mut().remove::<Missing>();
    world.signals().broadcast(world.signal_of(), Scored(4));
    assert!(schedule.run(&mut world).is_err());
    world.signals().broadcast(world.signal_of(), Scored(5));
    world.resources_mut().insert(Missing);
    schedule.run(&mut world).unwrap();
    assert_eq!(said(&mut world), [4, 5]);
    schedule.run(&mut world).unwrap();
    assert_eq!(said(&mut world), [0_u32; 0]);
}

#[test]
fn the_order_is_the_same_for_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let mut world = World::new();
        let _ = world.create_batch((0..20_000_u32).map(|n| (n,))).unwrap();
        world.resources_mut().insert(Said::default());
        let mut schedule = Schedule::new();
        let send = |mut numbers: QueryRun<&u32>, signals: ParallelSignals, even: &Signal<u32>| {
            numbers.par_for_each_init(
                |chunk| signals.open_at(chunk.sort_key()),
                |signals, &number| match number % 3 {
                    0 => signals.broadcast(*even, number),
                    1 => signals.broadcast(signals.signal_of(), number),
                    _ => {}
                },
            );
        };
        let hear = |all: Heard<u32>, said: &mut Said| said.0.extend(all.iter());
        let even = world.signal::<u32>("even").unwrap();
        world.resources_mut().insert(even);
        schedule
            .add(processor("send", send))
            .add(processor("also", send));
        let hear = processor("hear", hear)
            .hears::<u32>("even")
            .hears_type::<u32>();
        schedule.add(hear.phase(Phase::FrameEnd));
        pool.unwrap().install(|| schedule.run(&mut world)).unwrap();
        said(&mut world)
    };
    let one = run(1);
    assert!(one.len() > 20_000);
    for threads in [2, 4] {
        assert!(run(threads) == one, "{threads} threads");
    }
}

#[test]
fn a_processor_that_names_a_signal_that_none_of_its_parameters_takes_is_refused() {
    let mut schedule = Schedule::new();
    schedule.add(
        processor("hears", |_: Heard<'_, u32>| ())
            .hears::<u32>("goal")
            .hears::<u8>("whistle"),
    );
    let error = schedule
        .run(&mut World::new())
        .expect_err("nobody takes it");
    assert!(
        matches!(error, ScheduleError::HearsInVain { .. }),
        "{error}"
    );
}
