//! Errors that say where to look: at which step, whose value, what to do.

use std::sync::Arc;

use megachunk::entity::EntityMap;
use megachunk::prelude::*;
use megachunk::world::{FileStep, SnapshotError};

use crate::{Path, bytes};

fn step(error: &SnapshotError) -> FileStep {
    match error {
        SnapshotError::File { step, .. } => *step,
        error => panic!("{error}"),
    }
}

#[test]
fn a_file_says_at_which_step_it_failed() {
    let world = World::new();
    let there = Path::new("told-steps");
    world.save(&there.0, &Default::default()).unwrap();
    let folder = std::env::temp_dir();
    let saved = world.save(&folder, &Default::default()).unwrap_err();
    assert_eq!(step(&saved), FileStep::Open);
    let missing = World::load(
        there.0.with_extension("nowhere"),
        Universe::new(),
        &Default::default(),
    )
    .unwrap_err();
    assert_eq!(step(&missing), FileStep::Open);
    let beside = folder.join("no such folder").join("file");
    let beside = world.save(&beside, &Default::default()).unwrap_err();
    assert_eq!(step(&beside), FileStep::CreateBeside);
    assert!(
        beside
            .to_string()
            .contains("file: making a file beside it: "),
        "{beside}"
    );
}

#[test]
fn the_entity_is_named_whose_value_is_none() {
    let numbers = |universe: Universe| World::of(&Arc::new(universe)).unwrap();
    let plain = |is_flag: bool| {
        let universe = Universe::new();
        let registry = universe.registry();
        match is_flag {
            true => registry.register_plain_as::<Flag>("flag").unwrap(),
            false => registry.register_plain_as::<Number>("flag").unwrap(),
        };
        universe
    };
    let mut world = numbers(plain(false));
    let all: Vec<Entity> = (0..3_000_u32)
        .map(|n| world.create((Number(u8::from(n == 2_500) * 2),)).unwrap())
        .collect();
    let file = bytes(&world);
    let universe = Arc::new(plain(true));
    let (known, options) = (EntityMap::default(), LoadOptions::new());
    for refused in [
        World::from_snapshot(&file, plain(true), &Default::default()).unwrap_err(),
        World::from_snapshot_remapped(&file, &universe, &known, &options).unwrap_err(),
        // What was to be converted, by a closure of a type that it is not.
        World::from_snapshot(
            &file,
            plain(true),
            &options.convert("flag", |flag: Flag| flag),
        )
        .unwrap_err(),
    ] {
        let SnapshotError::NotAValue { entity, at, .. } = &refused else {
            panic!("{refused}");
        };
        assert_eq!((*entity, file[*at as usize]), (Some(all[2_500]), 2));
        let told = format!("entity {}: the bytes at byte {at} of the ", all[2_500]);
        assert!(refused.to_string().starts_with(&told), "{refused}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Number(u8);
// SAFETY: a number.
unsafe impl megachunk::fragment::Plain for Number {}

/// Of which no shape is known, either.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Flag(bool);
// SAFETY: a byte, which is looked at.
unsafe impl megachunk::fragment::Plain for Flag {
    const IS_VALUE: Option<megachunk::fragment::IsValue> = bool::IS_VALUE;
}

#[test]
fn the_entity_is_named_whose_bytes_were_not_read() {
    let universe = |fails: bool| {
        let universe = Universe::new();
        let write = |number: &u16, bytes: &mut Vec<u8>| bytes.extend(number.to_le_bytes());
        let read = move |bytes: &[u8], _: &EntityMap| match bytes {
            [one, two] if !fails || *one != 7 => Ok(u16::from_le_bytes([*one, *two])),
            _ => Err("seven"),
        };
        let registry = universe.registry();
        registry
            .register_written_as::<u16, _, _>("number", write, read)
            .unwrap();
        registry.register_plain_as::<u64>("wide").unwrap();
        universe
    };
    let mut world = World::of(&Arc::new(universe(false))).unwrap();
    let _ = world.create_batch((0..200_u64).map(|n| (n,))).unwrap();
    let all: Vec<Entity> = (0..200_u16).map(|n| world.create((n,)).unwrap()).collect();
    let file = bytes(&world);
    let refused = World::from_snapshot(&file, universe(true), &Default::default()).unwrap_err();
    let SnapshotError::NotRead { entity, reason, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!((*entity, &**reason), (Some(all[7]), "seven"));
    let anew = Arc::new(universe(true));
    let again =
        World::from_snapshot_remapped(&file, &anew, &EntityMap::default(), &Default::default());
    assert_eq!(again.unwrap_err(), refused);
}

#[test]
fn a_value_that_is_many_names_nobody() {
    let universe = |is_flag: bool| {
        let universe = Universe::new();
        let registry = universe.registry();
        match is_flag {
            true => registry
                .register_plain_as::<ConstShared<Flag2>>("flag")
                .unwrap(),
            false => registry
                .register_plain_as::<ConstShared<u8>>("flag")
                .unwrap(),
        };
        universe
    };
    let mut world = World::of(&Arc::new(universe(false))).unwrap();
    world.create(().const_shared(2_u8)).unwrap();
    let refused =
        World::from_snapshot(&bytes(&world), universe(true), &Default::default()).unwrap_err();
    assert!(
        matches!(refused, SnapshotError::NotAValue { entity: None, .. }),
        "{refused}"
    );
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
struct Flag2(bool);
// SAFETY: a byte, which is looked at.
unsafe impl megachunk::fragment::Plain for Flag2 {
    const IS_VALUE: Option<megachunk::fragment::IsValue> = bool::IS_VALUE;
}
