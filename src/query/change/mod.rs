//! `QueryChange`: everything that a query matches changes, or goes.
//!
//! What matches is found chunk by chunk, as runs of neighbouring rows (one for the whole chunk, unless
//! enabled bits decide row by row), and handed to the world room. Archetypes whose entities stay where
//! they are come first: then no entity comes to an archetype that is still to be looked at, and each is
//! changed once.

mod copies;
mod seen;
mod told;
mod ways;

use crate::archetype::Change;
use crate::entity::Entity;
use crate::fragment::{Bundle, Shared, SharedFragment, Value, WithShared};
use crate::panics::{after, first, note, refused, resume};
use crate::query::matches::Matches;
use crate::query::sees_chunk::{SeesChunk, and};
use crate::query::{ChunkView, Query, QueryData, QueryError, QueryFilter, QueryResources};
use crate::world::compose::EdgeRef;
use crate::world::runs::Fill;
use crate::world::watch::{ADDED, DESTROYED, NOWHERE, REMOVED, SET};
use crate::world::{Version, World, WorldError};

use seen::Seen;
use ways::{chunks_of, emigrate, remove_along, settled, share, ways};

/// Everything that a query matches, to be changed or destroyed: chunk by chunk, a copy for each fragment
/// instead of one for each entity. Where only tags or shared values change, chunks that match as a
/// whole are handed over as they are, unless they have chunk fragments (entities take those of the chunks that they
/// [come to](Bundle::per_chunk)), or more than an eighth of the rows of where they come to would be free: those are filled
/// then.
///
/// From [`World::matching`], or [`Query::change`] for a query that is kept.
///
/// | call | cost of a chunk that matches as a whole |
/// |---|---|
/// | destroy | the values' drops, and the ids |
/// | add or remove of small fragments | the values that come, the drops of those that go |
/// | add, remove, swap of fragments otherwise | a copy of each column that stays, and the places of the entities |
/// | add, remove, swap of tags; set or remove shared | O(1), and a call of the closure an entity; as above where there are chunk fragments |
///
/// Entities are visited in a fixed order, which is not that of iteration.
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Position(f32);
/// struct Asleep;
///
/// let mut world = World::new();
/// let _ = world.create_batch((0..1_000).map(|n| (Position(n as f32),)))?;
/// assert_eq!(world.matching::<With<Position>>()?.add(|_| (Asleep,))?, 1_000);
///
/// let mut far = Query::<(Entity, &Position), With<Asleep>>::new(&world)?;
/// far.change(&mut world).swap::<(Asleep,), _>(|(_, position)| (position.0 > 500.0,))?;
/// assert_eq!(world.matching::<With<bool>>()?.destroy(), 1_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing changes until a call says what"]
pub struct QueryChange<'q, D: QueryData = Entity, F: QueryFilter = ()> {
    matches: Matches<'q, D, F>,
    world: &'q mut World,
    seen: Seen<'q>,
}

impl<D: QueryData, F: QueryFilter> core::fmt::Debug for QueryChange<'_, D, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("QueryChange")
            .field("matches", &self.matches.len())
            .field("since", &self.seen.since)
            .finish_non_exhaustive()
    }
}

impl<'q, D: QueryData, F: QueryFilter> QueryChange<'q, D, F> {
    /// What matches in a world, as it is: since when changes are looked for, and the version that the call has.
    pub(super) fn new(
        matches: Matches<'q, D, F>,
        world: &'q mut World,
        (since, version): (u32, u32),
    ) -> Self {
        Self {
            matches,
            world,
            seen: Seen {
                since,
                version,
                chunks: None,
            },
        }
    }

    /// The world.
    pub(super) fn world(&self) -> &World {
        self.world
    }

    /// Only what lies in chunks for which `filter` is true: it is asked once a chunk.
    ///
    /// # Panics
    /// Here never; if `filter` panics, that comes back from the call that makes the change.
    /// Entities of chunks that it was asked of before are changed then, all others are as they
    /// were: none is changed, where all chunks are asked before the first change. That is so of
    /// whatever an observer may have to be told of before it goes; of [`add`](Self::add) and
    /// [`swap`](Self::swap) where values come that are shared or a chunk's; and, composition by
    /// composition, of [`set_shared`](Self::set_shared).
    pub fn filter_chunks(
        mut self,
        filter: impl Fn(&ChunkView<'_>) -> bool + Send + Sync + 'q,
    ) -> Self {
        self.seen.chunks = Some(and(self.seen.chunks.take(), filter));
        self
    }

    /// Only entities whose shared value, const or not, equals `value`.
    pub fn sharing<T: SharedFragment>(self, value: &'q T) -> Self {
        self.filter_chunks(move |chunk| chunk.shares(value))
    }

    /// Looks for changes after this [version](World::version), instead of since the query's last run. A version that
    /// is more than a billion behind may show what has not changed, and misses nothing. Since
    /// [`Version::START`]: for all that there is.
    pub fn since(mut self, version: Version) -> Self {
        self.seen.since = self.world.since(version.to_bits(), self.seen.version);
        self
    }

    /// Destroys the entities; how many.
    ///
    /// # Panics
    /// If a fragment's `drop` panics; all that match are gone then. If a [filter of
    /// chunks](Self::filter_chunks) does: see there.
    #[doc(alias = "despawn")]
    pub fn destroy(mut self) -> usize {
        if self.world.is_watched(DESTROYED) {
            self.decide();
            let matches = self.matches.iter();
            let archetypes = matches.map(|known| (known, NOWHERE)).collect();
            let going = self.going(DESTROYED, archetypes);
            return self.told(DESTROYED, going, |change| change.destroy_all());
        }
        self.destroy_all()
    }

    fn destroy_all(self) -> usize {
        let Self {
            matches,
            world,
            seen,
        } = self;
        let (mut count, mut runs, mut panicked) = (0, Vec::new(), None);
        let mut stopped = None;
        for known in matches.iter() {
            let archetype = known.archetype;
            // From the end: chunks that go leave the others where they are.
            for chunk in (0..chunks_of(world, archetype)).rev() {
                // Users' filter of chunks may panic.
                note(&mut stopped, || seen.rows(world, known, chunk, &mut runs));
                if stopped.is_some() {
                    break;
                }
                for &rows in &runs {
                    count += rows.count as usize;
                    let data = &world.archetypes[archetype as usize];
                    let whole = rows.count == data.chunks[chunk as usize].len;
                    let more = if whole {
                        world.clear_chunk(archetype, chunk)
                    } else {
                        world.destroy_rows(archetype, rows)
                    };
                    panicked = first(panicked, more);
                }
            }
            world.settle_groups(archetype);
            if stopped.is_some() {
                break;
            }
        }
        resume(first(panicked, stopped));
        count
    }

    /// Gives each entity what `bundle` makes of it; how many entities. Fragments that it has get the new
    /// values.
    ///
    /// # Errors
    /// A fragment stands in the bundle twice
    /// ([`FragmentError::Twice`](crate::fragment::FragmentError::Twice)), is too large, or cannot
    /// be registered any more ([`TooMany`](crate::fragment::FragmentError::TooMany)), or there
    /// would be [too many archetypes](WorldError::TooManyArchetypes): then no entity has changed,
    /// but where values come that are shared or a chunk's some may be done when there are too many
    /// archetypes. No memory is left, or one of them has another value of a const shared fragment,
    /// which is to be given: then some of the entities are done.
    ///
    /// # Panics
    /// If `bundle` panics: the entities before are done, the others unchanged. If the `drop` of a value
    /// that is replaced panics: some of the entities are done, that one among them. If the `clone` of a chunk fragment
    /// does, with which a new chunk was to begin, the `eq` or `hash` of a shared value that comes, or what makes a value
    /// that is [required](crate::fragment::FragmentRegistry::require_with): some are done. If a
    /// [filter of chunks](Self::filter_chunks) panics: see there.
    #[doc(alias = "set")]
    #[doc(alias = "insert")]
    #[expect(clippy::should_implement_trait, reason = "the word for it in a world")]
    pub fn add<B: Bundle>(self, bundle: impl FnMut(D::Item<'_>) -> B) -> Result<usize, WorldError> {
        self.ending(bundle, |change, bundle| change.add_told(bundle))
    }

    fn add_told<B: Bundle>(
        self,
        bundle: impl FnMut(D::Item<'_>) -> B,
    ) -> Result<usize, WorldError> {
        if self.world.is_watched(ADDED | SET) {
            return self.told(ADDED, Vec::new(), |change| change.add_all(bundle));
        }
        self.add_all(bundle)
    }

    fn add_all<B: Bundle>(
        mut self,
        bundle: impl FnMut(D::Item<'_>) -> B,
    ) -> Result<usize, WorldError> {
        let number = (self.world.bundles).number::<B>(self.world.universe.registry())?;
        if B::HAS_VALUES {
            self.check(Change::Add(number))?;
            return self.one_by_one(bundle, |world, entity, bundle| world.add(entity, bundle));
        }
        self.alter(bundle, move |world, archetype| {
            world.edge_for(archetype, Change::Add(number))
        })
    }

    /// Takes the fragments of `Gone` away, gives what `come` makes of each entity, in one move; how many
    /// entities.
    ///
    /// # Errors
    /// As for [`add`](Self::add), of both bundles: those of `Gone` can be refused for a fragment
    /// that stands there twice, or cannot be registered any more.
    ///
    /// # Panics
    /// As for [`add`](Self::add); the `drop` of a value may also be that of one that goes.
    pub fn swap<Gone: Bundle, Come: Bundle>(
        self,
        come: impl FnMut(D::Item<'_>) -> Come,
    ) -> Result<usize, WorldError> {
        self.ending(come, |change, come| change.swap_told::<Gone, Come>(come))
    }

    fn swap_told<Gone: Bundle, Come: Bundle>(
        mut self,
        come: impl FnMut(D::Item<'_>) -> Come,
    ) -> Result<usize, WorldError> {
        if self.world.is_watched(ADDED | REMOVED | SET) {
            self.decide();
            let registry = self.world.universe.registry();
            let gone = self.world.bundles.number::<Gone>(registry)?;
            let change = Change::Swap(gone, self.world.bundles.number::<Come>(registry)?);
            let going = self.going_along(|world, data| world.expect_archetype(data, change))?;
            return self.told(REMOVED, going, |change| change.swap_all::<Gone, Come>(come));
        }
        self.swap_all::<Gone, Come>(come)
    }

    fn swap_all<Gone: Bundle, Come: Bundle>(
        mut self,
        come: impl FnMut(D::Item<'_>) -> Come,
    ) -> Result<usize, WorldError> {
        let registry = self.world.universe.registry();
        let gone = self.world.bundles.number::<Gone>(registry)?;
        let change = Change::Swap(gone, self.world.bundles.number::<Come>(registry)?);
        if Come::HAS_VALUES {
            self.check(change)?;
            let swap = |world: &mut World, entity, come| world.swap::<Gone, Come>(entity, come);
            return self.one_by_one(come, swap);
        }
        self.alter(come, move |world, archetype| {
            world.edge_for(archetype, change)
        })
    }

    /// Takes fragments away and drops them; how many entities had one of them. What is shared, or the chunk's, goes by its role:
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..100).map(|n| (n,).const_shared(n % 2)))?;
    /// let gone = world.matching::<With<i32>>()?.sharing(&1).remove::<ConstShared<i32>>()?;
    /// assert_eq!(gone, 50);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A fragment stands in `Gone` twice
    /// ([`FragmentError::Twice`](crate::fragment::FragmentError::Twice)), or cannot be registered
    /// any more ([`TooMany`](crate::fragment::FragmentError::TooMany)), or there would be [too many
    /// archetypes](WorldError::TooManyArchetypes): then no entity has changed. No memory is left:
    /// then some of the entities are done.
    ///
    /// # Panics
    /// If the `drop` of a value panics: all that match are done then, and every value is dropped. If the `clone` of a chunk
    /// fragment does, with which a new chunk was to begin: some are done. If a
    /// [filter of chunks](Self::filter_chunks) panics: see there.
    pub fn remove<Gone: Bundle>(self) -> Result<usize, WorldError> {
        self.ending((), |change, ()| {
            let world = &mut *change.world;
            let number = (world.bundles).number::<Gone>(world.universe.registry())?;
            change.remove_told(number)
        })
    }

    /// Takes away the fragments of the bundle of this number.
    fn remove_told(mut self, number: u32) -> Result<usize, WorldError> {
        if self.world.is_watched(REMOVED) {
            self.decide();
            let change = Change::Remove(number);
            let going = self.going_along(|world, data| world.expect_archetype(data, change))?;
            return self.told(REMOVED, going, |change| change.remove_all(number));
        }
        self.remove_all(number)
    }

    fn remove_all(self, number: u32) -> Result<usize, WorldError> {
        let Self {
            matches,
            world,
            seen,
        } = self;
        let ways = ways(world, &matches, |world, archetype| {
            world.edge_for(archetype, Change::Remove(number))
        })?;
        // Users' filter of chunks may panic, and the `clone` of what a new chunk begins with: they end the call. What
        // `drop`s panic with does not.
        let (mut result, mut panicked, mut stopped) = (Ok(0), None, None);
        note(&mut stopped, || {
            result = remove_along(world, ways, &seen, &mut panicked);
        });
        if panicked.is_some() || stopped.is_some() {
            drop(result);
            resume(first(panicked, stopped));
            unreachable!("a panic goes on");
        }
        result
    }

    /// Changes a shared value of the entities, which get the fragment if they do not have it; how many
    /// entities.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Debug, PartialEq, Eq, Hash)]
    /// struct Team(u8);
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1.0_f32,).shared(Team(1)))?;
    /// assert_eq!(world.matching::<With<f32>>()?.sharing(&Team(1)).set_shared(Team(2))?, 1);
    /// assert_eq!(world.shared::<Team>(ant)?, &Team(2));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    ///
    /// # Panics
    /// If the `eq` or `hash` of the value panics: no entity has changed. If the `clone` of a chunk fragment does, with which
    /// a new chunk was to begin: some are done. If a [filter of chunks](Self::filter_chunks) panics: see there.
    pub fn set_shared<T: SharedFragment>(self, value: T) -> Result<usize, WorldError> {
        self.ending((), |change, ()| change.set_shared_told(value))
    }

    fn set_shared_told<T: SharedFragment>(self, value: T) -> Result<usize, WorldError> {
        if self.world.is_watched(ADDED | SET) {
            return self.told(ADDED, Vec::new(), |change| change.set_all_shared(value));
        }
        self.set_all_shared(value)
    }

    fn set_all_shared<T: SharedFragment>(self, value: T) -> Result<usize, WorldError> {
        let Self {
            matches,
            world,
            seen,
        } = self;
        let registry = world.universe.registry();
        // As far as it can be refused, before the value is anything but the call's.
        let number = world.bundles.number::<WithShared<(), T>>(registry);
        let known = number.and_then(|number| Ok((number, registry.register::<Shared<T>>()?)));
        let (number, info) = match known {
            Ok(known) => known,
            Err(error) => return Err(refused(value, error.into())),
        };
        let value = core::mem::ManuallyDrop::new(value);
        // SAFETY: a value of this fragment, which is not used or dropped again.
        let value = unsafe { Value::take(info, (&raw const value).cast()) };
        let given = (info.id(), world.shared.intern(info, value));
        world.sharing_one(given, |world| share(world, &matches, &seen, number, given))
    }

    /// Moves the entities to another world of the same universe, where they keep their ids; how many.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use megachunk::prelude::*;
    ///
    /// struct Wet;
    /// let universe = Arc::new(Universe::new());
    /// let (mut land, mut sea) = (World::of(&universe)?, World::of(&universe)?);
    /// let frog = land.create(("frog", Wet))?;
    /// assert_eq!(land.matching::<With<Wet>>()?.move_to(&mut sea)?, 1);
    /// assert!(sea.is_built(frog) && !land.is_built(frog));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`WorldError::OtherUniverse`]; no memory is left, or there would be
    /// [too many archetypes](WorldError::TooManyArchetypes): then some of the entities have moved.
    ///
    /// # Panics
    /// If a [filter of chunks](Self::filter_chunks) panics: see there. If users' `clone`, `eq` or
    /// `hash` of a chunk fragment or a shared value does: some of the entities have moved.
    pub fn move_to(self, other: &mut World) -> Result<usize, WorldError> {
        self.ending((), |change, ()| change.move_told(other))
    }

    fn move_told(mut self, other: &mut World) -> Result<usize, WorldError> {
        self.world.check_universe(other)?;
        let mut going = Vec::new();
        if self.world.is_watched(DESTROYED) {
            self.decide();
            let matches = self.matches.iter();
            going = self.going(DESTROYED, matches.map(|known| (known, NOWHERE)).collect());
        }
        let Self {
            matches,
            world,
            seen,
        } = self;
        world.told_between(other, going, |world, other| {
            let archetypes = matches.iter().map(|known| known.archetype);
            world.naming(other, archetypes, |world, other| {
                emigrate(world, other, &matches, &seen)
            })
        })
    }

    /// Refuses a change that could not be made of one of the archetypes.
    fn check(&mut self, change: Change) -> Result<(), WorldError> {
        for known in self.matches.iter() {
            if self.world.archetypes[known.archetype as usize].entities > 0 {
                self.world.check_change(known.archetype, change)?;
            }
        }
        Ok(())
    }

    /// Does `work`. What it was given and the filter of chunks end before its result is on its way: see
    /// [`after`].
    fn ending<G, R>(
        mut self,
        mut given: G,
        work: impl FnOnce(QueryChange<'_, D, F>, &mut G) -> R,
    ) -> R {
        let filter = self.seen.chunks.take();
        let lent = filter.as_deref().map(|filter| -> SeesChunk<'_> {
            Box::new(move |chunk: &ChunkView<'_>| filter(chunk))
        });
        let change = QueryChange {
            matches: self.matches,
            world: self.world,
            seen: Seen {
                chunks: lent,
                ..self.seen
            },
        };
        let result = work(change, &mut given);
        after((given, filter), result)
    }

    /// Changes along an edge for each archetype.
    fn alter<B: Bundle>(
        self,
        mut bundle: impl FnMut(D::Item<'_>) -> B,
        edge: impl Fn(&mut World, u32) -> Result<EdgeRef, WorldError>,
    ) -> Result<usize, WorldError> {
        let Self {
            matches,
            world,
            seen,
        } = self;
        let ways = ways(world, &matches, edge)?;
        let mut count = 0;
        let mut runs = Vec::new();
        for (known, edge) in ways {
            let archetype = known.archetype;
            for chunk in (0..chunks_of(world, archetype)).rev() {
                seen.rows(world, known, chunk, &mut runs);
                for &rows in &runs {
                    let fill = |fill: &mut Fill<'_, B>| seen.fill(known, fill, &mut bundle);
                    if edge.target == archetype {
                        resume(world.replace_rows(archetype, rows, &edge, fill));
                        count += rows.count as usize;
                        continue;
                    }
                    let group = world.same_group(archetype, chunk, edge.target);
                    let moved = world.move_rows(archetype, rows, &edge, group, fill);
                    count += settled(moved.count, moved.panicked, moved.refused)?;
                }
            }
        }
        Ok(count)
    }

    /// Changes each entity in turn: where shared values may differ from one to the next.
    fn one_by_one<B: Bundle>(
        self,
        mut bundle: impl FnMut(D::Item<'_>) -> B,
        change: impl Fn(&mut World, Entity, B) -> Result<(), WorldError>,
    ) -> Result<usize, WorldError> {
        let entities = self.entities();
        let Self {
            matches,
            world,
            seen,
        } = self;
        for &entity in &entities {
            let (archetype, row) = world.find(entity)?;
            // Nobody else changes the world: it is where it was found.
            let Ok(at) = matches.binary_search_by_key(&archetype, |known| known.archetype) else {
                continue;
            };
            let known = &matches[at];
            let data = &world.archetypes[archetype as usize];
            let view = ChunkView {
                world,
                archetype: data,
                chunk: &data.chunks[row.chunk as usize],
                version: seen.version,
                since: seen.since,
            };
            let fetch = D::fetch(known.data, view);
            // SAFETY: a row of the chunk, in a world that the caller has to itself.
            let bundle = bundle(unsafe { D::item(fetch, row.row as usize) });
            change(world, entity, bundle)?;
        }
        Ok(entities.len())
    }
}

impl<D: QueryData, F: QueryFilter, R: QueryResources> Query<D, F, R> {
    /// What the query matches in a world, to be changed or destroyed. It counts as a run of the query:
    /// the next one looks for changes since.
    ///
    /// # Panics
    /// As for [`on`](Self::on).
    pub fn change<'q>(&'q mut self, world: &'q mut World) -> QueryChange<'q, D, F> {
        let version = world.begin_version_alone();
        self.update(world);
        let since = self.begin_at(world, version);
        let versions = (since, version);
        QueryChange::new(Matches::Lent(&self.matches), world, versions)
    }
}

impl World {
    /// Everything that a filter matches, to be changed or destroyed: see [`QueryChange`]. It is a new query, to which
    /// everything has [changed](crate::query::Changed), unless it is told [since](QueryChange::since) when.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Asleep;
    /// let mut world = World::new();
    /// world.create((1_u8, Asleep))?;
    /// world.create((2_u8,))?;
    /// assert_eq!(world.matching::<With<Asleep>>()?.destroy(), 1);
    /// assert_eq!(world.matching::<()>()?.destroy(), 1, "`()` is no filter");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Query::new`].
    pub fn matching<Filter: QueryFilter>(
        &mut self,
    ) -> Result<QueryChange<'_, Entity, Filter>, QueryError> {
        let version = self.begin_version_alone();
        let mut query = Query::<Entity, Filter>::new(self)?;
        query.update(self);
        let versions = (query.begin_at(self, version), version);
        Ok(QueryChange::new(
            Matches::Own(Box::new(query.matches)),
            self,
            versions,
        ))
    }
}
