//! Batches whose entities come with more than their bundles have, over many chunks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;

use super::{Depth, Drawn, Heard, Sprite, TRANSFORM, Transform, world};
use crate::counted::{Counted, FUSE, burn};

/// An iterator that says of itself that it has so many at least, and not how many at most.
struct Least<I>(I, u32);

impl<I: Iterator> Iterator for Least<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.1 as usize, None)
    }
}

/// How many entities each chunk has, and room for how many.
fn rows(world: &World) -> Vec<(usize, usize)> {
    let rows = world.chunk_rows();
    rows.map(|chunk| (chunk.entities, chunk.capacity)).collect()
}

#[test]
fn a_batch_lies_as_one_does_that_names_all_that_comes() {
    for count in [1, 2, 300, 9_000] {
        let (mut lacking, mut naming) = (world(true), world(false));
        // Chunks are as long as it is said that there will be entities.
        for says_how_many in [false, true] {
            let least = if says_how_many { count } else { 0 };
            let sprites = || Least((0..count).map(Sprite), least);
            let lacks = sprites().map(|sprite| (sprite,));
            let names = sprites().map(|sprite| (sprite, TRANSFORM, Depth(0), Drawn));
            let one = lacking.create_batch(lacks).unwrap().to_vec(&lacking);
            let other = naming.create_batch(names).unwrap().to_vec(&naming);
            assert_eq!(one, other);
            for (&entity, n) in one.iter().zip(0..) {
                assert_eq!(lacking.get::<Sprite>(entity), Ok(&Sprite(n)));
                assert_eq!(lacking.get::<Transform>(entity), Ok(&TRANSFORM));
            }
        }
        assert_eq!(rows(&lacking), rows(&naming), "{count}");
        let options = Default::default();
        let hashes = [&lacking, &naming].map(|world| world.state_hash(&options).unwrap());
        assert_eq!(hashes[0], hashes[1]);
        let heard = |world: &World| world.resources().get::<Heard>().unwrap().clone();
        assert_eq!(heard(&lacking), heard(&naming));
        lacking.check().unwrap();
    }
}

/// A world with chunks of 16 KiB whose sprites come with two values, which are counted; to make one burns the fuse.
fn brittle(alive: &Arc<AtomicUsize>) -> World {
    let mut world = World::new();
    world.set_chunk_size(1);
    let counted = Arc::clone(alive);
    let one = move || {
        burn();
        Counted::new(&counted)
    };
    let counted = Arc::clone(alive);
    let other = move || {
        burn();
        (Counted::new(&counted), 7_u64)
    };
    let registry = world.registry();
    registry.require_with::<Sprite, Counted>(one).unwrap();
    registry
        .require_with::<Sprite, (Counted, u64)>(other)
        .unwrap();
    world
}

#[test]
fn whichever_call_of_a_constructor_panics_there_is_none_of_the_batch_and_no_value() {
    const COUNT: u32 = 1_000;
    let alive = Arc::new(AtomicUsize::new(0));
    let bundles = || {
        let counted = Arc::clone(&alive);
        (0..COUNT).map(move |n| (Sprite(n), [Counted::new(&counted)]))
    };
    let mut world = brittle(&alive);
    world.registry().register::<[Counted; 1]>().unwrap();
    let before = world
        .create_batch(bundles().take(10))
        .unwrap()
        .to_vec(&world);
    let calls = 2 * COUNT as usize;
    let mut all: Vec<usize> = (1..=calls).step_by(41).collect();
    all.extend([2, calls - 1, calls]);
    for fuse in all {
        FUSE.set(fuse);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            drop(world.create_batch(bundles()));
        }));
        FUSE.set(0);
        let panic = ended.expect_err("a constructor panics");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"the fuse"));
        assert_eq!(alive.load(Ordering::Relaxed), 30, "{fuse}");
        assert_eq!(world.count(), 10, "{fuse}");
        world.check().unwrap();
    }
    assert!(before.iter().all(|&entity| world.is_built(entity)));
    // One call more, and nothing burns.
    FUSE.set(calls + 1);
    let batch = world.create_batch(bundles()).unwrap();
    assert_eq!((batch.len(), FUSE.get()), (1_000, 1), "once for each value");
    FUSE.set(0);
    assert!(rows(&world).len() > 2);
    assert_eq!(alive.load(Ordering::Relaxed), 3_030);
    world.clear();
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn an_iterator_that_panics_leaves_nothing_of_what_would_have_come_with_its_bundles() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut world = brittle(&alive);
    for end in [0, 1, 400, 999] {
        let bundles = (0..1_000).map(|n| {
            assert!(n < end, "no more");
            (Sprite(n),)
        });
        let ended = catch_unwind(AssertUnwindSafe(|| drop(world.create_batch(bundles))));
        assert!(ended.is_err());
        assert_eq!((alive.load(Ordering::Relaxed), world.count()), (0, 0));
        world.check().unwrap();
    }
}

#[test]
fn a_constructor_may_use_another_world() {
    let mut other = World::new();
    other.create((1_u8,)).unwrap();
    let other = std::sync::Mutex::new(other);
    let mut world = World::new();
    let made = move || {
        let mut other = other.lock().unwrap();
        other.create((2_u8,)).unwrap();
        other.count() as u64
    };
    world.registry().require_with::<Sprite, u64>(made).unwrap();
    let batch = world
        .create_batch((0..2_000).map(|n| (Sprite(n),)))
        .unwrap()
        .to_vec(&world);
    for (&entity, count) in batch.iter().zip(2_u64..) {
        assert_eq!(world.get::<u64>(entity), Ok(&count));
    }
}
