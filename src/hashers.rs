//! Hashes for what this crate numbers itself, or the compiler does: such keys seldom meet.
//!
//! They have no secret. Who wants many to meet, by a snapshot with compositions that are chosen for it, makes looking them
//! up slow, and nothing else.

use core::hash::{BuildHasherDefault, Hasher};

/// For keys of small numbers: fragments, archetypes, ops, what is found by them.
pub(crate) type ByNumbers = BuildHasherDefault<NumberHasher>;

/// For keys of types, alone or with numbers beside them.
pub(crate) type ByTypes = BuildHasherDefault<TypeHasher>;

/// 2^64 divided by the golden ratio: products of small numbers with it lie far apart.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Small numbers, one after the other, spread by products.
#[derive(Debug, Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(SPREAD);
    }

    /// A table takes the place from the lowest bits, which depend on the fewest.
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// A type's number is a hash already.
#[derive(Debug, Default)]
pub(crate) struct TypeHasher(u64);

impl Hasher for TypeHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 << 8 | u64::from(byte)).wrapping_mul(SPREAD);
        }
    }

    fn write_u64(&mut self, bits: u64) {
        self.0 = bits;
    }

    /// What comes beside a type: both are to be seen in the lowest bits and in the highest.
    fn write_u32(&mut self, bits: u32) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(bits)).wrapping_mul(SPREAD);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use core::any::TypeId;
    use core::hash::{BuildHasher, Hash};
    use std::collections::HashSet;

    use super::*;

    /// That keys differ in the bits from which a table of 8,192 places takes the place, the lowest, and in those by which
    /// it tells those that share one apart, the highest.
    fn assert_spread<S: BuildHasher + Default, K: Hash>(keys: impl Iterator<Item = K>) {
        let hashes: Vec<u64> = keys.map(|key| S::default().hash_one(key)).collect();
        let places: HashSet<u64> = hashes.iter().map(|hash| hash % 8_192).collect();
        let marks: HashSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
        // Of the places that would be taken if they were drawn by lot.
        let by_lot = 8_192.0 * (1.0 - (-(hashes.len() as f64) / 8_192.0).exp());
        assert!(places.len() as f64 > 0.75 * by_lot, "{}", places.len());
        assert!(marks.len() > 100, "{}", marks.len());
    }

    #[test]
    fn sets_of_numbers_have_places_of_their_own() {
        // All sets of three of 32.
        let pairs = (0..32_u16).flat_map(|a| (0..a).map(move |b| (a, b)));
        assert_spread::<ByNumbers, _>(pairs.flat_map(|(a, b)| (0..b).map(move |c| [c, b, a])));
    }

    #[test]
    fn pairs_of_numbers_have_places_of_their_own() {
        assert_spread::<ByNumbers, _>((0..64_u32).flat_map(|a| (0..64_u32).map(move |b| (a, b))));
        // All with one number in common.
        assert_spread::<ByNumbers, _>((0..5_000_u32).map(|a| (a, 7_u32)));
        assert_spread::<ByNumbers, _>((0..5_000_u32).map(|a| (7_u32, a)));
    }

    #[test]
    fn numbers_in_steps_of_a_power_of_two_have_places_of_their_own() {
        for shift in [0, 6, 13, 32] {
            assert_spread::<ByNumbers, _>((0..5_000_u64).map(|number| number << shift));
        }
    }

    #[test]
    fn types_with_numbers_beside_them_have_places_of_their_own() {
        for of in [TypeId::of::<u8>(), TypeId::of::<String>()] {
            assert_spread::<ByTypes, _>((0..5_000_u32).map(|number| (of, number)));
        }
    }
}
