//! Operations made up from bytes, for the fuzz targets `structural` and `commands`, and for the test that runs their seeds.
//! Arguments are little-endian, payloads are bytes; those that are missing at the end are 0.
//!
//! An operation is named by a number. A new one comes last, and no byte that named another one before, or its arguments,
//! may come to mean something else by that, but the very byte that is its number: the seeds of `fuzz/corpus`, and what
//! fuzzers have found, name operations so. Hence bytes that are no number stand for one of the first, [as they did when
//! there were no more](op_number).

use std::iter::Copied;
use std::slice;

use crate::world_commands::CommandOp;
use crate::world_more::MoreOp;
use crate::world_more_bytes::{MORE_COMMANDS, MORE_OPS};
use crate::world_more_commands::MoreCommand;
use crate::world_ops::{WorldOp, run, run_ordered};

/// What is left of an input.
pub(crate) type Bytes<'a> = Copied<slice::Iter<'a, u8>>;

/// How many operations there are.
pub(crate) const OPS: u8 = MORE + MORE_OPS;
/// How many commands.
pub(crate) const COMMANDS: u8 = MORE_COMMAND + MORE_COMMANDS;
/// The first of those in `world_more.rs`.
const MORE: u8 = 52;
/// The same of commands, in `world_more_commands.rs`.
const MORE_COMMAND: u8 = 18;
/// The first of those that are about recorders.
const SCRIPT: u8 = 43;
const COMMAND: u8 = 44;
const RECORD: u8 = 45;
const FLUSH: u8 = 46;

/// More operations, or more entities, say nothing that fewer do not, and take longer: what is compared after
/// each operation grows with them. Enough to fill a chunk of all fragments but the smallest.
const STRUCTURAL_OPS: usize = 32;
const STRUCTURAL_ENTITIES: usize = 400;
/// As above, where most operations record and compare nothing.
const COMMANDS_OPS: usize = 96;
const COMMANDS_ENTITIES: usize = 600;

/// What an input says: operations, and how they are run.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) ordered: bool,
    /// With observers of the worlds.
    pub(crate) heard: bool,
    pub(crate) ops: Vec<(u8, WorldOp)>,
}

impl Input {
    /// Runs it.
    ///
    /// # Panics
    /// As soon as the worlds and the model disagree.
    pub(crate) fn run(&self) {
        match self.ordered {
            false => run(&self.ops, self.heard),
            true => run_ordered(&self.ops, self.heard),
        }
    }
}

/// Any operations; the format of `bytes` stands in the target `structural`. `note` gets the number of each, and that of a
/// command. What is left of `bytes` says nothing.
pub(crate) fn structural(
    bytes: &mut Bytes<'_>,
    note: impl FnMut((u8, Option<u8>)),
) -> Option<Input> {
    let most = (STRUCTURAL_OPS, STRUCTURAL_ENTITIES);
    input(bytes, most, note, |first, _| op_number(first & 0x7f))
}

/// Recorders' operations, and seldom others; the format of `bytes` stands in the target `commands`. As above.
pub(crate) fn commands(bytes: &mut Bytes<'_>, note: impl FnMut((u8, Option<u8>))) -> Option<Input> {
    let most = (COMMANDS_OPS, COMMANDS_ENTITIES);
    input(bytes, most, note, |first, bytes| match first & 0x3f {
        0..32 => COMMAND,
        32..40 => SCRIPT,
        40..45 => RECORD,
        45..50 => FLUSH,
        _ => op_number(bytes.next().unwrap_or(0)),
    })
}

fn input(
    bytes: &mut Bytes<'_>,
    (most_ops, most_entities): (usize, usize),
    mut note: impl FnMut((u8, Option<u8>)),
    number: impl Fn(u8, &mut Bytes<'_>) -> u8,
) -> Option<Input> {
    let how = bytes.next()?;
    let mut ops = Vec::new();
    let mut created = 0;
    while ops.len() < most_ops && created < most_entities {
        let Some(first) = bytes.next() else {
            break;
        };
        let number = number(first, bytes);
        let command = bytes.clone().next().map_or(0, command_number);
        note((number, (number == COMMAND).then_some(command)));
        let op = op(number, bytes);
        created += entities(op);
        ops.push((first >> 7, op));
    }
    Some(Input {
        ordered: how & 1 != 0,
        heard: how & 2 != 0,
        ops,
    })
}

/// The number of an operation that a byte stands for.
fn op_number(byte: u8) -> u8 {
    if byte < OPS { byte } else { byte % 49 }
}

/// The number of a command that a byte stands for.
fn command_number(byte: u8) -> u8 {
    if byte < COMMANDS { byte } else { byte % 18 }
}

/// The operation with this number, below [`OPS`].
fn op(number: u8, bytes: &mut Bytes<'_>) -> WorldOp {
    if number == COMMAND {
        return WorldOp::Command(command(bytes));
    }
    let mut byte = || bytes.next().unwrap_or(0);
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
        49 => WorldOp::Forks {
            on: byte() % 2 == 1,
        },
        50 => WorldOp::Since {
            which: byte(),
            back: byte(),
        },
        51 => WorldOp::Reload { how: byte() },
        MORE..OPS => WorldOp::More(MoreOp::made(number - MORE, &mut byte)),
        _ => unreachable!("there are {OPS} operations"),
    }
}

fn command(bytes: &mut Bytes<'_>) -> CommandOp {
    let mut byte = || bytes.next().unwrap_or(0);
    let number = command_number(byte());
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
        MORE_COMMAND.. => {
            CommandOp::More(MoreCommand::made(number - MORE_COMMAND, &mut byte, pick))
        }
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
fn entities(op: WorldOp) -> usize {
    match op {
        WorldOp::CreateBatch { len, .. }
        | WorldOp::CreateCopies { len, .. }
        | WorldOp::Command(
            CommandOp::CreateBatch { len, .. } | CommandOp::CreateCopies { len, .. },
        ) => len.into(),
        WorldOp::More(more) => more.entities(),
        _ => 0,
    }
}
