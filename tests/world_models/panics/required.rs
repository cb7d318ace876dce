//! Values that are required, and cannot be made.

use super::{begin, tries};
use crate::world_commands::CommandOp;
use crate::world_more::MoreOp;
use crate::world_ops::{WorldOp, run};

/// As [`at_every_call`], behind a beginning where a matrix, and a tag, requires what counts itself.
fn at_every_value(op: impl Fn(u8) -> WorldOp) {
    for one in tries(12) {
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
        ops.push((0, op(one.fuse())));
        ops.extend(one.go_on());
        run(&ops, one.watched);
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

/// A tag requires what counts itself: who loses that, and gets the tag again, is to get another one in the same flush, and stays
/// where he is. Others of the flush lose values whose `drop` panics, or move.
#[test]
fn who_is_to_get_again_what_cannot_be_made_is_told_of_nothing() {
    use CommandOp::*;
    let (counted, tag, payload) = (2, 3, 5);
    let batch = |shape, len| WorldOp::CreateBatch {
        shape,
        payload: 7,
        len,
        fuse: 0,
    };
    for (on, j) in [false, true]
        .into_iter()
        .flat_map(|on| (0..24).map(move |j| (on, j)))
    {
        let mut ops = vec![
            WorldOp::More(MoreOp::Require { which: 0x40 }),
            WorldOp::Forks { on },
            batch(13, 12),
            batch(11, 4),
            batch(0, 4),
            WorldOp::Script { key: 128 },
        ];
        let mut record = |command| ops.push(WorldOp::Command(command));
        for pick in 0..6 {
            let shape = counted;
            record(Remove { pick, shape });
            let shape = tag;
            record(Add {
                pick,
                shape,
                payload,
            });
        }
        for pick in 6..9 {
            let which = 2;
            record(Set {
                pick,
                which,
                payload,
            });
        }
        // The last four of these get the value with the tag.
        for pick in 12..20 {
            let shape = tag;
            record(Add {
                pick,
                shape,
                payload,
            });
        }
        ops.extend([
            WorldOp::Record {
                threads: 0,
                together: false,
            },
            WorldOp::Flush { fuse: 0x80 | j },
            WorldOp::Flush { fuse: 0 },
        ]);
        let ops: Vec<_> = ops.into_iter().map(|op| (0, op)).collect();
        run(&ops, true);
    }
}
