//! Values that are written and read alone, whatever they are of: what editors and packets have of them. Their bytes are those that
//! a snapshot has.

use core::alloc::Layout;
use std::sync::Arc;

use megachunk::entity::EntityMap;
use megachunk::fragment::{FieldDefinition, FragmentDefinition, FragmentInfo, Plain};
use megachunk::prelude::*;

use crate::written::all;
use crate::written::forms::{Banner, Faction, Name, Order, filled, told, universe};

/// A value of one entity in its written form.
pub(super) fn written(
    world: &World,
    entity: Entity,
    id: FragmentId,
) -> Result<Vec<u8>, WorldError> {
    let mut bytes = Vec::new();
    world.get_dynamic(entity, id)?.write_to(&mut bytes)?;
    Ok(bytes)
}

/// What is registered here by the name and the role that another universe has.
fn same<'r>(registry: &'r FragmentRegistry, there: &FragmentInfo) -> &'r FragmentInfo {
    let mut all = registry.iter();
    let is_it = |here: &&FragmentInfo| (here.name(), here.kind()) == (there.name(), there.kind());
    all.find(is_it).unwrap()
}

/// All that an entity has, as values of another world's universe.
fn sent(from: &World, entity: Entity, to: &World, here: &EntityMap) -> DynamicBundle {
    let mut packet = Vec::new();
    let infos: Vec<&FragmentInfo> = from.fragments(entity).unwrap().collect();
    for info in &infos {
        let value = from.get_dynamic(entity, info.id()).unwrap();
        value.write_to(&mut packet).unwrap();
    }
    let (mut left, registry) = (&packet[..], to.registry());
    let values = infos.iter().map(|there| {
        let info = same(registry, there);
        info.expect_shape(there.shape()).unwrap();
        Value::read_from_remapped(registry, info.id(), &mut left, here).unwrap()
    });
    let bundle = values.collect();
    assert!(left.is_empty());
    bundle
}

#[test]
fn a_world_goes_over_value_by_value() {
    let (from, all) = filled(60);
    let there = universe();
    // Numbers are others here.
    let [one, spot] = ["one", "spot"].map(|name| {
        let fields = [
            FieldDefinition::of::<Entity>("whom"),
            FieldDefinition::of::<f32>("x"),
        ];
        there.registry().define_struct(name, &fields).unwrap().id()
    });
    assert_ne!(one, spot);
    let mut to = World::of(&Arc::new(there)).unwrap();
    to.create_batch((0..7_u8).map(|n| (n,))).unwrap();
    let living: Vec<Entity> = all.into_iter().filter(|&one| from.exists(one)).collect();
    let pairs = living.iter().map(|&one| (one, to.reserve().unwrap()));
    let here: EntityMap = pairs.collect();
    for &entity in &living {
        let bundle = sent(&from, entity, &to, &here);
        to.build_dynamic(here.get(entity).unwrap(), bundle).unwrap();
    }
    to.check().unwrap();
    let new = |old| here.get(old).unwrap_or(Entity::PLACEHOLDER);
    for &entity in &living {
        let copy = here.get(entity).unwrap();
        assert_eq!(told(&from, entity, new), told(&to, copy, |one| one));
        assert_eq!(
            from.fragments(entity).unwrap().count(),
            to.fragments(copy).unwrap().count()
        );
    }
}

#[test]
fn the_bytes_are_those_that_a_snapshot_has() {
    let universe = Arc::new(universe());
    let registry = universe.registry();
    let weather = registry.register_plain::<PerChunk<u16>>().unwrap().id();
    let team = registry.register_plain::<Shared<u64>>().unwrap().id();
    let mut world = World::of(&universe).unwrap();
    let faction = Faction("the longest of all factions".into());
    let banner = Banner((700..720).collect());
    let bundle = (7_u32,).shared(faction).const_shared(banner);
    let bundle = bundle
        .shared(0x0102_0304_0506_0708_u64)
        .per_chunk(0x7b7c_u16);
    let ant = world.create(bundle).unwrap();
    let file = world.to_snapshot(&all()).unwrap();
    let ids: Vec<FragmentId> = world
        .fragments(ant)
        .unwrap()
        .map(FragmentInfo::id)
        .collect();
    assert!(ids.len() == 5 && ids.contains(&weather) && ids.contains(&team));
    for id in ids {
        let bytes = written(&world, ant, id).unwrap();
        assert!(file.windows(bytes.len()).any(|part| part == bytes));
        let value = Value::read_from(world.registry(), id, &mut &bytes[..]).unwrap();
        let mut again = Vec::new();
        value
            .lend(world.registry())
            .unwrap()
            .write_to(&mut again)
            .unwrap();
        assert_eq!(again, bytes);
    }
}

#[test]
fn a_column_is_written_value_by_value() {
    let (world, _) = filled(30);
    let registry = world.registry();
    let ids = ["health", "order"].map(|name| registry.find(name).unwrap().id());
    let mut query = DynamicQuery::builder(&world)
        .read(ids[0])
        .read(ids[1])
        .build()
        .unwrap();
    let mut count = 0;
    query.read(&world).unwrap().for_each_chunk(|mut chunk| {
        for id in ids {
            let column = chunk.read(id).unwrap();
            let (mut together, mut alone) = (Vec::from(*b"head"), Vec::from(*b"head"));
            column.write_to(&mut together).unwrap();
            (0..column.len())
                .for_each(|row| column.row(row).unwrap().write_to(&mut alone).unwrap());
            assert_eq!(together, alone);
            let mut left = &together[4..];
            for row in 0..column.len() {
                let value = Value::read_from(registry, id, &mut left).unwrap();
                let (one, other) = (value.lend(registry).unwrap(), column.row(row).unwrap());
                if id == ids[0] {
                    assert_eq!(one.value::<u32>(), other.value());
                } else {
                    assert_eq!(one.value::<Order>(), other.value());
                }
                count += 1;
            }
            assert!(left.is_empty());
        }
    });
    assert_eq!(count, 2 * 29);
}

#[test]
fn who_was_given_what_was_read_has_it() {
    let (mut world, ants) = filled(4);
    let id = |world: &World, name| world.registry().find(name).unwrap().id();
    let (health, name, order) = (
        id(&world, "health"),
        id(&world, "name"),
        id(&world, "order"),
    );
    let [_, one, two, three] = ants[..] else {
        panic!("there are four")
    };
    let before = [health, name, order].map(|id| written(&world, one, id).unwrap());
    let read = |world: &World, at: usize| {
        let id = [health, name, order][at];
        Value::read_from(world.registry(), id, &mut &before[at][..]).unwrap()
    };
    world.add_dynamic(two, read(&world, 1).into()).unwrap();
    assert_eq!(world.get::<Name>(two), world.get(one));
    world
        .swap_dynamic(two, &[order], read(&world, 0).into())
        .unwrap();
    assert_eq!(world.get::<u32>(two), Ok(&1));
    let other = World::of(&Arc::new(universe())).unwrap();
    let refused = world.add_dynamic(two, read(&other, 2).into()).unwrap_err();
    assert!(matches!(
        refused,
        WorldError::Fragment(FragmentError::OtherUniverse { .. })
    ));
    let mut commands = world.commands();
    commands.add_dynamic(two, read(&world, 2).into()).unwrap();
    commands
        .swap_dynamic(three, &[health], read(&world, 1).into())
        .unwrap();
    let four = commands
        .create_dynamic((0..3).map(|at| read(&world, at)).collect())
        .unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(world.get::<Order>(two), world.get(one));
    assert_eq!(
        (world.get::<Name>(three), world.has::<u32>(three)),
        (world.get(one), Ok(false))
    );
    assert_eq!(told(&world, four, |one| one), told(&world, one, |one| one));
    world.check().unwrap();
}

#[test]
fn of_a_tag_nothing_is_written() {
    #[derive(Clone, Copy)]
    struct Asleep;
    megachunk::plain!(Asleep {});
    let mut world = World::new();
    let registry = world.registry();
    let asleep = registry.register_plain::<Asleep>().unwrap().id();
    let defined = registry
        .define_plain("defined", Layout::new::<()>())
        .unwrap()
        .id();
    let name = FragmentDefinition::new("name", Layout::new::<()>());
    // SAFETY: nothing is said of it.
    let name = unsafe { registry.define(name) }.unwrap().id();
    let ids = [asleep, defined, name];
    let read = |id| Value::read_from(registry, id, &mut &[][..]).unwrap();
    let bundle = ids.map(read).into_iter().collect();
    let ant = world.create_dynamic(bundle).unwrap();
    for id in ids {
        assert!(written(&world, ant, id).unwrap().is_empty());
    }
    assert!(world.has::<Asleep>(ant).unwrap());
}

/// Wants somebody.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Owner(Entity);

// SAFETY: a handle, of which one is made again; of others fewer bytes are a value, and all that are one of it are one of a
// handle.
unsafe impl Plain for Owner {
    const IS_VALUE: Option<fn(&[u8]) -> bool> = Some(|bytes| {
        let is_handle = Entity::IS_VALUE.is_none_or(|is_value| is_value(bytes));
        is_handle && bytes != [0xff; 8] && bytes != bytes_of(Entity::PLACEHOLDER)
    });
    const MAP_ENTITIES: Option<megachunk::fragment::MapEntities> = Entity::MAP_ENTITIES;
}

fn bytes_of(entity: Entity) -> [u8; 8] {
    let parts = [entity.index(), entity.version()].map(u32::to_ne_bytes);
    core::array::from_fn(|at| parts[at / 4][at % 4])
}

#[test]
fn handles_mean_who_is_meant_here() {
    let mut world = World::new();
    let registry = world.registry();
    let owner = registry.register_plain_as::<Owner>("owner").unwrap().id();
    let fields = [
        FieldDefinition::of::<Entity>("whom"),
        FieldDefinition::of::<bool>("closely"),
    ];
    let follows = registry.define_struct("follows", &fields).unwrap().id();
    let (there, here) = (world.create(()).unwrap(), world.create(()).unwrap());
    let map: EntityMap = [(there, here)].into_iter().collect();
    let read = |id, bytes: &[u8], map: Option<&EntityMap>| {
        let (registry, mut left) = (world.registry(), bytes);
        let value = match map {
            Some(map) => Value::read_from_remapped(registry, id, &mut left, map)?,
            None => Value::read_from(registry, id, &mut left)?,
        };
        let bytes = value.lend(registry)?.bytes()?.to_vec();
        Ok::<_, FragmentError>(bytes[..8].to_vec())
    };
    let named = [&bytes_of(there)[..], &[1, 0, 0, 0, 0, 0, 0, 0]].concat();
    let nobody = EntityMap::default();
    for (map, expected) in [
        (None, there),
        (Some(&map), here),
        (Some(&nobody), Entity::PLACEHOLDER),
        (Some(&nobody.clone().keeping_others()), there),
    ] {
        assert_eq!(read(follows, &named, map), Ok(bytes_of(expected).to_vec()));
    }
    assert_eq!(
        read(owner, &named[..8], Some(&map)),
        Ok(bytes_of(here).to_vec())
    );
    let refused = read(owner, &named[..8], Some(&nobody)).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("no value any more with the entities"),
        "{refused}"
    );
    // What the map is to be asked is a value.
    for id in [owner, follows] {
        let refused = read(id, &[0xff; 16], Some(&map)).unwrap_err();
        assert!(
            matches!(&refused, FragmentError::NotRead { at: 0, .. }),
            "{refused}"
        );
        assert!(!refused.to_string().contains("any more"), "{refused}");
    }
    // The same, later.
    let mut value = Value::read_from(world.registry(), follows, &mut &named[..]).unwrap();
    let lent = value.lend_mut(world.registry()).unwrap();
    assert_eq!(lent.map_entities(&map), Ok(true));
    let lent = value.lend(world.registry()).unwrap();
    assert_eq!(lent.bytes().unwrap()[..8], bytes_of(here));
}

/// Whom a value names that is more than its bytes; and a number, which is not written.
#[derive(Debug, PartialEq)]
struct Crew(Vec<Entity>, u32);

#[test]
fn a_function_that_was_registered_leads_over_values_that_are_lent() {
    let mut world = World::new();
    let registry = world.registry();
    let write = |crew: &Crew, bytes: &mut Vec<u8>| {
        bytes.extend(crew.0.iter().flat_map(|&one| bytes_of(one)));
    };
    let crew = registry
        .register_written_as::<Crew, _, _>("crew", write, |bytes, _| -> Result<Crew, &str> {
            let (all, _) = bytes.as_chunks::<4>();
            let part = |at: usize| u32::from_ne_bytes(all[at]);
            let all = (0..all.len()).step_by(2);
            let all = all.map(|at| Entity::new(part(at), part(at + 1)).ok_or("nobody"));
            Ok(Crew(all.collect::<Result<_, _>>()?, 7))
        })
        .unwrap()
        .id();
    let all: Vec<Entity> = (0..4).map(|_| world.create(()).unwrap()).collect();
    let map: EntityMap = [(all[0], all[1]), (all[1], all[2])].into_iter().collect();
    let bytes = [&[16, 0, 0, 0][..], &bytes_of(all[0]), &bytes_of(all[3])].concat();
    let mut value = Value::read_from(world.registry(), crew, &mut &bytes[..]).unwrap();
    let lent = value.lend_mut(world.registry()).unwrap();
    let refused = lent.map_entities(&map).unwrap_err();
    assert!(matches!(refused, FragmentError::NotPlain { .. }));

    let lead = |crew: &mut Crew, entities: &EntityMap| {
        let all = crew.0.iter_mut();
        all.for_each(|one| *one = entities.get(*one).unwrap_or(*one));
    };
    world.registry().register_map_entities(lead).unwrap();
    let lent = value.lend_mut(world.registry()).unwrap();
    assert_eq!(lent.map_entities(&map), Ok(true));
    let ant = world.create_dynamic(value.into()).unwrap();
    assert_eq!(world.get(ant), Ok(&Crew(vec![all[1], all[3]], 7)));
    // A column: each value once.
    world.create((Crew(vec![all[0]], 1),)).unwrap();
    let mut query = DynamicQuery::builder(&world).write(crew).build().unwrap();
    query.on(&mut world).unwrap().for_each_chunk(|mut chunk| {
        assert_eq!(chunk.write(crew).unwrap().map_entities(&map), Ok(true));
    });
    let mut query = world.query::<&Crew, ()>().unwrap();
    let mut now = Vec::new();
    query.for_each(|crew: &Crew| now.push(crew.0.clone()));
    now.sort();
    assert_eq!(now, [vec![all[1]], vec![all[2], all[3]]]);
}

#[test]
fn a_value_that_could_not_be_read_is_not_written() {
    let mut world = World::new();
    let owner = world
        .registry()
        .register_plain_as::<Owner>("owner")
        .unwrap()
        .id();
    let ant = world.create((Owner(Entity::PLACEHOLDER),)).unwrap();
    let refused = written(&world, ant, owner).unwrap_err().to_string();
    let says =
        "the owner at row 0 cannot be written: it is no value by its type's own `Plain::IS_VALUE`";
    assert_eq!(refused, says);
}

#[test]
fn a_shape_that_is_another_is_told() {
    let registry = universe();
    let registry = registry.registry();
    let fields = [
        FieldDefinition::of::<f32>("x"),
        FieldDefinition::of::<f32>("y"),
    ];
    let spot = registry.define_struct("spot", &fields).unwrap();
    let layout = Layout::new::<u64>();
    let unknown = registry.define_plain("unknown", layout).unwrap();
    let order = registry.find("order").unwrap();
    for there in [0, spot.shape()] {
        assert_eq!(spot.expect_shape(there), Ok(()));
        assert_eq!(unknown.expect_shape(there), Ok(()));
    }
    let refused = spot.expect_shape(u64::SHAPE).unwrap_err();
    assert!(matches!(
        &refused,
        FragmentError::ShapedOtherwise { there, here, is_written: false, .. }
            if (*there, *here) == (u64::SHAPE, spot.shape())
    ));
    assert_eq!(order.expect_shape(0), Ok(()));
    let refused = order.expect_shape(u64::SHAPE).unwrap_err();
    let says =
        "order was plain data where its values were written, and is written by closures here";
    assert_eq!(refused.to_string(), says);
}
