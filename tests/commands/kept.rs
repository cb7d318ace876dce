//! What recorders keep from one flush to the next, and within one.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use megachunk::command::FlushReport;
use megachunk::prelude::*;
use megachunk::world::Budget;

/// What a recorder keeps for what it creates next.
#[test]
fn a_world_that_is_trimmed_takes_the_recorders_chunks_along() {
    let mut world = World::new();
    for n in 0..100_u32 {
        let mut commands = world.commands();
        commands.create((n,)).unwrap();
        commands.create((n, 'a')).unwrap();
        drop(commands);
        assert!(world.flush().is_clean());
        world.clear();
        if n % 10 == 9 {
            assert!(world.universe().chunk_stats().in_use >= 2);
            assert!(world.trim() >= 2);
            assert_eq!(world.universe().chunk_stats().in_use, 0);
        }
        world.universe().check([&world]).unwrap();
    }
    // What is recorded stays.
    let ant = world.commands().create((1_u32,)).unwrap();
    world.trim();
    assert!(world.flush().is_clean());
    assert_eq!(world.get::<u32>(ant).unwrap(), &1);
}

#[test]
fn chunks_of_changing_sizes_leave_no_room_behind() {
    let mut world = World::new();
    let mut most = 0;
    for round in 0..100 {
        for size in [1, 2, 1, 2] {
            world.set_chunk_size(size);
            let mut commands = world.commands();
            let ant = commands.create((1_u32,)).unwrap();
            commands.destroy(ant);
        }
        assert!(world.flush().is_clean());
        let in_use = world.universe().chunk_stats().in_use;
        assert!(round < 2 || in_use <= most, "{in_use}, and {most} before");
        most = most.max(in_use);
    }
}

/// Combinations of shared values are found by their hash.
#[test]
fn a_recorder_compares_few_of_many_shared_values() {
    static COMPARED: AtomicUsize = AtomicUsize::new(0);
    #[derive(Debug)]
    struct Flag(u32);
    impl PartialEq for Flag {
        fn eq(&self, other: &Self) -> bool {
            // Ordering: only the count matters.
            COMPARED.fetch_add(1, Ordering::Relaxed);
            self.0 == other.0
        }
    }
    impl Eq for Flag {}
    impl std::hash::Hash for Flag {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            // Some have one hash.
            (self.0 / 2).hash(state);
        }
    }
    let mut world = World::new();
    let mut commands = world.commands();
    let ants: Vec<Entity> = (0..2_000)
        .map(|n| commands.create((n,).shared(Flag(n % 1_000))).unwrap())
        .collect();
    let compared = COMPARED.load(Ordering::Relaxed);
    assert!(compared < 2_000 * 7, "{compared}");
    drop(commands);
    assert!(world.flush().is_clean());
    for (n, &ant) in (0..).zip(&ants) {
        assert_eq!(world.shared::<Flag>(ant).unwrap().0, n % 1_000);
    }
    assert_eq!(world.stats().archetypes[0].groups, 1_000);
}

#[test]
fn a_flush_says_how_many_recorders_were_open() {
    let mut world = World::new();
    let doomed = world.create((1_u8,)).unwrap();
    let commands = world.parallel_commands();
    let mut closed = commands.open();
    closed.destroy(doomed);
    drop(closed);
    let open = commands.open();
    let report = world.flush();
    assert_eq!((report.open, report.destroyed), (1, 1));
    drop(open);
    assert_eq!(world.flush().open, 0);
}

#[test]
fn what_a_recorder_has_left_comes_though_its_thread_has_another_one_open() {
    let mut world = World::new();
    let commands = world.parallel_commands();
    let mut recorder = commands.open();
    let ant = recorder.create((1_u32,)).unwrap();
    recorder.defer(|_| ());
    drop(recorder);
    let mut open = commands.open();
    let larva = open.create((2_u32,)).unwrap();
    let waits = |world: &World| (world.pending().entities, world.pending().commands);
    assert_eq!(waits(&world), (1, 1));
    let report = world.flush();
    assert_eq!((report.created, report.closures, report.open), (1, 1, 1));
    assert_eq!(waits(&world), (0, 0));
    // One that is forgotten keeps what it has recorded itself, and no more.
    std::mem::forget(open);
    let egg = commands.open().create((3_u32,)).unwrap();
    assert_eq!(world.flush().created, 1);
    assert!(world.is_built(ant) && world.is_built(egg) && !world.is_built(larva));
    world.destroy(ant).unwrap();
}

#[test]
fn who_outlives_a_world_is_told_that_it_has_ended() {
    let world = World::new();
    let (commands, signals) = (world.parallel_commands(), world.parallel_signals());
    let universe = std::sync::Arc::clone(world.universe());
    let before = commands.open().create((1_u32,)).unwrap();
    let mut open = commands.open();
    let meanwhile = open.create((2_u32,)).unwrap();
    assert!(!commands.has_ended() && !signals.has_ended());
    drop(world);
    assert!(commands.has_ended() && commands.clone().has_ended() && signals.has_ended());
    assert!(!universe.exists(before) && universe.exists(meanwhile));
    drop(open);
    let behind = commands.open().create((3_u32,)).unwrap();
    assert!(!universe.exists(meanwhile) && !universe.exists(behind));
}

#[test]
fn what_a_thread_records_comes_in_its_order_beside_flushes() {
    const LAST: u64 = if cfg!(miri) { 50 } else { 20_000 };
    let mut world = World::new();
    let entity = world.create((0_u64,)).unwrap();
    let commands = world.parallel_commands();
    let writer = std::thread::spawn(move || {
        (1..=LAST).for_each(|number| commands.open().set(entity, number).unwrap());
    });
    let mut last = 0;
    while last < LAST {
        let _ = world.flush();
        let now = *world.get::<u64>(entity).unwrap();
        assert!(now >= last, "{now} came after {last}");
        last = now;
    }
    writer.join().unwrap();
}

/// Recorders that follow each other without a pause, each open when the world is flushed.
#[test]
fn a_thread_that_records_all_the_time_is_heard_in_every_flush() {
    let mut world = World::new();
    let commands = world.parallel_commands();
    let mut open = commands.open();
    for round in 0..100 {
        // Two short ones, and one that is open when the flush comes, and holds back the second's at
        // most.
        let mut created = Vec::new();
        for _ in 0..4 {
            created.push(open.create((round,)).unwrap());
            drop(open);
            open = commands.open();
        }
        assert!(world.flush().created > 0);
        drop(open);
        open = commands.open();
        // What was left before the flush is there after the next, though there is always one open.
        assert!(world.flush().open == 1);
        assert!(created.iter().all(|&entity| world.is_built(entity)));
    }
    drop(open);
    assert!(world.pending().is_empty());
    // It has the memory of few recorders: nurseries of a chunk each.
    assert!(world.universe().chunk_stats().in_use < 10);
    world.check().unwrap();
}

/// What a thread's recorder holds back while it is open is what the same thread recorded before.
#[test]
fn an_open_recorder_holds_nothing_back_that_other_threads_have_recorded() {
    let mut world = World::new();
    let commands = world.parallel_commands();
    let record = || commands.open().create((1_u32,)).unwrap();
    let others = |count: usize| -> Vec<Entity> {
        thread::scope(|scope| {
            let threads: Vec<_> = (0..count).map(|_| scope.spawn(record)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        })
    };
    let theirs = others(3);
    let open = commands.open();
    let report = world.flush();
    assert_eq!((report.created, report.open), (3, 1));
    assert!(theirs.iter().all(|&entity| world.is_built(entity)));
    drop(open);
    // Nor does one that is forgotten.
    let theirs = others(2);
    std::mem::forget(commands.open());
    assert_eq!(world.flush().created, 2);
    assert!(theirs.iter().all(|&entity| world.is_built(entity)));
    let mine = record();
    assert_eq!(world.flush().created, 1);
    assert!(world.is_built(mine));
    world.check().unwrap();
}

#[test]
fn a_flush_in_a_flush_counts_only_recorders_that_are_open() {
    let mut world = World::new();
    let commands = world.parallel_commands();
    let open: Vec<_> = (0..8).map(|_| commands.open()).collect();
    for mut recorder in open {
        recorder.create((1_u32,)).unwrap();
    }
    let mut first = world.commands();
    first.defer(|world| {
        let report = world.flush();
        assert_eq!((report.open, report.created), (0, 0));
        let commands = world.parallel_commands();
        let open = commands.open();
        assert_eq!(world.flush().open, 1);
        drop(open);
    });
    drop(first);
    assert_eq!(world.flush().closures, 1);
    // Nothing is left, and the next flush knows it.
    assert_eq!(world.flush(), FlushReport::default());
}

/// Threads and compositions that come and go leave no memory behind that grows.
#[test]
fn threads_that_come_and_go_leave_chunks_of_a_few_recorders() {
    let mut world = World::new();
    let in_use = |world: &World| world.universe().chunk_stats().in_use;
    let mut after = Vec::new();
    for _ in 0..6 {
        let commands = world.parallel_commands();
        thread::scope(|scope| {
            for _ in 0..50 {
                scope
                    .spawn(|| commands.open().create((1_u32,)).unwrap())
                    .join()
                    .unwrap();
            }
        });
        assert_eq!(world.flush().created, 50);
        world.clear();
        after.push(in_use(&world));
    }
    assert!(after[5] <= after[1] && after[5] <= 64, "{after:?}");
}

/// Of a flush that has another world before it when its closure has run: the one that it began with lies elsewhere.
#[test]
fn a_world_that_was_taken_from_a_flush_keeps_no_shared_value_for_ever() {
    let count = Arc::new(());
    struct Held(
        #[expect(dead_code, reason = "it counts who holds it")] Arc<()>,
        u8,
    );
    impl PartialEq for Held {
        fn eq(&self, other: &Self) -> bool {
            self.1 == other.1
        }
    }
    impl Eq for Held {}
    impl Hash for Held {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.1.hash(state);
        }
    }
    let mut world = World::new();
    let ant = world.create((1_u8,)).unwrap();
    // What is looked at next, and so lets them go.
    let looks: [fn(&mut World); 2] = [
        |world| assert!(world.flush().is_clean()),
        |world| assert!(world.trim() < 9),
    ];
    for (number, look) in (0..).zip(looks) {
        let mut other = Some(World::of(world.universe()).unwrap());
        let (give, take) = mpsc::channel();
        let mut commands = world.commands();
        let held = Held(Arc::clone(&count), number);
        commands.set_shared(ant, held).unwrap();
        commands.defer(move |world| {
            world.check().unwrap();
            let other = other.take().unwrap();
            give.send(std::mem::replace(world, other)).unwrap();
        });
        commands.set_shared(ant, Held(Arc::default(), 99)).unwrap();
        drop(commands);
        let _ = world.flush();
        world.check().unwrap();
        world = take.recv().unwrap();
        world.check().unwrap();
        assert_eq!(world.shared::<Held>(ant).unwrap().1, number);
        assert!(world.remove::<Shared<Held>>(ant).unwrap());
        look(&mut world);
        assert_eq!(Arc::strong_count(&count), 1, "after {number}");
        world.check().unwrap();
    }
}

/// Between two closures of a flush, which holds the shared values of all its commands.
#[test]
fn a_closure_that_trims_forgets_combinations_and_no_value_of_its_flush() {
    let trims: [fn(&mut World); 2] = [
        |world| assert_eq!(world.trim(), 0),
        |world| assert!(world.compact(Budget::Unlimited).is_done),
    ];
    for trim in trims {
        let mut world = World::new();
        let create = |n: u16| (u32::from(n),).shared(n);
        let ants = (0..200).map(|n| world.create(create(n)).unwrap());
        let ants: Vec<Entity> = ants.collect();
        let mut commands = world.commands();
        let kept = commands.create(create(500)).unwrap();
        // Most combinations go, and one comes.
        for &ant in &ants[..190] {
            commands.set_shared(ant, 190_u16).unwrap();
        }
        commands.defer(move |world| {
            trim(world);
            world.check().unwrap();
        });
        for &ant in &ants[100..190] {
            commands.set_shared(ant, 600_u16).unwrap();
        }
        for &ant in &ants[195..] {
            commands.destroy(ant);
        }
        commands.defer(trim);
        commands.set_shared(ants[0], 700_u16).unwrap();
        drop(commands);
        assert!(world.flush().is_clean());
        world.check().unwrap();
        let shared = |ant| *world.shared::<u16>(ant).unwrap();
        assert_eq!(
            [0, 1, 100, 193].map(|at| shared(ants[at])),
            [700, 190, 600, 193]
        );
        assert_eq!(shared(kept), 500);
        assert_eq!(world.stats().archetypes[0].groups, 8);
        for (n, &ant) in (0..195).zip(&ants) {
            assert_eq!(world.get::<u32>(ant).unwrap(), &n);
        }
    }
}

#[test]
fn what_was_to_come_after_the_world_went_is_not_counted() {
    let mut world = World::new();
    let ant = world.create(()).unwrap();
    let mut commands = world.commands();
    commands.add(ant, (1_u8,)).unwrap();
    commands.defer(|world| *world = World::new());
    drop(commands);
    let mut commands = world.commands();
    for n in 0..5_u16 {
        commands.add(ant, (n,)).unwrap();
    }
    drop(commands);
    let report = world.flush();
    assert_eq!((report.commands, report.moved, report.closures), (2, 1, 1));
}

#[test]
fn what_the_last_that_was_let_go_records_comes_with_the_same_flush() {
    /// Records a creation when it is dropped.
    struct Last(u8, Option<megachunk::command::ParallelCommands>);
    impl PartialEq for Last {
        fn eq(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }
    impl Eq for Last {}
    impl Hash for Last {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }
    impl Drop for Last {
        fn drop(&mut self) {
            if let Some(commands) = self.1.take() {
                commands.open().create((7_u64,)).unwrap();
            }
        }
    }
    let mut world = World::new();
    let ant = world.create((1_u32,)).unwrap();
    let last = Last(1, Some(world.parallel_commands()));
    // Refused, because something stands there twice; what is shared lies with the recorder till the flush.
    let refused = world.commands().add(ant, (1_u8, 2_u8).shared(last));
    assert!(refused.is_err());
    let report = world.flush();
    assert_eq!((report.created, report.unfinished), (1, false));
    assert!(world.pending().is_empty());
}

/// A closure gives the world away, to a thread that still flushes it when the closure's own flush is over.
#[test]
fn flushes_beside_each_other_of_a_world_that_was_given_away_forget_no_recorder() {
    let mut world = World::new();
    let mut other = Some(World::of(world.universe()).unwrap());
    let (give, take) = mpsc::channel::<World>();
    let (inside, is_inside) = mpsc::channel();
    let (over, is_over) = mpsc::channel();
    let second = thread::spawn(move || {
        let mut world = take.recv().unwrap();
        world.commands().defer(move |_| {
            inside.send(()).unwrap();
            is_over.recv().unwrap();
        });
        assert_eq!(world.flush().closures, 1);
        world
    });
    world.commands().defer(move |world| {
        let other = other.take().unwrap();
        give.send(std::mem::replace(world, other)).unwrap();
        is_inside.recv().unwrap();
    });
    assert_eq!(world.flush().closures, 1);
    over.send(()).unwrap();
    let mut world = second.join().unwrap();
    let commands = world.parallel_commands();
    let _open = commands.open();
    assert_eq!(world.flush().open, 1);
}
