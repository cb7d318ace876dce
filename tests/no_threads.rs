//! A program in which rayon can make no threads. A program of its own: it tries once.

use std::sync::Arc;

use megachunk::prelude::*;

#[test]
fn a_flush_that_gets_no_threads_does_all_on_its_own() {
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
}
