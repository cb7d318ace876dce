//! What worlds say of themselves: statistics, as numbers and as lines, and how they are debugged.

use std::time::Duration;

use megachunk::prelude::*;

/// Entities of two fragments.
fn ants(world: &mut World, count: usize) {
    let batch = world.create_batch((0..count).map(|n| (n as f32, n.to_string())));
    assert_eq!(batch.unwrap().len(), count);
}

#[test]
fn statistics_add_up_and_an_entity_costs_little_more_than_its_values() {
    let mut world = World::new();
    let _ = world
        .create_batch((0..1_000_000_u64).map(|n| (n, [n as f32; 3], n as u32)))
        .unwrap();
    ants(&mut world, 10);
    let stats = world.stats();
    assert_eq!((stats.entities, stats.archetypes.len()), (1_000_010, 2));
    let one = &stats.archetypes[0];
    assert_eq!(
        (one.entities, one.entity_bytes, one.groups),
        (1_000_000, 8 + 24, 1)
    );
    let sum: usize = stats.archetypes.iter().map(|a| a.chunk_bytes).sum();
    assert_eq!(stats.chunk_bytes, sum);
    // Within 6 % of the sizes and 16 bytes, of which the index has 8.6.
    assert!(
        stats.bytes_per_entity() + 8.6 <= 1.06 * (24.0 + 16.0),
        "{stats}"
    );
    assert!(stats.occupancy() > 0.95);
    let text = stats.to_string();
    assert!(
        text.contains("entities: 1000010; compositions that have some: 2") && text.contains("f32"),
        "{text}"
    );
    assert_eq!(World::new().stats().occupancy(), 1.0);
}

#[test]
fn stats_are_shown_as_a_line_of_sums_and_a_table_of_what_has_entities() {
    let mut world = World::new();
    world.set_chunk_size(1);
    let gone = world.create((1_u8,)).unwrap();
    world.destroy(gone).unwrap();
    let _ = world.create_batch([(); 3].map(|()| (7_u64,))).unwrap();
    world.create((7_u64, 'a')).unwrap();
    let stats = world.stats();
    let rooms: Vec<usize> = stats.archetypes.iter().map(|one| one.capacity).collect();
    let [lines @ .., a, b] = &stats
        .to_string()
        .lines()
        .map(String::from)
        .collect::<Vec<_>>()[..]
    else {
        panic!("{stats}")
    };
    let full = 100.0 * 4.0 / rooms.iter().sum::<usize>() as f64;
    let each = stats.bytes_per_entity();
    assert_eq!(
        lines,
        [
            "entities: 4; compositions that have some: 2, that have none: 1".to_owned(),
            format!("3 chunks (1 empty), 48.0 KiB, {full:.0} % full, {each:.1} bytes an entity"),
            "  entities  chunks  room for  bytes  fragments".to_owned(),
        ]
    );
    assert_eq!(
        *a,
        format!("{:>10} {:>7} {:>9} {:>6}  u64", 3, 1, rooms[1], 16)
    );
    assert_eq!(
        *b,
        format!("{:>10} {:>7} {:>9} {:>6}  char, u64", 1, 1, rooms[2], 20)
    );
}

#[test]
fn debug_of_a_world_and_its_universe_says_how_much_there_is_and_stays_short() {
    let mut world = World::new();
    ants(&mut world, 3);
    world.create(('a',)).unwrap();
    world.advance_time(Duration::from_secs(2));
    let said = format!("{world:?}");
    for part in ["entities: 4", "archetypes: 2", "time: 2s"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(said.len() < 200, "{said}");
    let said = format!("{:?}", world.universe());
    assert!(said.contains("entities: 4") && said.len() < 200, "{said}");
}
