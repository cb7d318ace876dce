//! `Universe`: what several worlds share: ids, chunks, the numbers of fragments, and who owns which chunk.

mod ids;
mod spare;

use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use std::io;
use std::sync::Arc;

use crate::archetype::directory::{Directory, Finder, WorldMark};
use crate::archetype::world_numbers::WorldNumbers;
use crate::chunk::{ChunkError, ChunkOptions, MegachunkAllocator, Run};
use crate::entity::{
    Entity, EntityError, EntityFault, EntityIndex, Full, IndexOptions, Lowest, Place,
    RelocateError, overwritten,
};
use crate::flaw::Found;
use crate::fragment::{FragmentRegistry, new_identity};

use spare::{Parts, RETAIN};

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
    /// A universe without worlds, with the default options, but that it keeps up to 256 MiB of empty chunks
    /// for what comes next: [`trim`](Self::trim) gives them back.
    ///
    /// It takes over the memory of a universe of this kind that has ended, so that a program which
    /// makes worlds again and again does not fetch fresh memory from the system each time. At most
    /// four such memories wait: the first of 16 MiB or so, the others, if that many universes lived
    /// at one time, of 4 MiB or so each: see [`forget_spare`](Self::forget_spare). Nothing of what
    /// was in them can be told: ids and numbers of fragments begin from the start.
    ///
    /// # Panics
    /// If the system has no address space left; [`with`](Self::with) returns the error instead.
    #[must_use]
    pub fn new() -> Self {
        Self::found(None)
    }

    /// A universe in which ids do not depend on threads: a program that does the same gets the same ids,
    /// versions too, for any number of them.
    ///
    /// The world's own calls take the lowest free index. Recorders that are opened [with a sort
    /// key](crate::command::ParallelCommands::open_at) have ids of their own, given by that key;
    /// see there for what they may not do. For this no thread keeps free ids for itself: creating
    /// singly costs one read-modify-write as long as the ids that are free next to each other last, and destroying two to
    /// four, where they take one or two for 64 otherwise (batches and slices take as few here), and indices are used less densely: what other pieces of work have
    /// is left to them. The lowest free index is found by looking at a few words, however many entities live
    /// (and at O(threads) counts), unless other threads create or destroy at that moment: then at up
    /// to one for each 64 ids that are passed by. All worlds of the universe must be used by one
    /// thread at a time, but for the recorders. If several use them at once, which of them gets which id is chance, and a flush
    /// does not count those ids as [given by chance](crate::command::FlushReport::by_chance);
    /// nothing else breaks: each id is given out once, and the dead stay dead.
    ///
    /// A world that is [saved](crate::world::World::save) and loaded into another ordered universe
    /// goes on as the one that was saved. For this, chunks do not keep their columns where they are
    /// when a fragment comes to all of their entities, or goes: entities are copied.
    ///
    /// # Panics
    /// As for [`new`](Self::new).
    #[must_use]
    pub fn ordered() -> Self {
        let mut universe = Self::new();
        universe.ordered = true;
        universe
    }

    /// An [ordered](Self::ordered) universe whose index and allocator have these options; as for [`with`](Self::with),
    /// its memory is its own.
    ///
    /// # Errors
    /// What the system said, if it has no address space left.
    pub fn ordered_with(index: &IndexOptions, chunks: &ChunkOptions) -> io::Result<Self> {
        let mut universe = Self::with(index, chunks)?;
        universe.ordered = true;
        Ok(universe)
    }

    /// Another universe with the registry of this one: what is registered or defined in one of them, before or later, both
    /// know, by the same number and name, with all that was said of it. For a server with a thousand rooms, or a test with
    /// many worlds, which register once.
    ///
    /// They share nothing else. Ids, chunks and worlds are its own: an [`Entity`] of one means nothing in the other, and
    /// entities do not move between them. Values, prototypes, templates and queries of run time
    /// ([`DynamicQuery`](crate::query::DynamicQuery)) that were made with one serve the worlds of both, as they name
    /// fragments only (handles in values lead to where they led); so does a snapshot, as of any other universe that has
    /// registered the same. It has the options of [`new`](Self::new), is [ordered](Self::ordered) if this one is, and finds
    /// memory that others left as they do. They end in any order; the last one takes the registry along.
    ///
    /// Registering is as it is in one universe: any thread of any of them at any time, lock-free.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use megachunk::prelude::*;
    ///
    /// let lobby = Arc::new(Universe::new());
    /// let health = lobby.registry().register_plain_as::<u32>("health")?.id();
    /// let rooms: Result<Vec<World>, WorldError> =
    ///     (0..3).map(|_| World::of(&Arc::new(Universe::like(&lobby)))).collect();
    /// for room in &mut rooms? {
    ///     room.create((100_u32,))?;
    ///     assert_eq!(room.registry().find("health").map(|info| info.id()), Some(health));
    ///     // Said in a room, known in all.
    ///     room.registry().register_plain_as::<f32>("speed")?;
    /// }
    /// assert!(lobby.registry().find("speed").is_some() && lobby.count() == 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As for [`new`](Self::new); [`like_with`](Self::like_with) returns the error instead.
    #[must_use]
    pub fn like(other: &Self) -> Self {
        Self::found(Some(other))
    }

    /// A universe that is [like](Self::like) another one, with an index and an allocator that have these options; as for
    /// [`with`](Self::with), its memory is its own.
    ///
    /// # Errors
    /// What the system said, if it has no address space left.
    pub fn like_with(
        other: &Self,
        index: &IndexOptions,
        chunks: &ChunkOptions,
    ) -> io::Result<Self> {
        Self::on(Self::parts(index, chunks)?, false, Some(other))
    }

    /// Gives the memory back that universes left for later ones; whether there was any.
    pub fn forget_spare() -> bool {
        spare::forget()
    }

    /// A universe whose index and allocator have these options. Its memory is fresh from the system, and goes back there
    /// with it: [`new`](Self::new) and [`ordered`](Self::ordered) take over what another one left.
    ///
    /// It takes 1.2 GB of addresses, and 16 GiB for the chunks where the process may have as many: see
    /// [`SystemMemory`](crate::chunk::memory::SystemMemory). Memory is what is used of them.
    ///
    /// # Errors
    /// What the system said, if it has no address space left.
    pub fn with(index: &IndexOptions, chunks: &ChunkOptions) -> io::Result<Self> {
        Self::on(Self::parts(index, chunks)?, false, None)
    }

    /// On memory that another one left, or that is new.
    fn found(like: Option<&Self>) -> Self {
        let new = || Self::parts(&IndexOptions::new(), &ChunkOptions::new().retain(RETAIN));
        let parts = spare::take().map_or_else(new, Ok);
        match parts.and_then(|parts| Self::on(parts, true, like)) {
            Ok(universe) => universe,
            Err(error) => panic!("no address space for a universe: {error}"),
        }
    }

    fn parts(index: &IndexOptions, chunks: &ChunkOptions) -> io::Result<Parts> {
        Ok(Parts {
            chunks: chunks.build()?,
            index: Some(index.build()?),
            registry: None,
            directory: Directory::new(chunks.huge_pages)?,
            worlds: WorldNumbers::new()?,
        })
    }

    fn on(parts: Parts, recycles: bool, like: Option<&Self>) -> io::Result<Self> {
        let (registry, spare_registry) = match (like, parts.registry) {
            (Some(like), spare) => (Arc::clone(&like.registry), spare),
            (None, Some(spare)) => (Arc::new(spare), None),
            (None, None) => (Arc::new(FragmentRegistry::try_new()?), None),
        };
        let index = (parts.index).map_or_else(|| IndexOptions::new().build(), Ok)?;
        Ok(Self {
            index: ManuallyDrop::new(index),
            chunks: ManuallyDrop::new(parts.chunks),
            recycles,
            registry: ManuallyDrop::new(registry),
            spare_registry: ManuallyDrop::new(spare_registry),
            directory: ManuallyDrop::new(parts.directory),
            worlds: ManuallyDrop::new(parts.worlds),
            ordered: like.is_some_and(|like| like.ordered),
            identity: new_identity(),
            lowest: Lowest::new(),
        })
    }

    /// The fragments of all its worlds, and of those of universes that are [like](Self::like) it.
    #[inline(always)]
    #[must_use]
    pub fn registry(&self) -> &FragmentRegistry {
        &self.registry
    }

    /// Whether an entity lives, in whatever world, or is reserved. Wait-free, one load.
    #[inline]
    #[must_use]
    pub fn exists(&self, entity: Entity) -> bool {
        self.index.exists(entity)
    }

    /// Reserves an id, which any of its worlds may build. Lock-free.
    ///
    /// # Errors
    /// [`Full`].
    pub fn reserve(&self) -> Result<Entity, Full> {
        if self.ordered {
            return self.create_lowest(None);
        }
        self.index.reserve()
    }

    /// Reserves an id for each place of `out`; all or none. Lock-free.
    ///
    /// # Errors
    /// [`Full`]. Then none stays reserved, and `out` holds [`Entity::PLACEHOLDER`].
    pub fn reserve_slice(&self, out: &mut [Entity]) -> Result<(), Full> {
        if !self.ordered {
            return self.index.create_slice(out);
        }
        // Not by trying: all others would find none meanwhile.
        if out.len() > EntityIndex::CAPACITY {
            out.fill(Entity::PLACEHOLDER);
            let capacity = EntityIndex::CAPACITY;
            return Err(Full { capacity });
        }
        // SAFETY: nothing but handles is written.
        let handles = unsafe { overwritten(out) };
        if let Err((made, full)) = self.create_lowest_slice(handles, None) {
            self.give_back_reserved(&out[..made]);
            out.fill(Entity::PLACEHOLDER);
            return Err(full);
        }
        Ok(())
    }

    /// Gives a reserved id back, which was not built: what [`World::release`](crate::world::World::release) does, for
    /// threads that have no world. Lock-free.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use megachunk::prelude::*;
    ///
    /// let universe = Arc::new(Universe::new());
    /// let mut world = World::of(&universe)?;
    /// // A thread that loads something has ids for it before the world knows it.
    /// let loader = Arc::clone(&universe);
    /// let loaded = std::thread::spawn(move || {
    ///     let mut ids = [Entity::PLACEHOLDER; 3];
    ///     loader.reserve_slice(&mut ids)?;
    ///     // There are only two, as it turns out.
    ///     let [first, second, spare] = ids;
    ///     loader.release(spare)?;
    ///     Ok::<_, WorldError>([first, second])
    /// });
    /// let [first, second] = loaded.join().unwrap()?;
    /// world.build(first, (second,))?;
    /// assert_eq!(universe.count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The handle is refused; [`EntityFault::AlreadyBuilt`]: then its world has to destroy it.
    pub fn release(&self, entity: Entity) -> Result<(), EntityError> {
        // So that nobody builds it while it dies.
        match self.index.relocate(entity, None, Some(Place::LEAVING)) {
            Ok(()) => {
                self.index.destroy(entity)?;
                self.settle_released(entity);
                Ok(())
            }
            Err(RelocateError::Entity(error)) => Err(error),
            Err(_) => Err(EntityError::new(entity, EntityFault::AlreadyBuilt)),
        }
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

    /// How the chunks stand. Looks at every mega-chunk: microseconds.
    #[must_use]
    pub fn chunk_stats(&self) -> crate::chunk::ChunkStats {
        self.chunks.stats()
    }

    /// Gives memory of chunks that are not in use back to the system: of empty mega-chunks, which are counted, and of free
    /// chunks beside others that are in use. For the end of a peak: chunks that are taken next touch fresh memory. Worlds
    /// keep empty chunks until they are [trimmed](crate::world::World::trim). Lock-free, but for what the system does; what it
    /// takes: [`MegachunkAllocator::discard`](crate::chunk::MegachunkAllocator::discard).
    ///
    /// That has no budget, and takes the system milliseconds for a large world. It may run on a thread of its own while
    /// frames run: they find the chunks of one mega-chunk taken for a moment, 63 at most (of up to 64 empty ones that go
    /// in one call: all), and fetch what they take next from the system. In a frame: [`trim_to`](Self::trim_to), step by
    /// step.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use megachunk::prelude::*;
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..200_000_u64).map(|n| (n,)))?;
    /// world.clear();
    /// world.trim();
    /// let universe = Arc::clone(world.universe());
    /// let trimming = std::thread::spawn(move || universe.trim());
    /// world.create((1_u64,))?;
    /// trimming.join().expect("nothing panics");
    /// # Ok::<(), WorldError>(())
    /// ```
    pub fn trim(&self) -> usize {
        let trimmed = self.chunks.trim();
        self.chunks.discard();
        trimmed
    }

    /// Gives the memory of empty mega-chunks (1 MiB each) back to the system but for `keep` of them, which are taken
    /// next; how many went. With a few fewer than there are each time, it is [`trim`](Self::trim) in steps; free chunks
    /// beside others that are in use keep their memory. Lock-free, but for what the system does:
    /// [`MegachunkAllocator::trim_to`](crate::chunk::MegachunkAllocator::trim_to).
    ///
    /// ```
    /// # use megachunk::prelude::*;
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..2_000_000_u64).map(|n| (n,)))?;
    /// world.clear();
    /// world.trim();
    /// let universe = world.universe();
    /// // Four a frame.
    /// loop {
    ///     let empty = universe.chunk_stats().empty_megachunks;
    ///     if empty == 0 {
    ///         break;
    ///     }
    ///     assert_eq!(universe.trim_to(empty.saturating_sub(4)), empty.min(4));
    /// }
    /// # Ok::<(), WorldError>(())
    /// ```
    pub fn trim_to(&self, keep: usize) -> usize {
        self.chunks.trim_to(keep)
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

impl Universe {
    /// Lets all of it go; what it leaves to a later universe.
    ///
    /// # Safety
    /// Once, and nobody uses the universe afterwards.
    unsafe fn take_apart(&mut self) -> Option<Parts> {
        // SAFETY: the caller's.
        let (chunks, index, registry, spare_registry, directory, worlds) = unsafe {
            (
                ManuallyDrop::take(&mut self.chunks),
                ManuallyDrop::take(&mut self.index),
                ManuallyDrop::take(&mut self.registry),
                ManuallyDrop::take(&mut self.spare_registry),
                ManuallyDrop::take(&mut self.directory),
                ManuallyDrop::take(&mut self.worlds),
            )
        };
        // Who gives a chunk back takes it out of the directory, and every world has given its number back, or
        // the universe would not end.
        let chunks = if self.recycles {
            chunks.recycle()
        } else {
            None
        };
        Some(Parts {
            chunks: chunks?,
            index: index.recycle(),
            // The last one of those that have it leaves it, unless another was left with the memory.
            registry: spare_registry
                .or_else(|| Arc::into_inner(registry).and_then(FragmentRegistry::recycle)),
            directory,
            worlds,
        })
    }
}

impl Drop for Universe {
    fn drop(&mut self) {
        // SAFETY: here alone, and nobody uses the universe afterwards.
        if let Some(parts) = unsafe { self.take_apart() } {
            spare::leave(parts);
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

impl Default for Universe {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_registry_that_a_universe_has_no_use_for_is_left_with_the_rest() {
        let lobby = Universe::new();
        let mut parts = Universe::parts(&IndexOptions::new(), &ChunkOptions::new()).unwrap();
        let spare = FragmentRegistry::try_new().unwrap();
        let identity = spare.identity();
        parts.registry = Some(spare);
        let room = Universe::on(parts, true, Some(&lobby)).unwrap();
        assert_eq!(room.registry().identity(), lobby.registry().identity());
        let mut room = ManuallyDrop::new(room);
        // SAFETY: once; it is not used afterwards, nor dropped.
        let parts = unsafe { room.take_apart() };
        let left = parts.unwrap().registry.unwrap();
        assert_eq!(left.identity(), identity);
    }
}
