//! `Roles`: where processors run: on a server, on a client, alone.

use core::ops::{BitOr, BitOrAssign};

/// A set of the parts that a program can play in a networked simulation. A
/// [schedule](crate::processor::Schedule::set_role) plays some; a
/// [processor](crate::processor::ProcessorBuilder::roles) runs where it has one in common with its schedule.
///
/// Source: Unreal Mass' execution flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "EProcessorExecutionFlags")]
#[doc(alias = "ExecutionFlags")]
pub struct Roles(u8);

impl Roles {
    /// Shows what a server decides.
    pub const CLIENT: Self = Self(1);
    /// Decides.
    pub const SERVER: Self = Self(2);
    /// Does both, for itself.
    pub const STANDALONE: Self = Self(4);
    /// Everywhere.
    pub const ALL: Self = Self(7);

    /// Whether one part at least is in both.
    #[must_use]
    pub const fn meet(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl Default for Roles {
    fn default() -> Self {
        Self::ALL
    }
}

impl BitOr for Roles {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Roles {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}
