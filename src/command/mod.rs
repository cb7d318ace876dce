//! The command room: structural changes from every thread.
//!
//! A [`Commands`] records what is to change. What it creates is written to a *private chunk*, which only the
//! recorder knows. The flush links it to the world without copying it if it is long and the world has not
//! rows enough that are free; short ends, and what is to fill such rows, are copied. All else is some bytes in
//! a *log*, and the values. The [flush](crate::world::World::flush) merges commands to one net change for each
//! entity and applies them on all threads, with the same result for any number.
//!
//! A *lane* is the memory of one recorder at a time; lanes are kept in a lock-free
//! [pool](crate::sync::pool) and serve one recorder after the other.

mod author;
mod check;
mod clones;
mod commands;
mod dynamic;
#[cfg(test)]
mod faults;
mod flush;
mod lane;
mod log;
mod nesting;
mod parallel_commands;
mod payload;
mod precedence;
mod queue;
mod recorded_batch;
mod stripes;
mod turn;
mod weak_commands;

pub use author::Author;
pub(crate) use author::{RankNames, Ranks};
pub use commands::Commands;
pub use flush::{Dropped, FlushReport, Refused};
pub use parallel_commands::ParallelCommands;
pub(crate) use precedence::{Precedence, Source};
pub use recorded_batch::RecordedBatch;
pub(crate) use stripes::{Stripes, saturated};
#[doc(hidden)]
pub use turn::Turn;
pub use weak_commands::WeakCommands;
