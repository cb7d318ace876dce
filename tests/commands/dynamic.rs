//! What recorders record of fragments that are known at run time only.

use core::alloc::Layout;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::fragment::{DynamicBundle, FragmentError, FragmentId, Value};
use megachunk::prelude::*;

use crate::counted::Counted;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u32);
megachunk::plain!(Team { 0 });
#[derive(Clone, Debug, PartialEq)]
struct Weather(u32);
struct Tag;

fn of<T: Fragment>(world: &World, value: T) -> Value {
    Value::new(world.registry(), value).unwrap()
}

fn number<T: Fragment>(world: &World) -> FragmentId {
    world.registry().register::<T>().unwrap().id()
}

fn flushed(world: &mut World, record: impl FnOnce(&mut Commands<'_>)) {
    let mut commands = world.commands();
    record(&mut commands);
    drop(commands);
    assert!(world.flush().is_clean());
}

#[test]
fn what_is_recorded_by_number_is_what_is_recorded_by_type() {
    let [mut typed, mut dynamic] = [(); 2].map(|()| {
        let world = World::new();
        // Both know the same fragments under the same numbers.
        let registry = world.registry();
        for info in [
            registry.register_plain::<u32>(),
            registry.register_plain::<[u8; 4]>(),
            registry.register::<Tag>(),
        ] {
            info.unwrap();
        }
        registry.register_plain::<Shared<Team>>().unwrap();
        world
    });
    for round in 0..3 {
        flushed(&mut typed, |commands| {
            let ant = commands
                .create((round, *b"ant ", Tag).shared(Team(round)))
                .unwrap();
            let moth = commands.create((round,)).unwrap();
            commands.add(moth, (*b"moth",).shared(Team(9))).unwrap();
            commands.remove::<([u8; 4], Tag)>(ant).unwrap();
            commands
                .swap::<([u8; 4], u32), _>(moth, (Tag,).shared(Team(7)))
                .unwrap();
        });
        let name_of = number::<[u8; 4]>(&dynamic);
        let (tag, number_of) = (number::<Tag>(&dynamic), number::<u32>(&dynamic));
        let registry = &Arc::clone(dynamic.universe());
        let registry = registry.registry();
        let team = |number| Value::shared(registry, Team(number)).unwrap();
        let name = |name: &[u8; 4]| Value::new(registry, *name).unwrap();
        flushed(&mut dynamic, |commands| {
            let values = DynamicBundle::new()
                .with(team(round))
                .with(Value::new(registry, Tag).unwrap())
                .with(Value::new(registry, round).unwrap())
                .with(name(b"ant "));
            let ant = commands.create_dynamic(values).unwrap();
            let values = DynamicBundle::new().with(Value::new(registry, round).unwrap());
            let moth = commands.create_dynamic(values).unwrap();
            let values = DynamicBundle::new().with(name(b"moth")).with(team(9));
            commands.add_dynamic(moth, values).unwrap();
            commands.remove_dynamic(ant, &[tag, name_of]).unwrap();
            let come = DynamicBundle::new().with(team(7));
            let come = come.with(Value::new(registry, Tag).unwrap());
            let gone = [name_of, number_of];
            commands.swap_dynamic(moth, &gone, come).unwrap();
        });
    }
    dynamic.check().unwrap();
    assert_eq!(typed.count(), 6);
    assert_eq!(
        typed.state_hash(&Default::default()).unwrap(),
        dynamic.state_hash(&Default::default()).unwrap(),
        "the same worlds"
    );
}

#[test]
fn a_bundle_may_have_more_values_than_a_tuple() {
    let mut world = World::new();
    let ids: Vec<FragmentId> = (0..40)
        .map(|n| {
            let layout = Layout::new::<[u8; 3]>();
            let info = world.registry().define_plain(&format!("f{n}"), layout);
            info.unwrap().id()
        })
        .collect();
    let bundle = |world: &World, of: u8| -> DynamicBundle {
        let value = |(n, &id): (u8, &FragmentId)| {
            Value::from_bytes(world.registry(), id, &[n, of, n ^ of]).unwrap()
        };
        (0..40).zip(&ids).map(value).rev().collect()
    };
    let (first, second) = (bundle(&world, 1), bundle(&world, 2));
    let old = world.create((7_u64,)).unwrap();
    let mut new = Entity::PLACEHOLDER;
    flushed(&mut world, |commands| {
        new = commands.create_dynamic(first).unwrap();
        commands.add_dynamic(old, second).unwrap();
    });
    for (entity, of) in [(new, 1), (old, 2)] {
        for (n, &id) in (0_u8..).zip(&ids) {
            let value = world.get_dynamic(entity, id).unwrap();
            assert_eq!(value.bytes().unwrap(), [n, of, n ^ of]);
        }
    }
    assert_eq!(world.get::<u64>(old).unwrap(), &7);
    flushed(&mut world, |commands| {
        commands.remove_dynamic(old, &ids).unwrap();
    });
    assert_eq!(world.fragments(old).unwrap().count(), 1);
    world.check().unwrap();
}

/// More than a recorder's memory keeps: it forgets them, what is recorded by type among them, and learns anew.
#[test]
fn compositions_that_come_and_go_are_right_flush_after_flush() {
    let mut world = World::new();
    let ids: Vec<FragmentId> = (0..10)
        .map(|n| {
            let info = world
                .registry()
                .define_plain(&format!("f{n}"), Layout::new::<u16>());
            info.unwrap().id()
        })
        .collect();
    let ant = world.create((0_u32,)).unwrap();
    for round in 0..3_u16 {
        flushed(&mut world, |commands| commands.set(ant, 1_u32).unwrap());
        let values = |world: &World, mask: u32| -> DynamicBundle {
            (0..10)
                .filter(|bit| mask >> bit & 1 == 1)
                .map(|bit| {
                    let bytes = (mask as u16 ^ round).to_ne_bytes();
                    Value::from_bytes(world.registry(), ids[bit], &bytes).unwrap()
                })
                .collect()
        };
        let bundles: Vec<_> = (0..600).map(|mask| values(&world, mask)).collect();
        let more: Vec<_> = (0..600).map(|mask| values(&world, 1_023 - mask)).collect();
        let mut made = Vec::new();
        let ids = &ids;
        flushed(&mut world, |commands| {
            for (bundle, more) in bundles.into_iter().zip(more) {
                let entity = commands.create_dynamic(bundle).unwrap();
                commands.add_dynamic(entity, more).unwrap();
                commands.set(ant, u32::from(round) + 2).unwrap();
                made.push(entity);
            }
        });
        assert_eq!(world.get::<u32>(ant).unwrap(), &(u32::from(round) + 2));
        for (mask, entity) in (0_u16..).zip(&made) {
            for (bit, &id) in ids.iter().enumerate() {
                // Each of the ten is in one of both, and in the second if in it.
                let of = match (1_023 - mask) >> bit & 1 {
                    1 => 1_023 - mask,
                    _ => mask,
                };
                let value = world.get_dynamic(*entity, id).unwrap();
                assert_eq!(value.plain::<u16>().unwrap(), [of ^ round]);
            }
        }
        flushed(&mut world, |commands| {
            made.iter().for_each(|&entity| commands.destroy(entity));
        });
        world.check().unwrap();
    }
    assert_eq!(world.count(), 1);
}

#[test]
fn values_are_dropped_once_whatever_becomes_of_them() {
    let alive = Arc::new(AtomicUsize::new(0));
    let left = || alive.load(Ordering::Relaxed);
    let one = |world: &World| of(world, Counted::new(&alive));
    let value = |world: &World| DynamicBundle::new().with(one(world));
    let mut world = World::new();
    let dead = world.create((1_u8,)).unwrap();
    let ant = world.create((1_u8, Counted::new(&alive))).unwrap();
    let elsewhere = World::new();
    let (foreign, twice) = (value(&elsewhere), value(&world).with(one(&world)));
    assert_eq!(left(), 4);
    let mut commands = world.commands();
    let refused = [
        commands.create_dynamic(foreign).map(|_| ()),
        commands.add_dynamic(ant, twice),
    ];
    drop(commands);
    assert!(matches!(
        refused,
        [
            Err(WorldError::Fragment(FragmentError::OtherUniverse { .. })),
            Err(WorldError::Fragment(FragmentError::Twice { .. })),
        ]
    ));
    assert_eq!(left(), 1);
    let [a, b, c, d] = [(); 4].map(|()| value(&world));
    let mut commands = world.commands();
    commands.destroy(dead);
    commands.add_dynamic(dead, a).unwrap();
    commands.add_dynamic(ant, b).unwrap();
    commands.add_dynamic(ant, c).unwrap();
    let new = commands.create_dynamic(d).unwrap();
    drop(commands);
    assert_eq!(left(), 5);
    assert!(world.flush().is_clean());
    assert!(world.has::<Counted>(ant).unwrap() && world.has::<Counted>(new).unwrap());
    assert_eq!(left(), 2);
    // What nobody flushes.
    let (e, f) = (value(&world), value(&world));
    let mut commands = world.commands();
    commands.create_dynamic(e).unwrap();
    commands.add_dynamic(ant, f).unwrap();
    drop(commands);
    assert_eq!(left(), 4);
    drop(world);
    assert_eq!(left(), 0);
}

#[test]
fn what_cannot_be_is_refused_when_it_is_recorded() {
    let mut world = World::new();
    let tag = number::<Tag>(&world);
    let ant = world.create((1_u32,)).unwrap();
    let built = DynamicBundle::new().with(of(&world, Tag));
    let mut commands = world.commands();
    let known = commands.remove_dynamic(ant, &[tag, tag]);
    assert!(matches!(
        known,
        Err(WorldError::Fragment(FragmentError::Twice { .. }))
    ));
    let beyond = World::new();
    let unknown = (0..5).map(|n| {
        let info = beyond
            .registry()
            .define_plain(&format!("g{n}"), Layout::new::<u8>());
        info.unwrap().id()
    });
    let unknown = unknown.last().unwrap();
    for refused in [
        commands.remove_dynamic(ant, &[unknown]),
        commands.set_enabled_dynamic(ant, unknown, true),
    ] {
        assert!(matches!(
            refused,
            Err(WorldError::Fragment(FragmentError::Unknown { id })) if id == unknown
        ));
    }
    for refused in [
        commands.set_enabled_dynamic(ant, tag, false),
        commands.set_enabled::<Tag>(ant, false),
        commands.set_enabled::<f64>(ant, false),
    ] {
        assert!(matches!(refused, Err(WorldError::NotEnableable { .. })));
    }
    let refused = commands.build_dynamic(ant, built);
    assert!(matches!(refused, Err(WorldError::AlreadyBuilt { entity }) if entity == ant));
    assert!(commands.is_empty());
    drop(commands);
    assert!(world.flush().is_clean());
}

#[test]
fn chunks_of_new_compositions_begin_with_what_a_bundle_says() {
    let mut world = World::new();
    let ant = world.create((1_u32,)).unwrap();
    let weather = |world: &World, of| Value::per_chunk(world.registry(), Weather(of)).unwrap();
    let (rain, snow) = (weather(&world, 1), weather(&world, 2));
    let new = DynamicBundle::new().with(of(&world, 2_u64)).with(rain);
    let mut moth = Entity::PLACEHOLDER;
    flushed(&mut world, |commands| {
        moth = commands.create_dynamic(new).unwrap();
        commands
            .add_dynamic(ant, DynamicBundle::new().with(snow))
            .unwrap();
    });
    assert_eq!(world.chunk_fragment::<Weather>(moth).unwrap(), &Weather(1));
    assert_eq!(world.chunk_fragment::<Weather>(ant).unwrap(), &Weather(2));
}

#[test]
fn values_are_made_with_the_registry_of_a_recorder_or_of_what_opens_it() {
    let mut world = World::new();
    let commands = world.parallel_commands();
    let loader = std::thread::spawn(move || {
        let legs = Value::new(commands.registry(), 6_u8).unwrap();
        let mut recorder = commands.open();
        let registry = recorder.registry();
        let name = Value::new(registry, String::from("ant")).unwrap();
        let ant = recorder.create_dynamic([legs, name].into_iter().collect());
        // The world's registry, and not the recorder's own: it is lent for longer.
        drop(recorder);
        (ant.unwrap(), registry.of::<String>().unwrap().id())
    });
    let (ant, name) = loader.join().unwrap();
    assert!(world.flush().is_clean());
    assert_eq!(world.get::<u8>(ant).unwrap(), &6);
    assert_eq!(world.get::<String>(ant).unwrap(), "ant");
    assert_eq!(number::<String>(&world), name);
}
