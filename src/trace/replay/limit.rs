//! `ReplayLimit`: why a trace is not made ready.

use crate::trace::MAX_THREADS;

/// Why a trace cannot be [made ready](super::Replay::new).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayLimit {
    /// It was recorded on fewer threads, of which these are no multiple.
    #[error(
        "a trace of {recorded} threads is played on 1 to {recorded}, or on a multiple, and not on {threads}"
    )]
    NoMultiple {
        /// As many as were recorded.
        recorded: usize,
        /// As many as were asked for.
        threads: usize,
    },
    /// More threads than there may be.
    #[error("a trace is played on {MAX_THREADS} threads at most, and not on {threads}")]
    Threads {
        /// As many as were asked for.
        threads: usize,
    },
    /// More than 2³⁰ objects live at once on one thread, or are created by one thread and destroyed by another, all the
    /// times that the trace is played taken together.
    #[error("more than 2^30 objects live at once on one thread, or go from one to another")]
    Objects,
}
