//! States of an application: menu, loading, playing, paused.
//!
//! Which one it is in is a resource, [`State`]; which one is asked for another, [`NextState`]. The two meet at one point of
//! a schedule alone, [`state_transition`], whose first processor makes what was asked for the state that is there, and notes
//! the [`Transition`] until it comes by again. Conditions ask both, and keep nothing of their own: so what a processor does
//! because of a state follows from the world, and goes back with it.

mod conditions;
mod current;
mod next;
mod saved;
mod transition;
mod within;

pub use current::{State, States, Transition};
pub use next::NextState;
pub use transition::state_transition;
pub use within::WithinState;
