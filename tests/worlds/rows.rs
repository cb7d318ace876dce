//! STACK's section "Entities and the world", a test a row.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::entity::EntityFault;
use megachunk::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Position(pub(crate) f32, pub(crate) f32);
#[derive(Debug, PartialEq)]
pub(crate) struct Name(pub(crate) String);
#[derive(Clone)]
pub(crate) struct Asleep;
pub(crate) struct Hungry;

fn dead(error: &WorldError, entity: Entity) -> bool {
    matches!(error, WorldError::Entity(e)
        if e.entity == entity && e.fault == EntityFault::Destroyed)
        && error.to_string().contains(&entity.to_string())
}

#[test]
fn states_are_free_then_reserved_then_built() {
    let mut world = World::new();
    let ant = world.reserve().unwrap();
    assert!(world.exists(ant) && !world.is_built(ant) && world.count() == 0);
    assert!(
        matches!(world.get::<Position>(ant), Err(WorldError::NotBuilt { entity }) if entity == ant)
    );
    world.build(ant, (Position(1.0, 2.0),)).unwrap();
    assert!(world.exists(ant) && world.is_built(ant) && world.count() == 1);

    let twice = world.build(ant, (Asleep,)).unwrap_err();
    assert!(matches!(twice, WorldError::AlreadyBuilt { entity } if entity == ant));
    assert!(twice.to_string().contains("built already"), "{twice}");
    let built = world.release(ant).unwrap_err();
    assert!(matches!(built, WorldError::AlreadyBuilt { entity } if entity == ant));
    assert_eq!(world.get(ant).ok(), Some(&Position(1.0, 2.0)));

    let bee = world.reserve().unwrap();
    world.release(bee).unwrap();
    assert!(!world.exists(bee) && dead(&world.release(bee).unwrap_err(), bee));
    assert!(dead(&world.build(bee, (Asleep,)).unwrap_err(), bee));
    let cow = world.reserve().unwrap();
    world.destroy(cow).unwrap();
    assert!(!world.exists(cow));
}

#[test]
fn every_call_that_takes_a_stale_handle_names_the_entity_and_what_became_of_it() {
    let mut world = World::new();
    let gone = world.create((Position(0.0, 0.0),)).unwrap();
    world.destroy(gone).unwrap();
    // Another one in its place.
    world.create((Position(1.0, 1.0),)).unwrap();
    assert!(!world.exists(gone) && !world.is_built(gone));
    assert!(world.find_fragment::<Position>(gone).is_none());
    let mut query = Query::<&Position>::new(&world).unwrap();
    let errors = [
        world.get::<Position>(gone).map(drop),
        world.get_mut::<Position>(gone).map(drop),
        world.has::<Position>(gone).map(drop),
        world.shared::<u8>(gone).map(drop),
        world.const_shared::<u8>(gone).map(drop),
        world.chunk_fragment::<u8>(gone).map(drop),
        world.chunk_fragment_mut::<u8>(gone).map(drop),
        world.set_enabled::<Asleep>(gone, true),
        world.is_enabled::<Asleep>(gone).map(drop),
        world.fragments(gone).map(drop),
        world.clone_entity(gone).map(drop),
        world.add(gone, (Asleep,)),
        world.remove::<(Asleep,)>(gone).map(drop),
        world.swap::<(Asleep,), _>(gone, (Hungry,)),
        world.set_shared(gone, 1_u8),
        world.build(gone, (Asleep,)),
        world.release(gone),
        world.destroy(gone),
        query.get(&world, gone).map(drop),
    ];
    for (call, result) in errors.into_iter().enumerate() {
        let error = result.expect_err("a call takes a stale handle");
        assert!(dead(&error, gone), "call {call}: {error}");
    }
    let report = world.add_slice(&[gone], |_| (Asleep,));
    assert!(report.refused.len() == 1 && dead(&report.refused[0].1, gone));

    let never = Entity::new(1_000, 1).unwrap();
    let error = world.get::<Position>(never).unwrap_err();
    assert_eq!(error.entity(), Some(never));
    assert!(error.to_string().contains("never created"), "{error}");
}

#[test]
fn an_entity_with_all_zero_bits_never_exists() {
    assert_eq!(Entity::try_from_bits(0), None);
    let mut world = World::new();
    for _ in 0..100 {
        assert_ne!(world.create(()).unwrap().to_bits(), 0);
    }
}

#[test]
fn ids_are_unique_over_all_worlds_that_share_an_index() {
    let universe = Arc::new(Universe::new());
    let worlds: Vec<(World, Vec<Entity>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut world = World::of(&universe).unwrap();
                    let mut ids = Vec::new();
                    for round in 0..1_000_u32 {
                        ids.push(world.create((round,)).unwrap());
                        let batch = world.create_batch((0..5_u32).map(|n| (n,))).unwrap();
                        ids.extend(batch.iter(&world));
                        ids.push(world.reserve().unwrap());
                    }
                    (world, ids)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let ids: Vec<Entity> = worlds.iter().flat_map(|(_, ids)| ids).copied().collect();
    let count = ids.len();
    let unique: std::collections::BTreeSet<_> = ids.into_iter().collect();
    assert_eq!((unique.len(), universe.count()), (count, count));
}

#[test]
fn create_one_create_n_create_with_values() {
    let mut world = World::new();
    let one = world
        .create((Position(1.0, 0.0), Name("ant".into())))
        .unwrap();
    let many = world
        .create_batch((0..3_000).map(|n| (Position(n as f32, 1.0),)))
        .unwrap();
    assert_eq!((many.len(), world.count()), (3_000, 3_001));
    let shared = world
        .create((Position(2.0, 2.0),).shared("team").per_chunk(7_u8))
        .unwrap();
    assert_eq!(world.get::<Name>(one).unwrap().0, "ant");
    assert_eq!(world.shared::<&str>(shared).unwrap(), &"team");
    assert_eq!(world.chunk_fragment::<u8>(shared).unwrap(), &7);
}

#[test]
fn the_order_of_a_batchs_ids_is_the_order_of_its_output() {
    let mut world = World::new();
    // Holes and chunks with room beforehand.
    let before: Vec<_> = (0..5_000_u32)
        .map(|n| world.create((n,)).unwrap())
        .collect();
    for entity in before.iter().step_by(3) {
        world.destroy(*entity).unwrap();
    }
    let batch = world.create_batch((0..9_000_u32).map(|n| (n,))).unwrap();
    for (n, entity) in (0..).zip(batch.iter(&world)) {
        assert_eq!(world.get::<u32>(entity).unwrap(), &n);
    }
    let batch = world
        .create_batch((0..100_u32).map(|n| (n,).shared(n % 7)))
        .unwrap();
    for (n, entity) in (0..).zip(batch.iter(&world)) {
        assert_eq!(world.get::<u32>(entity).unwrap(), &n);
    }
}

#[test]
fn destroy_one_or_a_slice_with_duplicates_and_stale_ones_reported_and_the_rest_destroyed() {
    let universe = Arc::new(Universe::new());
    let (mut world, mut other) = (World::of(&universe).unwrap(), World::of(&universe).unwrap());
    let ants: Vec<_> = (0..6_u8).map(|n| world.create((n,)).unwrap()).collect();
    let bee = other.create((0_u8,)).unwrap();
    let reserved = world.reserve().unwrap();
    world.destroy(ants[0]).unwrap();
    let slice = [ants[1], ants[0], ants[2], ants[1], bee, reserved, ants[3]];
    let report = world.destroy_slice(&slice);
    assert_eq!(report.done, 4);
    assert!(!report.is_clean());
    let positions: Vec<_> = report.refused.iter().map(|(at, _)| *at).collect();
    assert_eq!(positions, [1, 3, 4]);
    assert!(dead(&report.refused[0].1, ants[0]) && dead(&report.refused[1].1, ants[1]));
    assert!(matches!(report.refused[2].1, WorldError::Elsewhere { entity, .. } if entity == bee));
    assert!(report.into_result().is_err());
    assert_eq!((world.count(), other.count(), universe.count()), (2, 1, 3));
}

/// Runs of neighbours of all lengths between entities that lie elsewhere, and some that come twice.
#[test]
fn destroy_a_slice_of_runs_and_of_scattered_entities_by_turns() {
    for count in [3_000, 40_000_u32] {
        let mut world = World::new();
        let stay = world.create((u32::MAX, 0_u8)).unwrap();
        let ants = world.create_batch((0..count).map(|n| (n,))).unwrap();
        let ants: Vec<Entity> = ants.iter(&world).collect();
        let bees = world.create_batch((0..count).map(|n| (n, 0_u8))).unwrap();
        let bees: Vec<Entity> = bees.iter(&world).collect();
        let mut others = (0..).map(|n| bees[7_919 * n % bees.len()]);
        let (mut slice, mut rest) = (Vec::new(), &ants[..]);
        let mut lengths = [1, 5, 70, 3, 900, 2, 2_500, 64].into_iter().cycle();
        while !rest.is_empty() {
            let run;
            (run, rest) = rest.split_at(lengths.next().unwrap().min(rest.len()));
            slice.extend(others.by_ref().take(slice.len() % 5));
            slice.extend_from_slice(run);
        }
        slice.extend_from_within(50..60);
        let scattered = slice.len() - 10 - ants.len();
        let report = world.destroy_slice(&slice);
        assert_eq!(report.done, ants.len() + scattered);
        let positions: Vec<usize> = report.refused.iter().map(|&(at, _)| at).collect();
        assert_eq!(
            positions,
            (slice.len() - 10..slice.len()).collect::<Vec<_>>()
        );
        assert_eq!(world.count(), 1 + bees.len() - scattered);
        assert!(slice.iter().all(|&entity| !world.is_built(entity)));
        for &bee in bees.iter().filter(|bee| !slice.contains(bee)).take(500) {
            assert_eq!(world.get::<u32>(bee).map(|&n| bees[n as usize]), Ok(bee));
        }
        assert_eq!(world.get::<u32>(stay), Ok(&u32::MAX));
        world.check().unwrap();
    }
}

#[test]
fn add_remove_and_set_one_or_several_in_one_move_by_entity_and_by_slice() {
    let mut world = World::new();
    let ants: Vec<_> = (0..10_u32).map(|n| world.create((n,)).unwrap()).collect();
    let ant = ants[0];
    let archetypes = world.archetypes().len();
    world
        .add(ant, (Position(1.0, 1.0), Name("a".into()), Asleep))
        .unwrap();
    assert_eq!(
        world.archetypes().len(),
        archetypes + 1,
        "one move, no archetype between"
    );
    assert!(world.remove::<(Name, Asleep, u32)>(ant).unwrap());
    assert_eq!(world.archetypes().len(), archetypes + 2);
    assert_eq!(world.get::<Position>(ant).unwrap(), &Position(1.0, 1.0));
    world.get_mut::<Position>(ant).unwrap().0 = 9.0;
    assert_eq!(world.get::<Position>(ant).unwrap(), &Position(9.0, 1.0));

    let report = world.add_slice(&ants, |at| (Position(at as f32, 0.0), Hungry));
    assert_eq!(report.done, 10);
    assert_eq!(world.get::<Position>(ants[7]).unwrap().0, 7.0);
    let report = world.remove_slice::<(Hungry, u32)>(&ants);
    assert_eq!(report.done, 10);
    assert!(!world.has::<u32>(ants[3]).unwrap() && !world.has::<Hungry>(ants[3]).unwrap());
    // By query: `tests/worlds/changes.rs`.
}

#[test]
fn adding_a_present_fragment_overwrites_its_value_and_does_not_move() {
    let mut world = World::new();
    let ants: Vec<_> = (0..3_u32)
        .map(|n| world.create((n, Name(n.to_string()))).unwrap())
        .collect();
    let mut moved = Query::<Entity, megachunk::query::Moved>::new(&world).unwrap();
    assert_eq!(moved.read(&world).count(), 3);
    let place = std::ptr::from_ref(world.get::<Name>(ants[1]).unwrap());
    world.add(ants[1], (Name("new".into()), 7_u32)).unwrap();
    assert_eq!(world.get::<Name>(ants[1]).unwrap().0, "new");
    assert_eq!(
        place,
        std::ptr::from_ref(world.get::<Name>(ants[1]).unwrap())
    );
    assert_eq!(
        (moved.read(&world).count(), world.archetypes().len()),
        (0, 1)
    );
}

#[test]
fn removing_an_absent_fragment_is_ok_false() {
    let mut world = World::new();
    let ant = world.create((1_u8,)).unwrap();
    assert!(!world.remove::<(Name,)>(ant).unwrap());
    assert!(!world.remove::<(Name, Asleep)>(ant).unwrap());
    assert!(
        world.remove::<(Name, u8)>(ant).unwrap(),
        "those that it has go"
    );
}

#[test]
fn removing_the_last_fragment_leaves_the_entity_in_the_empty_archetype() {
    let mut world = World::new();
    let ant = world.create((Name("ant".into()),)).unwrap();
    assert!(world.remove::<(Name,)>(ant).unwrap());
    assert!(world.is_built(ant) && world.fragments(ant).unwrap().next().is_none());
    assert_eq!(world.query::<Entity, ()>().unwrap().single(), Some(ant));
    world.add(ant, (1_u8,)).unwrap();
    assert_eq!(world.get::<u8>(ant).unwrap(), &1);
}

#[test]
fn swapping_tags_is_one_move() {
    let mut world = World::new();
    let ant = world.create((1_u8, Asleep)).unwrap();
    world.swap::<(Asleep,), _>(ant, (Hungry,)).unwrap();
    assert_eq!(world.archetypes().len(), 2, "no archetype between");
    assert!(!world.has::<Asleep>(ant).unwrap() && world.has::<Hungry>(ant).unwrap());
    // Values for chunks, and shared ones, come with it.
    world
        .swap::<(Hungry,), _>(ant, (Asleep,).shared(4_u32).per_chunk(5_i8))
        .unwrap();
    assert_eq!(world.shared::<u32>(ant).unwrap(), &4);
    assert_eq!(world.chunk_fragment::<i8>(ant).unwrap(), &5);
    assert!(!world.has::<Hungry>(ant).unwrap());
}

#[test]
fn a_clone_has_equal_values_tags_and_switches_and_what_cannot_be_cloned_is_refused() {
    let mut world = World::new();
    world.registry().register_clone::<String>().unwrap();
    world.registry().register_enableable::<u8>().unwrap();
    let ant = world
        .create((String::from("ant"), Asleep).shared(3_u32))
        .unwrap();
    // A value of a type may mean something, even without bytes.
    let error = world.clone_entity(ant).unwrap_err();
    assert!(matches!(error, WorldError::NotCloneable { name, .. } if name.contains("Asleep")));
    world.registry().register_clone::<Asleep>().unwrap();
    world.registry().register_clone::<u8>().unwrap();
    world.add(ant, (9_u8,)).unwrap();
    world.set_enabled::<u8>(ant, false).unwrap();
    let twin = world.clone_entity(ant).unwrap();
    assert_ne!(ant, twin);
    world.get_mut::<String>(ant).unwrap().push('s');
    assert_eq!(world.get::<String>(twin).unwrap(), "ant");
    assert_eq!(world.shared::<u32>(twin).unwrap(), &3);
    assert!(world.has::<Asleep>(twin).unwrap() && !world.is_enabled::<u8>(twin).unwrap());
    world.add(ant, (Name(String::new()),)).unwrap();
    let error = world.clone_entity(ant).unwrap_err();
    assert!(matches!(error, WorldError::NotCloneable { name, .. } if name.contains("Name")));
    assert_eq!(world.count(), 2);
}

#[test]
fn an_entitys_fragments_by_a_checked_and_an_optional_getter() {
    let mut world = World::new();
    let ant = world.create((Position(1.0, 2.0), Asleep)).unwrap();
    assert_eq!(world.get::<Position>(ant).unwrap(), &Position(1.0, 2.0));
    assert_eq!(
        world.find_fragment::<Position>(ant),
        Some(&Position(1.0, 2.0))
    );
    assert!(world.find_fragment::<Asleep>(ant).is_some());
    assert_eq!(world.find_fragment::<Name>(ant), None);
    let error = world.get::<Name>(ant).unwrap_err();
    assert!(matches!(&error, WorldError::Missing { entity, name, .. }
        if *entity == ant && name.contains("Name")));
    let names: Vec<_> = world
        .fragments(ant)
        .unwrap()
        .map(|info| info.name())
        .collect();
    assert!(names.len() == 2 && names.iter().any(|name| name.ends_with("Position")));
}

/// Counts its drops.
pub(crate) struct Counted(pub(crate) Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn fragments_that_need_drop_are_dropped_exactly_once_on_every_path() {
    // Paths with panics: `tests/world_models/panics`; all others at random: `tests/world_models/operations.rs`.
    let drops = Arc::new(AtomicUsize::new(0));
    let counted = || Counted(Arc::clone(&drops));
    let dropped = |expected: usize| assert_eq!(drops.swap(0, Ordering::Relaxed), expected);
    let mut world = World::new();
    let ant = world.create((counted(), 1_u8)).unwrap();
    world.add(ant, (Asleep,)).unwrap();
    dropped(0);
    world.add(ant, (counted(),)).unwrap();
    dropped(1);
    world.add(ant, (counted(), Hungry)).unwrap();
    dropped(1);
    world.remove::<(Counted,)>(ant).unwrap();
    dropped(1);
    let twice = world.add(ant, (counted(), counted()));
    assert!(twice.is_err());
    dropped(2);
    world.destroy(ant).unwrap();
    dropped(0);
    assert!(world.add(ant, (counted(),)).is_err());
    dropped(1);
    let batch = world
        .create_batch((0..3_000).map(|_| (counted(),)))
        .unwrap();
    let all: Vec<_> = batch.iter(&world).collect();
    let _ = world.destroy_slice(&all[..1_000]);
    dropped(1_000);
    assert_eq!(world.clear(), 2_000);
    dropped(2_000);
    world.create((counted(),)).unwrap();
    drop(world);
    dropped(1);
    assert_eq!(Arc::strong_count(&drops), 1, "all are gone");
}

#[test]
fn tags_that_need_drop_are_dropped_exactly_once() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Ordering::Relaxed);
        }
    }
    let mut world = World::new();
    let ants: Vec<_> = (0..10_u8)
        .map(|n| world.create((n, Guard)).unwrap())
        .collect();
    world.remove::<(u8,)>(ants[0]).unwrap();
    world.add(ants[1], (Guard,)).unwrap();
    assert_eq!(DROPS.load(Ordering::Relaxed), 1);
    world.remove::<(Guard,)>(ants[2]).unwrap();
    world.destroy(ants[3]).unwrap();
    assert_eq!(DROPS.load(Ordering::Relaxed), 3);
    assert!(world.get::<Guard>(ants[4]).is_ok());
    drop(world);
    assert_eq!(DROPS.load(Ordering::Relaxed), 11);
}

#[test]
fn a_tag_may_be_aligned_as_no_chunk_is() {
    #[repr(align(65536))]
    #[derive(Debug)]
    struct Wide;
    let mut world = World::new();
    let ant = world.create((Wide, 1_u8)).unwrap();
    assert!(
        std::ptr::from_ref(world.get::<Wide>(ant).unwrap())
            .addr()
            .is_multiple_of(65_536)
    );
    world.query::<&mut Wide, ()>().unwrap().for_each(|wide| {
        assert!(std::ptr::from_ref(wide).addr().is_multiple_of(65_536));
    });
    assert!(world.remove::<(Wide,)>(ant).unwrap());
}

#[test]
fn a_const_shared_value_cannot_be_changed() {
    let mut world = World::new();
    let ant = world.create((1_u8,).const_shared("ant")).unwrap();
    world.add(ant, (2_u8,).const_shared("ant")).unwrap();
    let error = world.add(ant, (3_u8,).const_shared("bee")).unwrap_err();
    assert!(matches!(error, WorldError::ConstShared { entity, .. } if entity == ant));
    assert_eq!(
        (
            world.get::<u8>(ant).unwrap(),
            world.const_shared::<&str>(ant).unwrap()
        ),
        (&2, &"ant")
    );
}

#[test]
fn everything_that_matches_a_query_is_destroyed() {
    let mut world = World::new();
    let _ = world.create_batch((0..3_000_u32).map(|n| (n,))).unwrap();
    let _ = world
        .create_batch((0..2_000_u32).map(|n| (n, Asleep)))
        .unwrap();
    assert_eq!(world.matching::<With<Asleep>>().unwrap().destroy(), 2_000);
    assert_eq!((world.count(), world.universe().count()), (3_000, 3_000));
    let odd = |chunk: &megachunk::query::ChunkView<'_>| chunk.has::<u32>();
    assert_eq!(
        world.matching::<()>().unwrap().filter_chunks(odd).destroy(),
        3_000
    );
    assert!(world.is_empty());
}

#[test]
fn add_remove_and_set_several_in_one_move_by_query() {
    let mut world = World::new();
    let batch = world
        .create_batch((0..1_000_u32).map(|n| (n, Asleep)))
        .unwrap();
    let ants: Vec<Entity> = batch.iter(&world).collect();
    let mut query = Query::<&u32, With<Asleep>>::new(&world).unwrap();
    let added = query
        .change(&mut world)
        .add(|&n| (n + 1, u64::from(n), 'x'));
    assert_eq!(added.unwrap(), 1_000);
    assert_eq!(
        world
            .matching::<With<u64>>()
            .unwrap()
            .remove::<(Asleep, char)>()
            .unwrap(),
        1_000
    );
    for (n, &ant) in (0_u32..).zip(&ants) {
        assert_eq!(
            (world.get(ant).ok(), world.get(ant).ok()),
            (Some(&(n + 1)), Some(&u64::from(n)))
        );
        assert!(!world.has::<Asleep>(ant).unwrap() && !world.has::<char>(ant).unwrap());
    }
    // {u32, Asleep}, {u32, Asleep, u64, char}, {u32, u64}: each change was one move.
    assert_eq!(world.archetypes().len(), 3);
}

#[test]
fn a_tag_or_shared_change_of_a_whole_chunk_moves_the_chunk_not_its_entities() {
    let mut world = World::new();
    world.set_chunk_size(1);
    let batch = world.create_batch((0..6_000_u32).map(|n| (n,))).unwrap();
    let full: Vec<Entity> = batch.iter(&world).take(1_000).collect();
    let places = |world: &World| -> Vec<_> {
        let place = |&ant: &Entity| std::ptr::from_ref(world.get::<u32>(ant).unwrap());
        full.iter().map(place).collect()
    };
    let before = places(&world);
    assert_eq!(
        world
            .matching::<With<u32>>()
            .unwrap()
            .add(|_| (Asleep,))
            .unwrap(),
        6_000
    );
    assert_eq!(places(&world), before);
    assert_eq!(
        world
            .matching::<With<Asleep>>()
            .unwrap()
            .set_shared(1_u8)
            .unwrap(),
        6_000
    );
    assert_eq!(
        world
            .matching::<With<Asleep>>()
            .unwrap()
            .set_shared(2_u8)
            .unwrap(),
        6_000
    );
    assert_eq!(places(&world), before);
    assert_eq!(world.shared::<u8>(full[0]).unwrap(), &2);
}

#[test]
fn entities_chunks_or_a_whole_archetype_move_to_another_world() {
    let universe = Arc::new(Universe::new());
    let (mut land, mut sea) = (World::of(&universe).unwrap(), World::of(&universe).unwrap());
    let batch = land.create_batch((0..10_000_u32).map(|n| (n,))).unwrap();
    let ants: Vec<Entity> = batch.iter(&land).collect();
    land.move_to(&mut sea, ants[5]).unwrap();
    assert_eq!(
        (land.exists(ants[5]), sea.get::<u32>(ants[5]).unwrap()),
        (false, &5)
    );
    assert!(matches!(
        land.get::<u32>(ants[5]),
        Err(WorldError::Elsewhere { .. })
    ));
    let report = land.move_slice_to(&mut sea, &ants[..10]).unwrap();
    assert_eq!((report.done, report.refused.len()), (9, 1));
    let address = |world: &World| std::ptr::from_ref(world.get::<u32>(ants[9_000]).unwrap());
    let before = address(&land);
    assert_eq!(land.move_archetype_to::<(u32,)>(&mut sea).unwrap(), 9_990);
    assert_eq!(
        (land.count(), sea.count(), universe.count()),
        (0, 10_000, 10_000)
    );
    assert_eq!(address(&sea), before, "the chunk went as it was");
    assert_eq!(sea.move_all_to(&mut land).unwrap(), 10_000);
}

#[test]
fn entity_names_are_optional_and_go_with_their_entities() {
    let mut world = World::new();
    let (queen, drone) = (
        world.create((1_u8,)).unwrap(),
        world.create((2_u8,)).unwrap(),
    );
    assert_eq!((world.name(queen).unwrap(), world.stats().names), (None, 0));
    world.set_name(queen, "queen").unwrap();
    world.set_name(drone, "queen").unwrap();
    let [one, two] = [queen, drone].map(|bee| world.name(bee).unwrap().unwrap().as_ptr());
    assert_eq!(one, two, "interned");
    world.destroy(queen).unwrap();
    assert_eq!(world.named("queen").collect::<Vec<_>>(), [drone]);
}
