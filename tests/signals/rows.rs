//! Signals: each row of the behaviour has a test of its name.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use megachunk::prelude::*;
use megachunk::query::{QueryData, QueryFilter};
use megachunk::signal::{Delivery, Received, SignalError};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Health(pub(crate) u32);
struct Asleep;
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hit(u32);

/// Counts how often it is dropped.
pub(crate) struct Counted(pub(crate) Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn reader<D: QueryData, F: QueryFilter, P>(
    world: &mut World,
    signal: Signal<P>,
) -> SignalReader<D, F> {
    let mut reader = SignalReader::new(world).unwrap();
    reader.subscribe(world, signal).unwrap();
    reader
}

pub(crate) fn ants(world: &mut World, count: u32) -> Vec<Entity> {
    let batch = world.create_batch((0..count).map(|n| (Health(n),)));
    batch.unwrap().iter(world).collect()
}

/// What a reader of numbers gets.
pub(crate) fn numbers(
    reader: &mut SignalReader<Entity, ()>,
    world: &mut World,
    signal: Signal<u32>,
) -> Vec<(Entity, Vec<u32>)> {
    let mut got = Vec::new();
    let delivery = reader.deliver(world, |entity, received| {
        got.push((entity, received.of(signal).copied().collect()));
    });
    assert_eq!(delivery.entities, got.len());
    got
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn signals_go_by_name_or_by_type() {
    let mut world = World::new();
    let ant = ants(&mut world, 1)[0];
    let named = world.signal::<u32>("hit").unwrap();
    let other = world.signal::<u32>("healed").unwrap();
    let typed = world.signal_of::<Hit>();
    assert_eq!(world.signal::<u32>("hit").unwrap(), named);
    assert_eq!(world.signal_of::<Hit>(), typed);
    assert_ne!(named, other);
    let mut by_name: SignalReader = reader(&mut world, named);
    let mut by_type: SignalReader = reader(&mut world, typed);
    let mut signals = world.signals();
    assert!(signals.is_empty());
    signals.send(named, ant, 1);
    signals.send(other, ant, 2);
    signals.send(typed, ant, Hit(3));
    assert_eq!((signals.len(), signals.is_empty()), (3, false));
    drop(signals);
    // One that has a name is not known by what it carries, also if another is.
    let _ = world.signal_of::<u32>();
    let delivery = by_name.deliver(&mut world, |_, received| {
        assert_eq!(received.of_type::<u32>().count(), 0);
        assert_eq!(received.of(named).collect::<Vec<_>>(), [&1]);
    });
    assert_eq!((delivery.entities, delivery.signals), (1, 1));
    assert_eq!(
        delivery.to_string(),
        "1 signals for 1 entities; dropped: 0 for who is dead or elsewhere, 0 for who does not match"
    );
    let delivery = by_type.deliver(&mut world, |entity, received| {
        assert_eq!(entity, ant);
        // What is lent outlives the copy of the handle that was asked for it.
        let lent = |copy: Received<'_>| (copy.of(typed).count(), copy.names().count());
        assert_eq!(lent(received), (1, 1));
        let (hits, by_type, mut names) = {
            let copy = received;
            (copy.of(typed), copy.of_type::<Hit>(), copy.names())
        };
        assert!(hits.eq(by_type) && names.next().is_some());
        assert_eq!(received.of(typed).collect::<Vec<_>>(), [&Hit(3)]);
        assert_eq!(received.of_type::<Hit>().collect::<Vec<_>>(), [&Hit(3)]);
        assert_eq!(received.of_type::<u32>().count(), 0);
        assert!(received.has(typed) && !received.has(named));
        assert!(received.names().all(|name| name.ends_with("Hit")));
    });
    assert_eq!(delivery.signals, 1);
}

#[test]
fn a_name_carries_one_type() {
    let world = World::new();
    let _ = world.signal::<u32>("hit").unwrap();
    let refused = world.signal::<u64>("hit").unwrap_err();
    assert_eq!(refused.to_string(), "signals named hit carry u32, not u64");
    assert!(world.parallel_signals().signal::<()>("hit").is_err());
}

#[test]
fn senders_and_what_opens_them_know_signals_and_time_as_their_world_does() {
    let mut world = World::new();
    world.advance_time(seconds(3));
    let named = world.signal::<u32>("hit").unwrap();
    let typed = world.signal_of::<Hit>();
    let parallel = world.parallel_signals();
    let signals = parallel.open();
    assert_eq!(signals.signal::<u32>("hit").unwrap(), named);
    assert_eq!(signals.signal_of::<Hit>(), typed);
    assert_eq!(parallel.signal_of::<Hit>(), typed);
    assert!(signals.signal::<u64>("hit").is_err());
    assert_eq!((signals.time(), parallel.time()), (seconds(3), seconds(3)));
    // Also what nobody has asked the world for.
    let new = signals.signal::<u8>("healed").unwrap();
    assert_eq!(world.signal::<u8>("healed").unwrap(), new);
    let new = signals.signal_of::<u8>();
    assert_eq!(world.signal_of::<u8>(), new);
}

#[test]
fn the_payload_is_optional() {
    let mut world = World::new();
    let all = ants(&mut world, 100);
    let woken = world.signal::<()>("woken").unwrap();
    let mut reader: SignalReader<&mut Health> = reader(&mut world, woken);
    world.signals().send_all(woken, &all[10..60], &());
    let delivery = reader.deliver(&mut world, |health, received| {
        health.0 += 1_000;
        assert_eq!((received.len(), received.of(woken).count()), (1, 1));
    });
    assert_eq!((delivery.entities, delivery.signals), (50, 50));
    assert_eq!(world.get::<Health>(all[59]).unwrap(), &Health(1_059));
    assert_eq!(world.get::<Health>(all[60]).unwrap(), &Health(60));
}

#[test]
fn a_reader_gets_each_signalled_entity_once_a_run_if_it_matches() {
    let mut world = World::new();
    let all = ants(&mut world, 4);
    world.add(all[2], (Asleep,)).unwrap();
    let hit = world.signal::<u32>("hit").unwrap();
    let healed = world.signal::<u32>("healed").unwrap();
    let mut awake: SignalReader<Entity, Without<Asleep>> = reader(&mut world, hit);
    awake.subscribe(&mut world, healed).unwrap();
    let mut signals = world.signals();
    signals.send(hit, all[3], 1);
    signals.send(healed, all[1], 2);
    signals.send(hit, all[2], 3);
    signals.send(hit, all[1], 4);
    signals.send(healed, all[1], 5);
    drop(signals);
    let mut got = Vec::new();
    let delivery = awake.deliver(&mut world, |entity, received| {
        let hits: Vec<u32> = received.of(hit).copied().collect();
        let names: Vec<String> = received.names().map(Into::into).collect();
        got.push((entity, hits, names.join(" ")));
    });
    assert_eq!(
        got,
        [
            (all[1], vec![4], "healed hit healed".into()),
            (all[3], vec![1], "hit".into())
        ]
    );
    assert_eq!((delivery.entities, delivery.signals), (2, 4));
    assert_eq!((delivery.dead, delivery.unmatched), (0, 1));
    assert_eq!(awake.deliver(&mut world, |_, _| {}), Delivery::default());
}

#[test]
fn a_reader_that_lends_nothing_of_a_chunk_is_no_change_of_it() {
    let mut world = World::new();
    world.registry().register_enableable::<Asleep>().unwrap();
    let hit = world.signal::<Hit>("hit").unwrap();
    let all = [(); 2].map(|()| world.create((Health(9), Asleep)).unwrap());
    let mut dreams = reader::<&mut Health, With<Asleep>, _>(&mut world, hit);
    let mut changed = Query::<&Health, Changed<Health>>::new(&world).unwrap();
    assert_eq!(changed.read(&world).count(), 2);
    for (on, entities, seen) in [(false, 0, 0), (true, 1, 2)] {
        world.set_enabled::<Asleep>(all[0], false).unwrap();
        world.set_enabled::<Asleep>(all[1], on).unwrap();
        let mut signals = world.signals();
        for ant in all {
            signals.send(hit, ant, Hit(1));
        }
        drop(signals);
        let delivery = dreams.deliver(&mut world, |health, _| health.0 -= 1);
        assert_eq!(delivery.entities, entities);
        assert_eq!(changed.read(&world).count(), seen);
    }
}

#[test]
fn what_is_sent_inside_the_handler_comes_with_the_next_run() {
    let mut world = World::new();
    let ant = ants(&mut world, 1)[0];
    let tick = world.signal::<u32>("tick").unwrap();
    let mut reader: SignalReader = reader(&mut world, tick);
    world.signals().send(tick, ant, 0);
    let sender = world.parallel_signals();
    for run in 0..5 {
        let mut got = Vec::new();
        let _ = reader.deliver(&mut world, |entity, received| {
            for &number in received.of(tick) {
                got.push(number);
                sender.open().send(tick, entity, number + 1);
            }
        });
        assert_eq!(got, [run]);
    }
}

#[test]
fn double_subscription_is_an_error() {
    let mut world = World::new();
    let hit = world.signal::<u32>("hit").unwrap();
    let mut reader: SignalReader = reader(&mut world, hit);
    let twice = reader.subscribe(&mut world, hit);
    assert_eq!(twice, Err(SignalError::Twice { name: "hit".into() }));
    assert!(reader.unsubscribe(hit) && !reader.unsubscribe(hit));
    reader.subscribe(&mut world, hit).unwrap();
}

#[test]
fn signals_of_another_world_are_refused() {
    let (mut here, there) = (World::new(), World::new());
    let (own, foreign) = (here.signal_of::<Hit>(), there.signal_of::<Hit>());
    assert_ne!(own, foreign);
    let mut reader: SignalReader = reader(&mut here, own);
    assert_eq!(
        reader.subscribe(&mut here, foreign),
        Err(SignalError::OtherWorld)
    );
    let ant = ants(&mut here, 1)[0];
    let sent = catch_unwind(AssertUnwindSafe(|| {
        here.signals().send(foreign, ant, Hit(1))
    }));
    assert!(sent.is_err());
    here.signals().send(own, ant, Hit(1));
    assert_eq!(reader.deliver(&mut here, |_, _| {}).signals, 1);
}

#[test]
fn signals_to_dead_entities_are_dropped_and_counted() {
    let mut world = World::new();
    let all = ants(&mut world, 3);
    let hit = world.signal::<u32>("hit").unwrap();
    let mut reader: SignalReader = reader(&mut world, hit);
    world.destroy(all[0]).unwrap();
    world.signals().send_all(hit, &all, &7);
    world.signals().send_after(hit, all[2], 8, seconds(1));
    world.destroy(all[1]).unwrap();
    let delivery = reader.deliver(&mut world, |entity, _| assert_eq!(entity, all[2]));
    assert_eq!((delivery.entities, delivery.dead), (1, 2));
    world.destroy(all[2]).unwrap();
    let newer = world.create((Health(0),)).unwrap();
    assert_eq!(newer.index(), all[2].index());
    world.advance_time(seconds(1));
    let delivery = reader.deliver(&mut world, |_, _| unreachable!());
    assert_eq!((delivery.entities, delivery.dead), (0, 1));
}

#[test]
fn readers_take_nothing_from_each_other() {
    let mut world = World::new();
    let all = ants(&mut world, 10);
    let hit = world.signal::<u32>("hit").unwrap();
    let mut often: SignalReader = reader(&mut world, hit);
    let mut rarely: SignalReader = reader(&mut world, hit);
    for &ant in &all[..5] {
        world.signals().send(hit, ant, 1);
        assert_eq!(often.deliver(&mut world, |_, _| {}).signals, 1);
    }
    let mut late: SignalReader = reader(&mut world, hit);
    assert_eq!(rarely.deliver(&mut world, |_, _| {}).signals, 5);
    assert_eq!(late.deliver(&mut world, |_, _| {}).signals, 0);
    world.signals().send(hit, all[0], 1);
    world.collect_signals();
    assert_eq!(
        late.read(&world, |_, received| assert_eq!(received.len(), 1))
            .signals,
        1
    );
    assert_eq!(late.read(&world, |_, _| {}).signals, 0);
}

#[test]
fn payloads_are_dropped_once_whatever_happens() {
    let drops = Arc::new(AtomicUsize::new(0));
    let counted = || Counted(Arc::clone(&drops));
    let count = || drops.swap(0, Ordering::Relaxed);
    let mut world = World::new();
    let ant = ants(&mut world, 1)[0];
    let dead = ants(&mut world, 1)[0];
    world.destroy(dead).unwrap();
    let signal = world.signal_of::<Counted>();
    // Nobody listens.
    world.signals().send(signal, ant, counted());
    world.collect_signals();
    assert_eq!(count(), 1);
    // One reads, another does not, and goes.
    let mut one: SignalReader = reader(&mut world, signal);
    let other: SignalReader = reader(&mut world, signal);
    world.signals().send(signal, ant, counted());
    world.signals().send(signal, dead, counted());
    let got = one.deliver(&mut world, |_, _| {});
    assert_eq!((got.signals, got.dead), (1, 1));
    world.collect_signals();
    assert_eq!(count(), 0);
    drop(other);
    world.collect_signals();
    assert_eq!(count(), 2);
    // Delayed, for an entity that is never built, read by nobody, and in an open sender: the world ends.
    let unbuilt = world.reserve().unwrap();
    let parallel = world.parallel_signals();
    let mut open = parallel.open();
    open.send(signal, ant, counted());
    let mut signals = world.signals();
    signals.send_after(signal, ant, counted(), seconds(9));
    signals.send(signal, unbuilt, counted());
    signals.send(signal, ant, counted());
    drop(signals);
    world.collect_signals();
    world.signals().send(signal, ant, counted());
    world.release(unbuilt).unwrap();
    drop(world);
    assert_eq!(count(), 4);
    drop(open);
    assert_eq!(count(), 1);
    parallel.open().send(signal, ant, counted());
    assert_eq!(count(), 1);
    drop((parallel, one));
    assert_eq!(count(), 0);
}

#[test]
fn a_panicking_handler_leaves_world_and_reader_usable() {
    let mut world = World::new();
    let all = ants(&mut world, 3);
    let hit = world.signal::<u32>("hit").unwrap();
    let mut fragile: SignalReader = reader(&mut world, hit);
    let mut other: SignalReader = reader(&mut world, hit);
    world.signals().send_all(hit, &all, &1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        fragile.deliver(&mut world, |entity, _| {
            assert_ne!(entity, all[1], "not this one")
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(other.deliver(&mut world, |_, _| {}).signals, 3);
    assert_eq!(fragile.deliver(&mut world, |_, _| {}), Delivery::default());
    world.signals().send(hit, all[1], 2);
    assert_eq!(numbers(&mut fragile, &mut world, hit), [(all[1], vec![2])]);
    world.check().unwrap();
}

#[test]
fn a_payload_whose_drop_panics_loses_no_other_signal() {
    struct Bad(bool);
    impl Drop for Bad {
        fn drop(&mut self) {
            assert!(!self.0, "dropped");
        }
    }
    let mut world = World::new();
    let ant = ants(&mut world, 1)[0];
    let (bad, hit) = (
        world.signal_of::<Bad>(),
        world.signal::<u32>("hit").unwrap(),
    );
    let mut reader: SignalReader = reader(&mut world, hit);
    let mut signals = world.signals();
    signals.send(bad, ant, Bad(true));
    signals.send(hit, ant, 1);
    signals.send(bad, ant, Bad(false));
    drop(signals);
    assert!(catch_unwind(AssertUnwindSafe(|| world.collect_signals())).is_err());
    assert_eq!(numbers(&mut reader, &mut world, hit), [(ant, vec![1])]);
}

#[test]
fn a_flood_from_many_threads_and_senders_arrives_whole_and_in_order() {
    const THREADS: u32 = 4;
    const EACH: u32 = 30_000;
    let mut world = World::new();
    let all = ants(&mut world, 1_000);
    let hit = world.signal::<u32>("hit").unwrap();
    let mut reader: SignalReader = reader(&mut world, hit);
    let sender = world.parallel_signals();
    let mut seen = HashSet::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (sender, all) = (sender.clone(), &all);
                scope.spawn(move || {
                    let mut n = 0;
                    while n < EACH {
                        let mut signals = sender.open();
                        for _ in 0..3 {
                            let ant = all[(n / 3 * 31 + thread) as usize % all.len()];
                            signals.send(hit, ant, n * THREADS + thread);
                            n += 1;
                        }
                    }
                })
            })
            .collect();
        // Read beside them, and once when all is sent.
        let mut more = true;
        while more {
            more = threads.iter().any(|thread| !thread.is_finished());
            let delivery = reader.deliver(&mut world, |_, received| {
                for &number in received.of(hit) {
                    assert!(seen.insert(number), "each once");
                    let first = (number / THREADS).is_multiple_of(3);
                    let in_order = first || seen.contains(&(number - THREADS));
                    assert!(in_order, "a sender's signals come in the order of sending");
                }
            });
            assert_eq!(delivery.dead + delivery.unmatched, 0);
        }
    });
    assert_eq!(seen.len(), (THREADS * EACH) as usize);
}

#[test]
fn signals_that_are_new_while_others_are_collected_arrive() {
    let mut world = World::new();
    let ant = ants(&mut world, 1)[0];
    let sender = world.parallel_signals();
    let last = world.signal::<u32>("last").unwrap();
    let mut reader: SignalReader = reader(&mut world, last);
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            for n in 0..300 {
                let new = sender.signal::<u32>(&format!("signal {n}")).unwrap();
                sender.open().send(new, ant, n);
            }
            sender.open().send(last, ant, 300);
        });
        while !thread.is_finished() {
            world.collect_signals();
        }
    });
    assert_eq!(numbers(&mut reader, &mut world, last), [(ant, vec![300])]);
}

#[test]
fn queries_and_observers_send_with_the_same_result_for_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let mut world = World::new();
        let _ = ants(&mut world, 20_000);
        let hit = world.signal::<u32>("hit").unwrap();
        let mut reader: SignalReader = reader(&mut world, hit);
        let sender = world.parallel_signals();
        let observer = sender.clone();
        world
            .observe::<Asleep, ()>(Observed::ADD, move |batch, _| {
                let mut signals = observer.open();
                batch
                    .entities()
                    .for_each(|entity| signals.send(hit, entity, 9));
            })
            .unwrap();
        pool.install(|| {
            let commands = world.parallel_commands();
            let mut query = Query::<(Entity, &Health), ()>::new(&world).unwrap();
            query
                .on(&mut world)
                .par_for_each_chunk(|chunk, (entities, healths)| {
                    let mut signals = sender.open_at(chunk.sort_key());
                    let mut commands = commands.open_at(chunk.sort_key());
                    for (&entity, health) in entities.iter().zip(healths) {
                        match health.0 % 5 {
                            0 => signals.send(hit, entity, health.0),
                            1 => commands.add(entity, (Asleep,)).unwrap(),
                            _ => {}
                        }
                    }
                });
            assert!(world.flush().is_clean());
            numbers(&mut reader, &mut world, hit)
        })
    };
    let one = run(1);
    assert_eq!(one.len(), 8_000);
    for threads in [2, 4] {
        assert!(run(threads) == one, "{threads} threads");
    }
}
