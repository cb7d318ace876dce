//! The same world, bit for bit, for any number of threads: ids, order in chunks, archetypes, reports.

use core::alloc::Layout;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use megachunk::fragment::{DynamicBundle, Value};
use megachunk::prelude::*;
use megachunk::query::{DynamicChunk, DynamicQuery};
use megachunk::world::Prototype;
use rayon::ThreadPool;

use crate::dice::mix;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Energy(u64);
#[derive(Clone, Copy, Debug, PartialEq)]
struct Parent(Entity);
#[derive(Clone, Copy, Debug, PartialEq)]
struct Burning(u32);
struct Marked;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u8);

/// Threads that the same work is done with.
const THREADS: [usize; 5] = [1, 2, 3, 4, 8];

/// Seeds: 1,000 in a whole run.
fn seeds() -> u64 {
    std::env::var("MEGACHUNK_ORDER_SEEDS").map_or(12, |seeds| seeds.parse().expect("a number"))
}

/// What a worker records for one entity.
fn record(commands: &mut Commands<'_>, entity: Entity, energy: u64, seed: u64) {
    let dice = mix(energy ^ seed);
    match dice % 16 {
        0 | 10 => commands.destroy(entity),
        1 => commands.add(entity, (Burning(dice as u32),)).unwrap(),
        2 => commands.remove::<(Burning,)>(entity).unwrap(),
        3 => commands.add(entity, (Marked,)).unwrap(),
        4 => commands.remove::<(Marked,)>(entity).unwrap(),
        5 => commands
            .set_shared(entity, Team((dice >> 8) as u8 % 3))
            .unwrap(),
        6 => {
            for n in 0..dice >> 8 & 3 {
                let child = commands
                    .create((Energy(mix(dice + n)), Parent(entity)))
                    .unwrap();
                commands.set(entity, Parent(child)).unwrap();
            }
        }
        7 => {
            let many = if dice >> 8 & 63 == 0 { 200 } else { 1 };
            let batch = (0..many).map(|n| (Energy(mix(dice ^ n)), Burning(n as u32)));
            let batch = commands.create_batch(batch).unwrap();
            let last = batch.iter(commands).last();
            if let Some(last) = last {
                commands.set(entity, Parent(last)).unwrap();
            }
        }
        8 if dice >> 8 & 1 == 0 => {
            let reserved = commands.reserve().unwrap();
            if dice & 512 == 0 {
                commands
                    .build(reserved, (Energy(mix(dice)), Marked))
                    .unwrap();
            } else {
                commands.destroy(reserved);
            }
        }
        9 => commands
            .swap::<(Marked,), _>(entity, (Burning(0),))
            .unwrap(),
        _ => commands.set(entity, Energy(mix(dice))).unwrap(),
    }
}

/// All that can be seen of a world.
fn look(world: &mut World, seen: &mut Vec<u64>) {
    seen.push(world.state_hash(&Default::default()).unwrap_or(0));
    seen.push(world.count() as u64);
    let mut chunks = Query::<(Entity, &Energy)>::new(world).unwrap();
    chunks
        .on(world)
        .for_each_chunk(|chunk, (entities, energies)| {
            seen.push(chunk.sort_key());
            seen.push(chunk.order_version().to_bits());
            seen.extend(entities.iter().map(|entity| entity.to_bits()));
            seen.extend(energies.iter().map(|energy| energy.0));
        });
}

fn run(pool: &ThreadPool, seed: u64) -> Vec<u64> {
    pool.install(|| {
        let universe = Arc::new(Universe::ordered());
        let mut world = World::of(&universe).unwrap();
        world.set_flush_threads_from(Some(1));
        let count = 200 + seed % 3_000;
        let _ = world
            .create_batch((0..count).map(|n| (Energy(mix(n ^ seed)),)))
            .unwrap();
        let mut seen = Vec::new();
        let mut all = Query::<(Entity, &Energy)>::new(&world).unwrap();
        for frame in 0..6 {
            let seed = mix(seed + frame);
            let commands = world.parallel_commands();
            all.on(&mut world)
                .par_for_each_chunk(|chunk, (entities, energies)| {
                    let mut commands = commands.open_at(chunk.sort_key());
                    for (&entity, energy) in entities.iter().zip(energies) {
                        record(&mut commands, entity, energy.0, seed);
                    }
                });
            let report = world.flush();
            assert_eq!(report.by_chance, 0, "{report:?}");
            seen.extend(
                [
                    report.created,
                    report.destroyed,
                    report.moved,
                    report.updated,
                    report.dead,
                ]
                .map(|n| n as u64),
            );
            world.check().unwrap();
            look(&mut world, &mut seen);
            // What the world does at once is in order too.
            let new = world.create((Energy(seed), Marked)).unwrap();
            seen.push(new.to_bits());
            if frame % 2 == 1 {
                world.destroy(new).unwrap();
            }
        }
        seen
    })
}

#[test]
fn the_world_is_the_same_for_any_number_of_threads() {
    let pools = THREADS.map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads can be had")
    });
    for seed in 0..seeds() {
        let first = run(&pools[0], seed);
        for (pool, threads) in pools.iter().zip(THREADS) {
            let seen = run(pool, seed);
            let same = seen.iter().zip(&first).take_while(|(a, b)| a == b).count();
            assert!(
                seen == first,
                "seed {seed}, {threads} threads: differs from entry {same} of {}",
                first.len()
            );
        }
    }
}

/// What a script does, whose fragments have no types: it tags, creates, destroys, chunk by chunk.
fn run_script(pool: &ThreadPool, seed: u64) -> Vec<u64> {
    pool.install(|| {
        let universe = Arc::new(Universe::ordered());
        let mut world = World::of(&universe).unwrap();
        world.set_flush_threads_from(Some(1));
        let registry = world.registry();
        let energy = registry.define_plain("energy", Layout::new::<u64>());
        let (energy, tag) = (
            energy.unwrap().id(),
            registry.define_plain("tag", Layout::new::<()>()),
        );
        let tag = tag.unwrap().id();
        let value = |of: &World, n: u64| Value::from_bytes(of.registry(), energy, &n.to_ne_bytes());
        for n in 0..3_000 + seed % 2_000 {
            let value = value(&world, mix(n ^ seed)).unwrap();
            let bundle = DynamicBundle::new().with(value);
            world.create_dynamic(bundle).unwrap();
        }
        let mut all = DynamicQuery::builder(&world).read(energy).build().unwrap();
        let mut seen = Vec::new();
        for frame in 0..4 {
            let parallel = world.parallel_commands();
            let run = |mut chunk: DynamicChunk<'_>| {
                let mut commands = parallel.open_at(chunk.sort_key());
                let energies = chunk.read(energy).unwrap().plain::<u64>().unwrap();
                for row in chunk.rows() {
                    let (entity, dice) = (chunk.entities()[row], mix(energies[row] ^ frame));
                    let bytes = dice.to_ne_bytes();
                    let new = Value::from_bytes(commands.registry(), energy, &bytes).unwrap();
                    let new = DynamicBundle::new().with(new);
                    match dice % 8 {
                        0 => commands.destroy(entity),
                        1 => _ = commands.create_dynamic(new).unwrap(),
                        2 => commands.add_dynamic(entity, new).unwrap(),
                        3 => {
                            let tag = Value::from_bytes(commands.registry(), tag, &[]).unwrap();
                            let tagged = DynamicBundle::new().with(tag);
                            commands.add_dynamic(entity, tagged).unwrap();
                        }
                        4 => commands.remove_dynamic(entity, &[tag]).unwrap(),
                        _ => {}
                    }
                }
            };
            if frame % 2 == 0 {
                all.on(&mut world).unwrap().par_for_each_chunk(run);
            } else {
                let every: Vec<Entity> = all.on(&mut world).unwrap().entities().collect();
                let some: Vec<Entity> = every.into_iter().step_by(3).collect();
                let mut all = all.on(&mut world).unwrap();
                assert!(all.par_for_each_in(&some, run).is_clean());
            }
            let report = world.flush();
            assert_eq!(report.by_chance, 0, "{report:?}");
            world.check().unwrap();
            seen.push(world.state_hash(&Default::default()).unwrap());
        }
        seen
    })
}

#[test]
fn a_script_that_records_chunk_by_chunk_does_the_same_on_any_number_of_threads() {
    let pools = THREADS.map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads can be had")
    });
    for seed in 0..seeds().min(50) {
        let first = run_script(&pools[0], seed);
        for (pool, threads) in pools.iter().zip(THREADS) {
            assert_eq!(
                run_script(pool, seed),
                first,
                "seed {seed}, {threads} threads"
            );
        }
    }
}

#[test]
fn a_dead_handle_stays_dead_and_indices_are_used_again() {
    let universe = Arc::new(Universe::ordered());
    let mut world = World::of(&universe).unwrap();
    world.set_flush_threads_from(Some(1));
    let mut dead = Vec::new();
    for round in 0..50_u64 {
        let batch = world
            .create_batch((0..1_000).map(|n| (Energy(n + round),)))
            .unwrap();
        let batch: Vec<Entity> = batch.iter(&world).collect();
        assert!(batch.iter().all(|entity| entity.index() < 1_000));
        assert!(dead.iter().all(|&entity| !world.exists(entity)));
        assert!(world.destroy_slice(&batch).is_clean());
        dead.extend(batch.into_iter().step_by(100));
    }
}

#[test]
fn pieces_of_work_have_ids_of_their_own() {
    let made = |order: &[u64]| {
        let universe = Arc::new(Universe::ordered());
        let mut world = World::of(&universe).unwrap();
        world.set_flush_threads_from(Some(1));
        let commands = world.parallel_commands_for(4);
        let mut ids = vec![Vec::new(); 4];
        for &piece in order {
            let mut commands = commands.open_at(piece);
            for n in 0..1_000 * piece {
                ids[piece as usize].push(commands.create((Energy(n),)).unwrap());
            }
        }
        assert_eq!(world.flush().by_chance, 0);
        // One that was not announced gets ids all the same.
        let late = commands.open_at(77).create((Energy(0),)).unwrap();
        let report = world.flush();
        assert_eq!((report.created, report.by_chance), (1, 1));
        assert!(world.is_built(late));
        ids
    };
    assert_eq!(made(&[0, 1, 2, 3]), made(&[3, 1, 0, 2]));
}

/// So large that a chunk holds eight: the first four of a recorder go where those of other recorders are.
#[derive(Clone, Copy)]
struct Large([u64; 250]);

/// Creates some singly, some in batches and as copies, which may be broken off; one recorder in three, and one of two
/// steps then, so many that little of what it has is a chunk.
fn create(commands: &mut Commands<'_>, ant: &Prototype, seed: u64) {
    for step in 0..8 {
        let random = mix(seed << 8 | step);
        let many = 1 + 20 * u64::from(mix(seed).is_multiple_of(3) && random >> 24 & 1 == 0);
        let (count, stop) = (random % 7 * many, (random >> 8 & 7) * many);
        let make = |n: u64| {
            if n == stop {
                resume_unwind(Box::new("enough"));
            }
            (Large([seed << 32 | step << 8 | n; 250]),)
        };
        let _ = catch_unwind(AssertUnwindSafe(|| match random >> 16 & 3 {
            0 => drop(commands.create_batch((0..count).map(make)).unwrap()),
            1 => {
                let make = |n| make(n as u64);
                let made = commands.create_copies_with(ant, count as usize, make);
                drop(made.unwrap());
            }
            _ => (0..count).for_each(|n| {
                commands.create(make(n)).unwrap();
            }),
        }));
    }
}

#[test]
fn ids_do_not_say_which_recorders_had_one_lane_whatever_is_broken_off() {
    // One recorder after the other, in one lane; or all at once, in a lane each; or two by two.
    let made = |seed: u64, at_once: usize| {
        let universe = Arc::new(Universe::ordered());
        let mut world = World::of(&universe).unwrap();
        let energy = Value::cloneable(world.registry(), Energy(7)).unwrap();
        let ant = Prototype::new(world.registry(), DynamicBundle::new().with(energy)).unwrap();
        let mut seen: Vec<Vec<(Entity, u64)>> = Vec::new();
        for round in 0..3 {
            let commands = world.parallel_commands_for(8);
            let pieces: Vec<u64> = (0..8).collect();
            for pieces in pieces.chunks(at_once) {
                let mut open: Vec<_> = pieces
                    .iter()
                    .map(|&piece| commands.open_at(piece))
                    .collect();
                for (commands, piece) in open.iter_mut().zip(pieces).rev() {
                    create(commands, &ant, (seed * 3 + round) * 8 + piece);
                }
            }
            assert_eq!(world.flush().by_chance, 0);
            world.universe().check([&world]).unwrap();
            let mut all = world.query::<(Entity, &Large), ()>().unwrap();
            all.for_each_chunk(|_, (entities, large)| {
                let values = large.iter().map(|large| large.0[249]);
                seen.push(entities.iter().copied().zip(values).collect());
            });
        }
        seen
    };
    for seed in 0..100 {
        let alone = made(seed, 1);
        assert!(made(seed, 8) == alone, "seed {seed}");
        assert!(made(seed, 2) == alone, "seed {seed}");
    }
}

/// A world in an ordered universe of 300 entities, and these.
fn three_hundred() -> (World, Vec<Entity>) {
    let (world, all, _) = three_hundred_behind(0);
    (world, all)
}

/// The same, and before them so many ids that are reserved.
fn three_hundred_behind(reserved: usize) -> (World, Vec<Entity>, Vec<Entity>) {
    let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
    let reserved = (0..reserved).map(|_| world.reserve().unwrap());
    let reserved = reserved.collect();
    let all = (0..300).map(|n| world.create((Energy(n),)).unwrap());
    let all = all.collect();
    (world, all, reserved)
}

#[test]
fn the_lowest_free_index_comes_next_however_its_entity_was_destroyed() {
    type Way = fn(&mut World, &[Entity]);
    let ways: [Way; 4] = [
        |world, gone| gone.iter().for_each(|&one| world.destroy(one).unwrap()),
        |world, gone| assert_eq!(world.destroy_slice(gone).done, gone.len()),
        |world, gone| {
            let mut commands = world.commands();
            gone.iter().for_each(|&one| commands.destroy(one));
            drop(commands);
            let _ = world.flush();
        },
        |world, gone| {
            for &one in gone {
                world.add(one, (Marked,)).unwrap();
            }
            let mut marked = Query::<Entity, With<Marked>>::new(world).unwrap();
            assert_eq!(marked.change(world).destroy(), gone.len());
        },
    ];
    // In order and in none, alone, neighbours, some of each; two words of slots, and one that is whole.
    let sets: [Vec<usize>; 6] = [
        vec![3],
        vec![20, 9, 3],
        vec![250, 3, 4, 5, 130, 131],
        (3..40).collect(),
        (64..128).rev().collect(),
        (64..192).step_by(3).chain([299, 1]).collect(),
    ];
    for (number, way) in ways.iter().enumerate() {
        for set in &sets {
            let (mut world, all) = three_hundred();
            let gone: Vec<Entity> = set.iter().map(|&n| all[n]).collect();
            way(&mut world, &gone);
            let mut indices: Vec<u32> = gone.iter().map(|one| one.index()).collect();
            indices.sort_unstable();
            for index in indices {
                let next = world.create((Marked,)).unwrap();
                assert_eq!(next.index(), index, "way {number}, {set:?}");
            }
            world.check().unwrap();
        }
    }
}

#[test]
fn what_is_created_and_destroyed_together_has_the_ids_of_as_many_single_calls() {
    let [mut together, mut singly] =
        [(); 2].map(|()| World::of(&Arc::new(Universe::ordered())).unwrap());
    let mut all = Query::<&Energy>::new(&together).unwrap();
    let mut living: Vec<Entity> = Vec::new();
    let mut dice = 5;
    let mut roll = move |sides: usize| {
        dice = mix(dice);
        dice as usize % sides
    };
    for round in 0..60 {
        // More than a chunk's part of rows, some times.
        let many = [1, 40, 64, 700, 3_000][roll(5)];
        let values = || (0..many as u64).map(|n| (Energy(n),));
        let expected: Vec<Entity> = values().map(|one| singly.create(one).unwrap()).collect();
        let batch = together.create_batch(values()).unwrap();
        let created = batch.to_vec(&together);
        assert_eq!(created, expected, "round {round}");
        living.extend(created);
        if roll(2) == 0 {
            (1..living.len()).for_each(|at| living.swap(at, roll(at + 1)));
        }
        let at = roll(living.len());
        let gone: Vec<Entity> = living
            .drain(at..(at + roll(2 * many)).min(living.len()))
            .collect();
        match roll(4) {
            0 => {
                let mut commands = together.commands();
                gone.iter().for_each(|&one| commands.destroy(one));
                drop(commands);
                assert_eq!(together.flush().destroyed, gone.len());
            }
            _ => assert_eq!(together.destroy_slice(&gone).done, gone.len()),
        }
        gone.iter().for_each(|&one| singly.destroy(one).unwrap());
        let mut reserved = [Entity::PLACEHOLDER; 70];
        together.universe().reserve_slice(&mut reserved).unwrap();
        let expected = [(); 70].map(|()| singly.universe().reserve().unwrap());
        assert_eq!(reserved, expected, "round {round}");
        for &id in &reserved {
            together.release(id).unwrap();
            singly.release(id).unwrap();
        }
        if round % 30 == 29 {
            assert_eq!(all.change(&mut together).destroy(), living.len());
            living
                .drain(..)
                .for_each(|one| singly.destroy(one).unwrap());
        }
        together.check().unwrap();
        assert_eq!(together.count(), living.len());
    }
}

#[test]
fn ids_do_not_depend_on_who_destroyed_a_slice() {
    let run = |elsewhere: bool| {
        let (mut world, all, reserved) = three_hundred_behind(1);
        let gone = [20, 9, 3].map(|n| all[n]);
        world.destroy_slice(&gone).into_result().unwrap();
        let rest = |world: &mut World| {
            world.release(reserved[0]).unwrap();
            [0; 6].map(|_| world.create((Marked,)).unwrap())
        };
        match elsewhere {
            true => std::thread::scope(|scope| {
                let other = scope.spawn(|| rest(&mut world));
                other.join().unwrap()
            }),
            false => rest(&mut world),
        }
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn slices_that_a_flush_destroys_leave_the_same_ids_for_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new();
        let pool = pool.num_threads(threads).build().unwrap();
        let (mut world, all, reserved) = three_hundred_behind(50);
        let mut made = Vec::new();
        for (round, &reserved) in reserved.iter().enumerate() {
            let (one, two) = (all[round * 3], all[round * 3 + 1]);
            let gone = move |world: &mut World| drop(world.destroy_slice(&[two, one]));
            world.commands().defer(gone);
            let _ = pool.install(|| world.flush());
            world.commands().destroy(reserved);
            let _ = pool.install(|| world.flush());
            made.extend([0; 3].map(|_| world.create((Marked,)).unwrap()));
        }
        made
    };
    let one = run(1);
    for threads in THREADS {
        assert_eq!(run(threads), one, "{threads} threads");
    }
}

#[test]
fn of_more_pieces_than_there_are_ids_the_first_have_their_own() {
    let (mut world, _) = three_hundred();
    for pieces in [1 << 32, usize::MAX] {
        let commands = world.parallel_commands_for(pieces);
        for piece in [0, 5, 70_000] {
            commands.open_at(piece).create((Marked,)).unwrap();
        }
        drop(commands);
        assert_eq!(world.flush().by_chance, 0);
    }
}

#[test]
fn the_lowest_free_index_comes_next_when_recorders_have_closed() {
    let universe = Arc::new(Universe::ordered());
    let mut world = World::of(&universe).unwrap();
    let commands = world.parallel_commands_for(4);
    let mut recorder = commands.open_at(0);
    let recorded = recorder.create((1_u32,)).unwrap();
    // The recorder has all of the first 64.
    let own = world.create((2_u32,)).unwrap();
    drop(recorder);
    assert_eq!(world.flush().by_chance, 0);
    universe.check([&world]).unwrap();
    let next = world.create((3_u32,)).unwrap();
    assert_eq!((recorded.index(), own.index(), next.index()), (0, 64, 1));
}

#[test]
fn the_lowest_free_index_comes_next_whatever_threads_did_beside_each_other() {
    for _ in 0..20 {
        let universe = Arc::new(Universe::ordered());
        let mut world = World::of(&universe).unwrap();
        let mine: Vec<Entity> = (0..640).map(|_| world.reserve().unwrap()).collect();
        let commands = world.parallel_commands_for(8);
        std::thread::scope(|scope| {
            let (universe, world, commands) = (&universe, &world, &commands);
            for _ in 0..2 {
                scope.spawn(move || (0..1_000).for_each(|_| assert!(universe.reserve().is_ok())));
            }
            scope.spawn(move || {
                for key in 0..8 {
                    let mut recorder = commands.open_at(key);
                    for n in 0..100_u32 {
                        recorder.create((n,)).unwrap();
                    }
                }
            });
            // From the highest down: each is lower than what was free.
            for &entity in mine.iter().rev() {
                world.release(entity).unwrap();
            }
        });
        assert!(world.flush().is_clean());
        universe.check([&world]).unwrap();
        let next = [(); 2].map(|()| world.create((1_u8,)).unwrap().index());
        assert!(next[0] < next[1], "{next:?}");
    }
}

#[test]
fn ids_of_a_recorder_whose_key_is_no_chunks_are_counted() {
    let universe = Arc::new(Universe::ordered());
    let mut world = World::of(&universe).unwrap();
    world.create((1_u32,)).unwrap();
    world.create((1_u64,)).unwrap();
    let commands = world.parallel_commands();
    // The second chunk of an archetype that has one.
    let mut recorder = commands.open_at(1);
    recorder.create((2_u32,)).unwrap();
    drop(recorder);
    assert_eq!(world.flush().by_chance, 1);
}

#[test]
fn a_processor_has_ids_for_as_many_pieces_as_it_says() {
    let run = |pieces: u32, asked: u32, backwards: bool| {
        let universe = Arc::new(Universe::ordered());
        let mut world = World::of(&universe).unwrap();
        let spawn = processor("spawn", move |commands: ParallelCommands| {
            let pieces: Vec<u64> = match backwards {
                false => (0..u64::from(pieces)).collect(),
                true => (0..u64::from(pieces)).rev().collect(),
            };
            for piece in pieces {
                commands.open_at(piece).create((Energy(piece),)).unwrap();
            }
        });
        // Another beside it has its own.
        let beside = processor("beside", |mut commands: Commands<'_>| {
            commands.create((Burning(1),)).unwrap();
        });
        let mut schedule = Schedule::new();
        schedule.add(spawn.pieces(asked)).add(beside);
        let report = schedule.run(&mut world).unwrap();
        assert_eq!(report.flush.created, pieces as usize + 1);
        let mut all = Query::<(Entity, &Energy)>::new(&world).unwrap();
        let mut all: Vec<(Entity, u64)> = (all.on(&mut world).iter())
            .map(|(entity, energy)| (entity, energy.0))
            .collect();
        all.sort_unstable();
        (report.flush.by_chance, all)
    };
    assert_eq!(run(64, 0, false).0, 0, "so many it has unasked");
    assert_eq!(run(500, 0, false).0, 436);
    let (by_chance, ids) = run(500, 500, false);
    assert_eq!(by_chance, 0);
    assert_eq!(run(500, 500, true), (0, ids), "whatever comes first");
    assert_eq!(run(500, 499, false).0, 1);
}
