//! What is rare where all is random: operations that random ones seldom put one behind the other.

use crate::world_commands::CommandOp;
use crate::world_more::MoreOp;
use crate::world_more_commands::MoreCommand;
use crate::world_ops::{WorldOp, run, run_ordered};

/// Runs operations on the first world, with observers.
fn run_here(ops: impl IntoIterator<Item = WorldOp>) {
    let ops: Vec<_> = ops.into_iter().map(|op| (0, op)).collect();
    run(&ops, true);
    run_ordered(&ops, true);
}

fn create(shape: u8, payload: u32, len: u16) -> WorldOp {
    WorldOp::CreateBatch {
        shape,
        payload,
        len,
        fuse: 0,
    }
}

#[test]
fn names_go_along_in_the_order_in_which_entities_got_them() {
    let name = |pick| WorldOp::More(MoreOp::Name { pick, which: 1 });
    let slice = WorldOp::MoveSlice {
        pick: 0,
        len: 5,
        stride: 1,
        fuse: 0,
    };
    let build = WorldOp::Build {
        pick: 7,
        shape: 0,
        payload: 1,
        fuse: 0,
    };
    let mut ops = vec![(0, create(0, 0, 3)), (0, create(17, 0, 4))];
    ops.extend([4, 1, 6, 5, 0, 2, 1].map(|pick| (0, name(pick))));
    ops.extend([
        (0, slice),
        (0, WorldOp::Snapshot),
        (1, WorldOp::Snapshot),
        (0, WorldOp::MoveAll),
        (1, WorldOp::Destroy { pick: 1, fuse: 0 }),
        (1, WorldOp::Trim),
        // What the first world calls a reserved entity is nothing to the second.
        (0, WorldOp::Reserve { len: 2 }),
        (0, name(7)),
        (1, build),
        (1, name(7)),
        (1, WorldOp::QueryMove { which: 5 }),
        (0, WorldOp::Trim),
        (0, WorldOp::Snapshot),
        (0, WorldOp::More(MoreOp::Unname { pick: 4 })),
        (1, WorldOp::Renew { fuse: 0 }),
    ]);
    run(&ops, true);
    run_ordered(&ops, true);
}

#[test]
fn who_cannot_have_what_is_to_come_is_told_as_come_again() {
    let (counted, species) = (1 << 2, 1 << 10);
    let swap = MoreOp::SwapSliceDynamic {
        pick: 0,
        len: 4,
        stride: 1,
        gone: counted,
        come: species,
        payload: 2,
    };
    run_here([create(18, 0, 3), create(11, 0, 2), WorldOp::More(swap)]);
}

#[test]
fn new_chunks_begin_with_the_template_that_was_set_last() {
    let destroy = |pick| WorldOp::Destroy { pick, fuse: 0 };
    let set = |which, payload| WorldOp::More(MoreOp::Template { which, payload });
    let remove = WorldOp::Remove {
        pick: 4,
        shape: 1,
        fuse: 0,
    };
    run_here([
        create(19, 5, 1),
        set(5, 9),
        WorldOp::SetChunkFragment {
            pick: 0,
            payload: 3,
        },
        destroy(0),
        create(19, 7, 1),
        create(20, 8, 1),
        // Of the second composition alone.
        set(0, 4),
        destroy(1),
        destroy(2),
        create(19, 6, 1),
        create(20, 6, 1),
        // Of several chunks one changes.
        create(20, 0, 9),
        WorldOp::SetChunkFragment {
            pick: 9,
            payload: 77,
        },
        // A composition that comes of one begins with what that begins with.
        create(19, 6, 1),
        set(1, 2),
        remove,
    ]);
}

#[test]
fn an_id_that_was_promised_to_a_clone_which_cannot_be_is_free() {
    let clone = |pick| WorldOp::Command(CommandOp::More(MoreCommand::Clone { pick }));
    let recorded = [
        WorldOp::Script { key: 128 },
        clone(0),
        clone(1),
        WorldOp::Command(CommandOp::Add {
            pick: 0x8001,
            shape: 3,
            payload: 0,
        }),
        WorldOp::Record {
            threads: 0,
            together: false,
        },
    ];
    let mut ops = vec![create(8, 0, 1), create(2, 0, 1)];
    ops.extend(recorded);
    ops.push(WorldOp::Flush { fuse: 0 });
    ops.extend(recorded);
    ops.push(WorldOp::Renew { fuse: 0 });
    run_here(ops);
}

#[test]
fn a_clone_that_panics_in_a_flush_is_nobody() {
    let clone = |pick| WorldOp::Command(CommandOp::More(MoreCommand::Clone { pick }));
    for j in 0..6 {
        let mut ops = vec![create(2, 0, 3), WorldOp::Script { key: 128 }];
        ops.extend([0, 1, 0x8000].map(clone));
        ops.push(WorldOp::Command(CommandOp::Add {
            pick: 0x8001,
            shape: 3,
            payload: 0,
        }));
        ops.push(WorldOp::Record {
            threads: 0,
            together: false,
        });
        ops.push(WorldOp::Flush { fuse: 0x80 | j });
        run_here(ops);
    }
}

#[test]
fn names_are_loaded_and_promises_are_not() {
    for how in 0..2 {
        let name = |pick| WorldOp::More(MoreOp::Name { pick, which: 1 });
        let mut ops = vec![create(0, 0, 3), WorldOp::Reserve { len: 1 }];
        ops.extend([2, 3, 0].map(name));
        ops.extend([
            WorldOp::Script { key: 128 },
            WorldOp::Command(CommandOp::More(MoreCommand::Clone { pick: 1 })),
            WorldOp::Record {
                threads: 0,
                together: false,
            },
            WorldOp::Reload { how },
            WorldOp::Flush { fuse: 0 },
            // They have ears, and hear of what comes.
            create(20, 0, 2),
            WorldOp::MoveAll,
        ]);
        run_here(ops);
    }
}

#[test]
fn who_is_named_twice_is_lent_once_and_who_is_dead_is_reported() {
    let destroy = WorldOp::Destroy { pick: 2, fuse: 0 };
    let off = WorldOp::Enable {
        pick: 4,
        which: 0,
        on: false,
    };
    let mut ops = vec![create(0, 0, 4), create(20, 0, 4), destroy, off];
    for (which, way) in (0..12).flat_map(|which| (0..4).map(move |way| (which, way))) {
        for stride in 0..3 {
            ops.push(WorldOp::More(MoreOp::QueryIn {
                which,
                way,
                pick: 1,
                len: 9,
                stride,
            }));
        }
    }
    let (small, switch) = (1 << 0, 1 << 7);
    for (with, without) in [
        (switch, 0),
        (small, switch),
        (0, switch),
        (0, 0),
        (small, small),
    ] {
        let query = |way| WorldOp::More(MoreOp::QueryDynamic { with, without, way });
        ops.extend((0..3).map(query));
    }
    // All that can be switched off is, also in a clone.
    ops.push(WorldOp::Reserve { len: 2 });
    ops.extend([4, 5, 6, 7].map(|pick| WorldOp::Enable {
        pick,
        which: 0,
        on: false,
    }));
    ops.push(WorldOp::More(MoreOp::BuildClone {
        pick: 8,
        of: 4,
        fuse: 0,
    }));
    ops.push(WorldOp::More(MoreOp::QueryDynamic {
        with: switch,
        without: 0,
        way: 0,
    }));
    run_here(ops);
}

// --- What is required ------------------------------------------------------------------------------

/// A recorder that has recorded these.
fn recorded(commands: &[CommandOp]) -> Vec<WorldOp> {
    let mut ops = vec![WorldOp::Script { key: 128 }];
    ops.extend(commands.iter().copied().map(WorldOp::Command));
    ops.push(WorldOp::Record {
        threads: 0,
        together: false,
    });
    ops.push(WorldOp::Flush { fuse: 0 });
    ops
}

/// Runs operations on the first world, where these bits say what is required.
fn run_where_required(which: u8, ops: &[WorldOp]) {
    let require = WorldOp::More(MoreOp::Require { which });
    run_here([require].into_iter().chain(ops.iter().copied()));
}

/// Each way, of owners by type and by number; what is required has gone from some before.
#[test]
fn what_is_required_comes_in_whatever_way_its_owner_does() {
    use CommandOp as Command;
    let (fuse, payload) = (0, 5);
    // Of text, counted, a matrix and a page; with a tag; with what can be switched off.
    let owners = [
        (1, 1 << 1),
        (2, 1 << 2),
        (4, 1 << 5),
        (5, 1 << 6),
        (3, 1 << 3),
        (6, 1 << 7),
    ];
    let more = WorldOp::More;
    let remove = |pick, shape| WorldOp::Remove { pick, shape, fuse };
    for (which, (shape, kinds)) in [0x01, 0x1e, 0x47, 0x7f, 0xff]
        .into_iter()
        .flat_map(|which| owners.map(|owner| (which, owner)))
    {
        let mut ops = vec![
            create(0, 1, 6),
            create(shape, payload, 3),
            create(9, payload, 8),
            WorldOp::Reserve { len: 9 },
            WorldOp::Build {
                pick: 17,
                shape,
                payload,
                fuse,
            },
            WorldOp::BuildDynamic {
                pick: 18,
                kinds,
                payload,
                fuse,
            },
            more(MoreOp::BuildCopy {
                pick: 19,
                kinds,
                payload,
                fuse,
            }),
            WorldOp::Add {
                pick: 0,
                shape,
                payload,
                fuse,
            },
            WorldOp::AddDynamic {
                pick: 1,
                kinds,
                payload,
                fuse,
            },
            // Both the first and what has it are there; what is named as going does not come.
            WorldOp::Swap {
                pick: 6,
                gone: 1,
                come: shape,
                payload,
                fuse,
            },
            more(MoreOp::SwapDynamic {
                pick: 7,
                gone: 1,
                come: kinds,
                payload,
                fuse,
            }),
            // What has nothing.
            WorldOp::Swap {
                pick: 11,
                gone: 0,
                come: shape,
                payload,
                fuse,
            },
            more(MoreOp::SwapDynamic {
                pick: 12,
                gone: 1 << 4,
                come: kinds,
                payload,
                fuse,
            }),
            more(MoreOp::SwapSlice {
                pick: 13,
                len: 2,
                stride: 1,
                gone: 0,
                come: 3,
                payload,
            }),
            more(MoreOp::SwapSliceDynamic {
                pick: 14,
                len: 2,
                stride: 1,
                gone: 1 << 4,
                come: kinds,
                payload,
            }),
            remove(6, 1),
            remove(7, 2),
            remove(8, 7),
            WorldOp::AddSlice {
                pick: 4,
                len: 6,
                stride: 1,
                shape,
                payload,
                fuse,
            },
            more(MoreOp::AddSliceDynamic {
                pick: 9,
                len: 2,
                stride: 1,
                kinds,
                payload,
            }),
            remove(4, 0),
            more(MoreOp::AddRequired { fuse }),
            more(MoreOp::OfTemplate {
                kinds,
                payload,
                len: 0,
                fuse,
            }),
            more(MoreOp::OfTemplate {
                kinds: kinds | 1,
                payload,
                len: 3,
                fuse,
            }),
            remove(5, 1),
            more(MoreOp::Groups {
                pick: 4,
                len: 3,
                stride: 1,
                count: 2,
                fuse,
            }),
            more(MoreOp::CloneMany {
                pick: 5,
                len: 2,
                fuse,
            }),
            WorldOp::Clone { pick: 5, fuse },
            WorldOp::CreateDynamic {
                kinds: kinds | 1 << 8,
                payload,
                fuse,
            },
            WorldOp::CreateCopies {
                kinds,
                payload,
                len: 3,
                fuse,
            },
            WorldOp::CreateCopies {
                kinds,
                payload: 6,
                len: 3,
                fuse,
            },
            WorldOp::QueryAdd {
                which: 1,
                shape: 7,
                payload,
                fuse,
            },
            WorldOp::QuerySwap {
                gone: 1,
                come: 2,
                payload,
            },
        ];
        ops.extend(recorded(&[
            Command::Create { shape, payload },
            Command::CreateBatch {
                shape,
                payload,
                len: 3,
            },
            Command::CreateDynamic { kinds, payload },
            Command::CreateCopies {
                kinds,
                payload: 1,
                len: 3,
                how: 1,
            },
            Command::More(MoreCommand::OfTemplate { kinds, payload: 2 }),
            Command::Build {
                pick: 20,
                shape,
                payload,
            },
            Command::Add {
                pick: 2,
                shape,
                payload,
            },
            Command::Remove { pick: 3, shape: 0 },
            Command::AddDynamic {
                pick: 3,
                kinds,
                payload,
            },
            Command::Add {
                pick: 0x8000,
                shape,
                payload,
            },
            Command::Remove { pick: 0, shape: 12 },
            Command::Add {
                pick: 0,
                shape,
                payload,
            },
            Command::Swap {
                pick: 1,
                gone: 1,
                come: shape,
                payload,
            },
            Command::Swap {
                pick: 16,
                gone: 0,
                come: shape,
                payload,
            },
            Command::More(MoreCommand::SwapDynamic {
                pick: 6,
                gone: 6,
                come: kinds,
                payload,
            }),
        ]));
        ops.extend([
            // Reserved ids are nobody's to go back.
            WorldOp::Renew { fuse },
            create(0, 1, 3),
            create(shape, payload, 3),
            WorldOp::Trim,
            WorldOp::MoveAll,
            WorldOp::Collect,
            WorldOp::Snapshot,
        ]);
        run_where_required(which, &ops);
        for how in [0, 1] {
            let reload = [
                create(shape, payload, 3),
                WorldOp::Reload { how },
                more(MoreOp::AddRequired { fuse }),
                WorldOp::Add {
                    pick: 0,
                    shape,
                    payload,
                    fuse,
                },
            ];
            run_where_required(which, &reload);
        }
        let ways_back = [
            create(shape, payload, 3),
            remove(0, 0),
            more(MoreOp::RollBack {
                pick: 0,
                kinds,
                payload,
            }),
            more(MoreOp::RollBack {
                pick: 9,
                kinds,
                payload,
            }),
            WorldOp::Add {
                pick: 0,
                shape,
                payload,
                fuse,
            },
        ];
        run_where_required(which, &ways_back);
    }
}

#[test]
fn entities_that_come_together_keep_the_weather_of_their_chunks() {
    let (page, weather) = (1 << 6, 1 << 11);
    let copies = WorldOp::CreateCopies {
        kinds: page | weather,
        payload: 1,
        len: 12,
        fuse: 0,
    };
    // They lie in two chunks.
    let set = |pick| WorldOp::SetChunkFragment {
        pick,
        payload: 100 + u32::from(pick),
    };
    let destroy = |pick| WorldOp::Destroy { pick, fuse: 0 };
    let mut ops = vec![WorldOp::ChunkSize { chunks: 0 }, copies];
    ops.extend([0, 11].map(set));
    ops.extend([10, 7, 4, 1].map(destroy));
    ops.push(WorldOp::Compact { budget: u8::MAX });
    run_here(ops);
}
