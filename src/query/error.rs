//! What can be wrong with a query, as a type.

use crate::fragment::FragmentError;

/// A query was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// It asks for a fragment that it also excludes.
    #[error("the query asks for {name} and excludes it: it can match nothing")]
    Contradiction {
        /// The fragment's name.
        name: Box<str>,
    },
    /// It would lend one fragment twice, one of them to write.
    #[error("the query takes {name} twice, and writes it")]
    Conflict {
        /// The fragment's name.
        name: Box<str>,
    },
    /// A fragment was refused.
    #[error(transparent)]
    Fragment(#[from] FragmentError),
}
