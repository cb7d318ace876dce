//! Ids in an order that does not depend on threads: for worlds that are to be the same, bit for bit, for any
//! number of them.
//!
//! Nothing here uses threads' caches: a free slot is free for everybody, and whoever creates says which
//! claim word it takes from. That costs two or three read-modify-writes for each call.

use crate::entity::index::lowest::Lowest;
use crate::entity::index::{NONE_LEFT, slot, span};
use crate::entity::{Entity, EntityIndex, Full, Place};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::{FULL, WORD_BITS, WORDS, WORDS_PER_BLOCK};
use crate::sync::mutant;

/// Slots of one claim word, claimed and not used yet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Claimed {
    word: u32,
    slots: u64,
}

impl Claimed {
    /// Takes out the lowest slot.
    fn next(&mut self) -> Option<u32> {
        let lowest = self.slots.trailing_zeros();
        self.slots &= self.slots.wrapping_sub(1);
        (lowest < u64::BITS).then_some(self.word * WORD_BITS + lowest)
    }
}

impl EntityIndex {
    /// Claims all slots of a claim word, if all are free. Lock-free.
    ///
    /// # Errors
    /// [`Full`] if there is no such word, or no memory for it, nor for words behind it.
    pub(crate) fn claim_whole_word(
        &self,
        word: u32,
        lowest: &Lowest,
    ) -> Result<Option<Claimed>, Full> {
        if word >= WORDS {
            return Err(NONE_LEFT);
        }
        let slots = self.with_cache(|core, cache, tally| {
            if !core.open_to(word / WORDS_PER_BLOCK) {
                return None;
            }
            let lane = span::lane(word);
            let whole = core.claim_whole(tally, span::of(word), |seen| span::whole(seen) & lane);
            if whole != 0 {
                return Some(FULL);
            }
            let slots = core.claim_word(word);
            core.mark_later(cache, tally, span::of(word), lane);
            Some(slots)
        });
        let slots = slots.ok_or(NONE_LEFT)?;
        if slots != FULL {
            // Meanwhile others passed by it.
            self.give_claimed(&mut Claimed { word, slots }, lowest);
        }
        Ok((slots == FULL).then_some(Claimed { word, slots }))
    }

    /// Claims what is free of the first claim word from `from` on of which something is; the word. Lock-free;
    /// O(words that are passed by).
    fn claim_first(&self, from: u32) -> Result<Claimed, Full> {
        let mut word = from;
        while word < WORDS {
            let slots = self.with_cache(|core, cache, tally| {
                if !core.open_to(word / WORDS_PER_BLOCK) {
                    return None;
                }
                if core.taken(word) == FULL {
                    return Some(0);
                }
                let lane = span::lane(word);
                let whole =
                    core.claim_whole(tally, span::of(word), |seen| span::whole(seen) & lane);
                if whole != 0 {
                    return Some(FULL);
                }
                core.mark_later(cache, tally, span::of(word), lane);
                Some(core.claim_word(word))
            });
            let Some(slots) = slots else { break };
            if slots != 0 {
                return Ok(Claimed { word, slots });
            }
            word += 1;
        }
        Err(NONE_LEFT)
    }

    /// Gives slots back that were not used. Lock-free.
    pub(crate) fn give_claimed(&self, claimed: &mut Claimed, lowest: &Lowest) {
        if claimed.slots != 0 {
            self.release_claimed(claimed);
            if !mutant::active("claimed_untold") {
                lowest.freed(claimed.word);
            }
        }
    }

    fn release_claimed(&self, claimed: &mut Claimed) {
        let slots = core::mem::take(&mut claimed.slots);
        self.with_cache(|core, _, tally| core.release(tally, claimed.word, slots));
    }

    /// Creates an entity in the lowest of claimed slots; `None` if there is none left. Wait-free once the
    /// thread has a cache (its first call gets it one: lock-free).
    pub(crate) fn create_claimed(
        &self,
        claimed: &mut Claimed,
        place: Option<Place>,
    ) -> Option<Entity> {
        let index = claimed.next()?;
        Some(self.with_cache(|core, _, tally| {
            tally.add_created(1);
            // SAFETY: a slot that was claimed for this.
            unsafe { core.create_at(index, place) }
        }))
    }

    /// Creates an entity in the lowest free slot. Lock-free; O(words that are passed by).
    pub(crate) fn create_lowest(
        &self,
        lowest: &Lowest,
        place: Option<Place>,
    ) -> Result<Entity, Full> {
        let seen = lowest.seen();
        let mut claimed = match self.claim_first(seen.word()) {
            // Others have what is free behind it, and may have given something back before it.
            Err(_) if seen.word() > 0 => self.claim_first(0),
            claimed => claimed,
        }?;
        let created = self.create_claimed(&mut claimed, place);
        self.release_claimed(&mut claimed);
        lowest.found(seen, claimed.word);
        match created {
            Some(entity) => Ok(entity),
            None => unreachable!("a slot at least was claimed"),
        }
    }

    /// Destroys an entity as [`destroy_owned`](Self::destroy_owned) does, but its slot is everybody's at once;
    /// its claim word. Wait-free once the thread has a cache (else lock-free); the last versions of a slot go the usual
    /// way, which is lock-free.
    pub(crate) fn destroy_owned_at_once(&self, entity: Entity) -> u32 {
        let index = entity.index();
        let word = index / WORD_BITS;
        debug_assert!(self.exists(entity));
        if entity.version() > slot::LAST_VERSION - 4 {
            // The last versions of a slot go the usual way.
            let _ = self.destroy(entity);
            self.flush();
            return word;
        }
        if self.shared.core.has_slot(index) {
            self.with_cache(|core, _, tally| {
                // SAFETY: just checked.
                let slot = unsafe { core.slot(index) };
                // Ordering: Release, as in `Core::bury`.
                let order = mutant::ordering("owned_death_relaxed", Ordering::Release);
                slot.store(slot::dead(entity.version() + 2), order);
                tally.add_destroyed(1);
                core.release(tally, word, 1 << (index % WORD_BITS));
            });
        }
        word
    }

    /// The first claim word, among those that were ever used, of which a slot is free. O(words). Exact while nothing
    /// changes.
    pub(crate) fn first_free_word(&self) -> Option<u32> {
        let core = &self.shared.core;
        (0..core.opened() * WORDS_PER_BLOCK).find(|&word| core.taken(word) != FULL)
    }
}
