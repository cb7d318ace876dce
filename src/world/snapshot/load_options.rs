//! `LoadOptions`: what of a snapshot does not come, and of what it is not asked which fields it had.

use std::collections::BTreeSet;

/// What is left out of a snapshot that is loaded, by name, and what is taken though its fields seem to have changed. All
/// comes, and nothing else is taken, unless you say otherwise.
///
/// What is skipped is as if nobody had had it when the world was saved: it need not be registered, and its values are read
/// past. Entities that only that told apart have one composition then, and lie in chunks of their own no longer; the chunks
/// of those who had it are as long as the rest needs, or as the world's were [set](crate::world::World::set_chunk_size). (A world that comes without something does not [go
/// on](crate::world::World::save) as the saved one.) A name that the snapshot does not have is no error: a program says
/// here what it had once.
///
/// ```
/// use megachunk::prelude::*;
///
/// # #[derive(Clone, Copy)]
/// # #[repr(C)]
/// # struct Grid { width: u32 }
/// # megachunk::plain!(Grid { width });
/// # let mut then = World::new();
/// # then.registry().register_plain_as::<u32>("health")?;
/// # then.registry().register_plain_as::<f32>("mana")?;
/// # then.registry().register_state_as::<Grid>("grid")?;
/// # let ant = then.create((7_u32, 0.5_f32))?;
/// # then.resources_mut().insert(Grid { width: 3 });
/// # let file = then.to_snapshot(&Default::default())?;
/// // A program that has no mana any more, nor a grid.
/// let universe = || -> Result<Universe, WorldError> {
///     let universe = Universe::new();
///     universe.registry().register_plain_as::<u32>("health")?;
///     Ok(universe)
/// };
/// assert!(World::from_snapshot(&file, universe()?).is_err());
/// let options = LoadOptions::new().skip("mana").skip_state("grid");
/// let world = World::from_snapshot_with(&file, universe()?, &options)?;
/// assert_eq!(world.get::<u32>(ant)?, &7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    skipped: BTreeSet<Box<str>>,
    skipped_states: BTreeSet<Box<str>>,
    ignored_fields: BTreeSet<Box<str>>,
}

impl LoadOptions {
    /// All that there is, as it is.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Without the fragments of this name, in whatever role, registered or not.
    #[must_use]
    pub fn skip(mut self, name: &str) -> Self {
        self.skipped.insert(name.into());
        self
    }

    /// Without the resource of the type that has this name as [part of the
    /// state](crate::fragment::FragmentRegistry::register_state), and without delayed signals that carry such a value.
    #[must_use]
    pub fn skip_state(mut self, name: &str) -> Self {
        self.skipped_states.insert(name.into());
        self
    }

    /// Values of fragments, and of types of the state, that have this name are taken as they are if their size and alignment
    /// are right, whatever [fields](crate::fragment::Plain::SHAPE) they had: where a field has only got another name, or an
    /// enum another variant. Which bytes are a value is asked all the same.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// # mod then {
    /// #     #[derive(Clone, Copy)]
    /// #     #[repr(C)]
    /// #     pub(super) struct Health { pub(super) points: u32 }
    /// #     megachunk::plain!(Health { points });
    /// # }
    /// # let mut world = World::new();
    /// # world.registry().register_plain_as::<then::Health>("health")?;
    /// # let ant = world.create((then::Health { points: 7 },))?;
    /// # let file = world.to_snapshot(&Default::default())?;
    /// /// `now` was called `points` when the file was saved.
    /// #[derive(Clone, Copy)]
    /// #[repr(C)]
    /// struct Health { now: u32 }
    /// megachunk::plain!(Health { now });
    ///
    /// let universe = Universe::new();
    /// universe.registry().register_plain_as::<Health>("health")?;
    /// let options = LoadOptions::new().ignore_fields("health");
    /// let world = World::from_snapshot_with(&file, universe, &options)?;
    /// assert_eq!(world.get::<Health>(ant)?.now, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn ignore_fields(mut self, name: &str) -> Self {
        self.ignored_fields.insert(name.into());
        self
    }

    pub(super) fn skips(&self, name: &str) -> bool {
        self.skipped.contains(name)
    }

    pub(super) fn skips_state(&self, name: &str) -> bool {
        self.skipped_states.contains(name)
    }

    pub(super) fn ignores_fields(&self, name: &str) -> bool {
        self.ignored_fields.contains(name)
    }
}
