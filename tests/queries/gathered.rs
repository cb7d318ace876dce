//! Values of all entities, made by several threads, in the order of a walk.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;
use megachunk::query::Switch;

/// Walks of pools with so many threads.
fn with_threads(test: impl Fn(usize) + Send + Sync) {
    for threads in [1, 2, 3, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| test(threads));
    }
    // On a thread that is in none.
    test(0);
}

struct Awake;

/// Of several compositions, in short chunks and long ones; some are switched off.
fn world() -> World {
    let mut world = World::new();
    world.registry().register_enableable::<Awake>().unwrap();
    let _ = world.create_batch((0..30_000_u64).map(|n| (n,))).unwrap();
    let ants = world
        .create_batch((0..20_000_u64).map(|n| (n, Awake)))
        .unwrap();
    for (n, ant) in ants.to_vec(&world).into_iter().enumerate() {
        world
            .set_enabled::<Awake>(ant, n % 3 != 1 && !(5_000..9_000).contains(&n))
            .unwrap();
    }
    for n in 0..100_u64 {
        world.create((n, [n as u8; 3]).shared(n % 7)).unwrap();
    }
    world
}

#[test]
fn values_come_in_the_order_of_a_walk_for_any_number_of_threads() {
    let mut world = world();
    let mut all = Query::<(Entity, &u64)>::new(&world).unwrap();
    let mut expected = Vec::new();
    all.on(&mut world)
        .for_each(|(entity, n)| expected.push((entity, *n)));
    assert_eq!(expected.len(), 50_100);
    let world = std::sync::Mutex::new(world);
    with_threads(|threads| {
        let mut world = world.lock().unwrap();
        let mut all = Query::<(Entity, &u64)>::new(&world).unwrap();
        let mut out = vec![(Entity::PLACEHOLDER, 0); 3];
        all.on(&mut world)
            .par_gather_into(&mut out, |(entity, n)| (entity, *n));
        assert!(out == expected, "with {threads} threads");
    });
}

#[test]
fn who_is_switched_off_is_passed_by() {
    let world = std::sync::Mutex::new(world());
    with_threads(|threads| {
        let mut world = world.lock().unwrap();
        let mut awake = Query::<&u64, With<Awake>>::new(&world).unwrap();
        let (mut expected, mut out) = (Vec::new(), Vec::new());
        awake.on(&mut world).for_each(|n| expected.push(*n));
        awake.on(&mut world).par_gather_into(&mut out, |n| *n);
        assert!(
            out == expected && out.len() > 9_000,
            "with {threads} threads"
        );
        let even = |view: &ChunkView<'_>| view.len().is_multiple_of(2);
        let mut all = Query::<&u64>::new(&world).unwrap();
        expected.clear();
        all.on(&mut world)
            .filter_chunks(even)
            .for_each(|n| expected.push(*n));
        all.on(&mut world)
            .filter_chunks(even)
            .par_gather_into(&mut out, |n| *n);
        assert!(out == expected, "with {threads} threads");
    });
}

#[test]
fn who_switches_meanwhile_changes_nothing_for_this_run() {
    let mut world = world();
    let mut awake = Query::<(&u64, Enabled<Awake>), With<Awake>>::new(&world).unwrap();
    let count = awake.on(&mut world).count();
    let mut out = Vec::new();
    let kept = std::sync::Mutex::new(Vec::<Switch<'_>>::new());
    let mut run = awake.on(&mut world);
    run.par_gather_into(&mut out, |(n, awake)| {
        // Its own, and one that somebody else may come to later.
        awake.set(false);
        let mut kept = kept.lock().unwrap();
        if let Some(other) = kept.pop() {
            other.set(*n % 2 == 0);
        }
        kept.push(awake);
        *n
    });
    assert_eq!(out.len(), count);
    drop(kept);
    let mut sorted = out.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), count, "each is lent once");
}

#[test]
fn the_memory_is_used_again_and_what_was_there_goes() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut world = world();
    let mut all = Query::<&u64>::new(&world).unwrap();
    let mut out = Vec::new();
    all.on(&mut world)
        .par_gather_into(&mut out, |_| Counted::new(&alive));
    let (count, memory) = (out.len(), out.as_ptr());
    for _ in 0..3 {
        all.on(&mut world)
            .par_gather_into(&mut out, |_| Counted::new(&alive));
        assert_eq!((out.len(), out.as_ptr()), (count, memory));
        assert_eq!(alive.load(Ordering::Relaxed), count);
    }
    let mut none = Query::<&u64, With<f64>>::new(&world).unwrap();
    none.on(&mut world)
        .par_gather_into(&mut out, |_| Counted::new(&alive));
    assert_eq!((out.len(), alive.load(Ordering::Relaxed)), (0, 0));
    // Values without a size, and data that is written.
    let mut written = Query::<&mut u64>::new(&world).unwrap();
    let mut units = Vec::new();
    written
        .on(&mut world)
        .par_gather_into(&mut units, |n| *n += 1);
    assert_eq!(units.len(), count);
    assert!(all.on(&mut world).into_iter().all(|&n| n > 0));
}

struct Counted(Arc<AtomicUsize>, bool);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(alive), false)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
        if self.1 {
            resume_unwind(Box::new("a drop"));
        }
    }
}

#[test]
fn who_panics_leaves_an_empty_list_and_no_value() {
    let world = std::sync::Mutex::new(world());
    with_threads(|threads| {
        let mut world = world.lock().unwrap();
        let alive = Arc::new(AtomicUsize::new(0));
        let mut all = Query::<(Entity, &u64)>::new(&world).unwrap();
        let mut out = vec![Counted::new(&alive)];
        for (bad, drops_panic) in [(0, false), (29_999, false), (12_345, true)] {
            let made = AtomicUsize::new(0);
            let panic = catch_unwind(AssertUnwindSafe(|| {
                all.on(&mut world).par_gather_into(&mut out, |(_, n)| {
                    if *n == bad {
                        resume_unwind(Box::new("the bad one"));
                    }
                    made.fetch_add(1, Ordering::Relaxed);
                    let mut value = Counted::new(&alive);
                    value.1 = drops_panic;
                    value
                });
            }));
            let what = panic.unwrap_err().downcast_ref::<&str>().copied();
            assert_eq!(what, Some("the bad one"), "with {threads} threads");
            assert_eq!((out.len(), alive.load(Ordering::Relaxed)), (0, 0));
            assert!(bad == 0 || made.into_inner() > 0);
        }
        all.on(&mut world)
            .par_gather_into(&mut out, |_| Counted::new(&alive));
        assert_eq!((out.len(), alive.load(Ordering::Relaxed)), (50_100, 50_100));
    });
}
