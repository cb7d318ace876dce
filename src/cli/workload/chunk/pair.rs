//! `chunk_pair`, `boundary`, `chunk_batch`: single chunks.

use super::ChunkContender;
use super::held::{Held, Room};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::Parts;

/// Lives in a round: enough that reading the clock does not show.
const ROUND: u64 = 256;

/// Takes a chunk and gives it back, again and again, while others are in use.
pub(super) struct Pair<C> {
    room: Room<C>,
    _others: Vec<Held>,
}

impl<C: ChunkContender> Pair<C> {
    /// While `others` chunks are in use: a multiple of 64 is the boundary, where each chunk taken
    /// is the first of its mega-chunk.
    pub(super) fn new(others: usize) -> Self {
        let room = Room::new();
        let others = (0..others).map(|_| room.take(1)).collect();
        room.flush();
        Self {
            room,
            _others: others,
        }
    }
}

impl<C: ChunkContender> Subject for Pair<C> {
    fn repeat(&self, _worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let lives = rounds * ROUND;
        watch.time(0, lives, || {
            for _ in 0..lives {
                let held = self.room.take(1);
                self.room.give(held);
            }
        });
    }
}

/// Chunks of a batch.
const BATCH: usize = 256;

/// Takes 256 single chunks, then gives them back; the two are timed apart.
pub(super) struct Batch<C> {
    room: Room<C>,
    workers: Parts<Vec<Held>>,
    _others: Vec<Held>,
}

impl<C: ChunkContender> Batch<C> {
    pub(super) fn new(others: usize, threads: usize) -> Self {
        let room = Room::new();
        let others = (0..others).map(|_| room.take(1)).collect();
        room.flush();
        Self {
            room,
            workers: Parts::new(threads, |_| Vec::with_capacity(BATCH)),
            _others: others,
        }
    }
}

impl<C: ChunkContender> Subject for Batch<C> {
    fn repeat(&self, worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut held = self.workers.of(worker);
        for _ in 0..rounds {
            watch.time(0, BATCH as u64, || {
                held.extend((0..BATCH).map(|_| self.room.take(1)));
            });
            watch.time(1, BATCH as u64, || {
                for held in held.drain(..) {
                    self.room.give(held);
                }
            });
        }
    }
}
