//! The query room: what is lent of which entities.
//!
//! A [`Query`] says what it lends ([`QueryData`]) of which entities ([`QueryFilter`]). It keeps the archetypes
//! that match, and looks only at those that have come since. Run on a world it lends entity by entity,
//! or chunk by chunk as slices, on one thread or on many. Slices of whole chunks have also rows whose fragments are
//! [switched off](Enabled), which the query does not see; [`QueryRun::for_each_slice`] leaves them out.
//!
//! A [`DynamicQuery`] is the same for tools and scripts: put together at run time, of fragments' numbers.
//!
//! What is lent to be written is lent once: a query that takes a fragment twice is
//! an error when it is built, and a run borrows the whole world.

mod asked;
mod candidates;
mod change;
mod chunk_rule;
mod chunk_table;
mod collection;
mod data;
mod dynamic;
mod enabled;
mod error;
mod explain;
mod filter;
mod items;
mod iter;
mod lookup;
mod masks;
mod matches;
mod named_rows;
mod once;
#[expect(clippy::module_inception, reason = "the noun of the room")]
mod query;
mod requirements;
mod resources;
mod rows;
mod run;
mod sees_chunk;
mod share;
mod spans;
mod view;

pub use change::QueryChange;
pub use data::{Has, QueryData, ReadOnly};
pub use dynamic::{
    DynamicChange, DynamicChunk, DynamicFilter, DynamicQuery, DynamicQueryBuilder,
    DynamicResources, DynamicRun,
};
pub use enabled::{Enabled, Switch, Switches};
pub use error::QueryError;
pub use explain::{Mismatch, NearMiss, NoMatch};
pub use filter::{
    Any, Changed, ChunkFilter, CompositionFilter, Moved, Or, QueryFilter, With, Without,
};
pub use items::QueryItems;
pub use iter::QueryIter;
pub use lookup::QueryLookup;
pub use query::Query;
pub use requirements::{Access, Requirements};
pub use resources::{QueryResources, ReadOnlyResources, ResourceAccess, ResourceId};
pub use run::QueryRun;
pub use view::ChunkView;

pub(crate) use asked::AskedQueries;
pub(crate) use chunk_rule::ChunkRules;
pub(crate) use collection::Span;
pub(crate) use explain::{composition, write_all};
pub(crate) use masks::masked;
pub(crate) use spans::{entities_of, lend, lend_slices, lend_values, lend_values_mut};
