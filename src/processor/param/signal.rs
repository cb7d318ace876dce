//! Signals as parameters.

use core::any::type_name;

use super::sealed::Sealed;
use super::{Param, Plea, Seen};
use crate::panics::Panicked;
use crate::processor::{ScheduleError, Subscriptions, Turn};
use crate::query::{QueryData, QueryError, QueryFilter};
use crate::signal::{ParallelSignals, SignalReader, Signalled, Signals};
use crate::world::World;

impl Sealed for Signals<'_> {}

// SAFETY: senders do not touch what the world lends.
unsafe impl Param for Signals<'_> {
    type State = ();
    type Item<'w> = Signals<'w>;

    fn prepare_param(_: &mut World, _: &mut Plea<'_>) -> Result<(), ScheduleError> {
        Ok(())
    }

    #[inline]
    unsafe fn lend_param<'w>(
        (): &'w mut (),
        world: &'w World,
        turn: Turn<'w>,
    ) -> Result<Signals<'w>, QueryError> {
        Ok(Signals::of_rank(world, turn.rank))
    }
}

impl Sealed for ParallelSignals {}

// SAFETY: as above.
unsafe impl Param for ParallelSignals {
    type State = ();
    type Item<'w> = ParallelSignals;

    fn prepare_param(_: &mut World, _: &mut Plea<'_>) -> Result<(), ScheduleError> {
        Ok(())
    }

    #[inline]
    unsafe fn lend_param<'w>(
        (): &'w mut (),
        world: &'w World,
        turn: Turn<'w>,
    ) -> Result<ParallelSignals, QueryError> {
        Ok(ParallelSignals::of_rank(world, turn.rank))
    }
}

impl<D, F> Sealed for Signalled<'_, D, F>
where
    D: QueryData<Ids: Send> + 'static,
    F: QueryFilter + 'static,
{
}

// SAFETY: says what the reader's query lends.
unsafe impl<D, F> Param for Signalled<'_, D, F>
where
    D: QueryData<Ids: Send> + 'static,
    F: QueryFilter + 'static,
{
    type State = SignalReader<D, F>;
    type Item<'w> = Signalled<'w, D, F>;

    fn prepare_param(
        world: &mut World,
        plea: &mut Plea<'_>,
    ) -> Result<SignalReader<D, F>, ScheduleError> {
        let reader = SignalReader::new(world).map_err(|error| plea.refuse(error))?;
        plea.query(world, reader.requirements(), type_name::<(D, F)>())?;
        plea.needs.hears = true;
        if plea.subscriptions.is_empty() {
            return Err(ScheduleError::HearsNothing {
                processor: plea.processor.into(),
            });
        }
        Ok(reader)
    }

    fn hear_param(
        reader: &mut SignalReader<D, F>,
        world: &mut World,
        subscriptions: Option<&Subscriptions>,
        processor: &str,
        panicked: &mut Panicked,
    ) -> Result<(), ScheduleError> {
        reader.unsubscribe_all();
        match subscriptions {
            Some(subscriptions) => subscriptions.subscribe(world, reader, processor, panicked),
            None => Ok(()),
        }
    }

    fn discard_param(
        reader: &mut SignalReader<D, F>,
        world: &mut World,
        panicked: &mut Panicked,
    ) -> usize {
        reader.discard_collected(world, panicked)
    }

    #[inline]
    unsafe fn lend_param<'w>(
        reader: &'w mut SignalReader<D, F>,
        world: &'w World,
        turn: Turn<'w>,
    ) -> Result<Signalled<'w, D, F>, QueryError> {
        // SAFETY: the caller's.
        Ok(unsafe { reader.signalled(world, turn.version) })
    }

    fn count_param(_: &mut SignalReader<D, F>, _: &World, _: &mut Seen) {}
}
