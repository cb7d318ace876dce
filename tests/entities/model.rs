//! A state machine: random operations on every entity allocator, compared with a model.
//!
//! `support/entity_ops.rs` has the operations and the model; the fuzz target `entity_index` makes
//! up the same operations from bytes.

use crate::entity_ops::{EntityOp, run};
use crate::in_sessions::InSessions;
use megachunk::entity::EntityIndex;
use megachunk::entity::reference::{BusyBlock, Naive};
use proptest::collection::vec;
use proptest::prelude::*;

/// Near the borders of words, blocks and the table, where little goes wrong but off by one.
fn forged_index() -> impl Strategy<Value = u32> {
    let capacity = EntityIndex::CAPACITY as u32;
    prop_oneof![
        0..200_u32,
        8_190..8_195_u32,
        capacity - 2..capacity + 2,
        Just(u32::MAX),
        any::<u32>(),
    ]
}

fn forged_version() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..6_u32, 1 => Just(u32::MAX), 1 => any::<u32>()]
}

fn op() -> impl Strategy<Value = EntityOp> {
    let pick = any::<u16>;
    prop_oneof![
        6 => Just(EntityOp::Create),
        3 => (0..200_u16).prop_map(|len| EntityOp::CreateSlice { len }),
        1 => (1_000..3_000_u16).prop_map(|len| EntityOp::CreateSlice { len }),
        1 => any::<u8>().prop_map(|len| EntityOp::CreateElsewhere { len }),
        6 => pick().prop_map(|pick| EntityOp::Destroy { pick }),
        3 => (pick(), any::<u8>(), 0..5_u8)
            .prop_map(|(pick, len, stride)| EntityOp::DestroySlice { pick, len, stride }),
        1 => (pick(), any::<u8>()).prop_map(|(pick, len)| EntityOp::DestroyElsewhere { pick, len }),
        1 => any::<bool>().prop_map(|backwards| EntityOp::DestroyAll { backwards }),
        1 => (forged_index(), forged_version())
            .prop_map(|(index, version)| EntityOp::DestroyForged { index, version }),
        3 => (pick(), any::<u32>()).prop_map(|(pick, place)| EntityOp::Publish { pick, place }),
        2 => (pick(), any::<u32>()).prop_map(|(pick, place)| EntityOp::Build { pick, place }),
        2 => pick().prop_map(|pick| EntityOp::Ask { pick }),
        1 => (forged_index(), forged_version())
            .prop_map(|(index, version)| EntityOp::AskForged { index, version }),
        1 => Just(EntityOp::Flush),
        3 => (pick(), any::<u8>(), any::<u32>())
            .prop_map(|(pick, from, place)| EntityOp::Relocate { pick, from, place }),
        2 => pick().prop_map(|pick| EntityOp::TakePlace { pick }),
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
    fn naive_agrees_with_the_model(ops in vec(op(), 1..60)) {
        run::<Naive>(&ops);
    }

    #[test]
    fn busy_block_agrees_with_the_model_but_for_its_faults(ops in vec(op(), 1..60)) {
        run::<BusyBlock>(&ops);
    }

    #[test]
    fn sessions_agree_with_the_model(ops in vec(op(), 1..60)) {
        run::<InSessions<1>>(&ops);
        run::<InSessions<3>>(&ops);
    }

    #[test]
    fn bitmask_agrees_with_the_model(ops in vec(op(), 1..60)) {
        run::<EntityIndex>(&ops);
    }
}
