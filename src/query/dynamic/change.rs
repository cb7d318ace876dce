//! `DynamicChange`: everything that a query of run time matches changes, or goes.
//!
//! The same walk as that of a typed [`QueryChange`]: the archetypes that match become those of a query that lends only
//! handles, and what the query asks of changes becomes a filter of chunks.

use crate::fragment::{FragmentId, Value};
use crate::query::dynamic::query::DynamicQuery;
use crate::query::dynamic::run::shares;
use crate::query::matches::{Match, MatchList, Matches};
use crate::query::{ChunkView, QueryChange, QueryError};
use crate::world::{Prototype, Version, World, WorldError};

/// Everything that a query of run time matches, to be changed or destroyed: chunk by chunk, as a typed
/// [`QueryChange`] does it, at the same costs. From [`DynamicQuery::change`].
///
/// ```
/// use core::alloc::Layout;
/// use megachunk::prelude::*;
/// use megachunk::world::Prototype;
///
/// let mut world = World::new();
/// let registry = world.registry();
/// let gold = registry.define_plain("gold", Layout::new::<u32>())?.id();
/// let cursed = registry.define_plain("cursed", Layout::new::<()>())?.id();
/// let of = |id, bytes: &[u8]| Value::from_bytes(registry, id, bytes);
/// let coin = Prototype::new(registry, DynamicBundle::new().with(of(gold, &[1, 0, 0, 0])?))?;
/// let curse = Prototype::new(registry, DynamicBundle::new().with(of(cursed, &[])?))?;
/// let _ = world.create_copies(&coin, 1_000)?;
///
/// let mut all = DynamicQuery::builder(&world).with(gold).build()?;
/// assert_eq!(all.change(&mut world)?.add(&curse)?, 1_000);
/// assert_eq!(all.change(&mut world)?.swap(&[cursed], &coin)?, 1_000);
/// assert_eq!(all.change(&mut world)?.remove(&[cursed])?, 0);
/// assert_eq!(all.change(&mut world)?.destroy(), 1_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing changes until a call says what"]
pub struct DynamicChange<'q>(QueryChange<'q>);

impl<'q> DynamicChange<'q> {
    /// What a query matches that has looked at all archetypes of this world, its own; at these versions, since which it looks
    /// for changes and which the call has.
    pub(super) fn new(query: &'q DynamicQuery, world: &'q mut World, versions: (u32, u32)) -> Self {
        let mut matches = MatchList::new();
        let known = query.matches.iter();
        matches
            .plain(world.archetypes.len() as u32)
            .extend(known.map(|known| Match::new(known.archetype, (), ())));
        matches.mask(0, |archetype| {
            query
                .requirements()
                .masks(&world.archetypes[archetype as usize])
        });
        let change = QueryChange::new(Matches::Own(Box::new(matches)), world, versions);
        if !query.asks_for_changes() {
            return Self(change);
        }
        Self(change.filter_chunks(|chunk| {
            let number = chunk.archetype.number;
            let at = query
                .matches
                .binary_search_by_key(&number, |known| known.archetype);
            at.is_ok_and(|at| query.has_changed(&query.matches[at], chunk.chunk, chunk.since))
        }))
    }

    /// Only what lies in chunks for which `filter` is true: it is asked once a chunk.
    ///
    /// # Panics
    /// As for [`QueryChange::filter_chunks`](crate::query::QueryChange::filter_chunks).
    pub fn filter_chunks(self, filter: impl Fn(&ChunkView<'_>) -> bool + Send + Sync + 'q) -> Self {
        Self(self.0.filter_chunks(filter))
    }

    /// Only entities whose shared value, const or not, equals `value`.
    ///
    /// # Errors
    /// As for [`DynamicRun::sharing`](crate::query::DynamicRun::sharing).
    pub fn sharing(self, value: &'q Value) -> Result<Self, QueryError> {
        let shares = shares(self.0.world(), value)?;
        Ok(self.filter_chunks(shares))
    }

    /// Looks for changes after this version, instead of since the query's last run: see
    /// [`QueryChange::since`](crate::query::QueryChange::since).
    pub fn since(self, version: Version) -> Self {
        Self(self.0.since(version))
    }

    /// Destroys the entities; how many.
    ///
    /// # Panics
    /// As for [`QueryChange::destroy`](crate::query::QueryChange::destroy).
    #[doc(alias = "despawn")]
    pub fn destroy(self) -> usize {
        self.0.destroy()
    }

    /// Takes those of these fragments away that an entity has; how many entities had some.
    ///
    /// # Errors
    /// [`FragmentError::Unknown`](crate::fragment::FragmentError::Unknown),
    /// [`FragmentError::Twice`](crate::fragment::FragmentError::Twice), there would be [too many
    /// archetypes](WorldError::TooManyArchetypes): then no entity has changed. No memory is left: then some of the entities
    /// are done.
    ///
    /// # Panics
    /// As for [`QueryChange::remove`](crate::query::QueryChange::remove).
    pub fn remove(self, fragments: &[FragmentId]) -> Result<usize, WorldError> {
        self.0.remove_dynamic(fragments)
    }

    /// Gives each entity clones of a prototype's values, and its shared values; how many entities. Fragments that it has get
    /// the new values. Chunk by chunk; entity by entity where the prototype has shared values, chunk fragments, or more than
    /// 16 fragments, or where values take the place of others and are not plain bytes. Values that differ from one entity
    /// to the next a run writes then, of the entities that were asked for before:
    /// [`DynamicRun::for_each_in`](crate::query::DynamicRun::for_each_in).
    ///
    /// # Errors
    /// [`WorldError::OtherUniverse`] for a prototype of another universe, there would be [too many
    /// archetypes](WorldError::TooManyArchetypes): then no entity has changed. No memory is left, or one of them has
    /// another value of a const shared fragment, which is to be given: then some of the entities are done.
    ///
    /// # Panics
    /// If a `clone` of the prototype's values panics, the `drop` of a value that is replaced, or what makes a value that is
    /// [required](crate::fragment::FragmentRegistry::require_with): some of the entities are done then, the others as they
    /// were. If a filter of chunks does: as for [`QueryChange::filter_chunks`](crate::query::QueryChange::filter_chunks).
    #[doc(alias = "insert")]
    #[expect(clippy::should_implement_trait, reason = "the word for it in a world")]
    pub fn add(self, come: &Prototype) -> Result<usize, WorldError> {
        self.0.come_dynamic(None, come)
    }

    /// Takes those of these fragments away that an entity has, and gives it clones of a prototype's values, in one move; how
    /// many entities. As [`add`](Self::add) otherwise.
    ///
    /// # Errors
    /// As for [`add`](Self::add) and [`remove`](Self::remove).
    ///
    /// # Panics
    /// As for [`add`](Self::add); the `drop` of a value may also be that of one that goes.
    pub fn swap(self, gone: &[FragmentId], come: &Prototype) -> Result<usize, WorldError> {
        self.0.come_dynamic(Some(gone), come)
    }

    /// Moves the entities to another world of the same universe, where they keep their ids; how many.
    ///
    /// # Errors
    /// As for [`QueryChange::move_to`](crate::query::QueryChange::move_to).
    ///
    /// # Panics
    /// As for that.
    pub fn move_to(self, other: &mut World) -> Result<usize, WorldError> {
        self.0.move_to(other)
    }
}
