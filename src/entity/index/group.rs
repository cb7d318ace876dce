//! The group word: who destroyed which of 16 entities.
//!
//! `generation 48 | phases 16`. A slot's *phase* is one bit; an odd version has a phase too, bit 1
//! of the version, so that the versions 1, 3, 5, 7 … of a slot have the phases 0, 1, 0, 1 …
//!
//! Invariant: the entity with the odd version that stands in the slot word is condemned exactly if
//! the slot's phase bit is not the phase of that version. To destroy is to flip the bit, for up to 16
//! entities by one compare-and-swap, and then to make their slot words even. The next version has
//! the other phase, so creating does not touch the group: it takes no read-modify-write at all.
//!
//! Every compare-and-swap that flips bits adds 1 to the generation, so a word never comes back: who
//! finds the word unchanged knows that nobody was condemned in the group meanwhile. A slot dies at
//! most 2³¹ times before it retires, so a group sees at most 2³⁵ generations of 2⁴⁸.

use crate::sync::geometry::GROUP_SLOTS;

const PHASES: u64 = (1 << GROUP_SLOTS) - 1;
const GENERATION: u64 = 1 << GROUP_SLOTS;

/// Whether slot `lane` of the group is in the phase of `version`.
#[inline(always)]
pub(crate) const fn in_phase(group: u64, lane: u32, version: u32) -> bool {
    ((group >> lane) ^ (version as u64 >> 1)) & 1 == 0
}

/// The phase bits of the group.
#[inline(always)]
pub(crate) const fn phases(group: u64) -> u64 {
    group & PHASES
}

/// The word after the slots in `lanes` died.
#[inline(always)]
pub(crate) const fn after_death(group: u64, lanes: u64) -> u64 {
    debug_assert!(lanes & !PHASES == 0);
    // The generation's bits lie above the phases, so neither disturbs the other.
    group.wrapping_add(GENERATION) ^ lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn death_flips_the_phase_and_advances_the_generation() {
        let word = after_death(0, 0b10);
        assert!(in_phase(word, 0, 1) && !in_phase(word, 1, 1) && in_phase(word, 1, 3));
        assert_eq!(word >> GROUP_SLOTS, 1);
        assert_eq!(after_death(word, 0b10) & PHASES, 0);
        assert_ne!(after_death(word, 0b10), 0);
    }
}
