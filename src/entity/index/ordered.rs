//! Ids in an order that does not depend on threads: for worlds that are to be the same, bit for bit, for any
//! number of them.
//!
//! Nothing here uses threads' caches: a free slot is free for everybody, and whoever creates says which
//! claim word it takes from. That costs two or three read-modify-writes for each call.

use crate::entity::index::core::Core;
use crate::entity::index::span::SPAN_WORDS;
use crate::entity::index::{NONE_LEFT, slot, span};
use crate::entity::{Entity, EntityIndex, Full, Place};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::{FULL, WORD_BITS, WORDS, WORDS_PER_BLOCK};

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
    /// Claim words that it has.
    pub(crate) const WORDS: u32 = WORDS;

    /// Claims all slots of a claim word, if all are free. Lock-free.
    pub(crate) fn claim_whole_word(&self, word: u32) -> Option<Claimed> {
        if word >= WORDS {
            return None;
        }
        let slots = self.with_cache(|core, cache, tally| {
            core.open_to(word / WORDS_PER_BLOCK);
            let lane = span::lane(word);
            let whole = core.claim_whole(tally, span::of(word), |seen| span::whole(seen) & lane);
            if whole != 0 {
                return FULL;
            }
            let slots = core.claim_word(word);
            core.mark_later(cache, tally, span::of(word), lane);
            if slots != FULL {
                core.release(tally, word, slots);
                return 0;
            }
            slots
        });
        (slots == FULL).then_some(Claimed { word, slots })
    }

    /// Claims what is free of the first claim word from `from` on of which something is; the word. Lock-free;
    /// O(words that are passed by).
    fn claim_first(&self, from: u32) -> Result<Claimed, Full> {
        let mut word = from;
        while word < WORDS {
            let slots = self.with_cache(|core, cache, tally| {
                core.open_to(word / WORDS_PER_BLOCK);
                if core.taken(word) == FULL {
                    return 0;
                }
                let lane = span::lane(word);
                let whole =
                    core.claim_whole(tally, span::of(word), |seen| span::whole(seen) & lane);
                if whole != 0 {
                    return FULL;
                }
                core.mark_later(cache, tally, span::of(word), lane);
                core.claim_word(word)
            });
            if slots != 0 {
                return Ok(Claimed { word, slots });
            }
            word += 1;
        }
        Err(NONE_LEFT)
    }

    /// Gives slots back that were not used. Wait-free.
    pub(crate) fn give_claimed(&self, claimed: &mut Claimed) {
        let slots = core::mem::take(&mut claimed.slots);
        self.with_cache(|core, _, tally| core.release(tally, claimed.word, slots));
    }

    /// Creates an entity in the lowest of claimed slots; `None` if there is none left. Wait-free.
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

    /// Creates an entity in the lowest free slot from `from` on, a claim word below which none is free; says
    /// in `from` where the next call is to look. Lock-free.
    pub(crate) fn create_lowest(
        &self,
        from: &mut u32,
        place: Option<Place>,
    ) -> Result<Entity, Full> {
        let mut claimed = self.claim_first(*from)?;
        *from = claimed.word;
        let created = self.create_claimed(&mut claimed, place);
        self.give_claimed(&mut claimed);
        match created {
            Some(entity) => Ok(entity),
            None => unreachable!("a slot at least was claimed"),
        }
    }

    /// Destroys an entity as [`destroy_owned`](Self::destroy_owned) does, but its slot is everybody's at once;
    /// its claim word. Wait-free.
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
        if (index as usize) < Self::CAPACITY {
            self.with_cache(|core, _, tally| {
                // SAFETY: just checked.
                let slot = unsafe { core.slot(index) };
                // Ordering: Release, as in `Core::bury`.
                slot.store(slot::dead(entity.version() + 2), Ordering::Release);
                tally.add_destroyed(1);
                core.release(tally, word, 1 << (index % WORD_BITS));
            });
        }
        word
    }

    /// Slots that are neither free nor an entity's, and have not retired: threads keep them. O(words). Exact while nothing
    /// changes.
    pub(crate) fn kept(&self) -> usize {
        let core = &self.shared.core;
        let used = core.opened() * WORDS_PER_BLOCK;
        let taken = (0..used).map(|word| core.taken(word).count_ones() as usize);
        // What changes meanwhile may be seen in one of them alone.
        (taken.sum::<usize>()).saturating_sub(self.count() + self.retired())
    }

    /// The first claim word, among those that were ever used, of which a slot is free. O(words). Exact while nothing
    /// changes.
    pub(crate) fn first_free_word(&self) -> Option<u32> {
        let core = &self.shared.core;
        (0..core.opened() * WORDS_PER_BLOCK).find(|&word| core.taken(word) != FULL)
    }

    /// The claim words of which all slots are free, among those that were ever used, in order; and the first
    /// one that was not. O(words of spans where something is free), or O(words) if another thread changes hints
    /// meanwhile: one that ends may still give back what it kept. Exact while nobody creates or destroys.
    pub(crate) fn free_words(&self) -> (FreeWords, u32) {
        let used = self.shared.core.opened() * WORDS_PER_BLOCK;
        let by_hints = self.with_cache(|core, _, tally| {
            let threads = &self.shared.registry;
            let before = threads.quiet(tally)?;
            let free = FreeWords::of(used, |span| core.free_lanes(span));
            (threads.quiet(tally) == Some(before)).then_some(free)
        });
        (
            by_hints.unwrap_or_else(|| self.free_words_by_claims(used)),
            used,
        )
    }

    /// The same, whatever hints say. O(words).
    #[cold]
    pub(super) fn free_words_by_claims(&self, used: u32) -> FreeWords {
        let core = &self.shared.core;
        FreeWords::of(used, |span| {
            let lanes = (0..SPAN_WORDS).filter(|lane| core.taken(span * SPAN_WORDS + lane) == 0);
            lanes.fold(0, |free, lane| free | 1 << lane)
        })
    }
}

/// Claim words, in order: of each span a set of lanes.
#[derive(Debug, Default)]
pub(crate) struct FreeWords {
    /// How many words come before, the span's number, the lanes.
    spans: Vec<(u32, u32, u64)>,
    count: u32,
}

impl FreeWords {
    /// Those below `used`, of which these lanes of a span are free.
    fn of(used: u32, lanes: impl Fn(u32) -> u64) -> Self {
        let mut free = Self::default();
        for span in 0..used / SPAN_WORDS {
            free.extend(span, lanes(span));
        }
        free
    }

    fn extend(&mut self, span: u32, lanes: u64) {
        if lanes != 0 {
            self.spans.push((self.count, span, lanes));
            self.count += lanes.count_ones();
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    /// One of them. O(log spans).
    pub(crate) fn get(&self, at: u32) -> Option<u32> {
        if at >= self.count {
            return None;
        }
        let behind = self.spans.partition_point(|&(before, _, _)| before <= at);
        let &(before, span, mut lanes) = self.spans.get(behind.wrapping_sub(1))?;
        for _ in before..at {
            lanes &= lanes - 1;
        }
        Some(span * SPAN_WORDS + lanes.trailing_zeros())
    }
}

impl Core {
    /// The words of a span of which all slots are free, as lanes. While no thread's hints lag they do not lie, and
    /// of most words nothing is free: they are not looked at.
    fn free_lanes(&self, number: u32) -> u64 {
        // Ordering: Acquire, so that claim words are looked at after the span word.
        //
        // SAFETY: callers pass spans below `SPANS`.
        let seen = unsafe { self.span(number) }.load(Ordering::Acquire);
        let mut free = span::whole(seen);
        let mut open = span::open(seen) & !free;
        while open != 0 {
            let lane = open & open.wrapping_neg();
            open ^= lane;
            // SAFETY: a word of the span.
            let claims = unsafe { self.claims(number * SPAN_WORDS + lane.trailing_zeros()) };
            if claims.load(Ordering::Acquire) == FULL {
                free |= lane;
            }
        }
        free
    }

    /// Counts blocks as used up to this one, without fetching their pages: few of their slots may be used.
    fn open_to(&self, block: u32) {
        let mut opened = self.opened.load(Ordering::Relaxed);
        while opened <= block {
            // Ordering: as in `open_block`.
            match self.opened.compare_exchange_weak(
                opened,
                block + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => opened = now,
            }
        }
    }
}
