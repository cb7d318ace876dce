//! Random orders, the same in every run.

/// A small generator (xorshift64*, Vigna 2016): precomputes orders, never runs in a timed loop.
#[derive(Clone, Debug)]
pub struct Shuffler(u64);

impl Shuffler {
    /// A generator that gives the same numbers for the same `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        // Any state but zero will do; the product spreads small seeds.
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    pub fn next_number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next_number()) * end as u128) >> 64) as usize
    }

    /// Puts `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// The numbers `0..len` in a random order.
#[must_use]
pub fn permutation(len: usize, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..len as u32).collect();
    Shuffler::new(seed).shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_has_every_number_once() {
        let mut order = permutation(1_000, 7);
        assert_ne!(order[..8], [0, 1, 2, 3, 4, 5, 6, 7]);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..1_000));
    }

    #[test]
    fn the_same_seed_gives_the_same_order() {
        assert_eq!(permutation(100, 3), permutation(100, 3));
        assert_ne!(permutation(100, 3), permutation(100, 4));
    }
}
