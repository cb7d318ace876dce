//! Iterators that make bundles, and lie about how many, or panic when they end.

use megachunk::prelude::*;

use crate::brittle::{Brittle, Count, With, arm, burns, holds_nothing};

#[test]
fn an_iterator_whose_own_drop_panics_leaves_none_of_its_batch() {
    holds_nothing(|| {
        let count = Count::default();
        for len in [0, 1, 5, 300] {
            let mut world = World::new();
            let bundles = || With((0..len).map(|n| (n, count.brittle(n))), count.brittle(0));
            let shared = || {
                let bundle = |n| (n, count.brittle(n)).shared(n % 2);
                With((0..len).map(bundle), count.brittle(0))
            };
            let (some, others) = (bundles(), shared());
            burns(1, || drop(world.create_batch(some)));
            burns(1, || drop(world.create_batch(others)));
            let mut commands = world.commands();
            let (some, others) = (bundles(), shared());
            burns(1, || drop(commands.create_batch(some)));
            burns(1, || drop(commands.create_batch(others)));
            drop(commands);
            assert_eq!(world.universe().count(), 0);
            assert_eq!(world.flush().created, 0);
            assert_eq!((world.count(), count.get()), (0, 0));
            world.check().unwrap();
            assert_eq!(world.create_batch(bundles()).unwrap().len(), len as usize);
        }
        assert_eq!(count.get(), 0);
    });
}

#[test]
fn a_recorded_batch_of_which_a_template_panics_leaves_none() {
    #[derive(Clone)]
    struct Begin(#[expect(dead_code, reason = "it is dropped")] Brittle);
    holds_nothing(|| {
        let count = Count::default();
        // The later ones begin a chunk, as entities of a part.
        for len in [2, 4, 1_500] {
            for drops in [1, len as isize - 1] {
                let mut world = World::new();
                let mut commands = world.commands();
                let bundle = |n| (count.brittle(n), n).per_chunk(Begin(count.brittle(0)));
                burns(drops, || drop(commands.create_batch((0..len).map(bundle))));
                drop(commands);
                world.universe().check([&world]).unwrap();
                assert_eq!((world.flush().created, world.count()), (0, 0));
                drop(world);
                assert_eq!(count.get(), 0);
            }
        }
    });
}

/// Says that so many come.
struct Lies<I>(I, (usize, Option<usize>));

impl<I: Iterator> Iterator for Lies<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.1
    }
}

#[test]
fn how_many_an_iterator_says_that_come_is_a_hint() {
    let count = Count::default();
    let hints = [
        (134_217_728, None),
        (134_217_728, Some(0)),
        (0, Some(0)),
        (1, Some(usize::MAX)),
        (1 << 20, Some(3)),
    ];
    for hint in hints {
        for len in [0, 1, 700] {
            let mut world = World::new();
            let bundle = |n: u32| (n, count.brittle(n));
            let batch = world
                .create_batch(Lies((0..len).map(bundle), hint))
                .unwrap();
            assert_eq!(batch.iter(&world).count(), len as usize);
            let shared = (0..len).map(|n| bundle(n).shared(n % 2));
            let batch = world.create_batch(Lies(shared, hint)).unwrap();
            assert_eq!(batch.len(), len as usize);
            let mut commands = world.commands();
            let batch = commands.create_batch(Lies((0..len).map(bundle), hint));
            assert_eq!(batch.unwrap().len(), len as usize);
            drop(commands);
            assert!(world.flush().is_clean());
            assert_eq!(
                (world.count(), count.get()),
                (3 * len as usize, 3 * len as isize)
            );
            world.check().unwrap();
        }
        assert_eq!(count.get(), 0);
    }
}

#[test]
fn an_iterator_of_more_than_there_are_ids_is_not_asked_for_one() {
    let count = Count::default();
    for hint in [(usize::MAX, None), (134_217_729, Some(3))] {
        let mut world = World::new();
        let bundle = |n: u32| (n, count.brittle(n));
        let refused = world.create_batch(Lies((0..3).map(bundle), hint));
        assert!(matches!(refused, Err(WorldError::Full(_))), "{refused:?}");
        let mut commands = world.commands();
        let refused = commands.create_batch(Lies((0..3).map(bundle), hint));
        assert!(matches!(refused, Err(WorldError::Full(_))), "{refused:?}");
        drop(commands);
        assert!(world.flush().is_clean());
        assert_eq!((world.count(), count.get()), (0, 0));
    }
}

#[test]
fn a_batch_that_goes_again_drops_each_value_though_several_panic() {
    holds_nothing(|| {
        let count = Count::default();
        let mut world = World::new();
        // Over the border of a chunk.
        let bundles = |count: &Count| {
            let count = count.clone();
            (0..700_u32).map(move |n| {
                if n == 650 {
                    arm(-1);
                    let _burnt = count.brittle(n);
                }
                (n, count.brittle(n), [count.brittle(n), count.brittle(n)])
            })
        };
        burns(0, || drop(world.create_batch(bundles(&count))));
        let mut commands = world.commands();
        burns(0, || drop(commands.create_batch(bundles(&count))));
        drop(commands);
        assert_eq!((world.universe().count(), count.get()), (0, 0));
        assert_eq!(world.flush().created, 0);
        world.check().unwrap();
        let one: (Brittle,) = (count.brittle(1),);
        world.create(one).unwrap();
        drop(world);
        assert_eq!(count.get(), 0);
    });
}

#[test]
fn an_iterator_that_has_ended_is_not_asked_again() {
    let ending = || {
        let mut left = Some(3_u32);
        std::iter::from_fn(move || {
            let n = left.expect("it has said that this was all");
            left = n.checked_sub(1);
            left.map(|n| (n,))
        })
    };
    let mut world = World::new();
    assert_eq!(world.create_batch(ending()).unwrap().len(), 3);
    let shared = ending().map(|bundle| bundle.shared("all"));
    assert_eq!(world.create_batch(shared).unwrap().len(), 3);
    let mut commands = world.commands();
    assert_eq!(commands.create_batch(ending()).unwrap().len(), 3);
    drop(commands);
    assert_eq!(world.flush().created, 3);
    assert_eq!(world.count(), 9);
}
