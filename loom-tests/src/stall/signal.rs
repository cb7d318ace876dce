//! What senders of signals do, and what helpers do meanwhile.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use megachunk::prelude::*;

use super::{Progress, Scenario, Subject};

/// The signals of a world.
#[derive(Debug)]
pub struct Sending {
    senders: ParallelSignals,
    hit: Signal<u64>,
    entity: Entity,
    /// Who collects, and how much was collected. No sender takes the lock.
    collector: Mutex<Collector>,
}

#[derive(Debug)]
struct Collector {
    world: World,
    reader: SignalReader,
    collected: i64,
}

impl Collector {
    fn collect(&mut self) {
        let Self { world, reader, .. } = self;
        let delivery = reader.deliver(world, |_, _| {});
        self.collected += delivery.signals as i64;
    }
}

impl Sending {
    fn collect(&self) -> i64 {
        let mut collector = self
            .collector
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        collector.collect();
        collector.collected
    }

    /// Opens so many senders at once, and sends as many signals by each.
    fn send(&self, senders: usize, signals: u64) -> i64 {
        let mut open: Vec<_> = (0..senders).map(|_| self.senders.open()).collect();
        for sender in &mut open {
            (0..signals).for_each(|n| sender.send(self.hit, self.entity, n));
        }
        (senders as u64 * signals) as i64
    }

    fn send_later(&self) -> i64 {
        let mut sender = self.senders.open_at(7);
        sender.send_at(self.hit, self.entity, 1, Duration::ZERO);
        sender.send_after(self.hit, self.entity, 2, Duration::ZERO);
        2
    }

    /// Asks for a name that nobody has asked for.
    fn name(&self, name: &str) -> i64 {
        let new = self.senders.signal::<u32>(name).expect("it is new");
        // Nobody reads it.
        self.senders.open().send(new, self.entity, 1);
        0
    }
}

impl Subject for Sending {
    type Handles = ();
    const ROOM: &'static str = "signal";
    const NAME: &'static str = "signals";

    fn fresh() -> Self {
        let mut world = World::new();
        let entity = world.create((1_u8,)).expect("there is room");
        let hit = world.signal::<u64>("hit").expect("it is new");
        let mut reader = SignalReader::new(&world).expect("it asks for nothing");
        reader
            .subscribe(&mut world, hit)
            .expect("the first subscription");
        Self {
            senders: world.parallel_signals(),
            hit,
            entity,
            collector: Mutex::new(Collector {
                world,
                reader,
                collected: 0,
            }),
        }
    }

    fn in_use(&self) -> i64 {
        self.collect()
    }

    fn scenarios() -> Vec<Scenario<Self>> {
        let warm = |a: &Self| ((), a.send(1, 3));
        vec![
            Scenario::new("send-first-ever", |_| ((), 0), |a, ()| a.send(1, 1)),
            Scenario::new("send", warm, |a, ()| a.send(1, 1)),
            Scenario::new("send-100", warm, |a, ()| a.send(1, 100)),
            Scenario::new("send-delayed", warm, |a, ()| a.send_later()),
            Scenario::new("send-from-40-senders", warm, |a, ()| a.send(40, 1)),
            Scenario::new("signal-new-name", warm, |a, ()| a.name("new")),
        ]
    }

    fn help(&self, helper: usize, (): &(), progress: &Progress) -> i64 {
        let mut sent = 0;
        for round in 0..20 {
            sent += progress.operation(|| self.send(1, 2));
            sent += progress.operation(|| self.send_later());
            sent += progress.batch(|| self.send(3, 2));
            progress.batch(|| self.name(&format!("{helper} {round}")));
            if helper == 0 {
                progress.batch(|| self.collect());
            }
        }
        sent
    }
}
