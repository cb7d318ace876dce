//! A state machine: random operations on two worlds of a universe, compared with naive ones.
//!
//! `support/world_ops.rs` has the operations and the comparison; the fuzz target `structural` makes up the
//! same operations from bytes.

#[path = "support/world_bulk.rs"]
mod world_bulk;
#[path = "support/world_calls.rs"]
mod world_calls;
#[path = "support/world_compare.rs"]
mod world_compare;
#[path = "support/world_fragments.rs"]
mod world_fragments;
#[path = "support/world_naive.rs"]
mod world_naive;
#[path = "support/world_ops.rs"]
mod world_ops;
#[path = "support/world_probes.rs"]
mod world_probes;

use proptest::collection::vec;
use proptest::prelude::*;
use world_ops::{WorldOp, run};

/// One in eight panics.
fn fuse() -> impl Strategy<Value = u8> {
    prop_oneof![7 => Just(0), 1 => (0..12_u8).prop_map(|calls| 0x80 | calls)]
}

/// Few kinds, or many; one in sixteen twice.
fn kinds() -> impl Strategy<Value = u16> {
    let few = (0..12_u8, 0..12_u8).prop_map(|(one, two)| 1 << one | 1 << two);
    let kinds = prop_oneof![few, 0..1_u16 << 12];
    (kinds, prop_oneof![15 => Just(0), 1 => Just(1_u16 << 15)])
        .prop_map(|(kinds, twice)| kinds | twice)
}

fn op() -> impl Strategy<Value = WorldOp> {
    use WorldOp::*;
    let pick = any::<u16>;
    let byte = any::<u8>;
    let payload = || 0..1_000_u32;
    prop_oneof![
        6 => (byte(), payload(), fuse())
            .prop_map(|(shape, payload, fuse)| Create { shape, payload, fuse }),
        4 => (byte(), payload(), 0..60_u16, fuse())
            .prop_map(|(shape, payload, len, fuse)| CreateBatch { shape, payload, len, fuse }),
        1 => (byte(), payload(), 800..3_000_u16, fuse())
            .prop_map(|(shape, payload, len, fuse)| CreateBatch { shape, payload, len, fuse }),
        2 => (0..9_u8).prop_map(|len| Reserve { len }),
        3 => (pick(), byte(), payload(), fuse())
            .prop_map(|(pick, shape, payload, fuse)| Build { pick, shape, payload, fuse }),
        1 => pick().prop_map(|pick| Release { pick }),
        4 => (pick(), fuse()).prop_map(|(pick, fuse)| Destroy { pick, fuse }),
        3 => (pick(), byte(), 0..4_u8, fuse())
            .prop_map(|(pick, len, stride, fuse)| DestroySlice { pick, len, stride, fuse }),
        9 => (pick(), byte(), payload(), fuse())
            .prop_map(|(pick, shape, payload, fuse)| Add { pick, shape, payload, fuse }),
        4 => (pick(), byte(), 0..4_u8, byte(), payload(), fuse())
            .prop_map(|(pick, len, stride, shape, payload, fuse)| AddSlice {
                pick, len, stride, shape, payload, fuse
            }),
        6 => (pick(), byte(), fuse())
            .prop_map(|(pick, shape, fuse)| Remove { pick, shape, fuse }),
        2 => (pick(), byte(), 0..4_u8, byte())
            .prop_map(|(pick, len, stride, shape)| RemoveSlice { pick, len, stride, shape }),
        4 => (pick(), byte(), byte(), payload(), fuse())
            .prop_map(|(pick, gone, come, payload, fuse)| Swap { pick, gone, come, payload, fuse }),
        3 => (pick(), payload()).prop_map(|(pick, payload)| SetShared { pick, payload }),
        4 => (pick(), byte(), any::<bool>())
            .prop_map(|(pick, which, on)| Enable { pick, which, on }),
        3 => (pick(), fuse()).prop_map(|(pick, fuse)| Clone { pick, fuse }),
        3 => (pick(), byte(), payload())
            .prop_map(|(pick, which, payload)| GetMut { pick, which, payload }),
        1 => (pick(), payload()).prop_map(|(pick, payload)| SetChunkFragment { pick, payload }),
        4 => (byte(), byte()).prop_map(|(which, way)| Query { which, way }),
        1 => (byte(), fuse()).prop_map(|(which, fuse)| Interrupt { which, fuse }),
        1 => Just(Chunks),
        3 => Just(Watch),
        1 => (0..300_u32, 0..9_u32).prop_map(|(index, version)| Forged { index, version }),
        1 => fuse().prop_map(|fuse| Clear { fuse }),
        1 => Just(Trim),
        1 => byte().prop_map(|chunks| ChunkSize { chunks }),
        1 => fuse().prop_map(|fuse| Renew { fuse }),
        2 => (byte(), byte(), payload(), fuse())
            .prop_map(|(which, shape, payload, fuse)| QueryAdd { which, shape, payload, fuse }),
        1 => (byte(), byte()).prop_map(|(which, shape)| QueryRemove { which, shape }),
        2 => (byte(), byte(), payload())
            .prop_map(|(gone, come, payload)| QuerySwap { gone, come, payload }),
        1 => (byte(), fuse()).prop_map(|(which, fuse)| QueryDestroy { which, fuse }),
        1 => (byte(), payload()).prop_map(|(which, payload)| QueryShare { which, payload }),
        1 => byte().prop_map(|which| QueryMove { which }),
        3 => (pick(), byte(), 0..4_u8, fuse())
            .prop_map(|(pick, len, stride, fuse)| MoveSlice { pick, len, stride, fuse }),
        1 => byte().prop_map(|shape| MoveArchetype { shape }),
        1 => Just(MoveAll),
        4 => (kinds(), payload(), fuse())
            .prop_map(|(kinds, payload, fuse)| CreateDynamic { kinds, payload, fuse }),
        2 => (pick(), kinds(), payload(), fuse())
            .prop_map(|(pick, kinds, payload, fuse)| BuildDynamic { pick, kinds, payload, fuse }),
        4 => (pick(), kinds(), payload(), fuse())
            .prop_map(|(pick, kinds, payload, fuse)| AddDynamic { pick, kinds, payload, fuse }),
        3 => (pick(), kinds(), fuse())
            .prop_map(|(pick, kinds, fuse)| RemoveDynamic { pick, kinds, fuse }),
        2 => prop_oneof![Just(255_u8), byte()].prop_map(|budget| Compact { budget }),
        1 => Just(Collect),
        1 => Just(Snapshot),
    ]
}

proptest! {
    // A quarter of what is usual: one case is many operations, and the fuzz target goes on from here.
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 4,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn worlds_agree_with_the_naive_one(ops in vec((0..5_u8, op()), 1..60)) {
        run(&ops);
    }
}
