//! `runs`: neighbouring chunks, among many that are taken.

use std::collections::VecDeque;

use super::ChunkContender;
use super::held::{Held, Room};
use crate::chunk::{CHUNKS, MEGACHUNK_CHUNKS};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::{Parts, Shuffler};

/// Chunks among which some stay taken: 256 mega-chunks, 256 MiB.
const REGION: usize = 256 * MEGACHUNK_CHUNKS;
/// Runs that each worker holds.
const HELD: usize = 16;
/// Lengths that a worker asks for in turn.
const LENGTHS: usize = 1_024;

/// Each worker replaces its oldest run by a new one of 1 to 64 chunks, while a part of the first
/// 256 mega-chunks' chunks stays taken, here and there.
pub(super) struct Runs<C> {
    room: Room<C>,
    workers: Parts<Worker>,
    _obstacles: Vec<Held>,
}

struct Worker {
    held: VecDeque<Held>,
    lengths: Vec<u8>,
    next: usize,
}

impl Worker {
    #[inline(always)]
    fn length(&mut self) -> usize {
        self.next += 1;
        usize::from(self.lengths[self.next % LENGTHS])
    }
}

impl<C: ChunkContender> Runs<C> {
    /// With `taken` percent of the chunks taken.
    pub(super) fn new(taken: usize, threads: usize) -> Self {
        let room = Room::new();
        let mut obstacles = Vec::new();
        if taken > 0 {
            obstacles.extend((0..REGION).map(|_| room.take(1)));
            Shuffler::new(5).shuffle(&mut obstacles);
            for free in obstacles.drain(REGION * taken / 100..) {
                room.give(free);
            }
        }
        let workers = Parts::new(threads, |number| {
            let mut shuffler = Shuffler::new(number as u64);
            let lengths = (0..LENGTHS).map(|_| 1 + shuffler.below(MEGACHUNK_CHUNKS) as u8);
            let mut worker = Worker {
                held: VecDeque::with_capacity(HELD + 1),
                lengths: lengths.collect(),
                next: 0,
            };
            for _ in 0..HELD {
                let length = worker.length();
                worker.held.push_back(room.take(length));
            }
            worker
        });
        room.flush();
        Self {
            room,
            workers,
            _obstacles: obstacles,
        }
    }
}

impl<C: ChunkContender> Subject for Runs<C> {
    fn repeat(&self, worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut worker = self.workers.of(worker);
        let lives = rounds * 16;
        watch.time(0, lives, || {
            for _ in 0..lives {
                let length = worker.length();
                let new = self.room.take(length);
                worker.held.push_back(new);
                if let Some(oldest) = worker.held.pop_front() {
                    self.room.give(oldest);
                }
            }
        });
    }
}

/// Asks for runs of 64 where every second chunk of all 16 GiB is taken.
pub(super) struct Alternating<C> {
    room: Room<C>,
    /// Whether one mega-chunk, the last, is free, so that the request succeeds.
    is_served: bool,
    _obstacles: Vec<Held>,
}

impl<C: ChunkContender> Alternating<C> {
    pub(super) fn new(is_served: bool) -> Self {
        let room = Room::new();
        let free = if is_served { MEGACHUNK_CHUNKS } else { 0 };
        let mut obstacles = Vec::with_capacity(CHUNKS / 2);
        let mut others = Vec::with_capacity(CHUNKS / 2);
        for number in 0..CHUNKS - free {
            let held = room.take(1);
            if number % 2 == 0 {
                &mut obstacles
            } else {
                &mut others
            }
            .push(held);
        }
        for other in others {
            room.give(other);
        }
        room.flush();
        Self {
            room,
            is_served,
            _obstacles: obstacles,
        }
    }
}

impl<C: ChunkContender> Subject for Alternating<C> {
    fn repeat(&self, _worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let served = watch.time(0, rounds, || {
            let mut served = 0;
            for _ in 0..rounds {
                if let Some(held) = self.room.try_take(MEGACHUNK_CHUNKS) {
                    self.room.give(held);
                    served += 1;
                }
            }
            served
        });
        let expected = if self.is_served { rounds } else { 0 };
        assert_eq!(served, expected, "a run of 64 is there, or is not");
    }
}
