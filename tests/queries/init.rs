//! `par_for_each_init`: something is made for each chunk of which anything is lent.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Heat(u32);
#[derive(Clone, Copy)]
struct Awake;

/// Many chunks, of whose entities every third is switched on, and none of the last quarter.
fn world() -> World {
    let universe = Universe::ordered();
    universe.registry().register_enableable::<Awake>().unwrap();
    let mut world = World::of(&Arc::new(universe)).unwrap();
    world.set_chunk_size(1);
    let all = world.create_batch((0..20_000).map(|n| (Heat(n), Awake)));
    let all: Vec<Entity> = all.unwrap().iter(&world).collect();
    for (n, &ant) in all.iter().enumerate() {
        if n % 3 > 0 || n >= 15_000 {
            world.set_enabled::<Awake>(ant, false).unwrap();
        }
    }
    world
}

#[test]
fn it_is_made_for_chunks_of_which_something_is_lent_and_sees_those_entities_alone() {
    let mut world = world();
    let mut with_some = 0;
    let mut query = world.query::<&Heat, With<Awake>>().unwrap();
    let mut last = None;
    query.for_each_slice(|chunk, _, _| {
        with_some += usize::from(last.replace(chunk.sort_key()) != Some(chunk.sort_key()));
    });
    assert!(with_some > 10);
    let (made, seen) = (AtomicUsize::new(0), AtomicUsize::new(0));
    query.par_for_each_init(
        |chunk| {
            made.fetch_add(1, Ordering::Relaxed);
            (chunk.sort_key(), 0)
        },
        |(_, here), heat| {
            assert!(heat.0 % 3 == 0 && heat.0 < 15_000);
            *here += 1;
            seen.fetch_add(1, Ordering::Relaxed);
        },
    );
    assert_eq!(made.into_inner(), with_some);
    assert_eq!(seen.into_inner(), 5_000);
    let all = world.query::<&Heat, ()>().unwrap();
    assert!(all.reborrow().iter().count() == 20_000);
}

#[test]
fn what_recorders_of_chunks_record_is_the_same_for_any_number_of_threads() {
    let hashes = [1, 2, 4].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| {
            let mut world = world();
            for _ in 0..3 {
                let commands = world.parallel_commands();
                let mut query = world.query::<(Entity, &mut Heat), With<Awake>>().unwrap();
                query.par_for_each_init(
                    |chunk| commands.open_at(chunk.sort_key()),
                    |commands, (ant, heat)| {
                        heat.0 += 1;
                        if heat.0 % 5 == 0 {
                            commands.destroy(ant);
                        } else if heat.0 % 7 == 0 {
                            commands.create((Heat(heat.0), Awake)).unwrap();
                        }
                    },
                );
                assert!(world.flush().is_clean());
            }
            world.check().unwrap();
            world.registry().register_plain::<Heat>().unwrap();
            world.state_hash(&Default::default()).unwrap()
        })
    });
    assert_eq!(hashes[0], hashes[1]);
    assert_eq!(hashes[0], hashes[2]);
}

megachunk::plain!(Heat { 0 });

/// Counts those that are there.
struct Made<'c>(&'c AtomicUsize);

impl Drop for Made<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn what_was_made_is_dropped_though_a_closure_panics() {
    let mut world = world();
    for first in [true, false] {
        let there = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mut query = world.query::<&mut Heat, ()>().unwrap();
            query.par_for_each_init(
                |_| {
                    if there.fetch_add(1, Ordering::Relaxed) == 0 && first {
                        there.fetch_sub(1, Ordering::Relaxed);
                        resume_unwind(Box::new("it is not made"));
                    }
                    Made(&there)
                },
                |_, heat| {
                    if heat.0 == 777 {
                        resume_unwind(Box::new("too hot"));
                    }
                },
            );
        }));
        assert!(result.is_err());
        assert_eq!(there.into_inner(), 0);
    }
    assert_eq!(world.count(), 20_000);
    world.check().unwrap();
}
