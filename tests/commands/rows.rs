//! Recording on any thread, and the flush: each row of the behaviour has a test of its name.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Position([f32; 3]);
#[derive(Clone, Copy, Debug, PartialEq)]
struct Velocity([f32; 3]);
#[derive(Clone, Copy, Debug, PartialEq)]
struct Matrix([f32; 16]);
struct Asleep;
struct Awake;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u8);

/// Counts how often it is dropped.
#[derive(Clone, Debug)]
struct Counted(Arc<AtomicUsize>, u32);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn position(n: u32) -> Position {
    Position([n as f32, 0.0, 1.0])
}

#[test]
fn what_is_created_lives_at_once_and_joins_with_the_flush() {
    let mut world = World::new();
    let mut commands = world.commands();
    let ant = commands.create((position(1), 7_u8)).unwrap();
    assert!(commands.exists(ant) && world.exists(ant) && !world.is_built(ant));
    assert_eq!(commands.get::<Position>(ant).unwrap(), &position(1));
    *commands.get_mut::<u8>(ant).unwrap() += 1;
    assert!(commands.get::<Velocity>(ant).is_err());
    assert!(matches!(
        world.get::<u8>(ant),
        Err(WorldError::Pending { entity }) if entity == ant
    ));
    drop(commands);
    let report = world.flush();
    assert_eq!((report.created, report.rounds), (1, 1));
    assert!(report.is_clean() && world.is_built(ant));
    assert_eq!(world.get::<u8>(ant).unwrap(), &8);
    assert_eq!(world.count(), 1);
    let report = world.flush();
    assert_eq!((report.created, report.rounds), (0, 0));
}

#[test]
fn a_recorder_lends_what_it_has_created_and_nothing_of_another_ones() {
    let mut world = World::new();
    for round in 0..3 {
        let commands = world.parallel_commands();
        let (mut here, mut there) = (commands.open_at(0), commands.open_at(1));
        // Chunks of both have the same numbers, rows and length.
        let rows = [1, 40_000][usize::from(round > 0)];
        let mine: Vec<Entity> = (0..rows)
            .map(|n| here.create((position(n),)).unwrap())
            .collect();
        let yours: Vec<Entity> = (0..rows)
            .map(|n| there.create((position(n),)).unwrap())
            .collect();
        for (n, (&mine, &yours)) in (0..).zip(mine.iter().zip(&yours)) {
            assert_eq!(here.get::<Position>(mine).unwrap(), &position(n));
            assert_eq!(there.get::<Position>(yours).unwrap(), &position(n));
            assert!(here.get::<Position>(yours).is_err());
            let error = there.get::<Position>(mine).unwrap_err();
            assert!(matches!(error, WorldError::Elsewhere { entity, .. } if entity == mine));
            assert!(error.to_string().contains("recorder"), "{error}");
        }
        // What one before has created is not the next one's either, though it has the lane.
        drop(here);
        let here = commands.open_at(2);
        assert!(here.get::<Position>(mine[0]).is_err());
        drop((here, there));
        assert_eq!(world.flush().created, 2 * rows as usize);
        world.check().unwrap();
    }
}

#[test]
fn many_are_created_one_by_one_and_in_batches_and_none_is_lost() {
    for count in [1_u32, 40, 75, 76, 150, 151, 1_000, 20_000, 200_000] {
        let mut world = World::new();
        for round in 0..3_u32 {
            let mut commands = world.commands();
            let one_by_one: Vec<Entity> = (0..count)
                .map(|n| {
                    commands
                        .create((Matrix([n as f32; 16]), n, u64::from(round)))
                        .unwrap()
                })
                .collect();
            let batch = commands
                .create_batch((0..count).map(|n| (u64::from(round), n, Matrix([n as f32; 16]))))
                .unwrap();
            let batch: Vec<Entity> = batch.iter(&commands).collect();
            assert_eq!(batch.len(), count as usize);
            drop(commands);
            assert_eq!(world.flush().created, 2 * count as usize);
            for list in [&one_by_one, &batch] {
                for (&entity, n) in list.iter().zip(0..) {
                    assert_eq!(
                        world.get::<Matrix>(entity).unwrap(),
                        &Matrix([n as f32; 16])
                    );
                    assert_eq!(world.get::<u32>(entity).unwrap(), &n);
                }
            }
        }
        assert_eq!(world.count(), 6 * count as usize);
        assert_eq!(world.archetypes().len(), 1);
    }
}

#[test]
fn a_reserved_entity_is_built_by_a_recorder() {
    let mut world = World::new();
    let reserved = world.reserve().unwrap();
    let mut commands = world.commands();
    commands.build(reserved, (5_u32,)).unwrap();
    assert!(matches!(
        commands.build(reserved, (6_u32,)),
        Err(WorldError::AlreadyBuilt { .. })
    ));
    drop(commands);
    assert!(matches!(
        world.build(reserved, (7_u32,)),
        Err(WorldError::AlreadyBuilt { .. })
    ));
    assert!(world.flush().is_clean());
    assert_eq!(world.get::<u32>(reserved).unwrap(), &5);
}

/// A world of `count` entities, and their handles.
fn herd(count: u32) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let batch = world
        .create_batch((0..count).map(|n| (position(n), n)))
        .unwrap();
    let entities = batch.iter(&world).collect();
    (world, entities)
}

#[test]
fn every_kind_of_command_does_what_the_world_does_at_once() {
    let (mut world, ants) = herd(10);
    let reserved = world.reserve().unwrap();
    let mut commands = world.commands();
    commands.destroy(ants[0]);
    commands.add(ants[1], (Velocity([1.0; 3]), Asleep)).unwrap();
    commands.remove::<(u32,)>(ants[2]).unwrap();
    commands.set(ants[3], 33_u32).unwrap();
    commands.swap::<(Position,), _>(ants[4], (Awake,)).unwrap();
    commands.set_shared(ants[5], Team(1)).unwrap();
    commands.defer(|world| {
        world.resources_mut().insert(1.5_f64);
    });
    commands.destroy(reserved);
    assert_eq!(commands.len(), 8);
    drop(commands);
    let report = world.flush();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(
        (
            report.destroyed,
            report.moved,
            report.updated,
            report.closures
        ),
        (2, 4, 1, 1)
    );
    assert!(!world.exists(ants[0]) && !world.exists(reserved));
    assert_eq!(world.get::<Velocity>(ants[1]).unwrap(), &Velocity([1.0; 3]));
    assert!(world.has::<Asleep>(ants[1]).unwrap());
    assert_eq!(world.get::<u32>(ants[1]).unwrap(), &1);
    assert!(world.get::<u32>(ants[2]).is_err());
    assert_eq!(world.get::<u32>(ants[3]).unwrap(), &33);
    assert!(world.has::<Awake>(ants[4]).unwrap() && !world.has::<Position>(ants[4]).unwrap());
    assert_eq!(world.shared::<Team>(ants[5]).unwrap(), &Team(1));
    assert_eq!(world.get::<u32>(ants[5]).unwrap(), &5);
    assert_eq!(world.resources().get::<f64>(), Some(&1.5));
    for (&ant, n) in ants.iter().zip(0..).skip(6) {
        assert_eq!(world.get::<Position>(ant).unwrap(), &position(n));
    }
}

#[test]
fn order_is_the_order_of_pushing_in_one_recorder_and_the_sort_key_between_recorders() {
    let (mut world, ants) = herd(1);
    let parallel = world.parallel_commands();
    let keys: Vec<u64> = (0..100).rev().collect();
    for &key in &keys {
        let mut commands = parallel.open_at(key);
        commands.set(ants[0], 1_000_000_u32).unwrap();
        commands.set(ants[0], key as u32).unwrap();
    }
    assert_eq!(world.flush().updated, 1);
    assert_eq!(world.get::<u32>(ants[0]).unwrap(), &99);
    // With the same key, the one that was opened later.
    let mut first = parallel.open();
    let mut second = parallel.open();
    second.set(ants[0], 2_u32).unwrap();
    first.set(ants[0], 1_u32).unwrap();
    drop((second, first));
    assert!(world.flush().is_clean());
    assert_eq!(world.get::<u32>(ants[0]).unwrap(), &2);
}

#[test]
fn last_write_wins_remove_then_set_sets_and_add_then_remove_removes() {
    let (mut world, ants) = herd(3);
    for round in 0..5_u32 {
        let mut commands = world.commands();
        commands.remove::<(u32,)>(ants[0]).unwrap();
        commands.set(ants[0], round).unwrap();
        commands.add(ants[1], (Velocity([0.0; 3]),)).unwrap();
        commands.remove::<(Velocity,)>(ants[1]).unwrap();
        commands.set(ants[2], round).unwrap();
        commands.set(ants[2], round + 100).unwrap();
        drop(commands);
        assert!(world.flush().is_clean());
        assert_eq!(world.get::<u32>(ants[0]).unwrap(), &round);
        assert!(!world.has::<Velocity>(ants[1]).unwrap());
        assert_eq!(world.get::<u32>(ants[2]).unwrap(), &(round + 100));
    }
}

#[test]
fn destroy_wins_over_what_follows_it_and_the_dead_are_counted() {
    let (mut world, ants) = herd(4);
    let dead = ants[3];
    world.destroy(dead).unwrap();
    let drops = Arc::new(AtomicUsize::new(0));
    let mut commands = world.commands();
    commands.destroy(ants[0]);
    commands.add(ants[0], (Counted(drops.clone(), 0),)).unwrap();
    commands.destroy(ants[0]);
    commands.add(dead, (Counted(drops.clone(), 1),)).unwrap();
    commands.remove::<(u32,)>(dead).unwrap();
    drop(commands);
    let report = world.flush();
    assert_eq!((report.destroyed, report.dead), (1, 2));
    assert_eq!(drops.load(Ordering::Relaxed), 2);
    assert_eq!(world.count(), 2);
}

#[test]
fn every_value_is_dropped_exactly_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    let made = AtomicUsize::new(0);
    let new = |n: u32| {
        made.fetch_add(1, Ordering::Relaxed);
        Counted(drops.clone(), n)
    };
    let mut world = World::new();
    let mut commands = world.commands();
    let ants: Vec<Entity> = (0..500)
        .map(|n| commands.create((new(n), n)).unwrap())
        .collect();
    drop(commands);
    assert!(world.flush().is_clean());
    let mut commands = world.commands();
    for (n, &ant) in ants.iter().enumerate() {
        match n % 5 {
            0 => commands.destroy(ant),
            1 => commands.set(ant, new(1)).unwrap(),
            2 => {
                commands.set(ant, new(2)).unwrap();
                commands.set(ant, new(3)).unwrap();
            }
            3 => commands.remove::<(Counted,)>(ant).unwrap(),
            _ => {
                commands.set(ant, new(4)).unwrap();
                commands.remove::<(u32,)>(ant).unwrap();
            }
        }
    }
    let kept = new(9);
    commands.defer(move |_| {
        assert_eq!(kept.1, 9);
        drop(kept);
    });
    drop(commands);
    let report = world.flush();
    assert!(report.is_clean());
    assert_eq!(
        made.load(Ordering::Relaxed) - drops.load(Ordering::Relaxed),
        300,
        "one for each entity that has one"
    );
    // Never flushed: discarded with the world.
    let mut commands = world.commands();
    commands.create((new(5), 1_u32)).unwrap();
    commands.set(ants[1], new(6)).unwrap();
    let kept = new(7);
    commands.defer(move |_| drop(kept));
    drop(commands);
    drop(world);
    assert_eq!(made.load(Ordering::Relaxed), drops.load(Ordering::Relaxed));
}

#[test]
fn a_recorder_that_outlives_its_world_keeps_nothing() {
    let universe = Arc::new(Universe::new());
    let world = World::of(&universe).unwrap();
    let parallel = world.parallel_commands();
    let drops = Arc::new(AtomicUsize::new(0));
    let mut open = parallel.open();
    let ant = open.create((Counted(drops.clone(), 0),)).unwrap();
    drop(world);
    assert!(open.exists(ant));
    drop(open);
    assert!(!universe.exists(ant));
    let bee = parallel
        .open()
        .create((Counted(drops.clone(), 0),))
        .unwrap();
    assert!(!universe.exists(bee));
    assert_eq!(drops.load(Ordering::Relaxed), 2);
    assert_eq!(universe.count(), 0);
    drop(parallel);
    universe.trim();
    assert_eq!(universe.chunk_stats().in_use, 0);
}

#[test]
fn a_closure_sees_what_was_recorded_before_it_and_nothing_after() {
    let (mut world, ants) = herd(1_000);
    let ant = ants[500];
    let mut commands = world.commands();
    for round in 0..10_u32 {
        commands.set(ant, round).unwrap();
        commands.defer(move |world| {
            assert_eq!(world.get::<u32>(ant).unwrap(), &round);
            world.create((round,)).unwrap();
        });
    }
    commands.destroy(ant);
    drop(commands);
    let report = world.flush();
    assert!(report.is_clean());
    assert_eq!(
        (report.closures, report.destroyed, world.count()),
        (10, 1, 1_009)
    );
}

#[test]
fn a_nested_flush_is_safe() {
    let (mut world, ants) = herd(100);
    let ant = ants[7];
    let mut commands = world.commands();
    commands.set(ant, 1_u32).unwrap();
    commands.defer(move |world| {
        let mut inner = world.commands();
        inner.destroy(ant);
        let new = inner.create((1_000_u32,)).unwrap();
        drop(inner);
        assert!(world.flush().is_clean());
        // Its index may serve again, but the handle stays dead.
        let same = world.create((2_000_u32,)).unwrap();
        assert!(!world.exists(ant) && world.exists(new) && world.exists(same));
    });
    commands.set(ant, 2_u32).unwrap();
    drop(commands);
    let report = world.flush();
    assert_eq!((report.dead, report.closures, report.updated), (1, 1, 1));
    assert_eq!(world.count(), 101);
}

#[test]
fn what_runs_in_a_flush_and_records_for_ever_ends_in_an_error_and_no_hang() {
    fn again(world: &mut World) {
        world.commands().defer(again);
    }
    let mut world = World::new();
    world.commands().defer(again);
    let report = world.flush();
    assert!(report.unfinished && !report.is_clean());
    assert_eq!((report.rounds, report.closures), (5, 5));
    world.set_flush_rounds(2);
    assert_eq!(world.flush().closures, 2);
}

#[test]
fn closures_that_flush_what_they_record_for_ever_end_in_an_error_and_no_overflow() {
    fn again(world: &mut World) {
        *world.resources_mut().get_mut::<usize>().unwrap() += 1;
        // Were it but one refusal, there would be 2^16 of them.
        for _ in 0..2 {
            world.commands().defer(again);
            assert!(world.flush().unfinished);
        }
    }
    let mut world = World::new();
    world.resources_mut().insert(0_usize);
    world.commands().defer(again);
    for _ in 0..3 {
        let report = world.flush();
        assert!(report.unfinished && !report.is_clean());
        let ran = core::mem::take(world.resources_mut().get_mut::<usize>().unwrap());
        assert!((16..200).contains(&ran), "{ran}");
        assert!(world.pending().commands > 0, "they wait for the next flush");
    }
}

#[test]
fn a_closure_that_runs_a_schedule_whose_flush_runs_it_again_overflows_nothing() {
    fn again(world: &mut World) {
        world.commands().defer(again);
        let mut schedule = Schedule::new();
        schedule.add(processor("nothing", || {}));
        assert!(schedule.run(world).unwrap().flush.unfinished);
    }
    let mut world = World::new();
    world.commands().defer(again);
    let report = world.flush();
    assert!(report.unfinished);
    assert_eq!((report.rounds, report.closures), (1, 1));
}

#[test]
fn flushes_may_lie_sixteen_deep_and_what_a_deeper_one_leaves_comes_first_in_the_next() {
    fn deeper(world: &mut World, left: u32, unfinished: bool) {
        let ran = world.resources_mut().get_mut::<Vec<u32>>().unwrap();
        ran.push(left);
        if left > 0 {
            let closure = move |world: &mut World| deeper(world, left - 1, unfinished);
            world.commands().defer(closure);
            assert_eq!(world.flush().unfinished, unfinished, "{left} left");
        }
    }
    let mut world = World::new();
    for (depth, unfinished) in [(16, false), (17, true), (16, false)] {
        world.resources_mut().insert(Vec::<u32>::new());
        let closure = move |world: &mut World| deeper(world, depth - 1, unfinished);
        world.commands().defer(closure);
        let report = world.flush();
        assert_eq!((report.unfinished, report.closures), (unfinished, 1));
        let closure = |world: &mut World| deeper(world, 0, false);
        world.commands().defer(closure);
        assert!(world.flush().is_clean());
        let ran = world.resources().get::<Vec<u32>>().unwrap();
        let mut all: Vec<u32> = (0..depth).rev().collect();
        all.push(0);
        assert_eq!(ran, &all);
    }
}

#[test]
fn a_closure_that_sets_fewer_rounds_than_there_were_ends_the_flush() {
    fn again(world: &mut World, ran: u32) {
        if ran == 2 {
            world.set_flush_rounds(1);
        }
        if ran < 20 {
            world.commands().defer(move |world| again(world, ran + 1));
        }
    }
    let mut world = World::new();
    world.commands().defer(|world| again(world, 0));
    let report = world.flush();
    assert!(report.unfinished);
    assert_eq!(report.rounds, 3);
}

#[test]
fn tags_of_whole_chunks_are_changed_without_a_copy() {
    let (mut world, ants) = herd(100_000);
    let place = |world: &World, ant| core::ptr::from_ref(world.get::<u32>(ant).unwrap());
    let before: Vec<_> = ants.iter().map(|&ant| place(&world, ant)).collect();
    let mut commands = world.commands();
    for &ant in &ants {
        commands.add(ant, (Asleep,)).unwrap();
    }
    drop(commands);
    let report = world.flush();
    assert_eq!((report.moved, report.is_clean()), (100_000, true));
    let stayed = ants.iter().zip(&before);
    let stayed = stayed
        .filter(|&(&ant, &before)| place(&world, ant) == before)
        .count();
    assert!(stayed > 95_000, "{stayed}");
    for (&ant, n) in ants.iter().zip(0..) {
        assert!(world.has::<Asleep>(ant).unwrap());
        assert_eq!(world.get::<u32>(ant).unwrap(), &n);
    }
}

#[test]
fn created_entities_are_named_by_real_handles_at_once() {
    struct Friend(Entity);
    let mut world = World::new();
    let mut commands = world.commands();
    let first = commands.create((1_u8,)).unwrap();
    let second = commands.create((Friend(first),)).unwrap();
    commands.add(first, (Friend(second),)).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(world.get::<Friend>(first).unwrap().0, second);
    assert_eq!(world.get::<Friend>(second).unwrap().0, first);
}

#[test]
fn shared_values_and_chunk_fragments_are_recorded() {
    let mut world = World::new();
    let old = world.create((1_u32,).shared(Team(1))).unwrap();
    let mut commands = world.commands();
    let made: Vec<Entity> = (0..1_000_u32)
        .map(|n| {
            let bundle = (n,).shared(Team((n % 3) as u8)).per_chunk(0.5_f64);
            commands.create(bundle).unwrap()
        })
        .collect();
    commands.set_shared(old, Team(2)).unwrap();
    commands.set_shared(made[0], Team(2)).unwrap();
    drop(commands);
    let report = world.flush();
    assert!(report.is_clean());
    assert_eq!(world.shared::<Team>(old).unwrap(), &Team(2));
    assert_eq!(world.shared::<Team>(made[0]).unwrap(), &Team(2));
    for (&ant, n) in made.iter().zip(0..).skip(1) {
        assert_eq!(world.shared::<Team>(ant).unwrap(), &Team((n % 3) as u8));
        assert_eq!(world.chunk_fragment::<f64>(ant).unwrap(), &0.5);
        assert_eq!(world.get::<u32>(ant).unwrap(), &n);
    }
}

#[test]
fn an_archetype_may_be_first_met_by_a_worker() {
    let mut world = World::new();
    let parallel = world.parallel_commands();
    std::thread::scope(|scope| {
        for key in 0..4_u64 {
            let parallel = &parallel;
            scope.spawn(move || {
                let mut commands = parallel.open_at(key);
                for n in 0..1_000_u64 {
                    commands.create((key, n as u32)).unwrap();
                    commands.create((key, Asleep)).unwrap();
                }
            });
        }
    });
    assert_eq!(world.flush().created, 8_000);
    assert_eq!(world.archetypes().len(), 2);
    assert_eq!(
        world.query::<Entity, With<Asleep>>().unwrap().count(),
        4_000
    );
}

#[test]
fn ten_thousand_recorders_may_be_open_at_once() {
    let mut world = World::new();
    let parallel = world.parallel_commands();
    let mut open: Vec<_> = (0..10_000_u64).map(|key| parallel.open_at(key)).collect();
    let made: Vec<Entity> = open
        .iter_mut()
        .zip(0..)
        .map(|(commands, n)| commands.create((n as u32,)).unwrap())
        .collect();
    for (n, commands) in open.iter_mut().enumerate() {
        commands
            .set(made[(n + 1) % made.len()], n as u32 + 10_000)
            .unwrap();
    }
    drop(open);
    let report = world.flush();
    assert_eq!((report.created, report.updated), (10_000, 10_000));
    assert_eq!(world.get::<u32>(made[0]).unwrap(), &19_999);
    assert_eq!(world.get::<u32>(made[9_999]).unwrap(), &19_998);
}

#[test]
fn a_recorder_that_is_forgotten_keeps_its_commands_for_itself() {
    let universe = Arc::new(Universe::new());
    let mut world = World::of(&universe).unwrap();
    let mut commands = world.commands();
    let ant = commands.create((1_u32,)).unwrap();
    core::mem::forget(commands);
    assert_eq!(world.flush().rounds, 0);
    assert!(world.exists(ant) && !world.is_built(ant));
    drop(world);
    assert!(!universe.exists(ant));
    universe.trim();
    assert_eq!(universe.chunk_stats().in_use, 0);
}

#[test]
fn a_short_end_joins_as_it_is_only_if_its_part_is_large() {
    // Rows of a chunk, and of the first half of one, which recorders share.
    let (rows, half) = {
        let mut world = World::new();
        world.set_chunk_size(1);
        let _ = world.create_batch((0..10_000_u64).map(|n| (n,))).unwrap();
        let rows = lengths(&mut world)[0];
        (rows, rows.div_ceil(2))
    };
    for (whole, expected) in [(3, vec![half + 50]), (40, vec![half, 50])] {
        let mut world = World::new();
        world.set_chunk_size(1);
        let mut commands = world.commands();
        for n in 0..half + whole * rows + 50 {
            commands.create((n as u64,)).unwrap();
        }
        drop(commands);
        assert!(world.flush().is_clean());
        world.check().unwrap();
        let mut lengths = lengths(&mut world);
        lengths.retain(|&length| length < rows);
        assert_eq!(lengths, expected);
    }
}

/// How many entities each chunk has.
fn lengths(world: &mut World) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut chunks = Query::<&u64>::new(world).unwrap();
    chunks
        .on(world)
        .for_each_chunk(|chunk, _| lengths.push(chunk.len()));
    lengths
}
