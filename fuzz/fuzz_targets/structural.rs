//! Fuzzes `World`: the bytes are operations on two worlds of a universe, naive worlds are the oracle.
//!
//! Operations and oracle are those of the proptest state machine `tests/world_model.rs`; see
//! `tests/support/world_ops.rs`.
//!
//! Format of an input, and of the seeds in `corpus/structural`: operations one after the other. Each
//! is a byte that names the world by its high bit and the operation by the others (modulo 47), and then its
//! arguments, as `tests/support/world_bytes.rs` has them.

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
const MAX_OPS: usize = 32;
const MAX_ENTITIES: usize = 400;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Unstructured::new(bytes);
    let mut ops = Vec::new();
    let mut entities = 0;
    while !bytes.is_empty() && ops.len() < MAX_OPS && entities < MAX_ENTITIES {
        let Ok(first) = bytes.arbitrary::<u8>() else {
            break;
        };
        let op = world_bytes::op((first & 0x7f) % world_bytes::OPS, &mut bytes);
        entities += world_bytes::entities(op);
        ops.push((first >> 7, op));
    }
    run(&ops);
});
