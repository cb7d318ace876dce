//! Compaction of chunks that are not of one length.

use megachunk::prelude::*;
use megachunk::world::Budget;

/// The entities of each chunk that has some.
pub(crate) fn chunks(world: &World) -> Vec<Vec<Entity>> {
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

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Region(u32);
megachunk::plain!(Region { 0 });

/// Is more than its bytes, as far as a world knows.
#[derive(Clone, Debug, PartialEq)]
struct Weather(u32);

/// Twelve chunks, with values of chunks from `of`, of whose entities a quarter is left; one entity of each.
fn quartered<T: Fragment + Clone>(of: impl Fn(u32) -> T) -> (World, Vec<Entity>) {
    let mut world = World::new();
    world.set_chunk_size(1);
    let batch = world.create_batch((0..20_000_u64).map(|n| (n,).per_chunk(of(0))));
    let _ = batch.unwrap();
    let mut chunks = chunks(&world);
    for ant in chunks.split_off(12).into_iter().flatten() {
        world.destroy(ant).unwrap();
    }
    for (chunk, n) in chunks.iter().zip(0..) {
        *world.chunk_fragment_mut::<T>(chunk[0]).unwrap() = of(n);
        let gone: Vec<Entity> = chunk[1..]
            .iter()
            .copied()
            .filter(|ant| ant.index() % 4 != 0)
            .collect();
        assert!(world.destroy_slice(&gone).is_clean());
    }
    (world, chunks.iter().map(|chunk| chunk[0]).collect())
}

#[test]
fn entities_come_to_chunks_with_the_chunk_fragments_that_they_had() {
    // Three regions, of four chunks each.
    let (mut world, ants) = quartered(|n| Region(n % 3));
    let plain = world.registry().register_plain::<PerChunk<Region>>();
    plain.unwrap();
    let region = |world: &World, ant| *world.chunk_fragment::<Region>(ant).unwrap();
    let before: Vec<Region> = ants.iter().map(|&ant| region(&world, ant)).collect();
    let mut calls = 0;
    while !world.compact(Budget::Entities(100)).is_done {
        calls += 1;
        world.check().unwrap();
    }
    assert!(calls > 10);
    let after: Vec<Region> = ants.iter().map(|&ant| region(&world, ant)).collect();
    assert_eq!(after, before);
    assert!(
        (3..=6).contains(&world.stats().chunks),
        "{}",
        world.stats().chunks
    );

    let (mut world, ants) = quartered(|n| Weather(n % 3));
    let weather = |world: &World, ant| world.chunk_fragment::<Weather>(ant).unwrap().clone();
    let before: Vec<Weather> = ants.iter().map(|&ant| weather(&world, ant)).collect();
    let report = world.compact(Budget::Unlimited);
    assert_eq!((report.entities, report.is_done), (0, true));
    let after: Vec<Weather> = ants.iter().map(|&ant| weather(&world, ant)).collect();
    assert_eq!(after, before);
    world.check().unwrap();
}
