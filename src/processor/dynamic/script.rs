//! `Script`: what a processor with queries of run time runs, and where it has the queries from.
//!
//! Must hold: it is asked for queries whenever a world is new to the processor, before it runs there, and they are looked
//! at then. It keeps them alive no longer than it may: a query keeps its registry.

use std::error::Error;

use crate::fragment::Lone;
use crate::processor::dynamic::DynamicParams;
use crate::query::DynamicQuery;
use crate::world::World;

/// Any error of users.
pub(super) type BoxError = Box<dyn Error + Send + Sync>;

/// What a processor runs, and where it has its queries from.
pub(super) trait Script<R>: Send {
    /// Puts queries for this world in the place of those that it has.
    ///
    /// # Errors
    /// There are none for it.
    fn ask(&mut self, world: &World, queries: &mut Vec<DynamicQuery>) -> Result<(), BoxError>;

    /// Forgets what it knows of a world.
    fn forget(&mut self, queries: &mut Vec<DynamicQuery>);

    /// Runs, after it was asked.
    fn run(&mut self, params: DynamicParams<'_>) -> R;
}

/// A closure whose queries were given with it: they are of one registry.
pub(super) struct Given<F>(pub(super) F);

impl<R, F: FnMut(DynamicParams<'_>) -> R + Send> Script<R> for Given<F> {
    fn ask(&mut self, _: &World, _: &mut Vec<DynamicQuery>) -> Result<(), BoxError> {
        Ok(())
    }

    fn forget(&mut self, _: &mut Vec<DynamicQuery>) {}

    #[inline]
    fn run(&mut self, params: DynamicParams<'_>) -> R {
        (self.0)(params)
    }
}

/// Queries that were made for a world, and what was found with them.
pub(super) type Made<K> = (Vec<DynamicQuery>, Lone<K>);

/// A closure, beside one that makes its queries for each world.
pub(super) struct Maker<M, K, F> {
    make: Lone<M>,
    /// What was found with the queries.
    keys: Option<Lone<K>>,
    run: Lone<F>,
}

impl<M, K, F> Maker<M, K, F> {
    pub(super) fn new(make: M, run: Lone<F>) -> Self {
        Self {
            make: Lone::new(make),
            keys: None,
            run,
        }
    }
}

impl<R, M, K, F> Script<R> for Maker<M, K, F>
where
    M: FnMut(&World) -> Result<Made<K>, BoxError> + Send,
    K: Send,
    F: FnMut(&K, DynamicParams<'_>) -> R + Send,
{
    fn ask(&mut self, world: &World, queries: &mut Vec<DynamicQuery>) -> Result<(), BoxError> {
        // Those of a world for which it was refused.
        Script::<R>::forget(self, queries);
        let (made, keys) = (self.make)(world)?;
        *queries = made;
        self.keys = Some(keys);
        Ok(())
    }

    fn forget(&mut self, queries: &mut Vec<DynamicQuery>) {
        queries.clear();
        self.keys = None;
    }

    #[inline]
    fn run(&mut self, params: DynamicParams<'_>) -> R {
        match &self.keys {
            Some(keys) => (self.run)(keys, params),
            None => unreachable!("it was asked"),
        }
    }
}
