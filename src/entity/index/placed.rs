//! What a world does with the ids of its own entities: it creates them where they lie, and moves them.

#[cfg(not(loom))]
use core::marker::PhantomData;
use core::mem::MaybeUninit;
#[cfg(not(loom))]
use core::ptr::NonNull;

use crate::entity::index::cache::Tally;
use crate::entity::index::core::Core;
use crate::entity::index::freed::Freed;
#[cfg(not(loom))]
use crate::entity::index::slot::Origin;
use crate::entity::index::wide;
use crate::entity::index::{batch, slot};
use crate::entity::{Entity, EntityIndex, Full, Place};
#[cfg(not(loom))]
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering;
#[cfg(not(any(loom, windows, debug_assertions)))]
use crate::sync::geometry::SLOTS;
use crate::sync::geometry::{GROUP_SLOTS, WORD_BITS};
use crate::sync::mutant;

/// All slots of a group.
const ALL_LANES: u64 = (1 << GROUP_SLOTS) - 1;

/// Where the entities of a world lie, for as long as nobody changes the world: one address to keep in a register.
#[cfg(not(loom))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'a> {
    slots: NonNull<AtomicU64>,
    /// How many slots there are, where that is not always the same.
    #[cfg(any(windows, debug_assertions))]
    there: u32,
    _index: PhantomData<&'a EntityIndex>,
}

// SAFETY: an address of atomics that any thread may load, and that live as long as what it is borrowed from.
#[cfg(not(loom))]
unsafe impl Send for Places<'_> {}
// SAFETY: as above.
#[cfg(not(loom))]
unsafe impl Sync for Places<'_> {}

#[cfg(not(loom))]
impl Places<'_> {
    /// Whether there is a slot word to look at. Entities of blocks that were opened since lie in other worlds, or nowhere
    /// yet.
    #[inline(always)]
    fn has_slot(self, entity: Entity) -> bool {
        #[cfg(any(windows, debug_assertions))]
        let there = self.there;
        #[cfg(not(any(windows, debug_assertions)))]
        let there = SLOTS;
        (entity.index() as usize) < there as usize
    }

    /// Asks the processor for the slot of an entity that will be looked up soon.
    #[inline(always)]
    pub(crate) fn expect(self, entity: Entity) {
        let index = entity.index() as usize;
        crate::memory::prefetch(self.slots.as_ptr().wrapping_add(index));
    }

    /// The bits of the place where an entity lies, or of [`Place::NOWHERE`], as [`Origin::place_bits`] has them: of no
    /// chunk from the first one on if it lies before that, or does not live. Wait-free, one load. Says as much as
    /// [`of`](Self::of), in fewer instructions that wait for it.
    #[inline(always)]
    pub(crate) fn bits_from(self, origin: Origin, entity: Entity) -> u64 {
        if !self.has_slot(entity) {
            return u64::MAX;
        }
        // SAFETY: just checked; the index lives as long as `self` is borrowed from it.
        let slot = unsafe { self.slots.add(entity.index() as usize).as_ref() };
        // Ordering: Relaxed, as in `of`.
        origin.place_bits(slot.load(Ordering::Relaxed), entity)
    }

    /// Where an entity lies; `None` if it does not live (or did not, where memory is asked for, when the world was
    /// borrowed), [`Place::NOWHERE`] if it has no place. Wait-free, one load.
    ///
    /// Says nothing about what was written before the entity came there, unless it lies in the world that the
    /// caller has borrowed: what came there came before the borrow began.
    #[inline(always)]
    pub(crate) fn of(self, entity: Entity) -> Option<Place> {
        if !self.has_slot(entity) {
            return None;
        }
        // SAFETY: just checked; the index lives as long as `self` is borrowed from it.
        let slot = unsafe { self.slots.add(entity.index() as usize).as_ref() };
        // Ordering: Relaxed, see above. Whoever moves entities of other worlds meanwhile makes no entity
        // of this one, so that a word that names this world is older than the borrow.
        let word = slot.load(Ordering::Relaxed);
        // A handle's version is odd, so a dead slot never matches.
        (slot::version(word) == entity.version()).then(|| slot::place_or_nowhere(word))
    }
}

impl EntityIndex {
    /// Creates an entity that has a place from the beginning. Lock-free; no read-modify-write but one or
    /// two for each word of free slots.
    #[inline(always)]
    pub(crate) fn create_placed(&self, place: Place) -> Result<Entity, Full> {
        let created = self.with_cache(|core, cache, tally| {
            let index = cache.take(tally)?;
            // SAFETY: caches hold indices of slots.
            Some(unsafe { core.create_at(index, Some(place)) })
        });
        match created {
            Some(entity) => Ok(entity),
            None => self.create_placed_shared(place),
        }
    }

    /// [`create_placed`](Self::create_placed), if the thread has a slot at hand; else nothing is done. Wait-free, no
    /// read-modify-write.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn create_cached(&self, place: Place) -> Option<Entity> {
        let index = self.take_cached()?;
        // SAFETY: caches hold indices of slots.
        Some(unsafe { self.shared.core.create_at(index, Some(place)) })
    }

    /// `create_placed`, when the thread's cache is empty.
    #[cold]
    #[inline(never)]
    fn create_placed_shared(&self, place: Place) -> Result<Entity, Full> {
        let mut entity = [MaybeUninit::uninit()];
        self.create_placed_slice(&mut entity, place)?;
        // SAFETY: created, and so written.
        Ok(unsafe { entity[0].assume_init() })
    }

    /// Creates `out.len()` entities, as `create_slice` does, which have places from the beginning:
    /// `first`, and the rows behind it in the same chunk; all or none. Lock-free.
    ///
    /// At no time has one of them no place. So to a thread that guesses its handle it is never an entity that
    /// can be built or released, only one that lies where that thread has no business.
    pub(crate) fn create_placed_slice(
        &self,
        out: &mut [MaybeUninit<Entity>],
        first: Place,
    ) -> Result<(), Full> {
        self.with_cache(|core, cache, tally| {
            batch::create(core, &self.shared.registry, cache, tally, out, Some(first))
        })
    }

    /// Where an entity lies; `None` if it does not live, or has no place. Wait-free, one load.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn place_of(&self, entity: Entity) -> Option<Place> {
        slot::place(self.shared.core.living(entity)?)
    }

    /// Where entities lie.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn places(&self) -> Places<'_> {
        Places {
            slots: self.shared.core.slots.first(),
            #[cfg(any(windows, debug_assertions))]
            there: self.shared.core.slots_there(),
            _index: PhantomData,
        }
    }

    /// Sets the place of an entity that nobody else changes or destroys meanwhile: one that lies in a
    /// world, which the caller has to itself. Wait-free, one store.
    #[inline(always)]
    pub(crate) fn set_place(&self, entity: Entity, place: Place) {
        debug_assert!(self.exists(entity));
        let core = &self.shared.core;
        if core.has_slot(entity.index()) {
            // SAFETY: just checked.
            let slot = unsafe { core.slot(entity.index()) };
            // Ordering: Release, as in `Core::publish`. A plain store: the version is the one that
            // stands there, because nobody but the caller may change it.
            let order = mutant::ordering("set_place_relaxed", Ordering::Release);
            slot.store(slot::pack(entity.version(), Some(place)), order);
        }
    }

    /// [`set_place`](Self::set_place) of an entity that has a place.
    ///
    /// # Safety
    /// The entity lives.
    #[inline(always)]
    pub(crate) unsafe fn replace_place(&self, entity: Entity, place: Place) {
        debug_assert!(self.exists(entity));
        // SAFETY: the caller's: what lives has a slot.
        let slot = unsafe { self.shared.core.slot(entity.index()) };
        // Ordering: as in `set_place`.
        let order = mutant::ordering("set_place_relaxed", Ordering::Release);
        slot.store(slot::pack(entity.version(), Some(place)), order);
    }

    /// Destroys an entity that nobody else destroys, changes or builds meanwhile: one that lies in
    /// a world, which the caller has to itself. No read-modify-write but what it takes to give slots back. Wait-free once
    /// the thread has a cache (its first call gets it one: lock-free); the last versions of a slot
    /// go the usual way, which is lock-free.
    ///
    /// No compare-and-swap of the group word says who destroys, because nobody competes. So the slot's
    /// phase there stays as it is, and the slot's next entity must have the same one: the version in
    /// between is skipped. It is as if the slot had had another entity meanwhile of which nobody heard.
    #[inline(always)]
    pub(crate) fn destroy_owned(&self, entity: Entity) {
        debug_assert!(self.exists(entity));
        if !self.shared.core.has_slot(entity.index()) {
            return self.retire_owned(entity);
        }
        // SAFETY: just checked.
        unsafe { self.destroy_found(entity) };
    }

    /// [`destroy_owned`](Self::destroy_owned) of an entity that was found.
    ///
    /// # Safety
    /// The entity lives.
    #[inline(always)]
    pub(crate) unsafe fn destroy_found(&self, entity: Entity) {
        debug_assert!(self.exists(entity));
        if slot::is_among_last(entity.version()) {
            return self.retire_owned(entity);
        }
        // SAFETY: the caller's: what lives has a slot.
        unsafe { self.shared.core.bury_owned(entity) };
        self.with_cache(|core, cache, tally| {
            core.keep(cache, tally, entity.index());
        });
    }

    /// The last versions of a slot go the usual way.
    #[cold]
    #[inline(never)]
    fn retire_owned(&self, entity: Entity) {
        let _ = self.destroy(entity);
    }

    /// Destroys entities that nobody else destroys, changes or builds meanwhile, as
    /// [`destroy_owned`](Self::destroy_owned) does; neighbours' slots go back together. Lock-free, two
    /// read-modify-writes for 64 neighbours.
    pub(crate) fn destroy_owned_slice(&self, entities: &[Entity]) {
        let retiring = self.with_cache(|core, cache, tally| {
            // From the first slot given back to the last hint.
            let _lag = (!mutant::active("owned_lag_not_said")).then(|| tally.lag.begin());
            bury_slice(core, Freed::new(core, cache), tally, entities)
        });
        if retiring > 0 {
            self.retire_last(entities);
        }
    }

    /// [`destroy_owned_slice`](Self::destroy_owned_slice), but the thread keeps none of the slots: they are everybody's at
    /// once; their lowest claim word.
    pub(crate) fn destroy_owned_slice_at_once(&self, entities: &[Entity]) -> Option<u32> {
        let retiring = self.with_cache(|core, cache, tally| {
            // As above.
            let _lag = (!mutant::active("owned_lag_not_said")).then(|| tally.lag.begin());
            bury_slice(core, Freed::at_once(core, cache), tally, entities)
        });
        if retiring > 0 {
            self.retire_last(entities);
            self.flush();
        }
        let lowest = entities.iter().map(|entity| entity.index()).min();
        lowest.map(|lowest| lowest / WORD_BITS)
    }

    /// Destroys those of owned entities that have one of the last versions of their slots: these go the usual way.
    #[cold]
    #[inline(never)]
    fn retire_last(&self, entities: &[Entity]) {
        let last = entities
            .iter()
            .filter(|entity| slot::is_among_last(entity.version()));
        for &entity in last {
            let _ = self.destroy(entity);
        }
    }
}

/// Makes owned entities dead, and gives their slots back; how many are left, which have one of the last versions of their
/// slots.
#[inline(always)]
fn bury_slice<const KEEPS: bool>(
    core: &Core,
    mut freed: Freed<'_, KEEPS>,
    tally: &Tally,
    entities: &[Entity],
) -> usize {
    let mut retiring = 0;
    let mut rest = entities;
    while let Some((&entity, others)) = rest.split_first() {
        debug_assert!(core.living(entity).is_some());
        let index = entity.index();
        if index % GROUP_SLOTS == 0 {
            let buried = wide::bury_owned(core, rest);
            if buried > 0 {
                let group = index / GROUP_SLOTS;
                let groups = group..group + buried as u32 / GROUP_SLOTS;
                groups.for_each(|group| freed.add(group, ALL_LANES));
                rest = &rest[buried..];
                continue;
            }
        }
        rest = others;
        if !core.has_slot(index) || slot::is_among_last(entity.version()) {
            retiring += 1;
            continue;
        }
        // SAFETY: just checked.
        unsafe { core.bury_owned(entity) };
        freed.add(index / GROUP_SLOTS, 1 << (index % GROUP_SLOTS));
    }
    freed.finish();
    tally.add_destroyed(entities.len() - retiring);
    retiring
}
