//! Worlds whose entities are the last ones of their slots: however they die, their handles stay dead, and in an ordered
//! universe the slots that have not retired come next, the lowest first.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::archetype::Universe;
use crate::entity::Entity;
use crate::fragment::Bundle;
use crate::query::With;
use crate::world::World;

const COUNT: usize = 400;
/// The last version of a slot: that before it is two less.
const LAST: u32 = u32::MAX - 2;

/// A way in which all entities of a world die.
type Way = (&'static str, fn(&mut World, &[Entity]));

const WAYS: [Way; 7] = [
    ("one by one", |world, ants| {
        ants.iter().for_each(|&ant| world.destroy(ant).unwrap());
    }),
    ("by views", |world, ants| {
        ants.iter()
            .for_each(|&ant| world.entity_mut(ant).unwrap().destroy());
    }),
    ("as a slice", |world, ants| {
        assert_eq!(world.destroy_slice(ants).done, ants.len());
    }),
    ("as a slice in no order", |world, ants| {
        assert_eq!(world.destroy_slice(&shuffled(ants)).done, ants.len());
    }),
    ("by a query", |world, ants| {
        let all = world.matching::<With<u32>>().unwrap();
        assert_eq!(all.destroy(), ants.len());
    }),
    ("by a flush", |world, ants| {
        let mut commands = world.commands();
        ants.iter().for_each(|&ant| commands.destroy(ant));
        drop(commands);
        assert_eq!(world.flush().destroyed, ants.len());
    }),
    ("with all others", |world, ants| {
        assert_eq!(world.clear(), ants.len());
    }),
];

fn shuffled(ants: &[Entity]) -> Vec<Entity> {
    let mut shuffled = ants.to_vec();
    (1..shuffled.len()).for_each(|at| shuffled.swap(at, at * 7_919 % (at + 1)));
    shuffled
}

/// The world's entities, as if most of their slots had had nearly as many as they can.
fn age(world: &mut World) -> Vec<Entity> {
    let mut aged = Vec::new();
    for chunk in world.archetypes.iter().flat_map(|data| &data.chunks) {
        for row in 0..chunk.len as usize {
            // SAFETY: a row that has a handle, of a world that is this call's alone.
            let handle = unsafe { &mut *chunk.handles().add(row) };
            let version = [1, LAST - 4, LAST - 2, LAST][handle.index() as usize % 4];
            *handle = world.universe.index().at_version(*handle, version);
            aged.push(*handle);
        }
    }
    world.check().unwrap();
    aged.sort_unstable_by_key(|ant| ant.index());
    aged
}

fn late<B: Bundle>(ordered: bool, bundle: fn() -> B) {
    for (name, way) in WAYS {
        let universe = Arc::new(match ordered {
            true => Universe::ordered(),
            false => Universe::new(),
        });
        let mut world = World::of(&universe).unwrap();
        let batch = world.create_batch((0..COUNT).map(|_| bundle())).unwrap();
        assert_eq!(batch.len(), COUNT);
        let mut alive = age(&mut world);
        let mut dead = BTreeSet::new();
        for life in 0..3 {
            way(&mut world, &alive);
            universe.check([&world]).unwrap();
            let is_last = |ant: &Entity| ant.version() == LAST;
            let others: Vec<Entity> = alive.iter().copied().filter(|ant| !is_last(ant)).collect();
            dead.extend(alive);
            let retired = dead.iter().filter(|ant| is_last(ant)).count();
            assert_eq!(universe.index().retired(), retired, "{name}, life {life}");
            alive = (0..others.len())
                .map(|_| world.create(bundle()).unwrap())
                .collect();
            if ordered {
                let slots = alive.iter().map(|ant| ant.index());
                assert!(slots.eq(others.iter().map(|ant| ant.index())), "{name}");
            }
            for &ant in &dead {
                assert!(!world.exists(ant) && !alive.contains(&ant), "{name}: {ant}");
                assert!(world.destroy(ant).is_err(), "{name}: {ant}");
            }
        }
        let retired = universe.index().retired();
        match ordered {
            true => assert_eq!(retired, COUNT * 3 / 4, "{name}: all of late versions"),
            false => assert!(retired >= COUNT / 4, "{name}: {retired}"),
        }
    }
}

#[test]
fn the_dead_stay_dead_in_an_ordered_universe() {
    late(true, || (7_u32,));
    late(true, || (7_u32, String::from("it is dropped")));
}

#[test]
fn the_dead_stay_dead_in_any_universe() {
    late(false, || (7_u32,));
    late(false, || (7_u32, String::from("it is dropped")));
}

#[test]
fn a_slot_that_has_one_version_left_is_found_again_in_an_ordered_universe() {
    let universe = Arc::new(Universe::ordered());
    let mut world = World::of(&universe).unwrap();
    let batch = world.create_batch((0..COUNT).map(|_| (7_u32,))).unwrap();
    assert_eq!(batch.len(), COUNT);
    // The next one would come behind all of them.
    let mut ants = age(&mut world);
    ants.retain(|ant| ant.version() == LAST - 2);
    assert_eq!(world.destroy_slice(&shuffled(&ants)).done, COUNT / 4);
    universe.check([&world]).unwrap();
    for ant in ants {
        let next = world.create((8_u32,)).unwrap();
        assert_eq!((next.index(), next.version()), (ant.index(), LAST));
    }
}
