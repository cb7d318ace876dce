//! The world that a schedule belongs to, and what its processors have begun there.

use crate::panics::{Panicked, note, resume};
use crate::processor::entry::Started;
use crate::processor::runner::panic_by_name;
use crate::processor::{Schedule, ScheduleError};
use crate::world::World;

impl Schedule {
    /// Whether this world is its own; `false` if it has none, or one that is gone.
    pub(in crate::processor) fn is_of(&self, world: &World) -> Result<bool, ScheduleError> {
        match &self.of {
            Some(own) if world.seat.is_present(own) => Ok(true),
            Some(own) if own.upgrade().is_some_and(|other| !other.has_ended()) => {
                Err(ScheduleError::OtherWorld)
            }
            _ => Ok(false),
        }
    }

    /// Takes this world for its own, if it has none.
    pub(super) fn attach(&mut self, world: &World) -> Result<(), ScheduleError> {
        if !self.is_of(world)? {
            let panicked = self.forget();
            self.of = Some(world.seat.presence());
            resume(panicked);
        }
        Ok(())
    }

    /// Belongs to no world any more: the next one that it runs on is its own. Processors that were started are
    /// not stopped: [`stop`](Self::stop) does that. What parameters keep, [`Local`](crate::processor::param::Local) values among
    /// them, is dropped.
    ///
    /// # Panics
    /// If the `drop` of what is kept panics; it belongs to no world then.
    pub fn detach(&mut self) {
        let panicked = self.forget();
        self.of = None;
        resume(panicked);
    }

    pub(in crate::processor) fn forget(&mut self) -> Panicked {
        let mut panicked = None;
        for (entry, member) in self.entries.iter_mut().zip(&mut self.crew) {
            entry.needs = None;
            entry.subscribed = false;
            entry.started = Started::default();
            member.hold(None);
            note(&mut panicked, || member.get_mut().runner.forget());
        }
        self.plan = None;
        panicked
    }

    /// Stops all processors that have been started. The next run starts them again.
    ///
    /// # Errors
    /// [`ScheduleError::OtherWorld`] if it has run on another one, which still lives: they were not started here.
    ///
    /// # Panics
    /// If the stop of a processor panics, with its name; all are stopped then.
    pub fn stop(&mut self, world: &mut World) -> Result<(), ScheduleError> {
        let mut panicked = None;
        if self.is_of(world)? {
            for at in 0..self.entries.len() {
                note(&mut panicked, || self.stop_one(world, at));
            }
        }
        resume(panicked);
        Ok(())
    }

    /// Stops what of a processor has been started. It is stopped, whoever panics.
    pub(super) fn stop_one(&mut self, world: &mut World, at: usize) {
        let entry = &mut self.entries[at];
        let started = core::mem::take(&mut entry.started);
        self.restless |= started.processor || started.hook;
        let mut panicked = None;
        if started.processor {
            note(&mut panicked, || self.crew[at].get_mut().runner.stop(world));
        }
        if started.hook
            && let Some(stop) = &mut entry.on_stop
        {
            note(&mut panicked, || stop.call(world));
        }
        if panicked.is_some() {
            panic_by_name(&entry.name, panicked);
        }
    }
}
