//! The program and the files that it reads, from outside.
#![cfg(feature = "cli")]

#[path = "../support/program.rs"]
mod support;
#[path = "../support/trace_oracle.rs"]
mod trace_oracle;

mod answers;
mod bench;
mod check;
mod city;
mod map;
mod replay;
mod replays;
mod snapshot;
mod trace_files;
mod trace_model;
mod world_map;
