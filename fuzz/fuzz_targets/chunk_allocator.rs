//! Fuzzes `MegachunkAllocator`: the bytes are operations, the set of chunks in use is the oracle.
//!
//! Operations and oracle are those of the proptest state machine `tests/chunks/model.rs`; see
//! `tests/support/chunk_ops.rs`. The system's memory refuses on request, and watches that each
//! mega-chunk is committed once, given back once, and used in between only.
//!
//! Format of an input, and of the seeds in `corpus/chunk_allocator`: a byte that says through which
//! face (even: tickets, odd: the seam of all contenders), then operations one after the other, each
//! a byte that names it (modulo 12, in the order below) and its arguments, a byte each. Arguments
//! that are missing at the end are 0.

#![no_main]

#[path = "../../tests/support/chunk_ops.rs"]
mod chunk_ops;

use arbitrary::{Result, Unstructured};
use chunk_ops::{ChunkOp, Seam, Tickets, run};
use libfuzzer_sys::fuzz_target;
use megachunk::chunk::MegachunkAllocator;

/// More operations say nothing that fewer do not, and take longer.
const MAX_OPS: usize = 150;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Unstructured::new(bytes);
    let through_seam = bytes.arbitrary::<u8>().is_ok_and(|face| face % 2 == 1);
    let mut ops = Vec::new();
    while !bytes.is_empty() && ops.len() < MAX_OPS {
        ops.extend(op(&mut bytes));
    }
    if through_seam {
        run::<Seam<MegachunkAllocator, false>>(&ops);
    } else {
        run::<Tickets>(&ops);
    }
});

fn op(bytes: &mut Unstructured<'_>) -> Result<ChunkOp> {
    Ok(match bytes.arbitrary::<u8>()? % 12 {
        0 => ChunkOp::Allocate { len: 1 },
        1 => ChunkOp::Allocate {
            len: bytes.arbitrary()?,
        },
        2 => ChunkOp::AllocateElsewhere {
            len: bytes.arbitrary()?,
        },
        3 => ChunkOp::AllocateUpTo {
            len: bytes.arbitrary()?,
        },
        4 => ChunkOp::AllocateMany {
            count: bytes.arbitrary()?,
        },
        5 => ChunkOp::Free {
            pick: bytes.arbitrary()?,
        },
        6 => ChunkOp::FreeElsewhere {
            pick: bytes.arbitrary()?,
        },
        7 => ChunkOp::FreeAgain {
            pick: bytes.arbitrary()?,
        },
        8 => ChunkOp::FreeAll {
            backwards: bytes.arbitrary()?,
        },
        9 => ChunkOp::Flush,
        10 => ChunkOp::Trim,
        _ => ChunkOp::SystemRefuses {
            commits: bytes.arbitrary()?,
            decommits: bytes.arbitrary()?,
        },
    })
}
