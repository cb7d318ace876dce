//! Spans and events of a schedule: whose they are, whatever thread they come from. A program of its own: it listens for all
//! of its threads.

#![cfg(feature = "world")]

mod events;
mod heard;
mod spans;
mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use megachunk::prelude::World;

use heard::hear;

/// A world of so many rows. Whose composition is new, which others would hear that listen meanwhile.
fn world_of(rows: u32) -> World {
    let mut world = World::new();
    hear(|| {
        let all = world.create_batch((0..rows).map(|n| (n,)));
        assert!(all.is_ok());
    });
    world
}

/// A pool of two threads, one of which is held until the other is done with `act`.
fn on_one_of_two_threads(act: impl FnOnce() + Send) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let pool = pool.expect("there are threads");
    let done = Arc::new(AtomicBool::new(false));
    let (held, holds) = std::sync::mpsc::channel();
    let until = Arc::clone(&done);
    pool.spawn(move || {
        held.send(()).expect("somebody waits");
        while !until.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    holds.recv().expect("it is held");
    pool.install(act);
    done.store(true, Ordering::Relaxed);
}
