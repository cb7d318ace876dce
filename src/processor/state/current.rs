//! `State`: which state an application is in, and how it came to it.

use core::hash::Hash;

use crate::processor::NextState;
use crate::world::World;

/// What can be the state of an application: any small value that can be compared. Mostly an enum; one type for each thing
/// that has states of its own.
///
/// ```
/// #[derive(Clone, Copy, PartialEq, Eq, Hash)]
/// enum Screen { Menu, Loading, Level(u8) }
/// # fn is_one<S: megachunk::processor::States>(_: S) {}
/// # is_one(Screen::Menu);
/// # is_one(Screen::Loading);
/// # is_one(Screen::Level(3));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the state of an application",
    note = "states are copied and compared: `#[derive(Clone, Copy, PartialEq, Eq, Hash)]`"
)]
pub trait States: Copy + Eq + Hash + Send + Sync + 'static {}

impl<S: Copy + Eq + Hash + Send + Sync + 'static> States for S {}

/// Which state an application is in: a resource, which processors read as `&State<S>`, and
/// [conditions](crate::processor::ProcessorBuilder::run_if_in_state) ask. It changes where
/// [`state_transition`](crate::processor::state_transition) stands in a schedule, and nowhere else, to what is asked for by
/// [`NextState`]. [`World::init_state`] puts both there.
///
/// Several types of states are several resources, each with transitions of its own.
///
/// ```
/// use megachunk::prelude::*;
///
/// #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
/// enum Screen { Menu, Playing }
/// struct Plays(u32);
///
/// let mut world = World::new();
/// world.init_state(Screen::Menu);
/// world.resources_mut().insert(Plays(0));
/// let mut schedule = Schedule::new();
/// schedule
///     .add_composite(state_transition::<Screen>("screen"))
///     .add(
///         processor("menu", |next: &mut NextState<Screen>| next.set(Screen::Playing))
///             .after("screen")
///             .run_if_in_state(Screen::Menu),
///     )
///     .add(
///         processor("begin", |plays: &mut Plays| plays.0 += 1)
///             .after("screen")
///             .run_if_entered(Screen::Playing),
///     );
/// for _ in 0..5 {
///     schedule.run(&mut world)?;
/// }
/// assert!(world.resources().get::<State<Screen>>().unwrap().is(Screen::Playing));
/// assert_eq!(world.resources().get::<Plays>().unwrap().0, 1);
/// # Ok::<(), ScheduleError>(())
/// ```
///
/// It is kept in no file, and does not go back, unless that [is said](Self::register).
///
/// Source: Bevy's `State`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "StateTransition")]
pub struct State<S> {
    pub(super) current: S,
    /// Nobody has entered the one that it was made with.
    pub(super) is_new: bool,
    pub(super) transition: Option<Transition<S>>,
    /// The state that was left, and whose entities are still there.
    pub(super) ends: Option<S>,
}

/// From one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "StateTransitionEvent")]
pub struct Transition<S> {
    /// The state that was left; `None` when the one was entered that there was at first.
    pub left: Option<S>,
    /// The state that was entered, which can be the same.
    pub entered: S,
}

impl<S: States> Transition<S> {
    /// Whether the state was entered again that was left.
    pub(super) fn is_again(self) -> bool {
        self.left == Some(self.entered)
    }
}

impl<S: States> State<S> {
    /// In this state, which is entered with the first transition.
    #[must_use]
    pub const fn new(first: S) -> Self {
        Self {
            current: first,
            is_new: true,
            transition: None,
            ends: None,
        }
    }

    /// The state. O(1).
    #[must_use]
    #[doc(alias = "get")]
    pub fn current(&self) -> S {
        self.current
    }

    /// Whether this is the state. O(1).
    #[must_use]
    pub fn is(&self, state: S) -> bool {
        self.current == state
    }

    /// From where to where it went when a schedule came last by its
    /// [`state_transition`](crate::processor::state_transition); `None` if nothing changed then. O(1).
    #[must_use]
    pub fn transition(&self) -> Option<Transition<S>> {
        self.transition
    }

    /// Whether this state was entered with the [last transition](Self::transition). O(1).
    #[must_use]
    pub fn has_entered(&self, state: S) -> bool {
        self.transition.is_some_and(|last| last.entered == state)
    }

    /// Whether this state was left with the [last transition](Self::transition). O(1).
    #[must_use]
    pub fn has_left(&self, state: S) -> bool {
        self.transition.is_some_and(|last| last.left == Some(state))
    }
}

impl World {
    /// Puts a [`State`] there, with the `first` one, and a [`NextState`]; those that are there already, in a world that was
    /// loaded, say, stay as they are. O(1).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.init_state("menu");
    /// world.init_state("playing");
    /// assert!(world.resources().get::<State<&str>>().unwrap().is("menu"));
    /// ```
    #[doc(alias = "insert_state")]
    pub fn init_state<S: States>(&mut self, first: S) -> &mut Self {
        let resources = self.resources_mut();
        if !resources.contains::<State<S>>() {
            resources.insert(State::new(first));
        }
        if !resources.contains::<NextState<S>>() {
            resources.insert(NextState::<S>::default());
        }
        self
    }
}
