//! Spawners, and the generators of places.

#![cfg(feature = "world")]

#[path = "../support/counted.rs"]
mod counted;

mod generators;
mod rows;
