//! Queries that are put together at run time: what they see, what they lend, what they refuse; against typed
//! queries and against the plain definition, on random worlds.

mod any;
mod changed;
mod collections;
mod filters;
mod peeked;
mod random;
mod refused;
mod resources;
mod switches;

use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::fragment::{DynamicBundle, FragmentId, Value};
use megachunk::prelude::*;
use megachunk::query::{Access, ChunkView, DynamicQuery};

#[derive(Clone)]
pub(super) struct Asleep;
pub(super) struct Wet;

/// Numbers of the fragments of a random world.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids {
    pub(super) number: FragmentId,
    pub(super) big: FragmentId,
    pub(super) small: FragmentId,
    pub(super) asleep: FragmentId,
    pub(super) wet: FragmentId,
    pub(super) team: FragmentId,
    pub(super) flag: FragmentId,
    pub(super) heat: FragmentId,
}

impl Ids {
    pub(super) fn new(world: &World) -> Self {
        let registry = world.registry();
        Self {
            number: registry.register::<u32>().unwrap().id(),
            big: registry.register_enableable::<u64>().unwrap().id(),
            small: registry.register::<u8>().unwrap().id(),
            asleep: registry.register::<Asleep>().unwrap().id(),
            wet: registry.register_enableable::<Wet>().unwrap().id(),
            team: registry.register::<Shared<i16>>().unwrap().id(),
            flag: registry.register::<ConstShared<bool>>().unwrap().id(),
            heat: registry.register::<PerChunk<i64>>().unwrap().id(),
        }
    }

    pub(super) fn all(self) -> [FragmentId; 8] {
        let Self {
            number,
            big,
            small,
            asleep,
            wet,
            team,
            flag,
            heat,
        } = self;
        [number, big, small, asleep, wet, team, flag, heat]
    }
}

fn seen(query: &mut DynamicQuery, world: &mut World) -> Vec<Entity> {
    query.on(world).unwrap().entities().collect()
}

#[test]
fn all_any_none_and_optional_match_what_the_table_says() {
    let mut world = World::new();
    let f = world.registry().register::<f32>().unwrap().id();
    let i = world.registry().register::<i32>().unwrap().id();
    world.create((1.0_f32,)).unwrap();
    world.create((1_i32,)).unwrap();
    world.create((1.0_f32, 1_i32)).unwrap();
    let count = |builder: megachunk::query::DynamicQueryBuilder<'_>| {
        let mut query = builder.build().unwrap();
        query.read(&world).unwrap().count()
    };
    let builder = || DynamicQuery::builder(&world);
    assert_eq!(count(builder().optional(i, Access::Read)), 2);
    assert_eq!(count(builder().read(f).optional(i, Access::Read)), 2);
    assert_eq!(count(builder().any(&[f, i])), 3);
    assert_eq!(count(builder().any(&[i])), 2);
    assert_eq!(count(builder().read(f).without(i)), 1);
    assert_eq!(count(builder().with(f).with(i)), 1);
    let mut query = builder().read(f).optional(i, Access::Read).build().unwrap();
    let mut run = query.read(&world).unwrap();
    let with_i: Vec<bool> = run
        .chunks()
        .map(|mut chunk| chunk.read(i).is_ok())
        .collect();
    assert_eq!(with_i, [false, true]);
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
fn a_parallel_dynamic_query_lends_each_chunk_once() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    world.create_batch((0..20_000_u32).map(|n| (n,))).unwrap();
    world
        .create_batch((0..20_000_u32).map(|n| (n, 0_u8)))
        .unwrap();
    let mut query = DynamicQuery::builder(&world)
        .write(ids.number)
        .build()
        .unwrap();
    query
        .on(&mut world)
        .unwrap()
        .par_for_each_chunk(|mut chunk| {
            for number in chunk.write(ids.number).unwrap().slice::<u32>().unwrap() {
                *number += 1;
            }
        });
    let sum: u64 = world
        .query::<&u32, ()>()
        .unwrap()
        .iter()
        .map(|&n| u64::from(n))
        .sum();
    assert_eq!(sum, 2 * (1..=20_000_u64).sum::<u64>());
}

#[test]
fn a_query_on_another_world_of_its_universe_looks_at_that_worlds_archetypes() {
    let mut land = World::new();
    let mut sea = World::of(land.universe()).unwrap();
    let ids = Ids::new(&land);
    let crab = land.create((1_u32,)).unwrap();
    let fish = sea.create((2_u32, 3_u8)).unwrap();
    let mut query = DynamicQuery::builder(&land)
        .read(ids.number)
        .build()
        .unwrap();
    for _ in 0..2 {
        assert_eq!(seen(&mut query, &mut land), [crab]);
        assert_eq!(seen(&mut query, &mut sea), [fish]);
    }
    let bundle = DynamicBundle::new().with(Value::new(land.registry(), 9_u32).unwrap());
    let worm = land.create_dynamic(bundle).unwrap();
    assert_eq!(seen(&mut query, &mut land), [crab, worm]);
}

#[test]
fn first_and_single_ask_the_filter_of_chunks_once() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let mut query = DynamicQuery::builder(&world)
        .read(ids.number)
        .build()
        .unwrap();
    let ant = world.create((7_u32,)).unwrap();
    for single in [false, true] {
        let asked = AtomicUsize::new(0);
        // Ordering: one thread.
        let once = |_: &ChunkView<'_>| asked.fetch_add(1, Ordering::Relaxed) == 0;
        let mut run = query.on(&mut world).unwrap().filter_chunks(once);
        let row = match single {
            true => run.single(),
            false => run.first(),
        };
        assert_eq!(row.unwrap().entities(), [ant]);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
    let _ = world.create((8_u32,)).unwrap();
    assert!(query.on(&mut world).unwrap().single().is_none());
}
