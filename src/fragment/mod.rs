//! The fragment room: what entities are made of.
//!
//! A *fragment* is a value of any `Send + Sync + 'static` type; one of size zero is a *tag*. A *chunk
//! fragment* is one value a chunk, a *shared* or *const shared* one a value that many entities have
//! together. [`FragmentRegistry`] gives each a number, [`FragmentSet`] holds numbers as bits, and a
//! [`Bundle`] is a tuple of values for one entity.

mod bundle;
mod error;
mod info;
mod kind;
pub(crate) mod panic;
mod plain;
mod registry;
mod set;
mod value;

pub use bundle::{Bundle, WithConstShared, WithPerChunk, WithShared};
pub use error::FragmentError;
pub use info::{CloneValue, DropValues, FragmentId, FragmentInfo};
pub use kind::{ConstShared, Fragment, FragmentKind, PerChunk, Shared, SharedFragment};
pub use plain::Plain;
pub use registry::{FragmentDefinition, FragmentRegistry};
pub use set::FragmentSet;
pub use value::Value;
