//! The index room: ways back from what fragments say to the entities that say it.
//!
//! An index is kept beside a world, which need not know of it: it costs nothing where it is not used, goes through
//! whatever happens to the world, and is brought up to date when it is asked to be, from the chunks that have changed
//! since. Its order is that of keys and handles, so that it depends on the world alone, not on how it has come to be so.
//!
//! A [`RelationshipIndex`] leads from an entity to those that name it, from a parent to its children; a [`ValueIndex`]
//! from a key that is made of a fragment's value to those that have such a value: from a cell of a map to who is there,
//! from a team to its players; a [`ChangeLog`] leads from a version to those who have come, changed or gone since.

mod by_slot;
mod lists;
mod log;
mod relationship;
mod tracked;
mod value;

pub use log::{ChangeLog, LoggedEntities};
pub use relationship::{Descendants, Relationship, RelationshipIndex};
pub use value::{ValueIndex, ValueRange};
