//! What an index is made of: the slots and who keeps which; and what is done with a cache in hand, whether it is
//! a thread's or a session's.

use crate::entity::index::cache::{Cache, Tally};
use crate::entity::index::core::{Core, Threads};
use crate::entity::index::{NONE_LEFT, batch};
use crate::entity::{Entity, EntityIndex, Full};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::local::{Home, Registry};

/// What threads keep alive while they give their caches back.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) core: Core,
    pub(super) registry: Threads,
    /// Caches that were ever made.
    caches: AtomicU32,
}

impl Home for Shared {
    type Private = Cache;
    type Public = Tally;

    const KIND: usize = 0;

    fn registry(&self) -> &Threads {
        &self.registry
    }

    fn new_parts(&self) -> (Cache, Tally) {
        // Ordering: only uniqueness matters.
        let ordinal = self.caches.fetch_add(1, Ordering::Relaxed) + 1;
        (Cache::new(ordinal), Tally::default())
    }

    fn retire(&self, cache: &mut Cache, tally: &Tally) {
        self.core.flush(cache, tally);
    }
}

impl Shared {
    /// An index over these slots. Threads that used them before do not know of it.
    pub(super) fn of(core: Core) -> Self {
        Self {
            core,
            registry: Registry::new(),
            caches: AtomicU32::new(0),
        }
    }

    /// A claimed slot, counted as a living entity's; from a word that is claimed, if the cache is empty. `None` if
    /// there is none.
    pub(super) fn take(&self, cache: &mut Cache, tally: &Tally) -> Option<u32> {
        if tally.kept() == 0 && cache.mask == 0 {
            self.core.refill(&self.registry, cache, tally).ok()?;
        }
        let taken = cache.take(tally);
        debug_assert!(taken.is_some(), "a cache that was filled holds a slot");
        taken
    }

    /// Creates `out.len()` entities, all or none.
    #[inline]
    pub(super) fn create_slice(
        &self,
        cache: &mut Cache,
        tally: &Tally,
        out: &mut [Entity],
    ) -> Result<(), Full> {
        // Not by trying: all others would find none meanwhile.
        if out.len() > EntityIndex::CAPACITY {
            out.fill(Entity::PLACEHOLDER);
            return Err(NONE_LEFT);
        }
        // SAFETY: batches write whole handles.
        let handles = unsafe { batch::overwritten(out) };
        let created = batch::create(&self.core, &self.registry, cache, tally, handles, None);
        if created.is_err() {
            out.fill(Entity::PLACEHOLDER);
        }
        created
    }
}

/// Appends `count` entities to `out`, which `create` makes all or none of; else `out` stays as it was.
pub(super) fn append(
    out: &mut Vec<Entity>,
    count: usize,
    create: impl FnOnce(&mut [Entity]) -> Result<(), Full>,
) -> Result<(), Full> {
    if count > EntityIndex::CAPACITY {
        return Err(NONE_LEFT);
    }
    let before = out.len();
    out.resize(before + count, Entity::PLACEHOLDER);
    let result = create(&mut out[before..]);
    if result.is_err() {
        out.truncate(before);
    }
    result
}
