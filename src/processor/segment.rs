//! `Segment`: processors between two moments at which the world is one thread's alone.

use crate::sync::graph::{Bag, Graph};
use crate::sync::queue::Queue;

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
    /// Those that have become free.
    pub(super) queue: Queue,
    /// Those that run on the schedule's own thread, in order: each waits for the one before.
    pub(super) main: Box<[u32]>,
    /// For each vertex whether it is one of those; empty if none is.
    pub(super) bound: Box<[bool]>,
    /// Some of them can run side by side.
    pub(super) wide: bool,
    /// The stamp of the world's resources when none was missing.
    pub(super) found: Option<u64>,
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
        // In a chain everybody but the last has one that waits for it alone.
        self.wide = self.bag.len() > 1 || !self.graph.is_chain();
        self.queue = Queue::new(if self.wide { self.graph.len() } else { 0 });
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
    /// Nanoseconds that runs of each kind take, the median of some; 0 if there was none.
    alone: u64,
    beside: u64,
    /// Which kind is on trial.
    trial: Option<bool>,
    /// Runs of the trial, or since the last one, and the nanoseconds that they took.
    runs: u32,
    took: u64,
    /// How often in a row the slower kind was slower still when it was tried.
    refusals: u32,
    /// The kind of the last run.
    last: bool,
    /// What the last runs of that kind took, the first of them left out.
    window: [u64; WINDOW],
    len: usize,
}

/// Nanoseconds of work below which sharing it is not even tried: a thread that is awake begins a thousand or two after
/// it was told.
const WORTH: u64 = 8_000;
/// Runs, and nanoseconds, that a trial takes at least. The first run of a kind after the other does not count: other
/// threads' caches are cold; and to wake a thread takes as long as some short runs.
const TRIAL: (u32, u64) = (4, 250_000);
/// Runs, and nanoseconds, after which the slower kind is tried again; twice as many each time that it is slower still.
const PATIENCE: (u32, u64) = (64, 4_000_000);
/// So many times at most.
const DOUBLINGS: u32 = 6;
/// Runs of which the median is taken: more than twice as many as are slow because threads wake, when short runs come in
/// bursts.
const WINDOW: usize = 31;

impl Habit {
    /// Whether the next run is to be on several threads.
    pub(super) fn choose(&mut self) -> bool {
        match self.trial {
            Some(tried) if !self.have_passed(TRIAL, 0) => return tried,
            Some(tried) => {
                self.take_median();
                self.refusals = match tried == self.is_beside() {
                    true => 0,
                    false => DOUBLINGS.min(self.refusals + 1),
                };
                self.begin(None);
            }
            None if self.alone == 0 || (!self.is_beside() && self.alone < WORTH) => {}
            None if self.beside == 0 || self.have_passed(PATIENCE, self.refusals) => {
                let tried = !self.is_beside();
                self.begin(Some(tried));
                return tried;
            }
            None => {}
        }
        self.is_beside()
    }

    /// Which kind is the habit.
    fn is_beside(&self) -> bool {
        self.beside != 0 && self.beside < self.alone
    }

    /// Whether there were so many runs, and they took so long, doubled so many times.
    fn have_passed(&self, (runs, nanoseconds): (u32, u64), doublings: u32) -> bool {
        self.runs >= runs << doublings && self.took >= nanoseconds << doublings
    }

    /// Begins a trial, or what follows one.
    fn begin(&mut self, trial: Option<bool>) {
        (self.trial, self.runs, self.took) = (trial, 0, 0);
    }

    /// How long a run took.
    pub(super) fn note(&mut self, beside: bool, nanoseconds: u64) {
        self.runs = self.runs.saturating_add(1);
        self.took = self.took.saturating_add(nanoseconds);
        if core::mem::replace(&mut self.last, beside) != beside {
            self.len = 0;
            return;
        }
        self.window[self.len] = nanoseconds.max(1);
        self.len += 1;
        if self.len == WINDOW || (!beside && self.alone == 0) {
            self.take_median();
        }
    }

    /// The last runs of a kind say how long it takes.
    fn take_median(&mut self) {
        let window = &mut self.window[..core::mem::take(&mut self.len)];
        let kind = match self.last {
            true => &mut self.beside,
            false => &mut self.alone,
        };
        // Fewer say less than what is known.
        if *kind == 0 && !window.is_empty() || window.len() >= 3 {
            let median = *window.select_nth_unstable(window.len() / 2).1;
            let before = core::mem::replace(kind, median);
            // It is other work now: what was refused says little.
            if before != 0 && (median / 2 > before || before / 2 > median) {
                self.refusals = 0;
            }
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
    fn waking_the_others_may_take_as_long_as_several_runs() {
        let mut habit = Habit::default();
        let (mut shared, mut awake) = (0, 0);
        for run in 0..30_000 {
            // Between some runs the program does something else, and they sleep.
            if run % 300 == 0 {
                awake = 0;
            }
            let choice = habit.choose();
            shared += u32::from(choice);
            let beside = if awake < 8 { 20_000 } else { 7_000 };
            habit.note(choice, if choice { beside } else { 9_000 });
            awake = if choice { awake + 1 } else { 0 };
        }
        assert!(shared > 27_000, "{shared}");
    }

    #[test]
    fn what_becomes_slower_is_given_up() {
        let mut habit = Habit::default();
        let mut shared = 0;
        for run in 0..3_000 {
            let choice = habit.choose();
            let beside = if run < 1_000 { 24_000 } else { 50_000 };
            shared += u32::from(run >= 1_000 && choice);
            habit.note(choice, if choice { beside } else { 34_000 });
        }
        assert!(shared < 150, "{shared}");
    }

    #[test]
    fn work_that_changes_is_tried_anew() {
        let mut habit = Habit::default();
        let mut wrong = 0;
        let phases = [(20_000, 34, 50), (1_000, 200, 120), (20_000, 3, 15)];
        for (runs, alone, beside) in phases {
            for _ in 0..runs {
                let choice = habit.choose();
                habit.note(choice, 1_000 * if choice { beside } else { alone });
                wrong += u32::from(choice != (beside < alone));
            }
        }
        assert!(wrong < 1_500, "{wrong}");
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
