//! `IndexOptions`: how an index gets its memory.

use std::io;

use crate::entity::EntityIndex;

/// How an [`EntityIndex`] gets its memory.
///
/// ```
/// use megachunk::entity::IndexOptions;
///
/// let index = IndexOptions::new().huge_pages(false).build()?;
/// # let _: megachunk::entity::EntityIndex = index;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct IndexOptions {
    pub(crate) huge_pages: bool,
    pub(crate) populate: bool,
}

impl IndexOptions {
    /// The defaults: huge pages where the system grants them on request, and other pages a block at a time.
    #[must_use]
    pub fn new() -> Self {
        Self {
            huge_pages: true,
            populate: true,
        }
    }

    /// Whether to ask for huge pages (2 MiB): first use of fresh slots becomes several times
    /// faster, random look-ups too; but beyond the first 32,768 slots memory grows in steps of 2 MiB
    /// instead of a block's 68 KiB. `false` keeps them away where the system gives them unasked, too.
    #[must_use]
    pub fn huge_pages(mut self, wanted: bool) -> Self {
        self.huge_pages = wanted;
        self
    }

    /// Whether to fetch the pages of a new block in one call of the system, where they do not come as huge ones:
    /// first use of fresh slots becomes twice as fast; but all 68 KiB of 8,192 slots are there at once, instead of
    /// each 4 KiB with its first entity.
    #[must_use]
    pub fn populate(mut self, wanted: bool) -> Self {
        self.populate = wanted;
        self
    }

    /// An empty index.
    ///
    /// # Errors
    /// What the system said, when it has no 1.2 GB of address space.
    pub fn build(&self) -> io::Result<EntityIndex> {
        EntityIndex::with_options(self)
    }
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self::new()
    }
}
