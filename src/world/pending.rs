//! `Pending`: what waits in a world, and is no part of its state yet.

use core::fmt;

use crate::world::World;

/// What waits in a world: [`World::pending`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Pending {
    /// Entities that recorders have created, which join with the next flush.
    pub entities: usize,
    /// Other commands that recorders have left.
    pub commands: usize,
    /// Signals that were sent and not looked at yet, that some reader is still to get, or that wait
    /// for their entity to be built.
    pub signals: usize,
    /// Signals that wait for their time, and calls that were not looked at yet and [cancel](crate::signal::Signals::cancel)
    /// some.
    pub delayed_signals: usize,
}

impl Pending {
    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One line.
impl fmt::Display for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "waiting: {} new entities, {} commands, {} signals, {} delayed signals",
            self.entities, self.commands, self.signals, self.delayed_signals
        )
    }
}

impl World {
    /// What waits to become part of the world, and would not be [saved](Self::save): commands that
    /// recorders have left since the last [flush](Self::flush), and signals. (Of delayed signals those are saved that were
    /// [collected](Self::collect_signals), for entities that are saved, too, and carry what is
    /// [part of the state](crate::fragment::FragmentRegistry::register_state): see [`unsaved`](Self::unsaved).) What recorders and
    /// senders hold back that are open is not counted: what they have recorded and sent themselves,
    /// and what others of their thread have left before [in the same
    /// memory](crate::command::Commands), if they are its third since the last flush, or later
    /// ones. [`FlushReport::open`](crate::command::FlushReport::open) says whether there are such
    /// recorders, and [`Checkpoints`](crate::world::Checkpoints) refuse where there are. Nor is what will never come, because the
    /// world has [gone back](crate::world::Checkpoints::roll_back) meanwhile. Exact while
    /// nobody else records, sends or asks. O(recorders + signals that readers know).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u32,))?;
    /// let mut commands = world.commands();
    /// commands.create((2_u32,))?;
    /// commands.add(ant, ('a',))?;
    /// drop(commands);
    /// let pending = world.pending();
    /// assert_eq!((pending.entities, pending.commands), (1, 1));
    /// println!("{pending}");
    /// assert!(world.flush().is_clean());
    /// assert!(world.pending().is_empty());
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn pending(&self) -> Pending {
        self.pending_and_open().0
    }

    /// The same, and how many recorders are open, about, which may hold more: none only if all was counted that was recorded by
    /// who was opened before.
    pub(super) fn pending_and_open(&self) -> (Pending, usize) {
        let mut pending = Pending {
            delayed_signals: self.come.signals.len(),
            ..Pending::default()
        };
        let open = self
            .attached
            .iter()
            .map(|attached| attached.count_pending(&mut pending));
        let open = open.sum();
        (pending, open)
    }
}
