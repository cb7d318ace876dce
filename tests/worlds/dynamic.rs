//! Entities whose fragments are known at run time only: created, changed, read, dropped.

use core::alloc::Layout;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use megachunk::fragment::{
    DynamicBundle, FragmentDefinition, FragmentError, FragmentId, FragmentRegistry, Value,
};
use megachunk::prelude::*;
use megachunk::processor::NetModes;

fn plain(registry: &FragmentRegistry, name: &str, layout: Layout) -> FragmentId {
    registry.define_plain(name, layout).unwrap().id()
}

fn number(world: &World, id: FragmentId, value: u32) -> Value {
    Value::from_bytes(world.registry(), id, &value.to_ne_bytes()).unwrap()
}

struct Tag;

/// Counts its drops; panics in the drop if it is told to.
#[derive(Clone)]
struct Counted(Arc<std::sync::atomic::AtomicUsize>, bool);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        assert!(!self.1, "told to panic");
    }
}

fn counter() -> Arc<std::sync::atomic::AtomicUsize> {
    Arc::default()
}

fn drops(counter: &Arc<std::sync::atomic::AtomicUsize>) -> usize {
    counter.load(std::sync::atomic::Ordering::Relaxed)
}

#[test]
fn several_fragments_defined_at_run_time_hold_handles() {
    let mut world = World::new();
    let registry = Arc::clone(world.universe());
    let registry = registry.registry();
    let target = registry.define_plain_as::<Entity>("ai.target").unwrap();
    let owner = registry.define_plain_as::<Entity>("ai.owner").unwrap().id();
    let target = target.id();
    let bytes = plain(registry, "bytes", Layout::new::<u64>());
    let ant = world.create(()).unwrap();
    let value = |id, to: Entity| Value::from_plain(registry, id, to).unwrap();
    let bundle = DynamicBundle::new().with(value(target, ant));
    let bee = world
        .create_dynamic(bundle.with(value(owner, ant)))
        .unwrap();
    let values = world.get_dynamic(bee, target).unwrap();
    assert_eq!(values.plain::<Entity>().unwrap(), [ant]);
    world
        .get_dynamic_mut(bee, owner)
        .unwrap()
        .plain::<Entity>()
        .unwrap()[0] = bee;
    let values = world.get_dynamic(bee, owner).unwrap();
    assert_eq!(values.value::<Entity>().unwrap(), &bee);
    // No bytes become a handle that are none, and none is lent as bytes to write.
    let refused = Value::from_bytes(registry, target, &[0; 8]).map(drop);
    assert!(matches!(refused, Err(FragmentError::NotAValue { .. })));
    let refused = Value::from_plain(registry, target, 0_u64).map(drop);
    assert!(matches!(refused, Err(FragmentError::NotAValue { .. })));
    let values = world.get_dynamic_mut(bee, owner).unwrap();
    let refused = values.bytes().map(drop);
    assert!(matches!(refused, Err(FragmentError::NotAnyBytes { .. })));
    let values = world.get_dynamic_mut(bee, owner).unwrap();
    let refused = values.plain::<u64>().map(drop);
    assert!(matches!(refused, Err(FragmentError::NotAnyBytes { .. })));
    // Fragments of bytes are no handles.
    let number = Value::from_plain(registry, bytes, 1_u64).unwrap();
    world
        .add_dynamic(bee, DynamicBundle::new().with(number))
        .unwrap();
    assert!(
        world
            .get_dynamic(bee, bytes)
            .unwrap()
            .plain::<Entity>()
            .is_err()
    );
    let error = Value::from_plain(registry, target, 1_u32).unwrap_err();
    assert!(matches!(error, FragmentError::WrongSize { .. }));
    // As many bytes, of another type: they can be given as bytes only.
    let points = registry.define_plain_as::<i32>("points").unwrap().id();
    let error = Value::from_plain(registry, points, 1.5_f32).unwrap_err();
    assert!(matches!(error, FragmentError::WrongType { .. }), "{error}");
    assert!(Value::from_plain(registry, points, 1_i32).is_ok());
    assert!(Value::from_bytes(registry, points, &1.5_f32.to_ne_bytes()).is_ok());
    let taken = registry.define_plain_as::<u8>("ai.owner").unwrap_err();
    assert!(matches!(taken, FragmentError::NameTaken { .. }));
}

#[test]
fn handles_in_values_of_a_defined_fragment_are_led_to_others() {
    let mut world = World::new();
    let registry = Arc::clone(world.universe());
    let registry = registry.registry();
    let pair = registry
        .define_plain_as::<[Entity; 2]>("pair")
        .unwrap()
        .id();
    let bytes = plain(registry, "bytes", Layout::new::<u64>());
    let name = registry.register::<&str>().unwrap().id();
    let all: Vec<Entity> = (0..3).map(|_| world.create(("ant",)).unwrap()).collect();
    let value = Value::from_plain(registry, pair, [all[0], all[1]]).unwrap();
    let number = Value::from_plain(registry, bytes, all[0].to_bits()).unwrap();
    let bundle = DynamicBundle::new().with(value).with(number);
    world.add_dynamic(all[0], bundle).unwrap();
    let known: EntityMap = [(all[0], all[2])].into_iter().collect();
    let values = world.get_dynamic_mut(all[0], pair).unwrap();
    assert!(values.map_entities(&known).unwrap());
    let values = world.get_dynamic(all[0], pair).unwrap();
    assert_eq!(
        values.value::<[Entity; 2]>().unwrap(),
        &[all[2], Entity::PLACEHOLDER]
    );
    // Nobody knows that a number is a handle, and a text is no plain data.
    let values = world.get_dynamic_mut(all[0], bytes).unwrap();
    assert!(!values.map_entities(&known).unwrap());
    let values = world.get_dynamic(all[0], bytes).unwrap();
    assert_eq!(values.plain::<u64>().unwrap(), [all[0].to_bits()]);
    let values = world.get_dynamic_mut(all[0], name).unwrap();
    let refused = values.map_entities(&known);
    assert!(matches!(refused, Err(FragmentError::NotPlain { .. })));
}

#[test]
fn a_fragment_of_a_type_takes_plain_values_of_that_type_alone_in_each_role() {
    let registry = FragmentRegistry::new();
    let roles = [
        registry.register_plain_as::<i32>("fragment").unwrap().id(),
        registry
            .register_plain_chunk_as::<i32>("chunk")
            .unwrap()
            .id(),
        registry
            .register_plain_shared_as::<i32>("shared")
            .unwrap()
            .id(),
        registry
            .register_plain_const_shared_as::<i32>("const")
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
    let bytes = plain(&registry, "bytes", Layout::new::<i32>());
    assert!(Value::from_plain(&registry, bytes, 55.0_f32).is_ok());
    // A tag of a type is that type's.
    let tag = registry.register_plain_as::<()>("tag").unwrap().id();
    assert!(Value::from_plain(&registry, tag, ()).is_ok());
    let refused = Value::from_plain(&registry, tag, [0_u8; 0]).map(drop);
    assert!(matches!(refused, Err(FragmentError::WrongType { .. })));
}

#[test]
fn fragments_defined_at_run_time_live_beside_typed_ones() {
    let mut world = World::new();
    let health = plain(world.registry(), "health", Layout::new::<u32>());
    let armed = plain(world.registry(), "armed", Layout::new::<()>());
    let speed = world.registry().register::<f32>().unwrap().id();

    let bundle = DynamicBundle::new()
        .with(Value::new(world.registry(), 1.5_f32).unwrap())
        .with(number(&world, health, 70));
    let ant = world.create_dynamic(bundle).unwrap();
    assert_eq!(world.get::<f32>(ant).unwrap(), &1.5);
    assert!(!world.has_dynamic(ant, armed).unwrap());

    let tag = Value::from_bytes(world.registry(), armed, &[]).unwrap();
    let bundle = DynamicBundle::new().with(tag);
    world.add_dynamic(ant, bundle).unwrap();
    world.add(ant, ("typed",)).unwrap();
    assert!(world.has_dynamic(ant, armed).unwrap());
    let values = world.get_dynamic(ant, health).unwrap();
    assert_eq!(values.plain::<u32>().unwrap(), [70]);

    world
        .get_dynamic_mut(ant, speed)
        .unwrap()
        .slice::<f32>()
        .unwrap()[0] = 2.0;
    world.get_dynamic_mut(ant, health).unwrap().bytes().unwrap()[0] = 71;
    assert_eq!(world.get::<f32>(ant).unwrap(), &2.0);
    assert_eq!(
        world
            .get_dynamic(ant, health)
            .unwrap()
            .plain::<[u8; 4]>()
            .unwrap()[0][0],
        71
    );

    assert!(world.remove_dynamic(ant, &[armed, health]).unwrap());
    assert!(!world.remove_dynamic(ant, &[health, armed]).unwrap());
    assert!(matches!(
        world.get_dynamic(ant, health),
        Err(WorldError::Missing { .. })
    ));
    assert_eq!(world.get::<&str>(ant).unwrap(), &"typed");
    let names: Vec<_> = world
        .fragments(ant)
        .unwrap()
        .map(|info| info.name().to_owned())
        .collect();
    assert_eq!(names, ["f32", "&str"]);
}

#[test]
fn typed_and_dynamic_bundles_of_one_composition_share_an_archetype() {
    let mut world = World::new();
    world.create((1_u32, 2.0_f32)).unwrap();
    let registry = world.registry();
    let bundle = DynamicBundle::new()
        .with(Value::new(registry, 2.0_f32).unwrap())
        .with(Value::new(registry, 1_u32).unwrap());
    world.create_dynamic(bundle).unwrap();
    assert_eq!(world.archetype_count(), 1);
    assert_eq!(world.query::<(&u32, &f32), ()>().unwrap().count(), 2);
}

#[test]
fn what_a_dynamic_call_refuses_it_names_and_changes_nothing() {
    let mut world = World::new();
    let health = plain(world.registry(), "health", Layout::new::<u32>());
    let ant = world
        .create_dynamic([number(&world, health, 1)].into_iter().collect())
        .unwrap();
    let nobody = FragmentId::from_number(60_000);

    let bytes = Value::from_bytes(world.registry(), health, &[1, 2]).unwrap_err();
    assert_eq!(
        bytes.to_string(),
        "a health has 4 bytes, not 2 (it is aligned to 4)"
    );
    let unknown = Value::from_bytes(world.registry(), nobody, &[]).unwrap_err();
    assert_eq!(unknown, FragmentError::Unknown { id: nobody });
    let name = world.registry().register::<String>().unwrap().id();
    let bytes = Value::from_bytes(world.registry(), name, &[0; 24]).unwrap_err();
    assert!(matches!(bytes, FragmentError::NotPlain { .. }));

    let twice = [number(&world, health, 2), number(&world, health, 3)];
    let error = world
        .add_dynamic(ant, twice.into_iter().collect())
        .unwrap_err();
    assert_eq!(error.to_string(), "fragment health is named twice");

    let other = World::new();
    let foreign = Value::new(other.registry(), 9_u64).unwrap();
    let error = world
        .create_dynamic(DynamicBundle::new().with(foreign))
        .unwrap_err();
    assert!(matches!(
        error,
        WorldError::Fragment(FragmentError::OtherUniverse { .. })
    ));

    assert!(matches!(
        world.get_dynamic(ant, nobody),
        Err(WorldError::Fragment(FragmentError::Unknown { .. }))
    ));
    assert!(matches!(
        world.remove_dynamic(ant, &[nobody]),
        Err(WorldError::Fragment(FragmentError::Unknown { .. }))
    ));
    let values = world.get_dynamic(ant, health).unwrap();
    assert_eq!(
        values.slice::<u32>().unwrap_err().to_string(),
        "health is not a u32: it was defined without a type; `plain::<u32>()` sees its bytes as one, and \
         `define_plain_as::<u32>` says that they are"
    );
    let wider = values.slice::<u64>().unwrap_err();
    assert_eq!(wider.to_string(), "health is not a u64");
    let owner = values.slice::<Box<()>>().unwrap_err().to_string();
    assert!(!owner.contains("plain"), "{owner}");
    assert!(matches!(
        values.plain::<u64>(),
        Err(FragmentError::WrongSize { .. })
    ));
    assert_eq!(values.plain::<u32>().unwrap(), [1]);

    let small = plain(world.registry(), "pair", Layout::new::<[u8; 8]>());
    let pair = Value::from_bytes(world.registry(), small, &[0; 8]).unwrap();
    let bee = world
        .create_dynamic(DynamicBundle::new().with(pair))
        .unwrap();
    let error = world
        .get_dynamic(bee, small)
        .unwrap()
        .plain::<u64>()
        .unwrap_err();
    assert!(
        matches!(error, FragmentError::WrongAlign { align: 1, .. }),
        "{error}"
    );

    world.destroy(bee).unwrap();
    let bundle = [number(&world, health, 2)].into_iter().collect();
    assert!(matches!(
        world.add_dynamic(bee, bundle),
        Err(WorldError::Entity(_))
    ));
    assert_eq!(world.count(), 1);
}

#[test]
fn a_reserved_entity_is_built_from_values_once() {
    let mut world = World::new();
    let health = plain(world.registry(), "health", Layout::new::<u32>());
    let ant = world.reserve().unwrap();
    let bundle = [number(&world, health, 5)].into_iter().collect();
    world.build_dynamic(ant, bundle).unwrap();
    assert_eq!(
        world
            .get_dynamic(ant, health)
            .unwrap()
            .plain::<u32>()
            .unwrap(),
        [5]
    );
    let bundle = [number(&world, health, 6)].into_iter().collect();
    assert!(matches!(
        world.build_dynamic(ant, bundle),
        Err(WorldError::AlreadyBuilt { .. })
    ));
}

#[test]
fn shared_and_chunk_fragments_come_in_dynamic_bundles_too() {
    let mut world = World::new();
    let registry = world.registry();
    let team = registry.register_shared::<u8>().unwrap().id();
    let heat = registry.register_chunk::<f64>().unwrap().id();
    let bundle = |world: &World, color: u8| {
        DynamicBundle::new()
            .with(Value::new(world.registry(), "ant").unwrap())
            .with(Value::shared(world.registry(), color).unwrap())
            .with(Value::per_chunk(world.registry(), 36.6_f64).unwrap())
    };
    let (red, blue) = (bundle(&world, 1), bundle(&world, 2));
    let ant = world.create_dynamic(red).unwrap();
    let bee = world.create_dynamic(blue).unwrap();
    assert_eq!(world.shared::<u8>(ant).unwrap(), &1);
    assert_eq!(
        world.get_dynamic(bee, team).unwrap().value::<u8>().unwrap(),
        &2
    );
    assert_eq!(
        world
            .get_dynamic(bee, heat)
            .unwrap()
            .value::<f64>()
            .unwrap(),
        &36.6
    );
    *world
        .get_dynamic_mut(bee, heat)
        .unwrap()
        .value::<f64>()
        .unwrap() = 40.0;
    assert_eq!(
        world.chunk_fragment::<f64>(ant).unwrap(),
        &36.6,
        "another team, another chunk"
    );
    assert_eq!(world.chunk_fragment::<f64>(bee).unwrap(), &40.0);

    let error = world.get_dynamic_mut(ant, team).unwrap_err();
    assert!(matches!(
        error,
        WorldError::Fragment(FragmentError::WrongKind { .. })
    ));
    let blue = DynamicBundle::new().with(Value::shared(world.registry(), 2_u8).unwrap());
    world.add_dynamic(ant, blue).unwrap();
    assert_eq!(
        world.chunk_fragment::<f64>(ant).unwrap(),
        &40.0,
        "it lies with the bee now"
    );
    assert!(world.remove_dynamic(ant, &[team]).unwrap());
    let gone = world.shared::<u8>(ant);
    assert!(matches!(gone, Err(WorldError::Missing { .. })), "{gone:?}");
}

#[test]
fn values_of_dynamic_bundles_are_dropped_exactly_once_on_every_path() {
    let counter = counter();
    let value =
        |world: &World| Value::new(world.registry(), Counted(Arc::clone(&counter), false)).unwrap();
    let mut world = World::new();
    let id = world.registry().register::<Counted>().unwrap().id();
    drop(value(&world));
    assert_eq!(drops(&counter), 1, "nobody took it");
    let bundle = DynamicBundle::new().with(value(&world));
    let ant = world.create_dynamic(bundle).unwrap();
    assert_eq!(drops(&counter), 1);
    let bundle = DynamicBundle::new().with(value(&world));
    world.add_dynamic(ant, bundle).unwrap();
    assert_eq!(drops(&counter), 2, "the value that was replaced");
    let bundle = DynamicBundle::new().with(value(&world)).with(value(&world));
    let refused = world.add_dynamic(ant, bundle);
    assert!(matches!(
        refused,
        Err(WorldError::Fragment(FragmentError::Twice { .. }))
    ));
    assert_eq!(drops(&counter), 4, "both that were refused");
    world.add(ant, (1_u8,)).unwrap();
    assert_eq!(drops(&counter), 4, "a move drops nothing");
    assert!(world.remove_dynamic(ant, &[id]).unwrap());
    assert_eq!(drops(&counter), 5);
    let bundle = DynamicBundle::new().with(value(&world));
    world.create_dynamic(bundle).unwrap();
    drop(world);
    assert_eq!(drops(&counter), 6);
}

#[test]
fn a_drop_that_panics_leaves_the_new_value_in_place() {
    let counter = counter();
    let mut world = World::new();
    let id = world.registry().register::<Counted>().unwrap().id();
    let value = |world: &World, panics| {
        let value = Counted(Arc::clone(&counter), panics);
        DynamicBundle::new().with(Value::new(world.registry(), value).unwrap())
    };
    let (bad, good) = (value(&world, true), value(&world, false));
    let ant = world.create_dynamic(bad).unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| world.add_dynamic(ant, good)));
    assert!(panic.is_err());
    assert_eq!(drops(&counter), 1);
    assert!(!world.get::<Counted>(ant).unwrap().1);
    world.get_mut::<Counted>(ant).unwrap().1 = true;
    let panic = catch_unwind(AssertUnwindSafe(|| world.remove_dynamic(ant, &[id])));
    assert!(panic.is_err());
    assert_eq!(drops(&counter), 2);
    assert!(!world.has_dynamic(ant, id).unwrap());
}

/// A pointer to a box that nobody but the definition's functions knows the type of.
unsafe fn drop_boxes(values: *mut u8, count: usize) {
    for at in 0..count {
        // SAFETY: values are pointers of `Box::into_raw`.
        drop(unsafe { Box::from_raw(*values.cast::<*mut Counted>().add(at)) });
    }
}

unsafe fn clone_box(from: *const u8, to: *mut u8, _: usize) {
    // SAFETY: as above.
    let cloned = unsafe { (**from.cast::<*mut Counted>()).clone() };
    // SAFETY: room for a pointer.
    unsafe {
        to.cast::<*mut Counted>()
            .write(Box::into_raw(Box::new(cloned)))
    };
}

#[test]
fn a_definition_with_functions_is_dropped_and_cloned_by_them() {
    let counter = counter();
    let mut world = World::new();
    let definition = FragmentDefinition::new("script object", Layout::new::<*mut Counted>())
        .drop_values(drop_boxes)
        .clone_value(clone_box);
    // SAFETY: the functions are those of a pointer to a box, whose content is `Send + Sync`.
    let id = unsafe { world.registry().define(definition) }.unwrap().id();
    let object = Box::into_raw(Box::new(Counted(Arc::clone(&counter), false)));
    // SAFETY: a pointer of a box, which nobody else uses.
    let value = unsafe { Value::from_raw(world.registry(), id, (&raw const object).cast()) };
    let ant = world
        .create_dynamic(DynamicBundle::new().with(value.unwrap()))
        .unwrap();
    let bee = world.clone_entity(ant).unwrap();
    assert_eq!(drops(&counter), 0);
    assert!(matches!(
        world.get_dynamic(bee, id).unwrap().bytes(),
        Err(FragmentError::NotPlain { .. })
    ));
    world.destroy(ant).unwrap();
    assert_eq!(drops(&counter), 1);
    assert!(world.remove_dynamic(bee, &[id]).unwrap());
    assert_eq!(drops(&counter), 2);
}

#[test]
fn a_plain_definition_is_cloned_and_switched_like_any_fragment() {
    let mut world = World::new();
    let health = plain(world.registry(), "health", Layout::new::<[u32; 3]>());
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
        registry.register_plain_shared_as::<u32>("").map(drop),
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
    let five = plain(&registry, "five", Layout::from_size_align(5, 4).unwrap());
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
        let id = plain(&registry, name, layout);
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
        (registry.register_chunk::<i32>(), "register_plain_chunk"),
        (registry.register_shared::<i32>(), "register_plain_shared"),
        (
            registry.register_const_shared::<i32>(),
            "register_plain_const_shared",
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

/// Many more columns than typed bundles have, of several sizes, and tags.
#[test]
fn many_fragments_come_and_go_together_and_those_that_stay_keep_their_values() {
    use std::collections::BTreeMap;
    let mut world = World::new();
    let ids: Vec<FragmentId> = (0..60)
        .map(|n| {
            let layout = match n % 7 {
                6 => Layout::new::<()>(),
                n if n % 2 == 0 => Layout::new::<u32>(),
                _ => Layout::new::<[u32; 3]>(),
            };
            let id = plain(world.registry(), &format!("fragment {n}"), layout);
            if n % 5 == 0 {
                world.registry().make_enableable(id).unwrap();
            }
            id
        })
        .collect();
    let mut state = 3_u64;
    let mut number = move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as u32
    };
    // What the entity has: its value, and whether it is on.
    let mut expected: BTreeMap<FragmentId, (Vec<u8>, bool)> = BTreeMap::new();
    let ant = world.create_dynamic(DynamicBundle::new()).unwrap();
    for round in 0..200 {
        // Few at a time, or many.
        let one_in = [2, 3, 20][number() as usize % 3];
        let some: Vec<FragmentId> = ids
            .iter()
            .copied()
            .filter(|_| number() % one_in == 0)
            .collect();
        if number() % 2 == 0 {
            let mut bundle = DynamicBundle::new();
            // Backwards: bundles have no order.
            for &id in some.iter().rev() {
                let size = world.registry().get(id).unwrap().layout().size();
                let bytes: Vec<u8> = (0..size).map(|_| number() as u8).collect();
                bundle = bundle.with(Value::from_bytes(world.registry(), id, &bytes).unwrap());
                let is_on = expected.get(&id).is_none_or(|(_, is_on)| *is_on);
                expected.insert(id, (bytes, is_on));
            }
            world.add_dynamic(ant, bundle).unwrap();
        } else {
            let removed = world.remove_dynamic(ant, &some).unwrap();
            let before = expected.len();
            expected.retain(|id, _| !some.contains(id));
            assert_eq!(removed, expected.len() < before);
        }
        for (at, id) in ids.iter().enumerate() {
            assert_eq!(
                world.has_dynamic(ant, *id).unwrap(),
                expected.contains_key(id)
            );
            let Some((bytes, is_on)) = expected.get_mut(id) else {
                continue;
            };
            assert_eq!(world.get_dynamic(ant, *id).unwrap().bytes().unwrap(), bytes);
            if at % 5 == 0 {
                assert_eq!(world.is_enabled_dynamic(ant, *id).unwrap(), *is_on);
                *is_on = number() % 2 == 0;
                world.set_enabled_dynamic(ant, *id, *is_on).unwrap();
            }
        }
        if round % 20 == 0 {
            world.check().unwrap();
        }
    }
}

#[test]
fn a_run_by_numbers_is_empty_as_long_as_nothing_matches() {
    let mut world = World::new();
    let id = world.registry().register::<u8>().unwrap().id();
    let mut numbers = DynamicQuery::builder(&world).read(id).build().unwrap();
    assert!(numbers.on(&mut world).unwrap().is_empty());
    let mut bundle = DynamicBundle::new();
    bundle.extend([Value::new(world.registry(), 1_u8).unwrap()]);
    world.create_dynamic(bundle).unwrap();
    assert!(!numbers.on(&mut world).unwrap().is_empty());
}

#[test]
fn kinds_of_changes_and_net_modes_can_be_added_to_others() {
    let mut kinds = Observed::CREATE;
    kinds |= Observed::ADD;
    let mut net_modes = NetModes::CLIENT;
    net_modes |= NetModes::SERVER;
    assert_eq!(
        (kinds, net_modes),
        (Observed::COME, NetModes::CLIENT | NetModes::SERVER)
    );
    assert_eq!(format!("{net_modes:?}"), r#"{"client", "server"}"#);
}
