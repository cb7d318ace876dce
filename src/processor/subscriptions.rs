//! `Subscriptions`: the signals that a processor hears.

use core::any::TypeId;
use core::fmt;
use std::sync::Arc;

use crate::panics::Panicked;
use crate::processor::ScheduleError;
use crate::processor::dynamic::{Hear, Hearing};
use crate::processor::needs::Needs;
use crate::query::{QueryData, QueryFilter};
use crate::signal::{BroadcastReader, Signal, SignalError, SignalReader};
use crate::world::World;

type Find = Arc<dyn Fn(&World) -> Result<Signal<()>, SignalError> + Send + Sync>;

/// The signals that a processor hears, to be found in a world.
#[derive(Clone, Default)]
#[doc(hidden)]
pub struct Subscriptions(Vec<Subscribed>);

#[derive(Clone)]
struct Subscribed {
    /// The type of what the signal carries.
    carries: TypeId,
    find: Find,
    /// Makes a reader of what is broadcast that carries this.
    hearing: fn() -> Box<dyn Hear>,
}

impl Subscriptions {
    pub(super) fn named<P: Send + Sync + 'static>(&mut self, name: String) {
        let find = move |world: &World| Ok(world.signal::<P>(&name)?.untyped());
        self.push::<P>(Arc::new(find));
    }

    pub(super) fn typed<P: Send + Sync + 'static>(&mut self) {
        let find = |world: &World| Ok(world.signal_of::<P>().untyped());
        self.push::<P>(Arc::new(find));
    }

    fn push<P: Send + Sync + 'static>(&mut self, find: Find) {
        self.0.push(Subscribed {
            carries: TypeId::of::<P>(),
            find,
            hearing: || Box::new(BroadcastReader::<P>::new()),
        });
    }

    /// Readers of what is broadcast, one for each type that some of them carry, which have not subscribed yet.
    pub(super) fn hearings(&self) -> Vec<Hearing> {
        let mut all: Vec<Hearing> = Vec::new();
        for subscribed in &self.0 {
            let carries = subscribed.carries;
            if all.iter().all(|hearing| hearing.carries != carries) {
                let reader = (subscribed.hearing)();
                all.push(Hearing { carries, reader });
            }
        }
        all
    }

    /// Whether some of them carry a `P`.
    pub(super) fn carry<P: 'static>(&self) -> bool {
        let mut carried = self.0.iter().map(|subscribed| subscribed.carries);
        carried.any(|carries| carries == TypeId::of::<P>())
    }

    /// Whether nobody with these needs takes one of them.
    pub(super) fn are_in_vain(&self, needs: &Needs) -> bool {
        let mut carried = self.0.iter().map(|subscribed| &subscribed.carries);
        !needs.takes_named && carried.any(|carries| !needs.heard.contains(carries))
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Subscribes a processor's reader to them, whichever of the `drop`s of what nobody wants panic.
    pub(super) fn subscribe<D: QueryData, F: QueryFilter>(
        &self,
        world: &mut World,
        reader: &mut SignalReader<D, F>,
        processor: &str,
        panicked: &mut Panicked,
    ) -> Result<(), ScheduleError> {
        for Subscribed { find, .. } in &self.0 {
            let found = find(world);
            let subscribed =
                found.and_then(|signal| reader.subscribe_noting(world, signal, panicked));
            subscribed.map_err(|error| refused(processor, error))?;
        }
        Ok(())
    }

    /// Subscribes a processor's reader of what is broadcast to those of them that carry a `P`; to the signal that is known by
    /// that if there is none, and it hears nothing yet.
    pub(super) fn subscribe_broadcasts<P: Send + Sync + 'static>(
        &self,
        world: &mut World,
        reader: &mut BroadcastReader<P>,
        by_default: &mut bool,
        processor: &str,
        panicked: &mut Panicked,
    ) -> Result<(), ScheduleError> {
        if !self.carry::<P>() {
            if reader.hears_something() {
                return Ok(());
            }
            let signal = world.signal_of::<P>().untyped();
            *by_default = true;
            let subscribed = reader.subscribe_noting(world, signal, panicked);
            return subscribed.map_err(|error| refused(processor, error));
        }
        let carries = |subscribed: &&Subscribed| subscribed.carries == TypeId::of::<P>();
        let typed = by_default.then(|| world.signal_of::<P>().untyped());
        for Subscribed { find, .. } in self.0.iter().filter(carries) {
            let found = find(world);
            if let (Ok(signal), Some(typed), true) = (&found, &typed, *by_default)
                && signal == typed
            {
                // It hears that already, and from now on because somebody says so.
                *by_default = false;
                continue;
            }
            let subscribed =
                found.and_then(|signal| reader.subscribe_noting(world, signal, panicked));
            subscribed.map_err(|error| refused(processor, error))?;
        }
        Ok(())
    }
}

#[cold]
fn refused(processor: &str, error: SignalError) -> ScheduleError {
    ScheduleError::Signal {
        processor: processor.into(),
        error,
    }
}

impl fmt::Debug for Subscriptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscriptions").field(&self.0.len()).finish()
    }
}
