//! Moves to another world that find no room there, or that users' code breaks off: the other world is what it was before.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::chunk::ChunkOptions;
use megachunk::entity::IndexOptions;
use megachunk::fragment::{Fragment, WithPerChunk, WithShared};
use megachunk::observer::Observed;
use megachunk::prelude::*;
use megachunk::world::SnapshotOptions;

use crate::counted::{Counted, FUSE};

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Weather(u32);
megachunk::plain!(Weather { 0 });
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
struct Team(u8);
megachunk::plain!(Team { 0 });

/// What ants have.
type Ant<C> = WithPerChunk<WithShared<(u64,), Team>, C>;

/// Moves two ants, or the first of them; how many.
type Call = fn(&mut World, &mut World, [Entity; 2]) -> Result<usize, WorldError>;

fn calls<C: Fragment + Clone>() -> [(&'static str, Call); 5] {
    [
        ("one", |land, sea, [ant, _]| {
            land.move_to(sea, ant).map(|()| 1)
        }),
        ("slice", |land, sea, ants| {
            land.move_slice_to(sea, &ants)?.into_result()
        }),
        ("archetype", |land, sea, _| {
            land.move_archetype_to::<Ant<C>>(sea)
        }),
        ("matching", |land, sea, _| {
            land.matching::<With<u64>>().unwrap().move_to(sea)
        }),
        ("all", |land, sea, _| land.move_all_to(sea)),
    ]
}

/// Three worlds, of which the first has two ants, whose chunks the second lays out otherwise.
fn worlds<C: Fragment + Clone>(value: C, is_watched: bool) -> ([World; 3], [Entity; 2]) {
    let options = ChunkOptions::new().at_most(1);
    let universe = Universe::ordered_with(&IndexOptions::new(), &options).unwrap();
    let registry = universe.registry();
    registry.register_plain::<PerChunk<Weather>>().unwrap();
    registry.register_plain::<Shared<Team>>().unwrap();
    registry.register_plain::<u64>().unwrap();
    registry.register_plain::<i8>().unwrap();
    let universe = Arc::new(universe);
    let [mut land, mut sea, mut rest] = [(); 3].map(|()| World::of(&universe).unwrap());
    land.set_chunk_size(1);
    sea.set_chunk_size(2);
    rest.set_chunk_size(1);
    let bundle = |n: u64| (n,).shared(Team(3)).per_chunk(value.clone());
    let ants = [1, 2].map(|n| land.create(bundle(n)).unwrap());
    if is_watched {
        for world in [&mut land, &mut sea] {
            let all = Observed::COME | Observed::GO;
            world.observe::<u64, ()>(all, |_, _| {}).unwrap();
        }
    }
    ([land, sea, rest], ants)
}

/// Fills all memory that there is.
fn fill(rest: &mut World) {
    while rest.create(([0_u64; 100],)).is_ok() {}
}

fn check(worlds: &[World; 3]) {
    let [land, sea, rest] = worlds;
    land.universe().check([land, sea, rest]).unwrap();
}

#[test]
fn a_move_that_finds_no_room_leaves_no_composition_and_nothing_that_chunks_begin_with() {
    for (name, call) in calls::<Weather>() {
        for (is_watched, is_known) in [(false, false), (false, true), (true, false), (true, true)] {
            let (mut worlds, ants) = worlds(Weather(7), is_watched);
            let [land, sea, rest] = &mut worlds;
            if is_known {
                // Chunk fragment and shared value, but not the composition.
                let bundle = (1_i8,).shared(Team(3)).per_chunk(Weather(1));
                sea.create(bundle).unwrap();
            }
            fill(rest);
            let state = |sea: &World| {
                let bytes = sea.to_snapshot(&SnapshotOptions::new()).unwrap();
                (bytes, sea.archetypes().count(), sea.archetypes().len())
            };
            let before = state(sea);
            for _ in 0..3 {
                let refused = call(land, sea, ants);
                assert!(matches!(refused, Err(WorldError::Chunk(_))), "{name}");
                assert!(state(sea) == before, "{name}, {is_watched}, {is_known}");
                sea.check().unwrap();
            }
            rest.clear();
            rest.trim();
            assert!(call(land, sea, ants).unwrap() > 0, "{name}");
            let weather = sea.chunk_fragment::<Weather>(ants[0]).unwrap();
            assert_eq!(weather, &Weather(7), "{name}");
            assert_eq!(sea.shared::<Team>(ants[0]).unwrap(), &Team(3), "{name}");
            check(&worlds);
        }
    }
}

#[test]
fn a_move_in_which_a_template_cannot_be_cloned_leaves_none() {
    for (name, call) in calls::<Counted>() {
        for is_watched in [false, true] {
            let alive = Arc::default();
            let (mut worlds, ants) = worlds(Counted::new(&alive), is_watched);
            let before = (alive.load(Ordering::Relaxed), worlds[1].archetypes().len());
            let mut panicked = 0;
            loop {
                let [land, sea, _] = &mut worlds;
                FUSE.set(panicked + 1);
                let call = AssertUnwindSafe(|| call(land, sea, ants).unwrap());
                let moved = catch_unwind(call);
                FUSE.set(0);
                if moved.is_ok() {
                    break;
                }
                panicked += 1;
                let now = (alive.load(Ordering::Relaxed), sea.archetypes().len());
                assert_eq!(now, before, "{name}, clone {panicked}");
                assert!(land.is_built(ants[0]) && sea.count() == 0, "{name}");
                check(&worlds);
            }
            // What the world begins chunks with, what the composition does, and what the chunk has.
            assert_eq!(panicked, 3, "{name}");
            check(&worlds);
            drop(worlds);
            assert_eq!(alive.load(Ordering::Relaxed), 0, "{name}");
        }
    }
}

#[test]
fn those_of_a_slice_who_find_room_come_without_the_compositions_of_the_others() {
    for is_watched in [false, true] {
        let (mut worlds, ants) = worlds(Weather(7), is_watched);
        let [land, sea, rest] = &mut worlds;
        sea.create((9_i8,)).unwrap();
        let bees = [1_i8, 2].map(|n| land.create((n,)).unwrap());
        fill(rest);
        let before = sea.archetypes().len();
        let all = [ants[0], bees[0], ants[1], bees[1]];
        let report = land.move_slice_to(sea, &all).unwrap();
        assert_eq!((report.done, report.refused.len()), (2, 2));
        assert_eq!((sea.archetypes().len(), sea.count()), (before, 3));
        assert_eq!(bees.map(|bee| *sea.get::<i8>(bee).unwrap()), [1, 2]);
        check(&worlds);
    }
}

#[test]
fn a_query_of_which_nobody_goes_leaves_no_composition() {
    let alive: Arc<AtomicUsize> = Arc::default();
    let (mut worlds, _) = worlds(Counted::new(&alive), false);
    let [land, sea, _] = &mut worlds;
    let before = (alive.load(Ordering::Relaxed), sea.archetypes().len());
    let none = land.matching::<With<u64>>().unwrap();
    assert_eq!(none.filter_chunks(|_| false).move_to(sea).unwrap(), 0);
    let breaks = land.matching::<With<u64>>().unwrap();
    let breaks = breaks.filter_chunks(|_| std::panic::resume_unwind(Box::new(())));
    assert!(catch_unwind(AssertUnwindSafe(|| breaks.move_to(sea))).is_err());
    let now = (alive.load(Ordering::Relaxed), sea.archetypes().len());
    assert_eq!(now, before);
    check(&worlds);
}

/// Counts how often it is cloned.
#[derive(Default)]
struct Copied(Arc<AtomicUsize>);

impl Clone for Copied {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&self.0))
    }
}

#[test]
fn a_slice_that_finds_no_room_makes_each_composition_once() {
    let copied = Copied::default();
    let mut clones = Vec::new();
    for count in [2, 200] {
        let (mut worlds, _) = worlds(Weather(7), false);
        let [land, sea, rest] = &mut worlds;
        let mut all = Vec::new();
        for n in 0..count {
            all.push(land.create((n,).per_chunk(copied.clone())).unwrap());
            all.push(land.create((n, 'a').per_chunk(copied.clone())).unwrap());
        }
        fill(rest);
        let before = (copied.0.load(Ordering::Relaxed), sea.archetypes().len());
        let report = land.move_slice_to(sea, &all).unwrap();
        assert_eq!((report.done, report.refused.len()), (0, all.len()));
        let positions = report.refused.iter().map(|&(at, _)| at);
        assert!(positions.eq(0..all.len()));
        assert_eq!(sea.archetypes().len(), before.1);
        clones.push(copied.0.load(Ordering::Relaxed) - before.0);
        check(&worlds);
    }
    assert_eq!(clones[0], clones[1], "of what their chunks begin with");
}

/// Two worlds without memory that is free, whose chunks have `chunks` lengths, and a third that has it all.
fn without_memory(chunks: [usize; 2], prepare: impl FnOnce(&mut World, &mut World)) -> [World; 3] {
    let (mut worlds, ants) = worlds(Weather(7), false);
    let [land, sea, rest] = &mut worlds;
    land.destroy_slice(&ants).into_result().unwrap();
    land.collect_archetypes();
    land.set_chunk_size(chunks[0]);
    sea.set_chunk_size(chunks[1]);
    prepare(land, sea);
    fill(rest);
    worlds
}

#[test]
fn who_is_behind_a_chunk_that_has_come_free_finds_room_in_it() {
    let (mut ants, mut bee) = (Vec::new(), None);
    let mut worlds = without_memory([2, 1], |land, sea| {
        ants.extend((0..2_u64).map(|n| land.create((n,)).unwrap()));
        // Its chunk has a chunk fragment, and so is not kept when it is empty.
        let alone = || (1_i8,).per_chunk(Weather(1));
        bee = Some(land.create(alone()).unwrap());
        sea.create(alone()).unwrap();
    });
    let [land, sea, _] = &mut worlds;
    let report = land.move_slice_to(sea, &[ants[0], bee.unwrap(), ants[1]]);
    let report = report.unwrap();
    assert!(matches!(report.refused[..], [(0, WorldError::Chunk(_))]));
    assert_eq!(report.done, 2);
    assert_eq!(sea.get::<u64>(ants[1]).unwrap(), &1);
    check(&worlds);
}

#[test]
fn a_whole_chunk_goes_as_it_is_behind_one_who_finds_no_room() {
    let mut ants = Vec::new();
    let mut worlds = without_memory([1, 1], |land, _| {
        let teams = [1, 1, 2, 1];
        ants.extend(teams.map(|team| land.create((7_u64,).shared(Team(team))).unwrap()));
    });
    let [land, sea, _] = &mut worlds;
    let report = land.move_slice_to(sea, &[ants[0], ants[2], ants[3]]);
    let report = report.unwrap();
    let refused = report.refused.iter().map(|&(at, _)| at);
    assert!(refused.eq([0, 2]));
    assert_eq!((report.done, sea.count()), (1, 1));
    assert_eq!(sea.shared::<Team>(ants[2]).unwrap(), &Team(2));
    check(&worlds);
}
