//! Ids in an order that does not depend on threads: for worlds that are to be the same, bit for bit, for any
//! number of them.
//!
//! Nothing here uses threads' caches: a free slot is free for everybody, and whoever creates says which
//! claim word it takes from. A creation costs one read-modify-write as long as slots of the word that holds the lowest are
//! free, which is not told to anybody; a death costs two, up to four where it is the first in its word, and both a few more
//! where hints of whole spans change; in a batch one or two for each claim word.
//!
//! A search for the lowest free slot passes by what hints say is full, as long as no other thread's hints lag: then
//! they hide nothing that was given back before the search (see `Lag`, and papers/entity-index.md). Else it looks at
//! each claim word. Either way it comes to the same one.

use core::mem::MaybeUninit;

use crate::entity::index::batch::{create_in_word, further};
use crate::entity::index::cache::{Cache, Tally};
use crate::entity::index::core::Core;
use crate::entity::index::lowest::{Lowest, Seen};
use crate::entity::index::span::{self, SPAN_WORDS};
use crate::entity::index::{NONE_LEFT, slot};
use crate::entity::{Entity, EntityIndex, Full, Place};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::{FULL, WORD_BITS, WORDS, WORDS_PER_BLOCK};
use crate::sync::{mutant, probe};

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
            let there = core.open_to(word / WORDS_PER_BLOCK);
            there.then(|| core.claim_all(cache, tally, word))
        });
        let slots = slots.ok_or(NONE_LEFT)?;
        if slots != FULL {
            // Meanwhile others passed by it.
            self.give_claimed(&mut Claimed { word, slots }, lowest);
        }
        Ok((slots == FULL).then_some(Claimed { word, slots }))
    }

    /// Claims what is free of the first claim word from `from` on of which something is; the word. Lock-free; looks at
    /// a few words, or at all that are passed by while other threads' hints lag.
    fn claim_first(&self, from: u32) -> Result<Claimed, Full> {
        let mut word = from;
        // Words before this one are looked at one by one.
        let mut hinted = from;
        while word < WORDS {
            let slots = self.with_cache(|core, cache, tally| {
                let there = core.open_to(word / WORDS_PER_BLOCK);
                there.then(|| core.claim_if_free(cache, tally, word))
            });
            let Some(slots) = slots else { break };
            if slots != 0 {
                return Ok(Claimed { word, slots });
            }
            word += 1;
            if word >= hinted {
                match self.pass_by_full(word) {
                    Some(open) => word = open,
                    // Those of a span; then hints are asked again.
                    None => hinted = (span::of(word) + 1) * SPAN_WORDS,
                }
            }
        }
        Err(NONE_LEFT)
    }

    /// The first claim word from `from` on that hints do not say is full; `WORDS` if there is none. `None` if they may
    /// lag behind what another thread has done, so that a word that is passed by might have a free slot. Lock-free;
    /// O(threads and sessions) and a few loads.
    #[cold]
    fn pass_by_full(&self, from: u32) -> Option<u32> {
        self.with_cache(|core, _, tally| {
            let threads = &self.shared.registry;
            let before = threads.quiet(tally);
            if before.is_none() && !mutant::active("lowest_believes_hints") {
                return None;
            }
            let open = core.find_from(tally, from).unwrap_or(WORDS);
            let quiet = threads.quiet(tally) == before;
            let believed = mutant::active("lowest_believes_hints")
                || mutant::active("lowest_quiet_not_compared");
            (quiet || believed).then_some(open)
        })
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

    /// Creates an entity in the lowest free slot. Lock-free; one read-modify-write where a slot is free singly in the claim
    /// word from which on it is looked for. Else O(threads and sessions), or O(words that are passed by) while other
    /// threads' hints lag.
    #[inline]
    pub(crate) fn create_lowest(
        &self,
        lowest: &Lowest,
        place: Option<Place>,
    ) -> Result<Entity, Full> {
        let seen = lowest.seen();
        // Nobody is to be told: nothing is given back, and what lies before the word is as it was.
        match self.create_singly(seen.word(), place) {
            Some(entity) => Ok(entity),
            None => self.create_first(lowest, seen, place),
        }
    }

    /// Creates an entity in the lowest slot of a word that is free singly; `None` if none is. Lock-free.
    #[inline]
    fn create_singly(&self, word: u32, place: Option<Place>) -> Option<Entity> {
        self.with_cache(|core, cache, tally| {
            let index = core.claim_lowest(cache, tally, word)?;
            tally.add_created(1);
            // SAFETY: a slot that was claimed for this.
            Some(unsafe { core.create_at(index, place) })
        })
    }

    /// Creates an entity in the lowest free slot, wherever it lies behind the beginning of a search: in a word of which the
    /// rest is free singly then.
    #[cold]
    fn create_first(
        &self,
        lowest: &Lowest,
        seen: Seen,
        place: Option<Place>,
    ) -> Result<Entity, Full> {
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

    /// Creates an entity in each of the lowest free slots, in order, as so many calls of
    /// [`create_lowest`](Self::create_lowest) do if nobody else creates or destroys meanwhile. With `first` they have
    /// places: those of as many neighbouring rows of one chunk number. Lock-free; one or two read-modify-writes for each
    /// claim word that is taken from, and one for all of them.
    ///
    /// It is one search, which goes on behind each word that it has used up: nothing is given back but what is left of the
    /// last one.
    ///
    /// # Errors
    /// [`Full`], and how many are made, whose handles are written: the caller destroys them.
    pub(crate) fn create_lowest_slice(
        &self,
        lowest: &Lowest,
        out: &mut [MaybeUninit<Entity>],
        first: Option<Place>,
    ) -> Result<(), (usize, Full)> {
        let mut seen = lowest.seen();
        let mut from = seen.word();
        // Others have what is free behind it, and may have given something back before it.
        let mut looks_before = from > 0;
        let mut filled = 0;
        while filled < out.len() {
            let mut claimed = match self.claim_first(from) {
                Ok(claimed) => claimed,
                Err(_) if looks_before => {
                    (from, looks_before) = (0, false);
                    continue;
                }
                Err(full) => return Err((filled, full)),
            };
            filled +=
                self.create_in_claimed(&mut claimed, &mut out[filled..], further(first, filled));
            from = claimed.word + 1;
            if filled == out.len() {
                if mutant::active("lowest_seen_late") {
                    seen = lowest.seen();
                }
                if mutant::active("lowest_found_early") {
                    lowest.found(seen, claimed.word);
                }
                self.release_claimed(&mut claimed);
                if !mutant::active("lowest_found_early") {
                    lowest.found(seen, claimed.word);
                }
            }
        }
        Ok(())
    }

    /// Creates entities in the lowest of claimed slots, as many as there are or `out` holds; how many.
    fn create_in_claimed(
        &self,
        claimed: &mut Claimed,
        out: &mut [MaybeUninit<Entity>],
        first: Option<Place>,
    ) -> usize {
        self.with_cache(|core, _, tally| {
            let Claimed { word, slots } = *claimed;
            let (filled, left) = create_in_word(core, word, slots, out, first);
            claimed.slots = left;
            tally.add_created(filled);
            filled
        })
    }

    /// Destroys an entity as [`destroy_owned`](Self::destroy_owned) does, but its slot is everybody's at once;
    /// its claim word. Wait-free once the thread has a cache (else lock-free); the last versions of a slot go the usual
    /// way, which is lock-free.
    pub(crate) fn destroy_owned_at_once(&self, entity: Entity) -> u32 {
        let index = entity.index();
        let word = index / WORD_BITS;
        debug_assert!(self.exists(entity));
        if slot::is_among_last(entity.version()) {
            // The last versions of a slot go the usual way.
            let _ = self.destroy(entity);
            self.flush();
            return word;
        }
        if self.shared.core.has_slot(index) {
            self.with_cache(|core, _, tally| {
                // SAFETY: just checked.
                unsafe { core.bury_owned(entity) };
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

impl Core {
    /// Takes the lowest of the slots of a word that are free singly; its index. `None` if none is.
    #[inline(always)]
    fn claim_lowest(&self, cache: &mut Cache, tally: &Tally, word: u32) -> Option<u32> {
        probe::probed(1);
        // Ordering: Acquire, as in `taken`: what is not whole was used, so its block is open. If it is given back whole
        // meanwhile, nothing is free singly.
        //
        // SAFETY: callers pass words below `WORDS`.
        let span = unsafe { self.span(span::of(word)) }.load(Ordering::Acquire);
        if span::whole(span) & span::lane(word) != 0 {
            return None;
        }
        // SAFETY: the block is open.
        let claims = unsafe { self.claims(word) };
        let mut seen = claims.load(Ordering::Relaxed);
        while seen != 0 {
            let left = seen & (seen - 1);
            // Ordering: Acquire pairs with the Release in `release_slots`, as in `claim_word`. Relaxed, before and where it
            // fails: nothing follows from it.
            let order = mutant::ordering("lowest_claim_relaxed", Ordering::AcqRel);
            let claimed = if mutant::active("lowest_claim_by_and") {
                Ok(claims.fetch_and(left, order))
            } else {
                claims.compare_exchange_weak(seen, left, order, Ordering::Relaxed)
            };
            match claimed {
                Ok(_) => {
                    if mutant::active("claim_takes_all") {
                        seen = FULL;
                    }
                    if left == 0 {
                        self.mark_later(cache, tally, span::of(word), span::lane(word));
                    }
                    return Some(word * WORD_BITS + seen.trailing_zeros());
                }
                Err(now) => {
                    probe::failed_claim();
                    seen = now;
                }
            }
        }
        None
    }

    /// Takes all free slots of a word, which is one of an open block.
    #[inline(always)]
    pub(super) fn claim_all(&self, cache: &mut Cache, tally: &Tally, word: u32) -> u64 {
        let lane = span::lane(word);
        let whole = self.claim_whole(tally, span::of(word), |seen| span::whole(seen) & lane);
        if whole != 0 {
            return FULL;
        }
        self.mark_later(cache, tally, span::of(word), lane);
        self.claim_word(word)
    }

    /// The same; where none is free, nothing is claimed, and the word's hint says so from now on.
    #[inline(always)]
    fn claim_if_free(&self, cache: &mut Cache, tally: &Tally, word: u32) -> u64 {
        probe::probed(1);
        if self.taken(word) == FULL {
            self.say_full(cache, tally, word);
            return 0;
        }
        self.claim_all(cache, tally, word)
    }

    /// Whoever emptied a word waits for other words to empty, or has stopped before it set the hint: the next search is
    /// to pass by.
    #[cold]
    fn say_full(&self, cache: &mut Cache, tally: &Tally, word: u32) {
        if self.broken_lanes(span::of(word)) & span::lane(word) != 0 {
            self.mark_later(cache, tally, span::of(word), span::lane(word));
            self.mark_now(cache, tally);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
