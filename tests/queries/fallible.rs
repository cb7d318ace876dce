//! Walks on several threads whose work may fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// It can be switched off.
struct Load(u32);
struct Heavy;

/// What a carrier says who cannot; how many of these there are.
#[derive(Debug)]
struct Broken(u32, Arc<AtomicUsize>);

impl Broken {
    fn new(load: u32, alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(load, Arc::clone(alive))
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Two compositions of several chunks each, and who carries what; some rows are not seen.
fn carriers() -> World {
    let mut world = World::new();
    world
        .registry()
        .register_enableable::<Load>()
        .expect("once");
    let light = world.create_batch((0..20_000).map(|n| (Load(n),)));
    let light = light.expect("there is room").to_vec(&world);
    let heavy = world.create_batch((20_000..40_000).map(|n| (Load(n), Heavy)));
    assert!(heavy.is_ok());
    for &one in &light[100..200] {
        let switched = world.set_enabled::<Load>(one, false);
        assert!(switched.is_ok());
    }
    world
}

fn pool(threads: usize) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("there are threads")
}

/// All loads, in order.
fn loads(world: &mut World) -> Vec<u32> {
    let mut all = world.query::<(Option<&Load>, Entity), ()>().unwrap();
    let mut loads = Vec::new();
    all.for_each_chunk(|_, (some, _)| {
        loads.extend(some.into_iter().flatten().map(|load| load.0));
    });
    loads
}

type Loads = Query<&'static mut Load>;
type Walk = fn(&mut QueryRun<'_, &'static mut Load>, &Arc<AtomicUsize>) -> Result<(), Broken>;

/// Adds 100,000, but not to what breaks.
fn put_on(load: &mut Load, alive: &Arc<AtomicUsize>) -> Result<(), Broken> {
    // In each chunk some; none of the first rows of all.
    if load.0 % 1_500 == 1_499 {
        return Err(Broken::new(load.0, alive));
    }
    load.0 += 100_000;
    Ok(())
}

const WALKS: [Walk; 4] = [
    |run, alive| run.par_try_for_each(|load| put_on(load, alive)),
    |run, alive| {
        run.par_try_for_each_init(
            |chunk| chunk.len(),
            |left, load| {
                *left -= 1;
                put_on(load, alive)
            },
        )
    },
    |run, alive| {
        run.par_try_for_each_slice(|_, _, loads| {
            loads.iter_mut().try_for_each(|load| put_on(load, alive))
        })
    },
    |run, alive| {
        run.par_try_for_each_chunk(|_, loads| {
            loads.iter_mut().try_for_each(|load| put_on(load, alive))
        })
    },
];

#[test]
fn a_chunk_ends_at_its_first_error_and_the_first_of_all_comes_back_for_any_number_of_threads() {
    for (number, walk) in (0..).zip(WALKS) {
        let mut seen = Vec::new();
        for threads in [1, 4] {
            let (mut world, alive) = (carriers(), Arc::new(AtomicUsize::new(0)));
            let mut query = Loads::new(&world).unwrap();
            let pool = pool(threads);
            let error = pool.install(|| walk(&mut query.on(&mut world), &alive));
            let error = error.expect_err("some break");
            assert_eq!(error.0, 1_499, "walk {number}");
            assert_eq!(alive.load(Ordering::Relaxed), 1, "the others are dropped");
            let loads = loads(&mut world);
            let on = loads.iter().filter(|load| **load >= 100_000).count();
            // None of a chunk's rows after its first error, but some of each chunk.
            assert!(on > 1_399 && on < 30_000, "walk {number}: {on}");
            assert!(loads[..100].iter().all(|load| *load >= 100_000));
            // A slice of a chunk has what the query does not see as well.
            let sees_all = number == 3;
            let hidden = &loads[100..200];
            assert!(hidden.iter().all(|load| (*load >= 100_000) == sees_all));
            assert!(loads[1_499] == 1_499 && loads[1_500] == 1_500, "{number}");
            seen.push(loads);
        }
        assert_eq!(seen[0], seen[1], "walk {number}");
    }
}

#[test]
fn walks_without_an_error_see_what_other_walks_see() {
    for walk in WALKS {
        let (mut world, alive) = (carriers(), Arc::new(AtomicUsize::new(0)));
        let mut broken = Loads::new(&world).unwrap();
        broken.on(&mut world).for_each(|load| load.0 *= 1_500);
        let mut all = Query::<&Load, With<Heavy>>::new(&world).unwrap();
        let before: u64 = all
            .on(&mut world)
            .iter()
            .map(|load| u64::from(load.0))
            .sum();
        assert!(walk(&mut broken.on(&mut world), &alive).is_ok());
        let after: u64 = all
            .on(&mut world)
            .iter()
            .map(|load| u64::from(load.0))
            .sum();
        assert_eq!(after, before + 20_000 * 100_000);
    }
}

#[test]
fn a_processor_ends_with_the_error_of_its_walk_and_what_it_recorded_stays() {
    let mut schedule = Schedule::new();
    schedule.add(processor(
        "carry",
        |mut all: QueryRun<'_, (Entity, &Load), ()>, commands: ParallelCommands| {
            all.par_try_for_each_init(
                |chunk| commands.open_at(chunk.sort_key()),
                |commands, (entity, load)| match load.0 {
                    7 => Err("seven is too much"),
                    _ => commands
                        .add(entity, ("carries",))
                        .map_err(|_| "it is one fragment"),
                },
            )
        },
    ));
    let mut world = World::new();
    let some = world.create_batch((0..10).map(|n| (Load(n),)));
    assert!(some.is_ok());
    let error = schedule.run(&mut world).expect_err("seven");
    assert_eq!(error.to_string(), "processor `carry`: seven is too much");
    assert_eq!(world.flush().moved, 7);
}

#[test]
fn errors_that_panic_when_they_are_dropped_do_no_harm() {
    #[derive(Debug)]
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let mut world = carriers();
    let mut query = Loads::new(&world).unwrap();
    let walk = std::panic::AssertUnwindSafe(|| {
        query
            .on(&mut world)
            .par_try_for_each(|load| match load.0 % 1_500 {
                1_499 => Err(Loud),
                _ => Ok(()),
            })
    });
    // Each of them panics, also while another panic unwinds.
    let panicked = std::panic::catch_unwind(walk);
    assert!(panicked.is_err());
    let walk = std::panic::AssertUnwindSafe(|| {
        query
            .on(&mut world)
            .par_try_for_each(|load| match load.0 % 1_500 {
                1_499 => Err(Loud),
                1_498 if load.0 > 10_000 => panic!("a panic beside errors"),
                _ => Ok(()),
            })
    });
    let panicked = std::panic::catch_unwind(walk);
    assert!(panicked.is_err());
    assert!(world.check().is_ok());
    assert_eq!(query.on(&mut world).count(), 39_900);
}
