//! Signals and observers: who hears what, and when.

#![cfg(feature = "world")]

mod account;
mod between_worlds;
mod broadcast;
mod bursts;
mod cancelled;
mod deeds;
mod discarded;
mod existing;
mod many_observers;
mod observed_batches;
mod observed_ranges;
mod observed_values;
mod observers;
mod parallel;
mod rising;
mod rows;
mod saved;
mod set;
mod waiting;
