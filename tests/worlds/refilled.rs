//! Chunks that were full, and from which entities have gone: when others come to them again.

use megachunk::prelude::*;
use megachunk::world::{Budget, CompactReport, SnapshotOptions};

use crate::compacted::chunks;

/// A world of full chunks, and one row for each of them that is free before entities come to it again: a 32nd of all.
fn full(count: usize) -> (World, Vec<Vec<Entity>>, usize) {
    let mut world = World::new();
    world.set_chunk_size(1);
    world.create((0_u64,)).unwrap();
    let rows = world.stats().capacity;
    world.clear();
    // The first one would begin folded.
    world.trim();
    let _ = world
        .create_batch((0..rows * count).map(|n| (n as u64,)))
        .unwrap();
    let chunks = chunks(&world);
    assert_eq!(chunks.len(), count);
    assert!(chunks.iter().all(|entities| entities.len() == rows));
    (world, chunks, rows / 32)
}

/// Destroys the last entities of a chunk.
fn destroy_last(world: &mut World, chunk: &[Entity], count: usize) {
    for &entity in &chunk[chunk.len() - count..] {
        world.destroy(entity).unwrap();
    }
    world.check().unwrap();
}

/// In which chunk an entity is.
fn chunk_of(world: &World, entity: Entity) -> usize {
    let chunks = chunks(world);
    let found = chunks.iter().position(|chunk| chunk.contains(&entity));
    found.unwrap()
}

#[test]
fn of_many_chunks_a_full_one_is_filled_again_when_a_32nd_of_it_is_free() {
    let (mut world, all, slack) = full(10);
    assert!(slack > 4);
    destroy_last(&mut world, &all[3], slack - 1);
    // Not worth a change of the list: another chunk comes.
    let elsewhere = world.create((1_u64,)).unwrap();
    assert_eq!(chunk_of(&world, elsewhere), 10);
    let left = all[3].len() - slack;
    destroy_last(&mut world, &all[3][..=left], 1);
    let come: Vec<Entity> = (0..slack)
        .map(|n| world.create((n as u64,)).unwrap())
        .collect();
    assert_eq!(chunks(&world)[3][left..], come);
    // It is full, and the other one is filled.
    let next = world.create((1_u64,)).unwrap();
    assert_eq!(chunks(&world)[10], [elsewhere, next]);
    world.check().unwrap();
}

#[test]
fn however_they_go_the_chunk_is_filled_again() {
    type Way = fn(&mut World, &[Entity]);
    let ways: [Way; 5] = [
        |world, gone| gone.iter().for_each(|&ant| world.destroy(ant).unwrap()),
        |world, gone| assert_eq!(world.destroy_slice(gone).done, gone.len()),
        |world, gone| assert_eq!(world.add_slice(gone, |_| (1_u8,)).done, gone.len()),
        |world, gone| {
            for &ant in gone {
                world.add(ant, (1_u8,)).unwrap();
            }
        },
        |world, gone| {
            let mut commands = world.commands();
            gone.iter().for_each(|&ant| commands.destroy(ant));
            drop(commands);
            assert!(world.flush().is_clean());
        },
    ];
    for (number, way) in ways.into_iter().enumerate() {
        for extra in [0, 7] {
            let (mut world, all, slack) = full(10);
            let scattered: Vec<Entity> = (all[6].iter().copied().step_by(3))
                .take(slack + extra)
                .collect();
            way(&mut world, &scattered);
            world.check().unwrap();
            let come = world.create((1_u64,)).unwrap();
            assert_eq!(chunk_of(&world, come), 6, "way {number}, {extra} more");
        }
    }
}

#[test]
fn where_chunks_are_few_none_comes_while_there_is_room() {
    let (mut world, all, slack) = full(3);
    for (chunk, entities) in all.iter().enumerate() {
        destroy_last(&mut world, entities, 1 + chunk % (slack - 1));
    }
    let free: usize = (0..3).map(|chunk| 1 + chunk % (slack - 1)).sum();
    for n in 0..free {
        world.create((n as u64,)).unwrap();
        world.check().unwrap();
    }
    let stats = world.stats();
    assert_eq!((stats.chunks, stats.occupancy()), (3, 1.0));
    world.create((0_u64,)).unwrap();
    assert_eq!(world.stats().chunks, 4);
}

#[test]
fn eight_chunks_are_few_and_nine_are_not() {
    for (count, filled) in [(8, 3), (9, 9)] {
        let (mut world, all, _) = full(count);
        destroy_last(&mut world, &all[3], 1);
        let come = world.create((1_u64,)).unwrap();
        assert_eq!(chunk_of(&world, come), filled, "of {count}");
        world.check().unwrap();
    }
}

#[test]
fn a_chunk_that_began_small_is_filled_again_when_a_32nd_of_all_its_rows_is_free() {
    let (_, all, slack) = full(1);
    let rows = all[0].len();
    let mut world = World::new();
    world.set_chunk_size(1);
    // One by one: the first chunk has its arrays close together at first.
    for n in 0..10 * rows {
        world.create((n as u64,)).unwrap();
    }
    let all = chunks(&world);
    assert!(all.len() == 10 && all.iter().all(|entities| entities.len() == rows));
    destroy_last(&mut world, &all[0], slack - 1);
    let elsewhere = world.create((1_u64,)).unwrap();
    assert_eq!(chunk_of(&world, elsewhere), 10);
    destroy_last(&mut world, &all[0][..=rows - slack], 1);
    let come = world.create((1_u64,)).unwrap();
    assert_eq!(chunk_of(&world, come), 0);
    world.check().unwrap();
}

#[test]
fn a_chunk_of_several_is_handed_over_where_there_is_room_for_fewer() {
    struct Tag;
    for (free, filled) in [(1, 3), (4, 3), (5, 1)] {
        let (mut world, all, slack) = full(3);
        assert!(slack > 5, "so much room does not open a chunk");
        destroy_last(&mut world, &all[1], free);
        let batch = world.create_batch((0..5_u64).map(|n| (n, Tag))).unwrap();
        let some: Vec<Entity> = batch.iter(&world).collect();
        assert!(world.remove_slice::<(Tag,)>(&some).is_clean());
        for &ant in &some {
            assert_eq!(chunk_of(&world, ant), filled, "{free} are free");
        }
        world.check().unwrap();
    }
}

#[test]
fn chunks_of_groups_and_with_chunk_fragments_are_filled_as_soon_as_a_row_is_free() {
    let mut world = World::new();
    world.set_chunk_size(1);
    let mut all = Vec::new();
    // Two full chunks of each group, and more in all than are few.
    for team in 0..10_u8 {
        let before = world.stats().chunks;
        while world.stats().chunks < before + 3 {
            all.push(world.create(([0_u64; 4],).shared(team)).unwrap());
        }
        world.destroy(all.pop().unwrap()).unwrap();
    }
    while world.stats().chunks < 40 {
        all.push(world.create(([0_u64; 4],).per_chunk('c')).unwrap());
    }
    world.destroy(all.pop().unwrap()).unwrap();
    let before = world.stats();
    assert_eq!((before.chunks, before.occupancy()), (39, 1.0));
    for ant in all.into_iter().step_by(97) {
        let team = world.shared::<u8>(ant).ok().copied();
        let chunk = chunk_of(&world, ant);
        world.destroy(ant).unwrap();
        let come = match team {
            Some(team) => world.create(([0_u64; 4],).shared(team)),
            None => world.create(([0_u64; 4],).per_chunk('c')),
        };
        assert_eq!(chunk_of(&world, come.unwrap()), chunk);
    }
    world.check().unwrap();
    assert_eq!(world.stats().chunks, 39);
}

#[test]
fn whoever_brings_a_chunk_fills_what_has_room_first() {
    struct Tag;
    // Those that have room for one have no tag; a single one loses it, whose chunk could be handed over.
    let (mut world, all, _) = full(3);
    destroy_last(&mut world, &all[1], 2);
    let single = world.create((7_u64, Tag)).unwrap();
    let report = world.remove_slice::<(Tag,)>(&[single]);
    assert!(report.is_clean());
    assert_eq!(chunk_of(&world, single), 1);
    // Or a recorder has created it.
    let mut commands = world.commands();
    let recorded = commands.create((8_u64,)).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(chunk_of(&world, recorded), 1);
    // Of those with a tag an empty one is kept.
    world.trim();
    assert_eq!((world.stats().occupancy(), world.stats().chunks), (1.0, 3));
    world.check().unwrap();
}

#[test]
fn entities_that_come_and_go_all_over_leave_no_more_than_a_32nd_free() {
    let (mut world, all, slack) = full(20);
    let mut all = all.concat();
    let before = world.stats();
    let mut state = 1_u64;
    for _ in 0..20 * all.len() {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let at = (state >> 33) as usize % all.len();
        world.destroy(all[at]).unwrap();
        all[at] = world.create((state,)).unwrap();
    }
    world.check().unwrap();
    let after = world.stats();
    assert_eq!(after.entities, before.entities);
    assert!(after.chunks > 20 && after.chunks <= 20 + (20 * slack).div_ceil(slack * 32) + 1);
}

#[test]
fn compaction_fills_what_is_not_filled_otherwise() {
    let (mut world, all, slack) = full(40);
    // A chunk's worth of room, and in no chunk enough to be filled.
    for entities in &all {
        destroy_last(&mut world, entities, slack - 1);
    }
    assert!(40 * (slack - 1) >= all[0].len());
    let report = world.compact(Budget::Unlimited);
    assert_eq!((report.chunks, report.is_done), (1, true));
    assert_eq!(report.entities, all[0].len() - (slack - 1));
    world.check().unwrap();
    let nothing = world.compact(Budget::Unlimited);
    assert_eq!((nothing.entities, nothing.chunks), (0, 0));
}

#[test]
fn compaction_fills_the_fullest_first_and_moves_each_entity_once() {
    let (mut world, all, slack) = full(4);
    let rows = all[0].len();
    // 3, 1, 2 and all 32nds but one are left.
    let left = [3 * slack, slack, 2 * slack, rows - slack];
    for (entities, left) in all.iter().zip(left) {
        destroy_last(&mut world, entities, rows - left);
    }
    let report: CompactReport = world.compact(Budget::Entities(slack));
    assert_eq!((report.entities, report.is_done), (slack, false));
    // The emptiest came to the fullest.
    let now: Vec<usize> = chunks(&world).iter().map(Vec::len).collect();
    assert!(now.contains(&rows) && now.contains(&(3 * slack)) && now.contains(&(2 * slack)));
    let report = world.compact(Budget::Unlimited);
    assert_eq!((report.entities, report.is_done), (2 * slack, true));
    let now: Vec<usize> = chunks(&world).iter().map(Vec::len).collect();
    assert_eq!(now.iter().sum::<usize>(), left.iter().sum::<usize>());
    assert_eq!(now.len(), 2);
    world.check().unwrap();
}

#[test]
fn a_copy_from_a_file_is_filled_as_the_world_is() {
    let (mut world, all, slack) = full(12);
    world.registry().register_plain::<u64>().unwrap();
    // One that is filled, two that are not yet, and those that are full.
    destroy_last(&mut world, &all[2], slack - 1);
    destroy_last(&mut world, &all[5], slack + 1);
    destroy_last(&mut world, &all[9], 1);
    let come = world.create((1_u64,)).unwrap();
    assert_eq!(chunk_of(&world, come), 5);
    let bytes = world.to_snapshot(&SnapshotOptions::new()).unwrap();
    let universe = Universe::new();
    universe.registry().register_plain::<u64>().unwrap();
    let mut copy = World::from_snapshot(&bytes, universe, &Default::default()).unwrap();
    copy.check().unwrap();
    let values = |world: &World| -> Vec<Vec<u64>> {
        let mut all = world.read::<&u64, ()>().unwrap();
        let mut chunks = Vec::new();
        all.for_each_chunk(|_, values| chunks.push(values.to_vec()));
        chunks
    };
    for world in [&mut world, &mut copy] {
        for n in 0..3 * slack as u64 {
            world.create((n,)).unwrap();
        }
        world.destroy(all[2][0]).unwrap();
        for n in 0..slack as u64 {
            world.create((n,)).unwrap();
        }
        world.check().unwrap();
    }
    assert_eq!(values(&world), values(&copy));
    assert_eq!(values(&world)[2].len(), all[2].len());
}

#[test]
fn a_chunk_that_is_handed_over_takes_nothing_in_between() {
    struct Tag;
    let (mut world, all, _) = full(1);
    // In the other composition, from where some come to the first one.
    let others: Vec<Entity> = (0..3_u64)
        .map(|n| world.create((n, 1_u8)).unwrap())
        .collect();
    // It has room, but not enough to be filled.
    destroy_last(&mut world, &all[0], 1);
    let going = &all[0][..all[0].len() - 1];
    let mut commands = world.commands();
    for &ant in going {
        commands.add(ant, (Tag,)).unwrap();
    }
    for &ant in &others {
        commands.remove::<(u8,)>(ant).unwrap();
    }
    drop(commands);
    assert!(world.flush().is_clean());
    world.check().unwrap();
    // The chunk has gone to those with a tag, and what came is in another one.
    assert!(going.iter().all(|&ant| world.has::<Tag>(ant).unwrap()));
    let chunks = chunks(&world);
    assert!(chunks.contains(&going.to_vec()) && chunks.contains(&others));
}
