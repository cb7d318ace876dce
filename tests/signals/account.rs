//! What observers hear adds up: whoever notes all that comes and goes has, after every call and every flush, the
//! same entities as the world; nothing comes twice, or goes without having come.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use megachunk::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Heat(u32);
#[derive(Clone, Debug)]
struct Name(#[expect(dead_code, reason = "to be dropped")] String);
#[derive(Clone, Copy)]
struct Wet;
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Team(u32);

/// The entities that have a fragment, as an observer has heard.
type Account = Arc<Mutex<BTreeSet<Entity>>>;

fn keep<T: Send + Sync + 'static>(world: &mut World) -> Account {
    let account = Account::default();
    let mine = Arc::clone(&account);
    let observed = Observed::COME | Observed::GO;
    world
        .observe::<T, ()>(observed, move |batch, _| {
            let mut account = mine.lock().unwrap();
            let comes = Observed::COME.contains(batch.change());
            for entity in batch.entities() {
                let new = if comes {
                    account.insert(entity)
                } else {
                    account.remove(&entity)
                };
                assert!(new, "{entity}: {:?} twice", batch.change());
            }
            // Values are there, before they go and after they came.
            let lent = batch.for_each::<Has<T>>(|has| assert!(has));
            assert_eq!(lent.unwrap(), batch.len());
        })
        .unwrap();
    account
}

/// A world and what its observers have noted.
struct Audited {
    world: World,
    accounts: [Account; 3],
}

impl Audited {
    fn of(universe: &Arc<Universe>) -> Self {
        let mut world = World::of(universe).unwrap();
        let accounts = [
            keep::<Heat>(&mut world),
            keep::<Name>(&mut world),
            keep::<Wet>(&mut world),
        ];
        Self { world, accounts }
    }

    fn audit(&mut self) {
        fn all<T: Send + Sync + 'static>(world: &mut World) -> BTreeSet<Entity> {
            let mut query = world.query::<Entity, With<T>>().unwrap();
            query.iter().collect()
        }
        let world = &mut self.world;
        let there = [all::<Heat>(world), all::<Name>(world), all::<Wet>(world)];
        for (account, there) in self.accounts.iter().zip(there) {
            assert!(*account.lock().unwrap() == there, "heard and there");
        }
        world.check().unwrap();
    }

    fn entities(&mut self) -> Vec<Entity> {
        self.world.query::<Entity, ()>().unwrap().iter().collect()
    }
}

/// Numbers that look random: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }

    fn one(&mut self, all: &[Entity]) -> Entity {
        all[self.below(all.len())]
    }

    /// Some of these: neighbours, or scattered ones with doubles.
    fn some(&mut self, all: &[Entity]) -> Vec<Entity> {
        let count = 1 + self.below(all.len() / 2);
        if self.below(2) == 0 {
            let first = self.below(all.len() - count);
            return all[first..first + count].to_vec();
        }
        (0..count).map(|_| self.one(all)).collect()
    }
}

fn name(n: usize) -> Name {
    Name(format!("entity {n}"))
}

/// One call that changes the world.
fn call(world: &mut World, other: &mut World, all: &[Entity], random: &mut Random) {
    let (some, one) = (random.some(all), random.one(all));
    let n = random.below(1_000);
    let stop = random.below(some.len() * 4);
    match random.below(24) {
        0 => drop(world.create((Heat(1), Wet))),
        1 => drop(world.create_batch((0..n).map(|n| (name(n), Heat(n as u32))))),
        2 => drop(world.create_batch((0..n).map(|n| {
            assert!(n < stop, "stop");
            (Heat(n as u32),).shared(Team(n as u32 % 3))
        }))),
        3 => drop(world.create((name(n),).shared(Team(1)))),
        4 => drop(world.destroy(one)),
        5 => drop(world.destroy_slice(&some)),
        6 => drop(world.add(one, (Wet, Heat(2)))),
        7 => drop(world.add_slice(&some, |at| {
            assert!(at < stop, "stop");
            (name(at), Wet)
        })),
        8 => drop(world.add_slice(&some, |_| (Heat(1),).shared(Team(2)))),
        9 => drop(world.remove::<(Heat, Name)>(one)),
        10 => drop(world.remove_slice::<(Wet,)>(&some)),
        11 => drop(world.remove_slice::<(Heat, Name)>(&some)),
        12 => drop(world.swap::<(Wet, Heat), _>(one, (name(n), Heat(3)))),
        13 => drop(
            world
                .matching::<(With<Heat>, Without<Wet>)>()
                .unwrap()
                .add(|_| (Wet,)),
        ),
        14 => drop(
            world
                .matching::<With<Wet>>()
                .unwrap()
                .swap::<(Wet,), _>(|_| (Heat(4),)),
        ),
        15 => {
            let all = world.matching::<With<Name>>().unwrap();
            drop(all.swap::<(Name,), _>(|entity| {
                assert!(entity.index() as usize % 5 != stop % 5, "stop");
                (Wet,).shared(Team(entity.index() % 2))
            }));
        }
        16 => drop(world.matching::<With<Heat>>().unwrap().remove::<(Heat,)>()),
        17 => drop(
            world
                .matching::<(With<Heat>, With<Name>)>()
                .unwrap()
                .set_shared(Team(9)),
        ),
        18 if n < 300 => {
            let _ = world
                .matching::<(With<Wet>, Without<Name>)>()
                .unwrap()
                .destroy();
        }
        19 => drop(world.clone_entity(one)),
        20 => drop(world.move_slice_to(other, &some)),
        21 => drop(
            world
                .matching::<(With<Wet>, With<Heat>)>()
                .unwrap()
                .move_to(other),
        ),
        22 if n < 100 => {
            let _ = world.clear();
        }
        22 if n < 200 => drop(other.move_all_to(world)),
        _ => drop(world.compact(megachunk::world::Budget::Entities(n))),
    }
}

/// Commands of several recorders, and a flush.
fn flush(world: &mut World, all: &[Entity], random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let some = random.some(all);
        let what = random.below(8);
        let mut commands = world.commands();
        for (n, &entity) in some.iter().enumerate() {
            match (what + random.below(3)) % 8 {
                0 => commands.destroy(entity),
                1 => commands.add(entity, (Wet,)).unwrap(),
                2 => commands.add(entity, (name(n), Heat(1))).unwrap(),
                3 => commands.remove::<(Wet, Name)>(entity).unwrap(),
                4 => commands.swap::<(Heat,), _>(entity, (Wet,)).unwrap(),
                5 => commands.set_shared(entity, Team(n as u32 % 2)).unwrap(),
                6 => {
                    let new = commands.create((Heat(1), name(n))).unwrap();
                    commands.remove::<(Name,)>(new).unwrap();
                }
                _ if n == 7 => commands.defer(move |world| drop(world.add(entity, (Heat(7),)))),
                _ => drop(commands.create((Wet,).shared(Team(5)))),
            }
        }
    }
    let _ = world.flush();
}

fn audit_of_seed(seed: u64) {
    let mut random = Random(seed);
    let universe = Arc::new(Universe::new());
    universe.registry().register_clone::<Heat>().unwrap();
    universe.registry().register_clone::<Name>().unwrap();
    let mut worlds = [Audited::of(&universe), Audited::of(&universe)];
    for _ in 0..60 {
        let at = random.below(2);
        let (first, second) = worlds.split_at_mut(1);
        let (here, there) = match at {
            0 => (&mut first[0], &mut second[0]),
            _ => (&mut second[0], &mut first[0]),
        };
        let mut all = here.entities();
        if all.len() < 10 {
            let _ = here
                .world
                .create_batch((0..500).map(|n| (Heat(n), Wet)))
                .unwrap();
            all = here.entities();
        }
        if random.below(3) == 0 {
            flush(&mut here.world, &all, &mut random);
        } else {
            let change = || call(&mut here.world, &mut there.world, &all, &mut random);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(change)) {
                assert_eq!(panic.downcast_ref(), Some(&"stop"));
            }
        }
        here.audit();
        there.audit();
    }
}

#[test]
fn what_observers_hear_adds_up_to_the_world() {
    for seed in 1..=12 {
        audit_of_seed(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
    }
}
