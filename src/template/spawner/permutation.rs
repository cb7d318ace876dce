//! `Permutation`: numbers in another order, each found without the others.

use crate::template::spawner::Random;

/// Rounds of the network: four make any two orders equally likely as far as anybody can tell (Luby and Rackoff 1988).
const ROUNDS: usize = 4;

/// An order of `0..count`, given by a seed. Any thread can ask for any place: O(1).
///
/// A balanced Feistel network permutes the numbers of an even number of bits; what leaves the range is sent through
/// again until it is back, which takes less than four times on average.
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    count: u64,
    half: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    pub(super) fn new(count: usize, seed: u64) -> Self {
        let count = count as u64;
        let bits = 64 - count.saturating_sub(1).leading_zeros();
        let mut random = Random::new(seed, u64::MAX);
        Self {
            count,
            half: bits.div_ceil(2).max(1),
            keys: [0; ROUNDS].map(|_| random.next_u64()),
        }
    }

    /// Which number stands at a place.
    pub(super) fn at(&self, place: usize) -> usize {
        let mut number = place as u64;
        debug_assert!(number < self.count);
        loop {
            number = self.once(number);
            if number < self.count {
                return number as usize;
            }
        }
    }

    fn once(&self, number: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let (mut left, mut right) = (number >> self.half, number & mask);
        for key in self.keys {
            let turned = Random::new(key, right).next_u64() & mask;
            (left, right) = (right, left ^ turned);
        }
        left << self.half | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_stands_at_one_place() {
        for count in [1, 2, 3, 4, 5, 16, 17, 1_000, 4_097] {
            let order = Permutation::new(count, 3);
            let mut seen: Vec<usize> = (0..count).map(|place| order.at(place)).collect();
            if count > 100 {
                assert!(seen.windows(2).filter(|pair| pair[0] < pair[1]).count() < count * 2 / 3);
            }
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..count), "{count}");
        }
    }
}
