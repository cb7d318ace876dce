//! Users' values whose `drop` panics where a call refuses, where it is done, and where what holds them ends: each is
//! dropped once, and nothing else is lost.
//!
//! Values that panic in the middle of a change are in `tests/world_models` and `tests/commands`.

#![cfg(feature = "world")]

#[path = "../support/brittle.rs"]
mod brittle;

mod batches;
mod between;
mod closures;
mod ends;
mod hosts;
mod parts;
mod refused;
mod schedules;
mod shared;
mod templates;
