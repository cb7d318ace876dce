//! `Observed`: the kinds of change that can be observed.

use core::fmt;
use core::ops::{BitOr, BitOrAssign};

use crate::world::watch::{ADDED, CREATED, DESTROYED, REMOVED, SET};

/// Kinds of change, one or several: `Observed::CREATE | Observed::ADD`.
///
/// Each entity has one kind in one change. One that is created with a fragment is *created*, and does not get
/// it added; one that dies is *destroyed*, and its fragments are not removed. Only that a value was [set](Self::SET) is
/// told besides, of whoever came and of others.
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
    /// fragment that is there is no such change, but one of [`SET`](Self::SET).
    pub const ADD: Self = Self(ADDED);
    /// Entities lose the fragment next. Its values are still there.
    pub const REMOVE: Self = Self(REMOVED);
    /// Entities were given a value of the fragment, after [`CREATE`](Self::CREATE) and [`ADD`](Self::ADD) of the same
    /// change, whose entities are among them: all that are created with it, or get it, and those that had it and are
    /// given another, or an equal one. With [`GO`](Self::GO) that is what it takes to keep something in step with the
    /// values: an index, a body in a physics engine. (Of an observer without a filter: who comes to match one, or matches it
    /// no more, is not told of. Nor is a switch, nor a world that [goes back in place](crate::world::Checkpoints): make the
    /// index anew then.) The value that was there before is gone by then.
    ///
    /// *Given* is what a call or a command names: creation, and who comes from another world, builds, clones;
    /// [`add`](crate::world::World::add), [`swap`](crate::world::World::swap), `set_shared`, of one, of a slice, of a
    /// query; what comes as it is [required](crate::fragment::FragmentRegistry::require). Of what goes and comes
    /// in one flush, the last value. Values that are written in place are not given: what a processor, an observer,
    /// [`get_mut`](crate::world::World::get_mut) or a resource's owner changes through `&mut` is found by
    /// [`Changed`](crate::query::Changed). Nor is anybody told of a [load](crate::world::World::load), as of all that it
    /// brings.
    ///
    /// A shared value is given also if it is an equal one. A tag has no value, a chunk's fragment is not the entity's, and a
    /// const shared one never changes: they are set when they come (the last also if it goes and comes again in one flush).
    #[doc(alias = "OnInsert")]
    #[doc(alias = "Insert")]
    #[doc(alias = "OnSet")]
    pub const SET: Self = Self(SET);
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
            (Self::SET, "set"),
        ];
        let names = names.into_iter().filter(|(kind, _)| self.contains(*kind));
        f.debug_set().entries(names.map(|(_, name)| name)).finish()
    }
}
