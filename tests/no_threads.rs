//! A program in which rayon can make no threads. A program of its own: it tries once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use megachunk::prelude::*;

#[test]
fn a_flush_that_gets_no_threads_has_done_nothing() {
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
    for _ in 0..2 {
        assert!(catch_unwind(AssertUnwindSafe(|| world.flush())).is_err());
        assert_eq!(Arc::strong_count(&owned), 2, "the closure has not run");
        assert_eq!(world.get::<u32>(ants[0]).unwrap(), &0);
        assert_eq!(world.pending().commands, 2_001);
        assert_eq!(world.pending().entities, 1);
    }
    // On one thread nobody else is asked for.
    world.set_flush_threads_from(Some(usize::MAX));
    let report = world.flush();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.closures, report.updated), (1, 2_000));
    assert_eq!(Arc::strong_count(&owned), 1);
    assert_eq!(world.get::<u32>(ants[1_999]).unwrap(), &7);
    assert_eq!(world.get::<u8>(bee).unwrap(), &1);
    // Few commands ask for none.
    world.set_flush_threads_from(None);
    world.commands().set(ants[0], 8_u32).unwrap();
    assert_eq!(world.flush().updated, 1);
}
