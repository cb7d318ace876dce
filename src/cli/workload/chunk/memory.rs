//! `first_touch`, `decommit`: memory from the system, and back to it.

use std::sync::RwLock;

use super::ChunkContender;
use super::held::{Held, Room};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::{Parts, share};

/// Chunks that are taken in all: 64 MiB.
const CHUNKS: usize = 4_096;

/// A fresh allocator hands out 4,096 chunks, and each page is written to for the first time.
///
/// Only for allocators that take fresh memory from the system: the process's heap, where the naive
/// one takes its own, keeps pages that earlier repetitions touched, and that is less work.
pub(super) struct FirstTouch<C> {
    room: RwLock<Room<C>>,
    held: Parts<Vec<Held>>,
}

impl<C: ChunkContender> FirstTouch<C> {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            room: RwLock::new(Room::new()),
            held: Parts::new(threads, |worker| {
                Vec::with_capacity(share(CHUNKS, worker, threads))
            }),
        }
    }
}

impl<C: ChunkContender> Subject for FirstTouch<C> {
    fn prepare(&self) {
        *self.room.write().expect("only this thread writes") = Room::new();
    }

    fn repeat(&self, worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        let room = self.room.read().expect("no panic while it is replaced");
        let mut held = self.held.of(worker);
        let count = share(CHUNKS, worker, self.held.workers());
        watch.time(0, count as u64, || {
            for _ in 0..count {
                let chunk = room.take(1);
                room.touch(&chunk);
                held.push(chunk);
            }
        });
        for chunk in held.drain(..) {
            room.give(chunk);
        }
    }

    fn is_fixed(&self) -> bool {
        true
    }
}

/// 4,096 chunks whose memory is real are given back, and their memory goes back to the system.
pub(super) struct Decommit<C>(std::marker::PhantomData<fn() -> C>);

impl<C: ChunkContender> Decommit<C> {
    pub(super) fn new() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<C: ChunkContender> Subject for Decommit<C> {
    fn repeat(&self, _worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        let room = Room::<C>::new();
        let held: Vec<_> = (0..CHUNKS).map(|_| room.take(1)).collect();
        held.iter().for_each(|chunk| room.touch(chunk));
        watch.time(0, CHUNKS as u64, || {
            held.into_iter().for_each(|chunk| room.give(chunk));
            room.trim();
        });
    }

    fn is_fixed(&self) -> bool {
        true
    }
}
