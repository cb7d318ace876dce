//! `Session`: a cache of one's own.

use core::fmt;

use crate::entity::index::cache::{Cache, Tally};
use crate::entity::index::shared::{self, Shared};
use crate::entity::index::{NONE_LEFT, deaths, slot};
use crate::entity::{DestroyReport, Entity, EntityError, EntityFault, EntityIndex, Full, Place};
use crate::sync::lease::Lease;

/// A way to an [`EntityIndex`] that has a cache of its own: for loops that create and destroy all the time.
///
/// Everything that a session does could be done through the index, by any thread, at the same time, and entities do
/// not know which way they were made: one session may destroy what another, or a thread without one, has created.
/// The difference is speed. The index finds the cache of the thread that calls, in each call; a session *is* a
/// cache, and there is nothing to find.
///
/// A session may be [sent](Send) to another thread. It is not [`Sync`], not for several threads at once: open one for
/// each.
///
/// # What it keeps
/// Up to [`CACHED_IDS`](crate::entity::CACHED_IDS) (112) free slots, like a thread: they come on top of what the
/// thread keeps that uses the index itself, and neither gets those of the other. They go back to everybody when the
/// session is dropped, and on [`flush`](Self::flush). A session that is [forgotten](core::mem::forget) takes them with
/// it, until the index is dropped.
///
/// While it has something to create from, it also keeps others away from the block of 8,192 slots that it works in,
/// as long as they find room elsewhere: many sessions that are open and not used spread the entities over as many
/// blocks (64 KiB of memory each). Open one for a while of work, not for each of a thousand tasks that wait.
///
/// # Costs
/// As for the [index](EntityIndex#costs), but for a few instructions less in each call. Opening one is lock-free and
/// O(threads and sessions that used the index at one time); it takes memory if there are more of them than ever before.
///
/// ```
/// use megachunk::entity::EntityIndex;
///
/// let index = EntityIndex::new();
/// std::thread::scope(|scope| {
///     for _ in 0..2 {
///         scope.spawn(|| {
///             let mut session = index.session();
///             for _ in 0..1_000 {
///                 let spark = session.create().expect("not full");
///                 session.destroy(spark).expect("it lives");
///             }
///             session.create()
///         });
///     }
/// });
/// assert_eq!(index.count(), 2);
/// ```
///
/// Source of the idea: the sessions of FASTER (Chandramouli et al., SIGMOD 2018; number 25 of
/// `papers/reading-list.md`), through which a thread works on a shared store without asking each time who it is.
pub struct Session<'a> {
    lease: Lease<'a, Shared>,
    index: &'a EntityIndex,
}

impl fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("index", self.index)
            .finish_non_exhaustive()
    }
}

impl EntityIndex {
    /// Opens a [`Session`]: a cache of one's own, for loops that create and destroy all the time. Lock-free.
    #[must_use]
    pub fn session(&self) -> Session<'_> {
        Session {
            lease: Lease::new(&self.shared),
            index: self,
        }
    }
}

impl<'a> Session<'a> {
    /// The index that it is a way to. (What is created through that, by a call without a session, comes from the
    /// thread's cache.)
    #[inline]
    #[must_use]
    pub fn index(&self) -> &'a EntityIndex {
        self.index
    }

    /// Runs `access` on the cache.
    #[inline(always)]
    fn with_cache<R>(&mut self, access: impl FnOnce(&Shared, &mut Cache, &Tally) -> R) -> R {
        let shared = self.lease.home();
        self.lease.with(|cache, tally| access(shared, cache, tally))
    }

    /// Creates one entity, without a place. Lock-free; no read-modify-write but one or two for each word of free slots.
    ///
    /// # Errors
    /// [`Full`], as [for the index](EntityIndex#when-it-is-full).
    #[inline]
    pub fn create(&mut self) -> Result<Entity, Full> {
        let index = match self.with_cache(|_, cache, tally| cache.take(tally)) {
            Some(index) => index,
            None => self.take_claimed().ok_or(NONE_LEFT)?,
        };
        // SAFETY: caches hold indices of slots.
        Ok(unsafe { self.lease.home().core.create_at(index, None) })
    }

    /// A slot, counted as a living entity's, when the cache is empty.
    #[cold]
    #[inline(never)]
    fn take_claimed(&mut self) -> Option<u32> {
        self.with_cache(Shared::take)
    }

    /// Reserves an id; see [`EntityIndex::reserve`]. The same as [`create`](Self::create).
    ///
    /// # Errors
    /// [`Full`], as [for the index](EntityIndex#when-it-is-full).
    #[inline]
    pub fn reserve(&mut self) -> Result<Entity, Full> {
        self.create()
    }

    /// Creates `out.len()` entities; see [`EntityIndex::create_slice`]. Lock-free.
    ///
    /// # Errors
    /// [`Full`]; then none stays created, and `out` is filled with [`Entity::PLACEHOLDER`].
    pub fn create_slice(&mut self, out: &mut [Entity]) -> Result<(), Full> {
        self.with_cache(|shared, cache, tally| shared.create_slice(cache, tally, out))
    }

    /// Appends `count` new entities to `out`; all or none. Lock-free, but for the growing of `out`.
    ///
    /// # Errors
    /// [`Full`]; then `out` is as it was.
    pub fn create_into(&mut self, out: &mut Vec<Entity>, count: usize) -> Result<(), Full> {
        shared::append(out, count, |new| self.create_slice(new))
    }

    /// Destroys one entity, whoever created it. Lock-free, one read-modify-write.
    ///
    /// # Errors
    /// [`EntityError`] when `entity` is not alive: destroyed before, never created, out of range.
    #[inline]
    #[doc(alias = "despawn")]
    pub fn destroy(&mut self, entity: Entity) -> Result<(), EntityError> {
        let refused = |fault| EntityError::new(entity, fault);
        if !self.lease.home().core.try_kill(entity) {
            return self.destroy_slowly(entity).map_err(refused);
        }
        let kept = entity.version() != slot::LAST_VERSION
            && self.with_cache(|_, cache, tally| cache.keep(tally, entity.index()));
        if !kept {
            self.pass_on(entity);
        }
        Ok(())
    }

    /// `destroy`, when the first attempt has failed.
    #[cold]
    #[inline(never)]
    fn destroy_slowly(&mut self, entity: Entity) -> Result<(), EntityFault> {
        let killed = self.lease.home().core.kill_slowly(entity);
        killed.map_err(|error| error.fault)?;
        self.pass_on(entity);
        Ok(())
    }

    /// Keeps the slot of an entity that the caller has destroyed; what the session has kept for longest goes back if
    /// there is no room.
    #[cold]
    #[inline(never)]
    fn pass_on(&mut self, entity: Entity) {
        self.with_cache(|shared, cache, tally| shared.core.pass_on(cache, tally, entity));
    }

    /// Destroys each of `entities`; see [`EntityIndex::destroy_slice`]. Lock-free, but for what memory it takes.
    pub fn destroy_slice(&mut self, entities: &[Entity]) -> DestroyReport {
        self.with_cache(|shared, cache, tally| {
            deaths::destroy(&shared.core, cache, tally, entities)
        })
    }

    /// Whether `entity` is alive. Wait-free, one load.
    #[inline]
    #[must_use]
    #[doc(alias = "contains")]
    pub fn exists(&self, entity: Entity) -> bool {
        self.index.exists(entity)
    }

    /// Where `entity` lies; see [`EntityIndex::locate`]. Wait-free, one load.
    ///
    /// # Errors
    /// [`EntityError`] when `entity` is not alive.
    #[inline]
    pub fn locate(&self, entity: Entity) -> Result<Option<Place>, EntityError> {
        self.index.locate(entity)
    }

    /// Gives the free slots that the session keeps to everybody.
    pub fn flush(&mut self) {
        self.with_cache(|shared, cache, tally| shared.core.flush(cache, tally));
    }
}
