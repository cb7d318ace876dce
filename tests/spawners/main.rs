//! Spawners, and the generators of places.

#[path = "../support/counted.rs"]
mod counted;

mod generators;
mod rows;
