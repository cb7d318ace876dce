//! `ChunkOptions`: how an allocator gets and keeps its memory.

use std::io;

use crate::chunk::memory::{Memory, SystemMemory};
use crate::chunk::{MEGACHUNKS, MegachunkAllocator};

/// How a [`MegachunkAllocator`] gets and keeps its memory.
///
/// ```
/// use megachunk::chunk::ChunkOptions;
///
/// let allocator = ChunkOptions::new().huge_pages(false).retain(4).build()?;
/// # let _: megachunk::chunk::MegachunkAllocator = allocator;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChunkOptions {
    pub(crate) huge_pages: bool,
    pub(crate) populate: bool,
    pub(crate) retain: usize,
    retain_at_most: usize,
    at_most: usize,
}

impl ChunkOptions {
    /// The defaults: huge pages where the system grants them, memory on first touch, 8 empty
    /// mega-chunks kept, or up to 256 in a program that asks for them again and again.
    #[must_use]
    pub fn new() -> Self {
        Self {
            huge_pages: true,
            populate: false,
            retain: 8,
            retain_at_most: 256,
            at_most: usize::MAX,
        }
    }

    /// Whether to ask for huge pages (2 MiB). First touch becomes several times faster. `false` keeps them away where
    /// the system gives them unasked, too.
    #[must_use]
    pub fn huge_pages(mut self, wanted: bool) -> Self {
        self.huge_pages = wanted;
        self
    }

    /// Whether to fetch a mega-chunk's memory (1 MiB) when it is committed. Then a request fails
    /// with an error when the system has no memory left, instead of the first touch later.
    #[must_use]
    pub fn populate(mut self, wanted: bool) -> Self {
        self.populate = wanted;
        self
    }

    /// How many empty mega-chunks (1 MiB each) are kept for the next request, at least 1: a program
    /// that frees and takes the last chunk of one again and again does not map and unmap.
    ///
    /// About how many: memory goes back only when there are eight more than are kept at the time (see
    /// [`retain_at_most`](Self::retain_at_most)), and in pairs of neighbours (2 MiB, a huge page). So there can be one
    /// fewer than asked for afterwards: with 1, none. One call gives up to ten back, and the next that empties a
    /// mega-chunk goes on.
    ///
    /// With [`MEGACHUNKS`], all, none goes back but by [`trim`](MegachunkAllocator::trim) and
    /// [`trim_to`](MegachunkAllocator::trim_to): for threads with a budget, which give chunks back, and leave the calls of
    /// the system to others.
    #[must_use]
    pub fn retain(mut self, megachunks: usize) -> Self {
        self.retain = megachunks.max(1);
        self
    }

    /// How many empty mega-chunks (1 MiB each) are kept at most: for each one for which memory is asked for after some
    /// went back, one more than [`retain`](Self::retain) is kept, up to so many; an eighth fewer each time that memory
    /// goes back. As with `retain`, there can be eight more, and those whose neighbour is in use.
    /// [`trim`](MegachunkAllocator::trim) gives all back. With no more than `retain`, nothing is learned.
    ///
    /// A program that takes and gives back 50 MiB in every frame would else have them fetched by the system in every
    /// frame, which takes a hundred times as long as to take them.
    #[must_use]
    pub fn retain_at_most(mut self, megachunks: usize) -> Self {
        self.retain_at_most = megachunks;
        self
    }

    /// How many mega-chunks (1 MiB each) may have memory at one time, those that are empty and kept among them: the budget of
    /// an allocator, or of a universe (`Universe::with`) for the chunks of all its worlds. All, 16 GiB, unless
    /// it is said.
    ///
    /// Beyond it a request fails as it does when the system has no memory: it is served where memory is there already, if it
    /// can be; else it is [`ChunkError::Refused`], of which [`is_over_budget`] is true, and nothing has changed. Worlds give
    /// that on as `WorldError::Chunk`. It is asked where a mega-chunk gets its memory, so that taking and giving back costs
    /// what it did; a program that lives at the edge of its budget takes chunks more slowly. Free chunks that [other threads
    /// keep](MegachunkAllocator#when-it-is-exhausted) count, and so do those of a mega-chunk that another thread opens,
    /// gives back, trims or discards at that moment.
    ///
    /// Near its budget what a universe does depends on threads, also in an [ordered](crate::world::Universe::ordered) one:
    /// chunks become shorter before anything is refused. A budget is for who goes wrong; what is to be the same for any
    /// number of threads keeps well below it.
    ///
    /// What recorders keep counts, too: 16 KiB for each composition that they have created, in two for each thread. So a
    /// world at its budget may stay refused though it is empty, until it is trimmed (`World::trim`).
    ///
    /// Of a universe it is the memory of fragments in columns, and of what lies with them in chunks. Not in it: ids (nine
    /// bytes for each), the directory of chunks, and whatever fragments, resources, recorded commands and signals have on the
    /// heap.
    ///
    /// ```
    /// use megachunk::chunk::ChunkOptions;
    ///
    /// let allocator = ChunkOptions::new().at_most(2).build()?;
    /// let all: Vec<_> = (0..2 * 64).map(|_| allocator.allocate()).collect::<Result<_, _>>()?;
    /// let refused = allocator.allocate().unwrap_err();
    /// assert!(refused.is_over_budget());
    /// drop(all);
    /// assert!(allocator.allocate_run(64).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`ChunkError::Refused`]: crate::chunk::ChunkError::Refused
    /// [`is_over_budget`]: crate::chunk::ChunkError::is_over_budget
    #[must_use]
    pub fn at_most(mut self, megachunks: usize) -> Self {
        self.at_most = megachunks;
        self
    }

    /// How many may have memory; `None` if all may.
    pub(crate) fn budget(&self) -> Option<u64> {
        (self.at_most < MEGACHUNKS).then_some(self.at_most as u64)
    }

    /// How many can be kept. Models do without learning.
    pub(crate) fn most(&self) -> usize {
        if cfg!(loom) {
            self.retain
        } else {
            self.retain_at_most.max(self.retain)
        }
    }

    /// An allocator with nothing in use, over the system's memory.
    ///
    /// # Errors
    /// What the system said, when it has no address space for the tables (20 MiB).
    pub fn build(&self) -> io::Result<MegachunkAllocator> {
        #[cfg(not(loom))]
        let memory = SystemMemory::new(self);
        #[cfg(loom)]
        let memory = SystemMemory::new();
        self.build_with(memory)
    }

    /// An allocator with nothing in use, over `memory`, which sees to pages itself.
    ///
    /// # Errors
    /// What the system said, when it has no address space for the tables (20 MiB).
    pub fn build_with<M: Memory>(&self, memory: M) -> io::Result<MegachunkAllocator<M>> {
        MegachunkAllocator::with_options(self, memory)
    }
}

impl Default for ChunkOptions {
    fn default() -> Self {
        Self::new()
    }
}
