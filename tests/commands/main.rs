//! Recorders and the flush.

#![cfg(feature = "world")]

#[path = "../support/counted.rs"]
mod counted;

mod again;
mod alone;
mod authors;
mod carried;
mod churn;
mod clones;
mod copies;
mod dice;
mod dynamic;
mod few;
mod groups;
mod joined;
mod kept;
mod lanes;
mod matching;
mod matching_dynamic;
mod ordered;
mod panics;
mod rare;
mod refused;
mod rows;
mod same_each_time;
mod sweeps;
mod switches;
mod tasks;
mod templates;
mod undelivered;
mod weak;
mod whole_chunks;
