//! Recorders and senders that are open when a world goes back hold something for those who were there: whoever gets a handle
//! afterwards that a guess had gets nothing of it.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use megachunk::prelude::*;
use megachunk::world::{CheckpointError, Checkpoints};

use crate::checkpoints::{Spot, bytes, world};

#[test]
fn a_recorder_that_is_open_is_not_flushed_and_both_calls_refuse() {
    let mut world = world();
    let recorders = world.parallel_commands();
    let mut checkpoints = Checkpoints::new(2);
    let start = checkpoints.take(&mut world).unwrap();
    let guess = world.create((Spot(1),)).unwrap();
    let was = bytes(&world);
    let mut open = recorders.open();
    open.destroy(guess);
    assert_eq!(
        checkpoints.roll_back(&mut world, start),
        Err(CheckpointError::RecorderOpen)
    );
    assert_eq!(
        checkpoints.take(&mut world),
        Err(CheckpointError::RecorderOpen)
    );
    assert!(bytes(&world) == was && checkpoints.len() == 1);
    drop(open);
    assert!(matches!(
        checkpoints.roll_back(&mut world, start),
        Err(CheckpointError::Pending(pending)) if pending.commands == 1
    ));
    assert_eq!(world.flush().destroyed, 1);
    checkpoints.roll_back(&mut world, start).unwrap();
    let real = world.create((Spot(2),)).unwrap();
    assert_eq!(real, guess);
    assert_eq!(world.flush().commands, 0);
    assert_eq!(world.get::<Spot>(real).unwrap(), &Spot(2));
}

#[test]
fn a_recorder_that_holds_back_what_others_have_left_is_seen_though_it_records_nothing() {
    let mut world = world();
    let recorders = world.parallel_commands();
    let mut checkpoints = Checkpoints::new(2);
    let start = checkpoints.take(&mut world).unwrap();
    let guess = world.create((Spot(1),)).unwrap();
    recorders.open().set(guess, Spot(2)).unwrap();
    recorders.open().destroy(guess);
    // The third goes on in the memory of the second, and keeps that from the flush.
    let third = recorders.open();
    assert_eq!(world.flush().commands, 1);
    assert_eq!(world.pending().commands, 0);
    assert_eq!(
        checkpoints.roll_back(&mut world, start),
        Err(CheckpointError::RecorderOpen)
    );
    drop(third);
    assert_eq!(world.flush().destroyed, 1);
    checkpoints.roll_back(&mut world, start).unwrap();
}

/// Counts its drops.
struct Parcel(u64, Arc<AtomicUsize>);

impl Drop for Parcel {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn what_a_sender_sends_that_was_opened_before_the_world_went_back_is_gone() {
    let mut world = world();
    let rings = world.signal::<Parcel>("rings").unwrap();
    let drops = Arc::new(AtomicUsize::new(0));
    let parcel = |number| Parcel(number, Arc::clone(&drops));
    let mut reader = SignalReader::<Entity>::new(&world).unwrap();
    reader.subscribe(&mut world, rings).unwrap();
    let mut hall = BroadcastReader::<Parcel>::new();
    hall.subscribe(&mut world, rings).unwrap();
    let second = Duration::from_secs(1);
    let queen = world.create((Spot(0),)).unwrap();
    let senders = world.parallel_signals();
    let mut checkpoints = Checkpoints::new(2);
    let start = checkpoints.take(&mut world).unwrap();
    let sent = Cell::new(0);
    let send = |signals: &mut Signals<'_>, to: Entity, number: u64| {
        sent.set(sent.get() + 4);
        signals.send(rings, to, parcel(number));
        signals.send_after(rings, to, parcel(number), second);
        signals.broadcast(rings, parcel(number));
        signals.broadcast(rings, parcel(number));
    };
    let heard = |world: &mut World, reader: &mut SignalReader<Entity>| {
        let mut heard = Vec::new();
        let _ = reader.deliver(world, |entity, received| {
            heard.extend(received.of(rings).map(|parcel| (entity, parcel.0)));
        });
        heard
    };
    for round in 0..3 {
        let guess = world.create((Spot(1),)).unwrap();
        // Two leave something, and who comes after them goes on there.
        (0..2).for_each(|_| send(&mut senders.open(), guess, 7));
        let mut open: Vec<_> = (0..3).map(|_| senders.open()).collect();
        open.iter_mut().for_each(|open| send(open, guess, 7));
        checkpoints.roll_back(&mut world, start).unwrap();
        let real = world.create((Spot(2),)).unwrap();
        assert_eq!(real, guess);
        // What is opened now arrives, whatever the others do.
        send(&mut senders.open(), real, 8);
        if round == 1 {
            world.collect_signals();
        }
        open.iter_mut().for_each(|open| {
            send(open, guess, 7);
            open.cancel(rings, real);
        });
        let last = (round == 2).then(|| open.pop());
        drop(open);
        send(&mut senders.open(), real, 8);
        assert_eq!(heard(&mut world, &mut reader), [(real, 8), (real, 8)]);
        assert_eq!(hall.hear(&mut world).len(), 4);
        // One is dropped when others have been collected.
        drop(last);
        world.advance_time(second);
        assert_eq!(heard(&mut world, &mut reader), [(real, 8), (real, 8)]);
        assert!(hall.hear(&mut world).is_empty());
        send(&mut senders.open(), queen, 9);
        assert_eq!(heard(&mut world, &mut reader), [(queen, 9)]);
        world.advance_time(second);
        assert_eq!(heard(&mut world, &mut reader), [(queen, 9)]);
        assert_eq!(hall.hear(&mut world).len(), 2);
        checkpoints.roll_back(&mut world, start).unwrap();
    }
    drop((world, senders, reader, hall));
    assert_eq!(drops.load(Ordering::Relaxed), sent.get());
}
