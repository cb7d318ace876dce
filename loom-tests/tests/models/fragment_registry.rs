//! The registry of fragments: threads that register at once agree, and who finds a fragment finds all of it.

use core::alloc::Layout;

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};
use megachunk::fragment::model::{is_among, require, required, settled, switches};
use megachunk::fragment::{FragmentError, FragmentKind, FragmentRegistry};
use megachunk_loom_tests::Bound::{Exhaustive, Preemptions};
use megachunk_loom_tests::model;

fn spawn<R: 'static>(
    registry: &Arc<FragmentRegistry>,
    run: impl FnOnce(&FragmentRegistry) -> R + 'static,
) -> JoinHandle<R> {
    let registry = Arc::clone(registry);
    thread::spawn(move || run(&registry))
}

fn joined<R>(thread: JoinHandle<R>) -> R {
    thread.join().expect("it does not panic")
}

#[test]
fn two_threads_that_register_one_type_agree_on_its_number() {
    model(
        "two_threads_that_register_one_type_agree_on_its_number",
        Exhaustive,
        || {
            let registry = Arc::new(FragmentRegistry::new());
            let number =
                |registry: &FragmentRegistry| registry.register::<u32>().expect("room").id();
            let other = spawn(&registry, number);
            let mine = number(&registry);
            assert_eq!(joined(other), mine);
            let all: Vec<_> = registry.iter().map(|info| info.id()).collect();
            assert_eq!(all, [mine], "the one that came second is seen");
        },
    );
}

#[test]
fn who_finds_a_fragment_finds_all_of_it() {
    model("who_finds_a_fragment_finds_all_of_it", Exhaustive, || {
        let registry = Arc::new(FragmentRegistry::new());
        let other = spawn(&registry, |registry| {
            registry.register::<u32>().expect("room").id()
        });
        let found = registry.of::<u32>().map(|info| {
            assert_eq!(
                (info.kind(), info.layout()),
                (FragmentKind::Fragment, Layout::new::<u32>())
            );
            let by_number = registry
                .get(info.id())
                .expect("it has a number before it is found");
            assert!(core::ptr::eq(by_number, info));
            info.id()
        });
        let registered = joined(other);
        assert!(found.is_none_or(|found| found == registered));
    });
}

#[test]
fn two_types_get_two_numbers_whatever_entry_they_want() {
    model(
        "two_types_get_two_numbers_whatever_entry_they_want",
        Preemptions(3),
        || {
            let registry = Arc::new(FragmentRegistry::new());
            let other = spawn(&registry, |registry| {
                let one = registry.register::<u8>().expect("room").id();
                (one, registry.register::<u64>().expect("room").id())
            });
            let three = registry.register::<u16>().expect("room").id();
            let (one, two) = joined(other);
            assert!(one != two && two != three && one != three);
            let of = |info: Option<&megachunk::fragment::FragmentInfo>| info.map(|info| info.id());
            assert_eq!(of(registry.of::<u8>()), Some(one));
            assert_eq!(of(registry.of::<u64>()), Some(two));
            assert_eq!(of(registry.of::<u16>()), Some(three));
        },
    );
}

#[test]
fn of_two_definitions_of_one_name_one_wins() {
    model(
        "of_two_definitions_of_one_name_one_wins",
        Preemptions(3),
        || {
            let registry = Arc::new(FragmentRegistry::new());
            let define = |registry: &FragmentRegistry| {
                let defined = registry.define_plain("health", Layout::new::<u32>());
                defined.map(|info| info.id()).ok()
            };
            let other = spawn(&registry, define);
            let mine = define(&registry);
            let other = joined(other);
            assert!(mine.is_some() != other.is_some(), "{mine:?} and {other:?}");
            let found = registry.find("health").map(|info| info.id());
            assert_eq!(found, mine.or(other));
        },
    );
}

#[test]
fn who_finds_a_type_by_its_name_finds_it_by_its_type() {
    model(
        "who_finds_a_type_by_its_name_finds_it_by_its_type",
        Preemptions(3),
        || {
            let registry = Arc::new(FragmentRegistry::new());
            let number =
                |registry: &FragmentRegistry| registry.register::<u32>().expect("room").id();
            let other = spawn(&registry, number);
            let by_name = registry.find("u32").map(|info| info.id());
            let by_type = registry.of::<u32>().map(|info| info.id());
            assert!(by_name.is_none() || by_name == by_type);
            let by_name = registry.find("u32").map(|info| info.id());
            assert!(by_type.is_none() || by_name == by_type);
            let mine = number(&registry);
            assert!(by_type.is_none_or(|found| found == mine));
            assert_eq!(registry.find("u32").map(|info| info.id()), Some(mine));
            assert_eq!(joined(other), mine);
        },
    );
}

#[test]
fn a_definition_that_is_refused_finds_who_has_the_name() {
    model(
        "a_definition_that_is_refused_finds_who_has_the_name",
        Preemptions(3),
        || {
            let registry = Arc::new(FragmentRegistry::new());
            let other = spawn(&registry, |registry| {
                registry.register::<u32>().expect("room").id()
            });
            let defined = registry.define_plain("u32", Layout::new::<u32>());
            let defined = defined.map(|info| info.id()).ok();
            let found = registry.find("u32").map(|info| info.id());
            let typed = joined(other);
            assert_eq!(found, defined.or(Some(typed)));
            assert_eq!(registry.find("u32").map(|info| info.id()), found);
        },
    );
}

#[test]
fn of_two_types_that_are_to_have_one_name_one_gets_it() {
    model(
        "of_two_types_that_are_to_have_one_name_one_gets_it",
        Exhaustive,
        || {
            let registry = Arc::new(FragmentRegistry::new());
            let other = spawn(&registry, |registry| {
                let named = registry.register_plain_as::<u64>("health");
                named.map(|info| info.id()).ok()
            });
            let mine = registry.register_plain_as::<u32>("health");
            let mine = mine.map(|info| info.id()).ok();
            let other = joined(other);
            assert!(mine.is_some() != other.is_some(), "{mine:?} and {other:?}");
            let found = registry.find("health").map(|info| info.id());
            assert_eq!(found, mine.or(other));
            assert_eq!(registry.of::<u32>().map(|info| info.id()), mine);
            assert_eq!(registry.of::<u64>().map(|info| info.id()), other);
        },
    );
}

#[test]
fn a_type_has_one_name_whoever_registers_it() {
    model(
        "a_type_has_one_name_whoever_registers_it",
        Exhaustive,
        || {
            let registry = Arc::new(FragmentRegistry::new());
            let other = spawn(&registry, |registry| {
                registry.register::<u32>().expect("room").id()
            });
            let named = registry.register_plain_as::<u32>("health");
            let named = named.map(|info| info.id());
            let id = joined(other);
            let info = registry.of::<u32>().expect("it is there");
            assert_eq!(info.id(), id);
            match named {
                Ok(named) => assert_eq!((named, info.name()), (id, "health")),
                Err(error) => {
                    assert!(
                        matches!(&error, FragmentError::NamedOtherwise { name, asked, .. }
                            if (&**name, &**asked) == ("u32", "health")),
                        "{error}"
                    );
                    assert_eq!(info.name(), "u32");
                }
            }
            let all: Vec<_> = registry.iter().map(|info| info.id()).collect();
            assert_eq!(all, [id]);
            for name in ["u32", "health"] {
                let found = registry.find(name).map(|info| info.id());
                assert_eq!(found, (info.name() == name).then_some(id));
            }
        },
    );
}

#[test]
fn the_last_number_is_given_once() {
    model("the_last_number_is_given_once", Exhaustive, || {
        let registry = Arc::new(FragmentRegistry::new());
        registry.register::<u8>().expect("room");
        registry.register::<u16>().expect("room");
        registry.register::<u64>().expect("room");
        let other = spawn(&registry, |registry| {
            registry.register::<i8>().map(|info| info.id())
        });
        let mine = registry.register::<i16>().map(|info| info.id());
        let other = joined(other);
        let refused = |result: &Result<_, FragmentError>, refused: &str| matches!(result, Err(FragmentError::TooMany { name, limit: 4, .. }) if **name == *refused);
        assert!(
            (mine.is_ok() && refused(&other, "i8")) || (other.is_ok() && refused(&mine, "i16")),
        );
        assert_eq!(registry.iter().count(), 4);
    });
}

#[test]
fn who_counts_a_switch_knows_whose_it_is() {
    model("who_counts_a_switch_knows_whose_it_is", Exhaustive, || {
        let registry = Arc::new(FragmentRegistry::new());
        let id = registry.register::<u32>().expect("room").id();
        let other = spawn(&registry, move |registry| {
            registry.make_enableable(id).expect("it is there");
        });
        let info = registry.get(id).expect("it is there");
        let counted = switches(&registry);
        assert_eq!(is_among(info, counted), counted == 1);
        joined(other);
        assert_eq!(is_among(info, counted), counted == 1, "it came later");
        assert_eq!(switches(&registry), 1);
    });
}

#[test]
fn what_two_threads_make_enableable_is_counted_once() {
    model(
        "what_two_threads_make_enableable_is_counted_once",
        Preemptions(3),
        || {
            let registry = Arc::new(FragmentRegistry::new());
            let ids = [
                registry.register::<u8>().expect("room").id(),
                registry.register::<u16>().expect("room").id(),
            ];
            let enable = |registry: &FragmentRegistry, id| {
                let info = registry.make_enableable(id).expect("it is there");
                assert!(
                    is_among(info, switches(registry)),
                    "what was said is not counted"
                );
            };
            let other = spawn(&registry, move |registry| {
                ids.iter().for_each(|&id| enable(registry, id));
            });
            ids.iter().rev().for_each(|&id| enable(&registry, id));
            joined(other);
            assert_eq!(switches(&registry), 2);
            let first = ids
                .iter()
                .filter(|&&id| is_among(registry.get(id).expect("it is there"), 1));
            assert_eq!(first.count(), 1, "two have one number");
        },
    );
}

#[test]
fn what_is_required_is_seen_by_who_settles_it_or_refused() {
    model(
        "what_is_required_is_seen_by_who_settles_it_or_refused",
        Exhaustive,
        || {
            let registry = Arc::new(FragmentRegistry::new());
            let owner = registry.register::<u8>().expect("room").id();
            let needed = registry.register::<u16>().expect("room").id();
            let other = spawn(&registry, move |registry| {
                require(registry.get(owner).expect("it is there"), needed)
            });
            let info = registry.get(owner).expect("it is there");
            let seen = settled(info);
            let added = joined(other);
            assert_eq!(seen.len(), usize::from(added), "worked out without it");
            assert_eq!((settled(info), required(info)), (seen.clone(), seen));
            assert_eq!(
                require(info, needed),
                added,
                "what is there may be said again"
            );
        },
    );
}

#[test]
fn of_two_that_are_required_at_once_none_is_lost() {
    model(
        "of_two_that_are_required_at_once_none_is_lost",
        Exhaustive,
        || {
            let registry = Arc::new(FragmentRegistry::new());
            let owner = registry.register::<u8>().expect("room").id();
            let needed = [owner, registry.register::<u16>().expect("room").id()];
            let add = move |registry: &FragmentRegistry, at: usize| {
                require(registry.get(owner).expect("it is there"), needed[at])
            };
            let other = spawn(&registry, move |registry| add(registry, 0));
            assert!(add(&registry, 1));
            assert!(joined(other));
            let mut all = settled(registry.get(owner).expect("it is there"));
            all.sort_unstable();
            assert_eq!(all, needed);
        },
    );
}
