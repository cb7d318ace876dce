//! Signals as parameters.

use core::any::{TypeId, type_name};

use super::sealed::Sealed;
use super::{Param, Plea, Seen};
use crate::panics::Panicked;
use crate::processor::{ScheduleError, Subscriptions, Turn};
use crate::query::{QueryData, QueryError, QueryFilter};
use crate::signal::{BroadcastReader, Heard, ParallelSignals, SignalReader, Signalled, Signals};
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
        plea.needs.takes_named = true;
        if plea.subscriptions.is_some_and(Subscriptions::is_empty) {
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
        match subscriptions {
            Some(subscriptions) => subscriptions.subscribe(world, reader, processor, panicked),
            None => {
                reader.unsubscribe_all();
                Ok(())
            }
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

/// A reader of what is broadcast, and the version of the run that it was lent for last.
#[derive(Debug)]
#[doc(hidden)]
pub struct Hearing<P> {
    reader: BroadcastReader<P>,
    lent: Option<u32>,
    /// It hears the signal that is known by its type because nobody has named one.
    by_default: bool,
}

impl<P: Send + Sync + 'static> Sealed for Heard<'_, P> {}

// SAFETY: what signals carry is changed by who has the world to itself.
unsafe impl<P: Send + Sync + 'static> Param for Heard<'_, P> {
    type State = Hearing<P>;
    type Item<'w> = Heard<'w, P>;

    fn prepare_param(_: &mut World, plea: &mut Plea<'_>) -> Result<Hearing<P>, ScheduleError> {
        plea.needs.hears = true;
        plea.needs.heard.push(TypeId::of::<P>());
        Ok(Hearing {
            reader: BroadcastReader::new(),
            lent: None,
            by_default: false,
        })
    }

    fn hear_param(
        hearing: &mut Hearing<P>,
        world: &mut World,
        subscriptions: Option<&Subscriptions>,
        processor: &str,
        panicked: &mut Panicked,
    ) -> Result<(), ScheduleError> {
        let (reader, by_default) = (&mut hearing.reader, &mut hearing.by_default);
        match subscriptions {
            Some(all) => all.subscribe_broadcasts(world, reader, by_default, processor, panicked),
            None => {
                reader.unsubscribe_all();
                *by_default = false;
                Ok(())
            }
        }
    }

    fn discard_param(
        hearing: &mut Hearing<P>,
        world: &mut World,
        panicked: &mut Panicked,
    ) -> usize {
        hearing.reader.discard_collected(world, panicked)
    }

    #[inline]
    unsafe fn lend_param<'w>(
        hearing: &'w mut Hearing<P>,
        world: &'w World,
        turn: Turn<'w>,
    ) -> Result<Heard<'w, P>, QueryError> {
        hearing.lent = Some(turn.version);
        Ok(hearing.reader.read(world))
    }

    #[cold]
    fn take_back_param(hearing: &mut Hearing<P>, version: u32) {
        if hearing.lent.take() == Some(version) {
            hearing.reader.take_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lent_for_a_run_that_did_not_take_place_waits_for_the_next() {
        let mut world = World::new();
        let signal = world.signal_of::<u32>();
        let mut hearing = Hearing {
            reader: BroadcastReader::new(),
            lent: None,
            by_default: false,
        };
        hearing.reader.subscribe(&mut world, signal).unwrap();
        // The run that was lent it, the one that did not take place, and what the next one hears.
        for (lent, failed, expected) in [(3, 4, &[][..]), (5, 5, &[7])] {
            world.signals().broadcast(signal, 7);
            world.collect_signals();
            assert_eq!(hearing.reader.read(&world).len(), 1);
            hearing.lent = Some(lent);
            Heard::<u32>::take_back_param(&mut hearing, failed);
            assert!(hearing.reader.read(&world).iter().eq(expected));
        }
    }
}
