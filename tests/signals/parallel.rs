//! Signals that several threads deliver: each row is one thread's, with all that it got, and what comes of it is the same for
//! any number of threads.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use megachunk::prelude::*;
use megachunk::signal::{Delivery, Received};

use crate::rows::{Health, ants, numbers, reader};

fn on<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(run)
}

/// A row that says whether two have it at once.
#[derive(Default)]
struct Guarded {
    lent: AtomicBool,
    /// Not an atomic: two threads would lose some.
    hits: u64,
    last: Vec<u32>,
}

#[test]
fn each_row_is_lent_to_one_thread_with_all_that_it_got_in_order() {
    const ANTS: u32 = 3_000;
    for threads in [1, 2, 4] {
        let mut world = World::new();
        let all = world.create_batch((0..ANTS).map(|_| (Guarded::default(),)));
        let mut all = all.unwrap().to_vec(&world);
        // Of several compositions, and so of several chunks, which are not full.
        for &ant in all.iter().step_by(7) {
            world.add(ant, ('x',)).unwrap();
        }
        let signals = ["hit", "pushed"].map(|name| world.signal::<u32>(name).unwrap());
        let mut hurt: SignalReader<&mut Guarded> = reader(&mut world, signals[0]);
        hurt.subscribe(&mut world, signals[1]).unwrap();
        // One gets more than a thread's share of all signals, others one, many or none.
        all.extend([all[1_000]; 5_000]);
        all.extend_from_within(..300);
        let mut sender = world.signals();
        for (n, &ant) in all.iter().enumerate() {
            sender.send(signals[n % 2], ant, n as u32);
        }
        drop(sender);
        let calls = AtomicUsize::new(0);
        let delivery = on(threads, || {
            hurt.par_deliver(&mut world, |row, received| {
                assert!(!row.lent.swap(true, Ordering::AcqRel), "two have it");
                calls.fetch_add(1, Ordering::Relaxed);
                row.hits += received.len() as u64;
                let mut got: Vec<u32> = signals
                    .iter()
                    .flat_map(|&s| received.of(s))
                    .copied()
                    .collect();
                got.sort_unstable();
                row.last = got;
                row.lent.store(false, Ordering::Release);
            })
        });
        let sent = all.len();
        assert_eq!((delivery.entities, delivery.signals), (ANTS as usize, sent));
        assert_eq!((delivery.dead, delivery.unmatched), (0, 0));
        assert_eq!(calls.into_inner(), ANTS as usize, "each once");
        let mut got = Vec::new();
        for (entity, row) in world.query::<(Entity, &Guarded), ()>().unwrap().iter() {
            assert_eq!(row.hits as usize, row.last.len());
            got.extend(row.last.iter().map(|&n| (n, entity)));
        }
        got.sort_unstable();
        let sent = (0..).zip(all.iter().copied());
        assert!(got.into_iter().eq(sent), "{threads} threads");
    }
}

#[test]
fn what_comes_of_it_is_the_same_for_any_number_of_threads_and_as_one_by_one() {
    struct Asleep;
    let run = |threads: Option<usize>| {
        let mut world = World::of(&std::sync::Arc::new(Universe::ordered())).unwrap();
        world.registry().register_plain::<u64>().unwrap();
        world.registry().register_enableable::<Asleep>().unwrap();
        let batch = world.create_batch((0..20_000_u64).map(|n| (n, Asleep)));
        let all = batch.unwrap().to_vec(&world);
        for &ant in all.iter().step_by(3) {
            world.set_enabled::<Asleep>(ant, false).unwrap();
        }
        for &ant in all.iter().step_by(5) {
            world.remove::<(Asleep,)>(ant).unwrap();
        }
        let [hit, told] = ["hit", "told"].map(|name| world.signal::<u32>(name).unwrap());
        let mut hits: SignalReader<(Entity, &mut u64), With<Asleep>> = reader(&mut world, hit);
        let mut after: SignalReader = reader(&mut world, told);
        for n in 0..3 {
            world.signals().send_all(hit, &all[n * 50..], &(n as u32));
        }
        let (commands, sender) = (world.parallel_commands(), world.parallel_signals());
        let each = |(ant, number): (Entity, &mut u64), received: Received<'_>| {
            for &by in received.of(hit) {
                *number = *number * 31 + u64::from(by);
            }
            let key = received.sort_key();
            match *number % 5 {
                0 => commands.open_at(key).destroy(ant),
                1 => commands.open_at(key).add(ant, ('x',)).unwrap(),
                _ => sender.open_at(key).send(told, ant, *number as u32),
            }
        };
        let delivery = match threads {
            Some(threads) => on(threads, || hits.par_deliver(&mut world, each)),
            None => hits.deliver(&mut world, each),
        };
        assert!(delivery.signals > 20_000 && delivery.unmatched > 20_000);
        assert!(world.flush().is_clean());
        let heard = numbers(&mut after, &mut world, told);
        assert!(heard.len() > 1_000);
        world.check().unwrap();
        (delivery, heard, world.state_hash(&Default::default()))
    };
    let one = run(None);
    for threads in [1, 2, 3, 4] {
        assert!(run(Some(threads)) == one, "{threads} threads");
    }
}

#[test]
fn chunks_of_which_nothing_is_lent_have_not_changed_and_filters_are_asked_before() {
    struct Asleep;
    let mut world = World::new();
    world.registry().register_enableable::<Asleep>().unwrap();
    let all: Vec<Entity> = (0..200)
        .map(|_| world.create((Health(1), Asleep)).unwrap())
        .collect();
    let hit = world.signal::<u32>("hit").unwrap();
    let mut dreams: SignalReader<&mut Health, With<Asleep>> = reader(&mut world, hit);
    let mut changed = Query::<&Health, Changed<Health>>::new(&world).unwrap();
    assert_eq!(changed.read(&world).count(), 200);
    for &ant in &all[..100] {
        world.set_enabled::<Asleep>(ant, false).unwrap();
    }
    for (sent, lent, seen) in [(&all[..100], 0, 0), (&all[..150], 50, 200)] {
        world.signals().send_all(hit, sent, &1);
        let delivery = on(2, || {
            dreams.par_deliver(&mut world, |health, _| health.0 += 1)
        });
        assert_eq!((delivery.entities, delivery.signals), (lent, lent));
        assert_eq!(delivery.unmatched, 100);
        assert_eq!(changed.read(&world).count(), seen);
    }
    // What this run writes is no change to it, whoever is how far.
    let mut on_change: SignalReader<&mut Health, Changed<Health>> = reader(&mut world, hit);
    for expected in [200, 0] {
        world.signals().send_all(hit, &all, &1);
        let delivery = on(4, || {
            on_change.par_deliver(&mut world, |health, _| health.0 += 1)
        });
        assert_eq!(delivery.entities, expected);
    }
}

#[test]
fn a_panic_on_a_thread_comes_back_and_leaves_world_and_reader_usable() {
    let mut world = World::new();
    let all = ants(&mut world, 5_000);
    let hit = world.signal::<u32>("hit").unwrap();
    let mut fragile: SignalReader<(Entity, &mut Health)> = reader(&mut world, hit);
    let mut other: SignalReader = reader(&mut world, hit);
    world.signals().send_all(hit, &all, &1);
    for threads in [1, 3] {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            on(threads, || {
                fragile.par_deliver(&mut world, |(entity, _), _| {
                    assert_ne!(entity, all[2_000], "not this one");
                })
            })
        }));
        let text = *panicked.unwrap_err().downcast::<String>().unwrap();
        assert!(text.contains("not this one"), "{text}");
        assert_eq!(
            fragile.par_deliver(&mut world, |_, _| {}),
            Delivery::default()
        );
        assert_eq!(other.deliver(&mut world, |_, _| {}).signals, 5_000);
        world.signals().send_all(hit, &all, &2);
    }
    let delivery = fragile.par_deliver(&mut world, |(_, health), _| health.0 = 7);
    assert_eq!(delivery.entities, 5_000);
    world.check().unwrap();
}

#[test]
fn a_processor_sees_how_many_wait_and_shares_them_out() {
    #[derive(Default)]
    struct Said(Vec<(usize, bool, usize)>);
    let mut world = World::new();
    let all = ants(&mut world, 1_000);
    let hit = world.signal::<u32>("hit").unwrap();
    world.resources_mut().insert(Said::default());
    let mut schedule = Schedule::new();
    schedule.add(
        processor(
            "wound",
            |mut hits: Signalled<&mut Health>, said: &mut Said| {
                let waiting = (hits.len(), hits.is_empty());
                // Few: it lets them heap up.
                let got = match waiting.0 {
                    0..5 => 0,
                    _ => {
                        hits.par_deliver(|health, received| health.0 = received.len() as u32)
                            .entities
                    }
                };
                said.0.push((waiting.0, waiting.1, got));
                assert!(got == 0 || hits.is_empty());
            },
        )
        .hears::<u32>("hit"),
    );
    for sent in [0, 3, 0, 4, 1_000] {
        schedule.run(&mut world).unwrap();
        world.signals().send_all(hit, &all[..sent], &1);
    }
    schedule.run(&mut world).unwrap();
    let said = &world.resources().get::<Said>().unwrap().0;
    let expected = [
        (0, true, 0),
        (0, true, 0),
        (3, false, 0),
        (3, false, 0),
        (7, false, 4),
        (1_000, false, 1_000),
    ];
    assert_eq!(said[..], expected);
    assert_eq!(world.get::<Health>(all[3]).unwrap(), &Health(1));
}
