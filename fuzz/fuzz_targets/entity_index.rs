//! Fuzzes `EntityIndex`: the bytes are operations, a table of lives is the oracle.
//!
//! Operations and oracle are those of the proptest state machine `tests/entities/model.rs`; see
//! `tests/support/entity_ops.rs`.
//!
//! Format of an input, and of the seeds in `corpus/entity_index`: operations one after the other,
//! each a byte that names it (modulo 16, in the order below) and then its arguments, little-endian.
//! Arguments that are missing at the end are 0.

#![no_main]

#[path = "../../tests/support/entity_ops.rs"]
mod entity_ops;

use arbitrary::{Result, Unstructured};
use entity_ops::{EntityOp, run};
use libfuzzer_sys::fuzz_target;
use megachunk::entity::EntityIndex;

/// More operations, or more entities, say nothing that fewer do not, and take longer.
const MAX_OPS: usize = 200;
const MAX_ENTITIES: usize = 9_000;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Unstructured::new(bytes);
    let mut ops = Vec::new();
    let mut entities = 0;
    while !bytes.is_empty() && ops.len() < MAX_OPS && entities < MAX_ENTITIES {
        let Ok(op) = op(&mut bytes) else { break };
        if let EntityOp::CreateSlice { len } = op {
            entities += len as usize;
        }
        ops.push(op);
    }
    run::<EntityIndex>(&ops);
});

fn op(bytes: &mut Unstructured<'_>) -> Result<EntityOp> {
    Ok(match bytes.arbitrary::<u8>()? % 16 {
        0 => EntityOp::Create,
        1 => EntityOp::CreateSlice {
            len: bytes.arbitrary::<u8>()?.into(),
        },
        // Many words; a few of these cross the border of a block.
        2 => EntityOp::CreateSlice {
            len: 8 * u16::from(bytes.arbitrary::<u8>()?),
        },
        3 => EntityOp::CreateElsewhere {
            len: bytes.arbitrary()?,
        },
        4 => EntityOp::Destroy {
            pick: bytes.arbitrary()?,
        },
        5 => EntityOp::DestroySlice {
            pick: bytes.arbitrary()?,
            len: bytes.arbitrary()?,
            stride: bytes.arbitrary()?,
        },
        6 => EntityOp::DestroyElsewhere {
            pick: bytes.arbitrary()?,
            len: bytes.arbitrary()?,
        },
        7 => EntityOp::DestroyAll {
            backwards: bytes.arbitrary()?,
        },
        8 => EntityOp::DestroyForged {
            index: bytes.arbitrary()?,
            version: bytes.arbitrary()?,
        },
        9 => EntityOp::Publish {
            pick: bytes.arbitrary()?,
            place: bytes.arbitrary()?,
        },
        10 => EntityOp::Build {
            pick: bytes.arbitrary()?,
            place: bytes.arbitrary()?,
        },
        11 => EntityOp::Ask {
            pick: bytes.arbitrary()?,
        },
        12 => EntityOp::AskForged {
            index: bytes.arbitrary()?,
            version: bytes.arbitrary()?,
        },
        13 => EntityOp::Flush,
        14 => EntityOp::Relocate {
            pick: bytes.arbitrary()?,
            from: bytes.arbitrary()?,
            place: bytes.arbitrary()?,
        },
        _ => EntityOp::TakePlace {
            pick: bytes.arbitrary()?,
        },
    })
}
