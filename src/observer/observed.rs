//! `Observed`: the kinds of change that can be observed.

use core::fmt;
use core::ops::{BitOr, BitOrAssign};

use crate::world::watch::{ADDED, CREATED, DESTROYED, REMOVED};

/// Kinds of change, one or several: `Observed::CREATE | Observed::ADD`.
///
/// Each entity has one kind in one change. One that is created with a fragment is *created*, and does not get
/// it added; one that dies is *destroyed*, and its fragments are not removed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[doc(alias = "EMassObservedOperation")]
pub struct Observed(u8);

impl Observed {
    /// Entities with the fragment come to life: created, built, cloned, joined by a flush, come from another
    /// world. All their values are set.
    pub const CREATE: Self = Self(CREATED);
    /// Entities with the fragment die next, or go to another world, of which the batch [knows](super::ObservedBatch::is_move).
    /// Their values are still there.
    pub const DESTROY: Self = Self(DESTROYED);
    /// Entities have got the fragment that did not have it. All their values are set. A new value for a
    /// fragment that is there is no such change.
    pub const ADD: Self = Self(ADDED);
    /// Entities lose the fragment next. Its values are still there.
    pub const REMOVE: Self = Self(REMOVED);
    /// However entities with the fragment come about: [`CREATE`](Self::CREATE) and [`ADD`](Self::ADD).
    #[doc(alias = "Added")]
    #[doc(alias = "OnAdd")]
    pub const COME: Self = Self(CREATED | ADDED);
    /// However they end: [`DESTROY`](Self::DESTROY) and [`REMOVE`](Self::REMOVE).
    #[doc(alias = "Removed")]
    #[doc(alias = "OnRemove")]
    pub const GO: Self = Self(DESTROYED | REMOVED);

    pub(super) fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    pub(super) fn bits(self) -> u8 {
        self.0
    }

    /// Whether all kinds of `other` are among these.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Observed {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Observed {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::CREATE, "create"),
            (Self::DESTROY, "destroy"),
            (Self::ADD, "add"),
            (Self::REMOVE, "remove"),
        ];
        let names = names.into_iter().filter(|(kind, _)| self.contains(*kind));
        f.debug_set().entries(names.map(|(_, name)| name)).finish()
    }
}
