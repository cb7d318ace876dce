//! Fuzzes the chunk allocators: the bytes are operations, the set of chunks in use is the oracle.
//!
//! Operations and oracle are those of the proptest state machine `tests/chunk_model.rs`; see
//! `tests/support/chunk_ops.rs`.
//!
//! Format of an input, and of the seeds in `corpus/chunk_allocator`: operations one after the
//! other, each a byte that names it (modulo 8, in the order below) and one byte of argument
//! (`Flush` and `Allocate` of a single chunk have none).

#![no_main]

#[path = "../../tests/support/chunk_ops.rs"]
mod chunk_ops;

use arbitrary::{Result, Unstructured};
use chunk_ops::{ChunkOp, run};
use libfuzzer_sys::fuzz_target;
use megachunk::chunk::reference::MegachunkDots;

/// More operations say nothing that fewer do not, and take longer.
const MAX_OPS: usize = 200;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Unstructured::new(bytes);
    let mut ops = Vec::new();
    while !bytes.is_empty() && ops.len() < MAX_OPS {
        ops.extend(op(&mut bytes));
    }
    run::<MegachunkDots>(&ops);
});

fn op(bytes: &mut Unstructured<'_>) -> Result<ChunkOp> {
    Ok(match bytes.arbitrary::<u8>()? % 8 {
        0 => ChunkOp::Allocate { len: 1 },
        1 => ChunkOp::Allocate {
            len: bytes.arbitrary()?,
        },
        2 => ChunkOp::AllocateElsewhere {
            len: bytes.arbitrary()?,
        },
        3 => ChunkOp::Free {
            pick: bytes.arbitrary()?,
        },
        4 => ChunkOp::FreeElsewhere {
            pick: bytes.arbitrary()?,
        },
        5 => ChunkOp::FreeAgain {
            pick: bytes.arbitrary()?,
        },
        6 => ChunkOp::FreeAll {
            backwards: bytes.arbitrary()?,
        },
        _ => ChunkOp::Flush,
    })
}
