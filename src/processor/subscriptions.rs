//! `Subscriptions`: the signals that a processor hears.

use core::fmt;
use std::sync::Arc;

use crate::panics::Panicked;
use crate::processor::ScheduleError;
use crate::query::{QueryData, QueryFilter};
use crate::signal::{Signal, SignalError, SignalReader};
use crate::world::World;

type Find = Arc<dyn Fn(&World) -> Result<Signal<()>, SignalError> + Send + Sync>;

/// The signals that a processor hears, to be found in a world.
#[derive(Clone, Default)]
#[doc(hidden)]
pub struct Subscriptions(Vec<Find>);

impl Subscriptions {
    pub(super) fn named<P: Send + Sync + 'static>(&mut self, name: String) {
        let find = move |world: &World| Ok(world.signal::<P>(&name)?.untyped());
        self.0.push(Arc::new(find));
    }

    pub(super) fn typed<P: Send + Sync + 'static>(&mut self) {
        let find = |world: &World| Ok(world.signal_of::<P>().untyped());
        self.0.push(Arc::new(find));
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
        for find in &self.0 {
            let found = find(world);
            let subscribed =
                found.and_then(|signal| reader.subscribe_noting(world, signal, panicked));
            subscribed.map_err(|error| ScheduleError::Signal {
                processor: processor.into(),
                error,
            })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Subscriptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscriptions").field(&self.0.len()).finish()
    }
}
