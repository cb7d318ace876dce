//! Whole worlds beside naive ones, for the targets `structural` and `commands`: operations are made up from bytes,
//! and run. The machine is large, so both have it from here, compiled once.

#[path = "../../tests/support/world_bulk.rs"]
mod world_bulk;
#[path = "../../tests/support/world_bytes.rs"]
mod world_bytes;
#[path = "../../tests/support/world_calls.rs"]
mod world_calls;
#[path = "../../tests/support/world_commands.rs"]
mod world_commands;
#[path = "../../tests/support/world_compare.rs"]
mod world_compare;
#[path = "../../tests/support/world_fragments.rs"]
mod world_fragments;
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

use arbitrary::Unstructured;
use world_ops::{WorldOp, run, run_ordered};

/// More operations, or more entities, say nothing that fewer do not, and take longer: what is compared after
/// each operation grows with them. Enough to fill a chunk of all fragments but the smallest.
const STRUCTURAL_OPS: usize = 32;
const STRUCTURAL_ENTITIES: usize = 400;
/// As above, where most operations record and compare nothing.
const COMMANDS_OPS: usize = 96;
const COMMANDS_ENTITIES: usize = 600;

/// Any operations; the format of `bytes` stands in the target `structural`.
///
/// # Panics
/// If a world and its naive one differ.
pub fn structural(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    let mut bytes = Unstructured::new(bytes);
    let mut ops = Vec::new();
    let mut entities = 0;
    while !bytes.is_empty() && ops.len() < STRUCTURAL_OPS && entities < STRUCTURAL_ENTITIES {
        let Ok(first) = bytes.arbitrary::<u8>() else {
            break;
        };
        let op = world_bytes::op((first & 0x7f) % world_bytes::OPS, &mut bytes);
        entities += world_bytes::entities(op);
        ops.push((first >> 7, op));
    }
    run_as(kind, &ops);
}

/// Recorders' operations, and seldom others; the format of `bytes` stands in the target `commands`.
///
/// # Panics
/// If a world and its naive one differ.
pub fn commands(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    let mut bytes = Unstructured::new(bytes);
    let mut ops = Vec::new();
    let mut entities = 0;
    while !bytes.is_empty() && ops.len() < COMMANDS_OPS && entities < COMMANDS_ENTITIES {
        let Ok(first) = bytes.arbitrary::<u8>() else {
            break;
        };
        let number = match first & 0x3f {
            0..32 => world_bytes::COMMAND,
            32..40 => world_bytes::SCRIPT,
            40..45 => world_bytes::RECORD,
            45..50 => world_bytes::FLUSH,
            _ => bytes.arbitrary::<u8>().unwrap_or(0) % world_bytes::OPS,
        };
        let op = world_bytes::op(number, &mut bytes);
        entities += world_bytes::entities(op);
        ops.push((first >> 7, op));
    }
    run_as(kind, &ops);
}

/// Runs operations, in ordered universes if the byte before them is odd.
fn run_as(kind: &u8, ops: &[(u8, WorldOp)]) {
    match kind % 2 {
        0 => run(ops),
        _ => run_ordered(ops),
    }
}
