//! Changes of all that a query matches: what is told is what is done, and what is refused has changed nothing.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use megachunk::fragment::{DynamicBundle, Value};
use megachunk::prelude::*;
use megachunk::query::QueryChange;
use megachunk::world::SnapshotOptions;

#[test]
fn the_filter_of_chunks_is_asked_once_for_what_is_told_and_done() {
    type Way = fn(QueryChange<'_, Entity, With<u32>>, &mut World) -> usize;
    let ways: [Way; 4] = [
        |change, _| change.destroy(),
        |change, _| change.remove::<(u32,)>().unwrap(),
        |change, _| change.swap::<(u32,), _>(|_| (1_u8,)).unwrap(),
        |change, other| change.move_to(other).unwrap(),
    ];
    for (number, way) in ways.into_iter().enumerate() {
        for watched in [true, false] {
            let universe = Arc::new(Universe::new());
            let mut world = World::of(&universe).unwrap();
            let mut other = World::of(&universe).unwrap();
            world.set_chunk_size(1);
            let known = Arc::new(Mutex::new(BTreeSet::new()));
            if watched {
                let known = Arc::clone(&known);
                let kinds = Observed::COME | Observed::GO;
                let told = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
                    let mut known = known.lock().unwrap();
                    for entity in batch.entities() {
                        match Observed::COME.contains(batch.change()) {
                            true => assert!(known.insert(entity)),
                            false => assert!(known.remove(&entity)),
                        }
                    }
                };
                world.observe::<u32, ()>(kinds, told).unwrap();
            }
            let _ = world.create_batch((0..10_000_u32).map(|n| (n,))).unwrap();
            let chunks = world.stats().chunks;
            let asked = AtomicUsize::new(0);
            let change = world.matching::<With<u32>>().unwrap();
            // Ordering: one thread.
            let change = change.filter_chunks(|_| asked.fetch_add(1, Ordering::Relaxed) < 3);
            let gone = way(change, &mut other);
            assert_eq!(asked.load(Ordering::Relaxed), chunks, "way {number}");
            let left = world.read::<&u32, ()>().unwrap().count();
            assert!(
                gone > 0 && gone + left == 10_000,
                "way {number}: {gone}, {left}"
            );
            if watched {
                assert_eq!(known.lock().unwrap().len(), left, "way {number}");
            }
        }
    }
}

#[test]
fn a_change_that_is_refused_has_changed_no_entity_and_no_template() {
    // What is too wide for a chunk is too wide for a test's stack.
    let roomy = std::thread::Builder::new().stack_size(64 << 20);
    let done = roomy.spawn(refuse_changes).unwrap().join();
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn refuse_changes() {
    #[derive(Debug, PartialEq, Eq, Hash)]
    struct Team(u8);
    #[derive(Clone, Copy)]
    #[repr(transparent)]
    struct Heat(u32);
    megachunk::plain!(Heat { 0 });
    struct Wide(#[expect(dead_code, reason = "it is wide")] [u64; 60_000]);
    let wide = || Wide([0; 60_000]);
    let mut world = World::new();
    world.registry().register_plain::<u32>().unwrap();
    world.registry().register_plain_chunk::<Heat>().unwrap();
    let ant = world.create((1_u32,).per_chunk(Heat(1))).unwrap();
    // With this one there, it would be too wide.
    let _ = world.create((1_u32, [0_u64; 75_000])).unwrap();
    // A snapshot has what new chunks begin with, too.
    let options = SnapshotOptions::new().skip_not_plain();
    let before = (
        world.to_snapshot(&options).unwrap(),
        world.archetype_count(),
    );
    let all = world.matching::<With<u32>>().unwrap();
    let refused = all.add(|_| (wide(),).shared(Team(1)));
    assert!(
        matches!(refused, Err(WorldError::Fragment(_))),
        "{refused:?}"
    );
    assert!(!world.has::<Wide>(ant).unwrap());
    let all = world.matching::<With<u32>>().unwrap();
    let refused = all.swap::<(i8,), _>(|_| (wide(),).per_chunk(Heat(2)));
    assert!(
        matches!(refused, Err(WorldError::Fragment(_))),
        "{refused:?}"
    );
    let (one, two) = ([0_u64; 75_000], wide());
    assert!(world.create((one, two).per_chunk(Heat(3))).is_err());
    let widest = [0_u64; 140_000];
    assert!(world.add(ant, (widest,).per_chunk(Heat(4))).is_err());
    let dynamic = || {
        let registry = world.registry();
        let wide = Value::new(registry, [0_u64; 140_000]).unwrap();
        let heat = Value::per_chunk(registry, Heat(5)).unwrap();
        DynamicBundle::new().with(wide).with(heat)
    };
    let (one, two) = (dynamic(), dynamic());
    assert!(world.create_dynamic(one).is_err());
    assert!(world.add_dynamic(ant, two).is_err());
    let after = (
        world.to_snapshot(&options).unwrap(),
        world.archetype_count(),
    );
    assert!(after == before, "something has changed");
}
