//! Replaying a trace on an allocator: [`Replay`] makes a trace ready, a [`Player`] is what each event calls.
//! It is for the program and its tests, and [may change in any version](crate#what-stays).
//!
//! Used by the subcommands `replay`, `map` and `bench`. What must always hold: each thread's events happen in the
//! order of the trace, and an object is destroyed after it was created.

mod contender;
mod lane;
mod limit;
mod player;
mod shadow;
mod start;

pub use contender::{Contender, Placement};
pub use lane::{Exchange, Lane, Played, Replay};
pub use limit::ReplayLimit;
pub use player::{Noting, Plain, Player, Reading, ReplayError, ReplayFault};
pub use shadow::{Shadow, Verifying};
