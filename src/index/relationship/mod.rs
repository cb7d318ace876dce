//! Entities that name others: a child its parent, an item its owner, a missile its target.
//!
//! A relationship is a handle in a fragment of the entity that names, and nothing in the one that is named: so it is
//! copied, saved, loaded and mapped to new ids as any other value, set by whoever may write the fragment, on any thread,
//! and cannot disagree with itself. Who names whom the other way round, all children of a parent, is an index, the
//! [`RelationshipIndex`].
//!
//! What becomes of those that name an entity which dies is for the program to say: see
//! [`destroy_tree`](RelationshipIndex::destroy_tree), [`destroy_orphans`](RelationshipIndex::destroy_orphans) and
//! [`orphans`](RelationshipIndex::orphans); [`record_tree`](RelationshipIndex::record_tree) and
//! [`record_orphans`](RelationshipIndex::record_orphans) say it in a processor. Down from roots to leaves, on all threads:
//! [`par_descend`](RelationshipIndex::par_descend).
//!
//! Source: bevy's relationships and flecs' pairs, for what is wanted; Unity DOTS' parent system, which derives the
//! children from the parents that have changed.

mod by_target;
mod descend;
mod descendants;
mod index;
mod record;
mod sources;

pub use descendants::Descendants;
pub use index::{Relationship, RelationshipIndex};
