//! Chunks that are handed over whole: not where much is free already, or worlds that entities come to so would decay.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::world::WorldStats;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Ant([u64; 4]);
#[derive(Clone, Copy, Debug, PartialEq)]
struct Grown;
#[derive(Clone, Copy, Debug, PartialEq)]
struct Old;
#[derive(Clone, Copy, Debug, PartialEq)]
struct Load(u32);

/// Brings all that have just been created in the first world to where the others are; which world that is.
type Way = fn(&mut [World; 2], &[Entity]) -> usize;

/// By each call that may hand a chunk over, to an archetype, a group or a world.
const WAYS: [(&str, Way); 11] = [
    ("slice", |[world, _], ants| {
        assert!(world.add_slice(ants, |_| (Grown,)).is_clean());
        0
    }),
    ("slice with a column", |[world, _], ants| {
        assert!(world.add_slice(ants, |_| (Load(7),)).is_clean());
        0
    }),
    ("query", |[world, _], ants| {
        let new = world.matching::<Without<Grown>>().unwrap();
        assert_eq!(new.add(|_| (Grown,)).unwrap(), ants.len());
        0
    }),
    ("query with a column", |[world, _], ants| {
        let new = world.matching::<Without<Load>>().unwrap();
        assert_eq!(new.add(|_| (Load(7),)).unwrap(), ants.len());
        0
    }),
    ("group", |[world, _], ants| {
        assert!(world.add_slice(ants, |_| ().shared('a')).is_clean());
        assert!(world.add_slice(ants, |_| ().shared('x')).is_clean());
        0
    }),
    ("flush", |[world, _], ants| {
        let mut commands = world.commands();
        ants.iter()
            .for_each(|&ant| commands.add(ant, (Grown,)).unwrap());
        drop(commands);
        assert_eq!(world.flush().moved, ants.len());
        0
    }),
    ("flush in which all others change", |[world, _], ants| {
        let mut all = world.query::<Entity, With<Grown>>().unwrap();
        let all: Vec<Entity> = all.iter().collect();
        let mut commands = world.commands();
        all.iter()
            .for_each(|&ant| commands.add(ant, (Grown,)).unwrap());
        ants.iter()
            .for_each(|&ant| commands.add(ant, (Grown,)).unwrap());
        drop(commands);
        assert_eq!(world.flush().moved, ants.len());
        0
    }),
    ("flush with a column", |[world, _], ants| {
        let mut commands = world.commands();
        ants.iter()
            .for_each(|&ant| commands.add(ant, (Load(7),)).unwrap());
        drop(commands);
        assert_eq!(world.flush().moved, ants.len());
        0
    }),
    ("flush to a group", |[world, _], ants| {
        assert!(world.add_slice(ants, |_| ().shared('a')).is_clean());
        let mut commands = world.commands();
        ants.iter()
            .for_each(|&ant| commands.add(ant, ().shared('x')).unwrap());
        drop(commands);
        assert_eq!(world.flush().moved, ants.len());
        0
    }),
    ("all of a world", |[world, other], ants| {
        assert_eq!(world.move_all_to(other).unwrap(), ants.len());
        1
    }),
    ("slice to a world", |[world, other], ants| {
        assert!(world.move_slice_to(other, ants).unwrap().is_clean());
        1
    }),
];

/// What each of many rounds creates, and what there is after them.
fn replaced(way: Way, each: usize, count: usize) -> WorldStats {
    let universe = Arc::new(Universe::new());
    let mut worlds = [World::of(&universe).unwrap(), World::of(&universe).unwrap()];
    worlds.iter_mut().for_each(|world| world.set_chunk_size(1));
    let (mut all, mut state, mut number) = (Vec::new(), 1_u64, 0);
    let mut there = 0;
    for _ in 0..12 * count / each {
        let new = (number..).map(|n| (Ant([n; 4]),)).take(each);
        let batch = worlds[0].create_batch(new).unwrap();
        let new: Vec<Entity> = batch.iter(&worlds[0]).collect();
        number += each as u64;
        there = way(&mut worlds, &new);
        all.extend(new);
        while all.len() > count {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let gone = all.swap_remove((state >> 33) as usize % all.len());
            worlds[there].destroy(gone).unwrap();
        }
    }
    for world in &worlds {
        world.check().unwrap();
    }
    for &ant in all.iter().step_by(31) {
        let Ant(numbers) = worlds[there].get::<Ant>(ant).unwrap();
        assert_eq!(*numbers, [numbers[0]; 4]);
    }
    worlds[0].trim();
    assert_eq!(worlds[there].stats().entities, all.len());
    worlds[there].stats()
}

#[test]
fn where_chunks_are_handed_over_and_entities_go_one_by_one_an_eighth_is_free_before_they_go() {
    for (name, way) in WAYS {
        // A chunk has some four hundred: more than half of one, one or a little more, and several.
        for each in [260, 430, 1_500] {
            let stats = replaced(way, each, 5_000);
            let free = stats.capacity - stats.entities;
            // And what goes in a round; and what is no whole chunk.
            let most = stats.capacity / 8 + 2 * each + 410;
            assert!(free <= most, "{name}, {each}: {free} of {}", stats.capacity);
        }
    }
}

#[test]
fn chunks_take_their_fragments_along_to_another_world_however_much_is_free_there() {
    let universe = Arc::new(Universe::new());
    let mut worlds = [World::of(&universe).unwrap(), World::of(&universe).unwrap()];
    let mut all = worlds.each_mut().map(|world| {
        world.set_chunk_size(1);
        let ants = (0..3_000).map(|n| (Ant([n; 4]),).per_chunk('?'));
        let batch = world.create_batch(ants).unwrap();
        batch.iter(world).collect::<Vec<Entity>>()
    });
    let [land, sea] = &mut worlds;
    for gone in all[1].drain(..2_000) {
        sea.destroy(gone).unwrap();
    }
    let mut chunks = land.query::<Entity, ()>().unwrap();
    let mut firsts = Vec::new();
    chunks.for_each_chunk(|_, ants| firsts.push((ants[0], ants.len())));
    for (number, &(ant, _)) in firsts.iter().enumerate() {
        let number = char::from(b'a' + number as u8);
        *land.chunk_fragment_mut::<char>(ant).unwrap() = number;
    }
    assert_eq!(land.move_all_to(sea).unwrap(), 3_000);
    sea.check().unwrap();
    let last = firsts.len() - 1;
    for (number, &(ant, len)) in firsts.iter().enumerate() {
        let there = *sea.chunk_fragment::<char>(ant).unwrap();
        let half = firsts[0].1 / 2;
        assert!(len >= half || number == last);
        if len >= half {
            assert_eq!(there, char::from(b'a' + number as u8));
        }
    }
}

/// As many as fill a chunk, numbered.
fn full_chunk(world: &mut World) -> Vec<Entity> {
    world.set_chunk_size(1);
    let mut ants = Vec::new();
    loop {
        let ant = world.create((ants.len() as u64, Ant([7; 4]))).unwrap();
        if world.stats().chunks > 1 {
            world.destroy(ant).unwrap();
            world.trim();
            return ants;
        }
        ants.push(ant);
    }
}

#[test]
fn users_code_that_panics_while_a_chunk_of_tags_is_handed_over_leaves_those_before_done() {
    type Way = fn(&mut World, &[Entity], &mut dyn FnMut());
    let ways: [(Way, bool); 4] = [
        (
            |world, ants, burn| {
                let _ = world.add_slice(ants, |_| {
                    burn();
                    (Grown,)
                });
            },
            true,
        ),
        (
            |world, ants, burn| {
                let _ = world.swap_slice::<(Old,), _>(ants, |_| {
                    burn();
                    (Grown,)
                });
            },
            true,
        ),
        (
            |world, _, burn| {
                let all = world.matching::<With<Ant>>().unwrap();
                let grow = |_: Entity| {
                    burn();
                    (Grown,)
                };
                all.add(grow).unwrap();
            },
            false,
        ),
        (
            |world, _, burn| {
                let all = world.matching::<With<Ant>>().unwrap();
                let grow = |_: Entity| {
                    burn();
                    (Grown,)
                };
                all.swap::<(Old,), _>(grow).unwrap();
            },
            false,
        ),
    ];
    for (way, in_order) in ways {
        for at in [0, 1, 100, usize::MAX] {
            let mut world = World::new();
            let ants = full_chunk(&mut world);
            let old = world.add_slice(&ants, |_| (Old,));
            assert!(old.is_clean() && ants.len() > 200);
            let (last, mut calls) = (at.min(ants.len() - 1), 0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                way(&mut world, &ants, &mut || {
                    calls += 1;
                    if calls == last + 1 {
                        resume_unwind(Box::new("the fuse"));
                    }
                });
            }));
            assert_eq!(result.unwrap_err().downcast_ref(), Some(&"the fuse"));
            assert_eq!(calls, last + 1, "who comes after is not asked");
            world.check().unwrap();
            let grown = |world: &World| {
                let grown = ants.iter().map(|&ant| world.has::<Grown>(ant).unwrap());
                grown.collect::<Vec<bool>>()
            };
            let are = grown(&world);
            assert_eq!(are.iter().filter(|&&is| is).count(), last);
            assert!(!in_order || are[..last].iter().all(|&is| is));
            for (n, &ant) in ants.iter().enumerate() {
                let (number, body) = (world.get::<u64>(ant), world.get::<Ant>(ant));
                assert_eq!(
                    (number.unwrap(), body.unwrap()),
                    (&(n as u64), &Ant([7; 4]))
                );
            }
            // When nothing panics, all are done, in whatever chunk they are now.
            way(&mut world, &ants, &mut || {});
            assert!(grown(&world).iter().all(|&is| is));
            world.check().unwrap();
            // And a whole chunk is handed over where it lies, or this shows something else.
            let mut fresh = World::new();
            let ants = full_chunk(&mut fresh);
            assert!(fresh.add_slice(&ants, |_| (Old,)).is_clean());
            let address = |world: &World, ant| core::ptr::from_ref(world.get::<Ant>(ant).unwrap());
            let lies = address(&fresh, ants[0]);
            way(&mut fresh, &ants, &mut || {});
            assert_eq!(address(&fresh, ants[0]), lies);
        }
    }
}
