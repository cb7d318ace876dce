//! The shared state of an index, and the protocol on it.
//!
//! # State
//! * One *slot word* for each index: version and place; odd = alive (`slot`).
//! * One *group word* for each 16 slots: decides who destroys (`group`).
//! * One *claim word* for each 64 slots, 1 = free; and one *span word* for each 32 claim words, a bit
//!   of which is 0 while all 64 slots of a claim word are free in one piece (`span`): together the only
//!   authority on who may use a slot again.
//! * Hints over the claim words, in the other half of the span word, and over the span words
//!   (`summary`); and who works in which block: never relied upon.
//!
//! All of it is valid when it is all zeros, and is never unmapped before the index is dropped.
//!
//! # Operations, each with its linearization point
//! * claim (`claim`): `swap(0)` on a claim word gives its free slots to the caller, a
//!   compare-and-swap of a span word all slots of up to 32 claim words that are whole.
//! * create (`create_at`): the owner of a claim stores the next odd version in the slot word (that
//!   store).
//! * exists, locate (`living`): a load of the slot word (that load).
//! * publish (`living`): a compare-and-swap of the slot word that names the version (that
//!   compare-and-swap).
//! * destroy (`deaths`): a compare-and-swap of the group word condemns up to 16 entities whose
//!   slot words were checked, and thereby says that this call is the one that destroys them; then each
//!   slot word is stored even (that store, for each). Another call that comes upon a condemned entity
//!   makes the slot word even itself, before it says that the entity is dead.
//! * release (`release`): `fetch_add` on the claim word gives slots back; who owns all slots of claim
//!   words gives these back whole, by `fetch_and` on the span word.
//!
//! # Invariants
//! 1. A slot becomes free only by a step of the thread that owns it: the one that condemned its
//!    entity, after it stored the slot word, or whoever claimed it and did not use it.
//! 2. A slot word goes from even to odd only by a store of the owner of the slot.
//! 3. A slot word goes from odd to even only if its entity is condemned, or by whoever has the entity to itself
//!    (`placed`, `owned`), who skips a version; and an entity that is condemned stays so: its slot's phase flips again
//!    only after a later version was created.
//! 4. A version is used once: versions of a slot only grow, and the last one retires the slot, which
//!    never becomes free again. (But where a world goes back by what it has to itself: `rewind`.)
//!
//! papers/entity-index.md has the argument; loom-tests/ the models.

use std::io;

#[cfg(not(loom))]
use crossbeam_utils::CachePadded;

use crate::entity::index::IndexOptions;
use crate::entity::index::cache::{Cache, Tally};
use crate::entity::index::opened::Opened;
use crate::entity::index::slot;
#[cfg(not(loom))]
use crate::entity::index::span::SPAN_WORDS;
use crate::entity::index::span::SPANS;
use crate::entity::index::summary::Summary;
use crate::entity::index::wide::Width;
use crate::entity::{Entity, Place};
use crate::memory::{COMMITS, HUGE_PAGE_BYTES, Table};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(not(loom))]
use crate::sync::geometry::WORDS_PER_BLOCK;
use crate::sync::geometry::{BLOCK_SLOTS, BLOCKS, GROUP_SLOTS, SLOTS, WORD_BITS, WORDS};
use crate::sync::local::Registry;
use crate::sync::mutant;

/// The threads' caches.
pub(crate) type Threads = Registry<Cache, Tally>;

/// The shared state of an index, without the threads' caches.
#[derive(Debug)]
pub(crate) struct Core {
    /// These, the groups and the claims are committed as far as blocks are opened.
    pub(super) slots: Table<AtomicU64>,
    pub(super) groups: Table<AtomicU64>,
    pub(super) claims: Table<AtomicU64>,
    pub(super) spans: Table<AtomicU64>,
    /// Hints over the spans.
    pub(super) summary: Summary,
    /// For each block the number of the cache that works in it, or 0: a hint that keeps threads
    /// apart.
    pub(super) workers: Table<AtomicU32>,
    /// Blocks below this have been used, and are committed; the others are all zeros.
    pub(super) opened: Opened,
    /// Most of a new block comes with a huge page.
    pub(super) huge: bool,
    /// Other pages of a new block are fetched in one call.
    pub(super) populate: bool,
    /// Blocks below this have their pages still, and are committed, from before the index was
    /// [reset](Core::reset).
    #[cfg(not(loom))]
    pub(super) fetched: u32,
    /// Claim words from this one on were never claimed: all that belongs to them is zeros. Models do without.
    /// On a line of its own: threads that claim new words write here, and everybody reads the rest.
    #[cfg(not(loom))]
    pub(super) used: CachePadded<AtomicU32>,
    /// How many slot words the processor can access at once.
    width: Width,
    /// How many blocks a test's system has memory for.
    #[cfg(test)]
    pub(super) granted: AtomicU32,
}

/// Bytes of a block's slot words.
const BLOCK_BYTES: usize = BLOCK_SLOTS as usize * size_of::<AtomicU64>();
/// The first blocks lie before the first border of a huge page: an index of few entities is not to cost a
/// whole one. (What lies between the border before them and the first slot is advised to be small pages, so that no
/// huge one lies across.)
pub(super) const SMALL_BLOCKS: u32 = 4;

impl Core {
    /// An empty index: address space, and small tables.
    pub(crate) fn new(options: &IndexOptions) -> io::Result<Self> {
        // The staggers keep the tables' first lines in different cache sets.
        let slots = Table::reserve(
            SLOTS as usize,
            HUGE_PAGE_BYTES - SMALL_BLOCKS as usize * BLOCK_BYTES,
        )?;
        let groups = Table::reserve((SLOTS / GROUP_SLOTS) as usize, 5 << 12)?;
        let whose = "the entity index";
        let huge = options.huge_pages && slots.want_huge(whose) && groups.want_huge(whose);
        Ok(Self {
            slots,
            groups,
            claims: Table::reserve(WORDS as usize, 7 << 12)?,
            spans: Table::new(SPANS as usize, 9 << 12)?,
            summary: Summary::new(SPANS as usize, 16, 11 << 12)?,
            workers: Table::new(BLOCKS as usize, 13 << 12)?,
            opened: Opened::none(),
            huge,
            populate: options.populate,
            #[cfg(not(loom))]
            fetched: 0,
            #[cfg(not(loom))]
            used: CachePadded::new(AtomicU32::new(0)),
            width: Width::available(),
            #[cfg(test)]
            granted: AtomicU32::new(BLOCKS),
        })
    }

    /// Makes it what it was when it was new, but for the pages, which stay; `false`, and nothing is done, if so
    /// much was used that a new one costs less.
    #[cfg(not(loom))]
    pub(crate) fn reset(&mut self) -> bool {
        let opened = self.opened();
        if opened > SMALL_BLOCKS {
            return false;
        }
        // Ordering: Relaxed: `&mut` comes after everybody.
        let words = self
            .used
            .load(Ordering::Relaxed)
            .min(opened * WORDS_PER_BLOCK);
        let spans = words.div_ceil(SPAN_WORDS) as usize;
        let of_words = |per_word: u32| 0..(words * per_word) as usize;
        self.slots.clear(of_words(WORD_BITS));
        self.groups.clear(of_words(WORD_BITS / GROUP_SLOTS));
        self.claims.clear(of_words(1));
        self.spans.clear(0..spans);
        self.summary.reset(spans);
        self.workers.clear(0..opened as usize);
        debug_assert!(
            (words * WORD_BITS..opened * BLOCK_SLOTS)
                // SAFETY: slots of blocks that are there.
                .all(|slot| unsafe { self.slot(slot) }.load(Ordering::Relaxed) == 0),
            "a slot was used of a word that was never claimed"
        );
        self.used = CachePadded::new(AtomicU32::new(0));
        #[cfg(test)]
        self.grant(BLOCKS);
        self.opened = Opened::none();
        self.fetched = self.fetched.max(opened);
        true
    }

    /// Notes that whole claim words of a span, given as lanes, are claimed, for [`reset`](Self::reset).
    #[cfg(not(loom))]
    #[inline]
    pub(super) fn note_used(&self, span: u32, lanes: u64) {
        let end = span * SPAN_WORDS + (u64::BITS - lanes.leading_zeros());
        // Ordering: Relaxed: nobody goes by it but who has the index to itself afterwards.
        if self.used.load(Ordering::Relaxed) < end {
            // In steps, so that threads that claim side by side seldom write here.
            let step = end.next_power_of_two().min(SPAN_WORDS);
            let end = end.next_multiple_of(step);
            self.used.fetch_max(end, Ordering::Relaxed);
        }
    }

    /// From now on there is memory for so many blocks.
    #[cfg(test)]
    pub(super) fn grant(&self, blocks: u32) {
        self.granted.store(blocks, Ordering::Relaxed);
    }

    /// Whether the wide paths may be taken.
    #[inline(always)]
    pub(crate) fn wide(&self) -> bool {
        self.width >= Width::Wide
    }

    /// How many slot words the processor can access at once.
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    #[inline(always)]
    pub(crate) fn width(&self) -> Width {
        self.width
    }

    /// Blocks that have been used.
    #[inline(always)]
    pub(crate) fn opened(&self) -> u32 {
        self.opened.count()
    }

    /// How many slots there is memory for. Slots from here on never had an entity.
    #[inline(always)]
    pub(super) fn slots_there(&self) -> u32 {
        if COMMITS {
            self.opened() * BLOCK_SLOTS
        } else {
            SLOTS
        }
    }

    /// Whether there is a slot word to look at for a handle that anybody may have made up.
    #[inline(always)]
    pub(super) fn has_slot(&self, index: u32) -> bool {
        // In the width of addresses, which the index is brought to anyway.
        (index as usize) < self.slots_there() as usize
    }

    /// The slot word of `index`.
    ///
    /// # Safety
    /// [`has_slot`](Self::has_slot), as every slot that was claimed.
    #[inline(always)]
    pub(crate) unsafe fn slot(&self, index: u32) -> &AtomicU64 {
        debug_assert!(self.has_slot(index), "slot {index} is not there");
        // SAFETY: the caller's.
        unsafe { self.slots.get_unchecked(index as usize) }
    }

    /// The slot words from that of slot `first` on, up to the last: for wide accesses, to several at once.
    ///
    /// (Not from a [`slot`](Self::slot): a pointer from a reference to one word is for that word.)
    ///
    /// # Safety
    /// As for [`slot`](Self::slot).
    #[cfg(all(not(loom), any(test, all(target_arch = "x86_64", not(miri)))))]
    #[inline(always)]
    pub(super) unsafe fn slot_words(&self, first: u32) -> *mut u64 {
        debug_assert!(self.has_slot(first), "slot {first} is not there");
        // SAFETY: the caller's.
        unsafe { self.slots.first().cast().add(first as usize).as_ptr() }
    }

    /// The slot words of `count` slots from `first` on.
    ///
    /// # Safety
    /// [`has_slot`](Self::has_slot) for each of them.
    #[inline(always)]
    pub(super) unsafe fn slots(&self, first: u32, count: usize) -> &[AtomicU64] {
        let first = first as usize;
        debug_assert!(first + count <= self.slots_there() as usize);
        // SAFETY: the caller's.
        unsafe { self.slots.range_unchecked(first..first + count) }
    }

    /// Asks the processor for the lines of an entity that will be destroyed soon.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn expect(&self, entity: Entity) {
        let index = entity.index();
        if self.has_slot(index) {
            // SAFETY: just checked.
            let (slot, group) = unsafe { (self.slot(index), self.group(index)) };
            crate::memory::prefetch(slot);
            crate::memory::prefetch(group);
        }
    }

    /// Models ask for nothing.
    #[cfg(loom)]
    pub(crate) fn expect(&self, _: Entity) {}

    /// Asks the processor for the line of a slot that there is.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn expect_slot(&self, index: u32) {
        // SAFETY: callers own the slot.
        crate::memory::prefetch(unsafe { self.slot(index) });
    }

    /// Models ask for nothing.
    #[cfg(loom)]
    pub(crate) fn expect_slot(&self, _: u32) {}

    /// Asks the processor for a claim word, which there is.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn expect_claims(&self, word: u32) {
        // SAFETY: callers own slots of the word.
        crate::memory::prefetch(unsafe { self.claims(word) });
    }

    /// Models ask for nothing.
    #[cfg(loom)]
    pub(crate) fn expect_claims(&self, _: u32) {}

    /// The claim word number `word`.
    ///
    /// # Safety
    /// It is one of a block that is open.
    #[inline(always)]
    pub(crate) unsafe fn claims(&self, word: u32) -> &AtomicU64 {
        debug_assert!(self.has_slot(word * WORD_BITS), "word {word} is not there");
        // SAFETY: the caller's.
        unsafe { self.claims.get_unchecked(word as usize) }
    }

    /// The span word number `span`.
    ///
    /// # Safety
    /// `span < SPANS`.
    #[inline(always)]
    pub(crate) unsafe fn span(&self, span: u32) -> &AtomicU64 {
        // SAFETY: the caller's.
        unsafe { self.spans.get_unchecked(span as usize) }
    }

    /// The group word that `index` belongs to.
    ///
    /// # Safety
    /// [`has_slot`](Self::has_slot).
    #[inline(always)]
    pub(crate) unsafe fn group(&self, index: u32) -> &AtomicU64 {
        debug_assert!(self.has_slot(index), "slot {index} is not there");
        // SAFETY: the caller's.
        unsafe { self.groups.get_unchecked((index / GROUP_SLOTS) as usize) }
    }

    /// Makes the next entity of a slot that the caller has claimed, at a place or without one. No
    /// read-modify-write.
    ///
    /// # Safety
    /// `index` is a slot's.
    #[inline(always)]
    pub(crate) unsafe fn create_at(&self, index: u32, place: Option<Place>) -> Entity {
        // SAFETY: the caller's.
        create_in(unsafe { self.slot(index) }, index, place)
    }
}

/// [`Core::create_at`], given the slot's word.
#[inline(always)]
pub(super) fn create_in(slot: &AtomicU64, index: u32, place: Option<Place>) -> Entity {
    // Ordering: Relaxed. While the slot is dead nobody but the owner of the claim changes the word,
    // and the claim was passed on with Release and Acquire.
    let next = slot::next(slot.load(Ordering::Relaxed));
    // Ordering: Release: whoever sees the entity sees what its creator did before.
    let order = mutant::ordering("create_relaxed", Ordering::Release);
    if place.is_some() && mutant::active("place_stored_late") {
        slot.store(slot::at(next, None), order);
    }
    slot.store(slot::at(next, place), order);
    slot::entity(next, index)
}

#[cfg(all(test, not(loom)))]
mod layout {
    use core::mem::{align_of, offset_of};

    use super::*;

    #[test]
    fn what_claims_note_shares_no_cache_line_with_what_everybody_reads() {
        const LINE: usize = align_of::<CachePadded<u8>>();
        let written = offset_of!(Core, used) / LINE;
        let read = [
            offset_of!(Core, slots),
            offset_of!(Core, groups),
            offset_of!(Core, claims),
            offset_of!(Core, opened),
            offset_of!(Core, width),
        ];
        assert!(read.iter().all(|offset| offset / LINE != written));
    }
}
