//! `Watch`: who is shown the world while a schedule runs, behind each processor and each flush.
//!
//! Must hold: a run that nobody watches is compiled as if there was none of this.

use crate::processor::{Schedule, ScheduleError, ScheduleReport};
use crate::world::World;

/// Who is shown the world.
pub(super) trait Watch {
    /// Processors run one after the other, so that there is something to show between them.
    const WATCHES: bool;

    /// A processor has run.
    fn ran(&mut self, world: &World, name: &str);

    /// There was a moment to flush, and what was recorded by then is applied.
    fn flushed(&mut self, world: &World);
}

/// Nobody.
pub(super) struct Unwatched;

impl Watch for Unwatched {
    const WATCHES: bool = false;

    #[inline(always)]
    fn ran(&mut self, _: &World, _: &str) {}

    #[inline(always)]
    fn flushed(&mut self, _: &World) {}
}

/// A closure, which hears what the last processor was that ran.
struct Watcher<F> {
    after: F,
    last: Option<String>,
}

impl<F: FnMut(&World, &str)> Watch for Watcher<F> {
    const WATCHES: bool = true;

    fn ran(&mut self, world: &World, name: &str) {
        self.last = Some(name.to_owned());
        (self.after)(world, name);
    }

    fn flushed(&mut self, world: &World) {
        match &self.last {
            None => (self.after)(world, "flush"),
            Some(last) => (self.after)(world, &format!("flush after {last}")),
        }
    }
}

impl Schedule {
    /// [Runs](Self::run) all phases once, one processor after the other in the order of the schedule, as with
    /// [`Execution::Alone`](super::Execution::Alone), and calls `after` behind each processor that has run, with its name,
    /// and at each moment of a flush, whether there was anything to apply or not: `flush after NAME`, by the processor
    /// that ran last, or `flush`, where none has run yet. (There are such moments at the begin, after each phase, after
    /// processors that record commands, and before and after an exclusive one.) The world is the same afterwards as after
    /// `run`, bit for bit, in an [ordered](crate::world::Universe::ordered) universe, if its processors do not ask which thread
    /// they are on.
    ///
    /// So it is found which processor makes two runs part that were the same before: it is the first behind which their
    /// [hashes](World::state_hash) differ. It must be asked of both again from a state before that, a
    /// [saved](World::save) one, say, in a [`Simulation`](super::Simulation) by
    /// [`advance_watched`](super::Simulation::advance_watched).
    ///
    /// What is recorded or sent through the world that `after` gets is no part of a processor's: it comes where that of
    /// other threads comes.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.registry().register_plain::<u32>()?;
    /// world.create((1_u32,))?;
    /// let mut schedule = Schedule::new();
    /// schedule
    ///     .add(processor("grow", |mut all: QueryRun<&mut u32>| all.for_each(|size| *size += 1)))
    ///     .add(processor("rest", |_: QueryRun<&u32>| {}).after("grow"));
    /// let (mut last, mut changed) = (world.state_hash(&Default::default())?, Vec::new());
    /// schedule.run_watched(&mut world, |world, name| {
    ///     let hash = world.state_hash(&Default::default()).expect("all is plain");
    ///     if core::mem::replace(&mut last, hash) != hash {
    ///         changed.push(name.to_owned());
    ///     }
    /// })?;
    /// assert_eq!(changed, ["grow"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`run`](Self::run). `after` is not called behind a processor that has failed.
    ///
    /// # Panics
    /// As for [`run`](Self::run); if `after` does: no other processor begins then, what has been recorded waits for the next
    /// flush, and the world and the schedule can be used again.
    pub fn run_watched(
        &mut self,
        world: &mut World,
        after: impl FnMut(&World, &str),
    ) -> Result<ScheduleReport, ScheduleError> {
        let mut watcher = Watcher { after, last: None };
        self.run_all(world, &mut watcher)
    }
}
