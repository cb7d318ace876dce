//! Parallel loops and flushes of other worlds, inside parallel loops and processors: with any number of threads, from
//! a thread of the pool and from one outside, all is as it is on one thread, also if one of them panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;
use megachunk::processor::Execution;

/// Threads of the pools; 0: the caller is outside of the pool.
const POOLS: [usize; 5] = [0, 1, 2, 3, 8];

/// Runs `work` in such a pool, or outside.
fn on<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    if threads == 0 {
        return work();
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap().install(work)
}

/// Counts how many of it there are.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A world of its own, and what has become of it.
struct Inner {
    world: World,
    sum: u64,
}

impl Inner {
    fn new() -> Self {
        let mut world = World::new();
        world.set_flush_threads_from(Some(1));
        Self { world, sum: 0 }
    }

    /// Creates, changes and destroys, by recorders and in parallel.
    fn work(&mut self, seed: u64, alive: &Arc<AtomicUsize>) {
        let world = &mut self.world;
        let commands = world.parallel_commands();
        for key in 0..4 {
            let mut commands = commands.open_at(key);
            for n in 0..100_u32 {
                alive.fetch_add(1, Ordering::Relaxed);
                commands.create((n, Counted(Arc::clone(alive)))).unwrap();
            }
        }
        assert_eq!(world.flush().created, 400);
        let mut numbers = Query::<&mut u32>::new(world).unwrap();
        numbers.on(world).par_for_each(|number| *number += 1);
        let commands = world.parallel_commands();
        let mut counted = Query::<(Entity, &u32), With<Counted>>::new(world).unwrap();
        counted
            .on(world)
            .par_for_each_chunk(|chunk, (entities, numbers)| {
                let mut commands = commands.open_at(chunk.sort_key());
                for (&entity, &number) in entities.iter().zip(numbers) {
                    match (u64::from(number) + seed) % 4 {
                        0 => commands.destroy(entity),
                        1 => commands.add(entity, (1_u8,)).unwrap(),
                        2 => commands.remove::<(Counted,)>(entity).unwrap(),
                        _ => {}
                    }
                }
            });
        assert!(world.flush().is_clean());
        world.check().unwrap();
        let sum = &mut self.sum;
        let mut numbers = world.query::<&u32, ()>().unwrap();
        numbers.for_each(|&number| *sum = sum.wrapping_mul(31).wrapping_add(number.into()));
    }
}

/// Lets worlds that lie in a world do their work in a parallel loop; one may panic in the middle.
fn all_at_once(worlds: &mut World, alive: &Arc<AtomicUsize>, bad: Option<u32>) {
    let mut inner = Query::<(&u32, &mut Inner)>::new(worlds).unwrap();
    let result = catch_unwind(AssertUnwindSafe(|| {
        inner.on(worlds).par_for_each(|(&number, inner)| {
            inner.work(number.into(), alive);
            assert_ne!(Some(number), bad, "the bad one");
            inner.work(7, alive);
        });
    }));
    assert_eq!(result.is_err(), bad.is_some());
}

#[test]
fn worlds_in_a_parallel_loop_are_flushed_by_the_threads_that_have_time() {
    let mut expected: Option<Vec<u64>> = None;
    for threads in POOLS {
        let alive = Arc::new(AtomicUsize::new(0));
        let mut worlds = World::new();
        for number in 0..12_u32 {
            worlds.create((number, Inner::new())).unwrap();
        }
        on(threads, || all_at_once(&mut worlds, &alive, None));
        let mut sums = Vec::new();
        let mut inner = worlds.query::<&Inner, ()>().unwrap();
        inner.for_each(|inner| sums.push(inner.sum));
        assert_eq!(
            expected.get_or_insert(sums.clone()),
            &sums,
            "{threads} threads"
        );
        for bad in [0, 11] {
            on(threads, || all_at_once(&mut worlds, &alive, Some(bad)));
        }
        for inner in worlds.query::<&Inner, ()>().unwrap().iter() {
            inner.world.check().unwrap();
        }
        drop(worlds);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }
}

struct X(u32);
struct Y(u32);
#[derive(Default)]
struct Said(Vec<u64>);

/// Runs processors with worlds of their own beside others with parallel loops; what they have said, and made.
fn frames(alive: &Arc<AtomicUsize>) -> Vec<u64> {
    let mut world = World::new();
    for n in 0..500 {
        world.create((X(n),)).unwrap();
        world.create((X(n), Y(n))).unwrap();
    }
    world.resources_mut().insert(Said::default());
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    for number in 0..6 {
        let (mut inner, alive) = (Inner::new(), Arc::clone(alive));
        let run = move |mut all: QueryRun<'_, &X>, mut commands: Commands<'_>| {
            inner.work(number, &alive);
            let sum = AtomicUsize::new(0);
            all.par_for_each(|x| {
                sum.fetch_add(x.0 as usize, Ordering::Relaxed);
            });
            let said = inner.sum ^ sum.into_inner() as u64;
            commands.defer(move |world| {
                let all = world.resources_mut().get_mut::<Said>().unwrap();
                all.0.push(said);
            });
        };
        let placed = processor(number.to_string(), run);
        schedule.add(match number {
            1 => placed.main_thread(),
            4 => placed.main_thread().after("1").before("5"),
            _ => placed,
        });
    }
    schedule.add(processor("count", |mut all: QueryRun<'_, &mut Y>| {
        all.par_for_each(|y| y.0 += 1);
    }));
    schedule.add(processor("mix", |mut all: QueryRun<'_, (&X, &mut Y)>| {
        all.par_for_each(|(x, y)| y.0 ^= x.0);
    }));
    for _ in 0..4 {
        schedule.run(&mut world).unwrap();
        world.check().unwrap();
    }
    let mut all = world.resources().get::<Said>().unwrap().0.clone();
    all.extend(
        world
            .query::<&Y, ()>()
            .unwrap()
            .iter()
            .map(|y| u64::from(y.0)),
    );
    all
}

#[test]
fn processors_flush_worlds_of_their_own_beside_each_other() {
    let mut expected: Option<Vec<u64>> = None;
    for threads in POOLS {
        let alive = Arc::new(AtomicUsize::new(0));
        let all = on(threads, || frames(&alive));
        assert_eq!(
            expected.get_or_insert(all.clone()),
            &all,
            "{threads} threads"
        );
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn threads_outside_of_the_pool_flush_while_it_is_busy_with_each_others_worlds() {
    let alive = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|threads| {
        for seed in 0..4 {
            let alive = &alive;
            threads.spawn(move || {
                let mut inner = Inner::new();
                (0..10).for_each(|n| inner.work(seed + n, alive));
            });
        }
    });
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}
