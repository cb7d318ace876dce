//! `Section`: what kind of thing a workload works on, and who is compared there.

use serde::Serialize;

/// What kind of thing a workload works on; contenders of different sections never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// Entity ids.
    Ids,
    /// Chunks of memory.
    Chunks,
    /// Worlds of entities: whole entity component stores.
    Worlds,
}

impl Section {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 3] = [Self::Ids, Self::Chunks, Self::Worlds];

    /// What it is called in headings.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Ids => "Ids",
            Self::Chunks => "Chunks",
            Self::Worlds => "Worlds",
        }
    }

    /// The product of this crate in this section.
    #[must_use]
    pub const fn product(self) -> &'static str {
        match self {
            Self::Ids => "bitmask",
            Self::Chunks | Self::Worlds => "megachunk",
        }
    }

    /// The references that the product is compared with in the table.
    #[must_use]
    pub const fn references(self) -> [&'static str; 2] {
        match self {
            Self::Ids => ["naive", "busy_block"],
            Self::Chunks => ["naive", "megachunk_dots"],
            Self::Worlds => ["hecs", "limit"],
        }
    }
}
