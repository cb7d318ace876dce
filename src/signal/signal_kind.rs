//! `SignalKind`: what a world says of one of its signals.

use core::any::TypeId;
use core::fmt;

use crate::signal::kind::Kind;
use crate::signal::post::Post;
use crate::world::World;

/// One of the kinds of signals that a world has: from [`World::signal_kinds`].
#[derive(Clone, Copy)]
pub struct SignalKind<'w>(&'w Kind);

impl<'w> SignalKind<'w> {
    /// What it is called; `None` if it is known by what it carries ([`World::signal_of`]).
    #[must_use]
    pub fn name(&self) -> Option<&'w str> {
        self.0.name.as_deref()
    }

    /// The type of what it carries.
    #[must_use]
    pub fn payload(&self) -> TypeId {
        self.0.payload
    }

    /// The name of that type, as [`core::any::type_name`] gives it.
    #[must_use]
    pub fn payload_name(&self) -> &'static str {
        self.0.payload_name
    }
}

impl fmt::Debug for SignalKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignalKind")
            .field("name", &self.name())
            .field("payload", &self.payload_name())
            .finish()
    }
}

impl World {
    /// The kinds of signals that somebody has asked for, in the order in which they were: for who knows none of them
    /// beforehand, as an editor that lists them. Any thread. O(signals of the world).
    ///
    /// ```
    /// use core::any::TypeId;
    /// use megachunk::prelude::*;
    ///
    /// let world = World::new();
    /// let _ = world.signal::<u32>("door opened")?;
    /// let _ = world.signal_of::<char>();
    /// let kinds: Vec<_> = world.signal_kinds().map(|kind| (kind.name(), kind.payload_name())).collect();
    /// assert_eq!(kinds, [(Some("door opened"), "u32"), (None, "char")]);
    /// assert!(world.signal_kinds().any(|kind| kind.payload() == TypeId::of::<char>()));
    /// # Ok::<(), SignalError>(())
    /// ```
    pub fn signal_kinds(&self) -> impl ExactSizeIterator<Item = SignalKind<'_>> {
        let kinds = Post::of(self).kinds_by_number();
        kinds.into_iter().map(SignalKind)
    }
}
