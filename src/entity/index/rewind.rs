//! Going back: the slots of a world that is alone in its ordered universe become what they were.
//!
//! It is the one exception to "a version is used once": who goes back takes back what has been since, and handles that were
//! given since are given again. So it is done by who owns each slot that it changes, and by nobody else: a slot is the
//! caller's if the caller has claimed it just now, or if its entity lies in the caller's world, which the caller has to
//! itself. Slots of others, reserved, recorded, in another world, or in the middle of a call, refuse it before anything
//! has changed. (That the phases of slots go with their versions, by compare-and-swaps that advance the generation, keeps
//! calls of other threads apart from all that: a group word never comes back.)
//!
//! In an ordered universe no thread keeps slots for itself: what nobody has is free by its claim bit.
//!
//! Orderings: slots that are claimed were acquired by that; what is stored is released by the store of the slot, and by
//! giving it back.

#[cfg(not(loom))]
use crate::entity::Entity;
use crate::entity::index::cache::{Cache, Tally};
use crate::entity::index::core::Core;
use crate::entity::index::group;
use crate::entity::index::lowest::Lowest;
use crate::entity::index::slot::{self, LAST_VERSION};
use crate::entity::{EntityIndex, Place};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::{FULL, GROUP_SLOTS, WORD_BITS, WORDS_PER_BLOCK};
use crate::sync::mutant;

/// The version of a slot that has retired.
const RETIRED: u32 = LAST_VERSION + 1;
const SLOTS_PER_WORD: usize = WORD_BITS as usize;

/// What stood in all slots, and which were taken.
#[derive(Debug, Default)]
pub(crate) struct SavedSlots {
    /// Slot words, by index.
    slots: Vec<u64>,
    /// For each claim word the slots that are not free.
    taken: Vec<u64>,
}

/// Claim words of which something is to change, with the slots that were claimed for that.
#[derive(Debug, Default)]
pub(crate) struct Rewind(Vec<(u32, u64)>);

impl SavedSlots {
    /// An entity that lived will be at another place when it comes back.
    #[cfg(not(loom))]
    pub(crate) fn set_place(&mut self, entity: Entity, place: Place) {
        if let Some(slot) = self.slots.get_mut(entity.index() as usize) {
            debug_assert!(slot::has_version_of(*slot, entity), "it lived");
            *slot = slot::pack(entity.version(), Some(place));
        }
    }

    /// What stood in a claim word's slots: nothing behind the last one that was used.
    fn of(&self, word: u32) -> Option<(&[u64; SLOTS_PER_WORD], u64)> {
        let (all, _) = self.slots.as_chunks();
        let at = word as usize;
        Some((all.get(at)?, *self.taken.get(at)?))
    }
}

impl EntityIndex {
    /// Copies all slots; `false` if some are others' than those of the `living` entities, which all live and are the
    /// caller's alone: then nothing that was copied is to be used. O(slots that were ever used).
    pub(crate) fn save_slots(&self, saved: &mut SavedSlots, living: usize) -> bool {
        let core = &self.shared.core;
        let words = used_words(core);
        let slots = words as usize * SLOTS_PER_WORD;
        saved.slots.clear();
        saved.slots.reserve(slots);
        saved.taken.clear();
        saved.taken.reserve(words as usize);
        let (mut alive, mut retired, mut taken) = (0_u64, 0_u64, 0_u64);
        for word in 0..words {
            let mask = core.taken(word);
            taken += u64::from(mask.count_ones());
            saved.taken.push(mask);
            // SAFETY: words below the last one that was used have their slots.
            let there = unsafe { core.slots(word * WORD_BITS, SLOTS_PER_WORD) };
            // Ordering: Relaxed: what is the caller's was written by it, or before it came to have the world; what is not is
            // counted, and refused.
            let copied = there.iter().map(|slot| slot.load(Ordering::Relaxed));
            let first = saved.slots.len();
            saved.slots.extend(copied);
            // Of the copy, many at a time.
            for &slot in &saved.slots[first..] {
                alive += slot >> 32 & 1;
                retired += u64::from(slot::version(slot) == RETIRED);
            }
        }
        alive == living as u64 && taken == alive + retired
    }

    /// Finds the slots that are not as they were, and makes sure that all of them are the caller's, who asks of places
    /// whether they are in its world; `false` if not: nothing is claimed then. O(slots that were ever used).
    pub(crate) fn begin_rewind(
        &self,
        saved: &SavedSlots,
        rewind: &mut Rewind,
        lowest: &Lowest,
        is_own: impl Fn(Place) -> bool,
    ) -> bool {
        debug_assert!(rewind.0.is_empty(), "one at a time");
        let begun = self.with_cache(|core, cache, tally| {
            let mut words = 0..used_words(core);
            words.all(|word| claim_changed(core, (cache, tally), saved, rewind, word, &is_own))
        });
        if !begun {
            self.abandon_rewind(rewind, lowest);
        }
        begun
    }

    /// Gives back what was claimed. Others may have passed by it meanwhile: those who look for the lowest are told.
    fn abandon_rewind(&self, rewind: &mut Rewind, lowest: &Lowest) {
        let first = rewind.0.first().map(|&(word, _)| word);
        self.with_cache(|core, _, tally| {
            for (word, claimed) in rewind.0.drain(..) {
                if !mutant::active("rewind_keeps_claims") {
                    core.release(tally, word, claimed);
                }
            }
        });
        if let Some(word) = first.filter(|_| !mutant::active("rewind_refused_untold")) {
            lowest.freed(word);
        }
    }

    /// Makes all slots what they were, and counts who lives.
    pub(crate) fn finish_rewind(&self, saved: &SavedSlots, rewind: &mut Rewind, lowest: &Lowest) {
        let mut first = None;
        self.with_cache(|core, _, tally| {
            for (word, _) in rewind.0.drain(..) {
                let (slots, taken) = saved.of(word).unwrap_or((&[0; SLOTS_PER_WORD], 0));
                rewind_word(core, tally, word, slots);
                core.release(tally, word, FULL & !taken);
                first = first.or(Some(word));
            }
        });
        if let Some(word) = first.filter(|_| !mutant::active("rewind_untold")) {
            lowest.freed(word);
        }
    }
}

/// Claim words that were ever claimed, all of open blocks.
#[cfg(not(loom))]
fn used_words(core: &Core) -> u32 {
    // Ordering: Relaxed: what the caller's entities lie in was claimed before it had them.
    let used = core.used.load(Ordering::Relaxed);
    used.min(core.opened() * WORDS_PER_BLOCK)
}

/// Claim words of open blocks: models do without more.
#[cfg(loom)]
fn used_words(core: &Core) -> u32 {
    core.opened() * WORDS_PER_BLOCK
}

/// Claims what is free of a claim word, if anything there is not as it was; `false` if something there is not the caller's.
fn claim_changed(
    core: &Core,
    (cache, tally): (&mut Cache, &Tally),
    saved: &SavedSlots,
    rewind: &mut Rewind,
    word: u32,
    is_own: &impl Fn(Place) -> bool,
) -> bool {
    // SAFETY: words below the last one that was used have their slots.
    let slots = unsafe { core.slots(word * WORD_BITS, SLOTS_PER_WORD) };
    let (before, taken) = saved.of(word).unwrap_or((&[0; SLOTS_PER_WORD], 0));
    // Ordering: Relaxed: slots of others that change meanwhile are seen as they were: they are not touched then.
    let is_same = |(slot, &before): (&crate::sync::atomic::AtomicU64, &u64)| {
        slot.load(Ordering::Relaxed) == before
    };
    if slots.iter().zip(before).all(is_same) && core.taken(word) == taken {
        return true;
    }
    let claimed = if mutant::active("rewind_looks_first") {
        let free = FULL & !core.taken(word);
        core.claim_all(cache, tally, word);
        free
    } else {
        core.claim_all(cache, tally, word)
    };
    rewind.0.push((word, claimed));
    slots
        .iter()
        .zip(before)
        .enumerate()
        .all(|(lane, (slot, &before))| {
            // Ordering: Relaxed: as above, and what was claimed was acquired.
            let now = slot.load(Ordering::Relaxed);
            match slot::version(now) {
                RETIRED => now == before,
                _ if claimed >> lane & 1 == 1 => slot::version(before) != RETIRED,
                version => {
                    let is_own = |place| mutant::active("rewind_owns_all") || is_own(place);
                    version % 2 == 1 && slot::place(now).is_some_and(is_own)
                }
            }
        })
}

/// Stores what stood in the slots of a claim word, all of them the caller's, and sets their phases.
fn rewind_word(core: &Core, tally: &Tally, word: u32, before: &[u64; SLOTS_PER_WORD]) {
    let first = word * WORD_BITS;
    let (mut come, mut gone) = (0, 0);
    for (number, before) in before.chunks(GROUP_SLOTS as usize).enumerate() {
        let first = first + number as u32 * GROUP_SLOTS;
        // SAFETY: slots of a word that was used.
        let slots = unsafe { core.slots(first, before.len()) };
        let phases = before
            .iter()
            .enumerate()
            .fold(0, |phases, (lane, &before)| {
                // Of the entity that lives, or of the next one, which has the same bit.
                phases | u64::from(slot::version(before) >> 1 & 1) << lane
            });
        if !mutant::active("rewind_keeps_phases") {
            set_phases(core, first, phases);
        }
        for (slot, &before) in slots.iter().zip(before) {
            // Ordering: Relaxed: nobody else changes it.
            let now = slot.load(Ordering::Relaxed);
            if now != before {
                gone += (now >> 32 & 1) as usize;
                come += (before >> 32 & 1) as usize;
                // Ordering: Release: who sees the entity sees what the caller did before.
                slot.store(
                    before,
                    mutant::ordering("rewind_relaxed", Ordering::Release),
                );
            }
        }
    }
    tally.add_created(come);
    tally.add_destroyed(gone);
}

/// Gives all slots of a group, which are the caller's, these phases. Lock-free.
fn set_phases(core: &Core, first: u32, phases: u64) {
    // SAFETY: callers pass slots that there are.
    let word = unsafe { core.group(first) };
    // Ordering: Relaxed, also on failure: the slots are the caller's, and their words are what others go by. Release of
    // the compare-and-swap: who finds a phase that was taken back finds the entities dead that had it since.
    let mut seen = word.load(Ordering::Relaxed);
    loop {
        let lanes = group::phases(seen) ^ phases;
        if lanes == 0 {
            return;
        }
        let then = group::after_death(seen, lanes);
        let order = mutant::ordering("rewind_phases_relaxed", Ordering::AcqRel);
        match word.compare_exchange_weak(seen, then, order, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => seen = now,
        }
    }
}
