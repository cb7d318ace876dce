//! How time is taken: honestly, on a machine that others use too.
//!
//! One process measures everything. For one *cell*, a workload on a number of threads, every
//! contender is set up as a [`Subject`]; then the repetitions go round the contenders in turn, so
//! that a slow minute of the machine hits all of them, and in an order in which everybody follows
//! everybody else. The [`Pool`]'s threads live for the whole run; each stamps its own start and end
//! with its [`Stopwatch`], and a repetition took from the first start to the last end. Before and
//! after each multi-thread cell the [`Canary`] shows how many processors the machine really gave;
//! where it gave too few, the cell is void.

mod barrier;
mod canary;
mod cell;
mod figures;
mod host;
mod machine;
mod pool;
mod stopwatch;
mod turns;

pub use barrier::Barrier;
pub use canary::Canary;
pub use cell::{
    Cell, CellOutcome, CellRow, Effort, PhaseTotal, Subject, measure_cell, repeat_once,
};
pub use figures::Figures;
pub use host::{give_memory_back, provide_memory, provide_processors};
pub use machine::{Machine, available_memory, resident_memory};
pub(super) use pool::caught;
pub use pool::{Pool, WorkerPanic};
pub use stopwatch::{Counted, Span, Stopwatch};
