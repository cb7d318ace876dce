//! What a file has of a world besides its entities: resources, names, the time, and signals that wait for theirs.
//!
//! How their bytes are had and values made of them, types say that are [registered for
//! it](crate::fragment::FragmentRegistry::register_state). Of others nothing is saved.

mod gather;
mod read;
#[cfg(test)]
mod tests;

pub(super) use gather::{Besides, resources};
pub(super) use read::{FormsByName, SavedBesides, forms_by_name};
