//! Queries for one run: `World::query` and `World::read`.

use crate::query::matches::Matches;
use crate::query::{Query, QueryData, QueryError, QueryFilter, QueryRun, ReadOnly};
use crate::world::{Version, World};

impl<'w, D: QueryData, F: QueryFilter> Matches<'w, D, F> {
    /// What matches in a world. A function of its own, while what begins a run is inlined where it is called: a run that is
    /// given back by a call is written in pieces and copied as a whole, and the processor waits for that.
    #[inline(never)]
    fn of(world: &'w World) -> Result<Self, QueryError> {
        match world.asked.get::<D, F>(world)? {
            Some(query) => Ok(Self::Lent(&query.matches)),
            None => Self::own(world),
        }
    }

    /// The same, looked for because another thread is bringing what the world remembers up to date, or panicked when it did.
    #[cold]
    fn own(world: &World) -> Result<Self, QueryError> {
        let mut query = Query::<D, F>::new(world)?;
        query.update(world);
        Ok(Self::Own(Box::new(query.matches)))
    }
}

impl World {
    /// A run of a query that is not kept: lends what `Data` says of the entities that `Data` and `Filter` match; `()` for
    /// `Filter` is no filter.
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
    #[inline]
    pub fn query<Data: QueryData, Filter: QueryFilter>(
        &mut self,
    ) -> Result<QueryRun<'_, Data, Filter>, QueryError> {
        let version = self.begin_version_alone();
        Ok(self.run_asked(Matches::of(self)?, version))
    }

    /// A run that only reads, of a query that is not kept: [`query`](Self::query) on a world that others may read
    /// too. Everything has changed each time here, too. Lock-free: who asks while another thread
    /// looks for the archetypes that have come looks for all that match by itself.
    ///
    /// # Errors
    /// As for [`Query::new`].
    #[inline]
    pub fn read<Data: ReadOnly, Filter: QueryFilter>(
        &self,
    ) -> Result<QueryRun<'_, Data, Filter>, QueryError> {
        // The look-up first: what is loaded behind a read-modify-write waits for that.
        let matches = Matches::of(self)?;
        Ok(self.run_asked(matches, self.begin_version()))
    }

    /// A run of this version, for which everything has changed.
    #[inline(always)]
    fn run_asked<'w, D: QueryData, F: QueryFilter>(
        &'w self,
        matches: Matches<'w, D, F>,
        version: u32,
    ) -> QueryRun<'w, D, F> {
        let since = self.since(Version::START.to_bits(), version);
        QueryRun::new(matches, self, (since, version))
    }
}
