//! Entities by what a fragment's value says: see [`ValueIndex`].

mod by_key;
mod index;
mod range;

pub use index::ValueIndex;
pub use range::ValueRange;
