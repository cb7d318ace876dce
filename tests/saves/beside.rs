//! Snapshots that go to the disk while their world goes on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use megachunk::entity::EntityMap;
use megachunk::prelude::*;
use megachunk::world::{SnapshotError, SnapshotOptions};

use crate::{Path, bytes};

fn universe() -> Universe {
    let universe = Universe::new();
    universe.registry().register_plain::<u32>().unwrap();
    universe.registry().register_enableable::<u32>().unwrap();
    universe
}

/// A world in which many have died.
fn world(count: u32) -> (World, Vec<Entity>) {
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let all: Vec<Entity> = (0..count).map(|n| world.create((n,)).unwrap()).collect();
    for (n, &entity) in all.iter().enumerate() {
        match n % 3 {
            1 => world.destroy(entity).unwrap(),
            n => world.set_enabled::<u32>(entity, n == 0).unwrap(),
        }
    }
    (world, all)
}

#[test]
fn bytes_of_a_snapshot_are_the_file_that_a_save_makes() {
    let (path, beside) = (Path::new("beside-whole"), Path::new("beside-bytes"));
    let (world, all) = world(500);
    world.save(&path.0, &Default::default()).unwrap();
    World::save_snapshot(&bytes(&world), &beside.0).unwrap();
    let read = |path: &Path| std::fs::read(&path.0).unwrap();
    assert_eq!(read(&beside), read(&path));
    let slice = world.slice_to_snapshot(&all[..1], &SnapshotOptions::new());
    let slice = slice.unwrap();
    World::save_snapshot(&slice, &beside.0).unwrap();
    assert_eq!(read(&beside), slice);
}

#[test]
fn what_is_no_snapshot_is_not_put_in_the_place_of_one() {
    let path = Path::new("beside-foreign");
    let (world, _) = world(20);
    let saved = bytes(&world);
    World::save_snapshot(&saved, &path.0).unwrap();
    let refused = |bytes: &[u8]| World::save_snapshot(bytes, &path.0).unwrap_err();
    assert_eq!(refused(b"a film, perhaps"), SnapshotError::Foreign);
    let cut = refused(&saved[..saved.len() - 1]);
    assert!(matches!(cut, SnapshotError::Length { .. }), "{cut}");
    let mut damaged = saved.clone();
    damaged[20] ^= 1;
    let damaged = refused(&damaged);
    assert!(
        matches!(damaged, SnapshotError::Damaged { at: 0, .. }),
        "{damaged}"
    );
    assert_eq!(std::fs::read(&path.0).unwrap(), saved);
    let nowhere = World::save_snapshot(&saved, path.0.join("nowhere")).unwrap_err();
    assert!(matches!(nowhere, SnapshotError::File { .. }), "{nowhere}");
}

#[test]
fn a_list_that_is_used_again_keeps_its_room() {
    let (large, small) = (world(3_000).0, world(10).0);
    let mut list = Vec::new();
    for options in [
        SnapshotOptions::new(),
        SnapshotOptions::new().skip_dead(),
        SnapshotOptions::new(),
    ] {
        large.to_snapshot_in(&mut list, &options).unwrap();
        assert_eq!(list, large.to_snapshot(&options).unwrap());
        let room = list.capacity();
        small.to_snapshot_in(&mut list, &options).unwrap();
        assert_eq!(list, small.to_snapshot(&options).unwrap());
        large.to_snapshot_in(&mut list, &options).unwrap();
        assert_eq!(list.capacity(), room);
    }
}

#[test]
fn a_list_is_as_it_was_if_nothing_could_be_written() {
    #[derive(Clone, Copy)]
    struct Fails(u8);
    let universe = Arc::new(Universe::new());
    let write = |Fails(how): &Fails, _: &mut Vec<u8>| match how {
        0 => Ok(()),
        1 => Err("it cannot be"),
        _ => std::panic::resume_unwind(Box::new("a writer")),
    };
    let read = |_: &[u8], _: &EntityMap| Ok::<_, &str>(Fails(0));
    let registry = universe.registry();
    registry
        .register_written_as::<Fails, _, _>("fails", write, read)
        .unwrap();
    let mut world = World::of(&universe).unwrap();
    let one = world.create((Fails(1),)).unwrap();
    let mut list = b"what was there".to_vec();
    let options = SnapshotOptions::new();
    let refused = world.to_snapshot_in(&mut list, &options).unwrap_err();
    assert!(matches!(refused, SnapshotError::NotWritten { .. }));
    world.get_mut::<Fails>(one).unwrap().0 = 2;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        world.to_snapshot_in(&mut list, &options)
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"a writer"));
    assert_eq!(list, b"what was there");
    world.get_mut::<Fails>(one).unwrap().0 = 0;
    world.to_snapshot_in(&mut list, &options).unwrap();
    assert_eq!(list, bytes(&world));
}

#[test]
fn a_list_has_no_more_room_than_a_snapshot_has_bytes() {
    let mut world = World::new();
    let registry = world.registry();
    registry.register_plain::<u32>().unwrap();
    registry.register_plain::<u64>().unwrap();
    registry.register_enableable::<u64>().unwrap();
    registry.register_plain::<ConstShared<u16>>().unwrap();
    registry.register_plain::<PerChunk<i64>>().unwrap();
    let write = |text: &String, bytes: &mut Vec<u8>| bytes.extend(text.as_bytes());
    let read = |bytes: &[u8], _: &EntityMap| String::from_utf8(bytes.to_vec());
    registry
        .register_written_as::<String, _, _>("text", write, read)
        .unwrap();
    for team in 0..500_u16 {
        let one = world.create((7_u32, u64::from(team)).const_shared(team));
        let one = one.unwrap();
        world.set_enabled::<u64>(one, team % 2 == 0).unwrap();
    }
    let _ = world.create_batch((0..9_000_u32).map(|n| (n,))).unwrap();
    world.create((3_u32,).per_chunk(5_i64)).unwrap();
    for length in 0..300 {
        world.create(("x".repeat(length), 1_u32)).unwrap();
    }
    let all: Vec<Entity> = world.read::<Entity, ()>().unwrap().iter().collect();
    let options = SnapshotOptions::new();
    let whole = world.to_snapshot(&options).unwrap();
    let slice = world.slice_to_snapshot(&all, &options).unwrap();
    let living = world.to_snapshot(&options.skip_dead()).unwrap();
    for bytes in [whole, slice, living] {
        let room = bytes.capacity() - bytes.len();
        assert!(room <= bytes.len() / 16, "{room} of {}", bytes.len());
    }
}
