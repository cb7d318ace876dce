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

/// How the code of a user's in some call is made to panic once, and what comes of it.
struct Try {
    /// At its so many-th call, counted from 0.
    point: u8,
    /// Which third of [`going_on`] comes afterwards.
    third: u8,
    /// Whether observers hear of it.
    watched: bool,
}

/// All points of a call, of which there are so many at most, in turn with each third of what goes on and with observers or
/// without: a call with fewer points than these come to is tried at some of them more than once, and otherwise.
fn tries(points: u8) -> impl Iterator<Item = Try> {
    // Three thirds, with observers and without.
    let rounds = points.max(6);
    (0..rounds).map(move |round| Try {
        point: (u16::from(round) * u16::from(points) / u16::from(rounds)) as u8,
        third: round % 3,
        watched: round % 2 == 0,
    })
}

/// The calls that run no code of the user's which could panic.
fn going_on() -> impl Iterator<Item = WorldOp> {
    let pick = 40;
    [
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
    ]
    .into_iter()
}

impl Try {
    /// The third of [`going_on`] that comes afterwards.
    fn go_on(&self) -> impl Iterator<Item = (u8, WorldOp)> {
        let all = going_on().skip(usize::from(self.third));
        all.step_by(3).map(|op| (0, op))
    }

    /// What tells an operation when to panic.
    fn fuse(&self) -> u8 {
        0x80 | self.point
    }
}

/// (When the `j`-th point went on with the third `j % 3`, a call with one point was followed by a third of what goes on, and
/// none of those that are watched by nobody.)
#[test]
fn whoever_has_few_points_is_followed_by_all_that_goes_on_too() {
    for points in 1..=40 {
        let mut at = [false; 40];
        let (mut followed, mut watched) = (Vec::new(), [false; 2]);
        for one in tries(points) {
            at[usize::from(one.point)] = true;
            watched[usize::from(one.watched)] = true;
            followed.extend(one.go_on().map(|(_, op)| format!("{op:?}")));
        }
        let missing = going_on().filter(|op| !followed.contains(&format!("{op:?}")));
        assert_eq!(missing.count(), 0, "{points} points");
        assert_eq!(watched, [true; 2], "{points} points");
        let tried = at.iter().filter(|&&tried| tried).count();
        assert_eq!(tried, usize::from(points));
    }
}
