//! What keeps a cold row cold, and the same on every machine.

use rayon::ThreadPool;

use crate::cli::measure::{give_memory_back, provide_memory};
use crate::world::Universe;

/// Bytes that a world of the rows' entities takes, of the contender that takes most, and twice while it grows.
const BYTES: usize = 320;

/// Before a fresh world of so many entities is timed: it finds no memory that is its own, and finds memory that the
/// machine has at hand. To be called by the thread that the world will be on, because each thread has a heap of its own,
/// whose end nobody else gives back.
pub fn settle(entities: u32) {
    // A universe's chunks stay for the next one otherwise, and a heap's pages.
    Universe::forget_spare();
    // Where that cannot be, the next world lives in its forerunner's memory.
    let _ = give_memory_back();
    provide_memory(entities as usize * BYTES);
}

/// The same for a world that the threads of `pool` and the calling one work on.
pub fn settle_on(pool: &ThreadPool, entities: u32) {
    pool.broadcast(|_| {
        let _ = give_memory_back();
    });
    settle(entities);
}
