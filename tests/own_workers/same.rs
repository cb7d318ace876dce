//! What comes of a program is the same under rayon and under any workers of the program's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;
use megachunk::processor::Execution;
use megachunk::workers::{Workers, with_workers};

use crate::teams::{Count, Fate, Odd, Team};

const ENTITIES: u32 = 5_000;
const FRAMES: usize = 2;

/// All that comes of it.
#[derive(PartialEq)]
struct Outcome {
    hash: u64,
    saved: Vec<u8>,
    loaded: u64,
    sums: Vec<u64>,
    reports: Vec<String>,
}

/// A world whose ids do not depend on who creates when, and which shares out all that it can.
fn world() -> World {
    let universe = Arc::new(Universe::ordered());
    let registry = universe.registry();
    registry.register_plain::<u32>().unwrap();
    registry.register_plain::<u64>().unwrap();
    registry.register_plain::<u8>().unwrap();
    let mut world = World::of(&universe).unwrap();
    world.set_flush_threads_from(Some(1));
    let _ = world
        .create_batch((0..ENTITIES).map(|n| (n, u64::from(n) * 7)))
        .unwrap();
    let _ = world
        .create_batch((0..ENTITIES).map(|n| (n, n as u8)))
        .unwrap();
    world
}

fn schedule() -> Schedule {
    let here = std::thread::current().id();
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    schedule.add(processor("grow", |mut all: QueryRun<'_, &mut u64>| {
        all.par_for_each(|n| *n = n.wrapping_mul(31).wrapping_add(1));
    }));
    schedule.add(processor("turn", |mut all: QueryRun<'_, &mut u8>| {
        all.par_for_each_slice(|_, _, bytes| bytes.iter_mut().for_each(|n| *n = n.rotate_left(1)));
    }));
    let change = |mut all: QueryRun<'_, (Entity, &u32)>, commands: ParallelCommands| {
        all.par_for_each_chunk(|chunk, (entities, numbers)| {
            let mut commands = commands.open_at(chunk.sort_key());
            for (&entity, &number) in entities.iter().zip(numbers) {
                match number % 13 {
                    0 => commands.destroy(entity),
                    1 => commands.add(entity, (number as u8,)).unwrap(),
                    2 => commands.remove::<(u64,)>(entity).unwrap(),
                    3 => _ = commands.create((number + ENTITIES, 1_u64)).unwrap(),
                    _ => {}
                }
            }
        });
    };
    schedule.add(processor("change", change));
    // Many that wait for one, and one that waits for them.
    for number in 0..12_u32 {
        let look = processor(
            format!("look {number}"),
            move |mut all: QueryRun<'_, &u32>| {
                let sum = AtomicUsize::new(0);
                all.par_for_each(|&n| _ = sum.fetch_add((n ^ number) as usize, Ordering::Relaxed));
                assert!(sum.into_inner() > 0);
            },
        );
        let look = match number % 5 {
            0 => look.main_thread(),
            _ => look,
        };
        schedule.add(look.after("grow").before("last"));
    }
    let last = processor("last", move || {
        assert_eq!(std::thread::current().id(), here)
    });
    schedule.add(last.main_thread());
    schedule
}

fn outcome() -> Outcome {
    let (mut world, mut schedule) = (world(), schedule());
    let mut reports = Vec::new();
    for _ in 0..FRAMES {
        let flush = schedule.run(&mut world).unwrap().flush;
        reports.push(format!("{flush:?}"));
        // Many commands that are alike.
        let alive: Vec<Entity> = world.query::<Entity, ()>().unwrap().iter().collect();
        let mut commands = world.commands();
        for &entity in alive.iter().rev().step_by(2) {
            commands.set(entity, 5_u32).unwrap();
        }
        drop(commands);
        reports.push(format!("{:?}", world.flush()));
        world.check().unwrap();
    }
    let mut sums = Vec::new();
    let mut all = Query::<&u64>::new(&world).unwrap();
    all.on(&mut world).par_gather_into(&mut sums, |&n| n);
    let saved = world.to_snapshot(&Default::default()).unwrap();
    let universe = Universe::ordered();
    universe.registry().register_plain::<u32>().unwrap();
    universe.registry().register_plain::<u64>().unwrap();
    universe.registry().register_plain::<u8>().unwrap();
    let loaded = World::from_snapshot(&saved, universe, &Default::default()).unwrap();
    Outcome {
        hash: world.state_hash(&Default::default()).unwrap(),
        loaded: loaded.state_hash(&Default::default()).unwrap(),
        saved,
        sums,
        reports,
    }
}

fn under_rayon(threads: usize) -> Outcome {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(outcome)
}

fn assert_same(found: &Outcome, expected: &Outcome, whose: &str) {
    assert_eq!(found.hash, expected.hash, "{whose}");
    assert_eq!(found.loaded, expected.loaded, "{whose}");
    assert_eq!(found.reports, expected.reports, "{whose}");
    assert!(found == expected, "{whose}: bytes or sums differ");
}

fn same_under(workers: Vec<(String, Arc<dyn Workers>)>) {
    let expected = under_rayon(1);
    assert_eq!(expected.hash, expected.loaded);
    assert_same(&under_rayon(4), &expected, "rayon's four");
    for (whose, workers) in workers {
        let handle = Arc::clone(&workers);
        let found = with_workers(handle, outcome);
        assert_same(&found, &expected, &whose);
        assert_eq!(Arc::strong_count(&workers), 1, "{whose}: nobody has them");
    }
}

#[test]
fn all_is_the_same_with_a_team_that_works() {
    let teams = [1, 2, 4].map(|threads| {
        let team: Arc<dyn Workers> = Team::of(threads);
        (format!("a team of {threads}"), team)
    });
    same_under(teams.into());
}

#[test]
fn all_is_the_same_though_jobs_are_not_run_or_elsewhere_than_they_should() {
    let fates = [
        ("run where they are given", Fate::RunHere),
        ("run there, with a panic", Fate::RunHereAndPanic),
        ("run while who asks waits", Fate::RunThere),
        ("run in waits", Fate::RunInWaits),
        ("dropped", Fate::Dropped),
        ("burnt", Fate::Burnt),
        ("kept", Fate::Kept),
    ];
    let odd = fates.map(|(whose, fate)| {
        let odd: Arc<dyn Workers> = Odd::new(Count::Is(3), fate, Ok(false));
        (whose.to_owned(), odd)
    });
    same_under(odd.into());
}

#[test]
fn all_is_the_same_though_it_is_not_true_how_many_there_are() {
    let counts = [
        ("none", Count::Is(0)),
        ("more than there can be", Count::Is(usize::MAX)),
        ("others each time", Count::Changes),
        ("a panic", Count::Panics),
    ];
    let odd = counts.map(|(whose, count)| {
        let odd: Arc<dyn Workers> = Odd::new(count, Fate::Dropped, Err(()));
        (whose.to_owned(), odd)
    });
    let mut odd = Vec::from(odd);
    odd.push((
        "others each time, that work".into(),
        Odd::new(Count::Changes, Fate::RunThere, Err(())),
    ));
    odd.push((
        "a panic in each wait".into(),
        Odd::new(Count::Is(3), Fate::RunThere, Err(())),
    ));
    odd.push((
        "something to do in each wait".into(),
        Odd::new(Count::Is(3), Fate::RunThere, Ok(true)),
    ));
    same_under(odd);
}
