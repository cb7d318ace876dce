//! From how many free rows on chunks that come whole are to fill them: no fewer than they have entities, and more than
//! an eighth of all.

use crate::archetype::scarce::Scarce;
use crate::fragment::Bundle;
use crate::prelude::*;

#[derive(Clone, Copy)]
#[expect(dead_code, reason = "it takes its bytes")]
struct Ant([u64; 4]);
struct Tag;

/// Rows of a chunk of ants in a world that lays each out as one of 16 KiB.
fn rows_of_a_chunk(world: &mut World) -> usize {
    world.set_chunk_size(1);
    world.create((Ant([0; 4]),)).unwrap();
    let rows = world.archetypes[0].least_capacity;
    world.clear();
    world.trim();
    rows as usize
}

/// Fills so many chunks to their last rows; their entities, the first of each, then the second of each.
fn fill<B: Bundle>(
    world: &mut World,
    chunks: usize,
    rows: usize,
    bundle: fn() -> B,
) -> Vec<Entity> {
    let before = world.stats().chunks;
    let batch = world.create_batch((0..chunks * rows).map(|_| bundle()));
    let ants: Vec<Entity> = batch.unwrap().iter(world).collect();
    let stats = world.stats();
    assert_eq!((stats.chunks - before, stats.occupancy()), (chunks, 1.0));
    let by_row = (0..rows).flat_map(|row| (0..chunks).map(move |chunk| chunk * rows + row));
    by_row.map(|at| ants[at]).collect()
}

/// A way by which all tagged ants come to those without a tag.
type Way = fn(&mut Scarce, &mut World, &[Entity]);

const WAYS: [(&str, Way); 3] = [
    ("slice", |scarce, world, ants| {
        scarce.leave(0);
        assert!(world.remove_slice::<(Tag,)>(ants).is_clean());
    }),
    ("query", |scarce, world, ants| {
        scarce.leave(0);
        let tagged = world.matching::<With<Tag>>().unwrap();
        assert_eq!(tagged.remove::<(Tag,)>().unwrap(), ants.len());
    }),
    ("flush", |scarce, world, ants| {
        let mut commands = world.commands();
        for &ant in ants {
            commands.remove::<(Tag,)>(ant).unwrap();
        }
        drop(commands);
        scarce.leave(0);
        let report = world.flush();
        assert!(report.is_clean(), "{report:?}");
    }),
];

#[test]
fn a_chunk_is_handed_over_without_memory_where_less_is_free_than_it_has_entities() {
    let mut scarce = Scarce::new();
    for (name, way) in WAYS {
        scarce.leave(64);
        let mut world = World::of(&scarce.universe).unwrap();
        let rows = rows_of_a_chunk(&mut world);
        let ants = fill(&mut world, 4, rows, || (Ant([1; 4]),));
        let tagged = fill(&mut world, 1, rows, || (Ant([2; 4]), Tag));
        // More than an eighth of all, and yet not room for all that come.
        let free = rows * 7 / 10;
        assert!(free > 5 * rows / 8 + 1);
        for &ant in &ants[..free] {
            world.destroy(ant).unwrap();
        }
        way(&mut scarce, &mut world, &tagged);
        assert!(
            tagged.iter().all(|&ant| !world.has::<Tag>(ant).unwrap()),
            "{name}"
        );
        let data = &world.archetypes[0];
        assert_eq!(
            (data.chunks.len(), data.entities),
            (5, 5 * rows - free),
            "{name}"
        );
        scarce.check(&world);
    }
}

#[test]
fn a_recorders_full_chunk_joins_without_memory_where_less_is_free_than_it_has_entities() {
    let mut scarce = Scarce::new();
    scarce.leave(64);
    let mut world = World::of(&scarce.universe).unwrap();
    let rows = rows_of_a_chunk(&mut world);
    let ants = fill(&mut world, 4, rows, || (Ant([1; 4]),));
    // The first half a chunk's worth is copied in any case; then three quarters are left.
    for &ant in &ants[..rows + rows / 4] {
        world.destroy(ant).unwrap();
    }
    let mut commands = world.commands();
    let coming = rows + rows.div_ceil(2);
    for _ in 0..coming {
        commands.create((Ant([2; 4]),)).unwrap();
    }
    drop(commands);
    scarce.leave(0);
    let report = world.flush();
    assert_eq!((report.created, report.is_clean()), (coming, true));
    assert_eq!(world.archetypes[0].chunks.len(), 5);
    scarce.check(&world);
}

#[test]
fn rows_are_filled_if_more_than_an_eighth_of_all_would_be_free_otherwise() {
    for shares in [false, true] {
        let mut world = World::new();
        let rows = rows_of_a_chunk(&mut world);
        let mut ants = match shares {
            false => fill(&mut world, 6, rows, || (Ant([1; 4]),)),
            true => fill(&mut world, 6, rows, || (Ant([1; 4]),).shared('a')),
        }
        .into_iter();
        let number = if shares { 1 } else { 0 };
        let mut free = 0;
        for of in [rows / 2, rows, 2 * rows + 5] {
            let eighth = (6 * rows + of) / 8;
            while free < eighth {
                world.destroy(ants.next().unwrap()).unwrap();
                free += 1;
            }
            let fills = |world: &World, count: usize| {
                let data = &world.archetypes[number];
                assert_eq!(data.groups[0].capacity, 6 * rows);
                data.is_to_be_filled(0, count as u32, of as u32)
            };
            assert!(!fills(&world, 1), "{of}: an eighth, and no more");
            world.destroy(ants.next().unwrap()).unwrap();
            free += 1;
            assert!(fills(&world, 1) && fills(&world, free), "{of}");
            assert!(!fills(&world, free + 1), "{of}: not for one more");
        }
    }
}

#[test]
fn where_a_group_has_many_chunks_with_room_those_all_over_its_list_are_looked_at() {
    const CHUNKS: usize = 160;
    let mut world = World::new();
    let rows = rows_of_a_chunk(&mut world);
    let ants = fill(&mut world, CHUNKS, rows, || (Ant([1; 4]),).shared('a'));
    let of_chunk = |chunk: usize| (0..rows).map(move |row| row * CHUNKS + chunk);
    // Those that have lost most stand first in the list.
    for at in (0..96).flat_map(|chunk| of_chunk(chunk).take(rows / 2)) {
        world.destroy(ants[at]).unwrap();
    }
    for at in (96..CHUNKS).flat_map(|chunk| of_chunk(chunk).take(1)) {
        world.destroy(ants[at]).unwrap();
    }
    let count = rows as u32;
    assert!(world.archetypes[1].is_to_be_filled(0, count, count));
}
