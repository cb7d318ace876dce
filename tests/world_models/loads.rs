//! Loads with options, and what comes after them: above all compositions that have become one, with chunks among theirs that
//! have nobody.

use crate::world_commands::CommandOp;
use crate::world_more::MoreOp;
use crate::world_more_commands::MoreCommand;
use crate::world_ops::{WorldOp, run, run_ordered};

const SMALL: u16 = 1 << 0;
const TEXT: u16 = 1 << 1;
const TAG: u16 = 1 << 3;
/// Some two hundred of them fill a chunk.
const MATRIX: u16 = 1 << 5;
const SWITCH: u16 = 1 << 7;
const AWAKE: u16 = 1 << 8;

/// Runs operations on the first world, with observers, also as an ordered one.
fn run_here(ops: &[WorldOp]) {
    let ops: Vec<_> = ops.iter().map(|&op| (0, op)).collect();
    run(&ops, true);
    run_ordered(&ops, true);
}

fn copies(kinds: u16, len: u16) -> WorldOp {
    WorldOp::CreateCopies {
        kinds,
        payload: 8,
        len,
        fuse: 0,
    }
}

fn load(left_out: u16, how: u8) -> WorldOp {
    WorldOp::More(MoreOp::Load { left_out, how })
}

/// Three compositions that two kinds tell apart: of the second there is a chunk, and nobody. A flush then gives all of the
/// third, whose chunks could be handed over, something more, while what others are to get, who would come to these chunks,
/// cannot be made.
#[test]
fn who_is_refused_in_a_flush_moves_no_chunk_after_a_load_in_which_compositions_became_one() {
    let (few, many) = (3, 450);
    for strangers in [5, 230] {
        for threads in [false, true] {
            let mut ops = vec![
                // Who can be switched is awake.
                WorldOp::More(MoreOp::Require { which: 1 << 3 }),
                WorldOp::Forks { on: threads },
                WorldOp::ChunkSize { chunks: 0 },
                copies(SWITCH | AWAKE | MATRIX | SMALL, few),
                copies(SWITCH | AWAKE | MATRIX, 1),
                WorldOp::Destroy { pick: few, fuse: 0 },
                copies(SWITCH | AWAKE | MATRIX | TAG, many),
                load(SMALL | TAG, 0),
                copies(TEXT | MATRIX, strangers),
                WorldOp::Script { key: 128 },
            ];
            let first = few + 1;
            let text = |pick| CommandOp::Add {
                pick,
                shape: 3,
                payload: 0,
            };
            ops.extend((first..first + many).map(text).map(WorldOp::Command));
            let stranger = |pick| {
                CommandOp::More(MoreCommand::SwapDynamic {
                    pick,
                    gone: TEXT,
                    come: SWITCH,
                    payload: 5,
                })
            };
            let last = first + many;
            ops.extend((last..last + strangers).map(stranger).map(WorldOp::Command));
            ops.extend([
                WorldOp::Record {
                    threads: 0,
                    together: false,
                },
                WorldOp::Flush { fuse: 0x80 },
                WorldOp::Flush { fuse: 0 },
                WorldOp::Compact { budget: u8::MAX },
            ]);
            run_here(&ops);
        }
    }
}
