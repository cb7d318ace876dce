//! What a snapshot needs of the index: the versions of all slots, and a fresh index that has them.
//!
//! Orderings: what fills a fresh index is relaxed: nobody else is there, and whoever comes is sent by the caller.

use crate::entity::index::NONE_LEFT;
use crate::entity::index::core::Core;
use crate::entity::index::slot::{self, LAST_VERSION};
use crate::entity::index::span::{self, CLOSED, SPAN_WORDS};
use crate::entity::{EntityIndex, Full};
use crate::sync::atomic::Ordering;
#[cfg(not(loom))]
use crate::sync::geometry::WORDS_PER_BLOCK;
use crate::sync::geometry::{BLOCK_SLOTS, FULL, GROUP_SLOTS, WORD_BITS};

/// The version of a slot that has retired.
const RETIRED: u32 = LAST_VERSION + 1;

impl EntityIndex {
    /// Slots that can have had an entity: those from here on never had.
    pub(crate) fn slots_used(&self) -> u32 {
        self.shared.core.opened() * BLOCK_SLOTS
    }

    /// The version that stands in a slot below [`slots_used`](Self::slots_used): odd if its entity lives, else
    /// even. Wait-free, one load.
    pub(crate) fn slot_version(&self, index: u32) -> u32 {
        let core = &self.shared.core;
        assert!(core.has_slot(index), "no slot {index}");
        // SAFETY: just checked.
        let slot = unsafe { core.slot(index) };
        // Ordering: Acquire, as in `Core::living`.
        slot::version(slot.load(Ordering::Acquire))
    }

    /// Whether a slot can have stood at this version.
    pub(crate) fn is_version(version: u32) -> bool {
        version <= RETIRED
    }

    /// Whether nobody ever asked for an entity here: every word is zero, and every thread's cache is empty.
    pub(crate) fn is_fresh(&self) -> bool {
        self.shared.core.opened() == 0
    }

    /// Gives the slots of a fresh index a past, from slot 0 on: a slot with an odd version has a living entity
    /// of that version without a place, one with an even version is free, or has retired. O(slots).
    ///
    /// `&mut`: no other call is in progress. Threads that have been here have an empty cache, because the
    /// index is fresh, and change nothing when they end.
    ///
    /// # Errors
    /// The system has no memory for so many slots; nothing has changed then.
    ///
    /// # Panics
    /// If the index is not fresh, or has not so many slots, or no slot can have such a version.
    pub(crate) fn restore(&mut self, versions: &[u32]) -> Result<(), Full> {
        assert!(self.is_fresh(), "only a fresh index has no past");
        assert!(versions.len() <= Self::CAPACITY, "as many slots as it has");
        assert!(versions.iter().all(|&version| Self::is_version(version)));
        let blocks = versions.len().div_ceil(BLOCK_SLOTS as usize);
        if blocks > 0 && !self.shared.core.open_to(blocks as u32 - 1) {
            return Err(NONE_LEFT);
        }
        let of_span = (SPAN_WORDS * WORD_BITS) as usize;
        for (number, versions) in versions.chunks(of_span).enumerate() {
            restore_span(&self.shared.core, number as u32, versions);
        }
        let live = versions.iter().filter(|&version| version % 2 == 1).count();
        let retired = versions
            .iter()
            .filter(|&&version| version == RETIRED)
            .count();
        #[cfg(not(loom))]
        {
            let words = blocks as u32 * WORDS_PER_BLOCK;
            self.shared.core.used.store(words, Ordering::Relaxed);
        }
        self.with_cache(|_, _, tally| {
            tally.add_created(live);
            tally.add_retired(retired as u64);
        });
        Ok(())
    }
}

/// Sets the slots of a span, and its words: claim words of which all slots are free are whole.
fn restore_span(core: &Core, number: u32, versions: &[u32]) {
    let (mut broken, mut closed) = (0, 0);
    for (lane, versions) in versions.chunks(WORD_BITS as usize).enumerate() {
        let free = restore_word(core, number * SPAN_WORDS + lane as u32, versions);
        broken |= u64::from(free != FULL) << lane;
        closed |= u64::from(free == 0) << lane;
    }
    let word = broken | span::closed(closed);
    // SAFETY: the caller has as many slots as versions.
    unsafe { core.span(number) }.store(word, Ordering::Relaxed);
    if word == CLOSED {
        core.summary.mark_full(number as usize, || true);
    }
}

/// Sets the slots of a claim word, their group words, and the claim word, unless it is whole; the slots that
/// are free.
fn restore_word(core: &Core, word: u32, versions: &[u32]) -> u64 {
    let first = word * WORD_BITS;
    let mut free = FULL;
    for (lane, &version) in versions.iter().enumerate() {
        // SAFETY: the caller has as many slots as versions, and their blocks are committed.
        let slot = unsafe { core.slot(first + lane as u32) };
        slot.store(slot::pack(version, None), Ordering::Relaxed);
        free &= !(u64::from(version % 2 == 1 || version == RETIRED) << lane);
    }
    for (group, versions) in versions.chunks(GROUP_SLOTS as usize).enumerate() {
        // The phase of the living entity's version, or of the next one's, which has the same bit 1.
        let phases = versions
            .iter()
            .enumerate()
            .fold(0, |phases, (lane, version)| {
                phases | u64::from(version >> 1 & 1) << lane
            });
        // SAFETY: as above.
        let word = unsafe { core.group(first + group as u32 * GROUP_SLOTS) };
        word.store(phases, Ordering::Relaxed);
    }
    if free != FULL {
        // SAFETY: as above.
        unsafe { core.claims(word) }.store(free, Ordering::Relaxed);
    }
    free
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::{Entity, EntityFault};

    #[test]
    fn a_restored_index_has_the_living_the_dead_and_the_retired_of_the_old_one() {
        let versions = [1, 2, 0, 7, 4, LAST_VERSION, RETIRED, 6];
        let mut index = EntityIndex::new();
        index.restore(&versions).unwrap();
        assert_eq!((index.count(), index.retired()), (3, 1));
        for (slot, version) in [(0, 1), (3, 7), (5, LAST_VERSION)] {
            let entity = Entity::new(slot, version).unwrap();
            assert!(index.exists(entity), "{entity}");
            assert_eq!(index.locate(entity).unwrap(), None);
        }
        let dead = Entity::new(1, 1).unwrap();
        assert_eq!(
            index.destroy(dead).unwrap_err().fault,
            EntityFault::Destroyed
        );
        for slot in [0, 3, 5] {
            let entity = index.at(slot).unwrap();
            index.destroy(entity).unwrap();
            assert!(!index.exists(entity));
        }
        assert_eq!((index.count(), index.retired()), (0, 2));
    }

    #[test]
    fn a_restored_index_gives_every_free_slot_its_next_version_and_no_other() {
        let versions: Vec<u32> = (0..20_000).map(|slot| slot % 5).collect();
        let mut index = EntityIndex::new();
        index.restore(&versions).unwrap();
        let free = versions.iter().filter(|&version| version % 2 == 0).count();
        // Up to the end of the last block.
        let rest = 3 * BLOCK_SLOTS as usize - versions.len();
        let mut created = vec![Entity::PLACEHOLDER; free + rest];
        index.create_slice(&mut created).unwrap();
        assert_eq!(index.blocks(), 3);
        for entity in &created {
            let before = versions.get(entity.index() as usize).copied().unwrap_or(0);
            assert_eq!((before % 2, entity.version()), (0, before + 1));
        }
        assert!(index.destroy_slice(&created).is_clean());
        let old: Vec<Entity> = index.iter().collect();
        assert_eq!(old.len(), versions.len() - free);
        assert!(index.destroy_slice(&old).is_clean());
        assert!(index.is_empty());
    }

    #[test]
    #[should_panic(expected = "only a fresh index")]
    fn an_index_that_was_used_is_not_restored() {
        let mut index = EntityIndex::new();
        let entity = index.create().unwrap();
        index.destroy(entity).unwrap();
        let _ = index.restore(&[1]);
    }
}
