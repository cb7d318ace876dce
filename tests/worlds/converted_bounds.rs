//! Conversions of more than there may be are refused before the first is made, and what does not come is not converted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use megachunk::fragment::Plain;
use megachunk::prelude::*;

use crate::converted::{Health, V1, V2, from_v1, register_as};

/// A quarter of a megabyte.
type Large = [u8; 256 << 10];

/// Loads with a conversion to large values, which is never called: the error.
fn refused_before_it_is_converted<O: Plain>(
    file: &[u8],
    register: impl Fn(&FragmentRegistry),
) -> SnapshotError {
    let convert = |_: O| -> Large { panic!("there are too many") };
    let options = LoadOptions::new().convert("t", convert);
    let options = options.convert_state("t", convert);
    let universe = Universe::new();
    register(universe.registry());
    let with_ids = World::from_snapshot(file, universe, &options).unwrap_err();
    let universe = Arc::new(Universe::new());
    register(universe.registry());
    let anew = World::from_snapshot_remapped(file, &universe, &EntityMap::default(), &options);
    assert_eq!(anew.unwrap_err(), with_ids);
    assert_eq!(universe.count(), 0);
    with_ids
}

#[test]
fn more_than_a_universe_holds_is_not_converted() {
    let mut world = World::new();
    world.registry().register_plain_as::<V1>("t").unwrap();
    let values = (0..70_000_u32).map(|n| (V1 { now: n as u8 },));
    let _ = world.create_batch(values).unwrap();
    let file = world.to_snapshot(&Default::default()).unwrap();
    let error = refused_before_it_is_converted::<V1>(&file, |registry| {
        registry.register_plain_as::<Large>("t").unwrap();
    });
    let (bytes, most) = (70_000 << 18, 16 << 30);
    assert_eq!(error, SnapshotError::ConvertedTooLarge { bytes, most });
    assert_eq!(
        error.to_string(),
        "values of the snapshot would have 18350080000 bytes when they are converted, and 17179869184 are the most"
    );
}

#[test]
fn a_small_file_does_not_become_very_large_shared_values() {
    let value = |now| V2 {
        friend: Entity::PLACEHOLDER,
        now,
    };
    let (bytes, most) = (1_000 << 18, 64 << 20);
    let expected = SnapshotError::ConvertedTooLarge { bytes, most };
    for role in ["shared", "const"] {
        let mut world = World::new();
        register_as::<V2>(world.registry(), role);
        for health in 0..1_000 {
            match role {
                "shared" => world.create(().shared(value(health))).unwrap(),
                _ => world.create(().const_shared(value(health))).unwrap(),
            };
        }
        let file = world.to_snapshot(&Default::default()).unwrap();
        let register = |registry: &FragmentRegistry| register_as::<Large>(registry, role);
        let error = refused_before_it_is_converted::<V2>(&file, register);
        assert_eq!(error, expected, "{role}");
    }
    // Nor what signals carry.
    let mut world = World::new();
    world.registry().register_state_as::<V2>("t").unwrap();
    let ant = world.create(()).unwrap();
    let signal = world.signal::<V2>("later").unwrap();
    for health in 0..1_000 {
        let time = std::time::Duration::from_secs(1);
        world.signals().send_at(signal, ant, value(health), time);
    }
    world.collect_signals();
    let file = world.to_snapshot(&Default::default()).unwrap();
    let error = refused_before_it_is_converted::<V2>(&file, |registry| {
        registry.register_state_as::<Large>("t").unwrap();
    });
    assert_eq!(error, expected);
}

#[test]
fn what_does_not_come_is_not_converted() {
    let mut world = World::new();
    register_as::<V1>(world.registry(), "chunk");
    let ant = world.create(().per_chunk(V1 { now: 5 })).unwrap();
    world.destroy(ant).unwrap();
    let file = world.to_snapshot(&Default::default()).unwrap();
    let register = |registry: &FragmentRegistry| register_as::<Health>(registry, "chunk");
    let options = LoadOptions::new().convert("t", |_: V1| -> Health { panic!("converted") });
    // The chunk that nobody is in comes with its ids.
    let universe = Universe::new();
    register(universe.registry());
    let load = || World::from_snapshot(&file, universe, &options).map(|world| world.count());
    assert!(catch_unwind(AssertUnwindSafe(load)).is_err());
    let universe = Arc::new(Universe::new());
    register(universe.registry());
    // With new ids it does not, but what new chunks begin with does.
    let calls = || {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        let options = LoadOptions::new().convert("t", |old: V1| {
            CALLS.fetch_add(1, Ordering::Relaxed);
            from_v1(old)
        });
        let nobody = EntityMap::default();
        World::from_snapshot_remapped(&file, &universe, &nobody, &options).unwrap();
        CALLS.load(Ordering::Relaxed)
    };
    assert_eq!(calls(), 1);
}
