//! Entities whose fragments are known at run time only: created, changed, read.

mod defined;
mod dropped;
mod rows;
mod slices;
mod structs;
mod structs_converted;
mod structs_refused;
mod structs_saved;

use core::alloc::Layout;
use std::sync::Arc;

use megachunk::fragment::{DynamicBundle, FragmentError, FragmentId, FragmentRegistry, Value};
use megachunk::prelude::*;

pub(super) fn define(registry: &FragmentRegistry, name: &str, layout: Layout) -> FragmentId {
    registry.define_plain(name, layout).unwrap().id()
}

fn number(world: &World, id: FragmentId, value: u32) -> Value {
    Value::from_bytes(world.registry(), id, &value.to_ne_bytes()).unwrap()
}

#[test]
fn several_fragments_defined_at_run_time_hold_handles() {
    let mut world = World::new();
    let registry = Arc::clone(world.universe());
    let registry = registry.registry();
    let target = registry.define_plain_as::<Entity>("ai.target").unwrap();
    let owner = registry.define_plain_as::<Entity>("ai.owner").unwrap().id();
    let target = target.id();
    let bytes = define(registry, "bytes", Layout::new::<u64>());
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
    let bytes = define(registry, "bytes", Layout::new::<u64>());
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
fn fragments_defined_at_run_time_live_beside_typed_ones() {
    let mut world = World::new();
    let health = define(world.registry(), "health", Layout::new::<u32>());
    let armed = define(world.registry(), "armed", Layout::new::<()>());
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
    assert_eq!(world.archetypes().len(), 1);
    assert_eq!(world.query::<(&u32, &f32), ()>().unwrap().count(), 2);
}

#[test]
fn what_a_dynamic_call_refuses_it_names_and_changes_nothing() {
    let mut world = World::new();
    let health = define(world.registry(), "health", Layout::new::<u32>());
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

    let small = define(world.registry(), "pair", Layout::new::<[u8; 8]>());
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
    let health = define(world.registry(), "health", Layout::new::<u32>());
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
    let team = registry.register::<Shared<u8>>().unwrap().id();
    let heat = registry.register::<PerChunk<f64>>().unwrap().id();
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
            let id = define(world.registry(), &format!("fragment {n}"), layout);
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
