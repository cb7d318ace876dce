//! Whatever happens to a world, the index says what is there.

use std::sync::Arc;

use megachunk::index::{RelationshipIndex, ValueIndex};
use megachunk::prelude::*;
use megachunk::world::Budget;

use crate::log::{self, Followers, Log};
use crate::naive::Naive;
use crate::{ChildOf, values};

struct Marked;
#[derive(Clone, Copy)]
struct Wide(#[expect(dead_code, reason = "it takes room")] [u64; 9]);

/// Numbers by chance, the same each time (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut n = self.0;
        n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((n ^ n >> 31) >> 8) as usize % limit
    }

    fn pick(&mut self, all: &[Entity]) -> Entity {
        match self.below(12) {
            0 => Entity::PLACEHOLDER,
            // Most name a few.
            1..6 => all[self.below(all.len().min(5))],
            _ => all[self.below(all.len())],
        }
    }
}

/// Two worlds, and an index of each.
struct Subject {
    dice: Dice,
    worlds: [World; 2],
    indices: [RelationshipIndex<ChildOf>; 2],
    values: [ValueIndex<ChildOf, u32>; 2],
    logs: [(Log, Followers); 2],
    /// Living and dead.
    all: Vec<Entity>,
}

impl Subject {
    fn new(seed: u64) -> Self {
        let universe = Arc::new(Universe::new());
        let worlds = [(); 2].map(|()| World::of(&universe).unwrap());
        if seed.is_multiple_of(3) {
            let registry = worlds[0].registry();
            registry.register_enableable::<ChildOf>().unwrap();
        }
        let indices = worlds.each_ref();
        let logs = indices.map(|world| (log::log(world), Followers::new()));
        let values = indices.map(|world| ValueIndex::new(world, values::key).unwrap());
        let indices = indices.map(|world| RelationshipIndex::new(world).unwrap());
        let mut subject = Self {
            dice: Dice(seed),
            worlds,
            indices,
            values,
            logs,
            all: Vec::new(),
        };
        let first = subject.worlds[0].create(()).unwrap();
        subject.all.push(first);
        subject
    }

    fn step(&mut self) {
        let Self {
            dice, worlds, all, ..
        } = self;
        let one = dice.below(4) / 3;
        let [world, other] = match (one, worlds) {
            (0, [a, b]) => [a, b],
            (_, [a, b]) => [b, a],
        };
        let (entity, target) = (dice.pick(all), dice.pick(all));
        let others: Vec<Entity> = (0..1 + dice.below(9)).map(|_| dice.pick(all)).collect();
        match dice.below(24) {
            0 => all.push(world.create((ChildOf(target),)).unwrap()),
            1 => all.push(world.create((ChildOf(target), Marked)).unwrap()),
            2 => all.push(world.create((Wide([1; 9]),)).unwrap()),
            3 | 4 => {
                let many = [3, 40, 2_000][dice.below(3)];
                let targets: Vec<Entity> = (0..many).map(|_| dice.pick(all)).collect();
                let bundles = targets
                    .iter()
                    .map(|&target| (ChildOf(target), Wide([2; 9])));
                let batch = world.create_batch(bundles).unwrap();
                all.extend(batch.iter(world));
            }
            5 | 6 => _ = world.destroy(entity),
            7 => _ = world.destroy_slice(&others),
            8 | 9 => _ = world.add(entity, (ChildOf(target),)),
            10 => _ = world.remove::<(ChildOf,)>(entity),
            11 => _ = world.set(entity, ChildOf(target)),
            12 => {
                let mut query = world.query::<&mut ChildOf, ()>().unwrap();
                let mut nth = 0;
                query.for_each(|child| {
                    nth += 1;
                    if nth % 7 == 0 {
                        *child = ChildOf(others[nth % others.len()]);
                    }
                });
            }
            13 => {
                if let Ok(child) = world.get_mut::<ChildOf>(entity) {
                    child.0 = target;
                }
            }
            14 => {
                _ = world
                    .matching::<With<ChildOf>>()
                    .unwrap()
                    .add(|_| (Marked,))
            }
            15 => {
                _ = world
                    .matching::<With<Marked>>()
                    .unwrap()
                    .remove::<(Marked,)>()
            }
            16 => {
                let change = world.matching::<(With<Wide>, Without<ChildOf>)>();
                change.unwrap().add(|_| (ChildOf(target),)).unwrap();
            }
            17 => {
                _ = world
                    .matching::<With<Marked>>()
                    .unwrap()
                    .remove::<(ChildOf,)>()
            }
            18 => _ = world.move_to(other, entity),
            19 if dice.below(3) == 0 => _ = world.move_all_to(other),
            20 => _ = world.compact(Budget::Entities(50)),
            21 if dice.below(4) == 0 => _ = world.collect_archetypes(),
            22 if dice.below(8) == 0 => _ = world.clear(),
            _ => {
                let mut commands = world.commands();
                for &entity in &others {
                    match dice.below(6) {
                        0 => commands.destroy(entity),
                        1 => commands.add(entity, (ChildOf(target), Marked)).unwrap(),
                        2 => commands.remove::<(ChildOf,)>(entity).unwrap(),
                        3 => commands.set(entity, ChildOf(target)).unwrap(),
                        _ => {
                            let new = commands.create((ChildOf(target), Wide([3; 9])));
                            all.push(new.unwrap());
                        }
                    }
                }
                drop(commands);
                let _ = world.flush();
            }
        }
    }

    fn look(&mut self) {
        for (of, index) in self.indices.iter_mut().enumerate() {
            index.update(&self.worlds[of]);
            Naive::of(&self.worlds[of]).compare(index, &self.worlds);
        }
        for (world, index) in self.worlds.iter().zip(&mut self.values) {
            index.update(world);
            values::compare(index, world);
        }
        for (world, (log, followers)) in self.worlds.iter().zip(&mut self.logs) {
            log.update(world);
            followers.compare(log, world);
        }
    }
}

#[test]
fn whatever_happens_the_index_says_what_is_there() {
    let seeds = std::env::var("MEGACHUNK_RELATIONSHIP_SEEDS");
    let seeds = seeds.map_or(16, |n| n.parse().expect("a number"));
    for seed in 0..seeds {
        let mut subject = Subject::new(seed);
        for step in 0..80 {
            subject.step();
            // Sometimes much has happened.
            if step % 5 == 0 || subject.dice.below(2) == 0 {
                subject.look();
            }
        }
        subject.look();
    }
}

#[test]
fn its_order_is_that_of_the_world_and_not_of_its_history() {
    for seed in 100..110 {
        let mut subject = Subject::new(seed);
        for _ in 0..60 {
            subject.step();
            subject.look();
        }
        for (world, index) in subject.worlds.iter().zip(&subject.indices) {
            let mut new = RelationshipIndex::<ChildOf>::new(world).unwrap();
            new.update(world);
            assert!(index.iter().eq(new.iter()));
            assert!(index.orphans().eq(new.orphans()));
        }
        for (world, index) in subject.worlds.iter().zip(&subject.values) {
            let mut new = ValueIndex::new(world, values::key).unwrap();
            new.update(world);
            assert!(index.iter().eq(new.iter()));
        }
    }
}
