//! The protocol: claim, create, destroy, look up, publish.
//!
//! # State
//! * One *slot word* for each index: version and place; odd = alive (`slot`).
//! * One *claim word* for each 64 slots, 1 = taken: the only authority on who may use a slot again.
//! * One *group word* for each 16 slots: decides who destroys (`group`).
//! * Hints over the claim words (`summary`), and who works in which block: never relied upon.
//!
//! All of it is valid when it is all zeros, and is never unmapped before the index is dropped.
//!
//! # Operations, each with its linearization point
//! * claim: `swap(FULL)` on a claim word gives all its free slots to the caller.
//! * create: the owner of a claim stores the next odd version in the slot word (that store).
//! * exists, locate: a load of the slot word (that load).
//! * publish: a compare-and-swap of the slot word that names the version (that compare-and-swap).
//! * destroy: a compare-and-swap of the group word condemns up to 16 entities whose slot words were
//!   checked, and thereby says that this call is the one that destroys them; then each slot word is
//!   stored even (that store, for each). Another call that comes upon a condemned entity makes the slot
//!   word even itself, before it says that the entity is dead.
//! * release: `fetch_sub` on the claim word gives slots back.
//!
//! # Invariants
//! 1. A claim bit is cleared only by the thread that owns the slot: the one that condemned its
//!    entity, after it stored the slot word, or whoever claimed it and did not use it.
//! 2. A slot word goes from even to odd only by a store of the owner of the claim.
//! 3. A slot word goes from odd to even only if its entity is condemned, and an entity that is
//!    condemned stays so: its slot's phase flips again only after a later version was created.
//! 4. A version is used once: versions of a slot only grow, and the last one retires the slot by
//!    leaving its claim bit set for ever.
//!
//! papers/entity-index.md has the argument; loom-tests/ the models.

use std::io;

use crate::entity::index::cache::{Cache, MAGAZINE, NO_BLOCK, Tally};
use crate::entity::index::summary::{FANOUT, Summary};
use crate::entity::index::{group, slot, wide};
use crate::entity::{Entity, EntityError, EntityFault, Full, Place};
use crate::memory::{Table, ZeroFilled};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::geometry::{
    BLOCK_SLOTS, BLOCKS, FULL, GROUP_SLOTS, SLOTS, WORD_BITS, WORDS, WORDS_PER_BLOCK,
};
use crate::sync::local::Registry;
use crate::sync::{mutant, probe};

/// The threads' caches.
pub(crate) type Threads = Registry<Cache, Tally>;

/// Slots that a full magazine gives back at once: the older half.
const OLDER: usize = MAGAZINE.div_ceil(2);

/// Searches by hints that may be crossed by other threads' changes before every word is looked at.
const QUIET_TRIES: usize = if cfg!(loom) { 1 } else { 3 };

/// The shared state of an index, without the threads' caches.
#[derive(Debug)]
pub(crate) struct Core {
    slots: Table<AtomicU64>,
    groups: Table<AtomicU64>,
    claims: Table<AtomicU64>,
    summary: Summary,
    /// For each block the number of the cache that works in it, or 0: a hint that keeps threads
    /// apart.
    workers: Table<AtomicU32>,
    /// Blocks below this have been used; the others have never been touched.
    opened: AtomicU32,
    /// Fetch a new block's pages in one call.
    populate: bool,
    /// The processor has the wide instructions of `wide`.
    wide: bool,
}

/// Blocks whose group words are fetched at a time, 64 KiB of them, where slots come by huge pages.
#[cfg(not(loom))]
const GROUPS_FETCHED: u32 = 16;

impl Core {
    /// An empty index: address space only.
    pub(crate) fn new(huge_pages: bool) -> io::Result<Self> {
        // The staggers keep the tables' first lines in different cache sets.
        let slots = Table::new(SLOTS as usize, 0)?;
        let groups = Table::new((SLOTS / GROUP_SLOTS) as usize, 5 << 12)?;
        let huge = huge_pages && advise_huge(&slots) && advise_huge(&groups);
        Ok(Self {
            slots,
            groups,
            claims: Table::new(WORDS as usize, 7 << 12)?,
            summary: Summary::new(WORDS as usize, 8, 11 << 12)?,
            workers: Table::new(BLOCKS as usize, 13 << 12)?,
            opened: AtomicU32::new(0),
            // A huge page comes in one fault as it is.
            populate: !huge,
            wide: wide::available(),
        })
    }

    /// Whether the wide paths may be taken.
    #[inline(always)]
    pub(crate) fn wide(&self) -> bool {
        self.wide
    }

    /// Blocks that have been used.
    pub(crate) fn opened(&self) -> u32 {
        self.opened.load(Ordering::Acquire)
    }

    /// The slot word of `index`.
    ///
    /// # Safety
    /// `index < SLOTS`.
    #[inline(always)]
    pub(crate) unsafe fn slot(&self, index: u32) -> &AtomicU64 {
        // SAFETY: the caller's.
        unsafe { self.slots.get_unchecked(index as usize) }
    }

    /// The claim word number `word`.
    ///
    /// # Safety
    /// `word < WORDS`.
    #[inline(always)]
    pub(crate) unsafe fn claims(&self, word: u32) -> &AtomicU64 {
        // SAFETY: the caller's.
        unsafe { self.claims.get_unchecked(word as usize) }
    }

    /// The group word that `index` belongs to.
    ///
    /// # Safety
    /// `index < SLOTS`.
    #[inline(always)]
    pub(crate) unsafe fn group(&self, index: u32) -> &AtomicU64 {
        // SAFETY: the caller's.
        unsafe { self.groups.get_unchecked((index / GROUP_SLOTS) as usize) }
    }

    // --- Looking up -----------------------------------------------------------------------------

    /// The slot word of a living entity; `None` if it does not live. Wait-free: one load.
    #[inline(always)]
    pub(crate) fn living(&self, entity: Entity) -> Option<u64> {
        if entity.index() >= SLOTS {
            return None;
        }
        // Ordering: Acquire pairs with the Release in `create_at` and `publish`: the entity and its
        // place are seen with what was written before.
        //
        // SAFETY: just checked.
        let word = unsafe { self.slot(entity.index()) }.load(Ordering::Acquire);
        if mutant::active("look_up_by_claim") {
            // SAFETY: just checked.
            let claims = unsafe { self.claims(entity.index() / WORD_BITS) };
            let taken = claims.load(Ordering::Acquire) >> (entity.index() % WORD_BITS) & 1 == 1;
            return taken.then_some(word);
        }
        // A handle's version is odd, so a dead slot never matches.
        (slot::version(word) == entity.version()).then_some(word)
    }

    /// What is wrong with a handle that is not alive.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse(&self, entity: Entity) -> EntityError {
        let fault = if entity.index() >= SLOTS {
            EntityFault::OutOfRange
        } else {
            // SAFETY: just checked.
            let word = unsafe { self.slot(entity.index()) }.load(Ordering::Acquire);
            // Death is for ever: if the entity lives now, it was created after it was refused.
            if entity.version() > slot::version(word) || self.living(entity).is_some() {
                EntityFault::NeverCreated
            } else {
                EntityFault::Destroyed
            }
        };
        EntityError::new(entity, fault)
    }

    /// Sets the place of a living entity; with `only_unplaced`, only if it has none.
    pub(crate) fn publish(
        &self,
        entity: Entity,
        place: Place,
        only_unplaced: bool,
    ) -> Result<(), EntityError> {
        let index = entity.index();
        let Some(mut word) = self.living(entity) else {
            return Err(self.refuse(entity));
        };
        let new = slot::pack(entity.version(), Some(place));
        // SAFETY: a living entity's index is in range.
        let slot = unsafe { self.slot(index) };
        loop {
            if slot::version(word) != entity.version() {
                return Err(self.refuse(entity));
            }
            if only_unplaced && slot::place(word).is_some() {
                return Err(EntityError::new(entity, EntityFault::AlreadyBuilt));
            }
            if mutant::active("publish_by_store") {
                slot.store(new, Ordering::Release);
                break;
            }
            // Ordering: Release pairs with the Acquire in `living`. The version is part of what is
            // compared: the place of another entity is never touched.
            let order = mutant::ordering("publish_relaxed", Ordering::Release);
            match slot.compare_exchange_weak(word, new, order, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        // No second look: the call took effect, and must not deny it if the entity has died since.
        if mutant::active("publish_second_look") && self.living(entity).is_none() {
            return Err(self.refuse(entity));
        }
        Ok(())
    }

    /// Changes the place of a living entity, if it is `from`; else says what it is.
    pub(crate) fn relocate(
        &self,
        entity: Entity,
        from: Option<Place>,
        to: Option<Place>,
    ) -> Result<Result<(), Option<Place>>, EntityError> {
        if self.living(entity).is_none() {
            return Err(self.refuse(entity));
        }
        let old = slot::pack(entity.version(), from);
        let new = slot::pack(entity.version(), to);
        // Ordering: as in `publish`; Acquire, because the caller may go on with what it finds.
        //
        // SAFETY: a living entity's index is in range.
        let slot = unsafe { self.slot(entity.index()) };
        match slot.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(Ok(())),
            Err(now) if slot::version(now) == entity.version() => Ok(Err(slot::place(now))),
            Err(_) => Err(self.refuse(entity)),
        }
    }

    /// The living entity of a slot.
    pub(crate) fn at(&self, index: u32) -> Option<Entity> {
        if index >= SLOTS {
            return None;
        }
        // Ordering: Acquire, as in `living`.
        //
        // SAFETY: just checked.
        let word = unsafe { self.slot(index) }.load(Ordering::Acquire);
        // A dead slot's version is even, and no handle has one.
        Entity::new(index, slot::version(word))
    }

    // --- Creating -------------------------------------------------------------------------------

    /// Makes the next entity of a slot that the caller has claimed. No read-modify-write.
    ///
    /// # Safety
    /// `index < SLOTS`.
    #[inline(always)]
    pub(crate) unsafe fn create_at(&self, index: u32) -> Entity {
        // SAFETY: the caller's.
        let slot = unsafe { self.slot(index) };
        // Ordering: Relaxed. While the slot is dead nobody but the owner of the claim changes the word,
        // and the claim was passed on with Release and Acquire.
        let version = slot::version(slot.load(Ordering::Relaxed)) + 1;
        // Ordering: Release: whoever sees the entity sees what its creator did before.
        let order = mutant::ordering("create_relaxed", Ordering::Release);
        slot.store(slot::pack(version, None), order);
        Entity::from_parts(index, version)
    }

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
        let full = Full {
            capacity: SLOTS as usize,
        };
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
                return Err(full);
            }
        }
        let words = if mutant::active("no_full_scan") {
            0
        } else {
            WORDS
        };
        for word in 0..words {
            probe::probed(1);
            if !self.is_full(word) && self.claim_for(cache, tally, word) {
                return Ok(());
            }
        }
        Err(full)
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
        let won = if self.is_full(word) {
            0
        } else {
            self.claim_word(word)
        };
        self.mark_later(
            cache,
            tally,
            word as usize / FANOUT,
            1 << (word as usize % FANOUT),
        );
        if won == 0 {
            probe::failed_claim();
            return false;
        }
        cache.word = word;
        cache.mask = won;
        true
    }

    /// Notes that the caller has filled words, given as bits of their hint word.
    #[inline]
    pub(crate) fn mark_later(
        &self,
        cache: &mut Cache,
        tally: &Tally,
        hint_word: usize,
        words: u64,
    ) {
        if hint_word as u32 != cache.hint_word {
            self.mark_now(cache, tally);
            cache.hint_word = hint_word as u32;
        }
        cache.unmarked |= words;
    }

    /// Sets the hints of the words that were noted.
    pub(crate) fn mark_now(&self, cache: &mut Cache, tally: &Tally) {
        let words = core::mem::take(&mut cache.unmarked);
        if words != 0 {
            let _lag = tally.lag.begin();
            self.mark_claimed(cache.hint_word as usize, words);
        }
    }

    /// The next word of the hint word that the thread works in.
    #[inline]
    fn next_of_hint_word(&self, cache: &Cache) -> Option<u32> {
        let behind = u64::MAX >> cache.unmarked.leading_zeros();
        let closed = self.summary.leaves(cache.hint_word as usize) | behind;
        let open = !closed & FULL;
        (open != 0).then(|| cache.hint_word * FANOUT as u32 + open.trailing_zeros())
    }

    /// A word that the hints say has a free slot: in the thread's own block, else in a block where
    /// nobody works, else in a new block, else anywhere.
    pub(crate) fn candidate(&self, cache: &mut Cache, tally: &Tally) -> Option<u32> {
        if cache.unmarked != 0 {
            if let Some(word) = self.next_of_hint_word(cache) {
                return Some(word);
            }
            self.mark_now(cache, tally);
        }
        if cache.block != NO_BLOCK {
            let first = cache.block * WORDS_PER_BLOCK;
            if let Some(word) = self.find(first, first + WORDS_PER_BLOCK) {
                return Some(word);
            }
            self.leave_block(cache);
        }
        let opened = self.opened();
        let mut from = 0;
        while let Some(word) = self.find(from, opened * WORDS_PER_BLOCK) {
            let block = word / WORDS_PER_BLOCK;
            if self.enter_block(cache, block) {
                return Some(word);
            }
            from = (block + 1) * WORDS_PER_BLOCK;
        }
        if let Some(block) = self.open_block() {
            self.enter_block(cache, block);
            cache.block = block;
            return Some(block * WORDS_PER_BLOCK);
        }
        self.find(0, WORDS)
    }

    fn find(&self, from: u32, to: u32) -> Option<u32> {
        self.summary
            .find(from as usize, to as usize)
            .map(|word| word as u32)
    }

    /// Makes `block` the thread's, unless another thread works there. A hint: two threads may end
    /// up in one block, which costs speed and nothing else.
    fn enter_block(&self, cache: &mut Cache, block: u32) -> bool {
        let worker = self.workers.get(block as usize);
        if worker.load(Ordering::Relaxed) != 0 {
            return false;
        }
        worker.store(cache.ordinal, Ordering::Relaxed);
        cache.block = block;
        true
    }

    /// The thread does not work in its block any more.
    pub(crate) fn leave_block(&self, cache: &mut Cache) {
        if cache.block != NO_BLOCK {
            let worker = self.workers.get(cache.block as usize);
            if worker.load(Ordering::Relaxed) == cache.ordinal {
                worker.store(0, Ordering::Relaxed);
            }
            cache.block = NO_BLOCK;
        }
    }

    /// The first block that was never used; `None` if there is none.
    fn open_block(&self) -> Option<u32> {
        let mut opened = self.opened.load(Ordering::Relaxed);
        loop {
            if opened == BLOCKS {
                return None;
            }
            // Ordering: Relaxed. The number is all that is passed on; an unused block is zeros.
            match self.opened.compare_exchange_weak(
                opened,
                opened + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => opened = now,
            }
        }
        #[cfg(not(loom))]
        {
            let slots = (opened * BLOCK_SLOTS) as usize;
            let groups = (opened * BLOCK_SLOTS / GROUP_SLOTS) as usize;
            if self.populate {
                // One call instead of a fault a page. A refusal means that the pages come singly.
                let _ = self.slots.populate(slots..slots + BLOCK_SLOTS as usize);
                let end = groups + (BLOCK_SLOTS / GROUP_SLOTS) as usize;
                let _ = self.groups.populate(groups..end);
            } else {
                // A page that is read first comes twice: as the one that all zeros share, and again
                // when it is written to. So it is written to first. (Not by `fetch_or(0)`, which
                // compilers take for a load.)
                let claims = (opened * WORDS_PER_BLOCK) as usize;
                for first in [self.slots.get(slots), self.claims.get(claims)] {
                    let _ = first.compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed);
                }
                // The groups of the first million slots lie before the first border of a huge page.
                if opened.is_multiple_of(GROUPS_FETCHED) {
                    let end = (opened + GROUPS_FETCHED) * BLOCK_SLOTS / GROUP_SLOTS;
                    let _ = self.groups.populate(groups..end as usize);
                }
            }
        }
        #[cfg(loom)]
        let _ = (self.populate, BLOCK_SLOTS);
        Some(opened)
    }

    /// Takes all free slots of a word: a mask of those that are the caller's now. The caller sees to
    /// the hint.
    #[inline]
    pub(crate) fn claim_word(&self, word: u32) -> u64 {
        // SAFETY: callers pass words below `WORDS`.
        let taken = unsafe { self.claims(word) };
        // Ordering: Acquire pairs with the Release in `release`: the slots are seen as those who
        // freed them left them. All in between are read-modify-writes, so one Acquire reaches all.
        let old = taken.swap(FULL, mutant::ordering("claim_relaxed", Ordering::AcqRel));
        if mutant::active("claim_takes_all") {
            return FULL;
        }
        !old & FULL
    }

    /// Marks claim words that the caller has filled, given as bits of their hint word.
    pub(crate) fn mark_claimed(&self, hint_word: usize, words: u64) {
        self.summary.mark_full_many(hint_word, words, |words| {
            let mut full = words;
            let mut left = words;
            while left != 0 {
                let word = hint_word * FANOUT + left.trailing_zeros() as usize;
                if !self.is_full(word as u32) {
                    full &= !(left & left.wrapping_neg());
                }
                left &= left - 1;
            }
            full
        });
    }

    /// Whether no slot of a word is free.
    #[inline]
    pub(crate) fn is_full(&self, word: u32) -> bool {
        // Ordering: Acquire, so that a look after the hint was set is a look after it was set.
        // SAFETY: callers pass words below `WORDS`.
        unsafe { self.claims(word) }.load(Ordering::Acquire) == FULL
    }

    // --- Destroying -----------------------------------------------------------------------------

    /// Destroys one entity. The slot is the caller's then, who keeps or releases it, unless it has
    /// retired ([`slot::LAST_VERSION`]).
    ///
    /// Lock-free: a retry means that another entity of the group died.
    #[inline(always)]
    pub(crate) fn kill(&self, entity: Entity) -> Result<(), EntityError> {
        let index = entity.index();
        if index >= SLOTS {
            return Err(self.refuse(entity));
        }
        // SAFETY: just checked.
        let (group, slot) = unsafe { (self.group(index), self.slot(index)) };
        let lane = index % GROUP_SLOTS;
        // The group first: if it is still the same after the slot was looked at, nobody was condemned
        // in between.
        //
        // Ordering: Acquire pairs with the Release of the compare-and-swap below. Who sees a later
        // version of the slot condemned sees, through it, that the slot has moved on.
        let mut phases = group.load(mutant::ordering("kill_relaxed", Ordering::Acquire));
        loop {
            // Ordering: Relaxed. If this is an old value, the group word that goes with the newer
            // one was either seen (then the phases differ) or makes the compare-and-swap fail.
            let version = slot::version(slot.load(Ordering::Relaxed));
            if version != entity.version() && !mutant::active("kill_ignores_version") {
                return Err(self.refuse(entity));
            }
            if !group::in_phase(phases, lane, version) && !mutant::active("kill_ignores_phase") {
                // Condemned, or created after the group was loaded: then look again.
                phases = match self.bury_condemned(entity) {
                    None => return Err(EntityError::new(entity, EntityFault::Destroyed)),
                    Some(phases) => phases,
                };
                continue;
            }
            let dead = if mutant::active("no_generation") {
                phases ^ 1 << lane
            } else {
                group::after_death(phases, 1 << lane)
            };
            // Ordering: Release: whoever sees the death sees what its destroyer had seen of the
            // slot, so that it never takes the old version for the current one.
            match group.compare_exchange_weak(
                phases,
                dead,
                mutant::ordering("kill_release", Ordering::AcqRel),
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    if mutant::active("kill_without_bury") {
                        return Ok(());
                    }
                    self.bury(index, version);
                    return Ok(());
                }
                Err(_) if mutant::active("kill_takes_loss_for_win") => return Ok(()),
                Err(now) => {
                    probe::failed_claim();
                    phases = now;
                }
            }
        }
    }

    /// Makes the slot word of an entity even that the caller has condemned.
    #[inline(always)]
    pub(crate) fn bury(&self, index: u32, version: u32) {
        // A plain store: until the caller passes the slot on, others can only change the place of
        // this version, or store the same.
        //
        // Ordering: Release, for whoever learns from the word that the entity is dead.
        //
        // SAFETY: the caller looked at the slot.
        unsafe { self.slot(index) }.store(slot::dead(version), Ordering::Release);
    }

    /// For an entity whose version was seen in its slot while the slot's phase said that it is
    /// condemned. If it is: sees to it that the slot word is even, because whoever condemned it may
    /// have stopped. If it is not, because it was created after the phase was read: the group word.
    #[cold]
    #[inline(never)]
    pub(crate) fn bury_condemned(&self, entity: Entity) -> Option<u64> {
        let index = entity.index();
        // SAFETY: the caller looked at the slot.
        let (group, slot) = unsafe { (self.group(index), self.slot(index)) };
        let mut word = slot.load(Ordering::Acquire);
        // After the slot: if the phase differs now from that of a version that stood in the slot
        // before, that version is condemned.
        //
        // Ordering: Acquire above keeps this load behind it.
        let phases = group.load(Ordering::Acquire);
        if slot::version(word) != entity.version() {
            return None;
        }
        if group::in_phase(phases, index % GROUP_SLOTS, entity.version())
            && !mutant::active("bury_without_second_look")
        {
            return Some(phases);
        }
        while slot::version(word) == entity.version() && !mutant::active("no_help") {
            let dead = slot::dead(entity.version());
            // Ordering: Release, as in `bury`. A failure means that the place changed, or that the
            // word is even already.
            match slot.compare_exchange_weak(word, dead, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        None
    }

    /// Gives claimed slots of a word back to everybody. Wait-free.
    pub(crate) fn release(&self, tally: &Tally, word: u32, slots: u64) {
        let _lag = tally.lag.begin();
        if slots != 0 && self.release_unmarked(word, slots) {
            self.summary.mark_open(word as usize);
        }
    }

    /// `release` for a caller that sees to the hint itself: true if the word was full.
    #[inline]
    pub(crate) fn release_unmarked(&self, word: u32, slots: u64) -> bool {
        // SAFETY: callers pass words below `WORDS`.
        let taken = unsafe { self.claims(word) };
        // The bits are the caller's and set, so nothing is borrowed from others.
        //
        // Ordering: Release pairs with the Acquire in `claim_word`.
        let old = taken.fetch_sub(slots, mutant::ordering("release_relaxed", Ordering::AcqRel));
        debug_assert!(
            old & slots == slots,
            "a slot was released that was not claimed"
        );
        old == FULL
    }

    /// Marks claim words that the caller has opened, given as bits of their hint word.
    pub(crate) fn mark_released(&self, hint_word: usize, words: u64) {
        self.summary.mark_open_many(hint_word, words);
    }

    /// Keeps a freed slot in the cache; if the magazine is full, makes room.
    #[inline(always)]
    pub(crate) fn keep(&self, cache: &mut Cache, tally: &Tally, index: u32) {
        if !cache.keep(index) {
            self.spill(cache, tally, index);
        }
    }

    /// Makes room in a full magazine and keeps the freed slot `index` there: the older half goes back.
    ///
    /// Slots that were freed in order stand side by side, and go back by one read-modify-write a word.
    #[inline(never)]
    fn spill(&self, cache: &mut Cache, tally: &Tally, index: u32) {
        let mut older = [0; OLDER];
        older.copy_from_slice(&cache.magazine[..OLDER]);
        cache.magazine.copy_within(OLDER.., 0);
        cache.len -= OLDER as u32;
        cache.keep(index);
        for run in older.chunk_by(|a, b| a / WORD_BITS == b / WORD_BITS) {
            let slots = run
                .iter()
                .fold(0, |slots, index| slots | 1 << (index % WORD_BITS));
            if !cache.stow(run[0] / WORD_BITS, slots) {
                self.release(tally, run[0] / WORD_BITS, slots);
            }
        }
    }

    /// Gives all slots of a cache back.
    pub(crate) fn flush(&self, cache: &mut Cache, tally: &Tally) {
        self.release(tally, cache.word, cache.mask);
        cache.mask = 0;
        if mutant::active("flush_forgets_magazine") {
            cache.len = 0;
        }
        let magazine = &mut cache.magazine[..cache.len as usize];
        magazine.sort_unstable();
        for run in magazine.chunk_by(|a, b| a / WORD_BITS == b / WORD_BITS) {
            let slots = run
                .iter()
                .fold(0, |slots, index| slots | 1 << (index % WORD_BITS));
            self.release(tally, run[0] / WORD_BITS, slots);
        }
        cache.len = 0;
        self.mark_now(cache, tally);
        self.leave_block(cache);
    }
}

/// Asks for huge pages; whether the system knows them.
#[cfg(not(loom))]
fn advise_huge<T: ZeroFilled>(table: &Table<T>) -> bool {
    match table.advise_huge() {
        Ok(()) => true,
        Err(error) => {
            tracing::debug!(%error, "no huge pages for the entity index");
            false
        }
    }
}

#[cfg(loom)]
fn advise_huge<T: ZeroFilled>(_table: &Table<T>) -> bool {
    true
}

impl Tally {
    /// Counts `created` entities (or, as a two's complement, destroyed ones). Only the owner calls
    /// it, so a load and a store are enough.
    #[inline(always)]
    pub(crate) fn add_live(&self, created: u64) {
        let live = self.live.load(Ordering::Relaxed);
        self.live
            .store(live.wrapping_add(created), Ordering::Relaxed);
    }

    /// Counts retired slots.
    pub(crate) fn add_retired(&self, slots: u64) {
        let retired = self.retired.load(Ordering::Relaxed);
        self.retired.store(retired + slots, Ordering::Relaxed);
    }
}
