//! `Segment`: processors between two moments at which the world is one thread's alone.

use crate::sync::graph::{Bag, Graph};

/// "No processor": a joint, at which only edges meet.
pub(super) const JOINT: u32 = u32::MAX;

/// Processors that follow each other without a flush between them.
#[derive(Debug)]
pub(super) struct Segment {
    /// In order: the processors' numbers, or [`JOINT`].
    pub(super) vertices: Box<[u32]>,
    /// The place of the first in the order of the whole schedule.
    pub(super) first: u32,
    /// One processor, which has the world to itself.
    pub(super) exclusive: bool,
    /// Some of them get signals.
    pub(super) hears: bool,
    /// Some of them record commands.
    pub(super) commands: bool,
    /// A flush follows.
    pub(super) flush: bool,
    /// What waits for what.
    pub(super) graph: Graph,
    /// The vertices that wait for nobody.
    pub(super) bag: Bag,
    /// Those that run on the schedule's own thread, in order: each waits for the one before.
    pub(super) main: Box<[u32]>,
    /// Some of them can run side by side.
    pub(super) wide: bool,
    /// How many run, and how many are passed by.
    pub(super) ran: usize,
    pub(super) idle: usize,
    pub(super) habit: Habit,
}

impl Segment {
    /// Has these edges from now on, upwards and each once.
    pub(super) fn link(&mut self, edges: &[(u32, u32)]) {
        self.graph = Graph::new(self.vertices.len(), edges);
        self.bag = Bag::new(self.graph.first().collect::<Vec<_>>());
        // In a chain everybody but the last has one that waits for him alone.
        self.wide = self.bag.len() > 1 || !self.graph.is_chain();
    }

    /// Its processors' numbers, in order.
    pub(super) fn processors(&self) -> impl Iterator<Item = usize> {
        let processors = self
            .vertices
            .iter()
            .filter(|&&processor| processor != JOINT);
        processors.map(|&processor| processor as usize)
    }
}

/// Whether a segment's processors run side by side or one after the other: what was quicker when it was tried.
/// The results are the same.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Habit {
    /// Nanoseconds that runs of each kind took of late; 0 if there was none.
    alone: u64,
    beside: u64,
    /// Runs since the slower kind was tried, and after how many it is tried again.
    runs: u32,
    patience: u32,
    /// Which kind is on trial, and for how many runs more.
    tried: bool,
    trial: u32,
    /// The kind of the last run.
    last: bool,
}

/// Nanoseconds of work below which sharing it is not even tried: a thread that is awake begins a thousand or two after
/// it was told.
const WORTH: u64 = 8_000;
/// Runs of a trial. The first run of a kind after the other does not count: other threads have to be woken, and
/// their caches are cold.
const TRIAL: u32 = 4;
/// Runs after which the slower kind is tried again; twice as many each time that it is slower still.
const PATIENCE: u32 = 64;
const LONGEST_PATIENCE: u32 = 4_096;

impl Habit {
    /// Whether the next run is to be on several threads.
    pub(super) fn choose(&mut self) -> bool {
        if self.trial == 0 {
            let beside = self.beside != 0 && self.beside < self.alone;
            if !self.is_due() {
                return beside;
            }
            if !beside && self.alone < WORTH {
                return false;
            }
            self.tried = !beside;
            self.trial = TRIAL;
        }
        self.trial -= 1;
        self.tried
    }

    /// Whether it is time to try what was not the habit.
    fn is_due(&mut self) -> bool {
        if self.alone == 0 || self.beside == 0 {
            return self.alone != 0;
        }
        self.runs += 1;
        if self.runs < self.patience.max(PATIENCE) {
            return false;
        }
        self.runs = 0;
        self.patience = (self.patience.max(PATIENCE) * 2).min(LONGEST_PATIENCE);
        true
    }

    /// How long a run took.
    pub(super) fn note(&mut self, beside: bool, nanoseconds: u64) {
        if core::mem::replace(&mut self.last, beside) != beside {
            return;
        }
        let (kind, other) = if beside {
            (&mut self.beside, self.alone)
        } else {
            (&mut self.alone, self.beside)
        };
        let was_quicker = *kind != 0 && *kind < other;
        // One that took long by chance, while other programs had the threads, counts as half as long again, and is
        // forgotten after some runs; by a trial at once.
        *kind = match *kind {
            0 => nanoseconds,
            _ if self.trial == TRIAL - 2 => nanoseconds,
            before => before - before / 4 + nanoseconds.min(before + before / 2) / 4,
        }
        .max(1);
        if was_quicker != (*kind < other) {
            self.patience = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quicker_becomes_the_habit() {
        for (alone, beside, expected) in [(100_000, 60_000, true), (100_000, 150_000, false)] {
            let mut habit = Habit::default();
            let mut chosen = [0_u32; 2];
            for _ in 0..10_000 {
                let choice = habit.choose();
                chosen[usize::from(choice)] += 1;
                habit.note(choice, if choice { beside } else { alone });
            }
            assert!(
                chosen[usize::from(expected)] > 9_900,
                "{chosen:?} for {alone} alone, {beside} side by side"
            );
        }
    }

    #[test]
    fn waking_the_others_is_no_reason_to_leave_them_asleep() {
        let mut habit = Habit::default();
        let (mut shared, mut awake) = (0, false);
        for _ in 0..1_000 {
            let choice = habit.choose();
            shared += u32::from(choice);
            let beside = if awake { 24_000 } else { 90_000 };
            habit.note(choice, if choice { beside } else { 34_000 });
            awake = choice;
        }
        assert!(shared > 900, "{shared}");
    }

    #[test]
    fn one_run_that_was_interrupted_changes_no_habit() {
        let mut habit = Habit::default();
        let mut shared = 0;
        for run in 0..1_000 {
            let choice = habit.choose();
            shared += u32::from(choice);
            let beside = if run % 50 == 49 { 5_000_000 } else { 24_000 };
            habit.note(choice, if choice { beside } else { 34_000 });
        }
        assert!(shared > 900, "{shared}");
    }

    #[test]
    fn little_work_wakes_nobody() {
        let mut habit = Habit::default();
        for _ in 0..10_000 {
            assert!(!habit.choose());
            habit.note(false, 900);
        }
    }

    #[test]
    fn work_that_grows_is_shared_then() {
        let mut habit = Habit::default();
        for _ in 0..100 {
            let choice = habit.choose();
            habit.note(choice, 2_000);
        }
        let mut shared = 0;
        for _ in 0..1_000 {
            let choice = habit.choose();
            shared += u32::from(choice);
            habit.note(choice, if choice { 300_000 } else { 500_000 });
        }
        assert!(shared > 900, "{shared}");
    }
}
