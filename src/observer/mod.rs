//! The observer room: who wants to know what comes and goes.
//!
//! An observer is a closure that a world calls when entities with a fragment or tag are created or destroyed,
//! or when entities get or lose it, or a value of it: with the rows of a whole change at once (an [`ObservedBatch`]), and a
//! [recorder](crate::command::Commands) for what is to follow.
//!
//! The world room knows nothing of this one: it marks archetypes that are watched, and tells a watcher that it
//! has been given. The observers of a world are that watcher.

mod batch;
mod existing;
#[cfg(test)]
mod faults;
mod observed;
mod observers;
mod precedence;

pub use batch::ObservedBatch;
pub use observed::Observed;
pub(crate) use observers::ObserverRun;
pub use observers::{ObserverId, ObserverInfo};
pub(crate) use precedence::Precedence;
