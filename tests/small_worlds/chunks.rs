//! Prototypes, chunk fragments, dynamic queries, snapshots.

use megachunk::fragment::{DynamicBundle, PerChunk, Value};
use megachunk::prelude::*;
use megachunk::query::DynamicQuery;
use megachunk::world::{Prototype, SnapshotOptions};

use crate::{Begin, Ending, Padded, Team};

#[test]
fn copies_of_a_prototype_are_changed_by_dynamic_queries() {
    let mut world = World::new();
    let registry = world.registry();
    registry.register_plain::<u32>().unwrap();
    let values = DynamicBundle::new()
        .with(Value::cloneable(registry, Box::new(7_u64)).unwrap())
        .with(Value::cloneable(registry, Padded(1, 2)).unwrap())
        .with(Value::new(registry, 9_u32).unwrap())
        .with(Value::shared(registry, Team("q".into())).unwrap())
        .with(Value::per_chunk(registry, Begin("k".into())).unwrap());
    let prototype = Prototype::new(registry, values).unwrap();
    let number = registry.of::<Box<u64>>().unwrap().id();
    let begin = registry.register::<PerChunk<Begin>>().unwrap().id();
    let first = world.create_copies(&prototype, 20).unwrap();
    let more = |n| (Box::new(n as u64), String::from("m"));
    let second = world.create_copies_with(&prototype, 5, more).unwrap();
    let all: Vec<Entity> = first.iter(&world).chain(second.iter(&world)).collect();
    let mut query = DynamicQuery::builder(&world)
        .write(number)
        .write(begin)
        .build()
        .unwrap();
    query.on(&mut world).unwrap().for_each_chunk(|mut chunk| {
        for value in chunk.write(number).unwrap().slice::<Box<u64>>().unwrap() {
            **value += 1;
        }
        let begin = chunk.write(begin).unwrap();
        begin.value::<Begin>().unwrap().0.push('x');
    });
    let report = query
        .on(&mut world)
        .unwrap()
        .for_each_in(&all[2..9], |mut chunk| {
            for value in chunk.write(number).unwrap().slice::<Box<u64>>().unwrap() {
                **value += 1;
            }
        });
    assert!(report.is_clean());
    assert_eq!(**world.get::<Box<u64>>(all[2]).unwrap(), 9);
    assert_eq!(**world.get::<Box<u64>>(all[9]).unwrap(), 8);
    assert_eq!(world.chunk_fragment::<Begin>(all[0]).unwrap().0, "kx");
    let bundle = DynamicBundle::new()
        .with(Value::new(world.registry(), Box::new(1_u64)).unwrap())
        .with(Value::new(world.registry(), Ending).unwrap());
    world.add_dynamic(all[0], bundle).unwrap();
    world.remove_dynamic(all[0], &[number]).unwrap();
    let add = |(number, begin): (&mut Box<u64>, &Begin)| **number += begin.0.len() as u64;
    world
        .observe::<Padded, ()>(Observed::CREATE, move |batch, _| {
            let each = batch.for_each::<(&mut Box<u64>, PerChunk<Begin>)>(|(n, b)| add((n, b)));
            each.unwrap();
        })
        .unwrap();
    let third = world.create_copies(&prototype, 3).unwrap();
    let one = third.iter(&world).next().unwrap();
    assert_eq!(**world.get::<Box<u64>>(one).unwrap(), 9);
    world.clear();
    world.check().unwrap();
}

#[test]
fn a_small_world_comes_back_from_its_snapshot() {
    let registered = || {
        let universe = Universe::new();
        let registry = universe.registry();
        registry.register_plain::<u32>().unwrap();
        registry.register_plain::<u8>().unwrap();
        registry.register_plain::<PerChunk<u64>>().unwrap();
        registry.register_plain::<Shared<u16>>().unwrap();
        universe
    };
    let mut world = World::of(&std::sync::Arc::new(registered())).unwrap();
    for n in 0..5_u32 {
        let bundle = (n, 3_u8).shared((n % 2) as u16).per_chunk(4_u64);
        world.create(bundle).unwrap();
    }
    let bytes = world.to_snapshot(&SnapshotOptions::new()).unwrap();
    let mut loaded = World::from_snapshot(&bytes, registered(), &Default::default()).unwrap();
    let sum: u32 = loaded.query::<&u32, ()>().unwrap().iter().sum();
    assert_eq!((loaded.count(), sum), (5, 10));
    assert_eq!(
        loaded.state_hash(&Default::default()).unwrap(),
        world.state_hash(&Default::default()).unwrap()
    );
}
