//! The chunk allocators, seen from outside.

#[path = "../support/chunk_ops.rs"]
mod chunk_ops;
#[path = "../support/mod.rs"]
mod support;

mod bounds;
mod budget;
mod caches;
mod contract;
mod model;
mod runs;
mod shown;
