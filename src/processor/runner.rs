//! `Runner`: a processor, whatever its type.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use crate::observer::Precedence;
use crate::panics::{Panicked, forget, note, said};
use crate::processor::param::Plea;
use crate::processor::stopwatch::Stopwatch;
use crate::processor::{
    Param, Processor, ProcessorError, ProcessorOutput, ScheduleError, Seen, Subscriptions, Turn,
};
use crate::query::QueryError;
use crate::world::World;

/// A processor, whatever its type.
pub(super) trait Runner: Send {
    /// Asks for what it needs.
    fn prepare(&mut self, world: &mut World, plea: &mut Plea<'_>) -> Result<(), ScheduleError>;

    /// Forgets the world that it was prepared for.
    fn forget(&mut self);

    /// From now on hears the signals of these subscriptions; none with `None`. Panics of users' `drop`s are noted.
    fn hear(
        &mut self,
        _: &mut World,
        _: Option<&Subscriptions>,
        _processor: &str,
        _panicked: &mut Panicked,
    ) -> Result<(), ScheduleError> {
        Ok(())
    }

    /// Lets the signals go that were collected and wait for it; how many. Panics of users' `drop`s are noted.
    fn discard(&mut self, _: &mut World, _: &mut Panicked) -> usize {
        0
    }

    /// Is called after observers that have a lower precedence, and before others, if it observes.
    fn set_precedence(&mut self, _: Precedence) {}

    /// From now on is shown who is there whenever it starts, if it observes.
    fn show_existing(&mut self) {}

    /// Starts; `false` if it cannot yet, and is to be asked again.
    fn start(&mut self, world: &mut World) -> bool;
    fn stop(&mut self, world: &mut World);

    /// Another world goes on with it, in which it is not started anew: lets this one go.
    fn leave(&mut self, _: &mut World) {}

    /// Goes on in the world after the one that it has [left](Self::leave), as if it had been started there; `false` if it
    /// cannot, and is to be started.
    fn go_on(&mut self, _: &mut World) -> bool {
        true
    }

    /// Whether it has values from run to run that lie in no world, and of which its type tells.
    fn keeps(&self) -> bool {
        false
    }

    /// The first resource that a run would ask for and not find.
    fn missing(&self, _: &mut World) -> Option<QueryError> {
        None
    }

    /// Runs, if its conditions hold; whether it did.
    ///
    /// # Safety
    /// It was prepared for this world; else as for [`Param::lend_param`].
    unsafe fn run(&mut self, world: &World, turn: Turn<'_>) -> Result<bool, Box<Refusal>>;

    /// What a run would see.
    fn count(&mut self, world: &World) -> Seen;

    /// Runs with the world to itself, if that is what it needs, and its conditions hold; whether it did.
    fn run_alone(&mut self, world: &mut World) -> Result<bool, Box<Refusal>> {
        let _ = world;
        Ok(true)
    }

    /// What measures its calls, if it has no turns.
    fn stopwatch(&self) -> Option<&Stopwatch> {
        None
    }

    /// Which of its conditions did not hold when it was passed by.
    fn held_by(&self) -> Option<usize> {
        None
    }

    /// Whether it has a turn in each run, for which a condition can be asked.
    fn has_turns(&self) -> bool {
        true
    }
}

/// A processor with what its parameters keep.
pub(super) struct Prepared<P: Processor> {
    processor: P,
    state: Option<<P::Params as Param>::State>,
}

impl<P: Processor> Prepared<P> {
    pub(super) fn new(processor: P) -> Self {
        Self {
            processor,
            state: None,
        }
    }
}

impl<P: Processor> Runner for Prepared<P> {
    fn prepare(&mut self, world: &mut World, plea: &mut Plea<'_>) -> Result<(), ScheduleError> {
        self.state = Some(P::Params::prepare_param(world, plea)?);
        Ok(())
    }

    fn forget(&mut self) {
        self.state = None;
    }

    fn hear(
        &mut self,
        world: &mut World,
        subscriptions: Option<&Subscriptions>,
        processor: &str,
        panicked: &mut Panicked,
    ) -> Result<(), ScheduleError> {
        let Some(state) = &mut self.state else {
            unreachable!("it was prepared");
        };
        P::Params::hear_param(state, world, subscriptions, processor, panicked)
    }

    fn discard(&mut self, world: &mut World, panicked: &mut Panicked) -> usize {
        let state = self.state.as_mut();
        state.map_or(0, |state| P::Params::discard_param(state, world, panicked))
    }

    fn start(&mut self, world: &mut World) -> bool {
        self.processor.start(world);
        true
    }

    fn stop(&mut self, world: &mut World) {
        self.processor.stop(world);
    }

    fn keeps(&self) -> bool {
        P::Params::KEEPS_PARAM
    }

    fn missing(&self, world: &mut World) -> Option<QueryError> {
        P::Params::missing_param(world)
    }

    unsafe fn run(&mut self, world: &World, turn: Turn<'_>) -> Result<bool, Box<Refusal>> {
        let Some(state) = &mut self.state else {
            unreachable!("it was prepared");
        };
        // SAFETY: the caller's.
        let refused = match unsafe { P::Params::lend_param(state, world, turn) } {
            Ok(params) => match self.processor.execute(params).into_result() {
                Ok(()) => return Ok(true),
                Err(error) => return Err(Box::new(Refusal::Failed(error))),
            },
            Err(error) => error,
        };
        P::Params::take_back_param(state, turn.version);
        Err(Box::new(Refusal::Query(refused)))
    }

    fn count(&mut self, world: &World) -> Seen {
        let mut seen = Seen::default();
        if let Some(state) = &mut self.state {
            P::Params::count_param(state, world, &mut seen);
        }
        seen
    }
}

/// A closure that has the world to itself, and says why it is not done.
pub(super) struct Alone<F>(pub(super) F);

impl<F: FnMut(&mut World) -> Result<(), Refusal> + Send> Runner for Alone<F> {
    fn prepare(&mut self, _: &mut World, plea: &mut Plea<'_>) -> Result<(), ScheduleError> {
        plea.needs.exclusive = true;
        Ok(())
    }

    fn forget(&mut self) {}

    fn start(&mut self, _: &mut World) -> bool {
        true
    }

    fn stop(&mut self, _: &mut World) {}

    unsafe fn run(&mut self, _: &World, _: Turn<'_>) -> Result<bool, Box<Refusal>> {
        unreachable!("it runs alone")
    }

    fn count(&mut self, _: &World) -> Seen {
        Seen::default()
    }

    fn run_alone(&mut self, world: &mut World) -> Result<bool, Box<Refusal>> {
        match (self.0)(world) {
            Ok(()) => Ok(true),
            Err(refusal) => Err(Box::new(refusal)),
        }
    }
}

/// Calls what a processor has to do; a panic gets its name.
pub(super) fn by_name<R>(name: &str, call: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result,
        Err(payload) => panic_by_name(name, Some(payload)),
    }
}

/// Goes on with a panic of a processor, whose name it gets, unless it has it already: an observer's that is shown who
/// is there when it starts.
pub(super) fn panic_by_name(name: &str, payload: Panicked) -> ! {
    let text = payload.as_deref().and_then(said).map(str::to_owned);
    forget(payload);
    let text = text.unwrap_or_else(|| "with something that is no text".into());
    let begins = format!("processor `{name}` panicked: ");
    let named = if text.starts_with(&begins) {
        text
    } else {
        begins + &text
    };
    std::panic::resume_unwind(Box::new(named))
}

/// Why a processor has not done what it is there for.
#[derive(Debug)]
pub(super) enum Refusal {
    /// What it asks for is refused, or its conditions ask for: it has not begun.
    Query(QueryError),
    /// It says so itself.
    Failed(ProcessorError),
}

/// Why a run was broken off.
#[derive(Debug)]
pub(super) enum Failure {
    Refused(Refusal),
    Panicked(Panicked),
}

impl Failure {
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// Ends it, also if it panics then.
    pub(super) fn forget(self) {
        let mut panicked = None;
        match self {
            Self::Refused(refusal) => note(&mut panicked, || drop(refusal)),
            Self::Panicked(payload) => panicked = payload,
        }
        forget(panicked);
    }
}
