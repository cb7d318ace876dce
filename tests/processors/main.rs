//! Processors and schedules.

#![cfg(feature = "world")]

#[path = "../support/said.rs"]
mod said;

mod beside;
mod blamed;
mod broken;
mod changes;
mod conditions;
mod dynamic;
mod exchanged;
mod existing;
mod explained;
mod fallible;
mod heard;
mod heard_by_scripts;
mod hosts;
mod hosts_gone_back;
mod lent;
mod made_anew;
mod measured;
mod misused;
mod nested;
mod order;
mod panicked;
mod params;
mod paused;
mod precedence;
mod replaced;
mod runs;
mod sequence;
mod simulations;
mod states;
mod states_asked;
mod states_evolved;
mod ticks;
mod tied;
mod timed;
mod watched;

/// Threads of their own.
fn pool(threads: usize) -> rayon::ThreadPool {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("threads can be had")
}
