//! Commands for entities whose creation a flush has not seen wait for it.

use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::world::WorldError;

#[derive(Debug)]
struct Held(#[expect(dead_code, reason = "owned, not read")] Arc<()>);
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u8);
struct Tag;
/// Can be switched off.
#[derive(Debug, PartialEq)]
struct Light(u8);

/// What another thread does, before this one goes on.
fn elsewhere(run: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        scope.spawn(run);
    });
}

#[test]
fn a_destroy_waits_for_its_entity() {
    let mut world = World::new();
    let commands = world.parallel_commands();
    let mut creator = commands.open();
    let entity = creator.create((7_u32,)).unwrap();
    elsewhere(|| commands.open().destroy(entity));
    for _ in 0..3 {
        let report = world.flush();
        assert_eq!(
            (report.carried, report.destroyed, report.commands),
            (1, 0, 0)
        );
        assert!(report.refused.is_empty() && !report.is_clean());
        assert_eq!(world.pending().commands, 1);
    }
    drop(creator);
    let report = world.flush();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(
        (report.created, report.destroyed, report.commands),
        (1, 1, 1)
    );
    assert!(!world.exists(entity) && world.pending().is_empty());
}

#[test]
fn it_does_so_where_every_recorder_was_closed_before() {
    let mut world = World::new();
    let commands = world.parallel_commands();
    // A thread that goes on recording: the third one goes on where the second did, and stays open.
    drop(commands.open());
    commands.open().create((1_u8,)).unwrap();
    commands.open().create((1_u8,)).unwrap();
    let entity = commands.open().create((7_u32,)).unwrap();
    let open = commands.open();
    elsewhere(|| commands.open().destroy(entity));
    let first = world.flush();
    drop(open);
    let second = world.flush();
    assert!(first.refused.is_empty() && second.refused.is_empty());
    assert_eq!(
        (
            first.created + second.created,
            first.destroyed + second.destroyed
        ),
        (3, 1)
    );
    assert!(!world.exists(entity));
}

#[test]
fn what_waits_comes_in_its_order_and_before_what_was_recorded_since() {
    let mut world = World::new();
    world.registry().register_enableable::<Light>().unwrap();
    let commands = world.parallel_commands();
    let owners = Arc::new(());
    let mut creator = commands.open();
    let entity = creator.create((1_u32, Tag, Light(1))).unwrap();
    elsewhere(|| {
        let mut recorder = commands.open();
        recorder.set(entity, 2_u32).unwrap();
        recorder
            .add(entity, (Held(Arc::clone(&owners)), 5_u64))
            .unwrap();
        recorder.remove::<(Tag,)>(entity).unwrap();
        recorder.swap::<(u64,), _>(entity, ("swapped",)).unwrap();
        recorder.set_enabled::<Light>(entity, false).unwrap();
    });
    assert_eq!(world.flush().carried, 5);
    assert_eq!(Arc::strong_count(&owners), 2);
    elsewhere(|| {
        let mut recorder = commands.open();
        recorder.set(entity, 3_u32).unwrap();
        recorder.add(entity, (Held(Arc::clone(&owners)),)).unwrap();
    });
    assert_eq!(world.flush().carried, 7);
    drop(creator);
    let report = world.flush();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.commands, 7);
    assert_eq!(world.get::<u32>(entity).ok(), Some(&3));
    assert_eq!(world.get::<&str>(entity).ok(), Some(&"swapped"));
    assert!(!world.has::<Tag>(entity).unwrap() && !world.has::<u64>(entity).unwrap());
    assert!(!world.is_enabled::<Light>(entity).unwrap());
    // The first was replaced.
    assert_eq!(Arc::strong_count(&owners), 2);
    world.check().unwrap();
    drop(world);
    assert_eq!(Arc::strong_count(&owners), 1);
}

#[test]
fn many_that_do_the_same_wait_as_well() {
    let mut world = World::new();
    let commands = world.parallel_commands();
    let there: Vec<Entity> = (world.create_batch((0..5_000).map(|n| (n as u32,))).unwrap())
        .iter(&world)
        .collect();
    let mut creator = commands.open();
    let coming: Vec<Entity> = (0..5_000_u32)
        .map(|n| creator.create((n,)).unwrap())
        .collect();
    elsewhere(|| {
        let mut recorder = commands.open();
        for (n, (&here, &later)) in (0_u32..).zip(there.iter().zip(&coming)) {
            recorder.add(here, (u64::from(n) * 2,)).unwrap();
            recorder.add(later, (u64::from(n) * 3_u64,)).unwrap();
        }
    });
    let report = world.flush();
    assert_eq!(
        (report.carried, report.commands, report.moved),
        (5_000, 5_000, 5_000)
    );
    drop(creator);
    let report = world.flush();
    assert!(report.is_clean(), "{:?}", report.refused.first());
    assert_eq!(
        (report.created, report.commands, report.moved),
        (5_000, 5_000, 5_000)
    );
    for (n, (&here, &later)) in (0..).zip(there.iter().zip(&coming)) {
        assert_eq!(world.get::<u64>(here).ok(), Some(&(n * 2)));
        assert_eq!(world.get::<u64>(later).ok(), Some(&(n * 3)));
    }
    world.check().unwrap();
}

#[test]
fn shared_values_do_not_wait() {
    let mut world = World::new();
    let commands = world.parallel_commands();
    let mut creator = commands.open();
    let entity = creator.create((1_u32,)).unwrap();
    elsewhere(|| {
        let added = commands.open().add(entity, (2_u64,).shared(Team(3)));
        added.unwrap();
    });
    let report = world.flush();
    assert_eq!(report.carried, 0);
    let [refused] = &report.refused[..] else {
        panic!("{report:?}")
    };
    assert!(matches!(refused.error, WorldError::Pending { .. }) && refused.entity == entity);
    drop(creator);
    assert_eq!(world.flush().created, 1);
    assert!(!world.has::<u64>(entity).unwrap());
}

#[test]
fn values_that_wait_end_with_their_world() {
    let owners = Arc::new(());
    let mut world = World::new();
    let commands = world.parallel_commands();
    let mut creator = commands.open();
    let entity = creator.create((1_u32,)).unwrap();
    elsewhere(|| {
        let added = commands.open().add(entity, (Held(Arc::clone(&owners)),));
        added.unwrap();
    });
    assert_eq!(world.flush().carried, 1);
    // Whoever created it is never heard of again.
    std::mem::forget(creator);
    assert_eq!(world.flush().carried, 1);
    assert_eq!(Arc::strong_count(&owners), 2);
    drop((world, commands));
    assert_eq!(Arc::strong_count(&owners), 1);
}

#[test]
fn what_a_flush_within_a_flush_carries_comes_after_what_waited_before_it() {
    let mut world = World::new();
    let commands = world.parallel_commands();
    let mut creator = commands.open();
    let entity = creator.create((0_u32,)).unwrap();
    let mut outer = world.commands();
    outer.set(entity, 1_u32).unwrap();
    outer.defer(move |world| {
        world.commands().set(entity, 2_u32).unwrap();
        assert_eq!(world.flush().carried, 2);
    });
    drop(outer);
    assert_eq!(world.flush().carried, 1);
    drop(creator);
    assert!(world.flush().is_clean());
    assert_eq!(world.get::<u32>(entity).unwrap(), &2);
}

#[test]
fn what_waits_comes_with_the_flush_within_a_flush_that_finds_its_entity() {
    let mut world = World::new();
    let commands = world.parallel_commands();
    let (entity, created) = std::sync::mpsc::channel();
    let (close, closes) = std::sync::mpsc::channel::<()>();
    let (closed, is_closed) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (entity, closes, closed) = (entity, closes, closed);
            let mut creator = commands.open();
            entity.send(creator.create((0_u32,)).unwrap()).unwrap();
            closes.recv().unwrap();
            drop(creator);
            closed.send(()).unwrap();
        });
        let entity = created.recv().unwrap();
        let mut outer = world.commands();
        outer.set(entity, 1_u32).unwrap();
        outer.add(entity, (1_u8,)).unwrap();
        outer.defer(move |world| {
            close.send(()).unwrap();
            is_closed.recv().unwrap();
            assert_eq!(world.flush().moved, 1);
        });
        outer.set(entity, 2_u32).unwrap();
        drop(outer);
        assert_eq!(world.flush().carried, 2);
        assert_eq!(world.get::<u32>(entity).unwrap(), &2);
        assert_eq!(world.get::<u8>(entity).unwrap(), &1);
        assert!(world.pending().is_empty());
    });
}

#[test]
fn what_a_flush_leaves_because_something_waits_comes_before_what_is_recorded_later() {
    for waits in [false, true] {
        let mut world = World::new();
        let ant = world.create((0_u32,)).unwrap();
        let commands = world.parallel_commands();
        let mut creator = commands.open();
        let entity = creator.create((0_u8,)).unwrap();
        let mut recorder = world.commands();
        if waits {
            recorder.set(entity, 1_u8).unwrap();
        }
        recorder.defer(move |world| world.commands().set(ant, 1_u32).unwrap());
        drop(recorder);
        assert_eq!(world.flush().carried, usize::from(waits));
        // With a lower sort key.
        commands.open_at(0).set(ant, 2_u32).unwrap();
        let _ = world.flush();
        assert_eq!(world.get::<u32>(ant).unwrap(), &2);
    }
}

#[test]
fn what_waits_comes_before_what_a_processor_recorded_with_the_lowest_sort_key_meanwhile() {
    let mut world = World::new();
    let commands = world.parallel_commands();
    let mut creator = commands.open();
    let entity = creator.create((0_u32,)).unwrap();
    let mut schedule = Schedule::new();
    schedule.add(processor("first", move |commands: ParallelCommands| {
        let late = commands.clone();
        let mut recorder = commands.open();
        recorder.defer(move |_| late.open_at(0).set(entity, 2_u32).unwrap());
        recorder.set(entity, 1_u32).unwrap();
    }));
    schedule.run(&mut world).unwrap();
    assert_eq!(world.pending().commands, 2);
    drop(creator);
    assert!(world.flush().is_clean());
    assert_eq!(world.get::<u32>(entity).unwrap(), &2);
}
