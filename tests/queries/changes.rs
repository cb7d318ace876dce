//! Changes of all that a query matches: what is told is what is done, and what is refused has changed nothing.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use megachunk::fragment::{DynamicBundle, FragmentError, Value};
use megachunk::prelude::*;
use megachunk::query::{ChunkView, QueryChange};
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
fn a_shared_value_is_taken_from_all_that_match_and_have_one() {
    let mut world = World::new();
    let make = |n: u32| {
        (n,).shared(["red", "blue"][n as usize % 2])
            .const_shared("fixed")
    };
    let all = world.create_batch((0..3_000).map(make)).unwrap();
    let all: Vec<Entity> = all.iter(&world).collect();
    let none = world.create((1_u32,)).unwrap();
    let other = world.create((1_u8,).shared("red")).unwrap();
    let change = world.matching::<With<u32>>().unwrap();
    assert_eq!(change.sharing(&"red").remove::<Shared<&str>>(), Ok(1_500));
    for (n, &entity) in all.iter().enumerate() {
        assert_eq!(world.shared::<&str>(entity).is_ok(), n % 2 == 1);
        assert_eq!(world.get::<u32>(entity).unwrap(), &(n as u32));
    }
    let change = world.matching::<With<u32>>().unwrap();
    assert_eq!(change.remove::<Shared<&str>>(), Ok(1_500));
    for &entity in &all {
        assert!(world.shared::<&str>(entity).is_err());
        assert_eq!(world.const_shared::<&str>(entity).unwrap(), &"fixed");
    }
    assert_eq!(world.get::<u32>(none).unwrap(), &1);
    assert_eq!(world.shared::<&str>(other).unwrap(), &"red");
    world.check().unwrap();
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
    world.registry().register_plain::<PerChunk<Heat>>().unwrap();
    let ant = world.create((1_u32,).per_chunk(Heat(1))).unwrap();
    // With this one there, it would be too wide.
    let _ = world.create((1_u32, [0_u64; 75_000])).unwrap();
    // A snapshot has what new chunks begin with, too.
    let options = SnapshotOptions::new().skip_not_plain();
    let before = (
        world.to_snapshot(&options).unwrap(),
        world.archetypes().len(),
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
    let too_large = |refused: Option<WorldError>| {
        let refused = refused.expect("it is refused");
        assert!(
            matches!(
                &refused,
                WorldError::Fragment(FragmentError::TooLarge { .. })
            ),
            "{refused:?}"
        );
    };
    too_large(world.create((one, two).per_chunk(Heat(3))).err());
    let widest = [0_u64; 140_000];
    too_large(world.add(ant, (widest,).per_chunk(Heat(4))).err());
    let dynamic = || {
        let registry = world.registry();
        let wide = Value::new(registry, [0_u64; 140_000]).unwrap();
        let heat = Value::per_chunk(registry, Heat(5)).unwrap();
        DynamicBundle::new().with(wide).with(heat)
    };
    let (one, two) = (dynamic(), dynamic());
    too_large(world.create_dynamic(one).err());
    too_large(world.add_dynamic(ant, two).err());
    let after = (
        world.to_snapshot(&options).unwrap(),
        world.archetypes().len(),
    );
    assert!(after == before, "something has changed");
}

#[test]
fn fragments_that_stand_there_twice_are_refused_before_anything_changes() {
    type Way = fn(QueryChange<'_, Entity, With<u32>>) -> Result<usize, WorldError>;
    let ways: [Way; 5] = [
        |all| all.remove::<(u32, u32)>(),
        |all| all.swap::<(u32, u32), _>(|_| (1_u8,)),
        |all| all.swap::<(u32,), _>(|_| (1_u8, 2_u8)),
        |all| all.add(|_| (1_u8, 2_u8)),
        |all| all.add(|_| (1_u8, 2_u8).shared("red")),
    ];
    for watched in [false, true] {
        let mut world = World::new();
        if watched {
            let all = Observed::COME | Observed::GO;
            let told = |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
                panic!("{:?} of {}", batch.change(), batch.len());
            };
            world.observe::<u32, With<u16>>(all, told).unwrap();
        }
        let ant = world.create((7_u32,)).unwrap();
        for way in ways {
            let refused = way(world.matching::<With<u32>>().unwrap());
            assert!(
                matches!(
                    &refused,
                    Err(WorldError::Fragment(FragmentError::Twice { .. }))
                ),
                "{refused:?}"
            );
            assert_eq!(world.composition(ant).unwrap().len(), 1);
            assert_eq!(world.get::<u32>(ant).unwrap(), &7);
        }
        world.check().unwrap();
    }
}

#[test]
fn a_filter_of_chunks_that_panics_leaves_done_what_it_was_asked_of_before() {
    type Change<'q> = QueryChange<'q, Entity, With<u32>>;
    // What a change does, whether it asks all chunks first, and whether an entity is changed.
    type Way = (
        &'static str,
        bool,
        fn(Change<'_>, &mut World),
        fn(&World, Entity) -> bool,
    );
    let has = |world: &World, ant| world.has::<u8>(ant).unwrap();
    let ways: [Way; 8] = [
        (
            "destroy",
            false,
            |all, _| _ = all.destroy(),
            |world, ant| !world.exists(ant),
        ),
        ("add", false, |all, _| _ = all.add(|_| (1_u8,)), has),
        (
            "swap",
            false,
            |all, _| _ = all.swap::<(u32,), _>(|_| (1_u8,)),
            has,
        ),
        (
            "remove",
            false,
            |all, _| _ = all.remove::<(u32,)>(),
            |world, ant| !world.has::<u32>(ant).unwrap(),
        ),
        (
            "move_to",
            false,
            |all, other| _ = all.move_to(other),
            |world, ant| !world.is_built(ant),
        ),
        (
            "add, shared",
            true,
            |all, _| _ = all.add(|_| (1_u8,).shared("red")),
            has,
        ),
        (
            "swap, shared",
            true,
            |all, _| _ = all.swap::<(u32,), _>(|_| (1_u8,).shared("red")),
            has,
        ),
        (
            "set_shared",
            true,
            |all, _| _ = all.set_shared("red"),
            |world, ant| world.shared::<&str>(ant).is_ok(),
        ),
    ];
    for (name, asks_first, way, is_changed) in ways {
        for watched in [false, true] {
            let universe = Arc::new(Universe::new());
            let [mut world, mut other] = [(); 2].map(|()| World::of(&universe).unwrap());
            world.set_chunk_size(1);
            if watched {
                let told = |_: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {};
                let all = Observed::COME | Observed::GO;
                world.observe::<u32, ()>(all, told).unwrap();
            }
            let batch = world.create_batch((0..20_000_u32).map(|n| (n,))).unwrap();
            let ants: Vec<Entity> = batch.iter(&world).collect();
            let before: Mutex<Vec<Entity>> = Mutex::new(Vec::new());
            let asked = AtomicUsize::new(0);
            let filter = |chunk: &ChunkView<'_>| {
                if asked.fetch_add(1, Ordering::Relaxed) == 3 {
                    std::panic::resume_unwind(Box::new("told to"));
                }
                before.lock().unwrap().extend(chunk.entities());
                true
            };
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let all = world.matching::<With<u32>>().unwrap();
                way(all.filter_chunks(filter), &mut other);
            }));
            assert_eq!(
                panicked.unwrap_err().downcast_ref(),
                Some(&"told to"),
                "{name}"
            );
            let changed = ants.iter().copied().filter(|&ant| is_changed(&world, ant));
            let changed: BTreeSet<Entity> = changed.collect();
            let before = before.into_inner().unwrap();
            assert!(before.len() > 1_000 && before.len() < ants.len());
            // Of what is added nobody is told before.
            let none = asks_first || watched && name != "add";
            let expected = before.into_iter().filter(|_| !none).collect();
            assert!(changed == expected, "{name}, watched: {watched}");
            universe.check([&world, &other]).unwrap();
        }
    }
}
