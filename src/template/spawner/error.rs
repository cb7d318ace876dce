//! What can go wrong with a spawner, as a type.

use crate::fragment::FragmentError;
use crate::world::{SystemError, WorldError};

/// A spawner was refused, or its call; nothing has changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The world refused to create the entities: ids or memory have run out.
    #[error(transparent)]
    World(#[from] WorldError),
    /// There is nothing to spawn.
    #[error("the spawner has no entries")]
    NoEntries,
    /// A proportion is no share of anything.
    #[error(
        "entry {entry:?}: its proportion is {proportion}, which is not a finite number from zero on"
    )]
    Proportion {
        /// What the entry is called.
        entry: Box<str>,
        /// What was given.
        proportion: f64,
    },
    /// Nobody is to have a share.
    #[error("the proportions of all entries are zero: {}", entries.join(", "))]
    AllZero {
        /// What the entries are called.
        entries: Vec<Box<str>>,
    },
    /// A fragment is to be placed that the entities of an entry do not have.
    #[error("entry {entry:?} has no {fragment}, which is to be placed")]
    Missing {
        /// What the entry is called.
        entry: Box<str>,
        /// The fragment's name.
        fragment: Box<str>,
    },
    /// An entry's template or prototype is of another universe than the world, or what a job has created before.
    #[error("entry {entry:?} is of another universe than the world")]
    OtherUniverse {
        /// What the entry is called.
        entry: Box<str>,
    },
    /// A generator was made of something that it cannot be made of.
    #[error("{generator}: {what}")]
    Generator {
        /// What the generator is called.
        generator: &'static str,
        /// What was wrong.
        what: Box<str>,
    },
    /// A generator has no room for so many.
    #[error("{generator}: there is room for {possible}, and {wanted} were asked for")]
    NoRoom {
        /// What the generator is called.
        generator: &'static str,
        /// How many it has room for.
        possible: usize,
        /// How many were asked for.
        wanted: usize,
    },
    /// A file of points says something that is no point.
    #[error("{file}:{line}:{column}: {what}")]
    File {
        /// The file's name.
        file: Box<str>,
        /// From 1 on.
        line: usize,
        /// From 1 on, in characters.
        column: usize,
        /// What was wrong.
        what: Box<str>,
    },
    /// A file of points could not be read.
    #[error("{file}: {error}")]
    Unreadable {
        /// The file's name.
        file: Box<str>,
        /// What the system said.
        error: SystemError,
    },
}

impl SpawnError {
    /// What is wrong with a generator.
    pub(super) fn generator(generator: &'static str, what: impl Into<Box<str>>) -> Self {
        Self::Generator {
            generator,
            what: what.into(),
        }
    }
}

impl From<FragmentError> for SpawnError {
    fn from(error: FragmentError) -> Self {
        Self::World(error.into())
    }
}
