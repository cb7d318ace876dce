//! The fragment room: what entities are made of.
//!
//! A *fragment* is a value of any `Send + Sync + 'static` type; one of size zero is a *tag*. A *chunk
//! fragment* is one value a chunk, a *shared* or *const shared* one a value that many entities have
//! together. [`FragmentRegistry`] gives each a number, [`FragmentSet`] holds numbers as bits, and a
//! [`Bundle`] is a tuple of values for one entity.
//!
//! Tools and scripts [define](FragmentRegistry::define_struct) fragments at run time; then a [`Value`] owns
//! a value whose type nobody wrote down, a [`DynamicBundle`] several, and [`Values`] lends some.

#[cfg(not(loom))]
mod bundle;
#[cfg(not(loom))]
mod dynamic;
mod error;
#[cfg(not(loom))]
mod fill;
#[cfg(not(loom))]
mod given;
mod info;
mod kind;
#[cfg(not(loom))]
mod lone;
#[cfg(loom)]
pub mod model;
#[cfg(not(loom))]
mod pile;
mod plain;
#[cfg(not(loom))]
mod printed;
mod registry;
mod required;
#[cfg(not(loom))]
mod set;
#[cfg(not(loom))]
mod set_iter;
#[cfg(not(loom))]
mod state;
mod switches;
#[cfg(not(loom))]
mod taking;
#[cfg(not(loom))]
mod value;
#[cfg(not(loom))]
mod values;
#[cfg(not(loom))]
mod written;
#[cfg(not(loom))]
mod written_value;

#[doc(hidden)]
pub use ::core as __core;
#[cfg(not(loom))]
pub use bundle::{Bundle, Joined, RowMoves, WithConstShared, WithPerChunk, WithShared};
#[cfg(not(loom))]
pub use dynamic::DynamicBundle;
pub use error::FragmentError;
pub use info::{CloneValue, DebugValue, DropValues, FragmentId, FragmentInfo};
#[cfg(not(loom))]
pub(crate) use info::{MapPlain, MapValue, WhichAreValues};
pub use kind::{
    ConstShared, Fragment, FragmentKind, PerChunk, Shared, SharedFragment, TypeInRole, WrittenRole,
};
#[cfg(not(loom))]
pub use plain::FieldDefinition;
pub use plain::{IsValue, MapEntities, Plain, PlainField, PlainVariant};
#[doc(hidden)]
pub use plain::{
    enum_shape, fields_name_entities, fields_take_any_bytes, is_field, is_one_of, map_field,
    plain_field, plain_variants, struct_shape,
};
#[cfg(not(loom))]
pub(crate) use registry::new_identity;
pub use registry::{FragmentDefinition, FragmentRegistry};
#[cfg(not(loom))]
pub use set::FragmentSet;
#[cfg(not(loom))]
pub use set_iter::FragmentSetIter;
#[cfg(not(loom))]
pub use state::StateWritten;
#[cfg(not(loom))]
pub use taking::{AboutFragment, TakeBundle};
#[cfg(not(loom))]
pub use value::Value;
#[cfg(not(loom))]
pub use values::{Values, ValuesMut};

#[cfg(not(loom))]
pub(crate) use bundle::{COLUMNS, NO_COLUMN_LEFT, refuse_type};
#[cfg(not(loom))]
pub(crate) use dynamic::none_twice;
#[cfg(not(loom))]
pub(crate) use error::which_is;
#[cfg(not(loom))]
pub(crate) use fill::{FillValues, fill_bytes};
#[cfg(not(loom))]
pub(crate) use given::{Given, refused_bundle};
#[cfg(not(loom))]
pub(crate) use kind::NoFragment;
#[cfg(not(loom))]
pub(crate) use lone::Lone;
#[cfg(not(loom))]
pub(crate) use pile::Pile;
#[cfg(not(loom))]
use plain::DefinedStruct;
#[cfg(not(loom))]
pub(crate) use plain::are_others;
#[cfg(not(loom))]
pub(crate) use printed::{OneLine, Printed, named_in_role};
pub(crate) use required::Required;
#[cfg(not(loom))]
pub(crate) use required::{Maker, Need, with_needs};
#[cfg(not(loom))]
pub(crate) use state::{Reason, StateForm, StateValue, read_plain, write_plain};
#[cfg(not(loom))]
pub(crate) use values::{is_type, takes};
#[cfg(not(loom))]
pub(crate) use written::WrittenForm;
