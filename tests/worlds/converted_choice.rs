//! Which of several conversions a value goes through, and when none: by the shapes of the types.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    let world = World::from_snapshot(file, universe, options)?;
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

#[test]
fn a_table_that_the_closure_has_leads_ids_of_another_run_over() {
    let ids = Arc::new(HashMap::from([(7, 40), (8, 41)]));
    let calls = Arc::new(AtomicUsize::new(0));
    let by_table = {
        let (ids, calls) = (Arc::clone(&ids), Arc::clone(&calls));
        move |old: u32| {
            calls.fetch_add(1, Ordering::Relaxed);
            ids[&old]
        }
    };
    // Of the type to itself, whether its shape is known or not; and of another type.
    let table = by_table.clone();
    let now = move |old: Now| Now {
        now: table(old.now),
    };
    let table = by_table.clone();
    let shapeless = move |old: Shapeless| Shapeless {
        number: table(old.number),
    };
    let then = move |old: Then| Now {
        now: by_table(old.then),
    };
    let options = LoadOptions::new()
        .convert("one", then.clone())
        .convert_state("one", then)
        .convert("one", now.clone())
        .convert_state("one", now);
    let others = LoadOptions::new()
        .convert("one", shapeless.clone())
        .convert_state("one", shapeless);
    let both = Ok([Now { now: 40 }; 2]);
    assert_eq!(load_one(&with_one(Now { now: 7 }), &options), both);
    assert_eq!(load_one(&with_one(Then { then: 7 }), &options), both);
    let both = Ok([Shapeless { number: 41 }; 2]);
    // A clone has the same closures, and the table lives as long as one of them.
    let file = with_one(Shapeless { number: 8 });
    assert_eq!(load_one(&file, &others.clone()), both);
    assert_eq!(load_one(&file, &others), both);
    assert_eq!(calls.load(Ordering::Relaxed), 8, "once for each value");
    assert!(Arc::strong_count(&ids) > 1);
    drop((options, others));
    assert_eq!(Arc::strong_count(&ids), 1);
}

#[test]
fn a_table_leads_over_what_comes_in_the_order_of_the_file() {
    let mut world = World::new();
    world.registry().register_plain_as::<Now>("one").unwrap();
    let ants: Vec<_> = (0..500)
        .map(|now| world.create((Now { now },)).unwrap())
        .collect();
    let file = world.to_snapshot(&Default::default()).unwrap();
    let ids: Vec<u32> = (0..500).map(|id| id * 3 % 500).collect();
    let options = LoadOptions::new().convert("one", {
        let ids = ids.clone();
        move |old: Now| Now {
            now: ids[old.now as usize],
        }
    });
    let universe = Universe::new();
    universe.registry().register_plain_as::<Now>("one").unwrap();
    let loaded = World::from_snapshot(&file, universe, &options).unwrap();
    for (&ant, &now) in ants.iter().zip(&ids) {
        assert_eq!(loaded.get::<Now>(ant).unwrap(), &Now { now });
    }
}
