//! Conditions that ask for states.

use crate::processor::{ProcessorBuilder, State, States, Transition};

impl ProcessorBuilder {
    /// Is passed by unless this is the [state](State). That is a condition as others are, asked [in its
    /// turn](Self::run_if): who comes behind the [transition](super::state_transition) runs in the run with it, who comes
    /// before in the next. It reads the resource, and a run without one is an error.
    ///
    /// For several states: `run_if(|screen: &State<Screen>| !screen.is(Screen::Menu))`.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Ticks(u32);
    ///
    /// let mut world = World::new();
    /// world.init_state("playing");
    /// world.resources_mut().insert(Ticks(0));
    /// let mut schedule = Schedule::new();
    /// schedule.add_composite(state_transition::<&str>("screen"));
    /// schedule.add(
    ///     processor("tick", |ticks: &mut Ticks| ticks.0 += 1).after("screen").run_if_in_state("playing"),
    /// );
    /// for next in ["playing", "paused", "playing", "paused", "paused"] {
    ///     world.resources_mut().get_mut::<NextState<&str>>().unwrap().set(next);
    ///     schedule.run(&mut world)?;
    /// }
    /// // In the first run and in the third. (The first enters what there is, and asks for the same.)
    /// assert_eq!(world.resources().get::<Ticks>().unwrap().0, 2);
    /// # Ok::<(), ScheduleError>(())
    /// ```
    ///
    /// Source: Bevy's `in_state`.
    #[doc(alias = "in_state")]
    pub fn run_if_in_state<S: States>(self, state: S) -> Self {
        self.run_if(move |current: &State<S>| current.is(state))
    }

    /// Runs when this state was entered, and then once: between two times that the schedule comes by the
    /// [transition](super::state_transition) of this type of states, a processor has one turn. The state that there was at
    /// first is entered in the first run. That is a condition as [`run_if_in_state`](Self::run_if_in_state) is; together
    /// with another that does not hold then, it has missed its time, and so has who did not come to his turn in a run that was
    /// broken off.
    ///
    /// The transition stands until a schedule comes by it again. So who is placed before it, in a run that is broken off behind
    /// him, has that turn again in the next; and whoever it is runs each time where it is not come by: in a schedule that does
    /// not have it (one of frames between ticks, say), in a phase that is run by itself, while it is switched off. Who must not
    /// do it twice is placed behind it. (A state that is [entered again](super::NextState::reenter) is told once more where its
    /// transition was [broken off](super::WithinState) between its two parts.)
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Tree;
    ///
    /// let mut world = World::new();
    /// world.init_state("playing");
    /// let mut schedule = Schedule::new();
    /// let plant = |mut commands: Commands| _ = commands.create((Tree,)).expect("there is room");
    /// schedule.add_composite(state_transition::<&str>("screen"));
    /// schedule.add(processor("plant", plant).after("screen").run_if_entered("playing"));
    /// for _ in 0..3 {
    ///     schedule.run(&mut world)?;
    /// }
    /// assert_eq!(world.count(), 1);
    /// # Ok::<(), ScheduleError>(())
    /// ```
    ///
    /// Source: Bevy's `OnEnter`.
    #[doc(alias = "OnEnter")]
    pub fn run_if_entered<S: States>(self, state: S) -> Self {
        self.run_if(move |current: &State<S>| current.has_entered(state))
    }

    /// Runs when this state was left, and then once, as for [`run_if_entered`](Self::run_if_entered). Entities that lived
    /// [within](super::WithinState) it are gone, but for who runs between the [two
    /// parts](super::state_transition#who-leaves-sees-those-who-go) of the transition.
    ///
    /// Source: Bevy's `OnExit`.
    #[doc(alias = "OnExit")]
    pub fn run_if_left<S: States>(self, state: S) -> Self {
        self.run_if(move |current: &State<S>| current.has_left(state))
    }

    /// Runs when the state went `from` one `to` another, and then once, as for [`run_if_entered`](Self::run_if_entered).
    ///
    /// Source: Bevy's `OnTransition`.
    #[doc(alias = "OnTransition")]
    pub fn run_if_transition<S: States>(self, from: S, to: S) -> Self {
        let wanted = Transition {
            left: Some(from),
            entered: to,
        };
        self.run_if(move |current: &State<S>| current.transition() == Some(wanted))
    }
}
