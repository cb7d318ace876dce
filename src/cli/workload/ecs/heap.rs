//! What keeps a cold row cold, and the same on every machine.

use crate::cli::measure::{give_memory_back, provide_memory};

/// Bytes that a world of the rows' entities takes, of the contender that takes most, and twice while it grows.
const BYTES: usize = 320;

/// Before a fresh world of so many entities is timed: it finds no memory that is its own, and finds memory that the
/// machine has at hand.
pub(super) fn prepare(entities: u32) {
    // Where that cannot be, the next world lives in its forerunner's memory.
    let _ = give_memory_back();
    provide_memory(entities as usize * BYTES);
}
