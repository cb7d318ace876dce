//! Entities by what a fragment's value says: see [`ValueIndex`].

mod index;
mod lists;

pub use index::ValueIndex;
