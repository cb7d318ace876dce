//! Drops that panic, and what a panic carries that panics when it is dropped.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;

/// Counts its drops, and panics in each of them with a value that panics when it is dropped.
struct Spiteful(Arc<AtomicUsize>);

struct Payload;

impl Drop for Spiteful {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        if !std::thread::panicking() {
            resume_unwind(Box::new(Payload));
        }
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            resume_unwind(Box::new(()));
        }
    }
}

struct Held(#[expect(dead_code, reason = "it is dropped")] Spiteful);

#[test]
fn a_panic_whose_payload_panics_when_dropped_changes_nothing_of_that() {
    let drops = Arc::new(AtomicUsize::new(0));
    let spiteful = || Spiteful(Arc::clone(&drops));
    let mut world = World::new();
    let create = |world: &mut World| {
        world
            .create(([spiteful()], Held(spiteful()), spiteful()))
            .unwrap()
    };
    let ants: Vec<_> = (0..100).map(|_| create(&mut world)).collect();
    let caught = |call: &mut dyn FnMut()| {
        // What the panic carries must not be dropped here either.
        std::mem::forget(catch_unwind(AssertUnwindSafe(call)).unwrap_err());
    };
    caught(&mut || world.destroy(ants[0]).unwrap());
    assert_eq!((drops.load(Ordering::Relaxed), world.count()), (3, 99));
    caught(&mut || drop(world.destroy_slice(&ants[..50])));
    assert_eq!((drops.load(Ordering::Relaxed), world.count()), (150, 50));
    caught(&mut || drop(world.remove::<(Spiteful, [Spiteful; 1])>(ants[60])));
    caught(&mut || {
        world
            .add(ants[60], ([spiteful()], Held(spiteful())))
            .unwrap()
    });
    assert_eq!(world.count(), 50);
    caught(&mut || {
        world.clear();
    });
    assert_eq!((world.count(), world.universe().count()), (0, 0));
    drop(world);
    assert_eq!(drops.load(Ordering::Relaxed), 302);
    assert_eq!(Arc::strong_count(&drops), 1);
}

/// A shared value whose drop panics.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Team(u8);

impl Drop for Team {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            resume_unwind(Box::new(()));
        }
    }
}

#[test]
fn shared_values_and_chunk_fragments_whose_drop_panics_stop_nothing() {
    #[derive(Clone)]
    struct Weather;
    impl Drop for Weather {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                resume_unwind(Box::new(()));
            }
        }
    }
    let mut world = World::new();
    let ants: Vec<_> = (0..20_u8)
        .map(|n| world.create((n,).shared(Team(n % 5))).unwrap())
        .collect();
    world.set_shared(ants[0], Team(3)).unwrap();
    let bee = world.create((1_u16,).per_chunk(Weather)).unwrap();
    assert!(world.destroy_slice(&ants[..17]).is_clean());
    world.destroy(bee).unwrap();
    assert_eq!(
        world.trim(),
        0,
        "its chunk has gone with it, and what fell to the chunk"
    );
    assert_eq!((world.clear(), world.universe().count()), (3, 0));
    assert_eq!(world.universe().chunk_stats().in_use, 0);
    // The template goes with the world.
    assert!(catch_unwind(AssertUnwindSafe(|| drop(world))).is_err());
}

#[test]
fn a_batch_with_shared_values_goes_as_a_whole_though_drops_panic_too() {
    /// Panics also while another panic is under way.
    struct Furious(Arc<AtomicUsize>);
    impl Drop for Furious {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            resume_unwind(Box::new(()));
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let batch = (0..10_u8).map(|n| {
        if n == 7 {
            resume_unwind(Box::new(()));
        }
        (Furious(Arc::clone(&drops)),).shared(n)
    });
    assert!(catch_unwind(AssertUnwindSafe(|| world.create_batch(batch).map(drop))).is_err());
    assert_eq!((world.count(), drops.load(Ordering::Relaxed)), (0, 7));
    assert_eq!(world.universe().chunk_stats().in_use, 0);
}
