//! User's code that panics: worlds stay as they must be, and every value is dropped once.

use crate::world_ops::WorldOp;

mod calls;
mod drops;
mod kept;
mod required;

/// Counted fragments among others, in full chunks and partly filled ones, and a batch over the border of
/// a chunk.
fn begin() -> Vec<(u8, WorldOp)> {
    let batch = |shape, len| {
        (
            0,
            WorldOp::CreateBatch {
                shape,
                payload: 7,
                len,
                fuse: 0,
            },
        )
    };
    vec![
        batch(2, 10),
        batch(11, 5),
        batch(13, 130),
        batch(19, 3),
        batch(20, 3),
        batch(18, 4),
    ]
}

/// A third of the calls that run no code of the user's which could panic, and which one `turn` says: who tries all points
/// of a call goes on with each of them after some.
fn go_on(turn: u8) -> impl Iterator<Item = (u8, WorldOp)> {
    let pick = 40;
    let calls = [
        WorldOp::Trim,
        WorldOp::Reserve { len: 3 },
        WorldOp::Build {
            pick: u16::MAX,
            shape: 20,
            payload: 4,
            fuse: 0,
        },
        WorldOp::Release { pick },
        WorldOp::RemoveSlice {
            pick,
            len: 90,
            stride: 2,
            shape: 11,
        },
        WorldOp::SetShared { pick, payload: 2 },
        WorldOp::Enable {
            pick,
            which: 0,
            on: false,
        },
        WorldOp::GetMut {
            pick,
            which: 0,
            payload: 5,
        },
        WorldOp::SetChunkFragment {
            pick: 150,
            payload: 6,
        },
        WorldOp::Query { which: 5, way: 0 },
        WorldOp::Forged {
            index: 9,
            version: 9,
        },
        WorldOp::ChunkSize { chunks: 1 },
        WorldOp::Watch,
        WorldOp::Chunks,
        WorldOp::QueryRemove { which: 1, shape: 1 },
        WorldOp::QuerySwap {
            gone: 1,
            come: 7,
            payload: 8,
        },
        WorldOp::QueryShare {
            which: 4,
            payload: 1,
        },
        WorldOp::QueryMove { which: 0 },
        WorldOp::MoveArchetype { shape: 13 },
        WorldOp::Compact { budget: 255 },
        WorldOp::Collect,
        WorldOp::Snapshot,
        WorldOp::BuildDynamic {
            pick: u16::MAX,
            kinds: 0xfff,
            payload: 4,
            fuse: 0,
        },
        WorldOp::MoveAll,
    ];
    let turn = usize::from(turn % 3);
    calls.into_iter().skip(turn).step_by(3).map(|op| (0, op))
}
