//! What worlds say of themselves: statistics, as numbers and as lines, and how they are debugged.

use std::collections::BTreeSet;
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
fn rows_of_chunks_add_up_to_the_statistics_and_say_which_chunks_share_values() {
    let mut world = World::new();
    let batch = world.create_batch((0..20_000_u64).map(|n| (n,))).unwrap();
    let ants: Vec<_> = batch.iter(&world).collect();
    // Fewer and fewer stay the later they came.
    for (number, &ant) in ants.iter().enumerate() {
        if number * number % ants.len() < number {
            world.destroy(ant).unwrap();
        }
    }
    for n in 0..6_000_u32 {
        world.create((n,).shared(n % 3)).unwrap();
    }
    let stats = world.stats();
    let rows: Vec<_> = world.chunk_rows().collect();
    assert_eq!(rows.len(), stats.chunks);
    assert!(rows.is_sorted_by_key(|chunk| chunk.archetype));
    for (number, one) in stats.archetypes.iter().enumerate() {
        let own = || rows.iter().filter(|chunk| chunk.archetype == number);
        assert_eq!(own().count(), one.chunks);
        assert_eq!(own().map(|c| c.entities).sum::<usize>(), one.entities);
        assert_eq!(own().map(|c| c.capacity).sum::<usize>(), one.capacity);
        assert_eq!(own().map(|c| c.bytes).sum::<usize>(), one.chunk_bytes);
        let groups: BTreeSet<usize> = own().map(|chunk| chunk.group).collect();
        assert_eq!(groups.len(), one.groups);
    }
    let of_group = |group| {
        let chunks = rows.iter();
        let chunks = chunks.filter(|chunk| (chunk.archetype, chunk.group) == (1, group));
        chunks.map(|chunk| chunk.entities).sum::<usize>()
    };
    assert_eq!([0, 1, 2].map(of_group), [2_000; 3]);
}

#[test]
fn rows_of_chunks_are_those_that_a_query_walks_in_its_order() {
    let mut world = World::new();
    world.set_chunk_size(1);
    let batch = world.create_batch((0..9_000_u64).map(|n| (n,))).unwrap();
    let ants: Vec<_> = batch.iter(&world).collect();
    for ant in ants[..3_000].iter().chain(&ants[4_000..4_100]) {
        world.destroy(*ant).unwrap();
    }
    let mut walked = Vec::new();
    let mut run = world.query::<&u64, ()>().unwrap();
    run.for_each_chunk(|_, numbers| walked.push(numbers.len()));
    let said = world.chunk_rows().map(|chunk| chunk.entities);
    assert_eq!(said.collect::<Vec<_>>(), walked);
    assert!(walked.len() > 3);
}

#[test]
fn chunks_of_a_batch_are_as_long_as_all_that_is_there_then_warrants() {
    // A chunk of 16 KiB holds 150 of them, one of 1 MiB 9,700.
    let batch = |count: usize| (0..count).map(|n| ([n as u8; 100],));
    let mut world = World::new();
    let _ = world.create_batch(batch(400_000)).unwrap();
    let lengths: Vec<_> = world.chunk_rows().map(|chunk| chunk.bytes >> 10).collect();
    assert!(lengths.len() < 48 && lengths[0] == 1024, "{lengths:?}");
    // Nobody knows of those to come.
    let mut world = World::new();
    batch(40_000).for_each(|values| drop(world.create(values)));
    let lengths: Vec<_> = world.chunk_rows().map(|chunk| chunk.bytes >> 10).collect();
    assert!(lengths[0] == 16 && lengths.is_sorted(), "{lengths:?}");
    // Chunks enough for many threads.
    assert!(lengths.len() > 32, "{lengths:?}");
    let mut world = World::new();
    let _ = world.create_batch(batch(50_000)).unwrap();
    assert!((32..48).contains(&world.chunk_rows().count()));
}

#[test]
fn a_chunk_that_is_kept_is_there_without_entities() {
    let mut world = World::new();
    assert_eq!(world.chunk_rows().count(), 0);
    let ant = world.create((1_u64,)).unwrap();
    // It holds as many as it will when it is no longer folded.
    let before: Vec<_> = world.chunk_rows().collect();
    assert_eq!((before[0].entities, before[0].bytes), (1, 16 << 10));
    assert!(before[0].capacity > 900, "{before:?}");
    world.destroy(ant).unwrap();
    let kept: Vec<_> = world.chunk_rows().collect();
    assert_eq!((kept.len(), kept[0].entities), (1, 0));
    assert_eq!(kept[0].occupancy(), 0.0);
    world.trim();
    assert_eq!(world.chunk_rows().count(), 0);
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

#[test]
fn what_became_of_a_slice_is_shown_in_a_line() {
    let mut world = World::new();
    let ants: Vec<Entity> = (0..4_u32).map(|n| world.create((n,)).unwrap()).collect();
    assert_eq!(
        world.destroy_slice(&ants[..1]).to_string(),
        "1 done, 0 refused"
    );
    let died = world.destroy(ants[0]).unwrap_err();
    assert_eq!(
        world.destroy_slice(&ants[..2]).to_string(),
        format!("1 done, 1 refused: at 0, {died}")
    );
    let dead = world.destroy(ants[1]).unwrap_err();
    assert_eq!(
        world
            .destroy_slice(&[ants[2], ants[1], ants[0]])
            .to_string(),
        format!("1 done, 2 refused: first at 1, {dead}")
    );
    let index = megachunk::EntityIndex::new();
    let all = [(); 3].map(|()| index.create().unwrap());
    assert_eq!(
        index.destroy_slice(&all[..2]).to_string(),
        "2 destroyed, 0 refused"
    );
    let died = index.destroy(all[1]).unwrap_err();
    assert_eq!(
        index.destroy_slice(&all[1..]).to_string(),
        format!("1 destroyed, 1 refused: at 0, {died}")
    );
}

#[cfg(feature = "cli")]
#[test]
fn statistics_of_another_version_are_read_without_what_they_do_not_have() {
    use megachunk::chunk::ChunkStats;
    use megachunk::world::{
        ArchetypeStats, ChunkRows, CompactReport, Pending, SnapshotSummary, WorldStats,
    };

    fn read<T: serde::de::DeserializeOwned>(text: &str) -> T {
        serde_json::from_str(text).expect("the rest is as by default")
    }
    let stats: WorldStats =
        read(r#"{"entities": 3, "archetypes": [{"chunks": 2}], "of_later": 1}"#);
    assert_eq!((stats.entities, stats.archetypes[0].chunks), (3, 2));
    assert_eq!((stats.capacity, stats.archetypes[0].entities), (0, 0));
    assert_eq!(read::<ArchetypeStats>("{}"), ArchetypeStats::default());
    assert_eq!(read::<ChunkRows>(r#"{"bytes": 5}"#).bytes, 5);
    assert_eq!(read::<ChunkStats>("{}"), ChunkStats::default());
    assert_eq!(read::<CompactReport>(r#"{"chunks": 5}"#).chunks, 5);
    assert_eq!(read::<Pending>("{}"), Pending::default());
    assert_eq!(read::<SnapshotSummary>(r#"{"format": 5}"#).format, 5);
}

#[test]
fn reports_are_shown_as_lines() {
    let mut world = World::new();
    let ants: Vec<Entity> = (0..9_u32)
        .map(|n| world.create((n,).const_shared(n)).unwrap())
        .collect();
    let dead = world.create((1_u32,)).unwrap();
    world.destroy(dead).unwrap();
    let mut commands = world.commands();
    let new = commands.create((7_u32,)).unwrap();
    for &ant in &ants[..7] {
        commands.add(ant, ().const_shared(99_u32)).unwrap();
    }
    commands.set(dead, 2_u32).unwrap();
    commands.destroy(ants[8]);
    drop(commands);
    let text = world.pending().to_string();
    assert_eq!(
        text,
        "waiting: 1 new entities, 9 commands, 0 signals, 0 delayed signals"
    );
    let report = world.flush();
    assert!(world.exists(new));
    let text = report.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "9 commands and 0 closures in 1 rounds: 1 entities created, 1 destroyed, 0 moved, 0 updated"
    );
    assert_eq!(lines[1], "1 for the dead, 7 refused, 0 for the next flush");
    let refused = format!("entity {}: its u32 is const shared", ants[0]);
    let died = format!("entity {dead} had died: recorded outside of a run");
    assert_eq!(lines[2], died);
    assert!(lines[3].starts_with(&refused), "{text}");
    assert!(lines[3].ends_with("; recorded outside of a run"), "{text}");
    assert_eq!((lines.len(), lines[8]), (9, "and 2 more"));
    world.commands().clone_entity(dead).unwrap();
    let text = world.flush().to_string();
    // Who was refused, and because of whom.
    assert_eq!(text.matches("entity ").count(), 2, "{text}");
    assert_eq!(
        world.flush().to_string(),
        "0 commands and 0 closures in 0 rounds: 0 entities created, 0 destroyed, 0 moved, 0 updated"
    );
    let text = world.compact(Budget::Unlimited).to_string();
    assert!(text.ends_with("KiB; nothing is left to do"), "{text}");
}

#[test]
fn reports_and_queries_are_debugged_in_a_few_lines() {
    let mut world = World::new();
    let ants: Vec<Entity> = (0..20).map(|n: u8| world.create((n,)).unwrap()).collect();
    let report = world.destroy_slice(&ants);
    assert!(format!("{report:?}").len() < 60, "{report:?}");
    let report = world.destroy_slice(&ants);
    let shown = format!("{report:?}");
    assert_eq!(shown.matches("Destroyed").count(), 5, "{shown}");
    assert!(shown.contains("and 15 more]"), "{shown}");
    let index = megachunk::EntityIndex::new();
    let shown = format!("{:?}", index.destroy_slice(&ants));
    assert_eq!(shown.matches("NeverCreated").count(), 5, "{shown}");
    assert!(shown.starts_with("DestroyReport { destroyed: 0, refused: [(0, "));

    let bee = world.create((1_u8,)).unwrap();
    let mut commands = world.commands();
    for _ in 0..9 {
        commands.set_shared(bee, 'a').unwrap();
    }
    drop(commands);
    let flushed = world.flush();
    let shown = format!("{flushed:?}");
    assert!(shown.starts_with("FlushReport { commands: 9, created: 0"));
    assert!(shown.ends_with("unfinished: false }"), "{shown}");

    let query = Query::<(&u8, &mut char), With<i64>>::new(&world).unwrap();
    let shown = format!("{query:?}");
    assert!(
        shown.contains("lends: (&u8, &mut char), filter: "),
        "{shown}"
    );
    let [number, letter] = [
        world.registry().register::<u8>().unwrap().id(),
        world.registry().register::<char>().unwrap().id(),
    ];
    let query = DynamicQuery::builder(&world).read(number).write(letter);
    let shown = format!("{:?}", query.build().unwrap());
    assert_eq!(
        shown,
        "DynamicQuery { reads: {u8}, writes: {char}, required: {u8, char}, matches: 0, .. }"
    );
}
