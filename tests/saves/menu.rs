//! Resources of files that nobody has loaded.

use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::world::{SnapshotError, SnapshotOptions, SnapshotSummary};

use crate::{Path, bytes};

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Card {
    hero: Entity,
    version: u32,
    is_over: bool,
    _padding: [u8; 3],
}
megachunk::plain!(Card {
    hero,
    version,
    is_over,
    _padding
});

/// As large as a card.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Later {
    heroine: Entity,
    version: u32,
    is_over: bool,
    _padding: [u8; 3],
}
megachunk::plain!(Later {
    heroine,
    version,
    is_over,
    _padding
});

fn world() -> (World, Card) {
    let mut world = World::new();
    let registry = world.registry();
    registry.register_state_as::<Card>("card").unwrap();
    registry.register_state_as::<u8>("a number").unwrap();
    let write = |text: &String, bytes: &mut Vec<u8>| bytes.extend(text.as_bytes());
    let read = |bytes: &[u8], _: &_| String::from_utf8(bytes.to_vec());
    registry.register_state_with("text", write, read).unwrap();
    let card = Card {
        version: 3,
        hero: world.create(()).unwrap(),
        is_over: true,
        _padding: [0; 3],
    };
    world.resources_mut().insert(card);
    world.resources_mut().insert(2_u8);
    world.resources_mut().insert(String::from("four"));
    (world, card)
}

#[test]
fn a_resource_is_read_before_anything_is_loaded() {
    let (world, card) = world();
    let path = Path::new("menu");
    world.save(&path.0, &Default::default()).unwrap();
    for summary in [
        SnapshotSummary::read(&path.0).unwrap(),
        SnapshotSummary::of(&bytes(&world)).unwrap(),
    ] {
        assert_eq!(summary.resource::<Card>("card"), Some(Ok(card)));
        assert_eq!(summary.resource_of::<Card>(0, "card"), Some(Ok(card)));
        assert_eq!(summary.resource::<u8>("a number"), Some(Ok(2)));
        assert_eq!(summary.resource::<[u8; 4]>("text"), Some(Ok(*b"four")));
        assert_eq!(summary.resource::<u8>("nothing"), None);
        assert_eq!(summary.resource_of::<Card>(1, "card"), None);
    }
    let without = SnapshotOptions::new().skip_resource::<Card>();
    let without = SnapshotSummary::of(&world.to_snapshot(&without).unwrap()).unwrap();
    assert_eq!(without.resource::<Card>("card"), None);
}

#[test]
fn a_summary_keeps_no_terrain() {
    let (mut world, card) = world();
    for (length, is_kept) in [(64 << 10, true), ((64 << 10) + 1, false)] {
        world.resources_mut().insert("x".repeat(length));
        let summary = SnapshotSummary::of(&bytes(&world)).unwrap();
        assert_eq!(summary.resource::<Card>("card"), Some(Ok(card)));
        let refused = summary.resource::<u8>("text").unwrap().unwrap_err();
        let says = refused.to_string().contains("no more than 64 KiB");
        assert_eq!(says, !is_kept, "{refused}");
    }
}

#[test]
fn what_is_no_value_of_the_type_is_an_error_that_names_it() {
    let summary = SnapshotSummary::of(&bytes(&world().0)).unwrap();
    let refused = |told: Result<(), SnapshotError>| {
        let error = told.unwrap_err();
        let SnapshotError::StateNotRead { name, reason, .. } = &error else {
            panic!("{error}");
        };
        format!("{name}: {reason}")
    };
    let other = summary.resource::<Later>("card").unwrap().map(drop);
    assert!(refused(other).starts_with("card: its fields are others"));
    let short = summary.resource::<u32>("card").unwrap().map(drop);
    assert!(refused(short).starts_with("card: it had 16 bytes"));
    // Its shape is another one, too.
    let flag = summary.resource::<bool>("a number").unwrap().map(drop);
    assert!(refused(flag).starts_with("a number: its fields are others"));
    // Of what closures have written no shape is known, and bytes are asked what they are.
    let letters = summary.resource::<[bool; 4]>("text").unwrap().map(drop);
    assert!(refused(letters).starts_with("text: it is no value"));
}

#[test]
fn worlds_that_were_saved_together_have_each_their_own() {
    let universe = Arc::new(Universe::new());
    universe
        .registry()
        .register_state_as::<u8>("level")
        .unwrap();
    let worlds = [(); 3].map(|()| World::of(&universe).unwrap());
    let [none, mut one, mut two] = worlds;
    one.resources_mut().insert(1_u8);
    two.resources_mut().insert(2_u8);
    let options = SnapshotOptions::new();
    let file = World::worlds_to_snapshot(&[&none, &one, &two], &options).unwrap();
    let summary = SnapshotSummary::of(&file).unwrap();
    let of = |world| summary.resource_of::<u8>(world, "level");
    assert_eq!([0, 1, 2, 3].map(of), [None, Some(Ok(1)), Some(Ok(2)), None]);
    assert_eq!(summary.resource::<u8>("level"), Some(Ok(1)));
}
