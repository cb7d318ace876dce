//! The operations of `world_more.rs` and `world_more_commands.rs` made up from bytes, as `world_bytes.rs` does it with the
//! others.

use crate::world_more::MoreOp;
use crate::world_more_commands::MoreCommand;

/// How many operations there are here.
pub(crate) const MORE_OPS: u8 = 23;

impl MoreOp {
    /// The operation with this number, below [`MORE_OPS`], made up from bytes.
    pub(crate) fn made(number: u8, byte: &mut impl FnMut() -> u8) -> Self {
        fn two(byte: &mut impl FnMut() -> u8) -> u16 {
            u16::from_le_bytes([byte(), byte()])
        }
        match number {
            0 => Self::Name {
                pick: byte().into(),
                which: byte(),
            },
            1 => Self::Unname {
                pick: byte().into(),
            },
            2 => Self::Template {
                which: byte(),
                payload: byte().into(),
            },
            3 => Self::BuildClone {
                pick: byte().into(),
                of: byte().into(),
                fuse: byte(),
            },
            4 => Self::CloneMany {
                pick: byte().into(),
                len: byte().into(),
                fuse: byte(),
            },
            5 => Self::BuildCopy {
                pick: byte().into(),
                kinds: two(byte),
                payload: byte().into(),
                fuse: byte(),
            },
            6 => Self::SwapSlice {
                pick: byte().into(),
                len: byte(),
                stride: byte(),
                gone: byte(),
                come: byte(),
                payload: byte().into(),
            },
            7 => Self::AddSliceDynamic {
                pick: byte().into(),
                len: byte(),
                stride: byte(),
                kinds: two(byte),
                payload: byte().into(),
            },
            8 => Self::RemoveSliceDynamic {
                pick: byte().into(),
                len: byte(),
                stride: byte(),
                kinds: two(byte),
            },
            9 => Self::SwapSliceDynamic {
                pick: byte().into(),
                len: byte(),
                stride: byte(),
                gone: two(byte),
                come: two(byte),
                payload: byte().into(),
            },
            10 => Self::SwapDynamic {
                pick: byte().into(),
                gone: two(byte),
                come: two(byte),
                payload: byte().into(),
                fuse: byte(),
            },
            11 => Self::RemoveRole {
                pick: byte().into(),
                which: byte(),
            },
            12 => Self::EnableDynamic {
                pick: byte().into(),
                which: byte(),
                on: byte() % 2 == 1,
            },
            13 => Self::Disjoint {
                picks: [byte(), byte(), byte()].map(u16::from),
                payload: byte().into(),
            },
            14 => Self::MoveOne {
                pick: byte().into(),
                fuse: byte(),
            },
            15 => Self::QueryIn {
                which: byte(),
                way: byte(),
                pick: byte().into(),
                len: byte(),
                stride: byte(),
            },
            16 => Self::QueryDynamic {
                with: two(byte),
                without: two(byte),
                way: byte(),
            },
            17 => Self::Require { which: byte() },
            18 => Self::AddRequired { fuse: byte() },
            19 => Self::OfTemplate {
                kinds: two(byte),
                payload: byte().into(),
                len: byte().into(),
                fuse: byte(),
            },
            20 => Self::Groups {
                pick: byte().into(),
                len: byte() % 8,
                stride: byte(),
                count: byte() % 16,
                fuse: byte(),
            },
            21 => Self::RollBack {
                pick: byte().into(),
                kinds: two(byte),
                payload: byte().into(),
            },
            22 => Self::Load {
                left_out: two(byte),
                how: byte(),
            },
            _ => unreachable!("there are {MORE_OPS} operations"),
        }
    }

    /// Entities that it creates, if they are many.
    pub(crate) fn entities(self) -> usize {
        match self {
            Self::CloneMany { len, .. } | Self::OfTemplate { len, .. } => len.into(),
            Self::Groups { len, count, .. } => usize::from(len) * usize::from(count),
            _ => 0,
        }
    }
}

/// How many calls there are here.
pub(crate) const MORE_COMMANDS: u8 = 6;

impl MoreCommand {
    /// The call with this number, below [`MORE_COMMANDS`], made up from bytes; `pick` makes a pick of one.
    pub(crate) fn made(
        number: u8,
        byte: &mut impl FnMut() -> u8,
        pick: impl Fn(u8) -> u16,
    ) -> Self {
        match number {
            0 => Self::Clone { pick: pick(byte()) },
            1 => Self::BuildCopy {
                pick: pick(byte()),
                kinds: u16::from_le_bytes([byte(), byte()]),
                payload: u32::from(byte() % 4),
            },
            2 => Self::Reserve { len: byte() % 8 },
            3 => Self::SwapDynamic {
                pick: pick(byte()),
                gone: u16::from_le_bytes([byte(), byte()]),
                come: u16::from_le_bytes([byte(), byte()]),
                payload: byte().into(),
            },
            4 => Self::RemoveRole {
                pick: pick(byte()),
                which: byte(),
            },
            5 => Self::OfTemplate {
                kinds: u16::from_le_bytes([byte(), byte()]),
                payload: u32::from(byte() % 4),
            },
            _ => unreachable!("there are {MORE_COMMANDS} calls"),
        }
    }
}
