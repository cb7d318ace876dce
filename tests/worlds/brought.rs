//! What is required comes also where a cached way leads, is made by the nearest, and ends once; who goes on elsewhere is refused.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;
use megachunk::template::spawner::{SpawnError, Spawner};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Owner(u64);

/// One owner per flush, whether the world's queue is its alone or not, and however the way there was found first.
#[test]
fn what_is_required_comes_with_each_command_of_a_flush_of_one() {
    for (by_ids, kept) in [(false, false), (true, false), (false, true), (true, true)] {
        for alike in [1, 3] {
            let mut world = World::new();
            world.registry().register_clone::<Owner>().unwrap();
            let required = (world.registry()).require_with::<Owner, String>(|| "brought".into());
            required.unwrap();
            let kept = kept.then(|| world.parallel_commands());
            let ants: Vec<Entity> = (0..20_u8).map(|n| world.create((n,)).unwrap()).collect();
            if by_ids {
                let value = Value::cloneable(world.registry(), Owner(7)).unwrap();
                world
                    .add_dynamic(ants[0], DynamicBundle::new().with(value))
                    .unwrap();
            }
            for ants in ants[1..].chunks_exact(alike) {
                let mut commands = world.commands();
                for &ant in ants {
                    commands.add(ant, (Owner(8),)).unwrap();
                }
                drop(commands);
                assert!(world.flush().is_clean());
                for &ant in ants {
                    assert_eq!(world.get::<String>(ant).unwrap(), "brought");
                }
            }
            world.check().unwrap();
            drop(kept);
        }
    }
}

#[test]
fn what_makes_a_value_ends_once_though_that_panics() {
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    struct Brittle;
    impl Drop for Brittle {
        fn drop(&mut self) {
            assert_ne!(ENDED.fetch_add(1, Ordering::SeqCst), 0, "the first one");
        }
    }
    let universe = Universe::new();
    for at in 0..2_u16 {
        let brittle = Brittle;
        let make = move || {
            let _ = &brittle;
            at
        };
        match at {
            0 => universe.registry().require_with::<u8, u16>(make),
            _ => universe.registry().require_with::<u32, u16>(make),
        }
        .unwrap();
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(universe))).is_err());
    assert_eq!(ENDED.load(Ordering::SeqCst), 2);
}

#[test]
fn a_job_does_not_go_on_in_a_universe_that_is_alike() {
    let first = Arc::new(Universe::new());
    let second = Arc::new(Universe::like(&first));
    let (mut here, mut there) = (World::of(&first).unwrap(), World::of(&second).unwrap());
    let value = Value::cloneable(first.registry(), 1_u8).unwrap();
    let ant = Prototype::new(first.registry(), DynamicBundle::new().with(value)).unwrap();
    let spawner = Spawner::new(10)
        .prototype("ant", &Arc::new(ant), 1.0)
        .unwrap();
    there.create_batch((0..5).map(|n| (n as f32,))).unwrap();
    let mut job = spawner.begin().unwrap();
    job.step(&mut here, Budget::Entities(5)).unwrap();
    let refused = job.step(&mut there, Budget::Entities(5)).unwrap_err();
    assert!(matches!(refused, SpawnError::OtherUniverse { .. }));
    job.step(&mut here, Budget::Unlimited).unwrap();
    assert_eq!(job.finish().despawn(&mut here), 10);
    assert_eq!((here.count(), there.count()), (0, 5));
}
