//! Files that strangers may have written: what they hold, what they ask for, and in which words they are refused.

use std::sync::Arc;

use crate::snapshot_files::Path;
use crate::snapshot_world::{small_world, small_worlds, universe};
use crate::snapshots::bytes;
use megachunk::entity::EntityMap;
use megachunk::fragment::FragmentKind;
use megachunk::prelude::*;
use megachunk::world::{SnapshotError, SnapshotOptions, SnapshotSummary};

fn taken(universe: &Universe) -> usize {
    universe.chunk_stats().in_use
}

/// A universe in which few things are registered.
fn numbers() -> Universe {
    let universe = Universe::new();
    let registry = universe.registry();
    registry.register_plain::<u64>().unwrap();
    registry.register_plain::<ConstShared<u32>>().unwrap();
    universe
}

/// Chunks that a file takes, with its ids and with new ones.
fn asked(file: &[u8]) -> [usize; 2] {
    let with_ids = World::from_snapshot(file, numbers(), &Default::default()).unwrap();
    let summary = SnapshotSummary::of(file).unwrap();
    let chunks = taken(with_ids.universe()) as u64;
    assert_eq!(summary.chunk_bytes, chunks << 14);
    let universe = Arc::new(numbers());
    let anew =
        World::from_snapshot_remapped(file, &universe, &EntityMap::default(), &Default::default());
    let (anew, entities) = anew.unwrap();
    anew.check().unwrap();
    assert_eq!(entities.len(), with_ids.count());
    [taken(with_ids.universe()), taken(&universe)]
}

#[test]
fn with_new_ids_a_chunk_is_as_long_as_its_entities_need() {
    let mut world = World::of(&Arc::new(numbers())).unwrap();
    let herd = world.create_batch((0..300_000_u64).map(|n| (n,))).unwrap();
    let herd: Vec<Entity> = herd.iter(&world).collect();
    for &entity in &herd[1..] {
        world.destroy(entity).unwrap();
    }
    let [with_ids, anew] = asked(&bytes(&world));
    assert!(with_ids >= 8, "{with_ids}");
    assert_eq!(anew, 1);
}

#[test]
fn a_file_of_next_to_nothing_takes_no_memory_for_long_chunks() {
    let file = |groups: u32| {
        let mut world = World::of(&Arc::new(numbers())).unwrap();
        world.set_chunk_size(64);
        for group in 0..groups {
            world.create((7_u64,).const_shared(group)).unwrap();
        }
        bytes(&world)
    };
    // As the world was told to have them, while that is not much.
    assert_eq!(asked(&file(60)), [60 * 64; 2]);
    assert_eq!(asked(&file(200)), [200 * 64, 200]);
}

#[test]
fn compositions_that_have_become_one_take_chunks_as_short_as_any_of_them_had() {
    let mut world = World::of(&Arc::new(numbers())).unwrap();
    let skipped = world.registry().register_plain::<u16>().unwrap().id();
    world.set_chunk_size(64);
    world.create((1_u64,)).unwrap();
    world.set_chunk_size(1);
    world.create((2_u64, 3_u16)).unwrap();
    let options = SnapshotOptions::new().skip(skipped);
    assert_eq!(
        asked(&world.to_snapshot(&options).unwrap()),
        [64 + 1, 1 + 1]
    );
}

#[test]
fn a_summary_says_what_a_load_brings_and_takes() {
    for count in [0, 1, 17, 2_000] {
        let file = bytes(&small_world(count).0);
        let summary = SnapshotSummary::of(&file).unwrap();
        let world = World::from_snapshot(&file, universe(), &Default::default()).unwrap();
        assert_eq!((summary.bytes, summary.worlds), (file.len() as u64, 1));
        assert_eq!(summary.entities, world.count() as u64);
        let chunks = taken(world.universe()) as u64;
        assert_eq!(summary.chunk_bytes, chunks << 14);
        let mut found = summary.fragments.iter().filter(|one| one.entities > 0);
        let having = |name: &str, kind| {
            let mut all = summary.fragments.iter();
            let one = all.find(|one| one.name.ends_with(name) && one.kind == kind);
            one.map_or(0, |one| one.entities)
        };
        assert_eq!(having("Position", FragmentKind::Fragment), summary.entities);
        if count == 2_000 {
            let mut all = world.read::<Entity, ()>().unwrap();
            let teams = all
                .iter()
                .filter(|&e| world.const_shared::<u8>(e).is_ok())
                .count();
            assert_eq!(having("u8", FragmentKind::ConstShared), teams as u64);
            assert_eq!(having("i64", FragmentKind::Chunk), teams as u64);
            let bytes = found.find(|one| one.name == "[u8; 3]").unwrap();
            assert_eq!((bytes.size, bytes.align, bytes.enableable), (3, 1, true));
            assert!(summary.state_types.is_sorted());
            assert_eq!(summary.state_types, ["grudge", "leader", "motto"]);
            assert_eq!(summary.signals, world.pending().delayed_signals as u64);
        }
    }
    let worlds = small_worlds(90);
    let options = SnapshotOptions::new().skip_dead();
    let file = World::worlds_to_snapshot(&worlds.each_ref(), &options).unwrap();
    let summary = SnapshotSummary::of(&file).unwrap();
    assert_eq!((summary.worlds, summary.slots), (2, None));
    let told = summary.to_string();
    assert!(
        told.contains("worlds: 2;") && told.contains("without the dead"),
        "{told}"
    );
    let chunks = summary.chunk_bytes >> 10;
    assert!(chunks > 16, "{told}");
    assert!(
        told.contains(&format!("; chunks: {chunks} KiB (0 KiB empty)\n")),
        "{told}"
    );
    assert!(told.contains("       3  [u8; 3] (fragment)\n"), "{told}");
    assert!(
        told.contains("other values: grudge, leader, motto; signals that wait: "),
        "{told}"
    );
}

#[test]
fn a_summary_of_a_file_is_that_of_its_bytes() {
    let path = Path::new("summary");
    let (world, _) = small_world(300);
    world.save(&path.0, &Default::default()).unwrap();
    let file = std::fs::read(&path.0).unwrap();
    let summary = SnapshotSummary::of(&file).unwrap();
    assert_eq!(SnapshotSummary::read(&path.0), Ok(summary.clone()));
    // Entities are not looked at, all else is.
    let directory = u64::from_le_bytes(file[24..32].try_into().unwrap()) as usize;
    for at in (0..64)
        .chain((64..directory).step_by(97))
        .chain(directory..file.len())
    {
        let mut damaged = file.clone();
        damaged[at] ^= 1 << (at % 8);
        match SnapshotSummary::of(&damaged) {
            Ok(same) => assert!((64..directory).contains(&at) && same == summary, "{at}"),
            Err(_) => assert!(!(64..directory).contains(&at), "{at}"),
        }
    }
    let mut damaged = file.clone();
    *damaged.last_mut().unwrap() ^= 1;
    for wrong in [
        &damaged[..],
        &file[..file.len() - 1],
        &file[..20],
        b"",
        b"a film",
    ] {
        std::fs::write(&path.0, wrong).unwrap();
        let error = SnapshotSummary::of(wrong).unwrap_err();
        let in_file = SnapshotError::In {
            path: path.0.clone(),
            error: Box::new(error),
        };
        assert_eq!(SnapshotSummary::read(&path.0), Err(in_file));
    }
    let missing = SnapshotSummary::read(path.0.join("nowhere")).unwrap_err();
    assert!(matches!(missing, SnapshotError::File { .. }), "{missing}");
}

#[test]
fn names_of_a_file_are_told_in_one_short_line() {
    let mut world = World::new();
    let registry = world.registry();
    let red = "red\n\u{1b}[31m\u{202e}";
    let long = "long".repeat(1_000);
    let names = (0..20).map(|n| format!("{n}"));
    let names: Vec<String> = [red.into(), long.clone()]
        .into_iter()
        .chain(names)
        .collect();
    let values = names.iter().map(|name| {
        let layout = core::alloc::Layout::new::<()>();
        let info = registry.define_plain(name, layout).unwrap();
        megachunk::fragment::Value::from_bytes(registry, info.id(), &[]).unwrap()
    });
    let values = values.collect();
    registry.register_state_as::<u64>(red).unwrap();
    registry.register_state_as::<u32>(&long).unwrap();
    let nothing = world.to_snapshot(&SnapshotOptions::new()).unwrap();
    World::from_snapshot(&nothing, Universe::new(), &Default::default()).unwrap();
    world.create_dynamic(values).unwrap();
    let said =
        World::from_snapshot(&bytes(&world), Universe::new(), &Default::default()).unwrap_err();
    let SnapshotError::Unregistered { fragments, .. } = &said else {
        panic!("{said}");
    };
    assert!(
        fragments.iter().any(|missing| *missing.name == *red),
        "as it stands there"
    );
    let said = said.to_string();
    assert!(
        said.contains(" and 14 more, which are not registered; register them before the load,"),
        "{said}"
    );
    assert!(
        said.len() < 400 && !said.contains(char::is_control),
        "{said}"
    );
    assert!(World::new().count() == 0);

    let mut world = World::new();
    let registry = world.registry();
    registry.register_state_as::<u64>(red).unwrap();
    registry.register_state_as::<u32>(&long).unwrap();
    world.resources_mut().insert(1_u64);
    world.resources_mut().insert(2_u32);
    let file = bytes(&world);
    let told = SnapshotSummary::of(&file).unwrap().to_string();
    let said = World::from_snapshot(&file, Universe::new(), &Default::default())
        .unwrap_err()
        .to_string();
    for text in [&told, &said] {
        assert!(text.contains(r"red\n\u{1b}[31m\u{202e}"), "{text}");
        assert!(text.contains(&("long".repeat(25) + "…")), "{text}");
    }
    assert!(
        said.len() < 300 && told.lines().count() == 3,
        "{said} {told}"
    );
    let universe = Universe::new();
    universe.registry().register_state_as::<u64>(red).unwrap();
    universe.registry().register_state_as::<u8>(&long).unwrap();
    let said = World::from_snapshot(&file, universe, &Default::default())
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("it had 4 bytes") && said.len() < 300,
        "{said}"
    );
}
