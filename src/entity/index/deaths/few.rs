//! A few die at once: most of them side by side, as they were born, or in order with gaps between them; else one by one.
//!
//! Their slots are looked at one by one. Who looks at four at once waits if they were written just now, singly: a
//! processor hands on what is still on its way to memory only to a load that it covers. And of a few handles nothing
//! has to be laid out.

use crate::entity::Entity;
use crate::entity::index::cache::{Cache, Tally};
use crate::entity::index::core::Core;
use crate::entity::index::deaths::FEWEST;
use crate::entity::index::{group, slot};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::geometry::{GROUP_SLOTS, WORD_BITS};
use crate::sync::{mutant, probe};

/// Handles that are few.
const MOST: usize = 2 * GROUP_SLOTS as usize;
/// So many may stand in no order: to lay them out would take longer than a death for each change of group.
const MOST_IN_NO_ORDER: usize = 10;

/// If they stand in order, it may be so many slots from one to the next, on average: then some are of one group.
const WIDEST: usize = GROUP_SLOTS as usize / 2;
/// Of so many no table is made if they lie far apart, it seems.
const MOST_APART: usize = 2 * FEWEST;

/// Whether handles are few, and lie close to each other, it seems. (In models only if there are none: they ask for what
/// is done with a few by name, see `model`.)
#[inline(always)]
pub(super) fn are_some(entities: &[Entity]) -> bool {
    let (Some(first), Some(last)) = (entities.first(), entities.last()) else {
        return true;
    };
    let count = entities.len();
    !cfg!(loom)
        && count <= MOST
        && (first.index().abs_diff(last.index()) as usize) < 2 * count
        && (count <= MOST_IN_NO_ORDER || entities[0].index().abs_diff(entities[1].index()) == 1)
}

/// Whether handles are few, and ascend with gaps between them that let a claim word serve several. (Never in models: see
/// [`are_some`].)
#[inline(always)]
pub(super) fn are_in_order(entities: &[Entity]) -> bool {
    let (Some(first), Some(last)) = (entities.first(), entities.last()) else {
        return false;
    };
    let count = entities.len();
    !cfg!(loom)
        && count <= MOST
        && (last.index().wrapping_sub(first.index()) as usize) <= WIDEST * (count - 1)
        && entities.is_sorted_by(|a, b| a.index() < b.index())
}

/// Whether handles that are not [some](are_some) are few, and not close to each other, it seems. (Never in models: they
/// know single deaths.)
#[inline(always)]
pub(super) fn lie_apart(entities: &[Entity]) -> bool {
    let word = |entity: &Entity| entity.index() / WORD_BITS;
    !cfg!(loom)
        && (entities.len() < FEWEST
            || entities.len() <= MOST_APART
                && entities[..FEWEST].windows(3).all(|three| {
                    let [a, b, c] = [&three[0], &three[1], &three[2]].map(word);
                    a != b && b != c && a != c
                }))
}

/// Destroys the first entities of a few that lie far apart, one by one, as many as live, and counts their deaths; how
/// many those are. Lock-free.
#[inline(never)]
pub(super) fn destroy_apart(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    entities: &[Entity],
) -> usize {
    entities.iter().for_each(|&entity| core.expect(entity));
    let alive = |&&entity: &&Entity| destroy_one(core, cache, tally, entity) == 1;
    entities.iter().take_while(alive).count()
}

/// Destroys the first entities of [some](are_some), or of those that [are in order](are_in_order), as many as live, and counts their deaths; how many those are.
/// Lock-free.
#[inline(never)]
pub(in crate::entity::index) fn destroy(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    entities: &[Entity],
) -> usize {
    if let &[entity] = entities {
        return destroy_one(core, cache, tally, entity);
    }
    let (mut word, mut slots) = (0, 0);
    let mut died = 0;
    while let Some(siblings) = Siblings::first_of(core, &entities[died..]) {
        if !siblings.die() {
            break;
        }
        died += siblings.handles.len();
        if siblings.word() != word {
            pass_on(core, cache, tally, word, core::mem::take(&mut slots));
            word = siblings.word();
        }
        slots |= siblings.lanes << (siblings.number * GROUP_SLOTS % WORD_BITS);
    }
    pass_on(core, cache, tally, word, slots);
    tally.add_destroyed(died);
    died
}

/// As a single death, without a batch around it.
#[inline(always)]
fn destroy_one(core: &Core, cache: &mut Cache, tally: &Tally, entity: Entity) -> usize {
    if !core.try_kill(entity) {
        return 0;
    }
    core.pass_on(cache, tally, entity);
    1
}

/// Keeps slots of those that died, if they are of the word that the cache has; else gives them back.
#[inline(always)]
fn pass_on(core: &Core, cache: &mut Cache, tally: &Tally, word: u32, slots: u64) {
    if slots != 0 && !cache.stow(word, slots) {
        core.release(tally, word, slots);
    }
}

/// Entities of one group that are to die together.
pub(super) struct Siblings<'a> {
    /// The group's number.
    pub(super) number: u32,
    group: &'a AtomicU64,
    /// All slot words of the group.
    slots: &'a [AtomicU64],
    /// The group word, from before the slots were looked at.
    seen: u64,
    pub(super) handles: &'a [Entity],
    /// Their slots.
    pub(super) lanes: u64,
}

impl<'a> Siblings<'a> {
    /// The first handles of a slice, as far as they are of one group, differ, live, and are not the last of their slots.
    #[inline(always)]
    pub(super) fn first_of(core: &'a Core, entities: &'a [Entity]) -> Option<Self> {
        let first = entities.first()?.index();
        if !core.has_slot(first) {
            return None;
        }
        let number = first / GROUP_SLOTS;
        // SAFETY: just checked; a block has whole groups.
        let (group, slots) = unsafe {
            let slots = core.slots(number * GROUP_SLOTS, GROUP_SLOTS as usize);
            (core.group(first), slots)
        };
        // Ordering: as in `Core::kill`; before the slots are looked at.
        let seen = group.load(mutant::ordering("few_relaxed", Ordering::Acquire));
        let mut lanes = 0;
        let mut count = 0;
        for &entity in entities {
            let lane = entity.index() % GROUP_SLOTS;
            if entity.index() / GROUP_SLOTS != number || lanes >> lane & 1 != 0 {
                break;
            }
            // Ordering: as in `Core::kill`.
            let word = slots[lane as usize].load(Ordering::Relaxed);
            let lives = slot::has_version_of(word, entity)
                && (group::in_phase(seen, lane, entity.version())
                    || mutant::active("few_ignores_phase"));
            let retires = entity.version() == slot::LAST_VERSION;
            if !lives || retires && !mutant::active("few_no_retire") {
                break;
            }
            lanes |= 1 << lane;
            count += 1;
        }
        (count > 0).then_some(Self {
            number,
            group,
            slots,
            seen,
            handles: &entities[..count],
            lanes,
        })
    }

    /// The claim word that their slots are of.
    #[inline(always)]
    fn word(&self) -> u32 {
        self.number / (WORD_BITS / GROUP_SLOTS)
    }

    /// Condemns and buries them; `false`, and nothing is done, if somebody destroys in their group, too.
    #[inline(always)]
    pub(super) fn die(&self) -> bool {
        let condemned = self.condemn();
        if condemned {
            self.bury();
        }
        condemned
    }

    /// Flips their phases, if the group's word is still what it was.
    #[inline(always)]
    fn condemn(&self) -> bool {
        let dead = if mutant::active("few_no_generation") {
            self.seen ^ self.lanes
        } else {
            group::after_death(self.seen, self.lanes)
        };
        // Ordering: as in `Core::kill`.
        let order = mutant::ordering("few_release", Ordering::AcqRel);
        let condemned = self
            .group
            .compare_exchange(self.seen, dead, order, Ordering::Relaxed)
            .is_ok();
        if !condemned {
            // Somebody destroys there too.
            probe::failed_claim();
        }
        condemned
    }

    /// Makes their slot words even, after they were condemned.
    #[inline(always)]
    fn bury(&self) {
        for entity in self.handles {
            let slot = &self.slots[(entity.index() % GROUP_SLOTS) as usize];
            // Ordering: as in `Core::bury`.
            let order = mutant::ordering("few_bury_relaxed", Ordering::Release);
            slot.store(slot::dead(entity.version()), order);
        }
    }
}
