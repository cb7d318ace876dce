//! A program in which rayon can make no threads. A program of its own: it tries once.

#![cfg(feature = "world")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;

#[test]
fn who_gets_no_threads_does_all_on_its_own() {
    // Who reports each panic, or ends the program at one, is to hear of none, or nearly: see the end.
    let panics = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&panics);
    std::panic::set_hook(Box::new(move |said| {
        counted.fetch_add(1, Ordering::Relaxed);
        eprintln!("{said}");
    }));
    let none = rayon::ThreadPoolBuilder::new()
        .stack_size(1 << 60)
        .build_global();
    assert!(none.is_err(), "no system has so large a stack");
    let mut world = World::new();
    let ants = world.create_batch((0..2_000_u32).map(|n| (n,))).unwrap();
    let ants: Vec<Entity> = ants.iter(&world).collect();
    let owned = Arc::new(());
    let held = Arc::clone(&owned);
    let mut commands = world.commands();
    commands.defer(move |_| drop(held));
    for &ant in &ants {
        commands.set(ant, 7_u32).unwrap();
    }
    let bee = commands.create((1_u8,)).unwrap();
    drop(commands);
    let report = world.flush();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.closures, report.updated), (1, 2_000));
    assert_eq!(Arc::strong_count(&owned), 1);
    assert_eq!(world.get::<u32>(ants[1_999]).unwrap(), &7);
    assert_eq!(world.get::<u8>(bee).unwrap(), &1);
    // As does who makes many copies.
    let seven = Value::cloneable(world.registry(), 7_u64).unwrap();
    let prototype = Prototype::new(world.registry(), DynamicBundle::new().with(seven)).unwrap();
    assert_eq!(
        world.create_copies(&prototype, 100_000).unwrap().len(),
        100_000
    );
    // And queries, schedules and apps.
    let mut all = Query::<&mut u32>::new(&world).unwrap();
    all.on(&mut world).par_for_each(|n| *n += 1);
    all.on(&mut world)
        .par_for_each_chunk(|_, numbers| numbers.iter_mut().for_each(|n| *n += 1));
    assert_eq!(world.get::<u32>(ants[0]).unwrap(), &9);
    let mut schedule = Schedule::new();
    schedule.add(processor("one", |mut all: QueryRun<'_, &mut u32>| {
        all.par_for_each(|n| *n += 1);
    }));
    schedule.add(processor("other", |_: QueryRun<'_, &u8>| {}));
    assert_eq!(schedule.run(&mut world).unwrap().ran, 2);
    assert_eq!(world.get::<u32>(ants[0]).unwrap(), &10);
    let mut app = App::new();
    for name in ["land", "sea"] {
        app.add(name, Simulation::new(World::new(), Schedule::new()));
    }
    app.update(std::time::Duration::from_millis(20)).unwrap();
    // Nor does it ask in the middle for others.
    let held = Arc::clone(&owned);
    let mut commands = world.commands();
    commands.defer(move |world| {
        drop(held);
        world.set_flush_threads_from(Some(1));
    });
    commands.set(ants[0], 8_u32).unwrap();
    drop(commands);
    let report = world.flush();
    assert_eq!((report.closures, report.updated), (1, 1));
    assert_eq!(Arc::strong_count(&owned), 1);
    assert!(world.flush().is_clean());
    // Rayon says so by a panic: to this program, which has tried by itself, once. (To those that have not, never.)
    drop(std::panic::take_hook());
    assert_eq!(panics.load(Ordering::Relaxed), 1);
}
