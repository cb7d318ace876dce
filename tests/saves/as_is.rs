//! Values that are taken as they are, in the one form of which that was said.

use megachunk::prelude::*;
use megachunk::world::SnapshotError;

use crate::bytes;

/// Types of as many bytes, of several years.
macro_rules! plain {
    ($($name:ident { $($field:ident),* })*) => {$(
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(C)]
        struct $name { $($field: u32),* }
        megachunk::plain!($name { $($field),* });
    )*};
}

plain! {
    First { points, most }
    Second { now, most }
    Turned { most, now }
    Long { now, most, shield }
}

fn saved<T: megachunk::fragment::Plain>(value: T) -> Vec<u8> {
    let mut world = World::new();
    let registry = world.registry();
    registry.register_plain_as::<T>("health").unwrap();
    registry.register_state_as::<T>("health").unwrap();
    world.create((value,)).unwrap();
    world.resources_mut().insert(value);
    bytes(&world)
}

/// The entity's value, and the resource; the first that is refused.
fn load(file: &[u8], options: &LoadOptions) -> Result<[Second; 2], SnapshotError> {
    let universe = Universe::new();
    let registry = universe.registry();
    registry.register_plain_as::<Second>("health").unwrap();
    registry.register_state_as::<Second>("health").unwrap();
    let world = World::from_snapshot(file, universe, options)?;
    let value = *world.read::<&Second, ()>().unwrap().iter().next().unwrap();
    Ok([value, *world.resources().get().unwrap()])
}

#[test]
fn a_form_that_was_named_is_taken_and_no_other() {
    let first = saved(First { points: 7, most: 9 });
    let turned = saved(Turned { most: 9, now: 7 });
    let none = LoadOptions::new();
    for file in [&first, &turned] {
        let refused = load(file, &none).unwrap_err();
        assert!(matches!(refused, SnapshotError::Layout { .. }), "{refused}");
    }
    let named = LoadOptions::new().take_as_is::<First>("health");
    let expected = Second { now: 7, most: 9 };
    assert_eq!(load(&first, &named), Ok([expected; 2]));
    assert_eq!(load(&saved(expected), &named), Ok([expected; 2]));
    let refused = load(&turned, &named).unwrap_err();
    assert!(matches!(refused, SnapshotError::Layout { .. }), "{refused}");
    // Which is what was not to be: fields that have changed places come silently.
    let any = LoadOptions::new().ignore_fields("health");
    assert_eq!(load(&turned, &any), Ok([Second { now: 9, most: 7 }; 2]));
    // And of the state as of fragments.
    let skipped = named
        .clone()
        .skip_state("health")
        .take_as_is::<Turned>("health");
    assert!(
        !World::from_snapshot(&turned, of_fragments(), &skipped)
            .unwrap()
            .is_empty()
    );
    let alone = LoadOptions::new().skip("health");
    let refused = load_state(&turned, &alone.clone().take_as_is::<First>("health"));
    assert!(
        matches!(refused, Err(SnapshotError::StateNotRead { .. })),
        "{refused:?}"
    );
    assert_eq!(
        load_state(&first, &alone.take_as_is::<First>("health")),
        Ok(expected)
    );
}

fn of_fragments() -> Universe {
    let universe = Universe::new();
    let registry = universe.registry();
    registry.register_plain_as::<Second>("health").unwrap();
    universe
}

fn load_state(file: &[u8], options: &LoadOptions) -> Result<Second, SnapshotError> {
    let universe = Universe::new();
    let registry = universe.registry();
    registry.register_state_as::<Second>("health").unwrap();
    let world = World::from_snapshot(file, universe, options)?;
    Ok(*world.resources().get().unwrap())
}

#[test]
fn a_form_of_another_size_is_not_taken() {
    let long = saved(Long {
        now: 1,
        most: 2,
        shield: 3,
    });
    let options = LoadOptions::new().take_as_is::<Long>("health");
    let refused = load(&long, &options).unwrap_err();
    assert!(matches!(refused, SnapshotError::Layout { .. }), "{refused}");
    let refused = load_state(&long, &options.skip("health")).unwrap_err();
    assert!(
        matches!(refused, SnapshotError::StateNotRead { .. }),
        "{refused}"
    );
}

#[test]
fn what_a_conversion_is_for_is_converted_all_the_same() {
    let first = saved(First { points: 7, most: 9 });
    let half = |old: First| Second {
        now: old.points / 2,
        most: old.most,
    };
    let options = LoadOptions::new()
        .take_as_is::<First>("health")
        .convert("health", half)
        .convert_state("health", half);
    assert_eq!(load(&first, &options), Ok([Second { now: 3, most: 9 }; 2]));
}

#[test]
fn which_bytes_are_a_value_is_asked_all_the_same() {
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Number {
        is_set: u8,
    }
    megachunk::plain!(Number { is_set });
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Flag {
        is_set: bool,
    }
    megachunk::plain!(Flag { is_set });

    let load = |number| {
        let mut world = World::new();
        world
            .registry()
            .register_plain_as::<Number>("flag")
            .unwrap();
        world.create((Number { is_set: number },)).unwrap();
        let universe = Universe::new();
        universe
            .registry()
            .register_plain_as::<Flag>("flag")
            .unwrap();
        let options = LoadOptions::new().take_as_is::<Number>("flag");
        World::from_snapshot(&bytes(&world), universe, &options)
    };
    assert_eq!(load(1).unwrap().count(), 1);
    let refused = load(2).unwrap_err();
    assert!(
        matches!(refused, SnapshotError::NotAValue { .. }),
        "{refused}"
    );
}
