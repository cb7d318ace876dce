//! Entities by when a fragment's value has changed: see [`ChangeLog`].

mod change_log;
mod entities;
mod order;

pub use change_log::ChangeLog;
pub use entities::LoggedEntities;
