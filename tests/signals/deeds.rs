//! What observers do themselves: they record, push for ever, let themselves go, and panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use megachunk::prelude::*;

use crate::observers::{Burning, Heat, Weight, Wet, taken, watch, watch_where};

#[test]
fn commands_of_observers_run_in_the_next_round() {
    let mut world = World::new();
    world
        .observe::<Burning, ()>(Observed::COME, |batch, commands| {
            for entity in batch.entities() {
                commands.add(entity, (Heat(100),)).unwrap();
                commands.remove::<(Burning,)>(entity).unwrap();
            }
        })
        .unwrap();
    let seen = watch_where::<Heat, ()>(&mut world, Observed::ADD);
    let ants: Vec<Entity> = (0..3).map(|_| world.create((Wet,)).unwrap()).collect();
    let mut commands = world.commands();
    ants.iter()
        .for_each(|&ant| commands.add(ant, (Burning,)).unwrap());
    drop(commands);
    let report = world.flush();
    assert_eq!((report.rounds, report.unfinished), (2, false));
    assert_eq!(taken(&seen), [(Observed::ADD, ants.clone())]);
    assert!(!world.has::<Burning>(ants[0]).unwrap());
}

#[test]
fn commands_of_observers_of_calls_wait_for_the_next_flush() {
    let mut world = World::new();
    world
        .observe::<Burning, ()>(Observed::ADD, |batch, commands| {
            batch.entities().for_each(|entity| commands.destroy(entity));
        })
        .unwrap();
    let ant = world.create(()).unwrap();
    world.add(ant, (Burning,)).unwrap();
    assert!(world.is_built(ant));
    assert_eq!(world.flush().destroyed, 1);
    assert!(!world.exists(ant));
}

#[test]
fn an_observer_that_pushes_for_ever_is_an_error_and_no_hang() {
    let mut world = World::new();
    world
        .observe::<Heat, ()>(Observed::CREATE, |batch, commands| {
            for _ in 0..batch.len() {
                commands.create((Heat(0),)).unwrap();
            }
        })
        .unwrap();
    let mut commands = world.commands();
    commands.create((Heat(0),)).unwrap();
    drop(commands);
    let report = world.flush();
    assert!(report.unfinished && !report.is_clean());
    assert_eq!((report.rounds, world.count()), (5, 5));
    world.set_flush_rounds(2);
    assert_eq!(world.flush().rounds, 2);
    assert_eq!(world.count(), 7);
}

#[test]
fn an_observer_lets_itself_go() {
    let mut world = World::new();
    let seen = watch::<Heat>(&mut world);
    let none = world.observe::<Wet, ()>(Observed::ADD, |_, _| {}).unwrap();
    assert!(world.unobserve(none) && !world.unobserve(none));
    let once = Arc::new(Mutex::new((None, 0)));
    let mine = Arc::clone(&once);
    let id = world
        .observe::<Heat, ()>(Observed::CREATE, move |_, commands| {
            let mut state = mine.lock().unwrap();
            state.1 += 1;
            let id = state.0.unwrap();
            commands.defer(move |world| assert!(world.unobserve(id)));
        })
        .unwrap();
    once.lock().unwrap().0 = Some(id);
    world.create((Heat(1),)).unwrap();
    assert!(world.flush().is_clean());
    world.create((Heat(1),)).unwrap();
    assert_eq!((once.lock().unwrap().1, taken(&seen).len()), (1, 2));
}

#[test]
fn a_panicking_observer_stops_neither_the_change_nor_the_others() {
    let mut world = World::new();
    let all = Observed::COME | Observed::GO;
    world
        .observe::<Heat, ()>(all, |_, _| panic!("observed"))
        .unwrap();
    let seen = watch::<Heat>(&mut world);
    let mut panics = 0;
    let mut run = |world: &mut World, change: &mut dyn FnMut(&mut World)| {
        let result = catch_unwind(AssertUnwindSafe(|| change(world)));
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&"observed"));
        panics += 1;
    };
    run(&mut world, &mut |world| drop(world.create((Heat(1),))));
    let ant = taken(&seen)[0].1[0];
    assert_eq!(world.get::<Heat>(ant).unwrap(), &Heat(1));
    run(&mut world, &mut |world| drop(world.remove::<(Heat,)>(ant)));
    assert!(!world.has::<Heat>(ant).unwrap());
    run(&mut world, &mut |world| {
        drop(world.add(ant, (Heat(2), Wet)))
    });
    assert!(world.has::<Wet>(ant).unwrap());
    run(&mut world, &mut |world| drop(world.destroy(ant)));
    assert!(!world.exists(ant));
    run(&mut world, &mut |world| {
        drop(world.create_batch((0..9).map(|n| (Heat(n),))))
    });
    assert_eq!(world.count(), 9);
    run(&mut world, &mut |world| {
        drop(
            world
                .matching::<With<Heat>>()
                .unwrap()
                .add(|_| (Weight(1),)),
        );
        let mut commands = world.commands();
        commands.create((Heat(5),)).unwrap();
        drop(commands);
        let _ = world.flush();
    });
    assert_eq!(world.read::<&Weight, ()>().unwrap().count(), 9);
    assert_eq!(world.count(), 10);
    run(&mut world, &mut |world| {
        let _ = world.clear();
    });
    assert!(world.is_empty());
    world.check().unwrap();
    assert_eq!((panics, taken(&seen).len()), (7, 6));
}
