//! `SnapshotOptions`: which fragments and resources belong to the state of a world, and whether a file says who is dead.

use core::any::TypeId;
use std::collections::HashSet;

use crate::archetype::Archetype;
use crate::fragment::{FragmentId, FragmentInfo, FragmentKind, FragmentRegistry, FragmentSet};
use crate::world::World;
use crate::world::snapshot::SnapshotError;

/// Which fragments, and what else, belong to the state of a world that is hashed or saved. All fragments, unless you
/// say otherwise:
/// then one that is not [plain](crate::fragment::Plain), nor [written](FragmentRegistry::register_written_as), is an error, but
/// for tags and chunk fragments in a hash, which only says that they are there.
///
/// What is skipped is as if no entity had it. A file says who is dead, too, [unless](Self::skip_dead) it is to be loaded
/// with new ids only.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// world.registry().register_plain::<u32>()?;
/// world.create((1_u32, String::from("a cache")))?;
/// assert!(world.state_hash().unwrap_err().to_string().contains("String"));
/// let options = SnapshotOptions::new().skip_not_plain();
/// assert!(world.state_hash_with(&options).is_ok());
/// # Ok::<(), WorldError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SnapshotOptions {
    skipped: FragmentSet,
    skip_not_plain: bool,
    skip_dead: bool,
    /// Also of types of which it was said that they are part of the state.
    skipped_resources: Vec<TypeId>,
    skip_resources: bool,
    skip_signals: bool,
}

/// What is asked of a fragment that is not skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Values of entities, and shared ones, are read.
    Hash,
    /// Values come back, of every role: also those of types without bytes.
    Save,
}

impl SnapshotOptions {
    /// All fragments.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Without this fragment.
    #[must_use]
    pub fn skip(mut self, id: FragmentId) -> Self {
        self.skipped.insert(id);
        self
    }

    /// Without all fragments that are not registered as plain data, nor
    /// [written](FragmentRegistry::register_written_as). Tags and chunk fragments stay in a hash, which only
    /// says that they are there; a file would have to make new ones: of one that is not plain either, the world that is
    /// loaded has none, and another hash.
    #[must_use]
    pub fn skip_not_plain(mut self) -> Self {
        self.skip_not_plain = true;
        self
    }

    /// Without the versions of those who are dead, or in other worlds: four bytes for each slot that the universe has
    /// ever used, which a file of few of very many entities consists of. It can only be loaded [with new
    /// ids](World::load_remapped) then: with the old ones a dead handle could come to mean somebody. Says nothing of a
    /// hash.
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::world::SnapshotError;
    ///
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..100_000).map(|_| ()))?;
    /// world.clear();
    /// world.create(())?;
    /// let all = world.to_snapshot(&SnapshotOptions::new())?;
    /// let living = world.to_snapshot(&SnapshotOptions::new().skip_dead())?;
    /// assert!(all.len() > 100_000 && living.len() < 1_000);
    /// let refused = World::from_snapshot(&living, Universe::new()).unwrap_err();
    /// assert_eq!(refused, SnapshotError::DeadSkipped);
    /// let (copy, _) = World::from_snapshot_remapped(&living, world.universe(), &Default::default())?;
    /// assert_eq!(copy.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn skip_dead(mut self) -> Self {
        self.skip_dead = true;
        self
    }

    /// Without the resource of this type, [registered](crate::fragment::FragmentRegistry::register_state) or not.
    #[must_use]
    pub fn skip_resource<R: Send + Sync + 'static>(mut self) -> Self {
        self.skipped_resources.push(TypeId::of::<R>());
        self
    }

    /// Without resources.
    #[must_use]
    pub fn skip_resources(mut self) -> Self {
        self.skip_resources = true;
        self
    }

    /// Without delayed signals: in a file, for a hash has none.
    #[must_use]
    pub fn skip_signals(mut self) -> Self {
        self.skip_signals = true;
        self
    }

    pub(super) fn skips_signals(&self) -> bool {
        self.skip_signals
    }

    pub(super) fn skips_resource(&self, of: TypeId) -> bool {
        self.skip_resources || self.skipped_resources.contains(&of)
    }

    pub(super) fn skips_dead(&self) -> bool {
        self.skip_dead
    }

    /// The same for a world of another registry: there the fragments are skipped that have the names and roles of those
    /// that are skipped here. O(fragments).
    pub(super) fn translated(&self, here: &FragmentRegistry, there: &FragmentRegistry) -> Self {
        let skipped = here.iter().filter(|info| self.skipped.contains(info.id()));
        let skipped: HashSet<_> = skipped.map(key).collect();
        let same = there.iter().filter(|info| skipped.contains(&key(info)));
        Self {
            skipped: same.map(FragmentInfo::id).collect(),
            ..self.clone()
        }
    }

    /// The fragments of an archetype that belong to the state, by name and role.
    pub(super) fn of_archetype<'w>(
        &self,
        world: &'w World,
        archetype: &Archetype,
        purpose: Purpose,
    ) -> Result<Vec<&'w FragmentInfo>, SnapshotError> {
        let mut infos = Vec::with_capacity(archetype.ids.len());
        for &id in &*archetype.ids {
            let Some(info) = world.registry().get(id) else {
                continue;
            };
            if self.skipped.contains(id) {
                continue;
            }
            if readable(info, purpose) {
                infos.push(info);
            } else if !self.skip_not_plain {
                return Err(SnapshotError::NotPlain {
                    name: info.name().into(),
                });
            }
        }
        infos.sort_unstable_by_key(|info| key(info));
        match infos.windows(2).find(|pair| key(pair[0]) == key(pair[1])) {
            None => Ok(infos),
            Some(pair) => Err(SnapshotError::ambiguous(pair[0], pair[1])),
        }
    }
}

/// What a fragment is known by in every program.
fn key(info: &FragmentInfo) -> (&str, FragmentKind) {
    (info.name(), info.kind())
}

/// Whether a fragment's values can be read, or made, byte by byte or as was said of them.
pub(super) fn readable(info: &FragmentInfo, purpose: Purpose) -> bool {
    info.is_plain()
        || info.is_written()
        || match (purpose, info.kind()) {
            // Membership is all that there is to a tag, and where the chunks of a world end is no state.
            (Purpose::Hash, kind) => matches!(kind, FragmentKind::Tag | FragmentKind::Chunk),
            // A value of a type, or one whose end is told to somebody, may mean something, even
            // without bytes: only its owner may make one.
            (Purpose::Save, _) => info.is_name(),
        }
}
