//! What can be wrong with a trace, as types: always where, and what.

use crate::world::SystemError;

/// A trace could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("{file}: {cause}")]
    Open {
        /// The file as it was named.
        file: String,
        /// What the system said.
        cause: SystemError,
    },
    /// Something is wrong on a line.
    #[error("{file}, line {line}: {fault}")]
    Fault {
        /// The file, or whatever the trace was read from.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong there.
        fault: TraceFault,
    },
}

impl TraceError {
    /// The line that is wrong, counted from 1; `None` where no line was read.
    #[must_use]
    pub const fn line(&self) -> Option<u64> {
        match self {
            Self::Open { .. } => None,
            Self::Fault { line, .. } => Some(*line),
        }
    }

    /// What is wrong on that line.
    #[must_use]
    pub const fn fault(&self) -> Option<&TraceFault> {
        match self {
            Self::Open { .. } => None,
            Self::Fault { fault, .. } => Some(fault),
        }
    }
}

/// What is wrong on a line of a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceFault {
    /// There is not one byte.
    #[error("the file is empty")]
    Empty,
    /// Reading failed.
    #[error("reading failed: {0}")]
    Unreadable(SystemError),
    /// The gzip stream ends before its end.
    #[error("the gzip data is cut short: the file is truncated")]
    GzipCutShort,
    /// The gzip stream is whole, but it is not all.
    #[error("there is unexpected data after the end of the gzip data")]
    GzipFollowed,
    /// The gzip stream's bytes are wrong.
    #[error("the gzip data is damaged: {0}")]
    GzipDamaged(SystemError),
    /// The first line is not that of a trace.
    #[error("not an entity trace: the first line is {found}, not \"# entity-trace 1: …\"")]
    Foreign {
        /// What stands there, made printable.
        found: String,
    },
    /// The first line names a version that this program does not know.
    #[error("entity-trace version {found} is not known, only version 1 is")]
    UnknownVersion {
        /// What stands where the version should.
        found: String,
    },
    /// The second line is not a summary.
    #[error(
        "expected the summary \"# threads=… events=… created=… peak_live=… \
         destroyed_by_another_thread=…\", but {problem}"
    )]
    BadSummary {
        /// What is wrong with it.
        problem: String,
    },
    /// A line is longer than any event.
    #[error("the line is longer than {limit} bytes: not an entity trace, or binary data")]
    LineTooLong {
        /// The longest line that is read.
        limit: usize,
    },
    /// The last line has no end.
    #[error("the file ends in the middle of this line: it is truncated")]
    LineCutShort,
    /// The file ends after its first line.
    #[error("the file ends where the summary should be: it is truncated")]
    SummaryMissing,
    /// A line is not an event.
    #[error("expected \"THREAD + OBJECT\" or \"THREAD - OBJECT\", found {found}")]
    BadEvent {
        /// The line, made printable.
        found: String,
    },
    /// A thread's or object's number is too large to be one.
    #[error("the {what} number in {found} is too large (it must be below {limit})")]
    NumberTooLarge {
        /// `thread` or `object`.
        what: &'static str,
        /// The line, made printable.
        found: String,
        /// Numbers are below this.
        limit: u64,
    },
    /// An event's thread is not one of the summary's.
    #[error("thread {thread} is out of range: the summary says threads={threads}")]
    ThreadOutOfRange {
        /// The thread.
        thread: u64,
        /// The summary's count.
        threads: u64,
    },
    /// Objects are not created in the order of their numbers.
    #[error("object {object} is created out of order: the next one to create is {expected}")]
    CreatedOutOfOrder {
        /// The object.
        object: u64,
        /// The number that had to come.
        expected: u64,
    },
    /// An object is created a second time.
    #[error("object {object} is created a second time")]
    CreatedTwice {
        /// The object.
        object: u64,
    },
    /// An object is destroyed that was not created yet.
    #[error("object {object} is destroyed before it is created")]
    DestroyedBeforeCreated {
        /// The object.
        object: u64,
    },
    /// An object is destroyed a second time.
    #[error("object {object} is destroyed a second time")]
    DestroyedTwice {
        /// The object.
        object: u64,
    },
    /// There are more events than the summary says.
    #[error("here is an event too many: the summary says events={events}")]
    TooManyEvents {
        /// The summary's count.
        events: u64,
    },
    /// The file ends, and a count is not what the summary says.
    #[error(
        "the file ends here, and the summary does not match: {field}={claimed}, counted {counted}"
    )]
    SummaryMismatch {
        /// The count's name.
        field: &'static str,
        /// What the summary says.
        claimed: u64,
        /// What the events come to.
        counted: u64,
    },
}
