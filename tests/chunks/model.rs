//! A state machine: random operations on every chunk allocator, compared with a model.
//!
//! `support/chunk_ops.rs` has the operations and the model; the fuzz target `chunk_allocator` makes
//! up the same operations from bytes.

use crate::chunk_ops::{ChunkOp, Seam, Tickets, run};
use megachunk::chunk::MegachunkAllocator;
use megachunk::chunk::reference::{MegachunkDots, Naive};
use proptest::collection::vec;
use proptest::prelude::*;

fn len() -> impl Strategy<Value = u8> {
    prop_oneof![4 => Just(1_u8), 4 => 1..=64_u8, 1 => Just(64_u8), 1 => any::<u8>()]
}

fn op() -> impl Strategy<Value = ChunkOp> {
    let pick = any::<u8>;
    prop_oneof![
        8 => len().prop_map(|len| ChunkOp::Allocate { len }),
        1 => len().prop_map(|len| ChunkOp::AllocateElsewhere { len }),
        6 => pick().prop_map(|pick| ChunkOp::Free { pick }),
        1 => pick().prop_map(|pick| ChunkOp::FreeElsewhere { pick }),
        2 => pick().prop_map(|pick| ChunkOp::FreeAgain { pick }),
        1 => any::<bool>().prop_map(|backwards| ChunkOp::FreeAll { backwards }),
        1 => Just(ChunkOp::Flush),
        1 => len().prop_map(|len| ChunkOp::AllocateUpTo { len }),
        1 => any::<u8>().prop_map(|count| ChunkOp::AllocateMany { count }),
        1 => Just(ChunkOp::Trim),
        1 => (0..4_u8, 0..4_u8)
            .prop_map(|(commits, decommits)| ChunkOp::SystemRefuses { commits, decommits }),
    ]
}

proptest! {
    // Half of what is usual: one case is many operations, and the fuzz target goes on from here.
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 2,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn naive_agrees_with_the_model(ops in vec(op(), 1..120)) {
        run::<Seam<Naive, true>>(&ops);
    }

    #[test]
    fn megachunk_dots_agrees_with_the_model(ops in vec(op(), 1..120)) {
        run::<Seam<MegachunkDots, true>>(&ops);
    }

    #[test]
    fn megachunk_agrees_with_the_model(ops in vec(op(), 1..120)) {
        run::<Seam<MegachunkAllocator, false>>(&ops);
    }

    #[test]
    fn tickets_and_a_system_that_refuses_agree_with_the_model(ops in vec(op(), 1..120)) {
        run::<Tickets>(&ops);
    }
}
