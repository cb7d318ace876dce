//! Parallel work on threads of a program's own: the same as on rayon's, whatever these threads do.
//!
//! No test here asks rayon's global pool for anything: one asks that it was never made.

#![cfg(feature = "world")]

mod contract;
mod many;
mod same;
mod teams;
mod traces;

use std::thread;
use std::time::{Duration, Instant};

use megachunk::world::World;

fn numbers(count: u32) -> World {
    let mut world = World::new();
    let _ = world.create_batch((0..count).map(|n| (n,))).unwrap();
    world
}

/// Waits until that holds, up to half a minute; whether it does.
fn comes(holds: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > Duration::from_secs(30) {
            return false;
        }
        thread::yield_now();
    }
    true
}
