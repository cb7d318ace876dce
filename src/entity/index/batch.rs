//! Many are created at once: a word of slots a claim. (How many die at once: `deaths`.)

use core::mem::MaybeUninit;

use crate::entity::index::cache::{Cache, Tally};
use crate::entity::index::core::{Core, Threads, create_in};
use crate::entity::index::span::{self, SPAN_WORDS};
use crate::entity::index::{deaths, wide};
use crate::entity::{Entity, Full, Place};
use crate::sync::geometry::{FULL, WORD_BITS};
use crate::sync::{mutant, probe};

/// Fewer are created in one word after the other.
const FEW: usize = if cfg!(loom) { 2 } else { 16 };
/// So many look for a word that is free in one piece in the whole block, before they take slots that are free singly: they
/// fill half of it.
const HALF: usize = WORD_BITS as usize / 2;
/// Words where slots are free singly of which so many are claimed before their slots are written.
const BROKEN: usize = if cfg!(loom) { 2 } else { 32 };

/// Creates `out.len()` entities, or none. With `first` they have places from the beginning: those of as many
/// neighbouring rows of one chunk number, in order.
#[inline]
pub(crate) fn create(
    core: &Core,
    threads: &Threads,
    cache: &mut Cache,
    tally: &Tally,
    out: &mut [MaybeUninit<Entity>],
    first: Option<Place>,
) -> Result<(), Full> {
    if let [entity] = &mut *out
        && let Some(index) = cache.take(tally)
    {
        // SAFETY: caches hold indices of slots.
        entity.write(unsafe { core.create_at(index, first) });
        return Ok(());
    }
    wide::expect(out);
    if !create_at_hand(core, cache, out, first) {
        create_all(core, threads, cache, tally, out, first)?;
    }
    tally.add_created(out.len());
    Ok(())
}

/// Creates a small batch that the next slots of the cache's word are enough for, side by side; else does nothing, and
/// says `false`.
#[inline(always)]
fn create_at_hand(
    core: &Core,
    cache: &mut Cache,
    out: &mut [MaybeUninit<Entity>],
    first: Option<Place>,
) -> bool {
    let lane = cache.mask.trailing_zeros() % WORD_BITS;
    let run = (cache.mask >> lane).trailing_ones() as usize;
    if out.is_empty() || out.len() > run {
        return false;
    }
    wide::create_run(core, cache.word * WORD_BITS + lane, out, first);
    cache.mask &= !(u64::MAX >> (64 - out.len()) << lane);
    if mutant::active("batch_forgets_surplus") {
        cache.mask = 0;
    }
    true
}

/// [`create`], but for the counting.
#[inline(never)]
fn create_all(
    core: &Core,
    threads: &Threads,
    cache: &mut Cache,
    tally: &Tally,
    out: &mut [MaybeUninit<Entity>],
    first: Option<Place>,
) -> Result<(), Full> {
    let mut filled = 0;
    while filled < out.len() {
        let missing = out.len() - filled;
        let place = further(first, filled);
        // What the thread has left of a word is for what does not fill words: a batch that begins
        // with a word is cheaper to make, and to destroy.
        let odd = if cache.mask == FULL {
            missing
        } else {
            missing % WORD_BITS as usize
        };
        if cache.mask != 0 && odd > 0 {
            filled += create_from_mask(core, cache, &mut out[filled..][..odd], place);
            continue;
        }
        if missing >= FEW || tally.kept() > 0 {
            let created = create_in_words(core, cache, tally, &mut out[filled..], place);
            if created > 0 {
                filled += created;
                continue;
            }
        }
        if cache.mask == 0
            && let Err(full) = core.refill(threads, cache, tally)
        {
            filled += create_from_magazine(core, cache, tally, &mut out[filled..], place);
            if filled == out.len() {
                break;
            }
            // SAFETY: so many were created, and their handles written.
            let created = unsafe { core::slice::from_raw_parts(out.as_ptr().cast(), filled) };
            give_back(core, cache, tally, created, first.is_some());
            return Err(full);
        }
        filled += create_from_mask(core, cache, &mut out[filled..], place);
    }
    Ok(())
}

/// Handles that are overwritten without being read.
///
/// # Safety
/// Nothing but handles is written.
#[inline(always)]
pub(crate) unsafe fn overwritten(handles: &mut [Entity]) -> &mut [MaybeUninit<Entity>] {
    let start = handles.as_mut_ptr().cast();
    // SAFETY: the same memory, borrowed as long; the caller sees to it that it holds handles afterwards.
    unsafe { core::slice::from_raw_parts_mut(start, handles.len()) }
}

/// The place that many rows further on.
#[inline(always)]
pub(crate) fn further(place: Option<Place>, rows: usize) -> Option<Place> {
    place.map(|place| place.further(rows as u32))
}

/// Creates as many as there are slots in the cache's word.
#[inline(always)]
fn create_from_mask(
    core: &Core,
    cache: &mut Cache,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) -> usize {
    let (filled, left) = create_in_word(core, cache.word, cache.mask, out, place);
    cache.mask = left;
    if mutant::active("batch_forgets_surplus") {
        cache.mask = 0;
    }
    filled
}

/// Takes words of one span that stand side by side, as many as `out` fills, or what is free singly (one that fills half a
/// word only if no word of the block is whole); how many entities were made. None if nothing is in hand and the hints know of no free slot, or others were quicker. No claimed word is
/// in hand, or `out` is a word long at least.
///
/// All claims before all stores: a read-modify-write waits until the stores before it are done.
fn create_in_words(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) -> usize {
    let Some(first) = core.candidate(cache, tally) else {
        return create_from_magazine(core, cache, tally, out, place);
    };
    // One more than needed is for the next calls, if the thread has nothing in hand.
    let wanted = out.len() / WORD_BITS as usize + usize::from(cache.mask == 0);
    // Entities that lie side by side are cheaper to make, and to destroy: holes are for single ones and small batches.
    let whole = if out.len() >= HALF {
        core.whole_in_block(first).unwrap_or(first)
    } else {
        first
    };
    let claimed = core.claim_whole(tally, span::of(whole), |seen| {
        span::run(span::whole(seen), span::lane(whole), wanted)
    });
    if claimed == 0 {
        // Slots in hand cost nothing.
        return match tally.kept() {
            0 => create_in_broken_words(core, cache, tally, first, out, place),
            _ => create_from_magazine(core, cache, tally, out, place),
        };
    }
    let words = (claimed / span::lane(whole)).trailing_ones();
    let slots = (words * WORD_BITS) as usize;
    let created = slots.min(out.len());
    wide::create_run(core, whole * WORD_BITS, &mut out[..created], place);
    if created < slots {
        let (word, lane) = (created as u32 / WORD_BITS, created as u32 % WORD_BITS);
        keep_surplus(cache, whole + word, FULL << lane & FULL);
    }
    created
}

/// The slots of a claimed word that a batch has left are for the next calls of the thread, which has no other in hand.
fn keep_surplus(cache: &mut Cache, word: u32, slots: u64) {
    debug_assert!(cache.mask == 0, "slots in hand would be lost");
    (cache.word, cache.mask) = (word, slots);
    if mutant::active("batch_forgets_surplus") {
        cache.mask = 0;
    }
}

/// `create_in_words` from `word` on, where slots are free singly.
#[inline(never)]
fn create_in_broken_words(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    word: u32,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) -> usize {
    let mut claimed = [(0, 0); BROKEN];
    let (mut count, mut room) = (0, out.len());
    let mut next = Some(word);
    'spans: while let Some(first) = next {
        let number = span::of(first);
        let mut lanes = core.broken_lanes(number) & span::lane(first).wrapping_neg();
        if lanes & span::lane(first) == 0 {
            // It is whole, or was emptied since.
            break;
        }
        while lanes != 0 {
            let lane = lanes & lanes.wrapping_neg();
            lanes ^= lane;
            let word = number * SPAN_WORDS + lane.trailing_zeros();
            probe::probed(1);
            core.mark_later(cache, tally, number, lane);
            let won = core.claim_word(word);
            if won == 0 {
                probe::failed_claim();
                continue;
            }
            core.expect_slot(word * WORD_BITS + won.trailing_zeros());
            claimed[count] = (word, won);
            count += 1;
            room = room.saturating_sub(won.count_ones() as usize);
            // A claim may bring a whole word of slots: those that are left have to have room in the cache.
            let has_room = cache.mask == 0 || mutant::active("batch_claims_past_its_hands");
            if count == BROKEN || room == 0 || !has_room && room < WORD_BITS as usize {
                break 'spans;
            }
        }
        next = core.candidate(cache, tally);
    }
    let mut filled = 0;
    for &(word, slots) in &claimed[..count] {
        let place = further(place, filled);
        let (created, left) = create_in_word(core, word, slots, &mut out[filled..], place);
        filled += created;
        if left != 0 && !mutant::active("batch_forgets_broken_surplus") {
            keep_surplus(cache, word, left);
        }
    }
    filled
}

/// Makes entities in the slots of the magazine that were freed last, as many as it has or `out` holds: in the order in
/// which they were freed, so that those that died in order come in order.
fn create_from_magazine(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) -> usize {
    let kept = cache.kept(tally);
    let (_, newest) = kept.split_at(kept.len().saturating_sub(out.len()));
    for (at, (entity, &index)) in out.iter_mut().zip(newest).enumerate() {
        // SAFETY: the cache holds indices of slots.
        entity.write(unsafe { core.create_at(index, further(place, at)) });
    }
    let made = newest.len();
    tally.forget_kept(made);
    made
}

/// The ids of a call that failed die at once. Another thread cannot have been told of them, but it may have
/// guessed a handle. If it destroyed the entity, that is no less dead. If it built one that had no place, it
/// is welcome to it: whoever builds an entity relies on it.
#[cold]
fn give_back(core: &Core, cache: &mut Cache, tally: &Tally, created: &[Entity], placed: bool) {
    tally.add_created(created.len());
    if mutant::active("failed_batch_keeps_ids") {
        return;
    }
    // Nobody builds what has a place.
    let lost = |&entity: &Entity| {
        !placed
            && !mutant::active("failed_batch_takes_built")
            && core.relocate(entity, None, Some(Place::LEAVING)) != Ok(Ok(()))
    };
    for run in created.split(lost) {
        let _ = deaths::destroy(core, cache, tally, run);
    }
}

/// Makes entities in the lowest of the claimed `slots` of a word, in index order, as many as `out` holds; how many,
/// and the slots that are left.
#[inline(always)]
pub(super) fn create_in_word(
    core: &Core,
    word: u32,
    slots: u64,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) -> (usize, u64) {
    let mut left = slots;
    let mut filled = 0;
    while left != 0 && filled < out.len() {
        let lane = left.trailing_zeros();
        let run = ((left >> lane).trailing_ones() as usize).min(out.len() - filled);
        if run < wide::SHORTEST {
            // One by one, without a call for each of many short runs.
            // SAFETY: the slots of a claimed word.
            let slot = unsafe { core.slot(word * WORD_BITS + lane) };
            let place = further(place, filled);
            out[filled].write(create_in(slot, word * WORD_BITS + lane, place));
            filled += 1;
            left &= left - 1;
            continue;
        }
        wide::create_run(
            core,
            word * WORD_BITS + lane,
            &mut out[filled..filled + run],
            further(place, filled),
        );
        filled += run;
        left &= !((u64::MAX >> (64 - run)) << lane);
    }
    (filled, left)
}
