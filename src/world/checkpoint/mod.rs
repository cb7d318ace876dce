//! Checkpoints: a world goes back to what it was some ticks ago, in place.
//!
//! A snapshot makes another world of bytes, in another universe; a checkpoint keeps copies of arrays, and writes back those
//! that differ:
//!
//! * [`saved`]: a world as it was. Its arrays are [parts](part), one for each column of a chunk, for the handles, for what is
//!   switched on, for values that a chunk has once. A part is shared with the checkpoint before if the chunk's versions say
//!   that nobody has written there since, and no entity has come, gone or changed rows.
//! * [`plan`]: all that can fail when a world goes back: memory is taken for chunks that have gone since, values are cloned,
//!   read from bytes, hashed; at last all ids that differ are claimed, which only succeeds if they are the world's, or
//!   nobody's (`entity::index::rewind`).
//! * [`commit`]: what cannot fail. Slots are stored, chunks written, the archetypes that came since are forgotten.
//!
//! What must hold: where the world is *known* to have been what a checkpoint is, at a moment (it was taken then, or the world
//! went back to it), each array of a chunk that has not changed since that moment has what the checkpoint's part has. So going
//! from there to another checkpoint writes what has changed since, and where the two have other parts.
//!
//! Chunks are known by their memory: what has the same run, and was not moved in since, is the same chunk, for whoever gets
//! memory begins at the version of that time.

mod besides;
mod checkpoints;
mod commit;
mod error;
mod form;
mod part;
mod places;
mod plan;
mod saved;

pub use checkpoints::{Checkpoint, Checkpoints};
pub use error::CheckpointError;
