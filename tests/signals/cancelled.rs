//! Signals that wait for their time and are taken back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use megachunk::prelude::*;
use megachunk::world::SnapshotOptions;

use crate::rows::{Counted, ants, numbers, reader, seconds};

fn universe() -> Universe {
    let universe = Universe::ordered();
    universe.registry().register_state::<u32>().unwrap();
    universe
}

#[test]
fn what_was_sent_before_is_taken_back_and_what_is_sent_later_arrives() {
    let mut world = World::new();
    let all = ants(&mut world, 2);
    let (ant, bee) = (all[0], all[1]);
    let [ring, hit] = ["ring", "hit"].map(|name| world.signal::<u32>(name).unwrap());
    let mut rings: SignalReader = reader(&mut world, ring);
    let mut hits: SignalReader = reader(&mut world, hit);
    let mut signals = world.signals();
    signals.send_after(ring, ant, 1, seconds(1));
    signals.send_after(ring, bee, 2, seconds(1));
    signals.send_after(hit, ant, 3, seconds(1));
    signals.send(ring, ant, 4);
    drop(signals);
    world.collect_signals();
    let mut signals = world.signals();
    signals.send_after(ring, ant, 5, seconds(2));
    signals.cancel(ring, ant);
    signals.send_after(ring, ant, 6, seconds(3));
    assert_eq!(signals.len(), 3);
    drop(signals);
    assert_eq!(world.pending().delayed_signals, 6, "nobody has looked");
    world.collect_signals();
    assert_eq!(world.pending().delayed_signals, 3);
    assert_eq!(
        numbers(&mut rings, &mut world, ring),
        [(ant, vec![4])],
        "arrived before"
    );
    world.advance_time(seconds(1));
    assert_eq!(numbers(&mut rings, &mut world, ring), [(bee, vec![2])]);
    assert_eq!(numbers(&mut hits, &mut world, hit), [(ant, vec![3])]);
    // What has arrived, or is for somebody else, stays.
    let mut signals = world.signals();
    signals.cancel(ring, bee);
    signals.cancel(hit, ant);
    signals.cancel(ring, Entity::PLACEHOLDER);
    drop(signals);
    world.advance_time(seconds(2));
    assert_eq!(numbers(&mut rings, &mut world, ring), [(ant, vec![6])]);
    assert!(world.pending().is_empty());
    let foreign = World::new().signal::<u32>("ring").unwrap();
    let cancelled = catch_unwind(AssertUnwindSafe(|| world.signals().cancel(foreign, ant)));
    assert!(cancelled.is_err());
}

#[test]
fn one_of_several_is_taken_back_by_its_time_and_broadcasts_by_themselves() {
    let mut world = World::new();
    let ant = ants(&mut world, 1)[0];
    let ring = world.signal::<u32>("ring").unwrap();
    let mut rings: SignalReader = reader(&mut world, ring);
    let mut all = BroadcastReader::new();
    all.subscribe(&mut world, ring).unwrap();
    let mut signals = world.signals();
    for second in 1..=3 {
        signals.send_at(ring, ant, second, seconds(second.into()));
        signals.broadcast_at(ring, 10 * second, seconds(second.into()));
    }
    signals.send_at(ring, ant, 9, Duration::MAX);
    signals.cancel_at(ring, ant, seconds(2));
    signals.cancel_at(ring, ant, seconds(5));
    drop(signals);
    world.advance_time(seconds(2));
    assert_eq!(numbers(&mut rings, &mut world, ring), [(ant, vec![1])]);
    assert!(all.hear(&mut world).iter().eq(&[10, 20]));
    world.signals().cancel_broadcasts(ring);
    world.advance_time(seconds(1));
    assert_eq!(numbers(&mut rings, &mut world, ring), [(ant, vec![3])]);
    assert!(all.hear(&mut world).is_empty());
    // The end of time.
    world.signals().cancel_at(ring, ant, Duration::MAX);
    world.advance_time(Duration::MAX);
    world.signals().cancel(ring, ant);
    assert_eq!(numbers(&mut rings, &mut world, ring), []);
    assert!(world.pending().is_empty());
}

#[test]
fn what_is_cancelled_is_not_saved_and_what_was_saved_can_be_cancelled() {
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let all = [(); 2].map(|()| world.create(()).unwrap());
    let ring = world.signal::<u32>("ring").unwrap();
    let mut signals = world.signals();
    signals.send_all(ring, &all, &0);
    for (n, &ant) in (1..).zip(all.iter().cycle().take(6)) {
        signals.send_after(ring, ant, n, seconds(n.into()));
    }
    drop(signals);
    world.collect_signals();
    world.signals().cancel_at(ring, all[0], seconds(3));
    let options = SnapshotOptions::new();
    assert_eq!(world.unsaved(&options).delayed_signals, 1);
    world.collect_signals();
    assert!(world.unsaved(&options).is_empty());
    let file = world.to_snapshot(&options).unwrap();
    let mut loaded = World::from_snapshot(&file, universe(), &Default::default()).unwrap();
    assert_eq!(loaded.pending().delayed_signals, 5);
    for world in [&mut world, &mut loaded] {
        // In the one that was loaded nobody has asked for it yet.
        let ring = world.signal::<u32>("ring").unwrap();
        let mut rings: SignalReader = reader(world, ring);
        world.signals().cancel(ring, all[1]);
        world.signals().send_after(ring, all[1], 7, seconds(1));
        world.advance_time(seconds(9));
        let got = numbers(&mut rings, world, ring);
        assert_eq!(got, [(all[0], vec![1, 5]), (all[1], vec![7])]);
    }
}

#[test]
fn payloads_of_what_is_taken_back_end_once_also_if_a_drop_panics() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let ant = ants(&mut world, 1)[0];
    let (counted, bad) = (world.signal_of::<Counted>(), world.signal_of::<Bad>());
    let mut signals = world.signals();
    for second in [3, 1, 2] {
        signals.send_after(counted, ant, Counted(Arc::clone(&drops)), seconds(second));
        signals.send_after(bad, ant, Bad, seconds(second));
    }
    drop(signals);
    world.collect_signals();
    let mut signals = world.signals();
    signals.cancel(counted, ant);
    signals.cancel_at(bad, ant, seconds(1));
    drop(signals);
    let panic = catch_unwind(AssertUnwindSafe(|| world.collect_signals())).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"dropped"));
    assert_eq!(drops.load(Ordering::Relaxed), 3);
    assert_eq!(world.pending().delayed_signals, 2);
    world.collect_signals();
    world.signals().cancel(bad, ant);
    assert!(catch_unwind(AssertUnwindSafe(|| world.collect_signals())).is_err());
    assert!(world.pending().is_empty());
    // A bag that only cancels goes with its world.
    let parallel = world.parallel_signals();
    world.signals().cancel(counted, ant);
    drop(world);
    parallel.open().cancel(counted, ant);
}

#[test]
fn many_are_taken_back_at_once_with_the_same_result_for_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let mut world = World::of(&Arc::new(universe())).unwrap();
        let batch = world.create_batch((0..20_000_u32).map(|n| (n,)));
        let all = batch.unwrap().to_vec(&world);
        let ring = world.signal::<u32>("ring").unwrap();
        let mut rings: SignalReader = reader(&mut world, ring);
        for second in 1..=2 {
            let mut signals = world.signals();
            for &ant in &all {
                signals.send_after(ring, ant, second, seconds(second.into()));
            }
        }
        // Senders of chunks come before one that has the middle key.
        world.collect_signals();
        let sender = world.parallel_signals();
        let mut query = Query::<(Entity, &u32)>::new(&world).unwrap();
        pool.unwrap().install(|| {
            query.on(&mut world).par_for_each_init(
                |chunk| sender.open_at(chunk.sort_key()),
                |signals, (ant, &number)| match number % 4 {
                    0 => signals.cancel(ring, ant),
                    1 => signals.cancel_at(ring, ant, seconds(1)),
                    2 => {
                        signals.cancel(ring, ant);
                        signals.send_after(ring, ant, 3, seconds(1));
                    }
                    _ => {}
                },
            );
        });
        world.advance_time(seconds(2));
        numbers(&mut rings, &mut world, ring)
    };
    let one = run(1);
    let of = |n: usize| one.iter().filter(|(_, got)| got.len() == n).count();
    assert_eq!((one.len(), of(1), of(2)), (15_000, 10_000, 5_000));
    for threads in [2, 4] {
        assert!(run(threads) == one, "{threads} threads");
    }
}
