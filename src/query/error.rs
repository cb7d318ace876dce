//! What can be wrong with a query, as a type.

use crate::fragment::FragmentError;

/// A query was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// It asks for a fragment that it also excludes.
    #[error("the query asks for {name} and excludes it: it can match nothing")]
    #[non_exhaustive]
    Contradiction {
        /// The fragment's name.
        name: Box<str>,
    },
    /// It would lend one fragment twice, one of them to write.
    #[error("the query takes {name} twice, and writes it: take it once, {once}")]
    #[non_exhaustive]
    Conflict {
        /// The fragment's name, or the resource's.
        name: Box<str>,
        /// How it is taken once: ``as `&mut` `` by a typed query, and by a call of its builder by a dynamic one.
        once: &'static str,
    },
    /// A dynamic query would lend the values of a tag, which has none. (A typed one lends `&T` of a
    /// tag as of a fragment.)
    #[error("{name} is a tag: it has no values to be lent")]
    #[non_exhaustive]
    NoValues {
        /// The tag's name.
        name: Box<str>,
    },
    /// A fragment was asked for to be written that is lent to be read only.
    #[error("{name} is lent to be read only")]
    #[non_exhaustive]
    ReadOnly {
        /// The fragment's name.
        name: Box<str>,
    },
    /// A fragment was asked for that the query does not lend.
    #[error("the query does not lend {name}")]
    #[non_exhaustive]
    NotAsked {
        /// The fragment's name.
        name: Box<str>,
    },
    /// An optional fragment is not there.
    #[error("there is no {name} in this chunk")]
    #[non_exhaustive]
    Absent {
        /// The fragment's name.
        name: Box<str>,
    },
    /// A fragment is lent already.
    #[error("{name} is lent already")]
    #[non_exhaustive]
    Lent {
        /// The fragment's name.
        name: Box<str>,
    },
    /// The world is only read, and the query writes; or it writes a chunk fragment in a
    /// [processor](crate::processor::dynamic_processor) that has not the world to itself.
    #[error("the query writes {name}: it needs `&mut World`")]
    #[non_exhaustive]
    Writes {
        /// A fragment that it writes.
        name: Box<str>,
    },
    /// A resource that it asks for is not there.
    #[error("the world has no resource {name}: `resources_mut().insert` puts it there")]
    #[non_exhaustive]
    NoResource {
        /// The resource's name.
        name: Box<str>,
    },
    /// It asks for a resource twice.
    #[error("the query takes the resource {name} twice: take it once")]
    #[non_exhaustive]
    ResourceTwice {
        /// The resource's name.
        name: Box<str>,
    },
    /// It switches a fragment that can not be switched off.
    #[error(
        "{name} cannot be switched off: register it with `register_enableable` before its first use (compositions that were there before have no switch)"
    )]
    #[non_exhaustive]
    NotEnableable {
        /// The fragment's name.
        name: Box<str>,
    },
    /// It was built for worlds of another universe.
    #[error("the query was built for worlds of another universe")]
    OtherUniverse,
    /// It would lend too many fragments.
    #[error("the query lends more than {limit} fragments")]
    TooMany {
        /// How many can be.
        limit: usize,
    },
    /// A fragment was refused.
    #[error(transparent)]
    Fragment(#[from] FragmentError),
}
