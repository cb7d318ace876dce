//! The entity index and its references, seen from outside.

#[path = "../support/entity_ops.rs"]
mod entity_ops;
#[path = "../support/mod.rs"]
mod support;

mod bounds;
mod checked;
mod contract;
mod held_batches;
mod in_sessions;
mod model;
mod small_batches;
mod walks;
