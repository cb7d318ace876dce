//! Histories of chunks: what concurrent calls answered, and whether the documentation allows it.
//!
//! Called by `tests/history`. [`Program`] is a random program of two or three threads; [`Histories`]
//! runs it on an allocator and records every call with the moments at which it began and ended;
//! [`check`] asks three things of the records:
//!
//! * whether all that was taken, given back and counted can be put in one order that respects those
//!   moments and that a set of free chunks explains, which does one thing at a time. A run is taken
//!   at once and given back at once, so the set is one object, and is not checked chunk by chunk;
//! * whether the memory of each run was, when it was given back, as its owner had left it;
//! * whether each refusal is one that the documentation allows.
//!
//! The last is weaker than "no such run was free at some moment of the call", because the
//! documentation promises less: chunks given back behind a search are not found, threads keep a few
//! to themselves, and nobody can take from a mega-chunk that is being opened or given back. What is
//! left of the promise is stated in `refusal.rs`, and checked by it.

mod contenders;
mod program;
#[cfg(test)]
mod records;
mod refusal;
mod run;
mod specification;

use std::fmt;

use megachunk::chunk::{ChunkError, Run};

pub use contenders::{Promise, Sparing, Subject};
pub use program::Program;
pub use run::Histories;
pub use specification::{Fault, Violation, check};

/// What a call was, and what it answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A run of so many chunks was asked for.
    Take(usize, Result<Run, ChunkError>),
    /// So many chunks were asked for, or half as many, or a quarter ….
    TakeUpTo(usize, Result<Run, ChunkError>),
    /// The run was given back.
    Free {
        /// Which chunks.
        run: Run,
        /// Whether its memory was as its owner had left it.
        intact: bool,
        /// What the allocator said.
        answer: Result<(), ChunkError>,
    },
    /// The thread gave back what it kept for itself.
    Flush,
    /// The thread gave back what it kept for itself, and the memory of all that is empty.
    Trim,
    /// The thread ended: between its last call and the moment when it was joined.
    End,
    /// What the allocator said when nobody took or gave, and all threads had flushed or ended.
    Counted {
        /// Chunks in use.
        in_use: usize,
        /// Chunks that threads keep for themselves: any more, and chunks were lost.
        kept: usize,
    },
}

/// One event, whose it is, and when it began and ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The thread that made the call; 0 is the one that prepares and ends the history.
    pub thread: usize,
    /// When it began: no two moments of a history are equal.
    pub call: u64,
    /// When it ended.
    pub response: u64,
    /// What happened.
    pub event: Event,
}

impl Record {
    /// The run that the call took, if it took one.
    fn taken(&self) -> Option<Run> {
        match &self.event {
            Event::Take(_, answer) | Event::TakeUpTo(_, answer) => answer.as_ref().ok().copied(),
            _ => None,
        }
    }

    /// Whether the call may have been under way at some moment of another.
    fn overlaps(&self, other: &Self) -> bool {
        self.call < other.response && other.call < self.response
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            thread,
            call,
            response,
            event,
        } = self;
        write!(f, "thread {thread} {call:>4}..{response:<4} {event:?}")
    }
}
