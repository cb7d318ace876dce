//! The slot word: which entity an index has, if any, and where that entity lies.
//!
//! `version 32 | place 32`, zero before the first creation. An odd version is that of the living
//! entity; an even one, with no place, says that the slot's last entity is dead. Looking up is one
//! load of this word. Versions only grow:
//!
//! * even → odd by a store of the owner of the slot's claim bit, who creates;
//! * odd → even by whoever destroyed the entity, as the group word has it, or by somebody who helps;
//! * the place changes by a compare-and-swap that names the version.

use crate::entity::Place;

/// The last version that an entity can have: the next odd one would be followed by zero. When it
/// dies the slot retires.
pub(crate) const LAST_VERSION: u32 = u32::MAX - 2;

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

/// The place in a slot word, or [`Place::NOWHERE`].
#[inline(always)]
#[cfg(not(loom))]
pub(crate) const fn place_or_nowhere(word: u64) -> Place {
    Place::decode_any(word as u32)
}

/// A slot word.
#[inline(always)]
pub(crate) const fn pack(version: u32, place: Option<Place>) -> u64 {
    (version as u64) << 32 | Place::encode(place) as u64
}

/// The word of a slot whose entity with this version is dead.
#[inline(always)]
pub(crate) const fn dead(version: u32) -> u64 {
    (version as u64 + 1) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_slot_has_an_even_version_and_no_place_and_never_wraps() {
        assert_eq!((version(dead(1)), place(dead(1))), (2, None));
        assert_eq!(version(dead(LAST_VERSION)), u32::MAX - 1);
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
