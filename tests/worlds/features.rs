//! Names, resources, views, compaction, collection.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use megachunk::prelude::*;
use megachunk::world::Budget;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Position(pub(crate) f32, pub(crate) f32);
#[derive(Debug, PartialEq)]
pub(crate) struct Name(pub(crate) String);
pub(crate) struct Asleep;
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Team(pub(crate) u8);
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bounds(pub(crate) f32);

pub(crate) fn ants(world: &mut World, count: usize) -> Vec<Entity> {
    let bundles = (0..count).map(|n| (Position(n as f32, 0.0), Name(n.to_string())));
    let batch = world.create_batch(bundles).unwrap();
    batch.iter(world).collect()
}

pub(crate) fn check_ant(world: &World, ant: Entity, n: usize) {
    assert_eq!(world.get::<Position>(ant).unwrap().0, n as f32);
    assert_eq!(world.get::<Name>(ant).unwrap().0, n.to_string());
}

#[test]
fn an_entity_is_found_by_its_name_and_the_name_is_gone_with_it() {
    let mut world = World::new();
    let queen = world.create((1_u8,)).unwrap();
    let other = world.create((2_u8,)).unwrap();
    let reserved = world.reserve().unwrap();
    for entity in [queen, other, reserved] {
        world.set_name(entity, "queen").unwrap();
    }
    assert_eq!(
        world.named("queen").collect::<Vec<_>>(),
        [queen, other, reserved]
    );
    world.set_name(other, "drone").unwrap();
    assert_eq!(world.find_by_name("drone"), Some(other));
    world.add(queen, (Asleep,)).unwrap();
    assert_eq!(world.name(queen).unwrap(), Some("queen"));
    world.destroy(queen).unwrap();
    assert_eq!(world.find_by_name("queen"), Some(reserved));
    assert!(world.name(queen).is_err() && world.set_name(queen, "ghost").is_err());
    assert!(world.remove_name(reserved).unwrap() && !world.remove_name(reserved).unwrap());
    assert_eq!(world.find_by_name("queen"), None);
}

#[test]
fn names_of_the_dead_are_swept_out() {
    let mut world = World::new();
    let keeper = world.create((0_u32,)).unwrap();
    world.set_name(keeper, "keeper").unwrap();
    for n in 0..10_000_u32 {
        let entity = world.create((n,)).unwrap();
        world.set_name(entity, &format!("number {n}")).unwrap();
        world.destroy(entity).unwrap();
    }
    assert!(world.stats().names <= 128);
    assert_eq!(world.name(keeper).unwrap(), Some("keeper"));
}

// Resources.

#[test]
fn a_world_has_one_value_of_each_type() {
    struct Once(Arc<AtomicUsize>);
    impl Drop for Once {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    assert!(
        world
            .resources_mut()
            .insert(Once(Arc::clone(&drops)))
            .is_none()
    );
    assert!(
        world
            .resources_mut()
            .insert(Once(Arc::clone(&drops)))
            .is_some()
    );
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    *world.resources_mut().get_or_insert_with(|| 1_u32) += 1;
    *world.resources_mut().get_or_insert_with(|| 1_u32) += 1;
    assert_eq!(world.resources().get::<u32>(), Some(&3));
    assert_eq!(world.resources_mut().remove::<u32>(), Some(3));
    assert!(!world.resources().contains::<u32>() && world.resources().len() == 1);
    drop(world);
    assert_eq!(drops.load(Ordering::Relaxed), 2);
}

// Views.

#[test]
fn a_view_lends_the_fragments_of_one_entity_checked_and_optional() {
    let mut world = World::new();
    let bundle = (Position(1.0, 2.0), Asleep)
        .shared(Team(3))
        .per_chunk(Bounds(9.0));
    let ant = world.create(bundle).unwrap();
    world.set_name(ant, "anthony").unwrap();
    let view = world.entity(ant).unwrap();
    assert_eq!(view.get::<Position>().unwrap(), &Position(1.0, 2.0));
    assert!(view.find::<u8>().is_none() && view.has::<Asleep>());
    let error = view.get::<u8>().unwrap_err();
    assert!(error.to_string().contains("u8"), "{error}");
    assert_eq!(view.shared::<Team>().unwrap(), &Team(3));
    assert_eq!(view.chunk_fragment::<Bounds>().unwrap(), &Bounds(9.0));
    let text = view.to_string();
    assert!(
        text.contains("anthony") && text.contains("Position"),
        "{text}"
    );

    let mut view = world.entity_mut(ant).unwrap();
    view.get_mut::<Position>().unwrap().1 = 5.0;
    view.add((7_u8,))
        .unwrap()
        .swap::<(Asleep,), _>((Name("a".into()),))
        .unwrap();
    view.set_shared(Team(4)).unwrap();
    assert!(view.remove::<(u8,)>().unwrap() && view.find_mut::<u8>().is_none());
    assert_eq!(view.read().get::<Position>().unwrap().1, 5.0);
    view.destroy();
    assert!(world.entity(ant).is_err() && world.entity_mut(ant).is_err());
    let reserved = world.reserve().unwrap();
    assert!(matches!(
        world.entity(reserved),
        Err(WorldError::NotBuilt { .. })
    ));
}

#[test]
fn a_world_changes_what_is_known_by_its_number_and_a_view_what_its_chunk_has() {
    let mut world = World::new();
    let registry = world.registry();
    let legs = registry.register_enableable::<u8>().unwrap().id();
    let team = registry.register::<Shared<Team>>().unwrap().id();
    let other = registry.register::<u64>().unwrap().id();
    let values = DynamicBundle::new()
        .with(Value::new(registry, 6_u8).unwrap())
        .with(Value::shared(registry, Team(3)).unwrap());
    let ant = world
        .create((Position(1.0, 2.0),).per_chunk(Bounds(9.0)))
        .unwrap();
    let mut view = world.entity_mut(ant).unwrap();
    view.set(Position(3.0, 4.0)).unwrap().set('a').unwrap();
    world.add_dynamic(ant, values).unwrap();
    world.set_enabled_dynamic(ant, legs, false).unwrap();
    let value = world.get_dynamic_mut(ant, legs).unwrap();
    *value.value::<u8>().unwrap() += 2;
    assert!(world.get_dynamic_mut(ant, team).is_err(), "it is shared");
    let mut view = world.entity_mut(ant).unwrap();
    *view.find_mut::<char>().unwrap() = 'b';
    view.chunk_fragment_mut::<Bounds>().unwrap().0 = 8.0;
    assert!(view.chunk_fragment_mut::<Position>().is_err());

    let read = view.read();
    assert_eq!(read.get::<Position>().unwrap(), &Position(3.0, 4.0));
    assert_eq!(
        (read.get::<u8>().unwrap(), read.get::<char>().unwrap()),
        (&8, &'b')
    );
    assert_eq!(read.chunk_fragment::<Bounds>().unwrap(), &Bounds(8.0));
    assert_eq!(read.shared::<Team>().unwrap(), &Team(3));
    assert!(!read.is_enabled_dynamic(legs).unwrap());
    assert!(matches!(
        read.is_enabled_dynamic(team),
        Err(WorldError::NotEnableable { .. })
    ));
    assert!(read.has_dynamic(legs).unwrap() && read.has_dynamic(team).unwrap());
    assert!(!read.has_dynamic(other).unwrap());
    assert_eq!(read.composition().len(), 5);
    let all = read.fragments().map(|info| info.id());
    assert!(all.eq(read.composition().iter()));

    assert!(world.remove_dynamic(ant, &[legs, team, other]).unwrap());
    assert!(!world.remove_dynamic(ant, &[legs]).unwrap());
    let view = world.entity(ant).unwrap();
    assert!(!view.has_dynamic(team).unwrap());
    let composition = view.composition().clone();
    assert_eq!(world.composition(ant).unwrap(), composition);
    assert_eq!(composition.len(), 3);
}

#[test]
fn a_fragment_that_is_found_to_be_changed_counts_as_changed() {
    let mut world = World::new();
    let all = ants(&mut world, 3);
    let mut changed = Query::<Entity, Changed<Position>>::new(&world).unwrap();
    assert_eq!(changed.on(&mut world).count(), 3);
    assert!(world.find_fragment_mut::<u8>(all[1]).is_none());
    assert_eq!(changed.on(&mut world).count(), 0);
    world.find_fragment_mut::<Position>(all[1]).unwrap().0 = 7.0;
    // Of a whole chunk.
    assert_eq!(changed.on(&mut world).count(), 3);
    assert_eq!(world.get::<Position>(all[1]).unwrap().0, 7.0);
    world.destroy(all[1]).unwrap();
    assert!(world.find_fragment_mut::<Position>(all[1]).is_none());
}

#[test]
fn what_an_entity_has_in_another_role_is_said_to_be_there_in_that_role() {
    let mut world = World::new();
    let ant = world.create((Asleep,).shared(Team(1))).unwrap();
    let view = world.entity(ant).unwrap();
    assert!(
        view.to_string().contains("Team (shared fragment)"),
        "{view}"
    );
    let errors = [
        world.get::<Team>(ant).unwrap_err(),
        view.get::<Team>().unwrap_err(),
        world.const_shared::<Team>(ant).unwrap_err(),
    ];
    for error in errors.map(|error| error.to_string()) {
        let told = "Team in this role: there it is a shared fragment";
        assert!(error.ends_with(told), "{error}");
    }
    let error = world.get::<Name>(ant).unwrap_err().to_string();
    assert!(
        error.contains("it has no") && error.ends_with("Name"),
        "{error}"
    );
}

// Compaction and collection.

#[test]
fn compaction_comes_to_an_end_however_little_time_each_call_has() {
    let mut world = World::new();
    world.set_chunk_size(1);
    let batch = world.create_batch((0..60_000_u64).map(|n| (n,))).unwrap();
    let all: Vec<Entity> = batch.iter(&world).collect();
    for (n, &entity) in all.iter().enumerate() {
        if n % 5 != 0 {
            world.destroy(entity).unwrap();
        }
    }
    let chunks = world.stats().chunks;
    let mut calls = 0;
    let mut given_back = 0;
    loop {
        let report = world.compact(Budget::Time(std::time::Duration::ZERO));
        given_back += report.chunks;
        calls += 1;
        if report.is_done {
            break;
        }
        assert!(report.entities > 0 && report.chunks > 0, "{report:?}");
    }
    assert!(calls > 2 && calls <= chunks, "{calls} of {chunks}");
    assert_eq!(chunks - given_back, world.stats().chunks);
    assert!(world.stats().occupancy() > 0.9);
    world.check().unwrap();
}

#[test]
fn compaction_fills_the_fullest_from_the_emptiest_within_its_budget() {
    let run = |budget: Budget| {
        let mut world = World::new();
        // Chunks of one size, to be counted.
        world.set_chunk_size(1);
        let all = ants(&mut world, 50_000);
        let mut left = Vec::new();
        for (n, &ant) in all.iter().enumerate() {
            if n % 5 == 0 || (20_000..25_000).contains(&n) {
                left.push((n, ant));
            } else {
                world.destroy(ant).unwrap();
            }
        }
        let before = world.stats();
        let mut calls = 0;
        loop {
            calls += 1;
            let report = world.compact(budget);
            if let Budget::Entities(most) = budget {
                assert!(report.entities <= most);
            }
            if report.is_done {
                break;
            }
            assert!(calls < 100_000);
        }
        for &(n, ant) in &left {
            check_ant(&world, ant, n);
        }
        let after = world.stats();
        assert_eq!(after.entities, left.len());
        assert_eq!(
            after.chunks,
            left.len().div_ceil(after.capacity / after.chunks)
        );
        assert!(after.chunks < before.chunks && after.empty_chunks == 0);
        assert_eq!(world.compact(budget), {
            let mut nothing = megachunk::world::CompactReport::default();
            nothing.is_done = true;
            nothing
        });
        let order: Vec<Entity> = world.query::<Entity, ()>().unwrap().iter().collect();
        (order, calls)
    };
    let (first, calls) = run(Budget::Entities(700));
    assert!(calls > 5);
    // The same work, the same world.
    assert_eq!(first, run(Budget::Entities(700)).0);
    run(Budget::Time(Duration::from_millis(2)));
    assert_eq!(run(Budget::Unlimited).1, 1);
}

#[test]
fn compaction_empties_the_long_chunk_of_which_little_is_used() {
    let mut world = World::new();
    // Least capacity 1,008: one chunk of 16 KiB, then longer ones.
    let short = world.create_batch((0..1_008_u64).map(|n| (n,))).unwrap();
    let long = world.create_batch((0..8_000_u64).map(|n| (n,))).unwrap();
    let (short, long) = (
        short.iter(&world).collect::<Vec<_>>(),
        long.iter(&world).collect::<Vec<_>>(),
    );
    for &ant in short[4..].iter().chain(&long[5..]) {
        world.destroy(ant).unwrap();
    }
    let report = world.compact(Budget::Unlimited);
    assert!(report.is_done && report.entities == 5);
    let after = world.stats();
    assert_eq!((after.entities, after.chunk_bytes), (9, 16_384));
    world.check().unwrap();
}

#[test]
fn compaction_keeps_shared_values_and_bits_apart() {
    let mut world = World::new();
    world.set_chunk_size(1);
    world.registry().register_enableable::<Asleep>().unwrap();
    let mut all = Vec::new();
    for n in 0..20_000_u32 {
        let ant = world
            .create((n, Asleep).shared(Team((n % 3) as u8)))
            .unwrap();
        world.set_enabled::<Asleep>(ant, n % 2 == 0).unwrap();
        all.push(ant);
    }
    for (n, &ant) in all.iter().enumerate() {
        if n % 9 > 2 {
            world.destroy(ant).unwrap();
        }
    }
    let report = world.compact(Budget::Unlimited);
    assert!(report.is_done && report.chunks > 0 && report.bytes == report.chunks * 16_384);
    for (n, &ant) in all.iter().enumerate().filter(|(n, _)| n % 9 <= 2) {
        assert_eq!(world.get::<u32>(ant).unwrap(), &(n as u32));
        assert_eq!(world.shared::<Team>(ant).unwrap(), &Team((n % 3) as u8));
        assert_eq!(world.is_enabled::<Asleep>(ant).unwrap(), n % 2 == 0);
    }
}

#[test]
fn empty_archetypes_are_collected_and_queries_and_edges_notice() {
    let mut world = World::new();
    let ant = world.create((1_u8,)).unwrap();
    let gone = world.create((1_u16,)).unwrap();
    let bee = world.create((2_u8, 'b')).unwrap();
    let mut query = Query::<&u8, ()>::new(&world).unwrap();
    let mut tagged = Query::<Entity, With<Asleep>>::new(&world).unwrap();
    assert_eq!(query.on(&mut world).count(), 2);
    world.add(ant, (Asleep,)).unwrap();
    assert_eq!(tagged.on(&mut world).count(), 1);
    world.remove::<(Asleep,)>(ant).unwrap();
    world.destroy(gone).unwrap();
    assert_eq!(world.archetypes().len(), 4);
    assert_eq!(world.collect_archetypes(), 2);
    assert_eq!(world.archetypes().len(), 2);
    assert_eq!(world.collect_archetypes(), 0);
    assert_eq!(
        query
            .on(&mut world)
            .iter()
            .map(|byte| u32::from(*byte))
            .sum::<u32>(),
        3
    );
    assert_eq!(tagged.on(&mut world).count(), 0);
    // The edges are walked anew, and the bundle finds its archetype anew.
    world.add(ant, (Asleep,)).unwrap();
    world.add(bee, (3_u16,)).unwrap();
    assert_eq!(tagged.on(&mut world).single(), Some(ant));
    let new = world.create((5_u16,)).unwrap();
    assert_eq!(world.get::<u16>(new).unwrap(), &5);
    assert_eq!(world.get::<char>(bee).unwrap(), &'b');
    world.clear();
    assert_eq!(world.collect_archetypes(), 5);
    assert_eq!(world.universe().chunk_stats().in_use, 0);
    assert_eq!(query.on(&mut world).count(), 0);
}

#[test]
fn what_has_changed_is_the_same_after_a_collection_and_everything_in_another_world() {
    #[derive(Default)]
    struct Seen(usize);
    let mut world = World::new();
    // Of a composition before theirs, which goes first: then theirs has another number.
    let first = world.create((1_u8,)).unwrap();
    let all = ants(&mut world, 3);
    let mut schedule = Schedule::new();
    schedule.add(processor(
        "count",
        |mut run: QueryRun<'_, &Position, Changed<Position>>, seen: &mut Seen| seen.0 = run.count(),
    ));
    world.resources_mut().insert(Seen::default());
    let mut changed = Query::<Entity, Changed<Position>>::new(&world).unwrap();
    let mut moved = Query::<Entity, (Moved, With<Position>)>::new(&world).unwrap();
    let id = world.registry().of::<Position>().unwrap().id();
    let mut dynamic = DynamicQuery::builder(&world)
        .read(id)
        .changed(id)
        .build()
        .unwrap();
    let mut see = |world: &mut World| {
        schedule.run(world).unwrap();
        let here = world.resources_mut().get_mut::<Seen>().unwrap().0;
        let dynamic = dynamic.on(world).unwrap().count();
        let changed = changed.on(world).count();
        let moved = moved.on(world).count();
        [here, dynamic, changed, moved]
    };
    let collect = |world: &mut World| {
        let gone = world.create(('x', 1_u64)).unwrap();
        world.destroy(gone).unwrap();
        assert!(world.collect_archetypes() > 0);
    };
    assert_eq!(see(&mut world), [3; 4]);
    assert_eq!(see(&mut world), [0; 4]);
    world.destroy(first).unwrap();
    collect(&mut world);
    assert_eq!(see(&mut world), [0; 4]);
    // What has changed before a collection, and between two.
    *world.get_mut(all[0]).unwrap() = Position(7.0, 0.0);
    collect(&mut world);
    collect(&mut world);
    assert_eq!(see(&mut world), [3, 3, 3, 0]);
    collect(&mut world);
    world.destroy(all[0]).unwrap();
    let _ = ants(&mut world, 1);
    collect(&mut world);
    assert_eq!(see(&mut world), [3; 4]);
    assert_eq!(see(&mut world), [0; 4]);
    // Who did not run for a while misses nothing.
    *world.get_mut(all[1]).unwrap() = Position(8.0, 0.0);
    for _ in 0..5 {
        collect(&mut world);
        let _ = world.read::<&Position, ()>().unwrap().count();
    }
    assert_eq!(see(&mut world), [3, 3, 3, 0]);
    // Another world in its place.
    let mut other = World::of(world.universe()).unwrap();
    let _ = ants(&mut other, 2);
    let mut changed = Query::<Entity, Changed<Position>>::new(&world).unwrap();
    assert_eq!(changed.on(&mut world).count(), 3);
    std::mem::swap(&mut world, &mut other);
    assert_eq!(changed.on(&mut world).count(), 2);
    assert_eq!(changed.on(&mut world).count(), 0);
    collect(&mut other);
    assert_eq!(changed.on(&mut other).count(), 3);
}

// Statistics.

#[test]
fn a_universe_on_the_memory_of_one_that_ended_is_as_new() {
    struct First;
    let mut first = World::new();
    let ant = first.create((1_u8, String::from("an ant"))).unwrap();
    let reserved = first.reserve().unwrap();
    let number = first.registry().register::<First>().unwrap().id();
    let batch = first.create_batch((0..20_000_u64).map(|n| (n,))).unwrap();
    let all: Vec<Entity> = batch.iter(&first).collect();
    first.destroy_slice(&all[..15_000]).into_result().unwrap();
    drop(first);

    // Whoever else runs beside this test may have taken the memory: the answers are the same.
    let mut second = World::new();
    assert_eq!(second.universe().count(), 0);
    assert!(
        ![ant, reserved, all[0], all[19_999]]
            .into_iter()
            .any(|old| second.exists(old))
    );
    assert!(second.registry().of::<First>().is_none());
    assert!(second.registry().iter().next().is_none());
    let bee = second.create(("a bee",)).unwrap();
    assert_eq!((bee.index(), bee.version()), (ant.index(), 1));
    assert!(second.registry().of::<&str>().unwrap().id() < number);
    let batch = second.create_batch((0..40_000_u32).map(|n| (n,))).unwrap();
    let mut ids: Vec<Entity> = batch.iter(&second).collect();
    ids.push(bee);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((ids.len(), second.universe().count()), (40_001, 40_001));
    assert!(ids.iter().all(|id| id.version() == 1));
}

#[test]
fn a_resource_is_lent_beside_its_world_and_is_back_whatever_happens() {
    struct Count(u32);
    let mut world = World::new();
    assert_eq!(world.with_resource(|_, _: &mut Count| ()), None);
    world.resources_mut().insert(Count(1));
    let lies =
        |world: &World| core::ptr::from_ref(world.resources().get::<Count>().unwrap()).addr();
    let before = lies(&world);
    let seen = world.with_resource(|world, count: &mut Count| {
        count.0 += 1;
        assert!(world.resources().get::<Count>().is_none());
        world.with_resource(|_, _: &mut Count| ())
    });
    assert_eq!((seen, lies(&world)), (Some(None), before));
    // One that comes in its place goes again.
    world.with_resource(|world, _: &mut Count| world.resources_mut().insert(Count(100)).is_none());
    assert_eq!(world.resources().get::<Count>().unwrap().0, 2);
    let panics = catch_unwind(AssertUnwindSafe(|| {
        world.with_resource(|_, count: &mut Count| {
            count.0 += 1;
            assert_eq!(count.0, 0, "not so");
        })
    }));
    assert!(panics.is_err());
    assert_eq!(
        (world.resources().get::<Count>().unwrap().0, lies(&world)),
        (3, before)
    );
    // Another world is where this one was: it is there, too.
    let mut other = World::new();
    world.with_resource(|world, _: &mut Count| core::mem::swap(world, &mut other));
    assert_eq!(world.resources().get::<Count>().unwrap().0, 3);
    assert!(other.resources().get::<Count>().is_none());
}

#[test]
fn a_universe_is_trimmed_in_steps_and_beside_frames() {
    let mut world = World::new();
    let fill = |world: &mut World| {
        let batch = world.create_batch((0..1_500_000_u64).map(|n| (n,)));
        let count = batch.unwrap().iter(world).count();
        assert_eq!(count, 1_500_000);
        world.clear();
        world.trim();
        world.universe().chunk_stats().empty_megachunks
    };
    let empty = fill(&mut world);
    assert!(empty >= 8, "{empty}");
    let universe = Arc::clone(world.universe());
    for left in (0..empty).rev() {
        assert_eq!(universe.trim_to(left), 1);
        assert_eq!(universe.chunk_stats().empty_megachunks, left);
    }
    assert_eq!(universe.trim_to(0), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| (0..50).map(|_| universe.trim()).sum::<usize>());
        for _ in 0..3 {
            fill(&mut world);
        }
    });
    universe.trim();
    assert_eq!(universe.chunk_stats().committed_megachunks, 0);
    world.check().unwrap();
}
