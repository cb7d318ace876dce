//! `Variants`: the variants of an enum as a file tells of them, and what they are called.
//!
//! An enum that has come to have other variants has another shape, and its values may be others. By its name each is found
//! again, wherever it stands now.

use crate::fragment::PlainVariant;
use crate::world::snapshot::SnapshotError;
use crate::world::snapshot::format::Reader;

/// A variant of an enum, as a file has it.
#[derive(Clone, Debug)]
pub(super) struct SavedVariant {
    name: Box<str>,
    bytes: Box<[u8]>,
}

/// A variant of an enum, and the bytes that it has here, if it is there.
#[derive(Debug)]
struct Known {
    saved: SavedVariant,
    here: Option<&'static [u8]>,
}

/// What becomes of the values of an enum.
#[derive(Debug)]
pub(super) struct Variants {
    /// In the order of the bytes that the file has.
    all: Box<[Known]>,
}

impl Variants {
    pub(super) fn new(saved: &[SavedVariant], here: &'static [PlainVariant]) -> Self {
        let known = saved.iter().map(|saved| {
            let found = here.iter().find(|variant| *variant.name() == *saved.name);
            Known {
                saved: saved.clone(),
                here: found.map(PlainVariant::bytes),
            }
        });
        let mut all: Box<[Known]> = known.collect();
        all.sort_by(|a, b| a.saved.bytes.cmp(&b.saved.bytes));
        Self { all }
    }

    fn find(&self, bytes: &[u8]) -> Option<&Known> {
        let found = (self.all).binary_search_by(|known| (*known.saved.bytes).cmp(bytes));
        Some(&self.all[found.ok()?])
    }

    /// Whether a value is one of the file's.
    pub(super) fn has(&self, bytes: &[u8]) -> bool {
        self.find(bytes).is_some()
    }

    /// The bytes that a value of the file has here.
    pub(super) fn here(&self, bytes: &[u8]) -> Option<&'static [u8]> {
        self.find(bytes)?.here
    }

    /// Why a value has none here; `None` if it is none in the file either.
    #[cold]
    pub(super) fn why_not_here(&self, bytes: &[u8]) -> Option<String> {
        let Known { saved, here } = self.find(bytes)?;
        here.is_none().then(|| unknown_variant(&saved.name))
    }
}

/// Says that there is no variant of a name.
#[cold]
pub(crate) fn unknown_variant(name: &str) -> String {
    format!("its type has no variant `{}` here", name.escape_debug())
}

/// Reads the variants of an enum whose values have so many bytes.
pub(super) fn read_variants(
    reader: &mut Reader<'_>,
    size: u64,
) -> Result<Box<[SavedVariant]>, SnapshotError> {
    const EARLY: &str = "the directory ends early";
    let count = reader.u32(EARLY)?;
    let mut variants = Vec::new();
    if count == 0 {
        return Ok(Box::default());
    }
    let size = usize::try_from(size).map_err(|_| reader.damaged(EARLY))?;
    // Each has four bytes of the file at least: as many as there can be are told.
    for _ in 0..count {
        let begin = reader.clone();
        let length = reader.u32(EARLY)? as usize;
        let name = String::from_utf8(reader.take(length, EARLY)?.to_vec())
            .map_err(|_| begin.damaged("a variant's name is no text"))?;
        variants.push(SavedVariant {
            name: name.into(),
            bytes: reader.take(size, EARLY)?.into(),
        });
    }
    Ok(variants.into())
}
