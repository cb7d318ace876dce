//! Operations made up from bytes, for the fuzz targets `structural` and `commands`. Arguments are
//! little-endian, payloads are bytes; those that are missing at the end are 0.

use arbitrary::Unstructured;

use crate::world_commands::CommandOp;
use crate::world_ops::WorldOp;

/// How many operations there are. (A new one comes last: the seeds of `fuzz/corpus` name operations by number.)
pub(crate) const OPS: u8 = 49;
/// The first of those that are about recorders.
pub(crate) const SCRIPT: u8 = 43;
pub(crate) const COMMAND: u8 = 44;
pub(crate) const RECORD: u8 = 45;
pub(crate) const FLUSH: u8 = 46;

/// The operation with this number, below [`OPS`].
pub(crate) fn op(number: u8, bytes: &mut Unstructured<'_>) -> WorldOp {
    if number == COMMAND {
        return WorldOp::Command(command(bytes));
    }
    let mut byte = || bytes.arbitrary::<u8>().unwrap_or(0);
    match number {
        0 => WorldOp::Create {
            shape: byte(),
            payload: byte().into(),
            fuse: byte(),
        },
        1 => WorldOp::CreateBatch {
            shape: byte(),
            payload: byte().into(),
            len: byte().into(),
            fuse: byte(),
        },
        // Over the border of a chunk.
        2 => WorldOp::CreateBatch {
            shape: byte(),
            payload: byte().into(),
            len: 2 * u16::from(byte()),
            fuse: byte(),
        },
        3 => WorldOp::Reserve { len: byte() % 16 },
        4 => WorldOp::Build {
            pick: byte().into(),
            shape: byte(),
            payload: byte().into(),
            fuse: byte(),
        },
        5 => WorldOp::Release {
            pick: byte().into(),
        },
        6 => WorldOp::Destroy {
            pick: u16::from_le_bytes([byte(), byte()]),
            fuse: byte(),
        },
        7 => WorldOp::DestroySlice {
            pick: u16::from_le_bytes([byte(), byte()]),
            len: byte(),
            stride: byte(),
            fuse: byte(),
        },
        8 => WorldOp::Add {
            pick: byte().into(),
            shape: byte(),
            payload: byte().into(),
            fuse: byte(),
        },
        9 => WorldOp::AddSlice {
            pick: byte().into(),
            len: byte(),
            stride: byte(),
            shape: byte(),
            payload: byte().into(),
            fuse: byte(),
        },
        10 => WorldOp::Remove {
            pick: byte().into(),
            shape: byte(),
            fuse: byte(),
        },
        11 => WorldOp::RemoveSlice {
            pick: byte().into(),
            len: byte(),
            stride: byte(),
            shape: byte(),
        },
        12 => WorldOp::Swap {
            pick: byte().into(),
            gone: byte(),
            come: byte(),
            payload: byte().into(),
            fuse: byte(),
        },
        13 => WorldOp::SetShared {
            pick: byte().into(),
            payload: byte().into(),
        },
        14 => WorldOp::Enable {
            pick: byte().into(),
            which: byte(),
            on: byte() % 2 == 1,
        },
        15 => WorldOp::Clone {
            pick: byte().into(),
            fuse: byte(),
        },
        16 => WorldOp::GetMut {
            pick: byte().into(),
            which: byte(),
            payload: byte().into(),
        },
        17 => WorldOp::SetChunkFragment {
            pick: byte().into(),
            payload: byte().into(),
        },
        18 => WorldOp::Query {
            which: byte(),
            way: byte(),
        },
        19 => WorldOp::Interrupt {
            which: byte(),
            fuse: byte(),
        },
        20 => WorldOp::Chunks,
        21 => WorldOp::Watch,
        22 => WorldOp::Forged {
            index: byte().into(),
            version: byte().into(),
        },
        23 => WorldOp::Clear { fuse: byte() },
        24 => WorldOp::Trim,
        25 => WorldOp::ChunkSize { chunks: byte() },
        26 => WorldOp::Renew { fuse: byte() },
        27 => WorldOp::QueryAdd {
            which: byte(),
            shape: byte(),
            payload: byte().into(),
            fuse: byte(),
        },
        28 => WorldOp::QueryRemove {
            which: byte(),
            shape: byte(),
        },
        29 => WorldOp::QuerySwap {
            gone: byte(),
            come: byte(),
            payload: byte().into(),
        },
        30 => WorldOp::QueryDestroy {
            which: byte(),
            fuse: byte(),
        },
        31 => WorldOp::QueryShare {
            which: byte(),
            payload: byte().into(),
        },
        32 => WorldOp::QueryMove { which: byte() },
        33 => WorldOp::MoveSlice {
            pick: u16::from_le_bytes([byte(), byte()]),
            len: byte(),
            stride: byte(),
            fuse: byte(),
        },
        34 => WorldOp::MoveArchetype { shape: byte() },
        35 => WorldOp::MoveAll,
        36 => WorldOp::CreateDynamic {
            kinds: u16::from_le_bytes([byte(), byte()]),
            payload: byte().into(),
            fuse: byte(),
        },
        37 => WorldOp::BuildDynamic {
            pick: byte().into(),
            kinds: u16::from_le_bytes([byte(), byte()]),
            payload: byte().into(),
            fuse: byte(),
        },
        38 => WorldOp::AddDynamic {
            pick: byte().into(),
            kinds: u16::from_le_bytes([byte(), byte()]),
            payload: byte().into(),
            fuse: byte(),
        },
        39 => WorldOp::RemoveDynamic {
            pick: byte().into(),
            kinds: u16::from_le_bytes([byte(), byte()]),
            fuse: byte(),
        },
        40 => WorldOp::Compact { budget: byte() },
        41 => WorldOp::Collect,
        42 => WorldOp::Snapshot,
        SCRIPT => WorldOp::Script { key: byte() },
        RECORD => {
            let how = byte();
            WorldOp::Record {
                threads: how >> 1,
                together: how & 1 == 1,
            }
        }
        FLUSH => WorldOp::Flush { fuse: byte() },
        47 => WorldOp::CreateCopies {
            kinds: u16::from_le_bytes([byte(), byte()]),
            payload: byte().into(),
            len: 2 * u16::from(byte()),
            fuse: byte(),
        },
        48 => WorldOp::Take {
            pick: byte().into(),
            which: byte(),
            fuse: byte(),
        },
        _ => unreachable!("there are {OPS} operations"),
    }
}

fn command(bytes: &mut Unstructured<'_>) -> CommandOp {
    let mut byte = || bytes.arbitrary::<u8>().unwrap_or(0);
    let number = byte() % 18;
    // Sixteen of the recorder's own, or some of all.
    let pick = |byte| match byte {
        own @ 240.. => 0x8000 | u16::from(own - 240),
        pick => u16::from(pick),
    };
    match number {
        0 => CommandOp::Create {
            shape: byte(),
            payload: byte().into(),
        },
        1 => CommandOp::CreateBatch {
            shape: byte(),
            payload: byte().into(),
            len: byte().into(),
        },
        // Over the border of a chunk.
        2 => CommandOp::CreateBatch {
            shape: byte(),
            payload: byte().into(),
            len: 16 * u16::from(byte()),
        },
        3 => CommandOp::Build {
            pick: pick(byte()),
            shape: byte(),
            payload: byte().into(),
        },
        4 => CommandOp::Write {
            pick: pick(byte()),
            payload: byte().into(),
        },
        5 => CommandOp::Destroy { pick: pick(byte()) },
        6 => CommandOp::Add {
            pick: pick(byte()),
            shape: byte(),
            payload: byte().into(),
        },
        7 => CommandOp::Set {
            pick: pick(byte()),
            which: byte(),
            payload: byte().into(),
        },
        8 => CommandOp::Remove {
            pick: pick(byte()),
            shape: byte(),
        },
        9 => CommandOp::Swap {
            pick: pick(byte()),
            gone: byte(),
            come: byte(),
            payload: byte().into(),
        },
        10 => CommandOp::SetShared {
            pick: pick(byte()),
            payload: byte().into(),
        },
        11 => CommandOp::Defer {
            pick: pick(byte()),
            what: byte(),
            payload: byte().into(),
        },
        13 => CommandOp::Enable {
            pick: pick(byte()),
            which: byte(),
            on: byte() % 2 == 1,
        },
        14 => CommandOp::CreateDynamic {
            kinds: u16::from_le_bytes([byte(), byte()]),
            payload: byte().into(),
        },
        15 => CommandOp::BuildDynamic {
            pick: pick(byte()),
            kinds: u16::from_le_bytes([byte(), byte()]),
            payload: byte().into(),
        },
        16 => CommandOp::AddDynamic {
            pick: pick(byte()),
            kinds: u16::from_le_bytes([byte(), byte()]),
            payload: byte().into(),
        },
        17 => CommandOp::RemoveDynamic {
            pick: pick(byte()),
            kinds: u16::from_le_bytes([byte(), byte()]),
        },
        _ => CommandOp::CreateCopies {
            kinds: u16::from_le_bytes([byte(), byte()]),
            // Few prototypes, so that some are copied again and again.
            payload: u32::from(byte() % 4),
            how: byte(),
            len: 2 * u16::from(byte()),
        },
    }
}

/// Entities that an operation creates, if they are many.
pub(crate) fn entities(op: WorldOp) -> usize {
    match op {
        WorldOp::CreateBatch { len, .. }
        | WorldOp::CreateCopies { len, .. }
        | WorldOp::Command(
            CommandOp::CreateBatch { len, .. } | CommandOp::CreateCopies { len, .. },
        ) => len.into(),
        _ => 0,
    }
}
