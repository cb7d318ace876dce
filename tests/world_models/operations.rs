//! A state machine: random operations on two worlds of a universe, compared with naive ones.
//!
//! `support/world_ops.rs` has the operations and the comparison; the fuzz targets `structural` and
//! `commands` make up the same operations from bytes. Recorders work in rounds: some calls change the
//! worlds at once, then recorders are filled, then flushed, mostly.

use crate::world_commands::CommandOp;
use crate::world_more::MoreOp;
use crate::world_more_commands::MoreCommand;
use crate::world_ops::{WorldOp, run, run_ordered};
use proptest::collection::vec;
use proptest::prelude::*;

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

fn load() -> impl Strategy<Value = MoreOp> {
    // Mostly one option, or none.
    let how = prop_oneof![7 => 0..2_u8, 7 => (0..7_u8).prop_map(|bit| 1 << bit), 1 => any::<u8>()];
    (kinds(), how).prop_map(|(left_out, how)| MoreOp::Load { left_out, how })
}

/// Those of `support/world_more.rs`.
fn more() -> impl Strategy<Value = MoreOp> {
    use MoreOp::*;
    let pick = any::<u16>;
    let byte = any::<u8>;
    let payload = || 0..1_000_u32;
    let stride = || 0..4_u8;
    let on = any::<bool>;
    prop_oneof![
        // Few entities, so that several of a name go somewhere.
        6 => (0..24_u16, byte()).prop_map(|(pick, which)| Name { pick, which }),
        1 => pick().prop_map(|pick| Unname { pick }),
        2 => (byte(), payload()).prop_map(|(which, payload)| Template { which, payload }),
        3 => (pick(), pick(), fuse()).prop_map(|(pick, of, fuse)| BuildClone { pick, of, fuse }),
        2 => (pick(), 0..60_u16, fuse()).prop_map(|(pick, len, fuse)| CloneMany { pick, len, fuse }),
        2 => (pick(), kinds(), payload(), fuse())
            .prop_map(|(pick, kinds, payload, fuse)| BuildCopy { pick, kinds, payload, fuse }),
        2 => (pick(), byte(), stride(), byte(), byte(), payload())
            .prop_map(|(pick, len, stride, gone, come, payload)| SwapSlice {
                pick, len, stride, gone, come, payload
            }),
        2 => (pick(), byte(), stride(), kinds(), payload())
            .prop_map(|(pick, len, stride, kinds, payload)| AddSliceDynamic {
                pick, len, stride, kinds, payload
            }),
        2 => (pick(), byte(), stride(), kinds())
            .prop_map(|(pick, len, stride, kinds)| RemoveSliceDynamic { pick, len, stride, kinds }),
        2 => (pick(), byte(), stride(), kinds(), kinds(), payload())
            .prop_map(|(pick, len, stride, gone, come, payload)| SwapSliceDynamic {
                pick, len, stride, gone, come, payload
            }),
        2 => (pick(), kinds(), kinds(), payload(), fuse())
            .prop_map(|(pick, gone, come, payload, fuse)| SwapDynamic {
                pick, gone, come, payload, fuse
            }),
        3 => (pick(), byte()).prop_map(|(pick, which)| RemoveRole { pick, which }),
        2 => (pick(), byte(), on()).prop_map(|(pick, which, on)| EnableDynamic { pick, which, on }),
        1 => (pick(), pick(), pick(), payload())
            .prop_map(|(a, b, c, payload)| Disjoint { picks: [a, b, c], payload }),
        2 => (pick(), fuse()).prop_map(|(pick, fuse)| MoveOne { pick, fuse }),
        2 => (byte(), byte(), pick(), byte(), stride())
            .prop_map(|(which, way, pick, len, stride)| QueryIn { which, way, pick, len, stride }),
        2 => (kinds(), kinds(), byte())
            .prop_map(|(with, without, way)| QueryDynamic { with, without, way }),
        2 => fuse().prop_map(|fuse| AddRequired { fuse }),
        2 => (kinds(), payload(), 0..40_u16, fuse())
            .prop_map(|(kinds, payload, len, fuse)| OfTemplate { kinds, payload, len, fuse }),
        2 => (pick(), 0..6_u8, stride(), 0..9_u8, fuse())
            .prop_map(|(pick, len, stride, count, fuse)| Groups { pick, len, stride, count, fuse }),
        2 => (pick(), kinds(), payload())
            .prop_map(|(pick, kinds, payload)| RollBack { pick, kinds, payload }),
        2 => load(),
    ]
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
        3 => (pick(), byte(), fuse())
            .prop_map(|(pick, which, fuse)| Take { pick, which, fuse }),
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
        3 => (kinds(), payload(), 0..60_u16, fuse())
            .prop_map(|(kinds, payload, len, fuse)| CreateCopies { kinds, payload, len, fuse }),
        1 => (kinds(), payload(), 800..3_000_u16, fuse())
            .prop_map(|(kinds, payload, len, fuse)| CreateCopies { kinds, payload, len, fuse }),
        2 => prop_oneof![Just(255_u8), byte()].prop_map(|budget| Compact { budget }),
        1 => Just(Collect),
        1 => Just(Snapshot),
        1 => any::<bool>().prop_map(|on| Forks { on }),
        3 => (byte(), byte()).prop_map(|(which, back)| Since { which, back }),
        1 => byte().prop_map(|how| Reload { how }),
        38 => more().prop_map(More),
    ]
}

// --- Recorders -------------------------------------------------------------------------------------

/// What changes at once, and what recorders do not hear of.
fn at_once() -> impl Strategy<Value = WorldOp> {
    use WorldOp::*;
    let (pick, byte, payload) = (any::<u16>, any::<u8>, || 0..1_000_u32);
    prop_oneof![
        4 => (byte(), payload(), 0..60_u16)
            .prop_map(|(shape, payload, len)| CreateBatch { shape, payload, len, fuse: 0 }),
        1 => (byte(), payload(), 600..1_500_u16)
            .prop_map(|(shape, payload, len)| CreateBatch { shape, payload, len, fuse: 0 }),
        3 => (0..9_u8).prop_map(|len| Reserve { len }),
        2 => pick().prop_map(|pick| Destroy { pick, fuse: 0 }),
        1 => (pick(), byte()).prop_map(|(pick, len)| DestroySlice { pick, len, stride: 1, fuse: 0 }),
        2 => (pick(), byte(), any::<bool>()).prop_map(|(pick, which, on)| Enable { pick, which, on }),
        1 => pick().prop_map(|pick| Clone { pick, fuse: 0 }),
        1 => (pick(), byte(), 0..4_u8)
            .prop_map(|(pick, len, stride)| MoveSlice { pick, len, stride, fuse: 0 }),
        1 => byte().prop_map(|chunks| ChunkSize { chunks }),
        1 => Just(Collect),
        1 => Just(Compact { budget: 255 }),
        1 => Just(Watch),
        1 => Just(Renew { fuse: 0 }),
        1 => pick().prop_map(|pick| Release { pick }),
        1 => (pick(), byte(), payload())
            .prop_map(|(pick, shape, payload)| Build { pick, shape, payload, fuse: 0 }),
        1 => Just(Snapshot),
        1 => any::<bool>().prop_map(|on| Forks { on }),
        1 => (byte(), byte()).prop_map(|(which, back)| Since { which, back }),
        1 => byte().prop_map(|how| Reload { how }),
        2 => load().prop_map(More),
    ]
}

fn command() -> impl Strategy<Value = WorldOp> {
    use CommandOp::*;
    // Few entities, so that they get several commands each; those of the recorder itself.
    let pick = || prop_oneof![3 => 0..12_u16, 1 => any::<u16>(), 2 => 0x8000..0x8008_u16];
    let (byte, payload) = (any::<u8>, || 0..1_000_u32);
    let command = prop_oneof![
        4 => (byte(), payload()).prop_map(|(shape, payload)| Create { shape, payload }),
        2 => (byte(), payload(), 0..40_u16)
            .prop_map(|(shape, payload, len)| CreateBatch { shape, payload, len }),
        1 => (byte(), payload(), 300..1_200_u16)
            .prop_map(|(shape, payload, len)| CreateBatch { shape, payload, len }),
        2 => (pick(), byte(), payload())
            .prop_map(|(pick, shape, payload)| Build { pick, shape, payload }),
        1 => (pick(), payload()).prop_map(|(pick, payload)| Write { pick, payload }),
        3 => pick().prop_map(|pick| Destroy { pick }),
        6 => (pick(), byte(), payload())
            .prop_map(|(pick, shape, payload)| Add { pick, shape, payload }),
        5 => (pick(), byte(), payload())
            .prop_map(|(pick, which, payload)| Set { pick, which, payload }),
        5 => (pick(), byte()).prop_map(|(pick, shape)| Remove { pick, shape }),
        3 => (pick(), byte(), byte(), payload())
            .prop_map(|(pick, gone, come, payload)| Swap { pick, gone, come, payload }),
        3 => (pick(), payload()).prop_map(|(pick, payload)| SetShared { pick, payload }),
        4 => (pick(), byte(), any::<bool>())
            .prop_map(|(pick, which, on)| Enable { pick, which, on }),
        2 => (kinds(), payload()).prop_map(|(kinds, payload)| CreateDynamic { kinds, payload }),
        1 => (pick(), kinds(), payload())
            .prop_map(|(pick, kinds, payload)| BuildDynamic { pick, kinds, payload }),
        3 => (pick(), kinds(), payload())
            .prop_map(|(pick, kinds, payload)| AddDynamic { pick, kinds, payload }),
        3 => (pick(), kinds()).prop_map(|(pick, kinds)| RemoveDynamic { pick, kinds }),
        1 => (pick(), byte(), payload())
            .prop_map(|(pick, what, payload)| Defer { pick, what, payload }),
        // Few prototypes, so that some are copied again and again.
        3 => (kinds(), 0..3_u32, 0..40_u16, byte())
            .prop_map(|(kinds, payload, len, how)| CreateCopies { kinds, payload, len, how }),
        1 => (kinds(), 0..3_u32, 300..1_200_u16, byte())
            .prop_map(|(kinds, payload, len, how)| CreateCopies { kinds, payload, len, how }),
        3 => pick().prop_map(|pick| More(MoreCommand::Clone { pick })),
        1 => (pick(), kinds(), 0..3_u32).prop_map(|(pick, kinds, payload)| {
            More(MoreCommand::BuildCopy { pick, kinds, payload })
        }),
        2 => (0..5_u8).prop_map(|len| More(MoreCommand::Reserve { len })),
        2 => (pick(), kinds(), kinds(), payload()).prop_map(|(pick, gone, come, payload)| {
            More(MoreCommand::SwapDynamic { pick, gone, come, payload })
        }),
        2 => (pick(), byte()).prop_map(|(pick, which)| {
            More(MoreCommand::RemoveRole { pick, which })
        }),
        1 => (kinds(), 0..3_u32).prop_map(|(kinds, payload)| {
            More(MoreCommand::OfTemplate { kinds, payload })
        }),
    ];
    command.prop_map(WorldOp::Command)
}

fn key() -> impl Strategy<Value = u8> {
    prop_oneof![Just(128_u8), any::<u8>()]
}

fn round() -> impl Strategy<Value = Vec<(u8, WorldOp)>> {
    let script = (key(), vec(command(), 1..10)).prop_map(|(key, commands)| {
        let mut ops = vec![WorldOp::Script { key }];
        ops.extend(commands);
        ops
    });
    let world = prop_oneof![3 => Just(0_u8), 1 => Just(1)];
    let record = (any::<u8>(), any::<bool>())
        .prop_map(|(threads, together)| WorldOp::Record { threads, together });
    let flush = prop_oneof![
        4 => fuse().prop_map(|fuse| Some(WorldOp::Flush { fuse })),
        1 => Just(None),
    ];
    let scripts = vec(script, 1..6);
    (world, vec(at_once(), 0..5), scripts, record, flush).prop_map(
        |(world, at_once, scripts, record, flush)| {
            let mut ops = at_once;
            ops.extend(scripts.into_iter().flatten());
            ops.push(record);
            ops.extend(flush);
            ops.into_iter().map(|op| (world, op)).collect()
        },
    )
}

/// That part of the usual 256 cases, or of as many as are asked for.
fn cases(part: u32) -> u32 {
    std::env::var("MEGACHUNK_WORLD_CASES").map_or(256, |n| n.parse().expect("a number")) / part
}

/// What is required in a run: nothing, or of what there is to require some or all.
fn required() -> impl Strategy<Value = Vec<(u8, WorldOp)>> {
    let which = prop_oneof![
        3 => Just(0_u8),
        1 => Just(0x01),
        1 => Just(0xff),
        3 => any::<u8>(),
    ];
    which.prop_map(|which| match which {
        0 => Vec::new(),
        which => vec![(0, WorldOp::More(MoreOp::Require { which }))],
    })
}

/// What is required, and then these.
fn behind(mut required: Vec<(u8, WorldOp)>, ops: &[(u8, WorldOp)]) -> Vec<(u8, WorldOp)> {
    required.extend(ops);
    required
}

proptest! {
    // A quarter of what is usual: one case is many operations, and the fuzz target goes on from here.
    #![proptest_config(ProptestConfig {
        cases: cases(4),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn worlds_agree_with_the_naive_one(
        required in required(),
        ops in vec((0..5_u8, op()), 1..60),
        heard: bool,
    ) {
        run(&behind(required, &ops), heard);
    }

    #[test]
    fn recorders_agree_with_the_naive_world(
        required in required(),
        rounds in vec(round(), 1..8),
        heard: bool,
    ) {
        run(&behind(required, &rounds.concat()), heard);
    }
}

proptest! {
    // Each runs twice, and looks at all after each step.
    #![proptest_config(ProptestConfig {
        cases: cases(8),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn ordered_worlds_agree_and_are_the_same_for_one_thread(
        required in required(),
        ops in vec((0..5_u8, op()), 1..60),
        heard: bool,
    ) {
        run_ordered(&behind(required, &ops), heard);
    }

    #[test]
    fn ordered_recorders_agree_and_are_the_same_for_one_thread(
        required in required(),
        rounds in vec(round(), 1..8),
        heard: bool,
    ) {
        run_ordered(&behind(required, &rounds.concat()), heard);
    }
}

// --- Panics ----------------------------------------------------------------------------------------

/// Counted fragments among others, in full chunks and partly filled ones.
fn begin() -> Vec<WorldOp> {
    let shapes = [(2, 10), (11, 5), (13, 130), (19, 3), (20, 3), (18, 4)];
    let batch = |(shape, len)| WorldOp::CreateBatch {
        shape,
        payload: 7,
        len,
        fuse: 0,
    };
    shapes.map(batch).into()
}

/// A recorder that records one of everything, on the entities of a few batches.
fn recorded() -> Vec<WorldOp> {
    use CommandOp::*;
    let (pick, own, payload) = (12, 0x8000, 5);
    let mut commands: Vec<CommandOp> = [2, 13, 18, 19, 20]
        .map(|shape| Create { shape, payload })
        .into();
    commands.extend([
        CreateBatch {
            shape: 13,
            payload,
            len: 90,
        },
        Build {
            pick: 155,
            shape: 11,
            payload,
        },
        Write {
            pick: own + 1,
            payload,
        },
        Destroy { pick: 1 },
        Destroy { pick: own },
        Add {
            pick: 2,
            shape: 13,
            payload,
        },
        Add {
            pick: 3,
            shape: 19,
            payload,
        },
        Add {
            pick: 150,
            shape: 17,
            payload,
        },
        Set {
            pick,
            which: 2,
            payload,
        },
        Set {
            pick,
            which: 2,
            payload,
        },
        Remove {
            pick: 14,
            shape: 11,
        },
        Swap {
            pick: 13,
            gone: 1,
            come: 1,
            payload,
        },
        SetShared { pick: 151, payload },
        Enable {
            pick: 3,
            which: 0,
            on: false,
        },
        Enable {
            pick: own + 2,
            which: 4,
            on: false,
        },
        CreateDynamic {
            kinds: 0b1010_1000_0111,
            payload,
        },
        BuildDynamic {
            pick: 156,
            kinds: 0b0110_0000_0101,
            payload,
        },
        AddDynamic {
            pick: 4,
            kinds: 0b1101_1010_0110,
            payload,
        },
        RemoveDynamic {
            pick: 15,
            kinds: 0b0101,
        },
    ]);
    // One copy of what counts itself, several of what has a chunk fragment, several with numbers of their own.
    for (kinds, how) in [(0b101, 0), (0b1000_0000_0110, 1), (0b10_0000_0100, 2)] {
        commands.push(CreateCopies {
            kinds,
            payload,
            len: 90,
            how,
        });
    }
    for what in 0..7 {
        commands.push(Defer {
            pick: 20 + u16::from(what),
            what,
            payload,
        });
        commands.push(Add {
            pick: 10,
            shape: 13,
            payload,
        });
        commands.push(Remove {
            pick: 10,
            shape: 13,
        });
    }
    let mut ops = vec![WorldOp::Reserve { len: 3 }, WorldOp::Script { key: 128 }];
    ops.extend(commands.into_iter().map(WorldOp::Command));
    ops
}

#[test]
fn users_code_that_panics_in_a_flush_stops_nothing() {
    // One thread records and flushes, or several; each call panics with one of the two.
    for (threads, together, on) in [(0, false, false), (1, true, true)] {
        for j in (u8::from(on)..48).step_by(2) {
            let mut ops = Vec::new();
            let mut of_world = |op| ops.push((0, op));
            of_world(WorldOp::Forks { on });
            begin().into_iter().for_each(&mut of_world);
            recorded().into_iter().for_each(&mut of_world);
            of_world(WorldOp::Record { threads, together });
            of_world(WorldOp::Flush { fuse: 0x80 | j });
            of_world(WorldOp::Flush { fuse: 0 });
            recorded().into_iter().for_each(&mut of_world);
            of_world(WorldOp::Record { threads, together });
            // With the world.
            of_world(WorldOp::Renew { fuse: 0x80 | j });
            run(&ops, together);
        }
    }
}

/// No closure is recorded, so the naive world knows what each entity may be.
#[test]
fn who_finds_no_chunk_in_a_flush_is_as_he_was_or_as_he_is_to_be() {
    use CommandOp::*;
    let batch = |(shape, len)| WorldOp::CreateBatch {
        shape,
        payload: 7,
        len,
        fuse: 0,
    };
    let payload = 5;
    let add = |(pick, shape)| Add {
        pick,
        shape,
        payload,
    };
    let mut commands: Vec<CommandOp> = [19, 20].map(|shape| Create { shape, payload }).into();
    commands.extend(
        [
            (0, 19),
            (3, 13),
            (1, 20),
            (11, 20),
            (12, 19),
            (20, 19),
            (21, 3),
        ]
        .map(add),
    );
    commands.extend([
        CreateBatch {
            shape: 19,
            payload,
            len: 30,
        },
        Build {
            pick: 28,
            shape: 19,
            payload,
        },
        add((0x8000, 13)),
        add((0x8003, 20)),
        Enable {
            pick: 20,
            which: 0,
            on: false,
        },
        Remove { pick: 22, shape: 1 },
        Swap {
            pick: 25,
            gone: 3,
            come: 20,
            payload,
        },
        SetShared { pick: 26, payload },
        Destroy { pick: 4 },
        Destroy { pick: 29 },
    ]);
    for on in [false, true] {
        for j in 0..12 {
            let mut ops = vec![WorldOp::Forks { on }];
            ops.extend([(2, 10), (0, 10), (14, 5), (19, 3)].map(batch));
            ops.extend([WorldOp::Reserve { len: 3 }, WorldOp::Script { key: 128 }]);
            ops.extend(commands.iter().copied().map(WorldOp::Command));
            ops.push(WorldOp::Record {
                threads: 0,
                together: false,
            });
            ops.push(WorldOp::Flush { fuse: 0x80 | j });
            ops.push(WorldOp::Flush { fuse: 0 });
            let ops: Vec<_> = ops.into_iter().map(|op| (0, op)).collect();
            run(&ops, on);
        }
    }
}

/// No copy is to be made, so nothing is recorded: the flush after that lets the shared value go.
#[test]
fn what_a_recorder_only_named_goes_with_the_next_flush() {
    let (small, team) = (1 << 0, 1 << 9);
    let copies = CommandOp::CreateCopies {
        kinds: small | team,
        payload: 0,
        len: 0,
        how: 1,
    };
    let mut ops = vec![WorldOp::Script { key: 128 }, WorldOp::Command(copies)];
    ops.push(WorldOp::Record {
        threads: 0,
        together: false,
    });
    ops.push(WorldOp::Flush { fuse: 0 });
    let ops: Vec<_> = ops.into_iter().map(|op| (0, op)).collect();
    run(&ops, true);
}
