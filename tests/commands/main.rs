//! Recorders and the flush.

#[path = "../support/counted.rs"]
mod counted;

mod copies;
mod dice;
mod lanes;
mod ordered;
mod panics;
mod rare;
mod rows;
mod sweeps;
mod whole_chunks;
