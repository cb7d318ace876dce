//! Commands that are too many for one batch: several leave the world that one does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::command::FlushReport;
use crate::command::flush::Cost;
use crate::counted::Counted;
use crate::prelude::*;

struct Tag;

/// A world of an ordered universe with some ants, and what is counted there.
struct Hill {
    world: World,
    ants: Vec<Entity>,
    alive: Arc<AtomicUsize>,
}

impl Hill {
    fn new() -> Self {
        let universe = Arc::new(Universe::ordered());
        let mut world = World::of(&universe).unwrap();
        let alive = Arc::new(AtomicUsize::new(0));
        let new = (0..400_u32).map(|n| (n, Counted::new(&alive)));
        let ants = world.create_batch(new).unwrap();
        let ants = ants.iter(&world).collect();
        Self { world, ants, alive }
    }

    /// Records with many recorders, some of which have closures.
    fn record(&mut self, closures: bool) {
        let commands = self.world.parallel_commands();
        // Each has memory of its own.
        let mut open: Vec<_> = (0..20).map(|key| commands.open_at(key)).collect();
        for (recorder, key) in open.iter_mut().zip(0_u32..) {
            for (at, &ant) in self.ants.iter().enumerate().skip(key as usize % 7) {
                match (at as u32 * 31 + key * 17) % 23 {
                    0 => recorder.destroy(ant),
                    1..5 => recorder.set(ant, key).unwrap(),
                    5..8 => recorder.add(ant, (Tag, Counted::new(&self.alive))).unwrap(),
                    8..10 => recorder.remove::<(Tag,)>(ant).unwrap(),
                    10 => _ = recorder.create((key, Counted::new(&self.alive))).unwrap(),
                    11 if closures => recorder.defer(move |world| {
                        if let Ok(number) = world.get_mut::<u32>(ant) {
                            *number += 1_000;
                        }
                    }),
                    _ => {}
                }
            }
        }
    }

    /// Who lives, and how.
    fn state(&mut self) -> Vec<(Entity, u32, bool)> {
        self.world.check().unwrap();
        let mut all = self
            .world
            .query::<(Entity, &u32, Has<Tag>), With<Counted>>()
            .unwrap();
        let mut state: Vec<_> = all.iter().map(|(ant, &n, tag)| (ant, n, tag)).collect();
        state.sort_unstable();
        assert_eq!(self.alive.load(Ordering::Relaxed), state.len());
        state
    }
}

#[test]
fn commands_that_are_too_many_for_a_batch_are_applied_in_several() {
    for closures in [false, true] {
        let flush = |most: usize| {
            let mut hill = Hill::new();
            hill.record(closures);
            let mut report = FlushReport::default();
            hill.world.flush_in_batches(most, &mut report);
            assert!(report.refused.is_empty() && !report.unfinished);
            (report, hill.state())
        };
        let sum = |report: &FlushReport| {
            let FlushReport {
                commands,
                created,
                destroyed,
                closures,
                rounds,
                ..
            } = *report;
            (commands, created, destroyed, closures, rounds)
        };
        let (one, expected) = flush(super::MOST);
        assert!(one.commands > 3_000);
        for most in [0, 1, 50, 300, 1_000] {
            let (report, state) = flush(most);
            assert_eq!(sum(&report), sum(&one), "{most} in a batch");
            assert!(state == expected, "{most} in a batch");
            let parted = report.moved + report.updated + report.dead;
            assert!(closures || parted > one.moved + one.updated + one.dead);
        }
    }
}

#[test]
fn a_flush_asks_no_more_threads_than_its_commands_are_worth() {
    let threads = |commands, all| Cost::High.threads(commands, all);
    // Up to eight: all or none.
    for all in 2..=8 {
        let worth: usize = (1 << 18) / all;
        assert_eq!(
            [worth - 1, worth, 1 << 20].map(|commands| threads(commands, all)),
            [1, all, all]
        );
    }
    for all in [16, 64, 256] {
        let asked = [5_000, 32_767, 32_768, 65_536].map(|commands| threads(commands, all));
        assert_eq!(asked, [1, 1, 8, 16]);
        assert_eq!(threads(1 << 20, all), all);
    }
    assert_eq!([0, 1 << 30].map(|commands| threads(commands, 1)), [1, 1]);
    assert_eq!(
        [65_535, 65_536].map(|commands| Cost::Low.threads(commands, 64)),
        [1, 8]
    );
    // What a program says holds.
    let mut world = World::new();
    world.set_flush_threads_from(Some(10));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(16)
        .build()
        .unwrap();
    let asked =
        |world: &World, commands| pool.install(|| world.flush_threads(commands, Cost::High));
    assert_eq!([9, 10].map(|commands| asked(&world, commands)), [1, 16]);
    world.set_flush_threads_from(None);
    assert_eq!([10, 40_000].map(|commands| asked(&world, commands)), [1, 9]);
}
