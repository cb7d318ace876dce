//! How what one recorder has created joins the world: chunks of its own as they are, or their rows where there is room.

use megachunk::prelude::*;

type Ant = [u64; 4];

/// A world in which so many of a dozen chunks' rows are free, at its end, and the rows of a chunk. However many come
/// that is no eighth of all.
fn nearly_full(free: usize) -> (World, usize) {
    let mut world = World::new();
    world.set_chunk_size(1);
    world.create((Ant::default(),)).unwrap();
    let rows = world.stats().capacity;
    world.clear();
    // The first one would begin small.
    world.trim();
    let ants = (0..12 * rows - free).map(|_| (Ant::default(),));
    assert_eq!(world.create_batch(ants).unwrap().len(), 12 * rows - free);
    assert_eq!(lengths(&world)[11], rows - free);
    assert_eq!(rows % 2, 0, "half of it is as much as is left");
    (world, rows)
}

/// How many entities each chunk has.
fn lengths(world: &World) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut all = world.read::<Entity, ()>().unwrap();
    all.for_each_chunk(|_, entities| lengths.push(entities.len()));
    lengths
}

/// What so many that come leave in the chunks behind the first dozen; in ascending order.
fn come(world: &mut World, count: usize) -> Vec<usize> {
    let mut commands = world.commands();
    for n in 0..count {
        commands.create(([n as u64; 4],)).unwrap();
    }
    drop(commands);
    let report = world.flush();
    assert_eq!((report.created, report.is_clean()), (count, true));
    world.check().unwrap();
    let mut behind = lengths(world).split_off(12);
    behind.sort_unstable();
    behind
}

#[test]
fn the_end_of_what_came_tops_up_a_chunk_if_it_is_less_than_half_of_one() {
    let (mut world, rows) = nearly_full(0);
    let half = rows / 2;
    // The first half a chunk's worth is copied to a chunk, which has room for as many.
    assert_eq!(come(&mut world, rows), [half, half]);
    let (mut world, _) = nearly_full(0);
    assert_eq!(come(&mut world, rows - 1), [rows - 1]);
}

#[test]
fn the_end_of_many_stays_a_chunk_if_little_is_empty_for_so_many() {
    let (_, rows) = nearly_full(0);
    let half = rows / 2;
    // Of a last chunk that is less than half full, a sixteenth of all that come is empty, or a row more.
    let empty = |count: &usize| rows - (count - half) % rows;
    let is_short = |count: &usize| (half + 1..rows).contains(&empty(count));
    let mut counts = (8 * rows..16 * rows).filter(is_short);
    let stays = counts.clone().find(|count| empty(count) == count / 16);
    let (stays, joins) = (
        stays.unwrap(),
        counts.find(|count| empty(count) == count / 16 + 1),
    );
    let joins = joins.unwrap();
    // The first ones have a chunk to themselves, with room for all of the last.
    let (mut world, _) = nearly_full(0);
    let behind = come(&mut world, stays);
    assert_eq!(behind[..3], [rows - empty(&stays), half, rows]);
    let (mut world, _) = nearly_full(0);
    let behind = come(&mut world, joins);
    assert_eq!(behind[..2], [half + rows - empty(&joins), rows]);
}

#[test]
fn the_first_of_many_have_a_chunk_to_themselves_and_those_of_fewer_top_one_up() {
    for (fewer, left) in [(0, 3), (1, 0)] {
        let (mut world, rows) = nearly_full(3);
        // Half a chunk is a sixteenth of them, or a row less than that.
        let behind = come(&mut world, 8 * rows - fewer);
        assert_eq!(lengths(&world)[11], rows - left, "{behind:?}");
    }
}
