//! `SavedResource`: a resource that a file has, for who looks at it before anything is loaded.

use crate::entity::EntityMap;
use crate::fragment::{Plain, are_others, read_plain};
use crate::world::snapshot::besides::SavedBesides;
use crate::world::snapshot::{SnapshotError, SnapshotSummary};

/// Bytes of a value that closures may have written, at most, that a summary keeps: what they write may be all of a terrain.
const KEPT: usize = 64 << 10;

/// A resource of a world in a file: a copy of what its directory has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SavedResource {
    /// The number of the world.
    world: usize,
    /// What its type is called.
    name: Box<str>,
    /// 0: not known.
    shape: u64,
    /// `None` if they are [too many](KEPT).
    bytes: Option<Box<[u8]>>,
    /// Where they begin in the file.
    at: u64,
}

impl SavedResource {
    /// Those of a world with this number.
    pub(super) fn all_of(world: usize, besides: &SavedBesides<'_>) -> impl Iterator<Item = Self> {
        let resources = besides.told_resources();
        resources.map(move |(name, shape, bytes, at)| Self {
            world,
            name: name.into(),
            shape,
            bytes: (shape != 0 || bytes.len() <= KEPT).then(|| bytes.into()),
            at,
        })
    }

    /// The value, if it is one, and was one of this type.
    fn value<T: Plain>(&self) -> Result<T, SnapshotError> {
        let read = match &self.bytes {
            None => Err("a summary keeps no more than 64 KiB of what has no shape".into()),
            Some(bytes) if bytes.len() == size_of::<T>() && are_others(self.shape, T::SHAPE) => {
                Err(
                    "its fields are others than when it was saved, though its size is the same"
                        .into(),
                )
            }
            // Handles are those of the file.
            Some(bytes) => read_plain(bytes, &EntityMap::default().keeping_others()),
        };
        read.map_err(|reason| SnapshotError::StateNotRead {
            name: self.name.clone(),
            at: self.at,
            reason: reason.to_string().into(),
        })
    }
}

impl SnapshotSummary {
    /// The resource of the type that has this name as [part of the
    /// state](crate::fragment::FragmentRegistry::register_state_as), of the first world that has one, read before anything is
    /// loaded: for a menu that shows what each save is, or a number that says which version of the program has written it.
    /// `None` if there is none.
    ///
    /// Its size and its [shape](Plain::SHAPE), where both are known, must be `T`'s, and its bytes [a value](Plain::IS_VALUE).
    /// Which of them a type [writes by closures](crate::fragment::FragmentRegistry::register_state_with) nobody can see: of
    /// such a one, ask for as many bytes as it writes; of what has no shape, a summary keeps no more than 64 KiB. Handles in it are those of the file. (A summary that was made by
    /// `serde` has no resources.) O(resources).
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::world::SnapshotSummary;
    ///
    /// /// What a menu shows of a save.
    /// #[derive(Clone, Copy, Debug, PartialEq)]
    /// #[repr(C)]
    /// struct Card { version: u32, level: u32, seconds: u64 }
    /// megachunk::plain!(Card { version, level, seconds });
    ///
    /// let mut world = World::new();
    /// world.registry().register_state_as::<Card>("card")?;
    /// let card = Card { version: 3, level: 12, seconds: 40_000 };
    /// world.resources_mut().insert(card);
    /// let file = world.to_snapshot(&Default::default())?;
    ///
    /// // `SnapshotSummary::read` does it of a file, of which it reads no entities.
    /// let summary = SnapshotSummary::of(&file)?;
    /// assert_eq!(summary.resource::<Card>("card").transpose()?, Some(card));
    /// assert_eq!(summary.resource::<u32>("seed"), None);
    /// assert!(summary.resource::<u32>("card").is_some_and(|card| card.is_err()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SnapshotError::StateNotRead`]: it is no `T`.
    #[must_use]
    pub fn resource<T: Plain>(&self, name: &str) -> Option<Result<T, SnapshotError>> {
        let mut resources = self.resources.iter();
        let found = resources.find(|resource| *resource.name == *name);
        found.map(SavedResource::value)
    }

    /// The [resource](Self::resource) of one of several worlds, by the place that it had among those that were [saved
    /// together](crate::world::World::save_worlds). `None`, too, if there is no such world.
    ///
    /// # Errors
    /// [`SnapshotError::StateNotRead`]: it is no `T`.
    #[must_use]
    pub fn resource_of<T: Plain>(
        &self,
        world: usize,
        name: &str,
    ) -> Option<Result<T, SnapshotError>> {
        let mut resources = self.resources.iter();
        let found = resources.find(|of| of.world == world && *of.name == *name);
        found.map(SavedResource::value)
    }
}
