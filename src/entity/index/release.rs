//! Giving back: how slots become everybody's again.
//!
//! The caller owns the slots: it condemned and buried what lived there, or claimed them and did not use
//! them.

use crate::entity::Entity;
use crate::entity::index::cache::{Cache, MAGAZINE, Tally};
use crate::entity::index::core::Core;
use crate::entity::index::slot;
use crate::entity::index::span::{self, CLOSED};
#[cfg(not(loom))]
use crate::memory;
use crate::sync::atomic::Ordering;
use crate::sync::geometry::{FULL, WORD_BITS};
use crate::sync::mutant;

/// Slots that a full magazine gives back at once: the older half.
const OLDER: usize = MAGAZINE.div_ceil(2);

const _: () = assert!(
    OLDER < WORD_BITS as usize,
    "the older half has no whole word"
);

impl Core {
    /// Gives slots of a word back to everybody. Wait-free.
    pub(crate) fn release(&self, tally: &Tally, word: u32, slots: u64) {
        if slots == 0 {
            return;
        }
        let _lag = (!mutant::active("release_lag_not_said")).then(|| tally.lag.begin());
        if slots == FULL {
            self.open_lanes(span::of(word), span::lane(word), 0);
        } else if self.release_slots(word, slots) {
            self.open_lanes(span::of(word), 0, span::lane(word));
        }
    }

    /// Gives slots of a word back, by the claim word; true if no slot was free there: then the caller
    /// opens the word's lane.
    #[inline(always)]
    pub(crate) fn release_slots(&self, word: u32, slots: u64) -> bool {
        // SAFETY: callers pass words below `WORDS`.
        let claims = unsafe { self.claims(word) };
        // The bits are the caller's and clear, so nothing is carried to others.
        //
        // Ordering: Release pairs with the Acquire in `claim_word`. Acquire, with the Release of who gave slots back here
        // before: whom it spares the hint has seen that the other's hints lag until it is cleared.
        let order = mutant::ordering("release_relaxed", Ordering::AcqRel);
        let old = claims.fetch_add(slots, mutant::released("release_release", order));
        debug_assert!(old & slots == 0, "a slot was released that was not claimed");
        old == 0
    }

    /// Gives words of a span back whole, all of whose slots are the caller's, and says that others of its
    /// words, which the caller has opened, may have free slots; both as lanes.
    pub(crate) fn open_lanes(&self, number: u32, whole: u64, opened: u64) {
        // SAFETY: callers pass spans below `SPANS`.
        let word = unsafe { self.span(number) };
        let bits = whole | span::closed(opened);
        if mutant::active("span_skip_if_clear") && word.load(Ordering::Acquire) & bits == 0 {
            return;
        }
        // Ordering: Release pairs with the Acquire in `claim_whole`, and in `mark_now`: whoever sets a
        // hint after this sees the claim word opened. Acquire, and always a read-modify-write: see
        // `Summary::clear`.
        let order = mutant::ordering("open_relaxed", Ordering::AcqRel);
        let old = word.fetch_and(!bits, mutant::released("open_release", order));
        debug_assert!(
            old & whole == whole,
            "a word was given back whole that was not taken"
        );
        if old == CLOSED && !mutant::active("span_opened_in_secret") {
            self.summary.mark_open(number as usize);
        }
    }

    /// Keeps the slot of an entity that the caller has destroyed, or retires it; and counts the death.
    pub(crate) fn pass_on(&self, cache: &mut Cache, tally: &Tally, entity: Entity) {
        if entity.version() == slot::LAST_VERSION && !mutant::active("no_retire") {
            tally.add_destroyed(1);
            tally.add_retired(1);
        } else {
            self.keep(cache, tally, entity.index());
        }
    }

    /// Keeps a freed slot in the cache, and counts the death of its entity; if the magazine is full, makes room.
    #[inline(always)]
    pub(crate) fn keep(&self, cache: &mut Cache, tally: &Tally, index: u32) {
        if !cache.keep(tally, index) {
            self.spill(cache, tally, index);
        }
    }

    /// Makes room in a full magazine and keeps the freed slot `index` there: the older half goes back.
    ///
    /// Few instructions for each slot: the processor then looks beyond them, to the memory that the next calls
    /// wait for.
    #[inline(never)]
    fn spill(&self, cache: &mut Cache, tally: &Tally, index: u32) {
        // From the first slot given back to the last hint.
        let _lag = (!mutant::active("spill_lag_not_said")).then(|| tally.lag.begin());
        let Some(&older) = cache.magazine.first_chunk::<OLDER>() else {
            unreachable!("the older half is a part of the magazine");
        };
        #[cfg(not(loom))]
        for index in older {
            // SAFETY: magazines hold indices of slots.
            memory::prefetch(unsafe { self.claims(index / WORD_BITS) });
        }
        // Slots that were freed in order lie side by side, most of them in the same words: two of three neighbours
        // that are looked at cannot straddle a border.
        let is_pair = |at: usize| older[at] / WORD_BITS == older[at + 1] / WORD_BITS;
        if (OLDER > 2) && (is_pair(0) || is_pair(1) || is_pair(OLDER / 2)) {
            self.spill_words(cache, &older);
        } else {
            self.spill_singly(cache, &older);
        }
        cache.magazine.copy_within(OLDER.., 0);
        tally.forget_kept(OLDER);
        cache.keep(tally, index);
    }

    /// Gives slots back that were freed in no order.
    #[inline(always)]
    fn spill_singly(&self, cache: &mut Cache, older: &[u32; OLDER]) {
        let slot = |index: u32| (index / WORD_BITS, 1_u64 << (index % WORD_BITS));
        let mut older = older.iter().copied().map(slot);
        if cache.mask == 0
            && let Some((word, slots)) = older.next()
        {
            // The thread has no word in hand: this one stays.
            (cache.word, cache.mask) = (word, slots);
        }
        for (word, slots) in older {
            if self.release_slots(word, slots) {
                self.open_lanes(span::of(word), 0, span::lane(word));
            }
        }
    }

    /// Gives slots back that were freed in some order: those of one word that stand side by side, by one
    /// read-modify-write.
    #[inline(never)]
    fn spill_words(&self, cache: &mut Cache, older: &[u32; OLDER]) {
        let first = older[0];
        if cache.mask == 0 {
            // Those of one word stay.
            cache.word = first / WORD_BITS;
        }
        let in_order = (first..).zip(older);
        if in_order.fold(true, |so_far, (next, &index)| so_far & (index == next)) {
            let (word, lane) = (first / WORD_BITS, first % WORD_BITS);
            let slots = u128::from(FULL >> (WORD_BITS - OLDER as u32)) << lane;
            self.spill_slots(cache, word, slots as u64 & FULL);
            if slots >> WORD_BITS != 0 {
                self.spill_slots(cache, word + 1, (slots >> WORD_BITS) as u64);
            }
            return;
        }
        for word in older.chunk_by(|a, b| a / WORD_BITS == b / WORD_BITS) {
            let slots = word.iter().map(|index| 1_u64 << (index % WORD_BITS));
            let slots = slots.fold(0, |slots, slot| slots | slot);
            self.spill_slots(cache, word[0] / WORD_BITS, slots);
        }
    }

    /// Gives slots of a word back, or keeps them, if they are of the word that the cache has claimed.
    #[inline(always)]
    fn spill_slots(&self, cache: &mut Cache, word: u32, slots: u64) {
        if word == cache.word {
            cache.mask |= slots;
        } else if self.release_slots(word, slots) {
            self.open_lanes(span::of(word), 0, span::lane(word));
        }
    }

    /// Gives all slots of a cache back.
    pub(crate) fn flush(&self, cache: &mut Cache, tally: &Tally) {
        self.release(tally, cache.word, cache.mask);
        cache.mask = 0;
        if mutant::active("flush_forgets_magazine") {
            tally.forget_kept(tally.kept());
        }
        let kept = cache.kept(tally);
        kept.sort_unstable();
        for run in kept.chunk_by(|a, b| a / WORD_BITS == b / WORD_BITS) {
            let slots = run
                .iter()
                .fold(0, |slots, index| slots | 1 << (index % WORD_BITS));
            self.release(tally, run[0] / WORD_BITS, slots);
        }
        tally.forget_kept(tally.kept());
        self.mark_now(cache, tally);
        self.leave_block(cache);
    }
}
