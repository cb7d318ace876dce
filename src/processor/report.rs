//! `ScheduleReport`: what a run of a schedule has done.

use crate::command::FlushReport;

/// What a run has done.
#[derive(Debug, Default)]
pub struct ScheduleReport {
    /// Processors that ran.
    pub ran: usize,
    /// Processors that were passed by: switched off, for other roles, or because nothing matches.
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
