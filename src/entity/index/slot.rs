//! The slot word: which version an index had last, and where that entity lies.
//!
//! `version 32 | place 32`, zero before the first creation. The version is that of the entity
//! created last, odd, and stays when it dies: whether it lives is the group word's to say. Only
//! the owner of the slot's claim bit stores a new version; anybody may change the place by a
//! compare-and-swap that names the version.

use crate::entity::Place;

/// The last version that a slot can have. The entity with it is the slot's last: when it dies the
/// slot retires.
pub(crate) const LAST_VERSION: u32 = u32::MAX;

/// The version in a slot word; 0 if nothing was created there yet.
#[inline(always)]
pub(crate) const fn version(word: u64) -> u32 {
    (word >> 32) as u32
}

/// The place in a slot word.
#[inline(always)]
pub(crate) const fn place(word: u64) -> Option<Place> {
    Place::decode(word as u32)
}

/// A slot word.
#[inline(always)]
pub(crate) const fn pack(version: u32, place: Option<Place>) -> u64 {
    (version as u64) << 32 | Place::encode(place) as u64
}

/// The version after `version`: 0 → 1 → 3 → 5 …
///
/// Never called with the last version: such a slot has retired.
#[inline(always)]
pub(crate) const fn next_version(version: u32) -> u32 {
    version.wrapping_add(1) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_odd_and_grow_by_two_after_the_first() {
        assert_eq!(next_version(0), 1);
        assert_eq!(next_version(1), 3);
        assert_eq!(next_version(LAST_VERSION - 2), LAST_VERSION);
    }

    #[test]
    fn a_slot_word_gives_back_version_and_place() {
        for place in [
            None,
            Place::new(0, 0),
            Place::new(Place::CHUNKS - 1, Place::ROWS - 1),
        ] {
            let word = pack(7, place);
            assert_eq!((version(word), super::place(word)), (7, place));
        }
    }
}
