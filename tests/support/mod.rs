//! What several tests of this folder need: a ledger of who owns what, and dice.

use std::sync::atomic::{AtomicU64, Ordering};

/// Who is alive or in use, kept beside the allocator under test and believed instead of it.
pub(crate) struct Ledger {
    bits: Vec<AtomicU64>,
}

impl Ledger {
    /// A ledger of `size` things, all free. Costs memory only where something is entered.
    pub(crate) fn new(size: usize) -> Self {
        Self {
            bits: (0..size.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Enters that `index` was handed out.
    ///
    /// # Panics
    /// If somebody owns it already.
    #[track_caller]
    pub(crate) fn take(&self, index: usize) {
        let bit = 1 << (index % 64);
        let before = self.bits[index / 64].fetch_or(bit, Ordering::AcqRel);
        assert_eq!(before & bit, 0, "{index} was handed out twice");
    }

    /// Enters that `index` is about to be given back.
    #[track_caller]
    pub(crate) fn give(&self, index: usize) {
        let bit = 1 << (index % 64);
        let before = self.bits[index / 64].fetch_and(!bit, Ordering::AcqRel);
        assert_ne!(
            before & bit,
            0,
            "{index} was given back by somebody who did not own it"
        );
    }
}

/// Random numbers that are the same in every run (SplitMix64).
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice of their own for each `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    /// Shuffles `items`.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
