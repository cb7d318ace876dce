//! Who lives, and where: looking up, publishing a place.

use crate::entity::index::core::Core;
use crate::entity::index::slot;
use crate::entity::{Entity, EntityError, EntityFault, Place};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::{SLOTS, WORD_BITS};
use crate::sync::mutant;

impl Core {
    /// The slot word of a living entity; `None` if it does not live. Wait-free: one load.
    #[inline(always)]
    pub(crate) fn living(&self, entity: Entity) -> Option<u64> {
        if !self.has_slot(entity.index()) {
            return None;
        }
        // Ordering: Acquire pairs with the Release in `create_at` and `publish`: the entity and its
        // place are seen with what was written before.
        //
        // SAFETY: just checked.
        let word = unsafe { self.slot(entity.index()) }.load(Ordering::Acquire);
        if mutant::active("look_up_by_claim") {
            // SAFETY: just checked.
            let claims = unsafe { self.claims(entity.index() / WORD_BITS) };
            let taken = claims.load(Ordering::Acquire) >> (entity.index() % WORD_BITS) & 1 == 1;
            return taken.then_some(word);
        }
        // A handle's version is odd, so a dead slot never matches.
        slot::has_version_of(word, entity).then_some(word)
    }

    /// Why a handle is refused that is not alive.
    #[inline(always)]
    pub(crate) fn refuse(&self, entity: Entity) -> EntityError {
        EntityError::new(entity, self.fault(entity))
    }

    /// What is wrong with a handle that is not alive. (Only what fits a register comes out of the way: an
    /// error that is written to memory here would have results that are no errors written there as well.)
    #[cold]
    #[inline(never)]
    fn fault(&self, entity: Entity) -> EntityFault {
        if entity.index() >= SLOTS {
            return EntityFault::OutOfRange;
        }
        if !self.has_slot(entity.index()) {
            return EntityFault::NeverCreated;
        }
        // Ordering: Acquire, as in `living`: who is told that it is dead sees what its destroyer did before.
        //
        // SAFETY: just checked.
        let word = unsafe { self.slot(entity.index()) }.load(Ordering::Acquire);
        // Death is for ever: if the entity lives now, it was created after it was refused.
        if entity.version() > slot::version(word) || self.living(entity).is_some() {
            EntityFault::NeverCreated
        } else {
            EntityFault::Destroyed
        }
    }

    /// Sets the place of a living entity; with `only_unplaced`, only if it has none.
    pub(crate) fn publish(
        &self,
        entity: Entity,
        place: Place,
        only_unplaced: bool,
    ) -> Result<(), EntityError> {
        let index = entity.index();
        let Some(mut word) = self.living(entity) else {
            return Err(self.refuse(entity));
        };
        let new = slot::pack(entity.version(), Some(place));
        // SAFETY: a living entity's index is in range.
        let slot = unsafe { self.slot(index) };
        loop {
            if slot::version(word) != entity.version() {
                return Err(self.refuse(entity));
            }
            if only_unplaced && slot::place(word).is_some() {
                return Err(EntityError::new(entity, EntityFault::AlreadyBuilt));
            }
            if mutant::active("publish_by_store") {
                slot.store(new, Ordering::Release);
                break;
            }
            // Ordering: Release pairs with the Acquire in `living`. The version is part of what is
            // compared: the place of another entity is never touched.
            let order = mutant::ordering("publish_relaxed", Ordering::Release);
            match slot.compare_exchange_weak(word, new, order, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        // No second look: the call took effect, and must not deny it if the entity has died since.
        if mutant::active("publish_second_look") && self.living(entity).is_none() {
            return Err(self.refuse(entity));
        }
        Ok(())
    }

    /// Changes the place of a living entity, if it is `from`; else says what it is.
    pub(crate) fn relocate(
        &self,
        entity: Entity,
        from: Option<Place>,
        to: Option<Place>,
    ) -> Result<Result<(), Option<Place>>, EntityError> {
        if self.living(entity).is_none() {
            return Err(self.refuse(entity));
        }
        let old = slot::pack(entity.version(), from);
        let new = slot::pack(entity.version(), to);
        // Ordering: as in `publish`; Acquire, because the caller may go on with what it finds.
        //
        // SAFETY: a living entity's index is in range.
        let slot = unsafe { self.slot(entity.index()) };
        let order = mutant::ordering("relocate_relaxed", Ordering::AcqRel);
        match slot.compare_exchange(old, new, order, Ordering::Acquire) {
            Ok(_) => Ok(Ok(())),
            Err(now) if slot::version(now) == entity.version() => Ok(Err(slot::place(now))),
            Err(_) => Err(self.refuse(entity)),
        }
    }

    /// The living entity of a slot.
    pub(crate) fn at(&self, index: u32) -> Option<Entity> {
        if !self.has_slot(index) {
            return None;
        }
        // SAFETY: just checked.
        unsafe { self.at_slot(index) }
    }

    /// The living entity of a slot that is there.
    ///
    /// # Safety
    /// As for [`slot`](Self::slot).
    #[inline(always)]
    pub(crate) unsafe fn at_slot(&self, index: u32) -> Option<Entity> {
        // Ordering: Acquire, as in `living`.
        //
        // SAFETY: the caller's.
        let word = unsafe { self.slot(index) }.load(Ordering::Acquire);
        // A dead slot's version is even, and no handle has one.
        Entity::new(index, slot::version(word))
    }
}
