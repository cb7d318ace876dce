//! `QueryOnce`: a query that was made for one run.

use core::marker::PhantomData;
use core::ops::Range;

use crate::exactly::Exactly;
use crate::fragment::SharedFragment;
use crate::query::run::Scope;
use crate::query::{
    ChunkView, Query, QueryData, QueryError, QueryFilter, QueryItems, QueryIter, QueryRun, ReadOnly,
};
use crate::world::World;

/// A query that was made for one run.
#[must_use = "a query does nothing until it is run"]
pub struct QueryOnce<'w, D: QueryData, F: QueryFilter> {
    query: Query<D, F>,
    world: &'w World,
    _data: Exactly<D>,
}

impl<D: QueryData, F: QueryFilter> core::fmt::Debug for QueryOnce<'_, D, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.query.fmt(f)
    }
}

impl<'w, D: QueryData, F: QueryFilter> QueryOnce<'w, D, F> {
    fn new(world: &'w World) -> Result<Self, QueryError> {
        Ok(Self {
            query: Query::new(world)?,
            world,
            _data: PhantomData,
        })
    }

    /// The run itself, for its filters, and to be [lent to many](QueryRun::reborrow) where all is only read.
    pub fn run(&mut self) -> QueryRun<'_, D, F> {
        self.query.run(self.world)
    }

    /// See [`QueryRun::for_each`].
    pub fn for_each(&mut self, each: impl FnMut(D::Item<'_>)) {
        self.run().for_each(each);
    }

    /// See [`QueryRun::par_for_each`].
    pub fn par_for_each(&mut self, each: impl Fn(D::Item<'_>) + Sync) {
        self.run().par_for_each(each);
    }

    /// See [`QueryRun::for_each_chunk`].
    pub fn for_each_chunk(&mut self, each: impl FnMut(ChunkView<'_>, D::Slices<'_>)) {
        self.run().for_each_chunk(each);
    }

    /// See [`QueryRun::par_for_each_chunk`].
    pub fn par_for_each_chunk(&mut self, each: impl Fn(ChunkView<'_>, D::Slices<'_>) + Sync) {
        self.run().par_for_each_chunk(each);
    }

    /// See [`QueryRun::for_each_slice`].
    pub fn for_each_slice(&mut self, each: impl FnMut(ChunkView<'_>, Range<usize>, D::Slices<'_>)) {
        self.run().for_each_slice(each);
    }

    /// See [`QueryRun::par_for_each_slice`].
    pub fn par_for_each_slice(
        &mut self,
        each: impl Fn(ChunkView<'_>, Range<usize>, D::Slices<'_>) + Sync,
    ) {
        self.run().par_for_each_slice(each);
    }

    /// See [`QueryRun::filter_chunks`].
    pub fn filter_chunks<'q>(
        &'q mut self,
        filter: impl Fn(&ChunkView<'_>) -> bool + Sync + 'q,
    ) -> QueryRun<'q, D, F> {
        self.run().filter_chunks(filter)
    }

    /// See [`QueryRun::shared`].
    pub fn shared<'q, T: SharedFragment>(&'q mut self, value: &'q T) -> QueryRun<'q, D, F> {
        self.run().shared(value)
    }

    /// See [`QueryRun::since`].
    pub fn since(&mut self, version: u32) -> QueryRun<'_, D, F> {
        self.run().since(version)
    }

    /// See [`QueryRun::iter`].
    pub fn iter(&mut self) -> QueryIter<'_, D, F> {
        self.query.update(self.world);
        let (since, version) = self.query.begin(self.world);
        let scope = Scope {
            world: self.world,
            since,
            version,
            filter: None,
        };
        QueryIter::new(&self.query.matches, scope)
    }

    /// What is lent, to be kept as long as the world is lent.
    pub(super) fn into_items(mut self) -> QueryItems<'w, D, F> {
        self.query.update(self.world);
        let versions = self.query.begin(self.world);
        QueryItems::of_once(self.query.matches, self.world, versions)
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
}

impl World {
    /// A query for one run: lends what `D` says of the entities that `D` and `F` match; `()` for `F` is no filter. To
    /// run it again and again, keep a [`Query`]: to one that is new everything has [changed](crate::query::Changed).
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
    pub fn query<D: QueryData, F: QueryFilter>(
        &mut self,
    ) -> Result<QueryOnce<'_, D, F>, QueryError> {
        self.keep_versions();
        QueryOnce::new(self)
    }

    /// A query for one run that only reads: [`query`](Self::query) on a world that others may read
    /// too. To one that is new everything has [changed](crate::query::Changed).
    ///
    /// # Errors
    /// As for [`Query::new`].
    pub fn read<D: ReadOnly, F: QueryFilter>(&self) -> Result<QueryOnce<'_, D, F>, QueryError> {
        QueryOnce::new(self)
    }
}
