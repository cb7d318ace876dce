//! Signals and observers: who hears what, and when.

mod account;
mod observers;
mod rows;
