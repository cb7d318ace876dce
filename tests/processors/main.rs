//! Processors and schedules.

#![cfg(feature = "world")]

#[path = "../support/said.rs"]
mod said;

mod beside;
mod blamed;
mod conditions;
mod dynamic;
mod exchanged;
mod existing;
mod explained;
mod fallible;
mod heard;
mod hosts;
mod lent;
mod made_anew;
mod misused;
mod nested;
mod order;
mod params;
mod paused;
mod precedence;
mod replaced;
mod runs;
mod sequence;
mod ticks;
mod tied;
mod timed;
mod watched;
