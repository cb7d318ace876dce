//! Fragments that are defined at run time: their names, sizes and types, and what is a value of them.

use core::alloc::Layout;

use megachunk::fragment::{DynamicBundle, FragmentError, FragmentRegistry, Value};
use megachunk::prelude::*;

use crate::dynamic::define;

struct Tag;

#[test]
fn a_fragment_of_a_type_takes_plain_values_of_that_type_alone_in_each_role() {
    let registry = FragmentRegistry::new();
    let roles = [
        registry.register_plain_as::<i32>("fragment").unwrap().id(),
        registry
            .register_plain_as::<PerChunk<i32>>("chunk")
            .unwrap()
            .id(),
        registry
            .register_plain_as::<Shared<i32>>("shared")
            .unwrap()
            .id(),
        registry
            .register_plain_as::<ConstShared<i32>>("const")
            .unwrap()
            .id(),
        registry.define_plain_as::<i32>("defined").unwrap().id(),
    ];
    for id in roles {
        let name = registry.get(id).unwrap().name();
        let value = Value::from_plain(&registry, id, 55_i32).unwrap();
        assert_eq!(value.lend(&registry).unwrap().value::<i32>().unwrap(), &55);
        for refused in [
            Value::from_plain(&registry, id, 55.0_f32),
            Value::from_plain(&registry, id, 55_u32),
            Value::from_plain(&registry, id, [55_u16, 0]),
        ] {
            let error = refused.unwrap_err();
            assert!(
                matches!(error, FragmentError::WrongType { .. }),
                "{name}: {error}"
            );
        }
        assert!(Value::from_bytes(&registry, id, &55.0_f32.to_ne_bytes()).is_ok());
    }
    // Of no type: whatever has as many bytes.
    let bytes = define(&registry, "bytes", Layout::new::<i32>());
    assert!(Value::from_plain(&registry, bytes, 55.0_f32).is_ok());
    // A tag of a type is that type's.
    let tag = registry.register_plain_as::<()>("tag").unwrap().id();
    assert!(Value::from_plain(&registry, tag, ()).is_ok());
    let refused = Value::from_plain(&registry, tag, [0_u8; 0]).map(drop);
    assert!(matches!(refused, Err(FragmentError::WrongType { .. })));
}

#[test]
fn a_plain_definition_is_cloned_and_switched_like_any_fragment() {
    let mut world = World::new();
    let health = define(world.registry(), "health", Layout::new::<[u32; 3]>());
    world.registry().make_enableable(health).unwrap();
    let value = Value::from_bytes(world.registry(), health, &[7; 12]).unwrap();
    let ant = world
        .create_dynamic(DynamicBundle::new().with(value))
        .unwrap();
    world.set_enabled_dynamic(ant, health, false).unwrap();
    let bee = world.clone_entity(ant).unwrap();
    assert_eq!(
        world.get_dynamic(bee, health).unwrap().bytes().unwrap(),
        [7; 12]
    );
    assert!(!world.is_enabled_dynamic(bee, health).unwrap());
    world.set_enabled_dynamic(bee, health, true).unwrap();
    assert!(world.is_enabled_dynamic(bee, health).unwrap());
}

#[test]
fn nobody_has_an_empty_name() {
    let registry = FragmentRegistry::new();
    let refused = [
        registry.define_plain("", Layout::new::<u32>()).map(drop),
        registry.define_plain_as::<u32>("").map(drop),
        registry.register_plain_as::<u32>("").map(drop),
        registry.register_plain_as::<Shared<u32>>("").map(drop),
    ];
    assert_eq!(refused, [(); 4].map(|()| Err(FragmentError::EmptyName)));
    assert_eq!(registry.iter().count(), 0);
    // What an entity is called is for its world's users to say.
    let mut world = World::new();
    let ant = world.create((1_u8,)).unwrap();
    world.set_name(ant, "").unwrap();
    assert_eq!(
        (world.name(ant), world.find_by_name("")),
        (Ok(Some("")), Some(ant))
    );
}

#[test]
fn a_size_is_rounded_up_to_the_alignment_and_an_error_says_so() {
    let registry = FragmentRegistry::new();
    let five = define(&registry, "five", Layout::from_size_align(5, 4).unwrap());
    assert_eq!(
        registry.get(five).unwrap().layout(),
        Layout::new::<[u32; 2]>()
    );
    assert!(Value::from_bytes(&registry, five, &[1; 8]).is_ok());
    let refused = Value::from_bytes(&registry, five, &[1; 5]).unwrap_err();
    let says = "a five has 8 bytes, not 5 (it is aligned to 4)";
    assert_eq!(refused.to_string(), says);
    // Where nothing was rounded up, the alignment explains nothing.
    for (name, layout, says) in [
        ("asleep", Layout::new::<()>(), "a asleep has 0 bytes, not 1"),
        (
            "three",
            Layout::new::<[u8; 3]>(),
            "a three has 3 bytes, not 1",
        ),
    ] {
        let id = define(&registry, name, layout);
        let refused = Value::from_bytes(&registry, id, &[1]).unwrap_err();
        assert_eq!(refused.to_string(), says);
    }
}

#[test]
fn bytes_that_are_no_value_are_told_with_the_type_that_they_are_not_of() {
    let registry = FragmentRegistry::new();
    let flag = registry.define_plain_as::<bool>("flag").unwrap().id();
    let refused = Value::from_bytes(&registry, flag, &[2]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "these bytes are no flag, which is a bool"
    );
    let own = registry.register_plain::<bool>().unwrap().id();
    let refused = Value::from_bytes(&registry, own, &[2]).unwrap_err();
    assert_eq!(refused.to_string(), "these bytes are no bool");
}

#[test]
fn who_is_asked_for_bytes_in_vain_names_the_call_that_would_have_helped() {
    let world = World::new();
    let registry = world.registry();
    let by_role = [
        (registry.register::<i32>(), "register_plain"),
        (registry.register::<Tag>(), "register_plain"),
        (
            registry.register::<PerChunk<i32>>(),
            "register_plain::<PerChunk<…>>",
        ),
        (
            registry.register::<Shared<i32>>(),
            "register_plain::<Shared<…>>",
        ),
        (
            registry.register::<ConstShared<i32>>(),
            "register_plain::<ConstShared<…>>",
        ),
    ];
    for (info, call) in by_role {
        let error = Value::from_bytes(registry, info.unwrap().id(), &[0; 4]).unwrap_err();
        let text = error.to_string();
        assert!(text.ends_with(&format!("with `{call}`")), "{text}");
    }
}

#[test]
fn of_threads_that_define_one_name_exactly_one_wins() {
    for _ in 0..50 {
        let registry = FragmentRegistry::new();
        let won: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| registry.define_plain("health", Layout::new::<u32>())))
                .collect();
            let won = threads
                .into_iter()
                .map(|t| usize::from(t.join().unwrap().is_ok()));
            won.sum()
        });
        assert_eq!((won, registry.iter().count()), (1, 1));
    }
}
