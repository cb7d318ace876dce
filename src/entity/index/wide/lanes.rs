//! `Lanes`: the slot words that one register holds, and what a run of entities does with them.

use crate::entity::Entity;

/// A register of words of eight bytes, each for one slot. Why its accesses to slot words are sound: see the
/// room's `mod.rs`.
///
/// Everything is inlined into a function that is compiled for processors that have the instructions.
///
/// # Safety
/// Of all of these: the processor has the implementation's instructions.
pub(super) trait Lanes: Copy {
    /// How many words: a power of two.
    const COUNT: usize;

    /// How registers of handles one behind the other become the lines between two borders. See [`joint`](Self::joint).
    type Joint: Copy;

    /// The same word in each lane.
    unsafe fn splat(word: i64) -> Self;

    /// `first` in lane 0, and `step` more in each next one.
    unsafe fn ramp(first: i64, step: i64) -> Self;

    /// The sums, lane by lane.
    unsafe fn add(self, other: Self) -> Self;

    /// The bits of both.
    unsafe fn or(self, other: Self) -> Self;

    /// Loads slot words.
    ///
    /// # Safety
    /// They exist, and are aligned to the register's size.
    unsafe fn load(words: *const u64) -> Self;

    /// Stores slot words.
    ///
    /// # Safety
    /// They exist, are aligned to the register's size, and are claimed by the caller.
    unsafe fn store(self, words: *mut u64);

    /// Stores handles, the index in the low half and the version above.
    ///
    /// # Safety
    /// There is room for them.
    unsafe fn store_handles(self, out: *mut Entity);

    /// For handles of which so many, at least one and not all, lie before a border; `None` where it is quicker to
    /// store them across borders.
    unsafe fn joint(before_border: usize) -> Option<Self::Joint>;

    /// The handles between two borders: those of the register before that lie behind one, and those of this register
    /// that lie before the next.
    unsafe fn join(self, before: Self, joint: Self::Joint) -> Self;
}
