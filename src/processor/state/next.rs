//! `NextState`: which state is asked for.

use core::any::type_name;

use crate::command::Commands;
use crate::processor::States;
use crate::query::QueryError;
use crate::world::{World, WorldError};

/// Which state an application is to go to: a resource. Who decides takes `&mut NextState<S>`, and what is asked for comes
/// about where [`state_transition`](crate::processor::state_transition) stands in the schedule: in this run, if that comes
/// behind, else in the next.
///
/// The last who asks has it. Processors that take it to write run one after the other, in the schedule's order, and so the
/// last is the same for any number of threads. Who asks seldom, or from within a parallel loop, does it by
/// [`Commands::set_state`] or [`Commands::reenter_state`], for which he takes nothing: such wishes come when commands are flushed, in the order of
/// these; in a parallel loop that is the same for any number of threads if recorders have [sort
/// keys](crate::command::ParallelCommands::open_at). A wish that was recorded counts from its flush on, so it comes after one that
/// was set directly in between: who sets directly and wants to be last is ordered behind that flush.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut next = NextState::default();
/// next.set("menu");
/// next.set("playing");
/// assert_eq!(next.asked(), Some("playing"));
/// next.cancel();
/// assert_eq!(next.asked(), None);
/// ```
///
/// Source: Bevy's `NextState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextState<S> {
    pub(super) asked: Option<Asked<S>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked<S> {
    pub(super) state: S,
    /// Also if it is the one that is there.
    pub(super) anew: bool,
}

impl<S> Default for NextState<S> {
    fn default() -> Self {
        Self { asked: None }
    }
}

impl<S: States> NextState<S> {
    /// Asks for this state, instead of what was asked for before. Where it is the one that is there, nothing is left or
    /// entered. O(1).
    pub fn set(&mut self, state: S) {
        self.asked = Some(Asked { state, anew: false });
    }

    /// Asks for this state, instead of what was asked for before. Where it is the one that is there, it is left and entered
    /// again: a level that begins anew. O(1).
    /// (Bevy's `set`, from 0.18 on; this crate's [`set`](Self::set) is its `set_if_neq`.)
    #[doc(alias = "restart")]
    pub fn reenter(&mut self, state: S) {
        self.asked = Some(Asked { state, anew: true });
    }

    /// Asks for nothing any more. O(1).
    #[doc(alias = "reset")]
    pub fn cancel(&mut self) {
        self.asked = None;
    }

    /// What is asked for. O(1).
    #[must_use]
    pub fn asked(&self) -> Option<S> {
        self.asked.map(|asked| asked.state)
    }
}

impl Commands<'_> {
    /// Records that this state is [asked for](NextState::set), after all commands before and before all after: of several,
    /// the last in this order has it, for any number of threads. It is a [closure](Self::defer), and costs what one costs.
    ///
    /// In a world without [`NextState<S>`](NextState) the flush refuses it, and [tells](crate::command::FlushReport::refused)
    /// by the name of the type which state that is ([`WorldError::NoState`]).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.init_state("playing");
    /// let mut commands = world.commands();
    /// commands.set_state("paused");
    /// commands.set_state("menu");
    /// drop(commands);
    /// assert!(world.flush().is_clean());
    /// assert_eq!(world.resources().get::<NextState<&str>>().unwrap().asked(), Some("menu"));
    ///
    /// let mut commands = world.commands();
    /// commands.set_state(7_u8);
    /// drop(commands);
    /// assert_eq!(world.flush().refused.len(), 1);
    /// ```
    pub fn set_state<S: States>(&mut self, state: S) {
        self.defer_checked(move |world| {
            next_of(world)?.set(state);
            Ok(())
        });
    }

    /// Records that this state is [asked for anew](NextState::reenter): where it is the one that is there, it is left and
    /// entered again. Else as [`set_state`](Self::set_state), and in one order with it.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.init_state("playing");
    /// let mut schedule = Schedule::new();
    /// schedule.add_composite(state_transition::<&str>("screen"));
    /// schedule.add(
    ///     processor("plant", |mut commands: Commands<'_>| {
    ///         _ = commands.create((WithinState("playing"), "a tree"));
    ///     })
    ///     .after("screen")
    ///     .run_if_entered("playing"),
    /// );
    /// schedule.run(&mut world)?;
    /// let trees = |world: &mut World| -> Result<Vec<Entity>, WorldError> {
    ///     Ok(world.query::<Entity, With<&str>>()?.iter().collect())
    /// };
    /// let before = trees(&mut world)?;
    /// // The level begins anew: its tree goes, and another one is planted.
    /// world.commands().reenter_state("playing");
    /// schedule.run(&mut world)?;
    /// let after = trees(&mut world)?;
    /// assert!(before.len() == 1 && after.len() == 1 && before != after);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "restart")]
    pub fn reenter_state<S: States>(&mut self, state: S) {
        self.defer_checked(move |world| {
            next_of(world)?.reenter(state);
            Ok(())
        });
    }
}

/// Where a command says what is asked for.
fn next_of<S: States>(world: &mut World) -> Result<&mut NextState<S>, WorldError> {
    let next = world.resources_mut().get_mut();
    next.ok_or_else(|| WorldError::NoState {
        name: type_name::<S>().into(),
    })
}

/// A resource of states is not there.
#[cold]
pub(super) fn no_resource<T>() -> QueryError {
    QueryError::NoResource {
        name: type_name::<T>().into(),
    }
}

/// Which state is asked for, if it is known at all.
pub(super) fn asked<S: States>(world: &World) -> Result<Option<Asked<S>>, QueryError> {
    match world.resources().get::<NextState<S>>() {
        Some(next) => Ok(next.asked),
        None => Err(no_resource::<NextState<S>>()),
    }
}
