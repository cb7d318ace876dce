//! The entity room: generational ids that every thread may create, destroy and look up at any
//! moment.

mod allocator;
mod error;
mod id;
mod index;
#[cfg(feature = "world")]
mod map;
#[cfg(feature = "world")]
mod map_iter;
mod parse;
mod place;
pub mod reference;

pub use allocator::EntityAllocator;
pub use error::{DestroyReport, EntityError, EntityFault, Full, NoEntity, RelocateError};
pub use id::Entity;
#[cfg(loom)]
pub use index::model;
#[cfg(not(loom))]
pub(crate) use index::{
    Buried, Claimed, FreeWords, Lowest, Origin, Places, Rewind, SavedSlots, overwritten,
};
pub use index::{CACHED_IDS, Created, EntityIndex, IndexOptions, Live, Session};
#[cfg(feature = "world")]
pub use map::EntityMap;
#[cfg(feature = "world")]
pub use map_iter::EntityMapIter;
pub use parse::{ParseEntityError, ParseEntityFault};
pub use place::Place;
