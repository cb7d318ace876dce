//! What the end of a world takes. Nobody can ask who lived where the universe ends with it: then ids need not die one by
//! one. In a program of its own: memory is taken over from universes that have ended, and how much these had touched is
//! looked at, too.

#![cfg(all(feature = "world", feature = "probe"))]

#[path = "support/ending.rs"]
mod ending;

use std::sync::Arc;

use ending::{ENTITIES, schedule, world};
use megachunk::prelude::*;

/// A world that has its universe to itself.
fn alone(new: fn() -> Universe) -> World {
    let universe = Arc::new(new());
    world(&universe)
}

/// Accesses to shared words in which something ends.
fn steps<T>(ends: T) -> u64 {
    megachunk::sync::probe::measure(|| drop(ends)).steps
}

#[test]
fn ids_need_not_die_where_the_universe_ends_too_whoever_has_worked_with_the_world() {
    for new in [Universe::new, Universe::ordered] {
        let few = ENTITIES / 40;
        let lasting = Arc::new(new());
        let deaths = steps(world(&lasting));
        assert!(deaths > 4 * few, "they are not seen: {deaths}");
        assert_eq!(lasting.count(), 0);
        // What the end of the universe takes by itself.
        let universe = steps(lasting);
        let plain = steps(alone(new));

        let mut recorded = alone(new);
        let entity = recorded.commands().create((1_u64, 'a')).unwrap();
        assert!(recorded.flush().is_clean());
        recorded.commands().destroy(entity);
        let recorded = steps(recorded);

        let mut run = alone(new);
        let mut kept = schedule();
        kept.run(&mut run).unwrap();
        let run = steps(run);

        let mut simulation = Simulation::new(alone(new), schedule());
        simulation.advance(core::time::Duration::ZERO).unwrap();
        let simulation = steps(simulation);

        for (what, steps) in [
            ("nothing", plain),
            ("recorded", recorded),
            ("run", run),
            ("simulation", simulation),
        ] {
            assert!(
                steps < universe + few,
                "{what}: {steps}, of these the universe {universe}"
            );
        }
        // The schedule takes another world for its own.
        kept.run(&mut alone(new)).unwrap();
    }
}
