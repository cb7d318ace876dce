//! Whole worlds beside naive ones.

#![cfg(feature = "world")]

#[path = "../support/world_bulk.rs"]
mod world_bulk;
#[path = "../support/world_bytes.rs"]
mod world_bytes;
#[path = "../support/world_calls.rs"]
mod world_calls;
#[path = "../support/world_changes.rs"]
mod world_changes;
#[path = "../support/world_commands.rs"]
mod world_commands;
#[path = "../support/world_compare.rs"]
mod world_compare;
#[path = "../support/world_fragments.rs"]
mod world_fragments;
#[path = "../support/world_heard.rs"]
mod world_heard;
#[path = "../support/world_interrupted.rs"]
mod world_interrupted;
#[path = "../support/world_loads.rs"]
mod world_loads;
#[path = "../support/world_machine.rs"]
mod world_machine;
#[path = "../support/world_more.rs"]
mod world_more;
#[path = "../support/world_more_bytes.rs"]
mod world_more_bytes;
#[path = "../support/world_more_commands.rs"]
mod world_more_commands;
#[path = "../support/world_naive.rs"]
mod world_naive;
#[path = "../support/world_ops.rs"]
mod world_ops;
#[path = "../support/world_probes.rs"]
mod world_probes;
#[path = "../support/world_recorded.rs"]
mod world_recorded;
#[path = "../support/world_recorder.rs"]
mod world_recorder;
#[path = "../support/world_required.rs"]
mod world_required;
#[path = "../support/world_row.rs"]
mod world_row;
#[path = "../support/world_same.rs"]
mod world_same;
#[path = "../support/world_weathers.rs"]
mod world_weathers;

mod loads;
mod operations;
mod panics;
mod rare;
mod seeds;
