//! Hashes and differences of values that are written: each by its bytes and their length, in whatever order rows lie.

use core::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::entity::EntityMap;
use megachunk::prelude::*;
use megachunk::world::{Difference, SnapshotState};

use crate::written::all;
use crate::written::forms::{Faction, Name, filled, universe};

#[test]
fn what_is_written_is_hashed_with_its_length_and_whatever_the_order() {
    let world = |names: [&str; 2], swapped: bool| {
        let mut world = World::of(&Arc::new(universe())).unwrap();
        let both = [(); 2].map(|()| world.create((0_u32,)).unwrap());
        let mut order = [0, 1];
        if swapped {
            order.reverse();
        }
        for at in order {
            world.add(both[at], (Name(names[at].into()),)).unwrap();
        }
        let hashes = world.state_hashes(&all()).unwrap();
        (world.state_hash(&Default::default()).unwrap(), hashes)
    };
    assert_eq!(world(["a", "bc"], false), world(["a", "bc"], true));
    for other in [["ab", "c"], ["a\0", "bc"], ["bc", "a"], ["", "abc"]] {
        let (one, two) = (world(["a", "bc"], false), world(other, false));
        assert_ne!(one.0, two.0, "{other:?}");
        let parts: Vec<String> = one
            .1
            .differing(&two.1)
            .map(|part| part.to_string())
            .collect();
        assert_eq!(parts, ["the fragment name differs"], "{other:?}");
    }
}

#[test]
fn differences_tell_bytes_of_two_lengths() {
    let (mut here, entities) = filled(10);
    let there = World::from_snapshot(
        &here.to_snapshot(&all()).unwrap(),
        universe(),
        &Default::default(),
    )
    .unwrap();
    let before = here.to_snapshot(&all()).unwrap();
    here.get_mut::<Name>(entities[3]).unwrap().0 = "antz".into();
    here.add(entities[5], ().shared(Faction("green".into())))
        .unwrap();
    let mut told = Vec::new();
    let count = here.differences(&there, &all(), |difference| {
        if let Difference::Value { here, there, .. } = &difference {
            assert_eq!((&here[..], &there[..]), (&b"antz"[..], &b"antantant"[..]));
        }
        told.push(difference.to_string());
        ControlFlow::Continue(())
    });
    assert_eq!(count, Ok(2));
    assert!(
        told[0].contains("fragment name differs at byte 3 of 4 here and 9 there"),
        "{told:?}"
    );
    assert!(
        told[1].contains("shared fragment faction differs"),
        "{told:?}"
    );
    let after = here.to_snapshot(&all()).unwrap();
    let (one, two) = (
        SnapshotState::of(&after).unwrap(),
        SnapshotState::of(&before).unwrap(),
    );
    let mut of_files = Vec::new();
    one.differences(&two, |_, difference| {
        of_files.push(difference.to_string());
        ControlFlow::Continue(())
    });
    assert_eq!(of_files, told);
}

#[test]
fn a_hash_writes_a_shared_value_once_however_many_chunks_have_it() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let mut world = World::new();
    let write = move |faction: &Faction, bytes: &mut Vec<u8>| {
        counted.fetch_add(1, Ordering::Relaxed);
        bytes.extend(faction.0.as_bytes());
    };
    let read = |bytes: &[u8], _: &EntityMap| String::from_utf8(bytes.to_vec()).map(Faction);
    let registry = world.registry();
    registry.register_plain::<u32>().unwrap();
    registry.register_plain::<u64>().unwrap();
    registry
        .register_written_as::<Shared<Faction>, _, _>("faction", write, read)
        .unwrap();
    for n in 0..10_000_u32 {
        let faction = Faction(["red", "blue"][n as usize % 2].into());
        match n % 3 {
            0 => world.create((n,).shared(faction)).unwrap(),
            _ => world.create((n, u64::from(n)).shared(faction)).unwrap(),
        };
    }
    assert!(world.stats().chunks > 4, "{:?}", world.stats());
    let hash = world.state_hash(&Default::default()).unwrap();
    assert_eq!(calls.swap(0, Ordering::Relaxed), 2);
    assert_eq!(world.state_hash(&Default::default()).unwrap(), hash);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}
