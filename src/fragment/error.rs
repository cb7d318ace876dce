//! What can go wrong with a fragment, as types.

use crate::fragment::FragmentId;

/// A fragment was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FragmentError {
    /// The registry is full.
    #[error("there are {limit} fragments already, which is the limit")]
    TooMany {
        /// How many there can be.
        limit: usize,
    },
    /// A fragment of this name is defined already.
    #[error("a fragment named {name:?} is defined already")]
    NameTaken {
        /// The name.
        name: Box<str>,
    },
    /// A set of fragments has one of them twice.
    #[error("{name} stands there twice")]
    Twice {
        /// Its name.
        name: Box<str>,
    },
    /// A fragment does not fit in a chunk, even alone.
    #[error(
        "{name} takes {size} bytes an entity, aligned to {align}: a chunk of {limit} bytes cannot hold it"
    )]
    TooLarge {
        /// The name of the largest fragment.
        name: Box<str>,
        /// Bytes an entity, with all its other fragments.
        size: usize,
        /// Its alignment.
        align: usize,
        /// Bytes of the chunk.
        limit: usize,
    },
    /// An alignment is beyond what chunks have.
    #[error("{name} wants to be aligned to {align} bytes: {limit} is the limit")]
    TooAligned {
        /// Its name.
        name: Box<str>,
        /// Its alignment.
        align: usize,
        /// The largest that can be.
        limit: usize,
    },
    /// No such fragment is registered.
    #[error("fragment {id:?} is not registered here")]
    Unknown {
        /// Its number.
        id: FragmentId,
    },
    /// A fragment was used in a role that it does not have.
    #[error("{name} is a {is}, not a {wanted}")]
    WrongKind {
        /// Its name.
        name: Box<str>,
        /// What it is.
        is: crate::fragment::FragmentKind,
        /// What was asked for.
        wanted: crate::fragment::FragmentKind,
    },
}
