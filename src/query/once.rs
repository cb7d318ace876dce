//! `QueryOnce`: a query for one run.

use core::marker::PhantomData;
use core::ops::Range;

use crate::entity::Entity;
use crate::exactly::Exactly;
use crate::fragment::SharedFragment;
use crate::query::items::Matches;
use crate::query::lookup::lend;
use crate::query::run::Scope;
use crate::query::{
    ChunkView, Query, QueryData, QueryError, QueryFilter, QueryItems, QueryIter, QueryRun, ReadOnly,
};
use crate::world::{Version, World, WorldError};

/// A query for one run, from [`World::query`] or [`World::read`].
#[must_use = "a query does nothing until it is run"]
pub struct QueryOnce<'w, D: QueryData, F: QueryFilter> {
    query: Found<'w, D, F>,
    world: &'w World,
    /// Nobody else has the world meanwhile, and its versions are kept.
    alone: bool,
    /// The moment at which it ran last.
    since: u64,
    _data: Exactly<D>,
}

/// A query that knows all archetypes of the world.
enum Found<'w, D: QueryData, F: QueryFilter> {
    /// The world's.
    Known(&'w Query<D, F>),
    /// Made because another thread was bringing the world's up to date, or panicked when it did.
    Own(Box<Query<D, F>>),
}

impl<D: QueryData, F: QueryFilter> core::fmt::Debug for QueryOnce<'_, D, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.query.get().fmt(f)
    }
}

impl<'w, D: QueryData, F: QueryFilter> Found<'w, D, F> {
    #[inline(always)]
    fn new(world: &'w World) -> Result<Self, QueryError> {
        match world.asked.get(world)? {
            Some(query) => Ok(Self::Known(query)),
            None => Self::own(world),
        }
    }

    #[cold]
    fn own(world: &World) -> Result<Self, QueryError> {
        let mut query = Query::new(world)?;
        query.update(world);
        Ok(Self::Own(Box::new(query)))
    }

    #[inline(always)]
    fn get(&self) -> &Query<D, F> {
        match self {
            Self::Known(query) => query,
            Self::Own(query) => query,
        }
    }
}

impl<'w, D: QueryData, F: QueryFilter> QueryOnce<'w, D, F> {
    #[inline(always)]
    fn new(world: &'w World, alone: bool) -> Result<Self, QueryError> {
        Ok(Self {
            query: Found::new(world)?,
            world,
            alone,
            since: world.long_ago(),
            _data: PhantomData,
        })
    }

    /// The versions of a run that begins: since when it looks for changes, and what its writes get.
    #[inline(always)]
    fn begin(&mut self) -> (u32, u32) {
        let version = match self.alone {
            true => self.world.begin_version_alone(),
            false => self.world.begin_version(),
        };
        let before = core::mem::replace(&mut self.since, self.world.moment(version));
        (self.world.since(before, version), version)
    }

    /// The run itself, for its filters, and to be [lent to many](QueryRun::reborrow) where all is only read.
    #[inline]
    pub fn run(&mut self) -> QueryRun<'_, D, F> {
        let versions = self.begin();
        QueryRun::new(&self.query.get().matches, self.world, versions)
    }

    /// See [`QueryRun::for_each`].
    pub fn for_each(&mut self, each: impl FnMut(D::Item<'_>)) {
        self.run().for_each(each);
    }

    /// See [`QueryRun::par_for_each`].
    pub fn par_for_each(&mut self, each: impl Fn(D::Item<'_>) + Sync) {
        self.run().par_for_each(each);
    }

    /// See [`QueryRun::par_for_each_init`].
    pub fn par_for_each_init<T>(
        &mut self,
        init: impl Fn(ChunkView<'_>) -> T + Sync,
        each: impl Fn(&mut T, D::Item<'_>) + Sync,
    ) {
        self.run().par_for_each_init(init, each);
    }

    /// See [`QueryRun::par_try_for_each`].
    ///
    /// # Errors
    /// The first of `each`.
    pub fn par_try_for_each<E: Send>(
        &mut self,
        each: impl Fn(D::Item<'_>) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        self.run().par_try_for_each(each)
    }

    /// See [`QueryRun::par_try_for_each_init`].
    ///
    /// # Errors
    /// The first of `each`.
    pub fn par_try_for_each_init<T, E: Send>(
        &mut self,
        init: impl Fn(ChunkView<'_>) -> T + Sync,
        each: impl Fn(&mut T, D::Item<'_>) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        self.run().par_try_for_each_init(init, each)
    }

    /// See [`QueryRun::for_each_chunk`]: whole columns, also rows whose fragments are [switched
    /// off](crate::query::Enabled).
    pub fn for_each_chunk(&mut self, each: impl FnMut(ChunkView<'_>, D::Slices<'_>)) {
        self.run().for_each_chunk(each);
    }

    /// See [`QueryRun::par_for_each_chunk`]: whole columns, also rows whose fragments are [switched
    /// off](crate::query::Enabled).
    pub fn par_for_each_chunk(&mut self, each: impl Fn(ChunkView<'_>, D::Slices<'_>) + Sync) {
        self.run().par_for_each_chunk(each);
    }

    /// See [`QueryRun::for_each_slice`]: only rows that the query sees.
    pub fn for_each_slice(&mut self, each: impl FnMut(ChunkView<'_>, Range<usize>, D::Slices<'_>)) {
        self.run().for_each_slice(each);
    }

    /// See [`QueryRun::par_for_each_slice`]: only rows that the query sees.
    pub fn par_for_each_slice(
        &mut self,
        each: impl Fn(ChunkView<'_>, Range<usize>, D::Slices<'_>) + Sync,
    ) {
        self.run().par_for_each_slice(each);
    }

    /// See [`QueryRun::par_try_for_each_chunk`]: whole columns, also rows whose fragments are [switched
    /// off](crate::query::Enabled).
    ///
    /// # Errors
    /// The first of `each`.
    pub fn par_try_for_each_chunk<E: Send>(
        &mut self,
        each: impl Fn(ChunkView<'_>, D::Slices<'_>) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        self.run().par_try_for_each_chunk(each)
    }

    /// See [`QueryRun::par_try_for_each_slice`]: only rows that the query sees.
    ///
    /// # Errors
    /// The first of `each`.
    pub fn par_try_for_each_slice<E: Send>(
        &mut self,
        each: impl Fn(ChunkView<'_>, Range<usize>, D::Slices<'_>) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        self.run().par_try_for_each_slice(each)
    }

    /// See [`QueryRun::filter_chunks`].
    pub fn filter_chunks<'q>(
        &'q mut self,
        filter: impl Fn(&ChunkView<'_>) -> bool + Sync + 'q,
    ) -> QueryRun<'q, D, F> {
        self.run().filter_chunks(filter)
    }

    /// See [`QueryRun::sharing`].
    pub fn sharing<'q, T: SharedFragment>(&'q mut self, value: &'q T) -> QueryRun<'q, D, F> {
        self.run().sharing(value)
    }

    /// See [`QueryRun::since`].
    pub fn since(&mut self, version: Version) -> QueryRun<'_, D, F> {
        self.run().since(version)
    }

    /// See [`QueryRun::iter`].
    #[inline]
    pub fn iter(&mut self) -> QueryIter<'_, D, F> {
        let scope = Scope::unfiltered(self.world, self.begin());
        QueryIter::new(&self.query.get().matches, scope)
    }

    /// What is lent, to be kept as long as the world is lent.
    #[inline]
    pub(super) fn into_items(mut self) -> QueryItems<'w, D, F> {
        let versions = self.begin();
        let matches = match self.query {
            Found::Known(query) => Matches::Lent(&query.matches),
            Found::Own(query) => Matches::Own(query.matches),
        };
        QueryItems::new(matches, self.world, versions)
    }

    /// See [`QueryRun::count`].
    #[must_use]
    pub fn count(&mut self) -> usize {
        self.run().count()
    }

    /// See [`QueryRun::is_empty`].
    #[must_use]
    pub fn is_empty(&mut self) -> bool {
        self.run().is_empty()
    }

    /// See [`QueryRun::first`].
    #[must_use]
    pub fn first(&mut self) -> Option<D::Item<'_>> {
        self.iter().first()
    }

    /// See [`QueryRun::single`].
    #[must_use]
    pub fn single(&mut self) -> Option<D::Item<'_>> {
        self.iter().single()
    }

    /// Lends the data of one entity, if the query sees it: it is no run, and asks what has changed
    /// since the last one. O(log archetypes that match). For many entities, or again and again:
    /// [`Query::lookup`].
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::Missing`] if the query does not see the entity.
    #[inline]
    pub fn get_mut(&mut self, entity: Entity) -> Result<D::Item<'_>, WorldError> {
        // SAFETY: whoever has the query has borrowed the world, alone if it writes; what is lent borrows the query.
        unsafe { self.lend(entity) }
    }

    /// Lends the data of one entity to be read, if the query sees it: of many at once. Else as [`get_mut`](Self::get_mut).
    ///
    /// # Errors
    /// As for [`get_mut`](Self::get_mut).
    #[inline]
    pub fn get(&self, entity: Entity) -> Result<D::Item<'_>, WorldError>
    where
        D: ReadOnly,
    {
        // SAFETY: the query only reads, as does whoever has borrowed it too.
        unsafe { self.lend(entity) }
    }

    /// [`get_mut`](Self::get_mut) for as long as the world is lent: several fragments of one entity side by side.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Position(f32);
    /// struct Velocity(f32);
    ///
    /// let mut world = World::new();
    /// let ball = world.create((Position(1.0), Velocity(-2.0)))?;
    /// let (position, velocity) = world
    ///     .query::<(&mut Position, &mut Velocity), ()>()?
    ///     .one(ball)?;
    /// position.0 += velocity.0;
    /// if position.0 < 0.0 {
    ///     core::mem::swap(&mut position.0, &mut velocity.0);
    /// }
    /// assert_eq!(world.get::<Position>(ball)?.0, -2.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`get_mut`](Self::get_mut).
    #[doc(alias = "query_one")]
    #[inline]
    pub fn one(self, entity: Entity) -> Result<D::Item<'w>, WorldError> {
        // SAFETY: whoever has the query has borrowed the world, alone if it writes; nothing else will be lent by it.
        unsafe { self.lend(entity) }
    }

    /// Lends the data of one entity.
    ///
    /// # Safety
    /// Nobody has what is lent in a way that conflicts.
    #[inline]
    unsafe fn lend(&self, entity: Entity) -> Result<D::Item<'w>, WorldError> {
        let world = self.world;
        let version = world.stamp();
        let versions = (world.since(self.since, version), version);
        let matches = &self.query.get().matches;
        // SAFETY: the caller's; looked for just now.
        unsafe { lend(world, matches, versions, entity, world.locate(entity)) }
    }
}

impl World {
    /// A query for one run: lends what `Data` says of the entities that `Data` and `Filter` match; `()` for `Filter` is
    /// no filter.
    ///
    /// The world remembers which archetypes match, for each type of query, until it is
    /// [trimmed](Self::trim): to ask again costs a look-up among the types. O(archetypes that came
    /// since); all of them if some went. Who keeps a [`Query`] saves that, too, and sees what has
    /// [changed](crate::query::Changed) since its last run; here everything has changed each time.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.create((1_u8, "a"))?;
    /// world.create((2_u8,))?;
    /// let mut sum = 0;
    /// for number in world.query::<&u8, ()>()? {
    ///     sum += number;
    /// }
    /// assert_eq!(sum, 3);
    /// assert_eq!(world.query::<Entity, With<&str>>()?.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Query::new`].
    pub fn query<Data: QueryData, Filter: QueryFilter>(
        &mut self,
    ) -> Result<QueryOnce<'_, Data, Filter>, QueryError> {
        self.keep_versions();
        QueryOnce::new(self, true)
    }

    /// A query for one run that only reads: [`query`](Self::query) on a world that others may read
    /// too. Everything has changed each time here, too. Lock-free: who asks while another thread
    /// looks for the archetypes that have come looks for all that match by itself.
    ///
    /// # Errors
    /// As for [`Query::new`].
    pub fn read<Data: ReadOnly, Filter: QueryFilter>(
        &self,
    ) -> Result<QueryOnce<'_, Data, Filter>, QueryError> {
        QueryOnce::new(self, false)
    }
}
