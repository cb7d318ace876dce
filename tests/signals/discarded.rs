//! Signals that are let go before their readers get them.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;

use crate::rows::{Counted, ants, numbers, reader, seconds};

#[test]
fn what_waits_for_a_reader_is_discarded_and_what_comes_later_is_not() {
    let mut world = World::new();
    let ants = ants(&mut world, 2);
    let [hit, healed] = ["hit", "healed"].map(|name| world.signal::<u32>(name).unwrap());
    let mut one: SignalReader = reader(&mut world, hit);
    one.subscribe(&mut world, healed).unwrap();
    let mut other: SignalReader = reader(&mut world, hit);
    let unbuilt = world.reserve().unwrap();
    let mut signals = world.signals();
    signals.send_all(hit, &ants, &1);
    signals.send(healed, ants[0], 2);
    signals.send(hit, unbuilt, 3);
    signals.send_after(hit, ants[1], 4, seconds(1));
    drop(signals);
    world.collect_signals();
    world.signals().send(hit, ants[0], 5);
    // Collected or not.
    assert_eq!(one.discard(&mut world), 4);
    assert_eq!(one.discard(&mut world), 0);
    // Nothing is taken from others.
    assert_eq!(
        numbers(&mut other, &mut world, hit),
        [(ants[0], vec![1, 5]), (ants[1], vec![1])]
    );
    world.build(unbuilt, ()).unwrap();
    world.signals().send(hit, ants[0], 6);
    world.advance_time(seconds(1));
    for reader in [&mut one, &mut other] {
        let mut got = numbers(reader, &mut world, hit);
        got.sort_unstable();
        let mut expected = [(ants[0], vec![6]), (ants[1], vec![4]), (unbuilt, vec![3])];
        expected.sort_unstable();
        assert_eq!(got, expected);
    }
    assert_eq!((one.discard(&mut world), other.discard(&mut world)), (0, 0));
    assert!(world.pending().is_empty());
}

#[test]
fn what_is_discarded_ends_as_soon_as_nobody_else_waits_for_it() {
    let mut world = World::new();
    let ant = ants(&mut world, 1)[0];
    let drops = Arc::new(AtomicUsize::new(0));
    let hit = world.signal_of::<Counted>();
    let mut one: SignalReader = reader(&mut world, hit);
    let mut other: SignalReader = reader(&mut world, hit);
    for _ in 0..3 {
        world.signals().send(hit, ant, Counted(Arc::clone(&drops)));
    }
    assert_eq!(one.discard(&mut world), 3);
    assert_eq!(
        (drops.load(Ordering::Relaxed), world.pending().signals),
        (0, 3)
    );
    assert_eq!(other.discard(&mut world), 3);
    assert_eq!(
        (drops.load(Ordering::Relaxed), world.pending().signals),
        (3, 0)
    );
    // Who has no subscription has nothing to let go.
    assert!(other.unsubscribe(hit));
    world.signals().send(hit, ant, Counted(Arc::clone(&drops)));
    assert_eq!(other.discard(&mut world), 0);
    assert_eq!(
        SignalReader::<Entity>::new(&world)
            .unwrap()
            .discard(&mut world),
        0
    );
    assert_eq!(one.discard(&mut world), 1);
    assert_eq!(drops.load(Ordering::Relaxed), 4);
}

#[test]
fn all_is_let_go_though_what_a_signal_carried_panics() {
    struct Burns;
    impl Drop for Burns {
        fn drop(&mut self) {
            resume_unwind(Box::new("burnt"));
        }
    }
    let mut world = World::new();
    let ant = ants(&mut world, 1)[0];
    let fire = world.signal_of::<Burns>();
    let mut reader: SignalReader = reader(&mut world, fire);
    let mut signals = world.signals();
    signals.send(fire, ant, Burns);
    signals.send(fire, ant, Burns);
    drop(signals);
    let panic = catch_unwind(AssertUnwindSafe(|| reader.discard(&mut world))).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"burnt"));
    assert_eq!(reader.discard(&mut world), 0);
    assert!(world.pending().is_empty());
}

#[test]
fn signals_of_one_world_are_not_discarded_in_another() {
    let (mut world, mut other) = (World::new(), World::new());
    let ant = ants(&mut world, 1)[0];
    let hit = world.signal::<u32>("hit").unwrap();
    let mut reader: SignalReader = reader(&mut world, hit);
    world.signals().send(hit, ant, 1);
    let discard = catch_unwind(AssertUnwindSafe(|| reader.discard(&mut other)));
    assert!(discard.is_err());
    assert_eq!(numbers(&mut reader, &mut world, hit), [(ant, vec![1])]);
}
