//! The models: what recorders, senders, readers, queries and flushes of one world do to each other.
//!
//! Fragments are plain numbers, so that worlds can be hashed. A flush here is of fewer commands than are worth a
//! second thread, so that the calling thread does all of it; those that threads share are [`shared`]'s.

use std::sync::Arc;

use megachunk::chunk::ChunkOptions;
use megachunk::entity::IndexOptions;
use megachunk::prelude::*;
use shuttle::thread;

use super::shared;

/// A model's name, and what it does once.
pub type Model = (&'static str, fn());

/// All models.
pub const MODELS: [Model; 8] = [
    (
        "recorders_leave_the_same_world_whoever_is_first",
        recorders_leave_the_same_world_whoever_is_first,
    ),
    (
        "what_is_recorded_beside_flushes_joins_the_world_once",
        what_is_recorded_beside_flushes_joins_the_world_once,
    ),
    (
        "threads_that_end_leave_nothing_behind",
        threads_that_end_leave_nothing_behind,
    ),
    (
        "threads_that_end_give_their_ids_back",
        threads_that_end_give_their_ids_back,
    ),
    (
        "what_is_recorded_as_a_world_ends_is_gone_while_others_could_record",
        what_is_recorded_as_a_world_ends_is_gone_while_others_could_record,
    ),
    (
        "a_flush_that_threads_share_leaves_the_same_world",
        shared::a_flush_that_threads_share_leaves_the_same_world,
    ),
    (
        "a_schedule_side_by_side_whose_jobs_are_late_or_dropped",
        shared::a_schedule_side_by_side_whose_jobs_are_late_or_dropped,
    ),
    (
        "a_tree_of_asks_with_loops_within_and_a_panic_does_each_row_once",
        shared::a_tree_of_asks_with_loops_within_and_a_panic_does_each_row_once,
    ),
];

/// Threads that record. With the one that queries as many as loom has.
const WORKERS: u64 = 3;
/// Entities that are there before.
const OLD: u32 = 12;

/// A universe that takes nothing over from the last execution, and asks the system for little.
fn universe() -> Arc<Universe> {
    let (index, chunks) = (IndexOptions::new(), ChunkOptions::new());
    let universe = Universe::with(&index.huge_pages(false), &chunks.huge_pages(false));
    Arc::new(universe.expect("a model has address space"))
}

/// A world with some entities.
fn stage(universe: &Arc<Universe>) -> (World, Vec<Entity>) {
    let mut world = World::of(universe).expect("the first world of a universe");
    let registered = [
        world.registry().register_plain::<u8>(),
        world.registry().register_plain::<u32>(),
        world.registry().register_plain::<u64>(),
        world.registry().register_plain::<[f32; 3]>(),
    ];
    assert!(registered.iter().all(Result::is_ok));
    let old = (0..OLD).map(|n| world.create((n, u64::from(n))));
    let old = old.map(|made| made.expect("far from full")).collect();
    (world, old)
}

/// What a thread records and sends in the first model; the signal that it has found or made.
fn work(
    worker: u64,
    commands: &ParallelCommands,
    signals: &ParallelSignals,
    old: &[Entity],
    hit: Signal<u32>,
) -> Signal<u32> {
    let mut recorder = commands.open_at(worker);
    let own = recorder.create((worker as u32, 1_u64));
    let own = own.expect("far from full");
    *recorder.get_mut::<u64>(own).expect("its own entity") += worker;
    let batch = recorder.create_batch((0..5_u32).map(|n| (n, [worker as f32; 3])));
    let batch = batch.expect("far from full");
    let batch: Vec<Entity> = batch.iter(&recorder).collect();
    assert_eq!(recorder.get::<u32>(batch[4]).ok(), Some(&4));
    assert_eq!(recorder.get::<u64>(own).ok(), Some(&(1 + worker)));
    recorder.destroy(batch[0]);
    let mut recorded = vec![
        recorder.add(batch[1], (worker as u8,)),
        recorder.remove::<([f32; 3],)>(batch[2]),
    ];
    // Of some entities all want something: the highest key is the last one to say.
    for (n, &entity) in (0..).zip(old) {
        match (n + worker) % 5 {
            0 => recorded.push(recorder.set(entity, worker as u32)),
            1 => recorded.push(recorder.add(entity, (worker as u8,))),
            2 => recorded.push(recorder.remove::<(u64, u8)>(entity)),
            3 if n < 4 => recorder.destroy(entity),
            _ => {}
        }
    }
    assert!(recorded.iter().all(Result::is_ok));
    drop(recorder);
    // All ask for one name, which nobody has asked for before.
    let new = signals.signal::<u32>("new").expect("a name with one type");
    let mut sender = signals.open_at(worker);
    for &entity in old.iter().chain([&own]) {
        sender.send(hit, entity, worker as u32);
    }
    new
}

/// What is left of a world: its hash, what its readers got, what its flush reported.
#[derive(Debug, PartialEq)]
struct Left {
    state: u64,
    received: Vec<(Entity, Vec<u32>)>,
    report: [usize; 5],
}

/// What [`work`] of all leaves, if they do it one after the other, or each on a thread while this one queries.
fn all_work(beside: bool) -> Left {
    // Not one that goes on with the memory of an earlier one: each execution is to be as the first.
    let universe = Universe::ordered_with(&IndexOptions::new(), &ChunkOptions::new());
    let universe = Arc::new(universe.expect("there are addresses"));
    let (mut world, old) = stage(&universe);
    let hit = world.signal::<u32>("hit").expect("a new name");
    let mut reader = SignalReader::<Entity>::new(&world).expect("entities are read");
    reader.subscribe(&mut world, hit).expect("its own world");
    let commands = world.parallel_commands_for(WORKERS as usize);
    let signals = world.parallel_signals();
    let made: Vec<Signal<u32>> = if beside {
        let spawn = |worker| {
            let (commands, signals, old) = (commands.clone(), signals.clone(), old.clone());
            thread::spawn(move || work(worker, &commands, &signals, &old, hit))
        };
        let workers: Vec<_> = (0..WORKERS).map(spawn).collect();
        let mut numbers = Query::<(&u32, &mut u64)>::new(&world).expect("no fragment twice");
        let mut seen = 0;
        for _ in 0..2 {
            numbers.on(&mut world).for_each(|(number, twin)| {
                assert_eq!(u64::from(*number), *twin, "what is recorded is not seen");
                seen += 1;
            });
        }
        assert_eq!(seen, 2 * OLD);
        let joined = workers.into_iter().map(thread::JoinHandle::join);
        joined.map(|end| end.expect("it does not panic")).collect()
    } else {
        let each = (0..WORKERS).rev();
        each.map(|worker| work(worker, &commands, &signals, &old, hit))
            .collect()
    };
    let one = world.signal::<u32>("new").expect("the type of before");
    assert!(made.iter().all(|&signal| signal == one), "a name, a number");
    universe.check([&world]).expect("a sound world");
    let report = world.flush();
    assert!(report.refused.is_empty() && report.by_chance == 0);
    universe.check([&world]).expect("a sound world");
    let mut received = Vec::new();
    let _ = reader.deliver(&mut world, |entity, got| {
        received.push((entity, got.of(hit).copied().collect()));
    });
    Left {
        state: world.state_hash(&Default::default()).expect("plain values"),
        received,
        report: [
            report.created,
            report.commands,
            report.destroyed,
            report.moved,
            report.updated,
        ],
    }
}

fn recorders_leave_the_same_world_whoever_is_first() {
    assert_eq!(all_work(true), all_work(false));
}

/// Rounds of each worker in the second model, and entities of each round.
const ROUNDS: u64 = 2;
const EACH: u64 = 3;

fn what_is_recorded_beside_flushes_joins_the_world_once() {
    let universe = universe();
    let (mut world, old) = stage(&universe);
    let hit = world.signal::<u64>("hit").expect("a new name");
    let mut reader = SignalReader::<Entity>::new(&world).expect("entities are read");
    reader.subscribe(&mut world, hit).expect("its own world");
    let (commands, signals) = (world.parallel_commands(), world.parallel_signals());
    let spawn = |worker: u64| {
        let (commands, signals, old) = (commands.clone(), signals.clone(), old.clone());
        thread::spawn(move || {
            for round in 0..ROUNDS {
                let mut recorder = commands.open();
                for n in 0..EACH {
                    let number = 100 * worker + 10 * round + n;
                    let new = recorder.create((number, [0.0_f32; 3]));
                    let new = new.expect("far from full");
                    assert!(commands.open().exists(new));
                    assert_eq!(recorder.get::<u64>(new).ok(), Some(&number));
                }
                // Its own ones, each once.
                recorder.destroy(old[(ROUNDS * worker + round) as usize]);
                drop(recorder);
                let mut sender = signals.open();
                let target = old[OLD as usize - 1];
                sender.send(hit, target, 10 * worker + 2 * round);
                sender.send(hit, target, 10 * worker + 2 * round + 1);
            }
        })
    };
    let workers: Vec<_> = (0..WORKERS).map(spawn).collect();
    let (mut created, mut destroyed, mut received) = (0, 0, Vec::new());
    let mut settle = |world: &mut World| {
        let report = world.flush();
        assert!(report.is_clean());
        created += report.created;
        destroyed += report.destroyed;
        let _ = reader.deliver(world, |_, got| received.extend(got.of(hit).copied()));
    };
    for _ in 0..3 {
        settle(&mut world);
    }
    for worker in workers {
        worker.join().expect("it does not panic");
    }
    settle(&mut world);
    universe.check([&world]).expect("a sound world");
    assert_eq!(created as u64, WORKERS * ROUNDS * EACH);
    assert_eq!(destroyed as u64, WORKERS * ROUNDS);
    let mut numbers = Query::<&u64, With<[f32; 3]>>::new(&world).expect("no fragment twice");
    let mut numbers: Vec<u64> = numbers.on(&mut world).iter().copied().collect();
    numbers.sort_unstable();
    let recorded = (0..WORKERS).flat_map(|worker| {
        let rounds = (0..ROUNDS).map(move |round| 100 * worker + 10 * round);
        rounds.flat_map(|first| first..first + EACH)
    });
    assert!(numbers.into_iter().eq(recorded));
    // Beside readers the order is kept within each sender.
    for sender in received.chunks(2) {
        assert!(
            sender[0] % 2 == 0 && sender[1] == sender[0] + 1,
            "{received:?}"
        );
    }
    received.sort_unstable();
    let sent = (0..WORKERS).flat_map(|worker| 10 * worker..10 * worker + 2 * ROUNDS);
    assert!(sent.eq(received.iter().copied()), "{received:?}");
}

fn threads_that_end_leave_nothing_behind() {
    let universe = universe();
    let mut world = World::of(&universe).expect("the first world of a universe");
    let commands = world.parallel_commands();
    let spawn = |worker: u64| {
        let (commands, universe) = (commands.clone(), Arc::clone(&universe));
        thread::spawn(move || {
            let mut recorder = commands.open_at(worker);
            let batch = recorder.create_batch((0..70).map(|n| (n + 100 * worker,)));
            let batch = batch.expect("far from full");
            let all: Vec<Entity> = batch.iter(&recorder).collect();
            // One without a place, which goes again at once or with the flush.
            let reserved = recorder.reserve().expect("far from full");
            recorder.destroy(reserved);
            recorder.destroy(all[0]);
            assert!(universe.exists(all[69]));
            all
        })
    };
    let workers: Vec<_> = (0..WORKERS).map(spawn).collect();
    let joined = workers.into_iter().map(thread::JoinHandle::join);
    let mut all: Vec<Entity> = joined
        .flat_map(|made| made.expect("it does not panic"))
        .collect();
    assert!(world.flush().is_clean());
    universe.check([&world]).expect("a sound world");
    assert_eq!(universe.count(), all.len() - WORKERS as usize);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len() as u64, 70 * WORKERS, "an id was given out twice");
    assert_eq!(world.clear(), 69 * WORKERS as usize);
    universe.check([&world]).expect("a sound world");
    assert_eq!(universe.count(), 0);
}

/// A value of a user's, which is counted.
#[derive(Clone)]
struct Held(#[expect(dead_code, reason = "it is held, and not asked for")] Arc<()>);

fn what_is_recorded_as_a_world_ends_is_gone_while_others_could_record() {
    let universe = universe();
    let (world, old) = stage(&universe);
    let hit = world.signal::<Held>("hit").expect("a new name");
    let (commands, signals) = (world.parallel_commands(), world.parallel_signals());
    let held = Arc::new(());
    let spawn = |worker: usize| {
        let (commands, signals, old) = (commands.downgrade(), signals.clone(), old.clone());
        let held = Arc::clone(&held);
        thread::spawn(move || {
            let Some(commands) = commands.upgrade() else {
                return;
            };
            let mut recorder = commands.open();
            let created = recorder.create((Held(Arc::clone(&held)),));
            let set = recorder.set(old[worker], Held(Arc::clone(&held)));
            assert!(created.is_ok() && set.is_ok());
            drop(recorder);
            signals.open().send(hit, old[worker], Held(held));
        })
    };
    let workers = [0, 1].map(spawn);
    drop(world);
    for worker in workers {
        worker.join().expect("it does not panic");
    }
    assert!(commands.has_ended() && signals.has_ended());
    assert_eq!(Arc::strong_count(&held), 1, "nothing waits for a flush");
    drop((commands, signals));
}

/// Slots of a data block.
const BLOCK: usize = megachunk::sync::geometry::BLOCK_SLOTS as usize;

/// Entities that a thread makes, and destroys, before it ends.
const MADE: usize = 140;
const FREED: usize = 65;

fn threads_that_end_give_their_ids_back() {
    let index = IndexOptions::new().huge_pages(false).build();
    let index = Arc::new(index.expect("a model has address space"));
    let spawn = |worker: u64| {
        let index = Arc::clone(&index);
        thread::spawn(move || {
            let made = (0..MADE).map(|_| index.create().expect("far from full"));
            let mut made: Vec<Entity> = made.collect();
            // More than a thread keeps; neighbours, or here and there.
            let freed = match worker % 2 {
                0 => made.split_off(MADE - FREED),
                _ => made
                    .extract_if(.., |entity| entity.index() % 2 == 0)
                    .take(FREED)
                    .collect(),
            };
            for &entity in &freed {
                index.destroy(entity).expect("its own entity");
            }
            // What was freed last, and the rest of a claimed word, stay with this thread until it ends.
            assert!(made.iter().all(|&entity| index.exists(entity)));
            assert!(!freed.iter().any(|&entity| index.exists(entity)));
        })
    };
    let workers: Vec<_> = (0..WORKERS).map(spawn).collect();
    for worker in workers {
        worker.join().expect("it does not panic");
    }
    assert_eq!(index.count(), (MADE - FREED) * WORKERS as usize);
    let blocks = index.blocks();
    let mut rest = vec![Entity::PLACEHOLDER; blocks * BLOCK - index.count()];
    index.create_slice(&mut rest).expect("far from full");
    assert_eq!(index.blocks(), blocks, "slots are lost");
}
