//! Compaction of chunks that are not of one length.

use megachunk::prelude::*;
use megachunk::world::Budget;

/// The entities of each chunk that has some.
fn chunks(world: &World) -> Vec<Vec<Entity>> {
    let mut chunks = Vec::new();
    let mut all = world.read::<Entity, ()>().unwrap();
    all.for_each_chunk(|_, entities| chunks.push(entities.to_vec()));
    chunks
}

/// How many entities are left of each chunk.
fn lengths(world: &World) -> Vec<usize> {
    chunks(world).iter().map(Vec::len).collect()
}

/// A world of full chunks, which become longer with each.
fn full() -> (World, Vec<Vec<Entity>>) {
    let mut world = World::new();
    for n in 0..60_000_u64 {
        world.create((n, [n; 6])).unwrap();
    }
    while world.stats().occupancy() < 1.0 {
        world.create((0_u64, [0_u64; 6])).unwrap();
    }
    let all = chunks(&world);
    (world, all)
}

/// Leaves the first entities of some chunks, and all of the others.
fn leave(world: &mut World, all: &[Vec<Entity>], left: &[(usize, usize)]) {
    for &(chunk, count) in left {
        for &ant in &all[chunk][count..] {
            world.destroy(ant).unwrap();
        }
    }
    world.check().unwrap();
}

#[test]
fn the_fullest_for_its_length_is_filled_first_and_not_the_one_with_the_most_entities() {
    let (mut world, all) = full();
    let rows = all[0].len();
    let long = all.iter().position(|ants| ants.len() >= 4 * rows).unwrap();
    let half = all[long].len() / 2;
    assert!(all[1].len() == rows && half > rows);
    // The second is the emptiest.
    let left = [(0, rows - 9), (1, rows / 5), (long, half)];
    leave(&mut world, &all, &left);
    let report = world.compact(Budget::Entities(9));
    assert_eq!((report.entities, report.is_done), (9, false));
    world.check().unwrap();
    let now = lengths(&world);
    assert_eq!((now[0], now[1], now[long]), (rows, rows / 5 - 9, half));
}

#[test]
fn the_emptiest_for_its_length_is_emptied_first_and_not_the_one_with_the_fewest_entities() {
    let (mut world, all) = full();
    let rows = all[0].len();
    let long = all.iter().position(|ants| ants.len() >= 4 * rows).unwrap();
    let other = (long + 1..all.len()).find(|&at| all[at].len() == all[long].len());
    let other = other.unwrap();
    // A tenth of a long chunk is more than a third of a short one.
    let few = all[long].len() / 10;
    assert!(few > rows / 3);
    let left = [(0, rows / 3), (long, few), (other, few * 5)];
    leave(&mut world, &all, &left);
    let report = world.compact(Budget::Entities(9));
    assert_eq!((report.entities, report.is_done), (9, false));
    world.check().unwrap();
    let now = lengths(&world);
    assert_eq!(
        (now[0], now[long], now[other]),
        (rows / 3, few - 9, few * 5 + 9)
    );
}

#[test]
fn a_budget_of_no_entities_moves_one_so_that_calls_come_to_an_end() {
    let (mut world, all) = full();
    let rows = all[0].len();
    leave(&mut world, &all, &[(0, 5), (1, rows - 9)]);
    for moved in 1..=5 {
        let report = world.compact(Budget::Entities(0));
        assert_eq!((report.entities, report.chunks), (1, moved / 5));
        world.check().unwrap();
    }
    assert!(world.compact(Budget::Entities(0)).is_done);
}
