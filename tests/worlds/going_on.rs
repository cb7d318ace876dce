//! A world of an ordered universe that was saved and loaded goes on as the one that was saved: the same ids, the same
//! rows.

use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::world::{Budget, SnapshotOptions};

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Wide([u64; 12]);
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Pulse(u32);
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
struct Team(u32);
#[derive(Clone, Copy)]
struct Near;
#[derive(Clone, Copy)]
struct Awake;

megachunk::plain!(Wide { 0 });
megachunk::plain!(Pulse { 0 });
megachunk::plain!(Team { 0 });
megachunk::plain!(Near {});
megachunk::plain!(Awake {});

fn universe() -> Universe {
    let universe = Universe::ordered();
    let registry = universe.registry();
    registry.register_plain::<u32>().unwrap();
    registry.register_plain::<u64>().unwrap();
    registry.register_plain::<u8>().unwrap();
    registry.register_plain::<Wide>().unwrap();
    registry.register_plain::<Near>().unwrap();
    registry.register_plain::<Awake>().unwrap();
    registry.register_enableable::<Awake>().unwrap();
    registry.register_plain::<PerChunk<Pulse>>().unwrap();
    registry.register_plain::<Shared<Team>>().unwrap();
    universe
}

/// Numbers by chance, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }
}

fn rows(world: &mut World) -> Vec<(Entity, u64)> {
    let mut rows = Vec::new();
    let mut all = world.query::<Entity, ()>().unwrap();
    all.for_each_chunk(|chunk, entities| {
        rows.extend(entities.iter().map(|&entity| (entity, chunk.sort_key())));
    });
    rows
}

/// Some entities, one or many, neighbours or not.
fn some(world: &mut World, dice: &mut Dice) -> Vec<Entity> {
    let all = rows(world);
    if all.is_empty() {
        return Vec::new();
    }
    let count = [1, 40, 700, 3_000][dice.below(4)].min(all.len());
    if dice.below(2) == 0 {
        let first = dice.below(all.len() - count + 1);
        return all[first..first + count].iter().map(|row| row.0).collect();
    }
    let mut some: Vec<Entity> = (0..count).map(|_| all[dice.below(all.len())].0).collect();
    some.sort_unstable();
    some.dedup();
    some
}

const SEEDS: u64 = 60;
const STEPS: usize = 21;

/// Does one of many things.
fn step(world: &mut World, what: usize, dice: &mut Dice) {
    let picked = some(world, dice);
    let number = dice.below(4) as u32;
    let count = [1, 30, 500, 2_500][dice.below(4)];
    match what {
        0 => {
            for _ in 0..count.min(500) {
                world.create((number,)).unwrap();
            }
        }
        1 => drop(
            world
                .create_batch((0..count).map(|_| (Wide([3; 12]), Near)))
                .unwrap(),
        ),
        2 => drop(
            world
                .create_batch((0..count).map(|_| (number,).shared(Team(number))))
                .unwrap(),
        ),
        3 => {
            let bundles = (0..count).map(|_| (5_u64, number).per_chunk(Pulse(number)));
            world.create_batch(bundles).unwrap();
        }
        4 => {
            let mut commands = world.commands();
            for _ in 0..count {
                commands.create((number, Awake)).unwrap();
            }
        }
        5 => {
            let commands = world.parallel_commands();
            let mut all = world.query::<&u32, ()>().unwrap();
            all.for_each_chunk(|chunk, numbers| {
                let mut commands = commands.open_at(chunk.sort_key());
                for _ in 0..numbers.len() / 7 {
                    commands.create((7_u8,)).unwrap();
                }
            });
        }
        6 => {
            let commands = world.parallel_commands();
            let mut all = world.query::<Entity, With<Near>>().unwrap();
            all.for_each_chunk(|chunk, entities| {
                let mut commands = commands.open_at(chunk.sort_key());
                for &entity in entities.iter().step_by(3) {
                    commands.destroy(entity);
                    commands.create((Wide([4; 12]), 1_u64)).unwrap();
                }
            });
        }
        7 => {
            for &entity in picked.iter().take(600) {
                world.destroy(entity).unwrap();
            }
        }
        8 => drop(world.destroy_slice(&picked)),
        9 => drop(world.add_slice(&picked, |at| (at as u64,))),
        10 => drop(world.remove_slice::<(u64,)>(&picked)),
        11 => {
            let mut commands = world.commands();
            for &entity in &picked {
                commands
                    .swap::<(Near,), _>(entity, (number as u8,))
                    .unwrap();
            }
        }
        12 => {
            let mut commands = world.commands();
            for &entity in &picked {
                commands.add(entity, ().shared(Team(number))).unwrap();
            }
        }
        13 => {
            for &entity in picked.iter().take(300) {
                world.add(entity, (Near,).per_chunk(Pulse(9))).unwrap();
            }
        }
        14 => {
            let all = world.matching::<With<u8>>().unwrap();
            all.add(|_| (1_u64,)).unwrap();
        }
        15 => drop(world.compact(Budget::Entities(count))),
        16 => drop(world.matching::<With<u64>>().unwrap().destroy()),
        17 => {
            world.clear();
        }
        18 => {
            let all = world.matching::<With<Wide>>().unwrap();
            all.add(|_| (1_u8,)).unwrap();
        }
        19 => {
            let all = world.matching::<With<Wide>>().unwrap();
            all.remove::<(u8,)>().unwrap();
        }
        _ => {
            let mut commands = world.commands();
            for (at, &entity) in picked.iter().enumerate() {
                match at % 3 {
                    0 => commands.destroy(entity),
                    1 => commands.remove::<(u32,)>(entity).unwrap(),
                    _ => commands.set_enabled::<Awake>(entity, false).unwrap(),
                }
            }
        }
    }
    assert!(world.flush().is_clean());
}

fn bytes(world: &World) -> Vec<u8> {
    world.to_snapshot(&SnapshotOptions::new()).unwrap()
}

#[test]
fn what_is_done_to_a_loaded_world_leads_to_what_it_leads_to_in_the_saved_one() {
    for seed in 0..SEEDS {
        let mut dice = Dice(seed);
        let mut saved = World::of(&Arc::new(universe())).unwrap();
        saved.create_batch((0..6_000_u32).map(|n| (n,))).unwrap();
        let mut done = Vec::new();
        for _ in 0..dice.below(14) {
            let what = dice.below(STEPS);
            done.push(what);
            step(&mut saved, what, &mut dice);
        }
        let file = bytes(&saved);
        let mut loaded = World::from_snapshot(&file, universe(), &Default::default()).unwrap();
        loaded.check().unwrap();
        assert!(bytes(&loaded) == file, "seed {seed}: {done:?}");
        done.push(usize::MAX);
        for _ in 0..14 {
            let what = dice.below(STEPS);
            done.push(what);
            let mut again = Dice(dice.0);
            step(&mut saved, what, &mut dice);
            step(&mut loaded, what, &mut again);
            assert!(
                rows(&mut saved) == rows(&mut loaded),
                "seed {seed}: {done:?}"
            );
            assert_eq!(
                saved.state_hash(&Default::default()).unwrap(),
                loaded.state_hash(&Default::default()).unwrap()
            );
        }
        assert!(bytes(&saved) == bytes(&loaded), "seed {seed}: {done:?}");
        loaded.check().unwrap();
    }
}

#[test]
fn chunks_of_an_ordered_universe_are_cut_for_what_they_hold() {
    let mut saved = World::of(&Arc::new(universe())).unwrap();
    let bundles = (0..3_000).map(|_| (Wide([3; 12]),));
    saved.create_batch(bundles).unwrap();
    let all = rows(&mut saved);
    let mut commands = saved.commands();
    for (entity, _) in all {
        commands.add(entity, (1_u8,)).unwrap();
    }
    drop(commands);
    assert!(saved.flush().is_clean());
    let all = saved.matching::<With<Wide>>().unwrap();
    all.add(|_| (1_u64,)).unwrap();
    let mut loaded = World::from_snapshot(&bytes(&saved), universe(), &Default::default()).unwrap();
    assert!(rows(&mut saved) == rows(&mut loaded));
}
