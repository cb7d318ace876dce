//! Stalls: is anybody blocked when a thread stops for ever in the middle of an operation?
//!
//! Called by `tests/stall.rs`. [`sweep`] runs one operation again and again on a fresh allocator,
//! each time freezes it before another of its steps (accesses to shared memory), and lets two
//! helpers run a fixed program of all operations meanwhile. A freeze point *blocks* if the helpers
//! make no progress for as long as our patience lasts, and finish once the frozen thread goes on.
//!
//! What must always hold: in the end all threads have finished, and the allocator counts as many
//! things in use as were created and not destroyed.

mod chunk;
#[cfg(not(loom))]
mod command;
mod entity;
mod session;
mod signal;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use megachunk::sync::probe::{Frozen, Gate, freeze_at, measure};

pub use chunk::{Chunks, SparingChunks};
#[cfg(not(loom))]
pub use command::Recorders;
pub use entity::Entities;
pub use session::Sessions;
pub use signal::Sending;

/// After the frozen thread was let go, everybody has to finish within this.
const RECOVERY: Duration = Duration::from_secs(60);

/// An allocator and what its users do with it.
pub trait Subject: Send + Sync + Sized + 'static {
    /// What an operation works on; helpers get it too.
    type Handles: Clone + Send + 'static;

    /// What is allocated: `entity` or `chunk`; or `command`, for who records.
    const ROOM: &'static str;
    /// The allocator's name in the table.
    const NAME: &'static str;

    /// An allocator with nothing in use.
    fn fresh() -> Self;

    /// The operations and the states in which they are frozen.
    fn scenarios() -> Vec<Scenario<Self>>;

    /// The program of helper 0 or 1: all operations, also on `handles`, each through
    /// [`Progress`]. Gives how many more things are in use after it.
    fn help(&self, helper: usize, handles: &Self::Handles, progress: &Progress) -> i64;

    /// How many things are in use.
    fn in_use(&self) -> i64;
}

/// One operation in one state.
#[derive(Debug)]
pub struct Scenario<S: Subject> {
    /// The operation's name in the table.
    pub operation: &'static str,
    /// Brings the allocator, and the cache of the thread, into the state: gives what the operation
    /// works on, and how many things are in use.
    pub prepare: fn(&S) -> (S::Handles, i64),
    /// The operation: gives how many more things are in use after it.
    pub operate: fn(&S, &S::Handles) -> i64,
    /// Whether the operation has done what it is here for, if nobody disturbed it.
    pub reached: fn(&S) -> bool,
}

impl<S: Subject> Scenario<S> {
    fn new(
        operation: &'static str,
        prepare: fn(&S) -> (S::Handles, i64),
        operate: fn(&S, &S::Handles) -> i64,
    ) -> Self {
        Self {
            operation,
            prepare,
            operate,
            reached: |_| true,
        }
    }

    /// The same, of use only if `reached` holds afterwards.
    fn reaching(mut self, reached: fn(&S) -> bool) -> Self {
        self.reached = reached;
        self
    }
}

/// How far the helpers got.
#[derive(Debug, Default)]
pub struct Progress {
    operations: AtomicU64,
    most_steps: AtomicU64,
}

impl Progress {
    /// Runs one operation of a helper whose steps are bounded by a constant, and counts them.
    pub fn operation<R>(&self, operation: impl FnOnce() -> R) -> R {
        let mut result = None;
        let counts = measure(|| result = Some(operation()));
        self.most_steps.fetch_max(counts.steps, Ordering::Relaxed);
        self.done(result.expect("the operation has run"))
    }

    /// Runs an operation whose steps grow with what it is given.
    pub fn batch<R>(&self, operation: impl FnOnce() -> R) -> R {
        self.done(operation())
    }

    fn done<R>(&self, result: R) -> R {
        self.operations.fetch_add(1, Ordering::Relaxed);
        result
    }
}

/// How thorough a sweep is.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How long helpers may stand still before they count as blocked.
    pub patience: Duration,
    /// Freeze points of one operation; if it has more steps, so many of them, evenly spread.
    pub most_points: u64,
}

/// What a sweep over one operation showed.
#[derive(Clone, Debug)]
pub struct Row {
    /// The allocator.
    pub allocator: &'static str,
    /// The operation.
    pub operation: &'static str,
    /// Steps of the operation when nobody disturbs it.
    pub steps: u64,
    /// Steps before which it was frozen.
    pub points: u64,
    /// Points at which others could not go on.
    pub blocked: u64,
    /// The most steps that one operation of a helper, not a batch, took while the thread was frozen.
    pub helper_steps: u64,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            allocator,
            operation,
            steps,
            points,
            blocked,
            helper_steps,
        } = self;
        write!(
            f,
            "stall {allocator:<14} {operation:<26} points={points} blocked={blocked} \
             steps={steps} helper-steps={helper_steps}"
        )
    }
}

/// Freezes the operation before each of its steps.
///
/// # Panics
/// If a thread panics, does not finish after all, or if something was lost or counted twice; or if the operation,
/// undisturbed, does not reach what it is to be frozen in.
#[must_use]
pub fn sweep<S: Subject>(scenario: &Scenario<S>, effort: Effort) -> Row {
    let steps = undisturbed(scenario);
    let mut row = Row {
        allocator: S::NAME,
        operation: scenario.operation,
        steps,
        points: 0,
        blocked: 0,
        helper_steps: 0,
    };
    let points = steps.min(effort.most_points);
    for point in 0..points {
        let step = if steps > points {
            point * steps / points
        } else {
            point
        };
        let progress = Arc::new(Progress::default());
        if let Some(blocked) = freeze(scenario, step, &progress, effort.patience) {
            row.points += 1;
            row.blocked += u64::from(blocked);
            row.helper_steps = row
                .helper_steps
                .max(progress.most_steps.load(Ordering::Relaxed));
        }
    }
    row
}

/// How many steps the operation has when nobody disturbs it.
fn undisturbed<S: Subject>(scenario: &Scenario<S>) -> u64 {
    let allocator = S::fresh();
    let (handles, _) = (scenario.prepare)(&allocator);
    let counts = measure(|| {
        (scenario.operate)(&allocator, &handles);
    });
    assert!(
        (scenario.reached)(&allocator),
        "{} {} does not reach what it is to be frozen in",
        S::NAME,
        scenario.operation
    );
    counts.steps
}

/// Freezes the operation before its step `step` while two helpers work; whether they were blocked,
/// or `None` if the operation had no such step this time.
fn freeze<S: Subject>(
    scenario: &Scenario<S>,
    step: u64,
    progress: &Arc<Progress>,
    patience: Duration,
) -> Option<bool> {
    let allocator = Arc::new(S::fresh());
    let gate = Gate::new();
    let (prepared, handles) = mpsc::channel();
    let sleeper = thread::spawn({
        let (allocator, gate) = (Arc::clone(&allocator), Arc::clone(&gate));
        let (prepare, operate) = (scenario.prepare, scenario.operate);
        move || {
            let (handles, in_use) = prepare(&allocator);
            prepared
                .send(handles.clone())
                .expect("the test waits for it");
            in_use + freeze_at(step, &gate, || operate(&allocator, &handles))
        }
    });
    let Ok(handles) = handles.recv() else {
        resume(sleeper)
    };
    if gate.wait() == Frozen::Finished {
        join(sleeper);
        return None;
    }
    let helpers: Vec<_> = (0..2)
        .map(|helper| {
            let (allocator, progress) = (Arc::clone(&allocator), Arc::clone(progress));
            let handles = handles.clone();
            thread::spawn(move || allocator.help(helper, &handles, &progress))
        })
        .collect();
    let blocked = stand_still(&helpers, progress, patience);
    gate.open();
    let in_use = join(sleeper) + helpers.into_iter().map(join).sum::<i64>();
    assert_eq!(
        allocator.in_use(),
        in_use,
        "{} {}, frozen before step {step}: something was lost or counted twice",
        S::NAME,
        scenario.operation
    );
    Some(blocked)
}

/// Waits until all threads are done; whether they made no progress for `patience` before.
fn stand_still<T>(threads: &[JoinHandle<T>], progress: &Progress, patience: Duration) -> bool {
    let mut seen = (0, Instant::now());
    while !threads.iter().all(JoinHandle::is_finished) {
        let operations = progress.operations.load(Ordering::Relaxed);
        if operations != seen.0 {
            seen = (operations, Instant::now());
        } else if seen.1.elapsed() > patience {
            return true;
        }
        thread::sleep(Duration::from_micros(200));
    }
    false
}

fn join<T>(thread: JoinHandle<T>) -> T {
    let deadline = Instant::now() + RECOVERY;
    while !thread.is_finished() {
        assert!(
            Instant::now() < deadline,
            "a thread hangs though nobody is frozen any more"
        );
        thread::sleep(Duration::from_micros(50));
    }
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn resume<T>(thread: JoinHandle<T>) -> ! {
    join(thread);
    unreachable!("a thread that sent nothing has panicked")
}
