//! Queries that are put together at run time, by fragments' numbers: for tools and scripts.
//!
//! A [`DynamicQueryBuilder`] checks each requirement when the query is built; a [`DynamicQuery`] keeps the archetypes
//! that match, as a typed [`Query`](crate::query::Query) does; a [`DynamicRun`] goes from chunk to chunk;
//! a [`DynamicChunk`] lends columns whose type is checked against the registry, each for writing once; a
//! [`DynamicChange`] changes all that matches as a whole. A [`DynamicFilter`] asks for observers what a builder asks for queries.

mod builder;
mod change;
mod chunk;
mod filter;
mod query;
mod resources;
mod run;

pub use builder::DynamicQueryBuilder;
pub use change::DynamicChange;
pub use chunk::DynamicChunk;
pub use filter::DynamicFilter;
pub use query::DynamicQuery;
pub use resources::DynamicResources;
pub use run::DynamicRun;
