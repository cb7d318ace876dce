//! Observers as processors.

use core::marker::PhantomData;

use crate::command::{Commands, Turn};
use crate::fragment::Fragment;
use crate::observer::{Observed, ObservedBatch, ObserverId, ObserverRun};
use crate::processor::param::Plea;
use crate::processor::runner::Runner;
use crate::processor::{ProcessorBuilder, ScheduleError, Seen};
use crate::query::{QueryError, QueryFilter};
use crate::world::World;

/// An observer as a processor: it [observes](World::observe) from when it is started until it is stopped, so
/// it is switched on and off, has roles, and is taken out as other processors are. It is called when what it
/// observes happens, not in a phase.
///
/// ```
/// use megachunk::observer::Observed;
/// use megachunk::prelude::*;
///
/// struct Health(u32);
///
/// let mut world = World::new();
/// let mut schedule = Schedule::new();
/// schedule.add(observing_processor::<Health, ()>("full health", Observed::COME, |batch, _| {
///     batch.for_each::<&mut Health>(|health| health.0 = 100).unwrap();
/// }));
/// schedule.run(&mut world)?;
/// let boar = world.create((Health(0),))?;
/// assert_eq!(world.get::<Health>(boar)?.0, 100);
/// schedule.set_enabled("full health", false)?;
/// schedule.run(&mut world)?;
/// let ghost = world.create((Health(0),))?;
/// assert_eq!(world.get::<Health>(ghost)?.0, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: Unreal Mass' observer processors.
#[doc(alias = "UMassObserverProcessor")]
pub fn observing_processor<T: Fragment, F: QueryFilter + 'static>(
    name: impl Into<String>,
    observed: Observed,
    run: impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync + 'static,
) -> ProcessorBuilder {
    let observing = Observing::<T, F> {
        observed,
        state: State::Off(Box::new(run)),
        of: PhantomData,
    };
    ProcessorBuilder::new(name.into(), Box::new(observing))
}

struct Observing<T, F> {
    observed: Observed,
    state: State,
    of: PhantomData<fn() -> (T, F)>,
}

enum State {
    Off(ObserverRun),
    On(ObserverId),
    /// It could not be registered, or its world is gone.
    Lost,
}

impl<T: Fragment, F: QueryFilter> Runner for Observing<T, F> {
    fn prepare(&mut self, world: &mut World, plea: &mut Plea<'_>) -> Result<(), ScheduleError> {
        // What can be wrong with it is said before it is started.
        crate::query::Query::<crate::entity::Entity, (crate::query::With<T>, F)>::new(world)
            .map(drop)
            .map_err(|error| plea.refuse(error))
    }

    fn forget(&mut self) {}

    fn start(&mut self, world: &mut World) {
        if let State::Off(run) = core::mem::replace(&mut self.state, State::Lost) {
            self.state = match world.observe::<T, F>(self.observed, run) {
                Ok(id) => State::On(id),
                Err(error) => {
                    tracing::error!(%error, "an observer cannot be started");
                    State::Lost
                }
            };
        }
    }

    fn stop(&mut self, world: &mut World) {
        if let State::On(id) = self.state
            && let Some(run) = world.take_observer(id)
        {
            self.state = State::Off(run);
        }
    }

    unsafe fn run(&mut self, _: &World, _: Turn<'_>) -> Result<(), QueryError> {
        Ok(())
    }

    fn count(&mut self, _: &World) -> Seen {
        Seen::default()
    }
}
