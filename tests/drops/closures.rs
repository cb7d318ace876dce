//! Closures whose own drop panics when a call that had them is done, or refuses: what it says is not lost.

use std::sync::Arc;

use megachunk::fragment::{DynamicBundle, Value};
use megachunk::prelude::*;
use megachunk::query::{ChunkView, DynamicFilter};
use megachunk::world::Prototype;

use crate::brittle::{Brittle, Count, burns, holds_nothing};

#[test]
fn closures_of_slices_and_collections_that_panic_when_dropped_do_so_after_the_change() {
    holds_nothing(|| {
        let count = Count::default();
        let mut world = World::new();
        let ant = world.create((1_u32,)).unwrap();
        // One that is refused, so that there is a report.
        let dead = world.create((1_u32,)).unwrap();
        world.destroy(dead).unwrap();
        let held = count.brittle(0);
        let make = move |at: usize| (at as u64 + held.number(),);
        burns(1, || drop(world.add_slice(&[dead, ant], make)));
        assert_eq!(world.get::<u64>(ant).unwrap(), &1);
        let mut query = Query::<&u32>::new(&world).unwrap();
        let (one, two, three) = (count.brittle(0), count.brittle(0), count.brittle(0));
        burns(1, || {
            let mut run = query.read(&world);
            drop(run.for_each_in(&[dead, ant], move |n| assert!(u64::from(*n) > one.number())));
        });
        burns(1, || {
            let mut run = query.read(&world);
            drop(run.par_for_each_in(&[dead, ant], move |n| assert!(u64::from(*n) > two.number())));
        });
        burns(1, || {
            let mut run = query.read(&world);
            let each = move |_: ChunkView<'_>, rows: core::ops::Range<usize>, _: &[u32]| {
                assert!(rows.len() as u64 > three.number());
            };
            drop(run.for_each_chunk_in(&[dead, ant], each));
        });
        assert_eq!(count.get(), 0);
        world.check().unwrap();
    });
}

#[test]
fn closures_of_changing_queries_that_panic_when_dropped_do_so_after_the_change() {
    struct Huge(#[expect(dead_code, reason = "it is large")] [u8; 2 << 20]);
    holds_nothing(|| {
        let count = Count::default();
        let mut world = World::new();
        world.create((1_u32,).const_shared(1_u8)).unwrap();
        let mut query = Query::<Entity, With<u32>>::new(&world).unwrap();
        type Twice = (Brittle, Brittle);
        let held = count.brittle(0);
        let make = move |_: Entity| -> Twice { unreachable!("refused, {}", held.number()) };
        burns(1, || drop(query.change(&mut world).add(make)));
        let held = count.brittle(0);
        let make = move |_: Entity| -> Twice { unreachable!("refused, {}", held.number()) };
        burns(1, || drop(query.change(&mut world).swap::<(u32,), _>(make)));
        let held = count.brittle(0);
        let make = move |_: Entity| -> (Huge,) { unreachable!("refused, {}", held.number()) };
        burns(1, || drop(query.change(&mut world).add(make)));
        let (held, brittle) = (count.brittle(0), count.clone());
        let make = move |_: Entity| (brittle.brittle(*held.0),).const_shared(2_u8);
        // What it makes, and then its own.
        burns(2, || drop(query.change(&mut world).add(make)));
        let held = count.brittle(0);
        burns(1, || {
            let seen = move |_: &ChunkView<'_>| held.number() == 0;
            let change = query.change(&mut world).filter_chunks(seen);
            drop(change.add(|_| -> Twice { unreachable!("refused") }));
        });
        let held = count.brittle(0);
        burns(1, || {
            let seen = move |_: &ChunkView<'_>| held.number() == 0;
            drop(
                query
                    .change(&mut world)
                    .filter_chunks(seen)
                    .remove::<Twice>(),
            );
        });
        assert_eq!(count.get(), 0);
        world.check().unwrap();
        let (held, brittle) = (count.brittle(0), count.clone());
        let make = move |_: Entity| (brittle.brittle(*held.0),);
        burns(1, || drop(query.change(&mut world).add(make)));
        assert_eq!(count.get(), 1, "it was done");
        world.check().unwrap();
    });
}

#[test]
fn closures_of_copies_that_panic_when_dropped_do_so_after_the_copies_are_made() {
    holds_nothing(|| {
        let count = Count::default();
        let mut world = World::new();
        let registry = world.registry();
        let values = DynamicBundle::new().with(Value::cloneable(registry, 7_u32).unwrap());
        let prototype = Prototype::new(registry, values).unwrap();
        type Twice = (Brittle, Brittle);
        let twice = || {
            let held = count.brittle(0);
            move |_: usize| -> Twice { unreachable!("refused, {}", held.number()) }
        };
        let make = twice();
        burns(1, || drop(world.create_copies_with(&prototype, 3, make)));
        let make = twice();
        let mut commands = world.commands();
        burns(1, || drop(commands.create_copies_with(&prototype, 3, make)));
        drop(commands);
        assert_eq!((world.universe().count(), count.get()), (0, 0));
        let make = |len: usize| {
            let held = count.brittle(0);
            move |at: usize| (at.min(len), held.number())
        };
        for len in [0, 1, 700, 3_000] {
            let mut world = World::new();
            let registry = world.registry();
            let values = DynamicBundle::new().with(Value::cloneable(registry, 7_u32).unwrap());
            let prototype = Prototype::new(registry, values).unwrap();
            let some = make(len);
            burns(1, || drop(world.create_copies_with(&prototype, len, some)));
            let mut commands = world.commands();
            let some = make(len);
            burns(1, || {
                drop(commands.create_copies_with(&prototype, len, some))
            });
            drop(commands);
            world.check().unwrap();
            assert!(world.flush().is_clean());
            assert!(world.count().is_multiple_of(len.max(1)));
            world.check().unwrap();
        }
        assert_eq!(count.get(), 0);
    });
}

#[test]
fn closures_of_observers_that_are_refused_are_dropped() {
    holds_nothing(|| {
        let count = Count::default();
        let mut world = World::new();
        let held = count.brittle(0);
        burns(1, || {
            drop(
                world.observe::<u32, Without<u32>>(Observed::COME, move |_, _| {
                    assert_eq!(held.number(), 0)
                }),
            );
        });
        let id = world.registry().register::<u32>().unwrap().id();
        let without = DynamicFilter::new().without(id);
        let held = count.brittle(0);
        burns(1, || {
            let run =
                move |_: &mut ObservedBatch<'_>, _: &mut Commands<'_>| assert_eq!(held.number(), 0);
            drop(world.observe_dynamic(Observed::COME, id, without, run));
        });
        assert_eq!(count.get(), 0);
        // In a batch: what is refused is what it asks for.
        let brittle = count.clone();
        let run = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
            let (one, two) = (brittle.brittle(0), brittle.brittle(0));
            type Twice = (&'static mut u32, &'static mut u32);
            burns(1, || {
                drop(batch.for_each::<Twice>(move |_| assert_eq!(one.number(), 0)))
            });
            burns(1, || {
                drop(batch.for_each_range::<Twice>(move |_| assert_eq!(two.number(), 0)))
            });
        };
        world.observe::<u32, ()>(Observed::COME, run).unwrap();
        world.create((1_u32,)).unwrap();
        assert_eq!(count.get(), 0);
    });
}

#[test]
fn deferred_calls_are_all_dropped_though_one_panics() {
    holds_nothing(|| {
        let count = Count::default();
        let mut world = World::new();
        let universe = Arc::clone(world.universe());
        world.set_flush_rounds(1);
        let mut commands = world.commands();
        for _ in 0..3 {
            let held = (count.brittle(0), count.brittle(0));
            commands.defer(move |world| {
                let _burnt = &held;
                world.commands().create((1_u8,)).unwrap();
            });
        }
        drop(commands);
        burns(-1, || drop(world.flush()));
        assert_eq!(count.get(), 0);
        world.check().unwrap();
        drop(world);
        assert_eq!(universe.count(), 0);
    });
}
