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
/// What is skipped, or not among what [may be there](Self::only), is as if no entity had it. A file says who is dead, too, [unless](Self::skip_dead) it is to be loaded
/// with new ids only.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// world.registry().register_plain::<u32>()?;
/// world.create((1_u32, String::from("a cache")))?;
/// assert!(world.state_hash(&Default::default()).unwrap_err().to_string().contains("String"));
/// let options = SnapshotOptions::new().skip_not_plain();
/// assert!(world.state_hash(&options).is_ok());
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
    skip_names: bool,
    /// Those that may be there, if it was said which.
    only: Option<FragmentSet>,
    only_resources: Option<Vec<TypeId>>,
    /// What delayed signals carry that may be there.
    only_signals: Option<Vec<TypeId>>,
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

    /// With no other fragments than these; of several calls, than those of all of them. (Those that are
    /// [skipped](Self::skip) are not there all the same.) What somebody registers later, as a plugin next year, is not among
    /// them: so it is with a list of what may be there that a server saves for who joins late, and not with one of what may
    /// not.
    ///
    /// It is said of fragments alone: see [`only_resource`](Self::only_resource), [`only_signals_of`](Self::only_signals_of)
    /// and [`skip_names`](Self::skip_names) for what a file has besides. Entities that have none of the fragments are there,
    /// and have none: who is not to be there at all is not in a [slice](World::slice_to_snapshot). Who lies beside whom is told,
    /// too: those that differ only in what is left out are in chunks of their own in the file, without a name. (Who must not know
    /// who is a traitor gets no such tag's chunks: keep it beside the world, or in a resource.)
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::world::{SnapshotOptions, SnapshotSummary};
    ///
    /// let mut server = World::new();
    /// let registry = server.registry();
    /// let health = registry.register_plain_as::<u32>("health")?.id();
    /// registry.register_plain_as::<i64>("secret")?;
    /// registry.register_state_as::<u16>("round")?;
    /// registry.register_state_as::<u64>("seed")?;
    /// server.create((7_u32, 9_i64))?;
    /// server.resources_mut().insert(3_u16);
    /// server.resources_mut().insert(4_u64);
    ///
    /// // What clients may know.
    /// let options = SnapshotOptions::new()
    ///     .only([health])
    ///     .only_resource::<u16>()
    ///     .skip_signals()
    ///     .skip_names();
    /// let file = server.to_snapshot(&options)?;
    /// let summary = SnapshotSummary::of(&file)?;
    /// assert_eq!((summary.fragments.len(), &*summary.fragments[0].name), (1, "health"));
    /// assert_eq!(summary.state_types, ["round"]);
    ///
    /// // Both count the same part.
    /// let universe = Universe::new();
    /// universe.registry().register_plain_as::<u32>("health")?;
    /// universe.registry().register_state_as::<u16>("round")?;
    /// let client = World::from_snapshot(&file, universe, &Default::default())?;
    /// assert_eq!(client.state_hash(&Default::default())?, server.state_hash(&options)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn only(mut self, ids: impl IntoIterator<Item = FragmentId>) -> Self {
        let only = self.only.get_or_insert_default();
        ids.into_iter().for_each(|id| _ = only.insert(id));
        self
    }

    /// With no other resource than that of this type; of several calls, than those of all of them. (To have none at all, [skip
    /// them](Self::skip_resources).)
    #[must_use]
    pub fn only_resource<R: Send + Sync + 'static>(mut self) -> Self {
        let only = self.only_resources.get_or_insert_default();
        only.push(TypeId::of::<R>());
        self
    }

    /// With no other delayed signals than those that carry a value of this type; of several calls, than those of all of them.
    /// (To have none at all, [skip them](Self::skip_signals).) Says nothing of a hash, which has none.
    #[must_use]
    pub fn only_signals_of<P: Send + Sync + 'static>(mut self) -> Self {
        let only = self.only_signals.get_or_insert_default();
        only.push(TypeId::of::<P>());
        self
    }

    /// Without names of entities: in a file, for a hash has none.
    #[must_use]
    pub fn skip_names(mut self) -> Self {
        self.skip_names = true;
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
    /// let refused = World::from_snapshot(&living, Universe::new(), &Default::default()).unwrap_err();
    /// assert_eq!(refused, SnapshotError::DeadSkipped);
    /// let universe = world.universe();
    /// let (copy, _) = World::from_snapshot_remapped(&living, universe, &Default::default(), &Default::default())?;
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

    /// Whether delayed signals that carry values of this type are left out, of those that are not all.
    pub(super) fn skips_signals_of(&self, carried: TypeId) -> bool {
        is_left_out(self.only_signals.as_ref(), carried)
    }

    pub(super) fn skips_resource(&self, of: TypeId) -> bool {
        self.skip_resources
            || self.skipped_resources.contains(&of)
            || is_left_out(self.only_resources.as_ref(), of)
    }

    pub(super) fn skips_names(&self) -> bool {
        self.skip_names
    }

    fn skips(&self, id: FragmentId) -> bool {
        self.skipped.contains(id) || self.only.as_ref().is_some_and(|only| !only.contains(id))
    }

    pub(super) fn skips_dead(&self) -> bool {
        self.skip_dead
    }

    /// The same for a world of another registry: there the fragments are meant that have the names and roles of those
    /// that are meant here. O(fragments).
    pub(super) fn translated(&self, here: &FragmentRegistry, there: &FragmentRegistry) -> Self {
        let translated = |ids: &FragmentSet| {
            let meant = here.iter().filter(|info| ids.contains(info.id()));
            let meant: HashSet<_> = meant.map(key).collect();
            let same = there.iter().filter(|info| meant.contains(&key(info)));
            same.map(FragmentInfo::id).collect()
        };
        Self {
            skipped: translated(&self.skipped),
            only: self.only.as_ref().map(translated),
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
            if self.skips(id) {
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

/// Whether a type is not among those that may be there, if it was said which.
fn is_left_out(only: Option<&Vec<TypeId>>, of: TypeId) -> bool {
    only.is_some_and(|only| !only.contains(&of))
}

/// What a fragment is known by in every program.
fn key(info: &FragmentInfo) -> (&str, FragmentKind) {
    (info.name(), info.kind())
}

/// Whether a fragment's values can be read, or made, byte by byte or as was said of them.
pub(super) fn readable(info: &FragmentInfo, purpose: Purpose) -> bool {
    info.has_written_form()
        || match (purpose, info.kind()) {
            // Membership is all that there is to a tag, and where the chunks of a world end is no state.
            (Purpose::Hash, kind) => matches!(kind, FragmentKind::Tag | FragmentKind::Chunk),
            (Purpose::Save, _) => false,
        }
}
