//! Values that are required, and cannot be made.

use super::{begin, go_on};
use crate::world_more::MoreOp;
use crate::world_ops::{WorldOp, run};

/// As [`at_every_call`], behind a beginning where a matrix, and a tag, requires what counts itself.
fn at_every_value(op: impl Fn(u8) -> WorldOp) {
    for j in 0..12 {
        let mut ops = vec![(0, WorldOp::More(MoreOp::Require { which: 0x41 }))];
        ops.extend(begin());
        ops.extend([9, 0, 6].map(|shape| {
            let create = WorldOp::CreateBatch {
                shape,
                payload: 2,
                len: 12,
                fuse: 0,
            };
            (0, create)
        }));
        // Some lack what they require.
        let lacks = WorldOp::RemoveSlice {
            pick: 20,
            len: 90,
            stride: 2,
            shape: 2,
        };
        ops.push((0, lacks));
        ops.push((0, op(0x80 | j)));
        ops.extend(go_on().map(|op| (0, op)));
        run(&ops, j % 2 == 0);
    }
}

#[test]
fn a_value_that_cannot_be_made_changes_nothing() {
    use MoreOp::*;
    let (payload, tag, matrix) = (3, 3, 4);
    let kinds = 1 << 5 | 1 << 3;
    for shape in [tag, matrix, 13] {
        at_every_value(|fuse| WorldOp::Create {
            shape,
            payload,
            fuse,
        });
        at_every_value(|fuse| WorldOp::CreateBatch {
            shape,
            payload,
            len: 7,
            fuse,
        });
        // Of those that have nothing, and of some that have it, over and over.
        for (pick, stride) in [(155, 1), (20, 1), (16, 7), (25, 0)] {
            at_every_value(|fuse| WorldOp::AddSlice {
                pick,
                len: 9,
                stride,
                shape,
                payload,
                fuse,
            });
        }
        at_every_value(|fuse| WorldOp::Add {
            pick: 156,
            shape,
            payload,
            fuse,
        });
        at_every_value(|fuse| WorldOp::Swap {
            pick: 168,
            gone: 1,
            come: shape,
            payload,
            fuse,
        });
    }
    for which in [0, 1] {
        at_every_value(|fuse| WorldOp::QueryAdd {
            which,
            shape: 1,
            payload,
            fuse,
        });
    }
    at_every_value(|fuse| WorldOp::CreateCopies {
        kinds,
        payload,
        len: 5,
        fuse,
    });
    at_every_value(|fuse| WorldOp::CreateDynamic {
        kinds,
        payload,
        fuse,
    });
    at_every_value(|fuse| WorldOp::AddDynamic {
        pick: 157,
        kinds,
        payload,
        fuse,
    });
    at_every_value(|fuse| WorldOp::More(AddRequired { fuse }));
    at_every_value(|fuse| {
        WorldOp::More(OfTemplate {
            kinds,
            payload,
            len: 4,
            fuse,
        })
    });
    at_every_value(|fuse| {
        WorldOp::More(Groups {
            pick: 20,
            len: 4,
            stride: 1,
            count: 2,
            fuse,
        })
    });
}
