//! `EntityIndex`: the concurrent index of entities.

mod batch;
mod block;
mod cache;
mod check;
mod claim;
mod core;
mod deaths;
mod free_words;
mod freed;
mod group;
mod iter;
mod living;
mod lowest;
#[cfg(loom)]
pub mod model;
mod opened;
mod options;
mod ordered;
mod owned;
mod placed;
mod release;
#[cfg(not(loom))]
mod restore;
mod rewind;
mod session;
mod shared;
mod slot;
mod span;
mod summary;
#[cfg(all(test, not(loom)))]
mod tests;
mod wide;

use ::core::fmt;
#[cfg(not(loom))]
pub(crate) use batch::overwritten;
#[cfg(not(loom))]
pub(crate) use free_words::FreeWords;
#[cfg(not(loom))]
pub(crate) use lowest::Lowest;
#[cfg(not(loom))]
pub(crate) use ordered::Claimed;
use std::io;

use crate::entity::{
    DestroyReport, Entity, EntityAllocator, EntityError, EntityFault, Full, Place, RelocateError,
};
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use crate::sync::geometry::SLOTS;
use crate::sync::local;

pub use cache::CACHED_IDS;
pub use iter::{Created, Live};
pub use options::IndexOptions;
#[cfg(not(loom))]
pub(crate) use owned::Buried;
#[cfg(not(loom))]
pub(crate) use placed::Places;
#[cfg(not(loom))]
pub(crate) use rewind::{Rewind, SavedSlots};
pub use session::Session;
#[cfg(not(loom))]
pub(crate) use slot::Origin;

use cache::{Cache, Tally};
use core::Core;
use shared::Shared;

/// What is said when no slot is left.
const NONE_LEFT: Full = Full {
    capacity: EntityIndex::CAPACITY,
};

/// Creates, destroys and looks up entities from any thread at any moment, without a lock.
///
/// Two levels: 16,384 data blocks of 8,192 slots, 134,217,728 entities at once. All methods take
/// `&self`; clones of an `Arc<EntityIndex>`, or borrows in scoped threads, are how it is shared.
///
/// # Promises
/// * **A dead handle stays dead.** A slot's version grows with every entity and never wraps: a slot
///   whose versions are used up retires (after 2,147,483,647 entities).
/// * **Nobody waits.** Creating and destroying are lock-free, looking up is wait-free. A thread that
///   stops for ever in the middle of a call stops nobody else; it takes the slots of that call
///   with it, and no more. (What it was about to destroy may stay alive until another thread tries
///   to destroy it.)
/// * **Destroying is exact.** Of all calls that destroy one entity exactly one succeeds; the others
///   get an error that names the handle.
///
/// # When it is full
/// [`create`](Self::create) reports [`Full`] when it has found no free slot that it could have. It finds
/// every slot that was given back before the call began and that nobody has taken since: by its hints,
/// or, if other threads' changes crossed the search, by a look at every claim word (2,097,152 of them:
/// milliseconds). Free slots it cannot have are those that others keep for themselves: at most
/// [`CACHED_IDS`] (112) another thread that has used the index, and as many an open [`Session`] (any but the one that
/// creates; and a session does not get those of the thread that uses it), plus the slots of calls in progress. A thread
/// gives its own back when it ends and on [`flush`](Self::flush), a session when it is dropped and on
/// [`Session::flush`].
///
/// # Costs
/// | operation | progress | read-modify-writes | complexity |
/// |---|---|---|---|
/// | create | lock-free | 0 (1 or 2 for each word that is claimed: in 64, or in as many as are free there) | O(1), whatever lives |
/// | create n | lock-free | 1 for up to 2,048; in gaps 1 for those of 64 slots, and 1 for up to 2,048 slots | O(n) |
/// | destroy | lock-free | 1 (2 or 3 on average while the thread's magazine is full: 24 go back at a time) | O(1) |
/// | destroy n, in index order | lock-free | 1 for 16, and 1 for up to 2,048 | O(n) |
/// | destroy n, in index order with gaps | lock-free | 1 for those of 16 slots, 1 for those of 64, 1 for up to 2,048 slots, if two or more lie in 16 slots | O(n) |
/// | destroy n, in no order | lock-free | as few as in index order, from one in four slots of their range on, if they are more than ten; else up to three for each | O(n), and 4 bytes a slot of the range (on the stack up to 4 KiB) |
/// | exists, locate | wait-free | 0 | one load |
/// | publish | lock-free | 1 | O(1) |
/// | count | wait-free | 0 | O(threads and sessions) |
///
/// Memory: 8.6 bytes a slot, and only for blocks that were ever used, which stay until the index is dropped; a new index
/// costs no more than a few pages (on Windows it is accounted 600 KiB). With huge pages (the default where the system grants
/// them) it grows by 2 MiB, beyond the first 32,768 slots. Each thread that has created an entity, and each open [`Session`]
/// that has, works in a block of its own, 64 KiB of slots however few it uses, until it ends or calls
/// [`flush`](Self::flush) ([`Session::flush`]); then the next one that needs a block takes it.
///
/// # Threads, forks, allocators, signals
/// * A thread finds its own cache at once if it used no other index since. If it uses several in turn, it finds those
///   of 16 in a table, a few nanoseconds later; indices and allocators whose numbers (they are counted as they are
///   made) are equal modulo 16 share a place there: then it looks into a larger table, tens of nanoseconds however many
///   it uses. A [`Session`] has nothing to find.
/// * In the child of a `fork`, the index is a copy, and only the calling thread is there: what other threads kept
///   for themselves, or were in the middle of, stays taken in the copy.
/// * A thread's first call takes memory from the global allocator, so an index cannot serve one; and no
///   method may be called from a signal handler.
/// * `mlockall(MCL_FUTURE)` fetches all of an index made after it, 1.1 GB, and is refused where that is above
///   the limit of locked memory. With `MCL_ONFAULT` it stays what is used.
///
/// ```
/// use megachunk::entity::{EntityFault, EntityIndex};
///
/// let index = EntityIndex::new();
/// let entity = index.create()?;
/// assert!(index.exists(entity));
/// index.destroy(entity)?;
/// assert_eq!(index.destroy(entity).unwrap_err().fault, EntityFault::Destroyed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source of the idea: Unity DOTS' entity store (data blocks, allocation bitmasks, versions). The
/// protocol is this crate's own: see `papers/entity-index.md`.
#[doc(alias = "Entities")]
#[doc(alias = "slab")]
#[doc(alias = "slotmap")]
#[doc(alias = "allocator")]
pub struct EntityIndex {
    shared: Arc<Shared>,
}

impl EntityIndex {
    /// How many entities can live at once: 134,217,728.
    pub const CAPACITY: usize = SLOTS as usize;

    /// An empty index with the default [options](IndexOptions).
    ///
    /// # Panics
    /// If the system has no 1.2 GB of *address space* left; [`IndexOptions::build`] returns the
    /// error instead. No memory is used yet.
    #[must_use]
    pub fn new() -> Self {
        match IndexOptions::new().build() {
            Ok(index) => index,
            Err(error) => panic!("no address space for an entity index: {error}"),
        }
    }

    fn with_options(options: &IndexOptions) -> io::Result<Self> {
        Ok(Self::of(Core::new(options)?))
    }

    /// An empty index on the memory of this one; `None` if so much of it was used that a new one costs less,
    /// or if a thread that ends is giving its slots back at this moment.
    #[cfg(not(loom))]
    pub(crate) fn recycle(self) -> Option<Self> {
        let mut core = Arc::into_inner(self.shared)?.core;
        core.reset().then(|| Self::of(core))
    }

    fn of(core: Core) -> Self {
        Self {
            shared: Arc::new(Shared::of(core)),
        }
    }

    /// Runs `access` on this thread's cache. `access` calls nothing that comes back here.
    #[inline(always)]
    fn with_cache<R>(&self, access: impl FnOnce(&Core, &mut Cache, &Tally) -> R) -> R {
        let core = &self.shared.core;
        // SAFETY: every caller is in this room, and passes a closure that calls nothing but the core
        // and what belongs to it, which does not know of threads' nodes.
        unsafe { local::with(&self.shared, |cache, tally| access(core, cache, tally)) }
    }

    /// A slot that the thread has at hand, counted as a living entity's. Wait-free, no read-modify-write.
    #[inline(always)]
    fn take_cached(&self) -> Option<u32> {
        let node = local::hot(&self.shared)?;
        // SAFETY: taking calls nothing that comes back here.
        unsafe { node.with(|cache, tally| cache.take(tally)) }
    }

    /// Creates one entity, without a place. Lock-free; no read-modify-write but one or two for each word of free slots.
    ///
    /// # Errors
    /// [`Full`], as [above](Self#when-it-is-full).
    #[inline]
    pub fn create(&self) -> Result<Entity, Full> {
        let index = match self.take_cached() {
            Some(index) => index,
            None => self.take_claimed().ok_or(NONE_LEFT)?,
        };
        // SAFETY: caches hold indices of slots.
        Ok(unsafe { self.shared.core.create_at(index, None) })
    }

    /// A slot, counted as a living entity's, when the thread's cache is empty, or not at hand. (Only what fits
    /// registers comes out of the way: see `Core::refuse`.)
    #[cold]
    #[inline(never)]
    fn take_claimed(&self) -> Option<u32> {
        self.with_cache(|_, cache, tally| self.shared.take(cache, tally))
    }

    /// Creates `out.len()` entities, in index order within each run of slots that it takes; all or none. Lock-free.
    ///
    /// The entities appear one by one: that is `out.len()` linearization points, not one.
    ///
    /// ```
    /// # use megachunk::entity::{Entity, EntityIndex};
    /// let index = EntityIndex::new();
    /// let mut squad = [Entity::PLACEHOLDER; 100];
    /// index.create_slice(&mut squad)?;
    /// assert!(squad.iter().all(|&soldier| index.exists(soldier)));
    /// # Ok::<(), megachunk::entity::Full>(())
    /// ```
    ///
    /// # Errors
    /// [`Full`]; then none stays created, and `out` is filled with [`Entity::PLACEHOLDER`].
    pub fn create_slice(&self, out: &mut [Entity]) -> Result<(), Full> {
        self.with_cache(|_, cache, tally| self.shared.create_slice(cache, tally, out))
    }

    /// Appends `count` new entities to `out`; all or none. Lock-free, but for the growing of `out`.
    ///
    /// # Errors
    /// [`Full`]; then `out` is as it was.
    pub fn create_into(&self, out: &mut Vec<Entity>, count: usize) -> Result<(), Full> {
        shared::append(out, count, |new| self.create_slice(new))
    }

    /// Creates `count` entities, handed out by an iterator; those that it was not asked for are
    /// destroyed when it is dropped.
    ///
    /// ```
    /// # use megachunk::entity::EntityIndex;
    /// let index = EntityIndex::new();
    /// let names = ["ant", "bee"];
    /// let named: Vec<_> = index.create_iter(names.len())?.zip(names).collect();
    /// assert_eq!((named.len(), index.count()), (2, 2));
    /// # Ok::<(), megachunk::entity::Full>(())
    /// ```
    ///
    /// So nothing is left of a call whose iterator is let go, of which the compiler warns:
    ///
    /// ```compile_fail
    /// #![deny(unused_must_use)]
    /// # use megachunk::entity::EntityIndex;
    /// # let index = EntityIndex::new();
    /// index.create_iter(5)?;
    /// # Ok::<(), megachunk::entity::Full>(())
    /// ```
    ///
    /// # Errors
    /// [`Full`]; then none stays created.
    pub fn create_iter(&self, count: usize) -> Result<Created<'_>, Full> {
        Created::new(self, count)
    }

    /// Reserves an id: an entity that has no place yet, for [`build`](Self::build) to give it one.
    ///
    /// The same as [`create`](Self::create), by the name it has where ids come first and data later.
    ///
    /// # Errors
    /// [`Full`], as [above](Self#when-it-is-full).
    #[inline]
    pub fn reserve(&self) -> Result<Entity, Full> {
        self.create()
    }

    /// Destroys one entity. Lock-free, one read-modify-write. Where it lay is not
    /// said: see [`take_place`](Self::take_place).
    ///
    /// # Errors
    /// [`EntityError`] when `entity` is not alive: destroyed before, never created, out of range.
    #[inline]
    #[doc(alias = "despawn")]
    pub fn destroy(&self, entity: Entity) -> Result<(), EntityError> {
        let refused = |fault| EntityError::new(entity, fault);
        // First of all, because the processor begins nothing that comes after a read-modify-write before it is done.
        let node = local::hot(&self.shared);
        if !self.shared.core.try_kill(entity) {
            return self.destroy_slowly(entity).map_err(refused);
        }
        let kept = entity.version() != slot::LAST_VERSION
            && node.is_some_and(|node| {
                // SAFETY: keeping calls nothing that comes back here.
                unsafe { node.with(|cache, tally| cache.keep(tally, entity.index())) }
            });
        if !kept {
            self.pass_on(entity);
        }
        Ok(())
    }

    /// `destroy`, when the first attempt has failed.
    #[cold]
    #[inline(never)]
    fn destroy_slowly(&self, entity: Entity) -> Result<(), EntityFault> {
        let killed = self.shared.core.kill_slowly(entity);
        killed.map_err(|error| error.fault)?;
        self.pass_on(entity);
        Ok(())
    }

    /// Keeps the slot of an entity that the caller has destroyed; what this thread has kept for longest
    /// goes back if there is no room.
    #[cold]
    #[inline(never)]
    fn pass_on(&self, entity: Entity) {
        self.with_cache(|core, cache, tally| core.pass_on(cache, tally, entity));
    }

    /// Destroys each of `entities`; handles that are not alive, or stand there twice, are reported
    /// by position, and the rest is destroyed. Lock-free, but for the memory that is taken from the heap: for refusals,
    /// and where many stand in no order.
    ///
    /// Neighbours in index order die up to 16 at a time by one read-modify-write; those that lie far apart by one each.
    /// Many that stand in no order are laid out by slot first, where they lie [close enough](Self#costs): four bytes for
    /// each slot of their range, of the heap if it is more than 4 KiB.
    pub fn destroy_slice(&self, entities: &[Entity]) -> DestroyReport {
        self.with_cache(|core, cache, tally| deaths::destroy(core, cache, tally, entities))
    }

    /// Whether `entity` is alive. Wait-free, one load.
    #[inline]
    #[must_use]
    #[doc(alias = "contains")]
    pub fn exists(&self, entity: Entity) -> bool {
        self.shared.core.living(entity).is_some()
    }

    /// Where `entity` lies; `None` while it has no place. Wait-free, one load.
    ///
    /// Whoever sees a place sees what was written there before it was published.
    ///
    /// # Errors
    /// [`EntityError`] when `entity` is not alive.
    #[inline]
    pub fn locate(&self, entity: Entity) -> Result<Option<Place>, EntityError> {
        match self.shared.core.living(entity) {
            Some(word) => Ok(slot::place(word)),
            None => Err(self.shared.core.refuse(entity)),
        }
    }

    /// Sets where `entity` lies. Lock-free, one read-modify-write.
    ///
    /// # Errors
    /// [`EntityError`] when `entity` is not alive; then no place is changed.
    pub fn publish(&self, entity: Entity, place: Place) -> Result<(), EntityError> {
        self.shared.core.publish(entity, place, false)
    }

    /// Changes where `entity` lies from one place to another, if nobody else has changed it meanwhile:
    /// what a move needs that races with other moves. Lock-free, one read-modify-write.
    ///
    /// Of all who take it from where it lies one succeeds, and the row that it has left is that one's, to be freed. (A
    /// whole table that does so, and whose readers know whether a row is still the entity's: `examples/session_table.rs`.)
    ///
    /// ```
    /// # use megachunk::entity::{EntityIndex, Place, RelocateError};
    /// let index = EntityIndex::new();
    /// let (entity, here, there) = (index.create()?, Place::new(1, 0), Place::new(2, 0));
    /// index.relocate(entity, None, here)?;
    /// let error = index.relocate(entity, None, there).unwrap_err();
    /// assert_eq!(error, RelocateError::Elsewhere { entity, place: here }, "it has a place now");
    /// index.relocate(entity, here, None)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`RelocateError::Entity`] when `entity` is not alive; [`RelocateError::Elsewhere`] when it
    /// does not lie at `from`. No place is changed then.
    pub fn relocate(
        &self,
        entity: Entity,
        from: Option<Place>,
        to: Option<Place>,
    ) -> Result<(), RelocateError> {
        match self.shared.core.relocate(entity, from, to)? {
            Ok(()) => Ok(()),
            Err(place) => Err(RelocateError::Elsewhere { entity, place }),
        }
    }

    /// Takes the place of `entity` away, for whoever frees what lies there; `None` if it has none. Lock-free, one
    /// read-modify-write; one more for each move of the entity meanwhile.
    ///
    /// [`destroy`](Self::destroy) does not say where the entity lay, and who has [looked](Self::locate) before may be late: a
    /// [move](Self::relocate) in between has freed that place already, and the new one is freed by nobody. Each place is
    /// freed once if whoever destroys takes it first, and whoever moves frees the old one if its move has succeeded and
    /// the new one if not:
    ///
    /// ```
    /// # use megachunk::entity::{EntityIndex, Place};
    /// let index = EntityIndex::new();
    /// let session = index.create()?;
    /// let (here, there) = (Place::new(1, 0).unwrap(), Place::new(2, 0).unwrap());
    /// # let free = |place: Place| assert_eq!(place, there);
    /// index.publish(session, here)?;
    /// index.relocate(session, Some(here), Some(there))?;
    /// if let Some(place) = index.take_place(session)? {
    ///     free(place);
    /// }
    /// index.destroy(session)?;
    /// assert!(index.take_place(session).is_err(), "it is dead");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`EntityError`] when `entity` is not alive.
    pub fn take_place(&self, entity: Entity) -> Result<Option<Place>, EntityError> {
        let mut seen = self.locate(entity)?;
        while seen.is_some() {
            match self.shared.core.relocate(entity, seen, None)? {
                Ok(()) => break,
                Err(place) => seen = place,
            }
        }
        Ok(seen)
    }

    /// Gives a reserved entity its first place. Lock-free, one read-modify-write.
    ///
    /// # Errors
    /// [`EntityError`] when `entity` is not alive, or has a place already.
    pub fn build(&self, entity: Entity, place: Place) -> Result<(), EntityError> {
        self.shared.core.publish(entity, place, true)
    }

    /// How many entities live: exact while no thread creates or destroys, else an estimate. Wait-free,
    /// O(threads and sessions that used the index at one time).
    #[must_use]
    pub fn count(&self) -> usize {
        let nodes = self.shared.registry.nodes();
        let live = Tally::living(nodes.map(|node| &node.public));
        // Seen in the middle of other threads' calls, the sum can be below zero for a moment.
        (live.max(0) as usize).min(Self::CAPACITY)
    }

    /// Whether no entity lives; as exact as [`count`](Self::count).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The living entity of a slot, if it has one. Wait-free, one load.
    #[must_use]
    pub fn at(&self, index: u32) -> Option<Entity> {
        self.shared.core.at(index)
    }

    /// How many slots have retired: they had as many entities as there are versions. Wait-free,
    /// O(threads and sessions that used the index at one time); exact while no other thread
    /// destroys.
    #[must_use]
    pub fn retired(&self) -> usize {
        let nodes = self.shared.registry.nodes();
        // Ordering: Relaxed, see `Tally`.
        nodes
            .map(|node| node.public.retired.load(Ordering::Relaxed))
            .sum::<u64>() as usize
    }

    /// From now on the system has memory for so many blocks.
    #[cfg(test)]
    pub(crate) fn grant(&self, blocks: u32) {
        self.shared.core.grant(blocks);
    }

    /// Data blocks that have been used, of 16,384. Wait-free, one load.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.shared.core.opened() as usize
    }

    /// The living entities, in index order. Entities that are created or destroyed meanwhile may be
    /// there or not; all others are. O(blocks in use).
    pub fn iter(&self) -> Live<'_> {
        Live::new(&self.shared.core)
    }

    /// For models: a cache, which some thread adopts. (A thread without one works with an empty cache,
    /// and gives it back, in each call.)
    #[cfg(loom)]
    #[must_use]
    pub fn thread_cache(&self) -> impl crate::sync::model::ThreadCache + 'static + use<> {
        local::hold(&self.shared)
    }

    /// Returns the free slots that this thread keeps for itself, so that any thread can have them.
    /// Lock-free; O(slots that it keeps), 112 at most.
    pub fn flush(&self) {
        self.with_cache(|core, cache, tally| core.flush(cache, tally));
    }
}

/// Counts only. Wait-free.
impl fmt::Debug for EntityIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntityIndex")
            .field("count", &self.count())
            .field("retired", &self.retired())
            .field("blocks", &self.blocks())
            .finish_non_exhaustive()
    }
}

impl Default for EntityIndex {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> IntoIterator for &'a EntityIndex {
    type Item = Entity;
    type IntoIter = Live<'a>;

    fn into_iter(self) -> Live<'a> {
        self.iter()
    }
}

impl EntityAllocator for EntityIndex {
    const NAME: &'static str = "bitmask";

    fn fresh() -> Self {
        Self::new()
    }

    fn try_fresh() -> io::Result<Self> {
        IndexOptions::new().build()
    }

    fn capacity(&self) -> usize {
        Self::CAPACITY
    }

    #[inline]
    fn create(&self) -> Result<Entity, Full> {
        self.create()
    }

    fn create_slice(&self, out: &mut [Entity]) -> Result<(), Full> {
        self.create_slice(out)
    }

    #[inline]
    fn destroy(&self, entity: Entity) -> Result<(), EntityError> {
        self.destroy(entity)
    }

    fn destroy_slice(&self, entities: &[Entity]) -> DestroyReport {
        self.destroy_slice(entities)
    }

    #[inline]
    fn exists(&self, entity: Entity) -> bool {
        self.exists(entity)
    }

    #[inline]
    fn locate(&self, entity: Entity) -> Result<Option<Place>, EntityError> {
        self.locate(entity)
    }

    fn publish(&self, entity: Entity, place: Place) -> Result<(), EntityError> {
        self.publish(entity, place)
    }

    fn count(&self) -> usize {
        self.count()
    }

    fn flush(&self) {
        self.flush();
    }
}
