//! Claiming: how free slots come into a thread's hands, and how it finds them.
//!
//! Where to look is a matter of hints; that a slot is the caller's is decided by one read-modify-write
//! only: of a claim word, for the slots that are free singly, or of a span word, for whole claim words.

use crate::entity::Full;
use crate::entity::index::NONE_LEFT;
use crate::entity::index::cache::{Cache, NO_BLOCK, Tally};
use crate::entity::index::core::{Core, Threads};
use crate::entity::index::span::{self, CLOSED, SPAN_WORDS, SPANS, SPANS_PER_BLOCK};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::{FULL, WORDS, WORDS_PER_BLOCK};
use crate::sync::{mutant, probe};

/// Searches by hints that may be crossed by other threads' changes before every word is looked at.
const QUIET_TRIES: usize = if cfg!(loom) { 1 } else { 3 };

impl Core {
    /// Claims a word with at least one free slot for the cache, whose mask is empty.
    ///
    /// Lock-free: an attempt fails only if another thread claimed what this one was after.
    #[cold]
    #[inline(never)]
    pub(crate) fn refill(
        &self,
        threads: &Threads,
        cache: &mut Cache,
        tally: &Tally,
    ) -> Result<(), Full> {
        debug_assert!(cache.mask == 0);
        if self.claim_hinted(cache, tally) {
            return Ok(());
        }
        // The hints know of nothing. They tell the truth, unless a thread stood between a change and
        // its hint meanwhile, or stands there for ever: then look at every claim word before saying
        // "full".
        for _ in 0..QUIET_TRIES {
            let quiet = threads.quiet(tally);
            if quiet.is_none() {
                break;
            }
            if self.claim_hinted(cache, tally) {
                return Ok(());
            }
            if threads.quiet(tally) == quiet || mutant::active("quiet_not_compared") {
                return Err(NONE_LEFT);
            }
        }
        // All blocks are open, or there is no memory for more.
        let words = if mutant::active("no_full_scan") {
            0
        } else {
            self.opened() * WORDS_PER_BLOCK
        };
        for word in 0..words {
            probe::probed(1);
            if self.has_free(word) && self.claim_for(cache, tally, word) {
                return Ok(());
            }
        }
        Err(NONE_LEFT)
    }

    /// Claims a word where the hints say that one has a free slot; `false` if they know of none.
    fn claim_hinted(&self, cache: &mut Cache, tally: &Tally) -> bool {
        while let Some(word) = self.candidate(cache, tally) {
            if self.claim_for(cache, tally, word) {
                return true;
            }
        }
        false
    }

    /// Claims a word for the cache; `false` if nothing was left there.
    fn claim_for(&self, cache: &mut Cache, tally: &Tally, word: u32) -> bool {
        let lane = span::lane(word);
        let whole = self.claim_whole(tally, span::of(word), |seen| span::whole(seen) & lane);
        let won = if whole != 0 {
            FULL
        } else {
            self.mark_later(cache, tally, span::of(word), lane);
            self.claim_word(word)
        };
        if won == 0 {
            probe::failed_claim();
            return false;
        }
        cache.word = word;
        cache.mask = won;
        true
    }

    // --- The claims -----------------------------------------------------------------------------

    /// Takes the slots of a word that are free singly: a mask of those that are the caller's now. The
    /// caller sees to the hint.
    #[inline]
    pub(crate) fn claim_word(&self, word: u32) -> u64 {
        // SAFETY: callers pass words of open blocks.
        let claims = unsafe { self.claims(word) };
        // Ordering: Relaxed: it saves a swap, which decides.
        if claims.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        // Ordering: Acquire pairs with the Release in `release_slots`: the slots are seen as those who
        // freed them left them. All in between are read-modify-writes, so one Acquire reaches all.
        let free = claims.swap(0, mutant::ordering("claim_relaxed", Ordering::AcqRel));
        if mutant::active("claim_takes_all") {
            return FULL;
        }
        free
    }

    /// Takes all slots of those words of a span that `choose` picks among the whole ones, given the
    /// span word; their lanes. It is asked again if another thread changed the span.
    ///
    /// Lock-free: a retry means that another thread claimed or freed in the span, or set a hint.
    #[inline]
    pub(crate) fn claim_whole(
        &self,
        tally: &Tally,
        number: u32,
        choose: impl Fn(u64) -> u64,
    ) -> u64 {
        // SAFETY: callers pass spans below `SPANS`.
        let word = unsafe { self.span(number) };
        // Ordering: Relaxed, also on failure: the compare-and-swap decides, and acquires.
        let mut seen = word.load(Ordering::Relaxed);
        loop {
            let lanes = choose(seen);
            if lanes == 0 {
                return 0;
            }
            debug_assert!(lanes & !span::whole(seen) == 0, "it is not whole");
            let claimed = span::claimed(seen, lanes);
            if mutant::active("whole_claim_by_or") {
                word.fetch_or(span::claimed(0, lanes), Ordering::AcqRel);
                return lanes;
            }
            // Ordering: Acquire pairs with the Release in `open_lanes`, as in `claim_word`.
            let order = mutant::ordering("whole_claim_relaxed", Ordering::AcqRel);
            match word.compare_exchange_weak(seen, claimed, order, Ordering::Relaxed) {
                Ok(_) => {
                    #[cfg(not(loom))]
                    self.note_used(number, lanes);
                    if claimed == CLOSED {
                        self.mark_closed(tally, number);
                    }
                    return lanes;
                }
                Err(now) => {
                    probe::failed_claim();
                    seen = now;
                }
            }
        }
    }

    /// Whether a slot of a word is free.
    #[inline]
    fn has_free(&self, word: u32) -> bool {
        // Ordering: Acquire, so that the span word is looked at after the claim word: slots that somebody gathers
        // are not passed by between the two. What is free is claimed by a read-modify-write anyway.
        //
        // SAFETY: callers pass words of open blocks.
        let (span, claims) = unsafe { (self.span(span::of(word)), self.claims(word)) };
        claims.load(Ordering::Acquire) != 0
            || span::whole(span.load(Ordering::Relaxed)) & span::lane(word) != 0
    }

    /// The slots of a word that are not free. Looked at in the middle of other threads' calls, it is
    /// right for those that nobody claimed or gave back meanwhile.
    pub(crate) fn taken(&self, word: u32) -> u64 {
        if self.lanes_in_use(span::of(word)) & span::lane(word) == 0 {
            return 0;
        }
        // SAFETY: what is not whole was used: its block is open.
        unsafe { self.taken_singly(word) }
    }

    /// The lanes of a span that are not whole: in no other word is a slot taken.
    #[inline]
    pub(crate) fn lanes_in_use(&self, number: u32) -> u64 {
        // Ordering: Acquire, so that claim words are looked at after the span word.
        //
        // SAFETY: callers pass spans below `SPANS`.
        span::broken(unsafe { self.span(number) }.load(Ordering::Acquire))
    }

    /// [`taken`](Self::taken) of a word that was found in use.
    ///
    /// # Safety
    /// Its block is open.
    #[inline]
    pub(crate) unsafe fn taken_singly(&self, word: u32) -> u64 {
        // SAFETY: the caller's.
        !unsafe { self.claims(word) }.load(Ordering::Acquire) & FULL
    }

    // --- Where to look --------------------------------------------------------------------------

    /// A word that the hints say has a free slot: in the span that the thread took from last, else in
    /// its own block, else in a block where nobody works, else in a new block, else anywhere.
    pub(crate) fn candidate(&self, cache: &mut Cache, tally: &Tally) -> Option<u32> {
        if cache.unmarked != 0 || cache.span / SPANS_PER_BLOCK == cache.block {
            if let Some(word) = self.next_of_span(cache.span, cache.behind()) {
                return Some(word);
            }
            self.mark_now(cache, tally);
        }
        if cache.block != NO_BLOCK {
            let first = cache.block * SPANS_PER_BLOCK;
            if let Some(word) = self.find(tally, first, first + SPANS_PER_BLOCK) {
                return Some(self.turn_to(cache, word));
            }
            self.leave_block(cache);
        }
        let opened = self.opened();
        let mut from = 0;
        while let Some(word) = self.find(tally, from, opened * SPANS_PER_BLOCK) {
            let block = span::of(word) / SPANS_PER_BLOCK;
            if self.enter_block(cache, block) {
                return Some(self.turn_to(cache, word));
            }
            from = (block + 1) * SPANS_PER_BLOCK;
        }
        if let Some(block) = self.open_block(cache) {
            return Some(self.turn_to(cache, block * SPANS_PER_BLOCK * SPAN_WORDS));
        }
        // No block is left, or no memory for one: what is free in others' blocks.
        self.find(tally, 0, self.opened() * SPANS_PER_BLOCK)
            .map(|word| self.turn_to(cache, word))
    }

    /// A word that is whole in the block of `word`: that one if it is, else the first; `None` if there is none.
    #[inline]
    pub(crate) fn whole_in_block(&self, word: u32) -> Option<u32> {
        let whole = |number: u32| {
            probe::probed(1);
            // Ordering: Relaxed, the claim decides.
            //
            // SAFETY: callers pass words below `WORDS`; a block has all its spans.
            span::whole(unsafe { self.span(number) }.load(Ordering::Relaxed))
        };
        let number = span::of(word);
        if whole(number) & span::lane(word) != 0 {
            return Some(word);
        }
        let first = number / SPANS_PER_BLOCK * SPANS_PER_BLOCK;
        (first..first + SPANS_PER_BLOCK).find_map(|number| {
            let lanes = whole(number);
            (lanes != 0).then(|| number * SPAN_WORDS + lanes.trailing_zeros())
        })
    }

    /// The lanes of a span that may have a slot that is free singly.
    #[inline]
    pub(crate) fn broken_lanes(&self, number: u32) -> u64 {
        // Ordering: Relaxed, the claim decides.
        //
        // SAFETY: callers pass spans below `SPANS`.
        let seen = unsafe { self.span(number) }.load(Ordering::Relaxed);
        span::open(seen) & !span::whole(seen)
    }

    /// The cache looks first in the span of `word` from now on; the word.
    fn turn_to(&self, cache: &mut Cache, word: u32) -> u32 {
        debug_assert!(cache.unmarked == 0, "hints of another span are not set yet");
        cache.span = span::of(word);
        word
    }

    /// The first word of a span that is whole or may have a free slot, but for those in `behind`.
    #[inline]
    fn next_of_span(&self, number: u32, behind: u64) -> Option<u32> {
        probe::probed(1);
        // Ordering: Relaxed, the claim decides.
        //
        // SAFETY: callers pass spans below `SPANS`.
        let seen = unsafe { self.span(number) }.load(mutant::look());
        let open = span::open(seen) & !behind;
        (open != 0).then(|| number * SPAN_WORDS + open.trailing_zeros())
    }

    /// The first word in some spans that the hints say has a free slot.
    fn find(&self, tally: &Tally, from: u32, to: u32) -> Option<u32> {
        let mut from = from as usize;
        while let Some(number) = self.summary.find(from, to as usize) {
            if let Some(word) = self.next_of_span(number as u32, 0) {
                return Some(word);
            }
            // Whoever closed it may have stopped before it said so.
            self.mark_closed(tally, number as u32);
            from = number + 1;
        }
        None
    }

    /// The first word from `from` on that the hints do not say is full.
    pub(super) fn find_from(&self, tally: &Tally, from: u32) -> Option<u32> {
        if from >= WORDS {
            return None;
        }
        let number = span::of(from);
        self.next_of_span(number, span::lane(from) - 1)
            .or_else(|| self.find(tally, number + 1, SPANS))
    }

    // --- Hints ----------------------------------------------------------------------------------

    /// Notes that the caller has emptied claim words of a span, or is about to, given as lanes.
    #[inline]
    pub(crate) fn mark_later(&self, cache: &mut Cache, tally: &Tally, number: u32, lanes: u64) {
        if number != cache.span {
            self.mark_now(cache, tally);
            cache.span = number;
        }
        cache.unmarked |= lanes;
    }

    /// Sets the hints of the claim words that were noted.
    pub(crate) fn mark_now(&self, cache: &mut Cache, tally: &Tally) {
        let lanes = core::mem::take(&mut cache.unmarked);
        if lanes == 0 {
            return;
        }
        let _lag = (!mutant::active("close_lag_not_said")).then(|| tally.lag.begin());
        // SAFETY: a cache holds numbers of spans.
        let word = unsafe { self.span(cache.span) };
        // Ordering: AcqRel. Acquire pairs with the Release in `open_lanes`, so that the look that
        // follows sees the claim words as their openers left them.
        let order = mutant::ordering("span_close_relaxed", Ordering::AcqRel);
        let seen = word.fetch_or(span::closed(lanes), order) | span::closed(lanes);
        let mut opened = 0;
        let mut left = lanes;
        while left != 0 {
            let lane = left.trailing_zeros();
            left &= left - 1;
            // Ordering: Relaxed: the Acquire above keeps the look behind it.
            //
            // SAFETY: a word of the span.
            let claims = unsafe { self.claims(cache.span * SPAN_WORDS + lane) };
            if claims.load(Ordering::Relaxed) != 0 {
                opened |= 1 << lane;
            }
        }
        if opened != 0 && !mutant::active("span_no_recheck") {
            self.open_lanes(cache.span, 0, opened);
        } else if seen == CLOSED {
            self.mark_span(cache.span);
        }
    }

    /// Says that a span was found closed, unless it is not any more.
    #[cold]
    pub(super) fn mark_closed(&self, tally: &Tally, number: u32) {
        let _lag = (!mutant::active("close_lag_not_said")).then(|| tally.lag.begin());
        self.mark_span(number);
    }

    /// `mark_closed` for a caller that has said that its hints lag.
    fn mark_span(&self, number: u32) {
        self.summary.mark_full(number as usize, || {
            // Ordering: Acquire: see `Summary::mark_full`.
            //
            // SAFETY: callers pass spans below `SPANS`.
            let span = unsafe { self.span(number) };
            span.load(mutant::ordering("span_look_relaxed", Ordering::Acquire)) == CLOSED
        });
    }
}
