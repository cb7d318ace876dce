//! `ScheduleReport`: what a run of a schedule has done.

use core::fmt;

use crate::command::FlushReport;

/// What a run has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleReport {
    /// Processors that ran. [Observers](super::observing_processor) have no turn: they neither run nor are passed by.
    pub ran: usize,
    /// Processors that were passed by: switched off, for other net modes, because nothing matches, or a
    /// [condition](super::ProcessorBuilder::run_if) did not hold.
    pub idle: usize,
    /// What all flushes together have done.
    pub flush: FlushReport,
}

impl ScheduleReport {
    /// Adds what another run has done.
    pub fn add(&mut self, other: Self) {
        self.ran += other.ran;
        self.idle += other.idle;
        self.flush.add(other.flush);
    }
}

/// A line of who ran; then those of the flushes, if something was flushed.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let mut schedule = Schedule::new();
/// schedule.add(processor("birth", |mut commands: Commands| _ = commands.create(('a',))));
/// schedule.add(processor("fall", |mut all: QueryRun<&mut f32>| _ = all.count()).enabled(false));
/// let report = schedule.run(&mut world)?.to_string();
/// assert!(report.starts_with("1 ran, 1 passed by\n0 commands and 0 closures in 1 rounds: 1 entities created"));
/// # Ok::<(), ScheduleError>(())
/// ```
impl fmt::Display for ScheduleReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ran, {} passed by", self.ran, self.idle)?;
        match self.flush == FlushReport::default() {
            true => Ok(()),
            false => write!(f, "\n{}", self.flush),
        }
    }
}

/// What a run has done until now: a frame in which nothing is flushed has no report of a flush to carry along.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) ran: usize,
    pub(super) idle: usize,
    flush: Option<FlushReport>,
    /// A segment of long runs was run another way than is its habit.
    pub(super) trial: bool,
}

impl Progress {
    /// Something was flushed.
    pub(super) fn note_flush(&mut self, flush: FlushReport) {
        self.flush.get_or_insert_default().add(flush);
    }

    /// So many of those that were to run were passed by.
    #[inline]
    pub(super) fn pass_by(&mut self, count: usize) {
        self.ran -= count;
        self.idle += count;
    }

    /// All of it, taken out.
    #[inline(always)]
    pub(super) fn report(&mut self) -> ScheduleReport {
        let (ran, idle) = (self.ran, self.idle);
        // By itself, so that an empty report is made where it is to be: to move one takes longer than some processors.
        if self.flush.is_none() {
            return ScheduleReport {
                ran,
                idle,
                flush: FlushReport::default(),
            };
        }
        ScheduleReport {
            ran,
            idle,
            flush: self.flush.take().unwrap_or_default(),
        }
    }
}
