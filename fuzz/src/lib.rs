//! Whole worlds beside naive ones, for the targets `structural` and `commands`: operations are made up from bytes,
//! and run. The machine is large, so both have it from here, compiled once.

#[path = "../../tests/support/world_bulk.rs"]
mod world_bulk;
#[path = "../../tests/support/world_bytes.rs"]
mod world_bytes;
#[path = "../../tests/support/world_calls.rs"]
mod world_calls;
#[path = "../../tests/support/world_changes.rs"]
mod world_changes;
#[path = "../../tests/support/world_commands.rs"]
mod world_commands;
#[path = "../../tests/support/world_compare.rs"]
mod world_compare;
#[path = "../../tests/support/world_fragments.rs"]
mod world_fragments;
#[path = "../../tests/support/world_heard.rs"]
mod world_heard;
#[path = "../../tests/support/world_interrupted.rs"]
mod world_interrupted;
#[path = "../../tests/support/world_loads.rs"]
mod world_loads;
#[path = "../../tests/support/world_machine.rs"]
mod world_machine;
#[path = "../../tests/support/world_more.rs"]
mod world_more;
#[path = "../../tests/support/world_more_bytes.rs"]
mod world_more_bytes;
#[path = "../../tests/support/world_more_commands.rs"]
mod world_more_commands;
#[path = "../../tests/support/world_naive.rs"]
mod world_naive;
#[path = "../../tests/support/world_ops.rs"]
mod world_ops;
#[path = "../../tests/support/world_probes.rs"]
mod world_probes;
#[path = "../../tests/support/world_recorded.rs"]
mod world_recorded;
#[path = "../../tests/support/world_recorder.rs"]
mod world_recorder;
#[path = "../../tests/support/world_required.rs"]
mod world_required;
#[path = "../../tests/support/world_row.rs"]
mod world_row;
#[path = "../../tests/support/world_same.rs"]
mod world_same;
#[path = "../../tests/support/world_weathers.rs"]
mod world_weathers;

use world_bytes::Input;

/// Any operations; the format of `bytes` stands in the target `structural`.
///
/// # Panics
/// If a world and its naive one differ.
pub fn structural(bytes: &[u8]) {
    run_input(world_bytes::structural(&mut bytes.iter().copied(), |_| ()));
}

/// Recorders' operations, and seldom others; the format of `bytes` stands in the target `commands`.
///
/// # Panics
/// If a world and its naive one differ.
pub fn commands(bytes: &[u8]) {
    run_input(world_bytes::commands(&mut bytes.iter().copied(), |_| ()));
}

fn run_input(input: Option<Input>) {
    if let Some(input) = input {
        input.run();
    }
}
