//! Entities by what a fragment's value says: see [`ValueIndex`].

mod by_key;
mod index;

pub use index::ValueIndex;
