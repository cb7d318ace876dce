//! The thread's cache: slots that it has claimed and not used yet.
//!
//! Two parts: the unused rest of one claimed word, in index order, and a magazine of slots that
//! this thread freed, newest first (they are warm). The claim bits of all of them stay set, so
//! nobody else can have them: at most [`CACHED_IDS`] in all.
//!
//! How full the magazine is stands in the [`Tally`], beside the count of living entities, because one addition
//! serves both. So every call that takes from the magazine or adds to it gets the cache and the tally of one node.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::geometry::WORD_BITS;
use crate::sync::local::{Lag, Lagging};

/// Freed slots that a thread keeps for its next creations.
#[cfg(not(loom))]
pub(crate) const MAGAZINE: usize = 48;
/// Freed slots that a thread keeps for its next creations.
#[cfg(loom)]
pub(crate) const MAGAZINE: usize = 1;

/// Ids that one thread, or one session, can keep from the others at most: a claimed word and a magazine. The number
/// [may change in any version](crate#what-stays).
pub const CACHED_IDS: usize = WORD_BITS as usize + MAGAZINE;

/// "No block": the thread has not looked for one yet, or found none.
pub(crate) const NO_BLOCK: u32 = u32::MAX;

/// One thread's claimed slots.
#[derive(Debug)]
pub(crate) struct Cache {
    /// The claim word that `mask` belongs to.
    pub(crate) word: u32,
    /// Claimed and unused slots of that word.
    pub(crate) mask: u64,
    /// The block that this thread takes words from.
    pub(crate) block: u32,
    /// The span that this thread took from last.
    pub(crate) span: u32,
    /// Lanes of that span whose claim words this thread has emptied and whose hints it has not set yet:
    /// it sets them together. (Until then others may look there in vain.)
    pub(crate) unmarked: u64,
    /// This node's number, from 1: marks the block that the thread works in.
    pub(crate) ordinal: u32,
    /// Freed slots, the oldest first: as many as [`Tally::kept`] says.
    pub(crate) magazine: [u32; MAGAZINE],
}

impl Cache {
    /// An empty cache of the thread with this number.
    pub(crate) const fn new(ordinal: u32) -> Self {
        Self {
            word: 0,
            mask: 0,
            block: NO_BLOCK,
            span: 0,
            unmarked: 0,
            ordinal,
            magazine: [0; MAGAZINE],
        }
    }

    /// A claimed slot, counted as a living entity's; `None` if there is none: then a word must be claimed.
    #[inline(always)]
    pub(crate) fn take(&mut self, tally: &Tally) -> Option<u32> {
        if let Some(index) = self.newest(tally) {
            tally.balance(1, -1);
            return Some(index);
        }
        if self.mask != 0 {
            tally.balance(1, 0);
            let lane = self.mask.trailing_zeros();
            self.mask &= self.mask - 1;
            return Some(self.word * WORD_BITS + lane);
        }
        None
    }

    /// The slot in the magazine that was freed last.
    #[inline(always)]
    fn newest(&self, tally: &Tally) -> Option<u32> {
        self.magazine.get(tally.kept().wrapping_sub(1)).copied()
    }

    /// Lanes of `span` where this thread does not look again before it has set their hints.
    #[inline]
    pub(crate) fn behind(&self) -> u64 {
        u64::MAX
            .checked_shr(self.unmarked.leading_zeros())
            .unwrap_or(0)
    }

    /// How many slots it holds.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn held(&self, tally: &Tally) -> usize {
        tally.kept() + self.mask.count_ones() as usize
    }

    /// Keeps freed slots of one word, if no claimed word is in hand or it is this one; else `false`.
    #[inline]
    pub(crate) fn stow(&mut self, word: u32, slots: u64) -> bool {
        if self.mask == 0 {
            self.word = word;
            self.mask = slots;
        } else if self.word == word {
            self.mask |= slots;
        } else {
            return false;
        }
        true
    }

    /// Keeps a freed slot, and counts the death of its entity; `false`, and nothing is done, if there is no room.
    #[inline(always)]
    pub(crate) fn keep(&mut self, tally: &Tally, index: u32) -> bool {
        let Some(place) = self.magazine.get_mut(tally.kept()) else {
            return false;
        };
        *place = index;
        tally.balance(-1, 1);
        true
    }

    /// The slots in the magazine.
    pub(crate) fn kept(&mut self, tally: &Tally) -> &mut [u32] {
        &mut self.magazine[..tally.kept()]
    }
}

/// Bits of the balance that say how many slots are in the magazine.
const KEPT_BITS: u32 = 8;

const _: () = assert!(MAGAZINE < 1 << KEPT_BITS);

/// What everybody may read of a thread's cache.
///
/// Orderings: the counts are written by their owner alone, and others only add them up: relaxed. (A node goes from one
/// owner to the next by the Release and the Acquire of `Registry`.)
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// `live 56 | kept 8`: entities that this node's threads created less those that they destroyed, modulo 2⁵⁶,
    /// and how many slots are in the magazine. In one word, because a creation or a death that the magazine serves
    /// changes both: that is one addition. Only the owner writes it.
    balance: AtomicU64,
    /// Slots that this node's threads retired. Only the owner writes it.
    pub(crate) retired: AtomicU64,
    /// Set while the hints may lag behind what this node's thread has done.
    pub(crate) lag: Lag,
}

impl Tally {
    /// How many entities live, given the tallies of all nodes: right modulo 2⁵⁶, and so for as many as there can be.
    pub(crate) fn living<'a>(all: impl Iterator<Item = &'a Self>) -> i64 {
        // What one node has above its magazine may have wrapped; only the sum says something.
        let live = |tally: &Self| tally.balance.load(Ordering::Relaxed) >> KEPT_BITS;
        let sum = all.map(live).fold(0_u64, u64::wrapping_add);
        (sum << KEPT_BITS).cast_signed() >> KEPT_BITS
    }

    /// How many slots are in the magazine.
    #[inline(always)]
    pub(crate) fn kept(&self) -> usize {
        (self.balance.load(Ordering::Relaxed) % (1 << KEPT_BITS)) as usize
    }

    /// Counts creations, less deaths, and slots that came to the magazine, less those that went. Only the owner
    /// calls it, so a load and a store are enough.
    #[inline(always)]
    fn balance(&self, live: i64, kept: i64) {
        let balance = self.balance.load(Ordering::Relaxed);
        let change = ((live << KEPT_BITS) + kept).cast_unsigned();
        self.balance
            .store(balance.wrapping_add(change), Ordering::Relaxed);
    }

    /// Counts `created` entities.
    #[inline(always)]
    pub(crate) fn add_created(&self, created: usize) {
        self.balance(created as i64, 0);
    }

    /// Counts `destroyed` entities.
    #[inline(always)]
    pub(crate) fn add_destroyed(&self, destroyed: usize) {
        self.balance(-(destroyed as i64), 0);
    }

    /// Notes that slots have left the magazine.
    #[inline(always)]
    pub(crate) fn forget_kept(&self, slots: usize) {
        self.balance(0, -(slots as i64));
    }

    /// Counts retired slots.
    pub(crate) fn add_retired(&self, slots: u64) {
        let retired = self.retired.load(Ordering::Relaxed);
        self.retired.store(retired + slots, Ordering::Relaxed);
    }
}

impl Lagging for Tally {
    fn lag(&self) -> &Lag {
        &self.lag
    }
}
