//! Synthetic histories for `map`, as traces: what leaves which holes.

use crate::cli::workload::Shuffler;
use crate::trace::{Recorder, Trace};

/// A history that is made, not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum Workload {
    /// All created, none destroyed
    Fill,
    /// All created, a random half destroyed
    RandomDestroy,
    /// The same, and then half of what was destroyed created again
    Recreate,
    /// Two threads, each replacing random ones of its half; they swap halves at times
    Larson,
    /// Two threads: what one creates the other destroys, a quarter of --size behind
    ProducerConsumer,
}

impl Workload {
    /// The history over `size` objects, at least 2.
    pub(super) fn trace(self, name: &str, size: usize) -> Trace {
        let size = size.max(2);
        let mut random = Shuffler::new(1);
        let mut recorder = Recorder::default();
        match self {
            Self::Fill => {
                created(&mut recorder, 0, size);
            }
            Self::RandomDestroy => {
                destroy_half(&mut recorder, &mut random, size);
            }
            Self::Recreate => {
                destroy_half(&mut recorder, &mut random, size);
                created(&mut recorder, 0, size / 4);
            }
            Self::Larson => larson(&mut recorder, &mut random, size),
            Self::ProducerConsumer => producer_consumer(&mut recorder, size),
        }
        recorder.finish(name.to_owned())
    }
}

fn created(recorder: &mut Recorder, thread: usize, count: usize) -> Vec<u32> {
    (0..count).map(|_| recorder.create(thread)).collect()
}

fn destroy_half(recorder: &mut Recorder, random: &mut Shuffler, size: usize) {
    let mut objects = created(recorder, 0, size);
    random.shuffle(&mut objects);
    for &object in &objects[..size / 2] {
        recorder.destroy(0, object);
    }
}

/// How often the halves change hands.
const HANDOVERS: usize = 4;

fn larson(recorder: &mut Recorder, random: &mut Shuffler, size: usize) {
    let mut halves = [0, 1].map(|thread| created(recorder, thread, size / 2));
    for round in 0..HANDOVERS {
        for step in 0..size {
            let thread = step % 2;
            let half = &mut halves[(thread + round) % 2];
            let position = random.below(half.len());
            recorder.destroy(thread, half[position]);
            half[position] = recorder.create(thread);
        }
    }
}

fn producer_consumer(recorder: &mut Recorder, size: usize) {
    // The consumer is never further behind than that.
    let behind = (size / 4).max(1);
    let mut queue = std::collections::VecDeque::with_capacity(behind + 1);
    for _ in 0..size {
        queue.push_back(recorder.create(0));
        if queue.len() > behind
            && let Some(object) = queue.pop_front()
        {
            recorder.destroy(1, object);
        }
    }
}
