//! The slot word: which entity an index has, if any, and where that entity lies.
//!
//! `version 32 | place 32`, zero before the first creation. An odd version is that of the living
//! entity; an even one, with no place, says that the slot's last entity is dead. Looking up is one
//! load of this word. Versions only grow:
//!
//! * even → odd by a store of the owner of the slot's claim bit, who creates;
//! * odd → even by whoever destroyed the entity, as the group word has it, or by somebody who helps; or by a world that
//!   has the entity to itself, which skips a life (`owned`);
//! * the place changes by a compare-and-swap that names the version, or by a store of such a world.

use crate::entity::{Entity, Place};

/// The last version that an entity can have: the next odd one would be followed by zero. When it
/// dies the slot retires.
pub(crate) const LAST_VERSION: u32 = u32::MAX - 2;

/// The last version of an entity after which a life is skipped where a world has it to itself: those behind it die the usual
/// way, in which a slot retires.
pub(crate) const LAST_SKIPPING: u32 = LAST_VERSION - 4;

/// Whether an entity's version is one of the last, after which no life is skipped.
#[inline(always)]
pub(crate) const fn is_among_last(version: u32) -> bool {
    version > LAST_SKIPPING
}

/// The version in a slot word; 0 if nothing was created there yet.
#[inline(always)]
pub(crate) const fn version(word: u64) -> u32 {
    (word >> 32) as u32
}

/// Whether the version in a slot word is that of a handle.
#[inline(always)]
pub(crate) const fn has_version_of(word: u64, entity: Entity) -> bool {
    (word ^ entity.to_bits()) >> 32 == 0
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

/// The chunk from which on places are counted.
#[derive(Clone, Copy, Debug)]
#[cfg(not(loom))]
pub(crate) struct Origin {
    /// What the complement of a turned place is taken from. Not the chunk's number: a compiler would add that to the
    /// word, which is waited for.
    before: u64,
}

#[cfg(not(loom))]
impl Origin {
    /// The chunk with this [turned](Place::turned) number.
    pub(crate) const fn new(turned: u32) -> Self {
        debug_assert!(turned < Place::CHUNKS);
        Self {
            before: u32::MAX as u64 - ((turned as u64) << Place::ROW_BITS),
        }
    }

    /// The bits of the place in a slot word, or of [`Place::NOWHERE`], with its chunk's number
    /// turned, less those of row 0 of the first chunk. If it lies before that they are of no chunk
    /// from there on; nor are they if the word's version is not that of the handle, for then 2 to
    /// the power of 32 times the difference is added, or taken away.
    #[inline(always)]
    pub(crate) const fn place_bits(self, word: u64, entity: Entity) -> u64 {
        // What the word is taken from does not wait for it.
        (entity.to_bits() - entity.index() as u64 + self.before).wrapping_sub(word)
    }
}

/// A slot word.
#[inline(always)]
pub(crate) const fn pack(version: u32, place: Option<Place>) -> u64 {
    (version as u64) << 32 | Place::encode(place) as u64
}

/// The word of the next entity of a slot, without a place, after the word that says that the last one is dead.
#[inline(always)]
pub(crate) const fn next(dead: u64) -> u64 {
    debug_assert!(dead << 31 == 0, "something lives there");
    dead | 1 << 32
}

/// The word of an entity at a place, given the one without.
#[inline(always)]
pub(crate) const fn at(nowhere: u64, place: Option<Place>) -> u64 {
    nowhere | Place::encode(place) as u64
}

/// The handle of the entity of slot `index`, given its word without a place.
#[inline(always)]
pub(crate) const fn entity(nowhere: u64, index: u32) -> Entity {
    Entity::from_odd_bits(nowhere | index as u64)
}

/// The word of a slot whose entity with this version is dead.
#[inline(always)]
pub(crate) const fn dead(version: u32) -> u64 {
    debug_assert!(version <= LAST_VERSION, "no entity has this version");
    // A shift, as versions end before the carry; but as it stands here compilers keep it in one piece, and from a
    // handle's bits it is three instructions.
    (version as u64 + 1).rotate_left(32)
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
    fn the_next_entity_has_the_next_version_and_its_own_slot() {
        for version in [1, 3, LAST_VERSION - 2] {
            let next = next(dead(version));
            let entity = entity(next, 12);
            assert_eq!((entity.index(), entity.version()), (12, version + 2));
            for place in [None, Place::new(3, 4)] {
                let word = at(next, place);
                assert_eq!(word, pack(version + 2, place));
                assert!(has_version_of(word, entity) && !has_version_of(dead(version), entity));
            }
        }
        assert_eq!(entity(next(0), 7), Entity::from_parts(7, 1));
    }

    #[test]
    #[cfg(not(loom))]
    fn bits_are_those_of_a_chunk_from_the_first_on_only_if_the_handles_entity_lies_there() {
        let last = Place::CHUNKS - 1;
        let entity = |version| Entity::from_parts(7, version);
        let numbers = [0, 1, last / 2, last / 2 + 1, last - 1, last];
        for (first, chunk, version) in numbers
            .into_iter()
            .flat_map(|first| numbers.map(|chunk| (first, chunk)))
            .flat_map(|(first, chunk)| [1, 3, LAST_VERSION].map(|version| (first, chunk, version)))
        {
            let word = pack(version, Place::new(chunk, 11));
            let (turned, chunks) = (Place::turned(chunk), Place::CHUNKS - first);
            let origin = Origin::new(first);
            let bits = origin.place_bits(word, entity(version));
            assert_eq!(bits >> Place::ROW_BITS < chunks.into(), turned >= first);
            if turned >= first {
                assert_eq!(bits, u64::from(turned - first) << Place::ROW_BITS | 11);
            }
            let nowhere = origin.place_bits(pack(version, None), entity(version));
            assert_eq!(nowhere >> Place::ROW_BITS, u64::from(chunks - 1));
            let leaving = pack(version, Some(Place::LEAVING));
            let leaving = origin.place_bits(leaving, entity(version));
            assert_eq!(leaving >> Place::ROW_BITS, u64::from(chunks - 1));
            for other in [1, 3, 5, LAST_VERSION - 2, LAST_VERSION] {
                if other != version {
                    let bits = origin.place_bits(word, entity(other));
                    assert!(bits >> Place::ROW_BITS >= chunks.into());
                }
                let bits = origin.place_bits(dead(other), entity(version));
                assert!(bits >> Place::ROW_BITS >= chunks.into());
            }
        }
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
