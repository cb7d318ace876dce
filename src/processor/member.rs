//! `Member`: a processor at work, as the executor sees it.

use core::fmt;
use core::ptr;
use core::time::Duration;
use std::time::Instant;

use crate::fragment::Lone;
use crate::processor::Seen;
use crate::processor::runner::{Failure, Runner};
use crate::workers::caller::{Measured, Took};
use crate::workers::current;

/// A processor at work. One thread has it at a time.
pub(super) struct Member {
    pub(super) name: Box<str>,
    pub(super) runner: Lone<Box<dyn Runner>>,
    pub(super) mode: Mode,
    /// Its pieces of the ids in an ordered universe.
    pub(super) pieces: (u32, u32),
    /// Why its last run was broken off.
    pub(super) failure: Option<Failure>,
    /// How long it has taken, if that is measured. Elsewhere: what each run looks at lies close together.
    pub(super) timing: Box<Timing>,
}

/// Whether a processor runs in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Runs,
    /// If its conditions hold.
    Asks,
    /// It is passed by: switched off, not in this net mode, nothing matches, or it has no turns.
    Idle,
}

/// How long a processor has taken, and what it has seen, as far as that was
/// [measured](crate::processor::Schedule::set_measured).
///
/// The times are those of the thread that it ran on, by the wall clock: what a processor's parallel loop does on *other*
/// threads is not counted, but the wait for them is. Waiting, a thread of the pool does what else there is in it: another
/// processor, a piece of another one's loop, another simulation of an app. What of that the library has begun is none of the
/// processor's own time: [`within`](Self::within) has it. So does that of processors of a schedule which one runs itself,
/// where those are measured, too. (What others have given to the pool is not known, and counts as its own.) A piece of a
/// processor's own loop that its thread does while it waits within another processor is in the `within` of both.
///
/// For an [observer](crate::processor::observing_processor), which has no turn, a run is a call of it, whoever changes the
/// world then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// How often it ran, to its end or until it panicked; not when it was passed by, or refused a resource.
    pub runs: u64,
    /// How long the last run took: its own time, without what others did within it.
    pub last: Duration,
    /// How long all took, so.
    pub total: Duration,
    /// How long the longest took, so.
    pub longest: Duration,
    /// How long others had its thread within its runs, in all: `total + within` is from their beginnings to their ends.
    pub within: Duration,
    /// What its queries saw in the last run: those that it walks,
    /// [`QueryRun`](crate::query::QueryRun). Entities that it [looks
    /// up](crate::query::QueryLookup), or that got [signals](crate::signal::Signalled), are not
    /// counted: which, is known when it has run. (Chunks that the processor itself
    /// [filters](crate::query::QueryRun::filter_chunks) count as seen.) Of an observer, the entities of the last batch, in
    /// so many ranges.
    pub seen: Seen,
    /// When the last run began.
    pub(super) began: Option<Instant>,
    /// From there to its end, with what others did.
    pub(super) took: Duration,
    /// The [thread](calling_thread) that it ran on.
    pub(super) thread: u32,
}

impl Timing {
    /// A run begins on this thread.
    pub(super) fn begin(&self) -> Measured {
        Self::measure(self)
    }

    /// Work of something that is one thread's at a time begins on this one.
    pub(super) fn measure<T>(of: &T) -> Measured {
        Measured::begin(ptr::from_ref(of).addr())
    }

    /// A run has ended.
    pub(super) fn note(&mut self, began: Instant, took: Took, seen: Seen) {
        self.last = took.all.saturating_sub(took.within);
        self.runs += 1;
        self.total += self.last;
        self.longest = self.longest.max(self.last);
        self.within += took.within;
        self.seen = seen;
        self.began = Some(began);
        self.took = took.all;
        self.thread = calling_thread();
    }
}

/// One line; those of several stand one below the other, as a table. What others did within is said if there was something.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let mut schedule = Schedule::new();
/// schedule.add(processor("idle", || {})).set_measured(true);
/// schedule.run(&mut world)?;
/// for (name, timing) in schedule.timings() {
///     println!("{name:10} {timing}");
/// #   assert!(timing.to_string().starts_with("     1 runs, mean "), "{timing}");
/// }
/// # Ok::<(), ScheduleError>(())
/// ```
impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let mean = micros(self.total) / self.runs.max(1) as f64;
        write!(
            f,
            "{:>6} runs, mean {mean:>9.1} us, longest {:>9.1} us; {:>8} entities in {:>5} chunks",
            self.runs,
            micros(self.longest),
            self.seen.entities,
            self.seen.chunks
        )?;
        if self.within > Duration::ZERO {
            write!(f, "; others within: {:.1} us", micros(self.within))?;
        }
        Ok(())
    }
}

/// Numbers of a pool's threads are lower, those of a program's own are so much higher.
pub(super) const OWN: u32 = 1 << 15;

/// The calling thread: 0 is in no pool, the others are those of the pool, from 1, or of a program's own, from [`OWN`] + 1.
pub(super) fn calling_thread() -> u32 {
    let of_pool = || match rayon::current_thread_index() {
        Some(thread) => (thread as u32 + 1).min(OWN - 1),
        None => 0,
    };
    match current::number() {
        None => of_pool(),
        Some(0) => 0,
        Some(number) => OWN + number,
    }
}
