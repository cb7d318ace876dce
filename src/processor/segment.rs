//! `Segment`: processors between two moments at which the world is one thread's alone.

use core::ops::Range;

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
    /// The versions that its vertices had when it ran last, one after the other; those of its processor, if it has the world
    /// to itself.
    pub(super) versions: Range<u64>,
}

impl Segment {
    /// The processor that had a version when the segment ran last.
    pub(super) fn ran_at(&self, version: u64) -> Option<usize> {
        if !self.versions.contains(&version) {
            return None;
        }
        let vertex = match self.exclusive {
            true => 0,
            false => (version - self.versions.start) as usize,
        };
        let processor = self.vertices.get(vertex).copied();
        let processor = processor.filter(|&processor| processor != JOINT);
        processor.map(|processor| processor as usize)
    }

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
    /// How often in a row the slower kind was slower still when it was tried, and how often of these in a row it was far
    /// slower.
    refusals: u32,
    far: u32,
    /// What a run of the habit took when the other kind was tried last.
    against: u64,
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
/// Nanoseconds from which a run is long: waking threads and filling caches is little of it, so that one run says enough,
/// and costs enough.
const LONG: u64 = 1_000_000;
/// After so many refusals in a row, long runs that take more than so many times as long are not tried again, as long as
/// those of the habit take what they took.
const HOPELESS: (u32, u64) = (3, 4);
/// Runs of which the median is taken: more than twice as many as are slow because threads wake, when short runs come in
/// bursts.
const WINDOW: usize = 31;

impl Habit {
    /// Whether the next run is to be on several threads. `taken`: another segment tries long runs in this frame; then
    /// this one does not begin to, and it is set if this one does.
    pub(super) fn choose(&mut self, taken: &mut bool) -> bool {
        match self.trial {
            Some(tried) if !self.have_passed(TRIAL, 0) => {
                *taken |= self.slower() >= LONG;
                return tried;
            }
            Some(tried) => {
                self.take_median();
                self.end_trial(tried);
            }
            None if self.alone == 0 || (!self.is_beside() && self.alone < WORTH) => {}
            None if self.beside == 0 || self.is_due(taken) => {
                let tried = !self.is_beside();
                self.begin(Some(tried));
                return tried;
            }
            None => {}
        }
        self.is_beside()
    }

    /// Whether the run that was [chosen](Self::choose) now is the first of a trial.
    pub(super) fn begins_trial(&self) -> bool {
        self.trial.is_some() && self.runs == 0
    }

    /// Whether the slower kind is to be tried again, in a frame in which long runs are tried by others already, or not.
    fn is_due(&self, taken: &mut bool) -> bool {
        if !self.have_passed(PATIENCE, self.refusals) {
            return false;
        }
        if self.slower() < LONG {
            return true;
        }
        let hopeless = self.far >= HOPELESS.0;
        !hopeless && !core::mem::replace(taken, true)
    }

    /// Nanoseconds of the habit, where both kinds are known.
    fn quicker(&self) -> u64 {
        self.alone.min(self.beside)
    }

    /// Nanoseconds of the other kind, where both are known.
    fn slower(&self) -> u64 {
        self.alone.max(self.beside)
    }

    /// The kind that was tried is the habit now, or is refused.
    fn end_trial(&mut self, tried: bool) {
        let refused = tried != self.is_beside();
        let is_far = refused && self.slower() / HOPELESS.1 > self.quicker();
        self.refusals = if refused {
            DOUBLINGS.min(self.refusals + 1)
        } else {
            0
        };
        self.far = if is_far {
            self.far.saturating_add(1)
        } else {
            0
        };
        self.against = self.quicker();
        self.begin(None);
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
        if self.trial == Some(beside) && self.is_refused(nanoseconds) {
            *self.kind(beside) = nanoseconds;
            (self.last, self.len) = (beside, 0);
            return self.end_trial(beside);
        }
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

    /// Whether one run of the kind on trial, which took so long, says that it is not worth another.
    fn is_refused(&self, nanoseconds: u64) -> bool {
        // The first trial of all is of the kind of which nothing is known.
        let habit = match self.beside {
            0 => self.alone,
            _ => self.quicker(),
        };
        // Where the habit's runs are short, one run may be long by chance: waking a thread takes as long. So the first one
        // after the other kind is none of those that count, and where they are very short it takes several long ones.
        let is_long = habit >= LONG / 4 || self.took >= 4 * LONG;
        let counts = habit >= LONG || (self.runs > 1 && is_long);
        counts && nanoseconds >= LONG && nanoseconds / 2 > habit
    }

    /// What runs of a kind take.
    fn kind(&mut self, beside: bool) -> &mut u64 {
        match beside {
            true => &mut self.beside,
            false => &mut self.alone,
        }
    }

    /// The last runs of a kind say how long it takes.
    fn take_median(&mut self) {
        let len = core::mem::take(&mut self.len);
        let known = *self.kind(self.last);
        // Fewer say less than what is known.
        if len < 3 && (known != 0 || len == 0) {
            return;
        }
        let median = *self.window[..len].select_nth_unstable(len / 2).1;
        *self.kind(self.last) = median;
        // It is other work now, at once or little by little: what was refused says little.
        let is_habit = self.trial.is_none() && self.last == self.is_beside();
        if is_other(known, median) || (is_habit && is_other(self.against, median)) {
            (self.refusals, self.far) = (0, 0);
            self.against = if is_habit { median } else { self.against };
        }
    }
}

/// Whether what takes so long now is other work than before, if that is known.
fn is_other(before: u64, now: u64) -> bool {
    before != 0 && (now / 2 > before || before / 2 > now)
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
                let choice = habit.choose(&mut false);
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
            let choice = habit.choose(&mut false);
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
            let choice = habit.choose(&mut false);
            shared += u32::from(choice);
            let beside = if awake < 8 { 20_000 } else { 7_000 };
            habit.note(choice, if choice { beside } else { 9_000 });
            awake = if choice { awake + 1 } else { 0 };
        }
        assert!(shared > 27_000, "{shared}");
    }

    #[test]
    fn a_short_run_that_is_long_by_chance_decides_nothing() {
        // The first one of a trial takes a millisecond: a thread has slept.
        let mut habit = Habit::default();
        let (mut shared, mut last) = (0, false);
        for _ in 0..10_000 {
            let choice = habit.choose(&mut false);
            shared += u32::from(choice);
            let beside = if last { 60_000 } else { 1_200_000 };
            habit.note(choice, if choice { beside } else { 100_000 });
            last = choice;
        }
        assert!(shared > 9_000, "{shared}");

        // It is a little slower, and was so twice; then one run is long. Later it is quicker, and is tried again.
        let (mut habit, mut shared, mut trials) = (Habit::default(), 0, 0);
        let mut last = false;
        for run in 0..100_000 {
            let choice = habit.choose(&mut false);
            trials += u32::from(choice && !last);
            let beside = match trials {
                0..=2 => 110_000,
                3 if !last => 1_200_000,
                3 => 110_000,
                _ => 60_000,
            };
            shared += u32::from(run >= 50_000 && choice);
            habit.note(choice, if choice { beside } else { 100_000 });
            last = choice;
        }
        assert!(trials >= 4 && shared > 40_000, "{trials} {shared}");
    }

    #[test]
    fn short_runs_that_others_make_long_are_given_up_after_two() {
        // Others have the pool's processors.
        let mut habit = Habit::default();
        let mut in_a_row = [0, 0];
        for _ in 0..1_000 {
            let choice = habit.choose(&mut false);
            in_a_row[0] = if choice { in_a_row[0] + 1 } else { 0 };
            in_a_row[1] = in_a_row[0].max(in_a_row[1]);
            habit.note(choice, if choice { 20_000_000 } else { 100_000 });
        }
        assert_eq!(in_a_row[1], 2);
    }

    #[test]
    fn what_becomes_slower_is_given_up() {
        let mut habit = Habit::default();
        let mut shared = 0;
        for run in 0..3_000 {
            let choice = habit.choose(&mut false);
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
                let choice = habit.choose(&mut false);
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
            let choice = habit.choose(&mut false);
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
            assert!(!habit.choose(&mut false));
            habit.note(false, 900);
        }
    }

    #[test]
    fn work_that_grows_is_shared_then() {
        let mut habit = Habit::default();
        for _ in 0..100 {
            let choice = habit.choose(&mut false);
            habit.note(choice, 2_000);
        }
        let mut shared = 0;
        for _ in 0..1_000 {
            let choice = habit.choose(&mut false);
            shared += u32::from(choice);
            habit.note(choice, if choice { 300_000 } else { 500_000 });
        }
        assert!(shared > 900, "{shared}");
    }

    /// Runs of 5 ms alone and `beside` side by side: how many were side by side, and how many of them in a row at most.
    fn run_long(habit: &mut Habit, runs: u32, (alone, beside): (u64, u64)) -> (u32, u32) {
        let (mut shared, mut row, mut most) = (0, 0, 0);
        for _ in 0..runs {
            let choice = habit.choose(&mut false);
            habit.note(choice, 1_000_000 * if choice { beside } else { alone });
            shared += u32::from(choice);
            row = if choice { row + 1 } else { 0 };
            most = row.max(most);
        }
        (shared, most)
    }

    #[test]
    fn a_long_trial_ends_with_its_first_slow_run() {
        for beside in [11, 40] {
            let (_, most) = run_long(&mut Habit::default(), 100_000, (5, beside));
            assert_eq!(most, 1, "{beside} ms");
        }
        // Alone, if that is what is slower.
        let mut habit = Habit::default();
        run_long(&mut habit, 10, (40, 5));
        let (mut slow, mut row) = (0, 0);
        for _ in 0..100_000 {
            let choice = habit.choose(&mut false);
            habit.note(choice, if choice { 5_000_000 } else { 40_000_000 });
            row = if choice { 0 } else { row + 1 };
            assert!(row <= 1);
            slow += u32::from(!choice);
        }
        assert!(slow <= 4, "{slow}");
    }

    #[test]
    fn long_runs_of_the_far_slower_kind_are_not_tried_for_ever() {
        let mut habit = Habit::default();
        assert_eq!(run_long(&mut habit, 100_000, (5, 40)), (3, 1));
        // Of what is not so far, now and then.
        let (shared, _) = run_long(&mut Habit::default(), 100_000, (5, 15));
        assert!((10..50).contains(&shared), "{shared}");
    }

    #[test]
    fn long_runs_are_tried_again_when_the_work_has_changed() {
        let mut habit = Habit::default();
        run_long(&mut habit, 10_000, (5, 40));
        // Little by little.
        for alone in 6..=9 {
            run_long(&mut habit, 100, (alone, 40));
        }
        assert_eq!(run_long(&mut habit, 10_000, (9, 40)).0, 0);
        run_long(&mut habit, 100, (12, 8));
        let (shared, _) = run_long(&mut habit, 1_000, (12, 8));
        assert!(shared > 800, "{shared}");
    }

    #[test]
    fn segments_of_long_runs_are_not_tried_again_in_the_same_frame() {
        let mut habits = [Habit::default(); 5];
        for frame in 0..50_000 {
            let (mut taken, mut trials) = (false, 0);
            for habit in &mut habits {
                let choice = habit.choose(&mut taken);
                habit.note(choice, 1_000_000 * if choice { 15 } else { 5 });
                trials += u32::from(choice);
            }
            // In the second frame nothing is known of any.
            assert!(trials <= 1 || frame == 1, "{trials} in frame {frame}");
        }
    }
}
