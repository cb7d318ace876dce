//! What can be asked of a fragment, a value, a prototype and an entity, wherever they come from.

use core::alloc::Layout;
use core::mem::MaybeUninit;

use megachunk::fragment::{DynamicBundle, FragmentError, FragmentRegistry, Value};
use megachunk::prelude::*;
use megachunk::world::{Lack, Prototype, SnapshotOptions};
use megachunk::{Flaw, FlawPlace};

#[test]
fn values_say_of_which_fragment_they_are_and_where_they_lie() {
    let mut world = World::new();
    let ant = world.create((7_u32,)).unwrap();
    let id = world.registry().register::<u32>().unwrap().id();
    let at: *const u32 = world.get::<u32>(ant).unwrap();
    let values = world.get_dynamic(ant, id).unwrap();
    assert_eq!((values.info().id(), values.len()), (id, 1));
    assert_eq!(values.as_ptr(), at.cast());
    let mut values = world.get_dynamic_mut(ant, id).unwrap();
    assert_eq!((values.info().id(), values.len()), (id, 1));
    assert_eq!(values.as_ptr().cast_const(), at.cast());
}

#[test]
fn a_value_is_lent_to_be_changed_by_its_registry_and_as_its_type() {
    let [registry, other] = [(); 2].map(|()| FragmentRegistry::try_new().unwrap());
    let mut value = Value::new(&registry, 1_u32).unwrap();
    let id = value.id();
    let refused = value.lend_mut(&other).map(drop);
    assert_eq!(refused, Err(FragmentError::OtherUniverse { id }));
    let refused = value.lend_mut(&registry).unwrap().value::<i32>().map(drop);
    assert!(matches!(refused, Err(FragmentError::WrongType { .. })));
    *value.lend_mut(&registry).unwrap().value::<u32>().unwrap() = 2;
    assert_eq!(value.lend(&registry).unwrap().value::<u32>(), Ok(&2));
    // A fragment of that number, and it is another one.
    let there = other.register::<u32>().unwrap();
    assert_eq!(there.id(), id);
    let refused = value.lend_mut(&other).map(drop);
    assert_eq!(refused, Err(FragmentError::OtherUniverse { id }));
}

#[test]
fn a_prototype_shows_its_values_in_every_role() {
    #[derive(Clone)]
    struct Tag;
    let [registry, other] = [(); 2].map(|()| FragmentRegistry::new());
    let values = [
        Value::cloneable(&registry, 7_u32),
        Value::per_chunk(&registry, 8_u32),
        Value::shared(&registry, 9_u32),
        Value::const_shared(&registry, 10_u32),
        Value::cloneable(&registry, Tag),
    ];
    let values = values.map(Result::unwrap);
    let [one, once, shared, fixed, tag] = values.each_ref().map(Value::id);
    let bundle = values
        .into_iter()
        .fold(DynamicBundle::new(), |all, one| all.with(one));
    let prototype = Prototype::new(&registry, bundle).unwrap();
    assert!(prototype.is_of(&registry) && !prototype.is_of(&other));
    for (id, expected) in [(one, 7), (once, 8), (shared, 9), (fixed, 10)] {
        let value = prototype.value(&registry, id).unwrap();
        assert_eq!(value.value::<u32>(), Ok(&expected));
        assert!(prototype.value(&other, id).is_none());
    }
    assert!(prototype.has(tag) && prototype.value(&registry, tag).is_none());
}

#[test]
fn a_fragment_says_how_its_values_are_cloned_and_dropped() {
    let registry = FragmentRegistry::new();
    let text = registry.register_clone::<String>().unwrap();
    let (clone, drop) = (text.clone_value().unwrap(), text.drop_values().unwrap());
    let ant = String::from("ant");
    let mut copy = MaybeUninit::<String>::uninit();
    // SAFETY: room for one value, of a fragment of this type; then the value there, which is dropped once.
    unsafe {
        clone(
            (&raw const ant).cast(),
            copy.as_mut_ptr().cast(),
            size_of::<String>(),
        );
        assert_eq!(copy.assume_init_ref(), "ant");
        drop(copy.as_mut_ptr().cast(), 1);
    }
    let number = registry.register::<u32>().unwrap();
    assert!(number.clone_value().is_none() && number.drop_values().is_none());
}

#[test]
fn a_const_shared_fragment_of_plain_data_has_a_name_of_its_own() {
    let registry = FragmentRegistry::new();
    let team = registry
        .register_plain_as::<ConstShared<u8>>("team")
        .unwrap();
    assert_eq!((team.name(), team.is_plain()), ("team", true));
    let refused = registry
        .register_plain_as::<ConstShared<u8>>("other")
        .map(drop);
    assert!(matches!(refused, Err(FragmentError::NamedOtherwise { .. })));
}

#[test]
fn a_registry_that_is_full_says_so_and_knows_all_that_it_has() {
    const LIMIT: u16 = 65_535;
    let registry = FragmentRegistry::new();
    let define = |name: &str| {
        registry
            .define_plain(name, Layout::new::<u8>())
            .map(|new| new.id())
    };
    let ids: Vec<_> = (0..LIMIT)
        .map(|n| define(&n.to_string()).unwrap())
        .collect();
    let too_many = |refused| match refused {
        Err(FragmentError::TooMany { name, limit, .. }) => {
            assert_eq!(limit, usize::from(LIMIT));
            name
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(&*too_many(define("one more")), "one more");
    let refused = registry.register::<u32>().map(|info| info.id());
    assert_eq!(&*too_many(refused), "u32");
    for n in [0, 1, LIMIT / 2, LIMIT - 1] {
        let found = registry.find(&n.to_string()).unwrap();
        assert_eq!(found.id(), ids[usize::from(n)]);
    }
}

#[test]
fn an_entity_that_is_looked_at_says_who_it_is_and_what_it_shares() {
    let mut world = World::new();
    world.registry().register_enableable::<u16>().unwrap();
    let bundle = (1_u16, 2_u32).const_shared(3_u8);
    let ant = world.create(bundle).unwrap();
    world.set_name(ant, "Ann").unwrap();
    let view = world.entity(ant).unwrap();
    assert_eq!((view.id(), view.name()), (ant, Some("Ann")));
    assert_eq!(view.const_shared::<u8>().unwrap(), &3);
    let missing = view.const_shared::<u16>().unwrap_err();
    assert!(
        matches!(
            missing,
            WorldError::Missing {
                lack: Lack::Role(_),
                ..
            }
        ),
        "{missing}"
    );
    let mut view = world.entity_mut(ant).unwrap();
    assert_eq!(view.id(), ant);
    view.set_enabled::<u16>(false).unwrap();
    assert!(!view.read().is_enabled::<u16>().unwrap());
    view.set_enabled::<u16>(true).unwrap();
    assert!(view.read().is_enabled::<u16>().unwrap());
    let refused = view.set_enabled::<u32>(false).map(drop).unwrap_err();
    assert!(
        matches!(refused, WorldError::NotEnableable { .. }),
        "{refused}"
    );
    let refused = view.set_enabled::<u64>(false).map(drop).unwrap_err();
    assert!(matches!(refused, WorldError::Missing { .. }), "{refused}");
}

#[test]
fn of_a_world_without_anything_nothing_is_left_out() {
    let mut world = World::new();
    assert!(world.resources().is_empty());
    let unsaved = world.unsaved(&SnapshotOptions::new());
    assert!(unsaved.is_empty());
    assert_eq!(unsaved.to_string(), "nothing is left out");
    world.resources_mut().insert(1_u8);
    assert!(!world.resources().is_empty());
}

#[test]
fn what_names_a_signal_is_nothing_that_a_save_leaves_out() {
    struct Hit;
    let mut world = World::new();
    let (hit, named) = (world.signal_of::<Hit>(), world.signal::<u32>("named"));
    world.resources_mut().insert(hit);
    world.resources_mut().insert(named.unwrap());
    assert!(world.unsaved(&SnapshotOptions::new()).is_empty());
    // But what it carries is.
    world.resources_mut().insert(Hit);
    let unsaved = world.unsaved(&SnapshotOptions::new()).to_string();
    assert!(unsaved.ends_with("::Hit"), "{unsaved}");
}

#[test]
fn a_flaw_says_where_it_is_and_what() {
    let mut world = World::new();
    world.create((1_u8,)).unwrap();
    let universe = world.universe();
    universe.check([&world]).unwrap();
    // Of a world that is not told there are entities and chunks.
    let error = universe.check([]).unwrap_err();
    let [chunks, entities] = error.flaws() else {
        panic!("{error}");
    };
    assert_eq!(
        [chunks, entities].map(Flaw::place),
        [FlawPlace::Universe; 2]
    );
    assert_eq!(chunks.what(), "1 chunks are in use, and worlds have 0");
    assert_eq!(
        entities.what(),
        "1 entities have a place, and worlds have 0"
    );
}
