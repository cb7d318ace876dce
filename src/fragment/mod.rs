//! The fragment room: what entities are made of.
//!
//! A *fragment* is a value of any `Send + Sync + 'static` type; one of size zero is a *tag*. A *chunk
//! fragment* is one value a chunk, a *shared* or *const shared* one a value that many entities have
//! together. [`FragmentRegistry`] gives each a number, [`FragmentSet`] holds numbers as bits, and a
//! [`Bundle`] is a tuple of values for one entity.
//!
//! Tools and scripts [define](FragmentRegistry::define_plain) fragments at run time; then a [`Value`] owns
//! a value whose type nobody wrote down, a [`DynamicBundle`] several, and [`Values`] lends some.

mod bundle;
mod dynamic;
mod error;
mod info;
mod kind;
pub(crate) mod panic;
mod plain;
mod registry;
mod set;
mod value;
mod values;

pub use bundle::{Bundle, WithConstShared, WithPerChunk, WithShared};
pub use dynamic::DynamicBundle;
pub use error::FragmentError;
pub use info::{CloneValue, DropValues, FragmentId, FragmentInfo};
pub use kind::{ConstShared, Fragment, FragmentKind, PerChunk, Shared, SharedFragment};
pub use plain::Plain;
pub use registry::{FragmentDefinition, FragmentRegistry};
pub use set::FragmentSet;
pub use value::Value;
pub use values::{Values, ValuesMut};

pub(crate) use dynamic::none_twice;
