//! Fuzzes `World`: the bytes are operations on two worlds of a universe, naive worlds are the oracle.
//!
//! Operations and oracle are those of the proptest state machine `tests/world_model.rs`; see
//! `tests/support/world_ops.rs`.
//!
//! Format of an input, and of the seeds in `corpus/structural`: operations one after the other. Each
//! is a byte that names the world by its high bit and the operation by the others (modulo 27, in the
//! order below), and then its arguments in the order below, little-endian; payloads are bytes. Arguments
//! that are missing at the end are 0.

#![no_main]

#[path = "../../tests/support/world_calls.rs"]
mod world_calls;
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

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use world_ops::{WorldOp, run};

/// More operations, or more entities, say nothing that fewer do not, and take longer.
const MAX_OPS: usize = 100;
const MAX_ENTITIES: usize = 6_000;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Unstructured::new(bytes);
    let mut ops = Vec::new();
    let mut entities = 0;
    while !bytes.is_empty() && ops.len() < MAX_OPS && entities < MAX_ENTITIES {
        let Ok((world, op)) = op(&mut bytes) else {
            break;
        };
        if let WorldOp::CreateBatch { len, .. } = op {
            entities += usize::from(len);
        }
        ops.push((world, op));
    }
    run(&ops);
});

fn op(bytes: &mut Unstructured<'_>) -> Result<(u8, WorldOp)> {
    let first: u8 = bytes.arbitrary()?;
    let mut byte = || bytes.arbitrary::<u8>().unwrap_or(0);
    let op = match (first & 0x7f) % 27 {
        0 => WorldOp::Create {
            shape: byte(),
            payload: byte().into(),
            fuse: byte(),
        },
        1 => WorldOp::CreateBatch {
            shape: byte(),
            payload: byte().into(),
            len: byte().into(),
            fuse: byte(),
        },
        // Over the border of a chunk.
        2 => WorldOp::CreateBatch {
            shape: byte(),
            payload: byte().into(),
            len: 16 * u16::from(byte()),
            fuse: byte(),
        },
        3 => WorldOp::Reserve { len: byte() % 16 },
        4 => WorldOp::Build {
            pick: byte().into(),
            shape: byte(),
            payload: byte().into(),
            fuse: byte(),
        },
        5 => WorldOp::Release {
            pick: byte().into(),
        },
        6 => WorldOp::Destroy {
            pick: u16::from_le_bytes([byte(), byte()]),
            fuse: byte(),
        },
        7 => WorldOp::DestroySlice {
            pick: u16::from_le_bytes([byte(), byte()]),
            len: byte(),
            stride: byte(),
            fuse: byte(),
        },
        8 => WorldOp::Add {
            pick: byte().into(),
            shape: byte(),
            payload: byte().into(),
            fuse: byte(),
        },
        9 => WorldOp::AddSlice {
            pick: byte().into(),
            len: byte(),
            stride: byte(),
            shape: byte(),
            payload: byte().into(),
            fuse: byte(),
        },
        10 => WorldOp::Remove {
            pick: byte().into(),
            shape: byte(),
            fuse: byte(),
        },
        11 => WorldOp::RemoveSlice {
            pick: byte().into(),
            len: byte(),
            stride: byte(),
            shape: byte(),
        },
        12 => WorldOp::Swap {
            pick: byte().into(),
            gone: byte(),
            come: byte(),
            payload: byte().into(),
            fuse: byte(),
        },
        13 => WorldOp::SetShared {
            pick: byte().into(),
            payload: byte().into(),
        },
        14 => WorldOp::Enable {
            pick: byte().into(),
            which: byte(),
            on: byte() % 2 == 1,
        },
        15 => WorldOp::Clone {
            pick: byte().into(),
            fuse: byte(),
        },
        16 => WorldOp::GetMut {
            pick: byte().into(),
            which: byte(),
            payload: byte().into(),
        },
        17 => WorldOp::SetChunkFragment {
            pick: byte().into(),
            payload: byte().into(),
        },
        18 => WorldOp::Query {
            which: byte(),
            way: byte(),
        },
        19 => WorldOp::Interrupt {
            which: byte(),
            fuse: byte(),
        },
        20 => WorldOp::Chunks,
        21 => WorldOp::Watch,
        22 => WorldOp::Forged {
            index: byte().into(),
            version: byte().into(),
        },
        23 => WorldOp::Clear { fuse: byte() },
        24 => WorldOp::Trim,
        25 => WorldOp::ChunkSize { chunks: byte() },
        _ => WorldOp::Renew { fuse: byte() },
    };
    Ok((first >> 7, op))
}
