//! Values that a call refuses: they end before the error is on its way, which is not lost if their drop panics.

use std::alloc::Layout;

use megachunk::fragment::{DynamicBundle, FragmentInfo, Value};
use megachunk::prelude::*;
use megachunk::world::Prototype;

use crate::brittle::{ALWAYS, Brittle, Count, burns, ends, holds_nothing};

/// A value that is too large for any chunk.
fn huge(world: &World) -> Value {
    let registry = world.registry();
    let layout = Layout::new::<[u8; 2 << 20]>();
    let known = registry.find("huge").map(FragmentInfo::id);
    let id = known.unwrap_or_else(|| registry.define_plain("huge", layout).unwrap().id());
    Value::from_bytes(registry, id, &vec![0; layout.size()]).unwrap()
}

fn values(world: &World, count: &Count, numbers: core::ops::Range<u32>) -> DynamicBundle {
    let value = |n| Value::new(world.registry(), count.brittle(n)).unwrap();
    numbers.map(value).collect()
}

#[test]
fn dynamic_bundles_that_are_refused_drop_their_values() {
    holds_nothing(|| {
        let count = Count::default();
        let mut world = World::new();
        let shared = |n| Value::const_shared(world.registry(), n).unwrap();
        let (one, other) = (shared(1_u8), shared(2_u8));
        let ant = world
            .create_dynamic(DynamicBundle::new().with(one))
            .unwrap();
        // Twice.
        for drop in 1..3 {
            let twice = || values(&world, &count, 0..2);
            let (for_new, for_old, for_reserved) = (twice(), twice(), twice());
            burns(drop, || drop_result(world.create_dynamic(for_new)));
            burns(drop, || drop_result(world.add_dynamic(ant, for_old)));
            let reserved = world.reserve().unwrap();
            burns(drop, || {
                drop_result(world.build_dynamic(reserved, for_reserved));
            });
            world.release(reserved).unwrap();
            assert_eq!(count.get(), 0);
        }
        // Another value for ever.
        let bundle = values(&world, &count, 0..1).with(other);
        burns(1, || drop_result(world.add_dynamic(ant, bundle)));
        // Too large.
        let large = |world: &World| values(world, &count, 0..1).with(huge(world));
        let bundle = large(&world);
        burns(1, || drop_result(world.create_dynamic(bundle)));
        let bundle = large(&world);
        burns(1, || drop_result(world.add_dynamic(ant, bundle)));
        assert_eq!((world.count(), count.get()), (1, 0));
        world.check().unwrap();
    });
}

/// Drops what is refused: there is nothing else to be had.
fn drop_result<T, E>(result: Result<T, E>) {
    assert!(result.is_err());
}

/// Has a call refuse a bundle, the `drops`-th drop of whose values panics. Whether or not that comes back: a shared value
/// ends where there is nobody to give a panic to.
fn refuse<T, E>(drops: isize, call: impl FnOnce() -> Result<T, E>) {
    ends(drops, || drop_result(call()));
}

/// Bundles that no entity can have.
fn by_all<B: Bundle>(world: &mut World, ant: Entity, drops: isize, make: &dyn Fn() -> B) {
    let reserved = world.reserve().unwrap();
    let given = make();
    refuse(drops, || world.create(given));
    let given = make();
    refuse(drops, || world.build(reserved, given));
    by_old(world, ant, drops, make);
    let mut commands = world.commands();
    let given = make();
    refuse(drops, || commands.create(given));
    let given = make();
    refuse(drops, || commands.build(reserved, given));
    let given = make();
    refuse(drops, || commands.add(ant, given));
    let given = make();
    refuse(drops, || commands.swap::<(u32,), _>(ant, given));
    drop(commands);
    world.release(reserved).unwrap();
}

/// Bundles that this one cannot have.
fn by_old<B: Bundle>(world: &mut World, ant: Entity, drops: isize, make: &dyn Fn() -> B) {
    let given = make();
    refuse(drops, || world.add(ant, given));
    let given = make();
    refuse(drops, || world.swap::<(u32,), _>(ant, given));
    let given = make();
    refuse(drops, || {
        world.entity_mut(ant).unwrap().add(given).map(drop)
    });
}

#[test]
fn bundles_that_are_refused_drop_their_values() {
    holds_nothing(|| {
        let count = Count::default();
        let mut world = World::new();
        let ant = world.create((1_u32,).const_shared(1_u8)).unwrap();
        for drops in [-1, 1, 2, 3] {
            let twice = || (count.brittle(0), count.brittle(1));
            by_all(&mut world, ant, drops, &twice);
            let shared = || twice().shared([count.brittle(2)]);
            by_all(&mut world, ant, drops, &shared);
            let own = || (count.brittle(0), [count.brittle(1)]).const_shared(2_u8);
            by_old(&mut world, ant, drops, &own);
            // A recorder keeps shared values until then.
            assert!(world.flush().is_clean());
            assert_eq!((world.count(), count.get()), (1, 0));
            world.check().unwrap();
        }
    });
}

#[test]
fn values_that_a_prototype_refuses_are_dropped() {
    holds_nothing(|| {
        let count = Count::default();
        let world = World::new();
        let bundle = values(&world, &count, 0..2);
        burns(1, || drop_result(Prototype::new(world.registry(), bundle)));
        // Not cloneable: nobody has said so.
        for drop in 1..4 {
            struct Other(#[expect(dead_code, reason = "it is dropped")] Brittle);
            struct Shared(#[expect(dead_code, reason = "it is dropped")] Brittle);
            impl Clone for Shared {
                fn clone(&self) -> Self {
                    unreachable!("nobody makes a chunk")
                }
            }
            let registry = world.registry();
            let bundle = DynamicBundle::new()
                .with(Value::per_chunk(registry, Shared(count.brittle(2))).unwrap())
                .with(Value::cloneable(registry, [count.brittle(0), count.brittle(7)]).unwrap())
                .with(Value::new(registry, Other(count.brittle(1))).unwrap());
            burns(drop, || drop_result(Prototype::new(registry, bundle)));
            assert_eq!(count.get(), 0);
        }
    });
}

#[test]
fn a_batch_that_is_refused_drops_the_bundles_that_came() {
    holds_nothing(|| {
        let count = Count::default();
        let mut world = World::new();
        let twice = |n| (count.brittle(n), count.brittle(n));
        // Those that never came are the iterator's.
        let left = || (0..3).map(twice).collect::<Vec<_>>().into_iter();
        let shared = || left().map(|bundle| bundle.shared(1_u8)).collect::<Vec<_>>();
        for drop in [1, 4, 6] {
            let (bundles, others) = (left(), shared());
            burns(drop, || drop_result(world.create_batch(bundles)));
            burns(drop, || drop_result(world.create_batch(others)));
            let (bundles, others) = (left(), shared());
            let mut commands = world.commands();
            burns(drop, || drop_result(commands.create_batch(bundles)));
            burns(drop, || drop_result(commands.create_batch(others)));
            assert_eq!(count.get(), 0);
        }
        assert!(world.flush().is_clean());
        assert_eq!(world.count(), 0);
        world.check().unwrap();
    });
}

#[test]
fn values_that_a_call_refuses_are_dropped_though_all_of_them_panic() {
    holds_nothing(|| {
        let count = Count::default();
        let mut world = World::new();
        let ant = world.create((1_u32,).const_shared(1_u8)).unwrap();
        let own =
            || ((count.brittle(0),).shared([count.brittle(1)])).const_shared([[count.brittle(2)]]);
        let twice = || own().shared([count.brittle(3)]);
        let (given, other) = (twice(), twice());
        burns(ALWAYS, || drop_result(world.create(given)));
        burns(ALWAYS, || drop_result(world.add(ant, other)));
        let given = own().const_shared(2_u8);
        burns(ALWAYS, || drop_result(world.add(ant, given)));
        let large = || values(&world, &count, 0..1).with(huge(&world));
        let (given, other) = (large(), large());
        let twice = values(&world, &count, 0..3);
        let cannot = values(&world, &count, 0..2);
        burns(ALWAYS, || drop_result(world.create_dynamic(given)));
        burns(ALWAYS, || drop_result(world.add_dynamic(ant, other)));
        burns(ALWAYS, || drop_result(world.create_dynamic(twice)));
        burns(ALWAYS, || {
            drop_result(Prototype::new(world.registry(), cannot))
        });
        assert_eq!((world.count(), count.get()), (1, 0));
        world.check().unwrap();
    });
}

#[test]
fn bundles_all_of_whose_drops_panic() {
    holds_nothing(|| {
        let count = Count::default();
        let mut world = World::new();
        let (ant, gone) = (world.create((1_u32,)).unwrap(), world.create(()).unwrap());
        world.destroy(gone).unwrap();
        let two = || (count.brittle(0), [count.brittle(1)]);
        let twice = || (count.brittle(0), [count.brittle(1)], count.brittle(2));
        by_all(&mut world, ant, ALWAYS, &twice);
        by_all(&mut world, ant, ALWAYS, &|| {
            twice().and(([[count.brittle(3)]],))
        });
        by_all(&mut world, ant, ALWAYS, &|| {
            twice()
                .shared([[count.brittle(4)]])
                .per_chunk(count.brittle(5))
        });
        // A recorder keeps shared values until then.
        assert!(world.flush().is_clean());
        // Dead, or built already: nothing was looked at.
        let calls: [&dyn Fn(&mut World); 6] = [
            &|world| drop_result(world.add(gone, two())),
            &|world| drop_result(world.add(gone, two().shared([[count.brittle(2)]]))),
            &|world| drop_result(world.swap::<(u32,), _>(gone, two())),
            &|world| drop_result(world.build(gone, two())),
            &|world| drop_result(world.build(ant, two().per_chunk(count.brittle(2)))),
            &|world| drop_result(world.commands().build(ant, two())),
        ];
        for call in calls {
            burns(ALWAYS, || call(&mut world));
            assert_eq!(count.get(), 0);
        }
        let (for_dead, for_built) = (values(&world, &count, 0..1), values(&world, &count, 0..1));
        burns(ALWAYS, || drop_result(world.add_dynamic(gone, for_dead)));
        burns(ALWAYS, || drop_result(world.build_dynamic(ant, for_built)));
        assert!(world.flush().is_clean());
        assert_eq!((world.count(), count.get()), (1, 0));
        world.check().unwrap();
    });
}
