//! Broadcasts that were sent one after the other are collected at once: each is heard as if it had come alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use megachunk::prelude::*;

use crate::rows::{ants, numbers, reader, seconds};

/// Numbers that look random: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as u32 % end
    }
}

/// What is expected of one signal.
#[derive(Default)]
struct Expected {
    now: Vec<u32>,
    later: Vec<u32>,
    to_ant: Vec<u32>,
}

/// What is expected of both, and the last number that was sent.
#[derive(Default)]
struct Account {
    signals: [Expected; 2],
    both: Vec<u32>,
    last: u32,
}

const NAMES: [&str; 2] = ["goal", "foul"];

/// One sender sends some, each of a number of its own.
fn send(random: &mut Random, world: &World, ant: Entity, account: &mut Account) {
    let names = NAMES.map(|name| world.signal::<u32>(name).unwrap());
    let mut signals = world.signals();
    let mut at = 0;
    for _ in 0..random.below(60) {
        // Mostly by the same signal as the last one.
        at = (at + usize::from(random.below(5) == 0)) % 2;
        account.last += 1;
        let (name, number, expected) = (names[at], account.last, &mut account.signals[at]);
        match random.below(16) {
            0 => {
                signals.send(name, ant, number);
                expected.to_ant.push(number);
            }
            1 => {
                signals.broadcast_after(name, number, seconds(1));
                expected.later.push(number);
            }
            2 => {
                signals.cancel_broadcasts(name);
                expected.later.clear();
            }
            timed => {
                match timed {
                    3 => signals.broadcast_at(name, number, world.time()),
                    _ => signals.broadcast(name, number),
                }
                expected.now.push(number);
                account.both.push(number);
            }
        }
    }
}

fn hears(world: &mut World, names: &[&str]) -> BroadcastReader<u32> {
    let mut reader = BroadcastReader::new();
    for name in names {
        let signal = world.signal(name).unwrap();
        reader.subscribe(world, signal).unwrap();
    }
    reader
}

#[test]
fn each_is_heard_in_its_place_whatever_stands_between_it_and_the_next() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..100 {
        let mut world = World::new();
        let ant = ants(&mut world, 1)[0];
        let mut all = hears(&mut world, &NAMES);
        let mut each = NAMES.map(|name| hears(&mut world, &[name]));
        let mut to_ant = NAMES.map(|name| {
            let signal = world.signal::<u32>(name).unwrap();
            (signal, reader(&mut world, signal))
        });
        let mut account = Account::default();
        for _ in 0..4 {
            // What several senders of a thread have sent lies in one memory, one behind the other.
            for _ in 0..=random.below(3) {
                send(&mut random, &world, ant, &mut account);
            }
            let Account { signals, both, .. } = &mut account;
            let heard = all.hear(&mut world);
            assert_eq!(heard.len(), both.len());
            assert!(heard.iter().eq(&*both) && heard.iter().rev().eq(both.iter().rev()));
            both.clear();
            for ((signal, reader), expected) in to_ant.iter_mut().zip(&mut *signals) {
                let got = numbers(reader, &mut world, *signal).pop();
                let got = got.map_or(Vec::new(), |(_, got)| got);
                assert_eq!(got, core::mem::take(&mut expected.to_ant));
            }
            for (reader, expected) in each.iter_mut().zip(&mut *signals) {
                let expected = core::mem::take(&mut expected.now);
                assert!(reader.hear(&mut world).iter().eq(&expected));
            }
            let waits = signals.iter().map(|expected| expected.later.len());
            let waits = waits.sum::<usize>();
            assert_eq!(world.pending().delayed_signals, waits);
            world.advance_time(seconds(1));
            for (reader, expected) in each.iter_mut().zip(&mut *signals) {
                let expected = core::mem::take(&mut expected.later);
                assert!(reader.hear(&mut world).iter().eq(&expected));
            }
            assert_eq!(all.hear(&mut world).len(), waits);
        }
    }
}

/// Panics when it is dropped, and counts that.
struct Bomb(u32, Arc<AtomicU32>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::Relaxed);
        std::panic::panic_any(self.0);
    }
}

#[test]
fn those_that_nobody_hears_are_all_dropped_though_each_panics_and_the_first_panic_comes_back() {
    let drops = Arc::new(AtomicU32::new(0));
    let mut world = World::new();
    let signal = world.signal_of::<Bomb>();
    let mut signals = world.signals();
    for number in 0..100 {
        signals.broadcast(signal, Bomb(number, Arc::clone(&drops)));
    }
    drop(signals);
    let panic = catch_unwind(AssertUnwindSafe(|| world.collect_signals())).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&0_u32));
    assert_eq!(drops.load(Ordering::Relaxed), 100);
    world.collect_signals();
    // Nor are they heard by who comes then.
    let mut late = BroadcastReader::new();
    late.subscribe(&mut world, signal).unwrap();
    assert!(late.hear(&mut world).is_empty());
}
