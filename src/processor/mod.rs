//! The processor room: what runs on a world, in which order, and beside what.
//!
//! The solver brings processors into an order from what they ask for, and finds out
//! which of them may run at one time.

#[cfg_attr(not(test), expect(dead_code, reason = "the schedule is to use it"))]
mod needs;
#[cfg_attr(
    not(test),
    expect(dead_code, unused_imports, reason = "the schedule is to use it")
)]
mod picture;
#[cfg_attr(
    not(test),
    expect(dead_code, unused_imports, reason = "the schedule is to use it")
)]
mod solver;

pub use solver::{Relation, SolveError, Target};
