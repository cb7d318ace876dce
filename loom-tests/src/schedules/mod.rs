//! Whole worlds under schedules of shuttle's choice: where loom walks every interleaving of one protocol, these
//! walk some of all protocols at once.
//!
//! `cargo shuttle --test schedules` runs every model of [`worlds`]; `--test schedule_mutants` shows that they find
//! faults. What must always hold: the same program under the same schedule does the same, so that a schedule that
//! was printed can be run again; the model of that name asks for it.

mod shared;
pub mod worlds;

use std::time::Instant;

use shuttle::scheduler::{
    PctScheduler, RandomScheduler, ReplayScheduler, Scheduler,
    UncontrolledNondeterminismCheckScheduler,
};
use shuttle::{Config, Runner};

/// Schedules of each kind that a model is run under where nobody says.
const SCHEDULES: usize = 500;
/// What random schedules are made from where `SHUTTLE_RANDOM_SEED` does not say: the same in every run.
const SEED: u64 = 0x6d65_6761;
/// Changes of priority in a schedule by priorities: faults of one order more than that are found by chance.
const DEPTH: usize = 3;
/// Bytes of a thread's stack: a flush needs more than shuttle gives.
const STACK: usize = 1 << 20;

/// How many schedules of each kind: `MEGACHUNK_SCHEDULES`, or a number that fits a run of all checks.
fn schedules() -> usize {
    std::env::var("MEGACHUNK_SCHEDULES").map_or(SCHEDULES, |wanted| {
        wanted
            .parse()
            .unwrap_or_else(|_| panic!("MEGACHUNK_SCHEDULES is a number, not `{wanted}`"))
    })
}

/// Runs a model under random schedules, and under those of the priorities that Burckhardt and others describe ("A
/// randomized scheduler with probabilistic guarantees of finding bugs", 2010); or, if `MEGACHUNK_SCHEDULE` holds a
/// schedule that was printed, under that one. Prints
/// `model <name> executions=<n> seconds=<s> bound=<random or pct>` for each kind.
///
/// # Panics
/// As `body` does under some schedule, which is printed; if a thread waits for ever.
pub fn explore(name: &str, body: fn()) {
    if let Ok(schedule) = std::env::var("MEGACHUNK_SCHEDULE") {
        let replay = ReplayScheduler::new_from_encoded(schedule.trim());
        return run(name, "replay", replay, body);
    }
    let random = RandomScheduler::new_from_seed(SEED, schedules());
    run(name, "random", random, body);
    let pct = PctScheduler::new_from_seed(SEED, DEPTH, schedules());
    run(name, "pct", pct, body);
}

/// Runs a model twice under each of some schedules.
///
/// # Panics
/// If it does not do the same both times.
pub fn explore_twice(name: &str, body: fn()) {
    let random = RandomScheduler::new_from_seed(SEED, schedules().div_ceil(10));
    let twice = UncontrolledNondeterminismCheckScheduler::new(random);
    run(name, "twice", twice, body);
}

fn run(name: &str, bound: &str, scheduler: impl Scheduler + 'static, body: fn()) {
    let mut config = Config::new();
    config.stack_size = STACK;
    config.silence_warnings = true;
    let start = Instant::now();
    let executions = Runner::new(scheduler, config).run(body);
    crate::say(&format!(
        "model {name} executions={executions} seconds={:.2} bound={bound}",
        start.elapsed().as_secs_f64(),
    ));
}
