//! Fuzzes `World`: the bytes are operations on two worlds of a universe, naive worlds are the oracle.
//!
//! Operations and oracle are those of the proptest state machine `tests/world_model.rs`; see
//! `tests/support/world_ops.rs`.
//!
//! Format of an input, and of the seeds in `corpus/structural`: operations one after the other. Each
//! is a byte that names the world by its high bit and the operation by the others (modulo 43, in the
//! order below), and then its arguments in the order below, little-endian; payloads are bytes. Arguments
//! that are missing at the end are 0.

#![no_main]

#[path = "../../tests/support/world_bulk.rs"]
mod world_bulk;
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

/// More operations, or more entities, say nothing that fewer do not, and take longer: what is compared after
/// each operation grows with them. Enough to fill a chunk of all fragments but the smallest.
const MAX_OPS: usize = 48;
const MAX_ENTITIES: usize = 600;

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
    let op = match (first & 0x7f) % 43 {
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
            len: 2 * u16::from(byte()),
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
        26 => WorldOp::Renew { fuse: byte() },
        27 => WorldOp::QueryAdd {
            which: byte(),
            shape: byte(),
            payload: byte().into(),
            fuse: byte(),
        },
        28 => WorldOp::QueryRemove {
            which: byte(),
            shape: byte(),
        },
        29 => WorldOp::QuerySwap {
            gone: byte(),
            come: byte(),
            payload: byte().into(),
        },
        30 => WorldOp::QueryDestroy {
            which: byte(),
            fuse: byte(),
        },
        31 => WorldOp::QueryShare {
            which: byte(),
            payload: byte().into(),
        },
        32 => WorldOp::QueryMove { which: byte() },
        33 => WorldOp::MoveSlice {
            pick: u16::from_le_bytes([byte(), byte()]),
            len: byte(),
            stride: byte(),
            fuse: byte(),
        },
        34 => WorldOp::MoveArchetype { shape: byte() },
        35 => WorldOp::MoveAll,
        36 => WorldOp::CreateDynamic {
            kinds: u16::from_le_bytes([byte(), byte()]),
            payload: byte().into(),
            fuse: byte(),
        },
        37 => WorldOp::BuildDynamic {
            pick: byte().into(),
            kinds: u16::from_le_bytes([byte(), byte()]),
            payload: byte().into(),
            fuse: byte(),
        },
        38 => WorldOp::AddDynamic {
            pick: byte().into(),
            kinds: u16::from_le_bytes([byte(), byte()]),
            payload: byte().into(),
            fuse: byte(),
        },
        39 => WorldOp::RemoveDynamic {
            pick: byte().into(),
            kinds: u16::from_le_bytes([byte(), byte()]),
            fuse: byte(),
        },
        40 => WorldOp::Compact { budget: byte() },
        41 => WorldOp::Collect,
        _ => WorldOp::Snapshot,
    };
    Ok((first >> 7, op))
}
