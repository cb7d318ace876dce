//! `Hearing`: a reader of what is broadcast, whatever it carries, of a processor whose parameters have no types.
//!
//! Must hold: the reader of a `Hearing` is a [`BroadcastReader`] of the type that it says it carries.

use core::any::{Any, TypeId};
use core::fmt;

use crate::panics::Panicked;
use crate::processor::{ScheduleError, Subscriptions};
use crate::signal::{BroadcastReader, Heard};
use crate::world::World;

/// A reader of what is broadcast, whatever it carries.
pub(in crate::processor) trait Hear: Send + Sync {
    /// From now on hears those of the subscriptions that carry what it hears; none with `None`.
    fn hear(
        &mut self,
        world: &mut World,
        subscriptions: Option<&Subscriptions>,
        processor: &str,
        panicked: &mut Panicked,
    ) -> Result<(), ScheduleError>;

    /// Lets all go that was collected and waits for it; how many.
    fn discard(&mut self, world: &mut World, panicked: &mut Panicked) -> usize;

    /// Takes what was collected since it was read last: that is what it has, and it counts as heard.
    fn read(&mut self, world: &World);

    /// The reader, to be cast.
    fn as_any(&self) -> &dyn Any;
}

impl<P: Send + Sync + 'static> Hear for BroadcastReader<P> {
    fn hear(
        &mut self,
        world: &mut World,
        subscriptions: Option<&Subscriptions>,
        processor: &str,
        panicked: &mut Panicked,
    ) -> Result<(), ScheduleError> {
        match subscriptions {
            // Somebody has named one, or there was no such reader: none is heard by default.
            Some(all) => all.subscribe_broadcasts(world, self, &mut false, processor, panicked),
            None => {
                self.unsubscribe_all();
                Ok(())
            }
        }
    }

    fn discard(&mut self, world: &mut World, panicked: &mut Panicked) -> usize {
        self.discard_collected(world, panicked)
    }

    fn read(&mut self, world: &World) {
        let _ = BroadcastReader::read(self, world);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A reader, and the type that it hears.
pub(in crate::processor) struct Hearing {
    pub(in crate::processor) carries: TypeId,
    pub(in crate::processor) reader: Box<dyn Hear>,
}

impl Hearing {
    /// What was read last of a `P`, if that is what it hears.
    pub(super) fn heard<'w, P: Send + Sync + 'static>(
        &'w self,
        world: &'w World,
    ) -> Option<Heard<'w, P>> {
        let reader: &BroadcastReader<P> = self.reader.as_any().downcast_ref()?;
        Some(reader.again(world))
    }
}

impl fmt::Debug for Hearing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hearing").field(&self.carries).finish()
    }
}
