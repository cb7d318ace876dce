//! The trace room: object lifetimes recorded from real programs, `entity-trace 1`.
//!
//! A trace is text, plain or gzip: a format line, a summary line, then one event a line,
//! `THREAD OP OBJECT`, in one total order that really happened:
//!
//! ```text
//! # entity-trace 1: one event a line: THREAD OP OBJECT; OP + creates OBJECT, - destroys it
//! # threads=2 events=3 created=2 peak_live=2 destroyed_by_another_thread=1
//! 0 + 0
//! 1 + 1
//! 1 - 0
//! ```
//!
//! A byte order mark before the first line is passed by. Objects are numbered from 0 in order of
//! creation; those still alive at the end are never destroyed. [`Trace`] holds a trace that has been
//! read and found right: whoever has one need not check it again. [`replay`] turns it into calls of
//! an allocator.

mod error;
mod event;
mod lines;
mod members;
mod parse;
mod part;
mod recorder;
pub mod replay;
mod shipped;
mod write;

use core::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::shown::is_seen;
pub use error::{TraceError, TraceFault};
pub use event::Event;
#[cfg(feature = "cli")]
pub(crate) use recorder::Recorder;
#[cfg(feature = "cli")]
pub(crate) use write::is_gzip;

/// The most threads that a trace may name: 1,024.
///
/// A replay starts as many threads as the trace has; a damaged summary must not start a million.
pub const MAX_THREADS: u32 = 1_024;
/// The most objects that a trace may create: 2³¹, so that an event fits in four bytes.
pub const MAX_OBJECTS: u32 = 1 << 31;

/// A recorded history of creates and destroys, known to be right.
///
/// What holds: objects are created in the order of their numbers, each once; each is destroyed
/// at most once and after its creation; every thread below [`threads`](Self::threads) has an event;
/// the counts are those of the events. Six bytes an event (four when there is one thread).
#[derive(Clone, PartialEq, Eq)]
pub struct Trace {
    name: String,
    events: Vec<Event>,
    /// The thread of each event; empty where there is only one thread.
    threads_of: Vec<u16>,
    summary: Summary,
}

/// What a trace's second line says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Threads, numbered from 0.
    pub threads: u64,
    /// Creates and destroys together.
    pub events: u64,
    /// Creates.
    pub created: u64,
    /// The most objects alive at once.
    pub peak_live: u64,
    /// Destroys by another thread than the creator's.
    pub destroyed_by_another_thread: u64,
}

impl Trace {
    /// Reads a trace, plain or gzip: the first two bytes decide. `name` is what errors call it.
    ///
    /// Memory grows with the events that were really read, whatever the file claims; a line that
    /// is too long to be an event is refused before it is held.
    ///
    /// # Errors
    /// [`TraceError`] with the line number and what is wrong there.
    pub fn from_reader(name: &str, reader: impl Read) -> Result<Self, TraceError> {
        parse::trace(name, reader)
    }

    /// Reads the trace in the file `path`. It is named after the file: `gcc.trace.gz` is `gcc`. Control characters of
    /// the file's name, and those that change how others are seen, are no part of that, nor of errors: `�` stands for
    /// each.
    ///
    /// # Errors
    /// [`TraceError`] where the file cannot be opened, or is no trace.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let shown = one_line(&path.display().to_string());
        let cannot_open = |cause: std::io::Error| TraceError::Open {
            file: shown.clone(),
            cause: cause.into(),
        };
        let file = File::open(path).map_err(cannot_open)?;
        if file.metadata().map_err(cannot_open)?.is_dir() {
            return Err(cannot_open(std::io::ErrorKind::IsADirectory.into()));
        }
        let mut trace = Self::from_reader(&shown, file)?;
        if let Some(stem) = path.file_name().and_then(|file| file.to_str()) {
            let mut parts = stem.split('.');
            trace.name = one_line(parts.find(|part| !part.is_empty()).unwrap_or(stem));
        }
        Ok(trace)
    }

    /// What the trace is called: `python`, `gcc`, `node`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same trace under another name.
    #[cfg(feature = "cli")]
    pub(crate) fn named(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// The counts, as the second line of the file has them.
    #[must_use]
    pub const fn summary(&self) -> Summary {
        self.summary
    }

    /// How many threads the trace was recorded from.
    #[must_use]
    pub const fn threads(&self) -> usize {
        self.summary.threads as usize
    }

    /// How many objects the trace creates; they are numbered from 0.
    #[must_use]
    pub const fn objects(&self) -> usize {
        self.summary.created as usize
    }

    /// How many events the trace has; one at least.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a trace has at least one event"
    )]
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// All events in the order in which they happened, each with its thread.
    pub fn events(&self) -> impl Iterator<Item = (usize, Event)> + '_ {
        self.events.iter().enumerate().map(|(position, &event)| {
            (
                self.threads_of
                    .get(position)
                    .map_or(0, |&thread| usize::from(thread)),
                event,
            )
        })
    }

    /// How many events have happened when the most objects live, the last of them included.
    #[must_use]
    pub fn peak_at(&self) -> usize {
        let mut live = 0_u64;
        for (position, event) in self.events.iter().enumerate() {
            if event.is_create() {
                live += 1;
                if live == self.summary.peak_live {
                    return position + 1;
                }
            } else {
                live -= 1;
            }
        }
        0
    }
}

/// What it is called, and its counts, not its events.
impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace")
            .field("name", &self.name)
            .field("summary", &self.summary)
            .finish_non_exhaustive()
    }
}

/// `text` without what would end a line, or change how a terminal writes on, or how the rest is seen.
fn one_line(text: &str) -> String {
    text.replace(|letter| !is_seen(letter), "\u{fffd}")
}
