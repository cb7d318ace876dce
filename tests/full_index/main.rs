//! What holds where all ids are taken. In release builds, on request: to fill an index takes gigabytes of memory.
//!
//!     cargo test --release --test full_index -- --ignored

#![cfg(feature = "world")]

#[path = "../support/counted.rs"]
mod counted;

mod commands;
mod entities;
mod snapshots;
mod spawners;

use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::world::Universe;

/// A universe none of whose ids is free, and the last of those that were reserved.
fn full() -> (Arc<Universe>, Vec<Entity>) {
    let universe = Arc::new(Universe::new());
    let last = fill(&universe);
    (universe, last)
}

/// Reserves all ids of a universe that are free; the last ones.
fn fill(universe: &Universe) -> Vec<Entity> {
    let mut last = Vec::new();
    loop {
        let mut some = vec![Entity::PLACEHOLDER; 1 << 16];
        if universe.reserve_slice(&mut some).is_err() {
            assert!(some.iter().all(|one| *one == Entity::PLACEHOLDER));
            break;
        }
        last = some;
    }
    while let Ok(entity) = universe.reserve() {
        last.push(entity);
    }
    last
}
