//! How entities of a world die that are named in no order: one after the other they are buried, where they are
//! looked up, and their slots go back together when the world has closed the gaps.
//!
//! Like [`destroy_owned`](EntityIndex::destroy_owned) it is for entities that nobody else destroys, changes or
//! builds meanwhile: they lie in a world that the caller has to itself.

use crate::entity::index::cache::Tally;
use crate::entity::index::core::Core;
use crate::entity::index::freed::Freed;
use crate::entity::index::slot;
use crate::entity::{Entity, EntityIndex};
use crate::sync::geometry::WORD_BITS;
use crate::sync::mutant;

/// A table of claim words is worth its memory if it has at most this many for each slot.
const SPARSEST: usize = 2;
/// How many slots ahead claim words are asked for.
const AHEAD: usize = 16;
/// Of so many slots it is looked at whether some are of one word.
const SAMPLE: usize = 64;

/// Slots of entities that have been buried, on their way back. Those that are not
/// [freed](EntityIndex::free_owned) stay taken for ever.
#[derive(Debug, Default)]
pub(crate) struct Buried(Vec<u32>);

impl Buried {
    pub(crate) fn with_capacity(entities: usize) -> Self {
        Self(Vec::with_capacity(entities))
    }
}

impl EntityIndex {
    /// Makes an entity dead, for good; its slot stays taken until [`free_owned`](Self::free_owned). `false` if it went
    /// the usual way: then the thread's cache may have the slot.
    #[inline(always)]
    pub(crate) fn bury_owned(&self, entity: Entity, buried: &mut Buried) -> bool {
        debug_assert!(self.exists(entity));
        let core = &self.shared.core;
        if slot::is_among_last(entity.version()) || !core.has_slot(entity.index()) {
            // The last versions of a slot go the usual way.
            let _ = self.destroy(entity);
            return false;
        }
        // SAFETY: just checked.
        unsafe { core.bury_owned(entity) };
        buried.0.push(entity.index());
        true
    }

    /// Gives the slots of buried entities back. Lock-free, two read-modify-writes for 64 neighbours (two for one slot,
    /// where hardly two of many are of one claim word).
    ///
    /// Takes a word of memory for each claim word between the lowest slot and the highest, unless they lie far apart.
    pub(crate) fn free_owned(&self, buried: Buried) {
        self.with_cache(|core, cache, tally| {
            // From the first slot given back to the last hint.
            let _lag = (!mutant::active("owned_lag_not_said")).then(|| tally.lag.begin());
            give_back(core, Freed::new(core, cache), tally, buried);
        });
    }

    /// The same, but the thread keeps none of the slots: they are everybody's at once; their lowest claim word.
    pub(crate) fn free_owned_at_once(&self, buried: Buried) -> Option<u32> {
        self.with_cache(|core, cache, tally| {
            // As above.
            let _lag = (!mutant::active("owned_lag_not_said")).then(|| tally.lag.begin());
            give_back(core, Freed::at_once(core, cache), tally, buried)
        })
    }
}

/// Gives slots back, and counts the deaths; the lowest claim word, if there are any.
#[inline(always)]
fn give_back<const KEEPS: bool>(
    core: &Core,
    mut freed: Freed<'_, KEEPS>,
    tally: &Tally,
    buried: Buried,
) -> Option<u32> {
    let mut slots = buried.0;
    let words = || slots.iter().map(|slot| slot / WORD_BITS);
    let (lowest, highest) = (words().min()?, words().max()?);
    let count = slots.len();
    let words = (highest - lowest) as usize + 1;
    if words <= slots.len() * SPARSEST {
        let mut masks = vec![0_u64; words];
        for slot in slots {
            masks[(slot / WORD_BITS - lowest) as usize] |= 1 << (slot % WORD_BITS);
        }
        for (word, mask) in (lowest..).zip(masks) {
            if mask != 0 {
                freed.add_word(word, mask);
            }
        }
    } else {
        if slots.len() < 4 * SAMPLE || are_close(&slots) {
            slots.sort_unstable();
        }
        let mut at = 0;
        for (word, mask) in by_word(&slots) {
            at += mask.count_ones() as usize;
            if let Some(&later) = slots.get(at + AHEAD) {
                core.expect_claims(later / WORD_BITS);
            }
            freed.add_word(word, mask);
        }
    }
    freed.finish();
    tally.add_destroyed(count);
    Some(lowest)
}

/// Whether so many of a sample are of one word with another that to sort them all costs less than it saves. (There can
/// be one slot far from all others.)
fn are_close(slots: &[u32]) -> bool {
    let mut sample = [0; SAMPLE];
    let step = slots.len() / SAMPLE;
    for (word, slot) in sample.iter_mut().zip(slots.iter().step_by(step.max(1))) {
        *word = slot / WORD_BITS;
    }
    sample.sort_unstable();
    sample.windows(2).filter(|two| two[0] == two[1]).count() > 2
}

/// The claim words of slots, and of each the slots that stand side by side; of slots that are sorted, all.
fn by_word(slots: &[u32]) -> impl Iterator<Item = (u32, u64)> {
    let words = slots.chunk_by(|a, b| a / WORD_BITS == b / WORD_BITS);
    words.map(|word| {
        let bits = word.iter().map(|slot| 1 << (slot % WORD_BITS));
        (word[0] / WORD_BITS, bits.fold(0, |mask, bit| mask | bit))
    })
}
