//! The hash of all that a file has: one for two worlds exactly if their files are one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use megachunk::prelude::*;

use crate::snapshot_world::fill;
use crate::snapshots::{bytes, ordered};

fn hash(world: &World) -> u64 {
    world.continuation_hash(&SnapshotOptions::new()).unwrap()
}

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Pulse(u32);
megachunk::plain!(Pulse { 0 });

/// Three entities, of whom the second is dead, and what else there may be.
fn world(more: fn(&mut World, [Entity; 2])) -> World {
    let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
    let known = world.registry();
    known.register_plain_as::<u32>("number").unwrap();
    known.register_plain_as::<PerChunk<Pulse>>("pulse").unwrap();
    known.register_state_as::<u64>("score").unwrap();
    let all = [1_u32, 2, 3].map(|n| world.create((n,).per_chunk(Pulse(0))).unwrap());
    world.destroy(all[1]).unwrap();
    more(&mut world, [all[0], all[2]]);
    world
}

#[test]
fn all_that_decides_what_comes_counts_and_is_no_matter_for_the_state() {
    type Way = fn(&mut World, [Entity; 2]);
    let ways: [(&str, Way); 8] = [
        ("nothing", |_, _| ()),
        ("somebody came and went", |world, _| {
            let ghost = world.create(()).unwrap();
            world.destroy(ghost).unwrap();
        }),
        ("rows", |world, [one, _]| {
            world.add(one, (1_u8,)).unwrap();
            world.remove::<(u8,)>(one).unwrap();
        }),
        ("the time", |world, _| {
            world.advance_time(Duration::from_secs(1))
        }),
        ("a name", |world, [one, _]| {
            world.set_name(one, "ant").unwrap();
        }),
        ("a signal that waits", |world, [one, _]| {
            let ring = world.signal::<u64>("ring").unwrap();
            world
                .signals()
                .send_after(ring, one, 1, Duration::from_secs(1));
            world.collect_signals();
        }),
        ("a chunk's value", |world, [one, _]| {
            world.chunk_fragment_mut::<Pulse>(one).unwrap().0 = 1;
        }),
        ("what chunks begin with", |world, _| {
            world.set_chunk_rule::<Pulse, ()>(Pulse(2)).unwrap();
        }),
    ];
    let mut hashes = BTreeSet::new();
    let state = world(ways[0].1).state_hash(&Default::default()).unwrap();
    for (what, more) in ways {
        let (one, two) = (world(more), world(more));
        assert_eq!(hash(&one), hash(&two), "{what}");
        assert_eq!(
            one.state_hash(&Default::default()).unwrap(),
            state,
            "{what}"
        );
        assert!(hashes.insert(hash(&one)), "{what}");
    }
    // And what is part of the state, too.
    let scored = world(|world, _| world.resources_mut().insert(5_u64).map_or((), drop));
    let grown = world(|world, [one, _]| *world.get_mut::<u32>(one).unwrap() = 9);
    for world in [scored, grown] {
        assert!(hashes.insert(hash(&world)));
        assert_ne!(world.state_hash(&Default::default()).unwrap(), state);
    }
}

#[test]
fn a_world_that_is_loaded_has_the_hash_of_the_one_that_was_saved() {
    for count in [0, 1, 40, 4_000] {
        let mut saved = World::of(&Arc::new(ordered())).unwrap();
        let all = fill(&mut saved, count);
        let file = bytes(&saved);
        let mut loaded = World::from_snapshot(&file, ordered(), &Default::default()).unwrap();
        assert_eq!(hash(&loaded), hash(&saved));
        assert_eq!(bytes(&loaded), file);
        let Some(&first) = all.first() else { continue };
        // What is left out does not count.
        let before = hash(&saved);
        for options in [
            SnapshotOptions::new().skip_resources(),
            SnapshotOptions::new().skip_signals(),
            SnapshotOptions::new().skip_dead(),
        ] {
            let [one, other] = [&saved, &loaded].map(|world| {
                let file = world.to_snapshot(&options).unwrap();
                (world.continuation_hash(&options).unwrap(), file)
            });
            assert!(one == other);
            assert_eq!(one.0 == before, one.1 == file);
        }
        for world in [&mut saved, &mut loaded] {
            let entity = world.create(()).unwrap();
            world.destroy(entity).unwrap();
        }
        assert!(hash(&saved) != before && hash(&loaded) == hash(&saved));
        loaded.destroy(first).unwrap();
        assert_ne!(hash(&loaded), hash(&saved));
    }
}

#[test]
fn what_cannot_be_saved_has_no_such_hash() {
    let mut world = World::new();
    world.create((String::from("text"),)).unwrap();
    let options = SnapshotOptions::new();
    let refused = world.to_snapshot(&options).unwrap_err();
    assert_eq!(world.continuation_hash(&options), Err(refused));
    let options = options.skip_not_plain();
    assert!(world.continuation_hash(&options).is_ok());
}
