//! `Flaw`: what a check has found wrong with a world, an index or an allocator, and where.

use core::fmt;
#[cfg(not(loom))]
use core::time::Duration;

use crate::entity::Entity;
#[cfg(not(loom))]
use crate::sync::thread;

/// Flaws of which more are only counted.
const MOST: usize = 64;
/// How often it is looked again whether what seems wrong is a thread that ends.
#[cfg(not(loom))]
const LOOKS: u32 = 1_000;
/// How long such a thread is given each time.
#[cfg(not(loom))]
const MOMENT: Duration = Duration::from_millis(1);

/// A world contradicts itself, or an index, or an allocator: what `World::check`,
/// [`EntityIndex::check`](crate::entity::EntityIndex::check) and
/// [`MegachunkAllocator::check`](crate::chunk::MegachunkAllocator::check) have found.
///
/// ```
/// use megachunk::{EntityIndex, IntegrityError, MegachunkAllocator};
///
/// fn check(index: &EntityIndex, chunks: &MegachunkAllocator) -> Result<(), IntegrityError> {
///     index.check()?;
///     chunks.check()
/// }
///
/// check(&EntityIndex::new(), &MegachunkAllocator::new())?;
/// # Ok::<(), IntegrityError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct IntegrityError {
    whose: &'static str,
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
/// `WorldStats::archetypes`.
///
/// The variants follow the implementation: each names a part of it, and they come and go with these parts, in any version. Who
/// shows a flaw shows it by `Display`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlawPlace {
    /// Between worlds.
    Universe,
    /// In an index of entities as a whole.
    Index,
    /// In a claim word of an index: which of 64 slots are free, singly or in one piece, and what is said of that.
    ClaimWord(u32),
    /// In a word of an index that says what is full below.
    Summary {
        /// Of which level, the lowest first.
        level: u32,
        /// Which one.
        word: u32,
    },
    /// In a slot of an index.
    Slot(u32),
    /// In an allocator of chunks as a whole.
    Allocator,
    /// In a mega-chunk: which of 64 chunks are taken, and where their memory is.
    Megachunk(u32),
    /// In a word of an allocator that says what runs there are not below.
    Hint {
        /// Of which level, the lowest first.
        level: u32,
        /// Which one.
        word: u32,
    },
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
            Self::Index => write!(f, "index"),
            Self::ClaimWord(word) => write!(f, "claim word {word}"),
            Self::Summary { level, word } => write!(f, "summary word {word} of level {level}"),
            Self::Slot(slot) => write!(f, "slot {slot}"),
            Self::Allocator => write!(f, "allocator"),
            Self::Megachunk(megachunk) => write!(f, "mega-chunk {megachunk}"),
            Self::Hint { level, word } => write!(f, "hint {word} of level {level}"),
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
        write!(f, "the {} contradicts itself:", self.whose)?;
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

    /// What is wrong still when threads that end are done: what `look` finds, which says whether somebody may be about
    /// to end, and gives back what it kept.
    #[cfg(not(loom))]
    pub(crate) fn settled(look: impl Fn(&mut Self) -> bool) -> Self {
        let mut looks = 0;
        loop {
            let mut found = Self::default();
            let may_pass = look(&mut found);
            if found.flaws.is_empty() || !may_pass || looks == LOOKS {
                return found;
            }
            looks += 1;
            thread::sleep(MOMENT);
        }
    }

    /// Models look once: they know when their threads have ended.
    #[cfg(loom)]
    pub(crate) fn settled(look: impl Fn(&mut Self) -> bool) -> Self {
        let mut found = Self::default();
        look(&mut found);
        found
    }

    /// Adds what another look has found.
    pub(crate) fn append(&mut self, other: Self) {
        for flaw in other.flaws {
            self.note(flaw.place, flaw.what);
        }
        self.more += other.more;
    }

    /// What was found, as an error of whose it is.
    pub(crate) fn into_result(self, whose: &'static str) -> Result<(), IntegrityError> {
        if self.flaws.is_empty() {
            return Ok(());
        }
        Err(IntegrityError {
            whose,
            flaws: self.flaws,
            more: self.more,
        })
    }
}
