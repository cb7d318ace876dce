//! Which of several conversions a value goes through, and when none: by the shapes of the types.

use megachunk::fragment::Plain;
use megachunk::prelude::*;

/// Types of four bytes.
mod four {
    use megachunk::fragment::{IsValue, Plain};

    /// Of no shape that anybody knows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(C)]
    pub(super) struct Shapeless {
        pub(super) number: u32,
    }
    // SAFETY: four bytes, which may be any.
    unsafe impl Plain for Shapeless {
        const IS_VALUE: Option<IsValue> = None;
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(C)]
    pub(super) struct Then {
        pub(super) then: u32,
    }
    megachunk::plain!(Then { then });

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(C)]
    pub(super) struct Now {
        pub(super) now: u32,
    }
    megachunk::plain!(Now { now });
}
use four::{Now, Shapeless, Then};

/// A file of an entity that has a value, and of a world that has it as a resource.
fn with_one<T: Plain>(value: T) -> (Vec<u8>, Entity) {
    let mut world = World::new();
    world.registry().register_plain_as::<T>("one").unwrap();
    world.registry().register_state_as::<T>("one").unwrap();
    let ant = world.create((value,)).unwrap();
    world.resources_mut().insert(value);
    (world.to_snapshot(&Default::default()).unwrap(), ant)
}

/// What the two are that `with_one` has saved.
fn load_one<T: Plain>(
    (file, ant): &(Vec<u8>, Entity),
    options: &LoadOptions,
) -> Result<[T; 2], SnapshotError> {
    let universe = Universe::new();
    let registry = universe.registry();
    registry.register_plain_as::<T>("one").unwrap();
    registry.register_state_as::<T>("one").unwrap();
    let world = World::from_snapshot_with(file, universe, options)?;
    let resource = world.resources().get::<T>().copied();
    Ok([*world.get::<T>(*ant).unwrap(), resource.unwrap()])
}

/// Both values are converted.
fn both<O: Plain, N: Plain>(options: LoadOptions, convert: fn(O) -> N) -> LoadOptions {
    let options = options.convert("one", convert);
    options.convert_state("one", convert)
}

#[test]
fn what_is_for_the_files_type_goes_before_what_may_be() {
    let known = with_one(Then { then: 7 });
    let unknown = with_one(Shapeless { number: 7 });
    let values = |n: u64| Ok([n; 2]);
    let perhaps = |old: Shapeless| u64::from(old.number) + 100;
    let surely = |old: Then| u64::from(old.then) + 200;
    let none = LoadOptions::new();
    let in_order = both(both(none.clone(), perhaps), surely);
    assert_eq!(load_one::<u64>(&known, &in_order), values(207));
    // Of a file that does not know it, it may be either.
    assert_eq!(load_one::<u64>(&unknown, &in_order), values(107));
    let in_order = both(both(none.clone(), surely), perhaps);
    assert_eq!(load_one::<u64>(&known, &in_order), values(207));
    assert_eq!(load_one::<u64>(&unknown, &in_order), values(207));
    assert_eq!(load_one::<u64>(&known, &both(none, perhaps)), values(107));
}

#[test]
fn who_ignores_fields_converts_from_types_without_a_shape_all_the_same() {
    let file = with_one(Then { then: 7 });
    let convert = |old: Shapeless| Now {
        now: old.number + 100,
    };
    let now = |now| Ok([Now { now }; 2]);
    let options = both(LoadOptions::new(), convert);
    assert_eq!(load_one::<Now>(&file, &options), now(107));
    let ignoring = options.ignore_fields("one");
    assert_eq!(load_one::<Now>(&file, &ignoring), now(107));
    // What is of today's type, or of none that is known, is taken as it is.
    for options in [both(LoadOptions::new(), convert), ignoring] {
        let file = with_one(Now { now: 7 });
        assert_eq!(load_one::<Now>(&file, &options), now(7));
        let file = with_one(Shapeless { number: 7 });
        assert_eq!(load_one::<Now>(&file, &options), now(7));
    }
}
