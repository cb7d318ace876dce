//! What must not depend on threads, nor on who met a type first: the panic that goes on, the order of drops, how many
//! entities a chunk has.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use megachunk::fragment::DynamicBundle;
use megachunk::prelude::*;
use megachunk::world::Prototype;
use rayon::{ThreadPool, ThreadPoolBuilder};

fn pool(threads: usize) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap()
}

#[test]
fn the_first_copy_whose_closure_panics_says_what_goes_on() {
    const COUNT: usize = 40_000;
    for threads in [1, 2] {
        let mut world = World::new();
        world.set_chunk_size(1);
        let nothing = Prototype::new(world.registry(), DynamicBundle::new()).unwrap();
        let has_panicked = AtomicBool::new(false);
        let make = |n: usize| {
            let until = Instant::now() + Duration::from_secs(2);
            // The last one panics while the first chunk is filled, and the second is not begun.
            while n == 0 && threads > 1 && !has_panicked.load(Ordering::Relaxed) {
                if Instant::now() > until {
                    break;
                }
                std::thread::yield_now();
            }
            if n == 0 && threads > 1 {
                // Until that is known.
                std::thread::sleep(Duration::from_millis(50));
            }
            if n == COUNT - 1 {
                has_panicked.store(true, Ordering::Relaxed);
            }
            // A chunk has some four hundred.
            if [600, 1_000, COUNT - 1].contains(&n) {
                resume_unwind(Box::new(n));
            }
            (n as u64, [n as u64; 3])
        };
        let result = pool(threads).install(|| {
            catch_unwind(AssertUnwindSafe(|| {
                drop(world.create_copies_with(&nothing, COUNT, make));
            }))
        });
        let panic = result.unwrap_err();
        assert_eq!(panic.downcast_ref::<usize>(), Some(&600), "{threads}");
        assert_eq!(world.count(), 0);
        world.check().unwrap();
    }
}

type Log = Arc<Mutex<Vec<(char, usize)>>>;
struct First(usize, Log);
struct Second(usize, Log);

impl Drop for First {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(('a', self.0));
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(('b', self.0));
    }
}

#[test]
fn few_commands_drop_in_one_order_for_any_number_of_threads() {
    for from in [None, Some(1)] {
        let dropped = [1, 2].map(|threads| {
            let log = Log::default();
            let mut world = World::new();
            world.set_flush_threads_from(from);
            let both = (0..10).map(|n| (First(n, Arc::clone(&log)), Second(n, Arc::clone(&log))));
            let both = world.create_batch(both).unwrap();
            let both: Vec<Entity> = both.iter(&world).collect();
            let mut commands = world.commands();
            for &one in &both[2..7] {
                commands.remove::<(First, Second)>(one).unwrap();
            }
            drop(commands);
            pool(threads).install(|| assert!(world.flush().is_clean()));
            log.lock().unwrap().clone()
        });
        assert_eq!(dropped[0].len(), 10);
        assert_eq!(dropped[0], dropped[1], "{from:?}");
    }
}

#[test]
fn few_commands_drop_in_the_order_of_many_whoever_records_them() {
    let dropped = [(false, None), (true, None), (false, Some(1))].map(|(at_once, from)| {
        let log = Log::default();
        let mut world = World::new();
        world.set_flush_threads_from(from);
        let both = |n: usize| (First(n, Arc::clone(&log)), Second(n, Arc::clone(&log)));
        let all = world.create_batch((0..100).map(both)).unwrap();
        let all: Vec<Entity> = all.iter(&world).collect();
        // Some go, some lose both, some lose one and get nine other things, some get other values.
        let record = |commands: &mut Commands<'_>, first: usize| {
            for at in (first..first + 40).step_by(2) {
                let ant = all[at];
                match at % 20 {
                    0 => commands.destroy(ant),
                    2 => commands.remove::<(First, Second)>(ant).unwrap(),
                    4 => commands.remove::<(First,)>(ant).unwrap(),
                    6 => commands.add(ant, both(1_000 + at)).unwrap(),
                    8 => commands.add(ant, (1_u8,)).unwrap(),
                    10 => commands.add(ant, (1_u16,)).unwrap(),
                    12 => commands.add(ant, (1_u32,)).unwrap(),
                    14 => commands.add(ant, (1_u64,)).unwrap(),
                    16 => commands.remove::<(Second,)>(ant).unwrap(),
                    _ => commands.remove::<(First, Second)>(ant).unwrap(),
                }
            }
        };
        let commands = world.parallel_commands();
        if at_once {
            // In two lanes.
            let (mut one, mut other) = (commands.open_at(0), commands.open_at(1));
            record(&mut one, 0);
            record(&mut other, 40);
        } else {
            record(&mut commands.open_at(0), 0);
            record(&mut commands.open_at(1), 40);
        }
        log.lock().unwrap().clear();
        // Where several threads apply what many record, drops come in any order.
        pool(1).install(|| assert!(world.flush().is_clean()));
        log.lock().unwrap().clone()
    });
    assert!(dropped[0].len() > 30);
    assert_eq!(dropped[0], dropped[1]);
    assert_eq!(dropped[0], dropped[2], "by the way of many");
}

/// So large that the first chunk of a few is folded, and full soon.
#[derive(Clone, Copy)]
struct Large(#[expect(dead_code, reason = "it is carried")] [u64; 9]);

#[test]
fn few_commands_drop_in_the_order_of_many_where_a_chunk_unfolds() {
    let dropped = [None, Some(1)].map(|from| {
        let log = Log::default();
        let mut world = World::new();
        world.set_flush_threads_from(from);
        let all = (0..100).map(|n| {
            let (first, second) = (First(n, Arc::clone(&log)), Second(n, Arc::clone(&log)));
            (Large([1; 9]), first, second)
        });
        let all = world.create_batch(all).unwrap();
        let all: Vec<Entity> = all.iter(&world).collect();
        for _ in 0..5 {
            world.create((Large([2; 9]),)).unwrap();
        }
        let mut commands = world.commands();
        for &ant in &all[10..40] {
            commands.remove::<(First, Second)>(ant).unwrap();
        }
        drop(commands);
        pool(1).install(|| assert!(world.flush().is_clean()));
        log.lock().unwrap().clone()
    });
    assert_eq!(dropped[0].len(), 60);
    assert_eq!(dropped[0], dropped[1]);
}

#[derive(Clone, Copy)]
struct Small(#[expect(dead_code, reason = "it lies there")] u8);
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Wide(#[expect(dead_code, reason = "it lies there")] [u8; 64]);

#[test]
fn a_chunk_has_as_many_entities_whichever_of_its_chunk_fragments_was_met_first() {
    let (small, wide) = (Small(1), Wide([0; 64]));
    let stats = [false, true].map(|small_first| {
        let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
        let first = world.create((0_u8,).per_chunk(small));
        if !small_first {
            world.destroy(first.unwrap()).unwrap();
            world = World::of(&Arc::new(Universe::ordered())).unwrap();
            world.create((0_u8,).per_chunk(wide)).unwrap();
        }
        let both = (0..5_000_u64).map(|n| (n,).per_chunk(small).per_chunk(wide));
        let _ = world.create_batch(both).unwrap();
        world.check().unwrap();
        let stats = world.stats();
        let all = stats.archetypes.iter().find(|one| one.entities == 5_000);
        let all = all.unwrap();
        (all.fragments.clone(), all.chunks, all.capacity)
    });
    assert_eq!(stats[0], stats[1]);
}

/// Commands that all do the same, for one in three of the entities, some of them twice, in no order.
fn mark_some(world: &mut World, all: &[Entity], say: impl Fn(&mut Commands<'_>, Entity, u32)) {
    let mut commands = world.commands();
    for n in 0..all.len() / 3 {
        let one = n * 7_919 % all.len();
        say(&mut commands, all[one], n as u32);
        if n % 10 == 0 {
            say(&mut commands, all[one], n as u32 + 1);
        }
    }
}

#[test]
fn commands_that_all_do_the_same_come_to_the_same_with_fewer_shares_than_threads() {
    type Say = fn(&mut Commands<'_>, Entity, u32);
    let ways: [Say; 4] = [
        |commands, one, _| commands.destroy(one),
        |commands, one, _| commands.remove::<(u16,)>(one).unwrap(),
        |commands, one, n| commands.set(one, n).unwrap(),
        |commands, one, n| commands.set(one, n.to_string()).unwrap(),
    ];
    for (way, say) in ways.into_iter().enumerate() {
        let found = [1, 2, 8, 64].map(|threads| {
            let mut world = World::new();
            world.set_flush_threads_from(Some(1));
            let all = world.create_batch((0..8_000_u32).map(|n| (n, 7_u16, String::new())));
            let all: Vec<Entity> = all.unwrap().iter(&world).collect();
            mark_some(&mut world, &all, say);
            let flushed = pool(threads).install(|| world.flush());
            world.check().unwrap();
            let mut seen: Vec<_> = Vec::new();
            world
                .query::<(Entity, Option<&u32>, Option<&u16>, Option<&String>), ()>()
                .unwrap()
                .for_each(|(one, number, short, text)| {
                    seen.push((one.index(), number.copied(), short.copied(), text.cloned()));
                });
            (flushed.commands, flushed.destroyed, seen)
        });
        for others in &found[1..] {
            assert!(found[0] == *others, "way {way}");
        }
    }
}
