//! Recorders that are opened by who has the world weakly.

use std::sync::Arc;

use megachunk::prelude::*;

#[test]
fn who_has_it_weakly_records_until_the_world_ends_and_keeps_no_universe() {
    let universe = Arc::new(Universe::new());
    let of = Arc::downgrade(&universe);
    let mut world = World::of(&universe).unwrap();
    drop(universe);
    let weak = world.parallel_commands().downgrade();
    for number in 1..=3_u32 {
        let commands = weak.upgrade().unwrap();
        commands.open().create((number,)).unwrap();
        drop(commands);
        assert_eq!(world.flush().created, 1);
    }
    world.trim();
    assert_eq!(world.count(), 3);
    drop(world);
    assert!(of.upgrade().is_none(), "the universe ends with its world");
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_world_that_has_ended_is_not_recorded_for_though_others_keep_its_queue() {
    let world = World::new();
    let commands = world.parallel_commands();
    let weak = commands.downgrade();
    assert!(weak.clone().upgrade().is_some());
    drop(world);
    assert!(commands.has_ended() && weak.upgrade().is_none());
}

/// Flushes of few commands have a short way while nobody else may record: threads that can begin to at any moment are not
/// to be missed by it.
#[test]
fn flushes_beside_who_upgrades_all_the_time_lose_nothing() {
    let mut world = World::new();
    let weak = world.parallel_commands().downgrade();
    let (threads, each) = (3_u32, 2_000_u32);
    let mut created = 0;
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads)
            .map(|_| {
                let weak = weak.clone();
                scope.spawn(move || {
                    for number in 0..each {
                        // Had weakly by others, and anew.
                        let weak = weak.upgrade().unwrap().downgrade();
                        weak.upgrade().unwrap().open().create((number,)).unwrap();
                    }
                })
            })
            .collect();
        while !all.iter().all(|thread| thread.is_finished()) {
            drop(world.commands().create((0_u8,)));
            created += world.flush().created;
        }
    });
    created += world.flush().created;
    assert_eq!(created, world.count());
    assert_eq!(
        world.query::<&u32, ()>().unwrap().count(),
        (threads * each) as usize
    );
    drop(weak);
    // The short way is open again, and what goes it is applied.
    let entity = world.create((1_u64,)).unwrap();
    world.commands().set(entity, 2_u64).unwrap();
    assert_eq!(world.flush().updated, 1);
    assert_eq!(world.get::<u64>(entity), Ok(&2));
}
