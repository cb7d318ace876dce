//! Recorders and the flush.

#[path = "../support/counted.rs"]
mod counted;

mod copies;
mod culls;
mod ordered;
mod panics;
mod rare;
mod rows;
mod whole_chunks;
