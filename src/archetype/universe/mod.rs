//! `Universe`: what several worlds share: ids, chunks, the numbers of fragments, and who owns which chunk.

mod ids;
mod made;
mod reserve;
mod spare;
mod trim;

use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use std::sync::Arc;

use crate::archetype::directory::{Directory, Finder, WorldMark};
use crate::archetype::world_numbers::WorldNumbers;
use crate::chunk::{ChunkError, MegachunkAllocator, Run};
use crate::entity::{EntityIndex, Lowest};
use crate::flaw::Found;
use crate::fragment::FragmentRegistry;

/// What worlds share that can exchange entities: the entity index, the chunks, the registry of
/// fragments.
///
/// Ids are unique over all its worlds. All methods take `&self`; any thread may call them at any time, without a lock,
/// but that [`check`](Self::check) is for when nobody creates, destroys or flushes, and that the ids of an
/// [`ordered`](Self::ordered) one are the same each time only if one thread at a time uses its worlds. Worlds keep it
/// alive by an `Arc`.
///
/// ```
/// use std::sync::Arc;
/// use megachunk::world::{Universe, World};
///
/// let universe = Arc::new(Universe::new());
/// let (mut land, mut sea) = (World::of(&universe)?, World::of(&universe)?);
/// let (crab, fish) = (land.create((1_u8,))?, sea.create((2_u8,))?);
/// assert_ne!(crab, fish);
/// assert!(land.exists(crab) && !land.exists(fish));
/// # Ok::<(), megachunk::world::WorldError>(())
/// ```
pub struct Universe {
    index: ManuallyDrop<EntityIndex>,
    chunks: ManuallyDrop<MegachunkAllocator>,
    /// All of it is left to the next universe of the process.
    recycles: bool,
    /// Universes that are [like](Universe::like) each other have one.
    registry: ManuallyDrop<Arc<FragmentRegistry>>,
    /// One that was left with the memory that this one took over, and that it has no use for: as new, for who comes next.
    spare_registry: ManuallyDrop<Option<FragmentRegistry>>,
    directory: ManuallyDrop<Directory>,
    worlds: ManuallyDrop<WorldNumbers>,
    /// Ids do not depend on threads.
    ordered: bool,
    /// Unique in the process.
    identity: u64,
    /// From which claim word on a slot may be free, in an ordered universe.
    pub(crate) lowest: Lowest,
}

impl Universe {
    /// The fragments of all its worlds, and of those of universes that are [like](Self::like) it.
    #[inline(always)]
    #[must_use]
    pub fn registry(&self) -> &FragmentRegistry {
        &self.registry
    }

    /// Its number: no other universe of the process has it, not even on the same memory.
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// The registry, for who may outlive the universe.
    pub(crate) fn shared_registry(&self) -> &Arc<FragmentRegistry> {
        &self.registry
    }

    /// Entities of all its worlds, reserved ones included: exact while nothing changes.
    #[must_use]
    pub fn count(&self) -> usize {
        self.index.count()
    }

    pub(crate) fn index(&self) -> &EntityIndex {
        &self.index
    }

    pub(crate) fn index_mut(&mut self) -> &mut EntityIndex {
        &mut self.index
    }

    /// Whose each chunk is.
    #[inline(always)]
    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Where the entities of a world lie.
    #[inline(always)]
    pub(crate) fn finder(&self, world: WorldMark) -> Finder<'_> {
        self.directory.finder(self.index.places(), world)
    }

    /// A number for a new world; `None` if there are 65,535 worlds. Lock-free.
    pub(crate) fn add_world(&self) -> Option<u16> {
        self.worlds.take()
    }

    /// Gives a world's number back, which has no chunks any more.
    pub(crate) fn remove_world(&self, world: u16) {
        self.worlds.give_back(world);
    }

    /// Takes a run of chunks.
    pub(crate) fn take_chunk(&self, len: u32) -> Result<Run, ChunkError> {
        self.chunks.take(len as usize)
    }

    /// Gives a run back.
    ///
    /// # Safety
    /// The caller took it, and uses it no more.
    pub(crate) unsafe fn give_chunk(&self, run: Run) {
        // SAFETY: the caller's.
        unsafe { self.chunks.give_back(run) };
    }

    /// Where a run begins.
    #[inline(always)]
    pub(crate) fn base(&self, run: Run) -> NonNull<u8> {
        self.chunks.base(run.first())
    }

    /// 16 KiB chunks that somebody has.
    pub(crate) fn chunks_in_use(&self) -> usize {
        self.chunks.in_use()
    }

    /// Whether ids do not depend on threads.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// Notes what is wrong with the index and the allocator. (Not between a scheduler's threads, who would be asked at each
    /// of a hundred thousand looks which of them goes on.)
    pub(crate) fn check_parts(&self, found: &mut Found) {
        if !cfg!(shuttle) {
            self.index.check_into(found);
            self.chunks.check_into(found);
        }
    }
}

/// How much there is, not what.
impl fmt::Debug for Universe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Universe")
            .field("entities", &self.count())
            .field("chunks", &self.chunks_in_use())
            .field("ordered", &self.ordered)
            .finish_non_exhaustive()
    }
}
