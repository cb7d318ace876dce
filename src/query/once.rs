//! `QueryOnce`: a query that was made for one run.

use core::marker::PhantomData;

use crate::query::run::Scope;
use crate::query::{
    ChunkView, Query, QueryData, QueryError, QueryFilter, QueryIter, QueryRun, ReadOnly,
};
use crate::world::World;

/// A query that was made for one run.
#[must_use = "a query does nothing until it is run"]
pub struct QueryOnce<'w, D: QueryData, F: QueryFilter> {
    query: Query<D, F>,
    world: &'w World,
    _data: PhantomData<fn() -> D>,
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

    /// The run itself, for its filters.
    pub fn run(&mut self) -> QueryRun<'_, D, F> {
        self.query.run(self.world)
    }

    /// See [`QueryRun::for_each`].
    pub fn for_each(&mut self, each: impl FnMut(D::Item<'_>)) {
        self.run().for_each(each);
    }

    /// See [`QueryRun::for_each_chunk`].
    pub fn for_each_chunk(&mut self, each: impl FnMut(ChunkView<'_>, D::Slices<'_>)) {
        self.run().for_each_chunk(each);
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

    /// See [`QueryRun::count`].
    #[must_use]
    pub fn count(&mut self) -> usize {
        self.run().count()
    }

    /// See [`QueryRun::single`].
    #[must_use]
    pub fn single(&mut self) -> Option<D::Item<'_>> {
        let mut all = self.iter();
        let only = all.next()?;
        all.next().is_none().then_some(only)
    }
}

impl World {
    /// A query for one run: lends what `D` says of the entities that `D` and `F` match. To run it again
    /// and again, keep a [`Query`]: to one that is new everything has [changed](crate::query::Changed).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.create((1_u8, "a"))?;
    /// world.create((2_u8,))?;
    /// let mut sum = 0;
    /// world.query::<&u8, ()>()?.for_each(|&number| sum += number);
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

    /// A query for one run that only reads. To one that is new everything has [changed](crate::query::Changed).
    ///
    /// # Errors
    /// As for [`Query::new`].
    pub fn read<D: ReadOnly, F: QueryFilter>(&self) -> Result<QueryOnce<'_, D, F>, QueryError> {
        QueryOnce::new(self)
    }
}
