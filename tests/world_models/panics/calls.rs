//! User's code that panics at its j-th call, for all j.
//!
//! `support/world_ops.rs` compares after each operation; at random, and with more operations, the state
//! machine `tests/world_models/operations.rs` does the same.

use super::{begin, tries};
use crate::world_ops::{WorldOp, run};

/// Runs an operation behind the beginning, its `j`-th call of user's code panicking, for all `j` below
/// `calls`; and goes on for a while afterwards.
fn at_every_call(calls: u8, op: impl Fn(u8) -> WorldOp) {
    for one in tries(calls) {
        let mut ops = begin();
        ops.push((0, op(one.fuse())));
        ops.push((
            0,
            WorldOp::CreateBatch {
                shape: 11,
                payload: 3,
                len: 300,
                fuse: 0,
            },
        ));
        ops.push((
            0,
            WorldOp::DestroySlice {
                pick: 1,
                len: 200,
                stride: 3,
                fuse: 0,
            },
        ));
        ops.extend(one.go_on());
        run(&ops, one.watched);
    }
}

#[test]
fn a_constructor_in_an_iterator_that_panics_leaves_no_entity_of_its_batch() {
    for shape in [2, 13, 18, 19, 20] {
        at_every_call(9, |fuse| WorldOp::CreateBatch {
            shape,
            payload: 1,
            len: 4,
            fuse,
        });
    }
    // Over the border of a chunk, of which 6 rows are left, and into a new one.
    at_every_call(10, |fuse| WorldOp::CreateBatch {
        shape: 13,
        payload: 1,
        len: 20,
        fuse,
    });
}

#[test]
fn a_closure_that_panics_ends_a_slice_between_two_entities() {
    at_every_call(14, |fuse| WorldOp::AddSlice {
        pick: 8,
        len: 9,
        stride: 1,
        shape: 12,
        payload: 2,
        fuse,
    });
}

#[test]
fn a_closure_that_panics_ends_a_change_of_what_a_query_matches() {
    for (which, shape) in [(0, 7), (1, 3), (1, 2), (1, 1), (1, 4)] {
        at_every_call(10, |fuse| WorldOp::QueryAdd {
            which,
            shape,
            payload: 9,
            fuse,
        });
    }
    at_every_call(20, |fuse| WorldOp::QueryDestroy { which: 4, fuse });
}

#[test]
fn a_clone_or_drop_that_panics_ends_calls_on_dynamic_fragments() {
    // All fragments, and those that panic alone.
    for kinds in [0xfff, 1 << 2, 1 << 11 | 1, 1 << 2 | 1 << 9 | 1 << 15] {
        at_every_call(5, |fuse| WorldOp::CreateDynamic {
            kinds,
            payload: 1,
            fuse,
        });
        for pick in [3, 150, 154] {
            at_every_call(5, |fuse| WorldOp::AddDynamic {
                pick,
                kinds,
                payload: 2,
                fuse,
            });
            at_every_call(5, |fuse| WorldOp::RemoveDynamic { pick, kinds, fuse });
        }
    }
}

#[test]
fn a_clone_or_closure_that_panics_leaves_no_copies() {
    // All fragments but the tag that cannot be cloned, and those that panic alone.
    for kinds in [0xfef, 1 << 2 | 1, 1 << 2 | 1 << 11] {
        for payload in [2, 3] {
            at_every_call(9, |fuse| WorldOp::CreateCopies {
                kinds,
                payload,
                len: 4,
                fuse,
            });
        }
    }
}

#[test]
fn a_template_that_panics_ends_a_move_to_another_world() {
    at_every_call(4, |fuse| WorldOp::MoveSlice {
        pick: 140,
        len: 20,
        stride: 1,
        fuse,
    });
}

#[test]
fn a_closure_that_panics_ends_a_query() {
    for which in 0..12 {
        at_every_call(4, |fuse| WorldOp::Interrupt { which, fuse });
    }
}

#[test]
fn a_drop_that_panics_ends_nothing_in_the_middle() {
    at_every_call(1, |fuse| WorldOp::Destroy { pick: 3, fuse });
    at_every_call(8, |fuse| WorldOp::DestroySlice {
        pick: 5,
        len: 9,
        stride: 2,
        fuse,
    });
    at_every_call(2, |fuse| WorldOp::Add {
        pick: 3,
        shape: 2,
        payload: 1,
        fuse,
    });
    at_every_call(2, |fuse| WorldOp::Add {
        pick: 3,
        shape: 13,
        payload: 1,
        fuse,
    });
    at_every_call(1, |fuse| WorldOp::Remove {
        pick: 12,
        shape: 2,
        fuse,
    });
    at_every_call(2, |fuse| WorldOp::Swap {
        pick: 12,
        gone: 1,
        come: 18,
        payload: 1,
        fuse,
    });
    at_every_call(20, |fuse| WorldOp::Clear { fuse });
    at_every_call(20, |fuse| WorldOp::Renew { fuse });
}

#[test]
fn a_clone_that_panics_makes_no_entity() {
    for pick in [3, 11, 30, 152] {
        at_every_call(2, |fuse| WorldOp::Clone { pick, fuse });
    }
    // The template of a chunk fragment.
    at_every_call(3, |fuse| WorldOp::Create {
        shape: 19,
        payload: 1,
        fuse,
    });
    at_every_call(3, |fuse| WorldOp::Add {
        pick: 3,
        shape: 19,
        payload: 1,
        fuse,
    });
}

/// Found by the state machine: the new values were in place when the chunk for them could not be had.
#[test]
fn a_template_that_panics_for_a_new_shared_value_leaves_the_old_fragments() {
    for fuse in 0x80..0x90 {
        let add = WorldOp::AddSlice {
            pick: 0,
            len: 7,
            stride: 0,
            shape: 20,
            payload: 0,
            fuse,
        };
        let create = WorldOp::Create {
            shape: 0,
            payload: 0,
            fuse: 0,
        };
        run(&[(0, create), (0, add)], true);
    }
}
