//! Many at once: a word of slots a claim, a group of slots a death.

use crate::entity::index::cache::{Cache, Tally};
use crate::entity::index::core::Core;
use crate::entity::index::{group, slot, store};
use crate::entity::{DestroyReport, Entity, Full};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::{GROUP_SLOTS, SLOTS, WORD_BITS};
use crate::sync::{mutant, probe};

/// Creates `out.len()` entities, or none.
pub(crate) fn create(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    out: &mut [Entity],
) -> Result<(), Full> {
    let mut filled = 0;
    while filled < out.len() {
        if cache.mask == 0
            && let Err(full) = core.refill(cache)
        {
            filled += create_from_magazine(core, cache, &mut out[filled..]);
            if filled == out.len() {
                break;
            }
            give_back(core, cache, tally, &out[..filled]);
            return Err(full);
        }
        let slots = lowest(cache.mask, out.len() - filled);
        cache.mask &= !slots;
        filled += create_in_word(core, cache.word, slots, &mut out[filled..]);
    }
    tally.add_live(out.len() as u64);
    Ok(())
}

/// The magazine's slots come last: they are for single creations.
fn create_from_magazine(core: &Core, cache: &mut Cache, out: &mut [Entity]) -> usize {
    let mut filled = 0;
    for entity in out {
        let Some(index) = cache.take() else { break };
        // SAFETY: the cache holds indices of slots.
        *entity = unsafe { core.create_at(index) };
        filled += 1;
    }
    filled
}

/// The ids of a call that failed die at once. (Another thread cannot have been told of them; if
/// one guessed a handle and destroyed it, that is no less dead.)
#[cold]
fn give_back(core: &Core, cache: &mut Cache, tally: &Tally, created: &[Entity]) {
    tally.add_live(created.len() as u64);
    let _ = destroy(core, cache, tally, created);
}

/// The `count` lowest bits of `mask`, or all of them.
fn lowest(mask: u64, count: usize) -> u64 {
    if mask.count_ones() as usize <= count {
        return mask;
    }
    // The shortest prefix that holds `count` of the bits, by halving.
    let mut bits = 0;
    let mut step = WORD_BITS / 2;
    while step > 0 {
        let longer = bits + step;
        if (mask & ((1 << longer) - 1)).count_ones() as usize <= count {
            bits = longer;
        }
        step /= 2;
    }
    mask & ((1 << bits) - 1)
}

/// Makes an entity in each of the claimed `slots` of a word, in index order; how many.
fn create_in_word(core: &Core, word: u32, slots: u64, out: &mut [Entity]) -> usize {
    let mut left = slots;
    let mut filled = 0;
    while left != 0 {
        let lane = left.trailing_zeros();
        let run = (left >> lane).trailing_ones();
        store::create_run(
            core,
            word * WORD_BITS + lane,
            &mut out[filled..filled + run as usize],
        );
        filled += run as usize;
        left &= !((u64::MAX >> (64 - run)) << lane);
    }
    filled
}

/// Destroys each of `entities` that is alive; the others are reported.
pub(crate) fn destroy(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    entities: &[Entity],
) -> DestroyReport {
    let mut report = DestroyReport::default();
    // Freed slots of one word, not given back yet.
    let (mut word, mut freed) = (0, 0);
    let mut at = 0;
    while at < entities.len() {
        let died = kill_group(core, &entities[at..]);
        if died.count == 0 {
            report.refused.push((at, core.refuse(entities[at])));
            at += 1;
            continue;
        }
        let index = entities[at].index();
        let group_word = index / WORD_BITS;
        if group_word != word {
            core.stow(cache, word, freed);
            (word, freed) = (group_word, 0);
        }
        freed |= died.freed << (index / GROUP_SLOTS * GROUP_SLOTS % WORD_BITS);
        if died.retired > 0 {
            tally.add_retired(died.retired);
        }
        report.destroyed += died.count;
        at += died.count;
    }
    core.stow(cache, word, freed);
    tally.add_live((report.destroyed as u64).wrapping_neg());
    report
}

/// What died together.
struct Died {
    /// Entities, from the first of the slice on; 0 if that one is not alive.
    count: usize,
    /// Their slots in the group that can be used again.
    freed: u64,
    /// Slots that cannot.
    retired: u64,
}

/// Destroys the first entities of a slice, as many as lie in one group, live, and are different:
/// one compare-and-swap, so they die together.
///
/// Lock-free: a retry means that another entity of the group died.
#[inline]
fn kill_group(core: &Core, entities: &[Entity]) -> Died {
    let nothing = Died {
        count: 0,
        freed: 0,
        retired: 0,
    };
    let first = entities[0].index();
    if first >= SLOTS {
        return nothing;
    }
    let number = first / GROUP_SLOTS;
    // SAFETY: just checked.
    let group = unsafe { core.group(first) };
    // Ordering: as in `Core::kill`.
    let mut phases = group.load(Ordering::Acquire);
    loop {
        let (mut lanes, mut retired, mut count) = (0_u64, 0_u64, 0);
        for entity in entities {
            let index = entity.index();
            let lane = index % GROUP_SLOTS;
            if index / GROUP_SLOTS != number || lanes >> lane & 1 == 1 {
                break;
            }
            // SAFETY: in the same group as `first`.
            let version = slot::version(unsafe { core.slot(index) }.load(Ordering::Relaxed));
            if version != entity.version() || !group::in_phase(phases, lane, version) {
                break;
            }
            lanes |= 1 << lane;
            retired |= u64::from(version == slot::LAST_VERSION) << lane;
            count += 1;
        }
        if count == 0 {
            return nothing;
        }
        let dead = group::after_death(phases, lanes);
        match group.compare_exchange_weak(phases, dead, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                if mutant::active("batch_reuses_retired") {
                    retired = 0;
                }
                return Died {
                    count,
                    freed: lanes & !retired,
                    retired: retired.count_ones().into(),
                };
            }
            Err(now) => {
                probe::failed_claim();
                phases = now;
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_bits_of_a_mask_are_as_many_as_asked_for() {
        for mask in [
            0,
            1,
            u64::MAX,
            0xaaaa_aaaa_aaaa_aaaa,
            1 << 63,
            0xffff_0000_ffff_0000,
        ] {
            for count in 0..=64 {
                let low = lowest(mask, count);
                assert_eq!(low.count_ones(), mask.count_ones().min(count as u32));
                assert_eq!(low & !mask, 0);
                let rest = mask & !low;
                assert!(rest == 0 || low == 0 || rest.trailing_zeros() > 63 - low.leading_zeros());
            }
        }
    }
}
