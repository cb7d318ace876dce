//! `NetModes`: where processors run: on a server, on a client, alone.

use core::fmt;
use core::ops::{BitOr, BitOrAssign};

/// A set of net modes, the parts that a program can play in a networked simulation. A
/// [schedule](crate::processor::Schedule::set_net_modes) is in some; a
/// [processor](crate::processor::ProcessorBuilder::net_modes) runs where it has one in common with its schedule.
/// (The role of a type is something else: [`FragmentKind`](crate::fragment::FragmentKind).)
///
/// ```
/// use megachunk::processor::NetModes;
///
/// let decides = NetModes::SERVER | NetModes::STANDALONE;
/// assert!(decides.intersects(NetModes::SERVER) && !decides.intersects(NetModes::CLIENT));
/// assert_eq!(format!("{decides:?}"), r#"{"server", "standalone"}"#);
/// ```
///
/// Source: Unreal Mass' execution flags.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[doc(alias = "EProcessorExecutionFlags")]
#[doc(alias = "ExecutionFlags")]
pub struct NetModes(u8);

impl NetModes {
    /// Shows what a server decides.
    pub const CLIENT: Self = Self(1);
    /// Decides.
    pub const SERVER: Self = Self(2);
    /// Does both, for itself.
    pub const STANDALONE: Self = Self(4);
    /// Everywhere.
    pub const ALL: Self = Self(7);

    /// Whether one mode at least is in both.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl Default for NetModes {
    fn default() -> Self {
        Self::ALL
    }
}

impl BitOr for NetModes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for NetModes {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for NetModes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::CLIENT, "client"),
            (Self::SERVER, "server"),
            (Self::STANDALONE, "standalone"),
        ];
        let names = names.into_iter().filter(|(mode, _)| self.intersects(*mode));
        f.debug_set().entries(names.map(|(_, name)| name)).finish()
    }
}
