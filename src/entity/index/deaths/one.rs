//! How one entity dies: condemned by its group word, then buried in its slot.
//!
//! Many at once die by the same steps.

use crate::entity::index::core::Core;
use crate::entity::index::{group, slot};
use crate::entity::{Entity, EntityError, EntityFault};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::GROUP_SLOTS;
use crate::sync::{mutant, probe};

impl Core {
    /// Destroys one entity. The slot is the caller's then, who keeps or releases it, unless it has
    /// retired ([`slot::LAST_VERSION`]).
    ///
    /// Lock-free: a retry means that another entity of the group died.
    #[inline(always)]
    pub(crate) fn kill(&self, entity: Entity) -> Result<(), EntityError> {
        if self.try_kill(entity) {
            Ok(())
        } else {
            self.kill_slowly(entity)
        }
    }

    /// The first attempt of [`kill`](Self::kill), in as few instructions as it takes: a thread that destroys
    /// here and there waits for memory, and the processor looks ahead a number of instructions. `false` if it
    /// fails, for whatever reason: then [`kill_slowly`](Self::kill_slowly) knows more.
    #[inline(always)]
    pub(crate) fn try_kill(&self, entity: Entity) -> bool {
        let index = entity.index();
        if !self.has_slot(index) {
            return false;
        }
        // SAFETY: just checked.
        let (group, slot) = unsafe { (self.group(index), self.slot(index)) };
        let lane = index % GROUP_SLOTS;
        // Orderings: as in `kill_slowly`, which begins anew if the compare-and-swap fails.
        let phases = group.load(mutant::ordering("kill_relaxed", Ordering::Acquire));
        let word = slot.load(Ordering::Relaxed);
        if !slot::has_version_of(word, entity) && !mutant::active("kill_ignores_version")
            || !group::in_phase(phases, lane, slot::version(word))
                && !mutant::active("kill_ignores_phase")
        {
            return false;
        }
        let dead = if mutant::active("no_generation") {
            phases ^ 1 << lane
        } else {
            group::after_death(phases, 1 << lane)
        };
        // (Acquire is not needed: the word that is compared was read with it above, and none comes back.)
        let order = mutant::ordering("kill_release", Ordering::AcqRel);
        let won = group
            .compare_exchange(phases, dead, order, Ordering::Relaxed)
            .is_ok();
        if won && !mutant::active("kill_without_bury") {
            // Ordering: as in `bury`.
            let order = mutant::ordering("death_relaxed", Ordering::Release);
            slot.store(slot::dead(entity.version()), order);
        }
        won || mutant::active("kill_takes_loss_for_win")
    }

    /// [`kill`](Self::kill), as often as it takes, or why not.
    #[cold]
    #[inline(never)]
    pub(crate) fn kill_slowly(&self, entity: Entity) -> Result<(), EntityError> {
        let index = entity.index();
        if !self.has_slot(index) {
            return Err(self.refuse(entity));
        }
        // SAFETY: just checked.
        let (group, slot) = unsafe { (self.group(index), self.slot(index)) };
        let lane = index % GROUP_SLOTS;
        // The group first: if it is still the same after the slot was looked at, nobody was condemned
        // in between.
        //
        // Ordering: Acquire pairs with the Release of the compare-and-swap below. Who sees a later
        // version of the slot condemned sees, through it, that the slot has moved on.
        let mut phases = group.load(mutant::ordering("kill_relaxed", Ordering::Acquire));
        loop {
            // Ordering: Relaxed. If this is an old value, the group word that goes with the newer
            // one was either seen (then the phases differ) or makes the compare-and-swap fail.
            let version = slot::version(slot.load(Ordering::Relaxed));
            if version != entity.version() && !mutant::active("kill_ignores_version") {
                return Err(self.refuse(entity));
            }
            if !group::in_phase(phases, lane, version) && !mutant::active("kill_ignores_phase") {
                // Condemned, or created after the group was loaded: then look again.
                phases = match self.bury_condemned(entity) {
                    None => return Err(EntityError::new(entity, EntityFault::Destroyed)),
                    Some(phases) => phases,
                };
                continue;
            }
            let dead = if mutant::active("no_generation") {
                phases ^ 1 << lane
            } else {
                group::after_death(phases, 1 << lane)
            };
            // Ordering: Release: whoever sees the death sees what its destroyer had seen of the
            // slot, so that it never takes the old version for the current one. (Acquire is not
            // needed: the word that is compared was read with it, and none comes back. Kept, as in
            // the argument.) The failure's Acquire is that of the load above, for the next round.
            match group.compare_exchange_weak(
                phases,
                dead,
                mutant::ordering("kill_release", Ordering::AcqRel),
                mutant::ordering("kill_again_relaxed", Ordering::Acquire),
            ) {
                Ok(_) => {
                    if mutant::active("kill_without_bury") {
                        return Ok(());
                    }
                    self.bury(index, version);
                    return Ok(());
                }
                Err(_) if mutant::active("kill_takes_loss_for_win") => return Ok(()),
                Err(now) => {
                    probe::failed_claim();
                    phases = now;
                }
            }
        }
    }

    /// Makes the slot word of an entity even that the caller has condemned.
    #[inline(always)]
    pub(crate) fn bury(&self, index: u32, version: u32) {
        // A plain store: until the caller passes the slot on, others can only change the place of
        // this version, or store the same.
        //
        // Ordering: Release, for whoever learns from the word that the entity is dead.
        let order = mutant::ordering("bury_relaxed", Ordering::Release);
        // SAFETY: the caller looked at the slot.
        unsafe { self.slot(index) }.store(slot::dead(version), order);
    }

    /// Makes the slot word of an entity even that nobody else destroys, changes or builds meanwhile, and whose version is
    /// none of the [last](slot::is_among_last). The slot's phase in the group word stays, and the next version with it is
    /// the next but one: the one in between is skipped.
    ///
    /// # Safety
    /// There is such a slot.
    #[inline(always)]
    pub(crate) unsafe fn bury_owned(&self, entity: Entity) {
        debug_assert!(!slot::is_among_last(entity.version()));
        // SAFETY: the caller's.
        let slot = unsafe { self.slot(entity.index()) };
        // Ordering: Release, as in `bury`.
        let order = mutant::ordering("owned_death_relaxed", Ordering::Release);
        slot.store(slot::dead(entity.version() + 2), order);
    }

    /// For an entity whose version was seen in its slot while the slot's phase said that it is
    /// condemned. If it is: sees to it that the slot word is even, because whoever condemned it may
    /// have stopped. If it is not, because it was created after the phase was read: the group word.
    #[cold]
    #[inline(never)]
    pub(crate) fn bury_condemned(&self, entity: Entity) -> Option<u64> {
        let index = entity.index();
        // SAFETY: the caller looked at the slot.
        let (group, slot) = unsafe { (self.group(index), self.slot(index)) };
        let mut word = slot.load(Ordering::Acquire);
        // After the slot: if the phase differs now from that of a version that stood in the slot
        // before, that version is condemned.
        //
        // Ordering: Acquire above keeps this load behind it.
        let phases = group.load(Ordering::Acquire);
        if slot::version(word) != entity.version() {
            return None;
        }
        if group::in_phase(phases, index % GROUP_SLOTS, entity.version())
            && !mutant::active("bury_without_second_look")
        {
            return Some(phases);
        }
        while slot::version(word) == entity.version() && !mutant::active("no_help") {
            let dead = slot::dead(entity.version());
            // Ordering: Release, as in `bury`: the helper has seen the death, by the Acquire of the group word, and
            // passes on what its destroyer did before. Acquire, also on failure, is not needed, as only the version is
            // looked at; kept. A failure means that the place changed, or that the word is even already.
            let order = mutant::ordering("help_relaxed", Ordering::AcqRel);
            match slot.compare_exchange_weak(word, dead, order, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        None
    }
}
