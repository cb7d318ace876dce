//! `Flaw`: what is wrong with a world, and where.

use core::fmt;

use crate::entity::Entity;

/// Flaws of which more are only counted.
const MOST: usize = 64;

/// A world contradicts itself.
#[derive(Clone, PartialEq, Eq)]
pub struct IntegrityError {
    flaws: Vec<Flaw>,
    more: usize,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    place: FlawPlace,
    what: String,
}

/// Where something is wrong. Archetypes, groups and chunks by their numbers in the world, in the order of
/// [`WorldStats::archetypes`](crate::world::WorldStats::archetypes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlawPlace {
    /// Between worlds.
    Universe,
    /// In the world as a whole.
    World,
    /// In a composition.
    Archetype(u32),
    /// In a combination of shared values.
    Group {
        /// Of which composition.
        archetype: u32,
        /// Which one.
        group: u32,
    },
    /// In a chunk.
    Chunk {
        /// Of which composition.
        archetype: u32,
        /// Which one.
        chunk: u32,
    },
    /// In a row of a chunk.
    Row {
        /// Of which composition.
        archetype: u32,
        /// Of which chunk.
        chunk: u32,
        /// Which one.
        row: u32,
        /// The handle that stands there.
        entity: Entity,
    },
    /// In the table of shared values.
    SharedValue(u32),
    /// In the table of names.
    Name(Entity),
    /// In a chunk that a recorder fills.
    Recorded {
        /// Which of the recorder's.
        chunk: u32,
    },
}

impl IntegrityError {
    /// What is wrong, in the order in which it was found; of very many flaws the first ones.
    #[must_use]
    pub fn flaws(&self) -> &[Flaw] {
        &self.flaws
    }
}

impl Flaw {
    /// Where it is.
    #[must_use]
    pub fn place(&self) -> FlawPlace {
        self.place
    }

    /// What it is, in words.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for FlawPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Universe => write!(f, "universe"),
            Self::World => write!(f, "world"),
            Self::Archetype(archetype) => write!(f, "archetype {archetype}"),
            Self::Group { archetype, group } => write!(f, "archetype {archetype}, group {group}"),
            Self::Chunk { archetype, chunk } => write!(f, "archetype {archetype}, chunk {chunk}"),
            Self::Row {
                archetype,
                chunk,
                row,
                entity,
            } => write!(
                f,
                "archetype {archetype}, chunk {chunk}, row {row}, entity {entity}"
            ),
            Self::SharedValue(value) => write!(f, "shared value {value}"),
            Self::Name(entity) => write!(f, "name of {entity}"),
            Self::Recorded { chunk } => write!(f, "chunk {chunk} of a recorder"),
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// As it is shown: `fn main` prints what it returns so.
impl fmt::Debug for IntegrityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for IntegrityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the world contradicts itself:")?;
        for flaw in &self.flaws {
            write!(f, "\n{flaw}")?;
        }
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}

impl core::error::Error for IntegrityError {}

/// What a check has found so far.
#[derive(Debug, Default)]
pub(crate) struct Found {
    flaws: Vec<Flaw>,
    more: usize,
}

impl Found {
    /// Notes what is wrong unless `holds`.
    #[inline]
    pub(crate) fn expect(&mut self, holds: bool, place: FlawPlace, what: impl FnOnce() -> String) {
        if !holds {
            self.note(place, what());
        }
    }

    #[cold]
    fn note(&mut self, place: FlawPlace, what: String) {
        if self.flaws.len() < MOST {
            self.flaws.push(Flaw { place, what });
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn into_result(self) -> Result<(), IntegrityError> {
        if self.flaws.is_empty() {
            return Ok(());
        }
        Err(IntegrityError {
            flaws: self.flaws,
            more: self.more,
        })
    }
}
