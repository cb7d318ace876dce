//! Memory that ends in the middle: whoever watches a world knows what is there all the same.
//!
//! Programs of changes of all kinds, made up at random, run on two worlds while chunks are scarce. Observers keep lists
//! of who has each fragment, by what they are told of who comes and goes. After each change the lists are right: nobody
//! comes twice, nobody goes who has not come, and what was told to go and stayed was told to come again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::archetype::scarce::Scarce;
use crate::counted::Counted;
use crate::fragment::{DynamicBundle, FragmentId, Value};
use crate::observer::ObservedBatch;
use crate::prelude::*;
use crate::query::DynamicFilter;
use crate::world::{Budget, Prototype};

#[derive(Clone, Copy)]
struct Large(#[expect(dead_code, reason = "it fills chunks")] [u64; 40]);
#[derive(Clone, Copy)]
struct Small(#[expect(dead_code, reason = "it has a size")] u32);
#[derive(Clone, Copy)]
struct Tag;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u32);
#[derive(Clone, Copy)]
struct Weather(#[expect(dead_code, reason = "it has a size")] u32);

/// Who has each of some fragments, as far as observers know.
struct Lists(Vec<(FragmentId, BTreeSet<Entity>)>);

impl Lists {
    /// Begins to watch an empty world.
    fn keep(world: &mut World) {
        let registry = world.registry();
        let ids = [
            registry.register::<Large>().unwrap().id(),
            registry.register::<Small>().unwrap().id(),
            registry.register::<Tag>().unwrap().id(),
            registry.register::<Counted>().unwrap().id(),
            registry.register::<Shared<Team>>().unwrap().id(),
        ];
        let lists = ids.map(|id| (id, BTreeSet::new()));
        world.resources_mut().insert(Self(lists.into()));
        for (number, id) in ids.into_iter().enumerate() {
            let note = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
                let (change, entities) = (batch.change(), batch.entities().collect::<Vec<_>>());
                let lists = batch.resources_mut().get_mut::<Self>().unwrap();
                let list = &mut lists.0[number].1;
                for entity in entities {
                    if Observed::COME.contains(change) {
                        assert!(list.insert(entity), "{entity} comes twice: {change:?}");
                    } else {
                        assert!(list.remove(&entity), "{entity} was not there: {change:?}");
                    }
                }
            };
            let all = Observed::COME | Observed::GO;
            let observer = world.observe_dynamic(all, id, DynamicFilter::new(), note);
            observer.unwrap();
        }
    }

    fn check(world: &World) {
        for (id, list) in &world.resources().get::<Self>().unwrap().0 {
            let archetypes = world.archetypes.iter();
            let having = archetypes.filter(|archetype| archetype.set.contains(*id));
            let chunks = having.flat_map(|archetype| archetype.chunks.iter());
            let there: BTreeSet<Entity> = chunks.flat_map(|c| c.entities()).copied().collect();
            assert_eq!(
                &there,
                list,
                "{}",
                world.registry().get(*id).unwrap().name()
            );
        }
        world.check().unwrap();
    }
}

/// Numbers by chance, the same each time (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 20) as usize % end.max(1)
    }
}

/// Two worlds that change.
struct Run {
    random: Random,
    alive: Arc<AtomicUsize>,
    /// Handles that are not known to be dead.
    known: Vec<Entity>,
    ant: Prototype,
    small: Prototype,
    tag_ids: [FragmentId; 1],
}

impl Run {
    /// Handles side by side, or in no order, some perhaps twice.
    fn some(&mut self) -> Vec<Entity> {
        let (at, len) = (self.random.below(self.known.len()), self.random.below(300));
        let mut some: Vec<Entity> = self.known.iter().copied().skip(at).take(len).collect();
        if self.random.below(3) == 0 {
            for at in 0..some.len() {
                let other = self.random.below(some.len());
                some.swap(at, other);
            }
            some.extend_from_within(..some.len().min(3));
        }
        some
    }

    fn one(&mut self) -> Entity {
        let at = self.random.below(self.known.len());
        self.known.get(at).copied().unwrap_or(Entity::PLACEHOLDER)
    }

    fn counted(&self) -> Counted {
        Counted::new(&self.alive)
    }

    /// One change. What there is no memory for is refused.
    fn change(&mut self, world: &mut World, other: &mut World) {
        let (one, some) = (self.one(), self.some());
        let (n, count) = (self.random.below(5) as u32, self.random.below(200) as u32);
        let (large, alive) = (Large([0; 40]), Arc::clone(&self.alive));
        match self.random.below(37) {
            0 => self.known.extend(world.create((large, self.counted()))),
            1 => self
                .known
                .extend(world.create((large, Small(n)).shared(Team(n)))),
            2 => self
                .known
                .extend(world.create((large, Tag).per_chunk(Weather(n)))),
            3 => {
                let bundles = (0..count).map(|_| (large, Counted::new(&alive)));
                let batch = world.create_batch(bundles);
                self.known
                    .extend(batch.iter().flat_map(|batch| batch.iter(world)));
            }
            4 => {
                let bundles = (0..count).map(|n| (large, Small(n)).shared(Team(n / 50)));
                let batch = world.create_batch(bundles);
                self.known
                    .extend(batch.iter().flat_map(|batch| batch.iter(world)));
            }
            5 => {
                let batch = world.create_copies(&self.ant, count as usize);
                self.known
                    .extend(batch.iter().flat_map(|batch| batch.iter(world)));
            }
            6 => self.known.extend(world.clone_entity(one)),
            7 => {
                let entity = world.reserve().unwrap();
                if world.build(entity, (large, Tag)).is_err() {
                    world.release(entity).unwrap();
                }
                self.known.push(entity);
            }
            8 => drop(world.destroy(one)),
            9 => drop(world.destroy_slice(&some[..some.len().min(60)])),
            10 => drop(world.add(one, (Tag, Small(n)))),
            11 => drop(world.add_slice(&some, |_| (Small(n),))),
            12 => drop(world.add_slice(&some, |_| (Tag, Counted::new(&alive)))),
            13 => drop(world.add_slice(&some, |n| (Small(3),).shared(Team(n as u32 / 40)))),
            14 => drop(world.remove::<(Small, Large)>(one)),
            15 => drop(world.remove_slice::<(Small, Counted)>(&some)),
            16 => drop(world.remove_slice::<(Tag,)>(&some)),
            17 => drop(world.swap::<(Small, Tag), _>(one, (self.counted(),))),
            18 => drop(world.set_shared(one, Team(n))),
            19 => {
                let plain = world.matching::<(With<Large>, Without<Tag>)>();
                drop(plain.unwrap().add(|_| (Tag,)));
            }
            20 => {
                let tagged = world.matching::<(With<Tag>, Without<Small>)>();
                drop(tagged.unwrap().swap::<(Tag,), _>(|_| (Small(1),)));
            }
            21 => {
                let counted = world.matching::<With<Counted>>().unwrap();
                drop(counted.remove::<(Small, Tag)>());
            }
            22 => drop(world.matching::<With<Small>>().unwrap().set_shared(Team(n))),
            23 if n == 0 => drop(world.matching::<With<Counted>>().unwrap().destroy()),
            24 => drop(world.move_slice_to(other, &some)),
            25 => drop(world.matching::<With<Small>>().unwrap().move_to(other)),
            26 => drop(world.move_archetype_to::<(Large, Counted)>(other)),
            27 if n < 2 => drop(world.move_all_to(other)),
            28 if n == 0 => drop(world.clear()),
            28 => drop(world.compact(Budget::Unlimited)),
            29 => self.record(&mut world.commands()),
            32 => drop(world.add_slice_dynamic(&some, &self.ant)),
            33 => drop(world.swap_slice_dynamic(&some, &self.tag_ids, &self.small)),
            34 => drop(world.remove_slice_dynamic(&some, self.small.fragments())),
            30 => drop(world.swap_slice::<(Tag,), _>(&some, |_| (Small(n),))),
            31 => {
                drop(world.swap_slice::<(Small,), _>(&some, |n| (Tag,).shared(Team(n as u32 / 40))))
            }
            _ => drop(world.flush()),
        }
        self.known.retain(|&entity| world.exists(entity));
    }

    /// Some commands.
    fn record(&mut self, commands: &mut Commands<'_>) {
        let (large, alive) = (Large([0; 40]), Arc::clone(&self.alive));
        for _ in 0..self.random.below(8) {
            let (n, count) = (self.random.below(5) as u32, self.random.below(120) as u32);
            let some = self.some();
            match self.random.below(10) {
                0 => (0..count)
                    .for_each(|_| self.known.extend(commands.create((large, self.counted())))),
                1 => (0..count).for_each(|n| {
                    let bundle = (large,).shared(Team(n % 2));
                    self.known.extend(commands.create(bundle));
                }),
                2 => {
                    let batch = commands.create_batch((0..count).map(|_| (large, Tag)));
                    self.known
                        .extend(batch.iter().flat_map(|batch| batch.iter(commands)));
                }
                3 => {
                    let batch = commands.create_copies(&self.ant, count as usize);
                    self.known
                        .extend(batch.iter().flat_map(|batch| batch.iter(commands)));
                }
                4 => some
                    .iter()
                    .take(80)
                    .for_each(|&entity| commands.destroy(entity)),
                5 => some.iter().for_each(|&entity| {
                    let bundle = (Small(n), self.counted());
                    commands.add(entity, bundle).unwrap();
                }),
                6 => some.iter().for_each(|&entity| {
                    commands.remove::<(Small, Tag)>(entity).unwrap();
                }),
                7 => some.iter().for_each(|&entity| {
                    commands.swap::<(Tag,), _>(entity, (Small(n),)).unwrap();
                }),
                8 => (0..).zip(&some).for_each(|(n, &entity)| {
                    commands.set_shared(entity, Team(n / 50)).unwrap();
                }),
                _ => commands.defer({
                    let alive = Arc::clone(&alive);
                    move |world| {
                        let _ = world.create((large, Counted::new(&alive)));
                        let _ = world.matching::<With<Tag>>().unwrap().remove::<(Tag,)>();
                    }
                }),
            }
        }
    }
}

#[test]
fn whoever_watches_knows_what_is_there_whatever_memory_a_change_gets() {
    let mut scarce = Scarce::new();
    for seed in 1..=60 {
        scarce.leave(64);
        let mut worlds = [(); 2].map(|()| World::of(&scarce.universe).unwrap());
        for world in &mut worlds {
            Lists::keep(world);
            world.set_flush_threads_from(Some(1));
        }
        let registry = scarce.universe.registry();
        let values = [
            Value::cloneable(registry, Large([7; 40])).unwrap(),
            Value::cloneable(registry, Small(3)).unwrap(),
            Value::shared(registry, Team(1)).unwrap(),
        ];
        let mut run = Run {
            random: Random(0x9e37_79b9_7f4a_7c15 ^ seed),
            alive: Arc::new(AtomicUsize::new(0)),
            known: Vec::new(),
            ant: Prototype::new(registry, values.into_iter().collect()).unwrap(),
            small: {
                let small = Value::cloneable(registry, Small(7)).unwrap();
                Prototype::new(registry, DynamicBundle::new().with(small)).unwrap()
            },
            tag_ids: [registry.register::<Tag>().unwrap().id()],
        };
        for _ in 0..60 {
            scarce.leave([64, run.random.below(8), run.random.below(8)][run.random.below(3)]);
            worlds.rotate_left(run.random.below(2));
            let [world, other] = &mut worlds;
            run.change(world, other);
            worlds.iter().for_each(Lists::check);
        }
        drop(worlds);
        assert_eq!(run.alive.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn nobody_is_told_that_one_goes_who_finds_no_room_elsewhere() {
    let mut scarce = Scarce::new();
    scarce.leave(64);
    let [mut world, mut other] = [(); 2].map(|()| World::of(&scarce.universe).unwrap());
    let ants: Vec<Entity> = (0..9)
        .map(|n| world.create((n,).shared('a')).unwrap())
        .collect();
    world.resources_mut().insert(0_u32);
    let all = Observed::COME | Observed::GO;
    let count = |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
        *batch.resources_mut().get_mut::<u32>().unwrap() += 1;
    };
    world.observe::<i32, ()>(all, count).unwrap();
    scarce.leave(0);
    assert!(world.move_to(&mut other, ants[0]).is_err());
    assert_eq!(world.resources().get::<u32>(), Some(&0));
    world.check().unwrap();
    other.check().unwrap();
    scarce.leave(1);
    world.move_to(&mut other, ants[0]).unwrap();
    assert_eq!(world.resources().get::<u32>(), Some(&1));
    // The last one goes with its chunk: that takes no room.
    let [.., last] = ants[..] else {
        unreachable!("there are nine")
    };
    world.destroy_slice(&ants[1..8]).into_result().unwrap();
    other.clear();
    scarce.leave(0);
    world.move_to(&mut other, last).unwrap();
    assert_eq!(other.get::<i32>(last), Ok(&8));
    world.check().unwrap();
    other.check().unwrap();
}
