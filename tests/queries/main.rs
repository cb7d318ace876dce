//! Queries, typed and put together at run time.

#![cfg(feature = "world")]

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the dice only")]
mod support;

mod asked;
mod changes;
mod dynamic;
mod explained;
mod fallible;
mod fours;
mod gathered;
mod in_common;
mod init;
mod lookups;
mod nothing_lent;
mod or;
mod peeked;
mod refused;
mod rows;
mod stretches;
mod walks;
