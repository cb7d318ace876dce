//! Worlds that end, and who has worked with them.

use std::sync::Arc;

use megachunk::prelude::*;

/// How many a world has.
pub(crate) const ENTITIES: u64 = 20_000;

/// A world of so many.
pub(crate) fn world(universe: &Arc<Universe>) -> World {
    let mut world = World::of(universe).unwrap();
    let _ = world.create_batch((0..ENTITIES).map(|n| (n,))).unwrap();
    world
}

/// Processors that have something of the world that they run on: a query and a recorder, and an observer.
pub(crate) fn schedule() -> Schedule {
    let grow = processor(
        "grow",
        |mut all: QueryRun<'_, &mut u64>, _: Commands<'_>| {
            all.for_each(|n| *n += 1);
        },
    );
    let mut schedule = Schedule::new();
    let see = observing_processor::<u64, ()>("see", Observed::COME, |batch, _| {
        batch.for_each::<&mut u64>(|n| *n += 1).unwrap();
    });
    schedule.add(grow).add(see);
    schedule
}
