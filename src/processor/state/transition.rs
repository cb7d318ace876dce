//! `state_transition`: where a state changes.
//!
//! Two processors, each with the world to itself. The first takes what is asked for, makes it the state, and notes the
//! transition, which stands until it comes by again; the second destroys those who lived within the state that was left. What
//! the second has not come to the first makes up for.

use core::panic::Location;

use crate::processor::runner::Refusal;
use crate::processor::state::next::{asked, no_resource};
use crate::processor::state::within::destroy_within;
use crate::processor::{Composite, NextState, ProcessorBuilder, State, States, Transition};
use crate::query::QueryError;
use crate::world::World;

/// Where in a schedule the state of a type changes: a composite of this name, for
/// [`Schedule::add_composite`](crate::processor::Schedule::add_composite), to be placed as others are. One transition at most comes
/// about each time that the schedule comes by: the one that was asked for last by [`NextState`] or
/// [`Commands::set_state`](crate::command::Commands::set_state), or
/// [`reenter_state`](crate::command::Commands::reenter_state). Commands that were recorded before it in the run are flushed
/// first, and so count. The first time that it comes by, the [`State`] that there was at first is entered, and what was asked
/// for waits for the next.
///
/// Who is conditioned by states is best placed behind it, `.after(name)`, or in a later phase: so all see a transition in the
/// run that brings it. Who comes before sees it in the next run, and [once](ProcessorBuilder::run_if_entered), too.
///
/// O(1) while the state stays, and a point at which nothing runs beside it; with a transition as much as it takes to destroy
/// those who lived [within](super::WithinState) the state that was left. Several types of states have a transition each, which
/// follow one another as the schedule has them.
///
/// # Who leaves sees those who go
/// Its processors are called `NAME.change` and `NAME.destroy`. Between the two the state is the new one already, and those
/// who lived within the one before are there still:
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Score(u32);
/// struct Best(u32);
///
/// let mut world = World::new();
/// world.init_state("playing");
/// world.resources_mut().insert(Best(0));
/// world.create((Score(7), WithinState("playing")))?;
/// let mut schedule = Schedule::new();
/// schedule.add_composite(state_transition::<&str>("screen"));
/// schedule.add(
///     processor("keep score", |mut scores: QueryRun<&Score>, best: &mut Best| best.0 = scores.single().map_or(0, |score| score.0))
///         .after("screen.change")
///         .before("screen.destroy")
///         .run_if_left("playing"),
/// );
/// schedule.run(&mut world)?;
/// world.resources_mut().get_mut::<NextState<&str>>().unwrap().set("menu");
/// schedule.run(&mut world)?;
/// assert_eq!(world.resources().get::<Best>().unwrap().0, 7);
/// assert_eq!(world.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Who is created between the two within the state that was left goes, too.
///
/// # Errors
/// A run is broken off with [`NoResource`](crate::processor::ScheduleError::NoResource) where the world has no
/// [`State<S>`](State) or [`NextState<S>`](NextState): [`World::init_state`] puts them there.
///
/// # Panics
/// A run panics if a `drop` of those who are destroyed does, or what observes them. The state has changed then; who is left
/// of them is destroyed when the schedule comes by again. (A state that was [entered again](NextState::reenter) is told
/// [once more](super::WithinState) then.)
///
/// Source: Bevy's `StateTransition` schedule, whose states change where it is run.
#[doc(alias = "StateTransition")]
#[doc(alias = "add_state")]
#[track_caller]
pub fn state_transition<S: States>(name: impl Into<String>) -> Composite {
    let name = name.into();
    let at = Location::caller();
    let parts = [
        part(format!("{name}.change"), at, change::<S>),
        part(format!("{name}.destroy"), at, destroy_left::<S>),
    ];
    Composite::new(name, parts).in_sequence()
}

/// A processor of a transition, which is refused as others are who ask for a resource that is not there.
fn part(name: String, at: &'static Location<'static>, run: Step) -> ProcessorBuilder {
    let mut builder =
        ProcessorBuilder::alone(name, move |world| run(world).map_err(Refusal::Query));
    builder.at = at;
    builder
}

type Step = fn(&mut World) -> Result<(), QueryError>;

/// Makes what is asked for the state.
fn change<S: States>(world: &mut World) -> Result<(), QueryError> {
    let broken_off = state::<S>(world)?.ends.is_some();
    if broken_off {
        destroy_left::<S>(world)?;
    }
    let state = state::<S>(world)?;
    let asked = asked::<S>(world)?;
    if broken_off && state.transition.is_some_and(Transition::is_again) {
        // Who had built it anew by then has lost it just now: it is told once more, and what is asked for waits.
        return Ok(());
    }
    let comes = match asked {
        _ if state.is_new => Some(Transition {
            left: None,
            entered: state.current,
        }),
        Some(asked) if asked.anew || asked.state != state.current => Some(Transition {
            left: Some(state.current),
            entered: asked.state,
        }),
        _ => None,
    };
    let resources = world.resources_mut();
    // To be lent to be written is to be changed: so only where something is to be written.
    if asked.is_some() && !state.is_new {
        let next = resources.get_mut::<NextState<S>>();
        next.ok_or_else(no_resource::<NextState<S>>)?.cancel();
    }
    if comes.is_some() || state.transition.is_some() {
        let state = resources.get_mut::<State<S>>();
        let state = state.ok_or_else(no_resource::<State<S>>)?;
        state.is_new = false;
        state.transition = comes;
        if let Some(transition) = comes {
            state.current = transition.entered;
            state.ends = transition.left;
        }
    }
    Ok(())
}

/// Destroys those who lived within the state that was left.
fn destroy_left<S: States>(world: &mut World) -> Result<(), QueryError> {
    let Some(left) = state::<S>(world)?.ends else {
        return Ok(());
    };
    destroy_within(world, left)?;
    if let Some(state) = world.resources_mut().get_mut::<State<S>>() {
        state.ends = None;
    }
    Ok(())
}

/// The state, if it is known at all.
fn state<S: States>(world: &World) -> Result<State<S>, QueryError> {
    let state = world.resources().get::<State<S>>();
    state.copied().ok_or_else(no_resource::<State<S>>)
}
