//! Fuzzes recorders: the bytes are what 1 to 4 threads record, and what happens to two worlds in between; naive
//! worlds are the oracle.
//!
//! The same machine as for the target `structural`, where recorders are rare.
//!
//! Format of an input, and of the seeds in `corpus/commands`: operations one after the other. Each is a byte
//! that names the world by its highest bit. Its lowest six bits say: below 32 a command is recorded, below 40 a
//! recorder more is to record, below 45 threads record, below 50 a flush, and from there on a byte follows that
//! is the number of any operation (modulo 47). Then come the arguments, as `tests/support/world_bytes.rs`
//! has them.

#![no_main]

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
use libfuzzer_sys::fuzz_target;
use world_ops::run;

/// More operations, or more entities, say nothing that fewer do not, and take longer: what is compared after
/// each operation grows with them. Enough to fill a chunk of all fragments but the smallest.
const MAX_OPS: usize = 96;
const MAX_ENTITIES: usize = 600;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Unstructured::new(bytes);
    let mut ops = Vec::new();
    let mut entities = 0;
    while !bytes.is_empty() && ops.len() < MAX_OPS && entities < MAX_ENTITIES {
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
    run(&ops);
});
