//! Queries as parameters.

use core::any::type_name;

use super::sealed::Sealed;
use super::{Param, Plea, Seen};
use crate::processor::{ScheduleError, Turn};
use crate::query::{Query, QueryData, QueryError, QueryFilter, QueryLookup, QueryRun};
use crate::world::World;

fn prepare<D: QueryData, F: QueryFilter>(
    world: &World,
    plea: &mut Plea<'_>,
) -> Result<Query<D, F>, ScheduleError> {
    let query = Query::new(world).map_err(|error| plea.refuse(error))?;
    plea.query(world, query.requirements(), type_name::<(D, F)>())?;
    Ok(query)
}

impl<D, F> Sealed for QueryRun<'_, D, F>
where
    D: QueryData<Ids: Send> + 'static,
    F: QueryFilter + 'static,
{
}

// SAFETY: says what the query lends.
unsafe impl<D, F> Param for QueryRun<'_, D, F>
where
    D: QueryData<Ids: Send> + 'static,
    F: QueryFilter + 'static,
{
    type State = Query<D, F>;
    type Item<'w> = QueryRun<'w, D, F>;

    fn prepare_param(world: &mut World, plea: &mut Plea<'_>) -> Result<Query<D, F>, ScheduleError> {
        prepare(world, plea)
    }

    #[inline(always)]
    unsafe fn lend_param<'w>(
        query: &'w mut Query<D, F>,
        world: &'w World,
        turn: Turn<'w>,
    ) -> Result<QueryRun<'w, D, F>, QueryError> {
        Ok(query.run_at(world, turn.version))
    }

    fn take_back_param(query: &mut Query<D, F>, version: u32) {
        query.take_back(version);
    }

    fn count_param(query: &mut Query<D, F>, world: &World, seen: &mut Seen) {
        query.count_chunks(world, |view, sees| {
            if sees {
                seen.chunks += 1;
                seen.entities += view.len();
            } else {
                seen.skipped += 1;
            }
        });
    }
}

impl<D, F> Sealed for QueryLookup<'_, D, F>
where
    D: QueryData<Ids: Send> + 'static,
    F: QueryFilter + 'static,
{
}

// SAFETY: says what the query lends.
unsafe impl<D, F> Param for QueryLookup<'_, D, F>
where
    D: QueryData<Ids: Send> + 'static,
    F: QueryFilter + 'static,
{
    type State = Query<D, F>;
    type Item<'w> = QueryLookup<'w, D, F>;

    fn prepare_param(world: &mut World, plea: &mut Plea<'_>) -> Result<Query<D, F>, ScheduleError> {
        let query = prepare(world, plea)?;
        plea.needs.lookups.push(plea.needs.queries.len() - 1);
        Ok(query)
    }

    #[inline]
    unsafe fn lend_param<'w>(
        query: &'w mut Query<D, F>,
        world: &'w World,
        turn: Turn<'w>,
    ) -> Result<QueryLookup<'w, D, F>, QueryError> {
        Ok(query.lookup_at(world, turn.version))
    }

    fn take_back_param(query: &mut Query<D, F>, version: u32) {
        query.take_back(version);
    }
}
