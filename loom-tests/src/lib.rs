//! Loom models, whole-world schedules, mutation gate, stall table and history check of megachunk's protocols.
//!
//! * `cargo loom` runs every model in `tests/models`, one file per protocol;
//! * `cargo shuttle --test schedules` runs whole worlds under schedules of shuttle's choice;
//! * `cargo shuttle --test schedule_mutants` runs them against faults between protocols;
//! * `cargo mutation-gate` runs the models against each listed fault and fails if one is not found;
//! * `cargo test -p megachunk-loom-tests` runs the stall table and the history check.
//!
//! This library holds what those share: `model` for the models, `schedules` for whole worlds, `history` for the
//! check, `stall` for the table, `gate` for the mutants.

#[cfg(loom)]
pub mod chunks;
#[cfg(loom)]
pub mod entities;
#[cfg(loom)]
mod model;
#[cfg(loom)]
pub use model::{Bound, model};

#[cfg(not(loom))]
pub mod gate;
#[cfg(not(loom))]
pub mod history;
#[cfg(not(loom))]
mod random;
#[cfg(shuttle)]
pub mod schedules;
#[cfg(not(loom))]
pub mod stall;

use std::io::Write;

/// Prints a line past the test harness' capture: what was checked is seen in every run.
///
/// # Panics
/// If standard error is closed.
pub fn say(line: &str) {
    // One write a line, so that tests that run side by side do not mix theirs.
    let line = format!("{line}\n");
    std::io::stderr()
        .write_all(line.as_bytes())
        .expect("standard error can be written");
}
