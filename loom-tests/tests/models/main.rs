//! The loom models, a module for each protocol or part of one.
//!
//! One program: what they share of loom and of the crate is compiled once, and both cores have models to run until
//! the last of them.
#![cfg(loom)]

mod chunk_cache;
mod chunk_commit;
mod chunk_hints;
mod chunk_late;
mod chunk_takes;
mod chunk_three;
mod entity_batches;
mod entity_broken;
mod entity_cache;
mod entity_claims;
mod entity_few;
mod entity_late;
mod entity_lowest;
mod entity_opened;
mod entity_owned;
mod entity_retire;
mod entity_rewind;
mod entity_spans;
mod entity_summary;
mod entity_words;
mod fragment_registry;
mod loom_itself;
mod signals;
mod sync_end;
mod sync_gate;
mod sync_graph;
mod sync_pool;
mod sync_refreshed;
mod sync_shares;
mod workers;
mod world_attached;
