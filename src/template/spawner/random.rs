//! `Random`: numbers that look random and are a function of a seed and a number.

/// What is added from one number to the next: 2⁶⁴ divided by the golden ratio, odd.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of numbers for one point of a generator: given by the seed and the point's number alone, so that any
/// thread can compute any point, and never changed by a version of this crate.
///
/// With `mix(z)` = `z ^= z >> 30; z *= 0xbf58476d1ce4e5b9; z ^= z >> 27; z *= 0x94d049bb133111eb; z ^ z >> 31`, the
/// sequence of (seed, number) is `mix(s + γ)`, `mix(s + 2γ)`, … with γ = 0x9e3779b97f4a7c15 and
/// s = `mix(seed + γ) ^ mix(number × γ + 1)`, all modulo 2⁶⁴. Not for secrets.
///
/// ```
/// use megachunk::template::spawner::Random;
///
/// let mut random = Random::new(7, 1_000_000);
/// assert_eq!(random.next_u64(), 0x335a_5350_c538_03e0);
/// let part = random.next_part();
/// assert!((0.0..1.0).contains(&part));
/// assert_eq!(Random::new(7, 1_000_000), Random::new(7, 1_000_000));
/// ```
///
/// Source: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators" (SplitMix64).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    state: u64,
}

const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// The sequence of one point.
    #[inline]
    #[must_use]
    pub const fn new(seed: u64, number: u64) -> Self {
        let of_number = mix(number.wrapping_mul(GAMMA).wrapping_add(1));
        Self {
            state: mix(seed.wrapping_add(GAMMA)) ^ of_number,
        }
    }

    /// The next number.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// The next number of at least zero and less than one: a multiple of 2⁻⁵³.
    #[inline]
    pub const fn next_part(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The next number below `end`, or zero if that is zero. Each of them as often as the others, but for a part in
    /// 2⁶⁴ / `end`.
    #[inline]
    pub const fn next_below(&mut self, end: u64) -> u64 {
        ((self.next_u64() as u128 * end as u128) >> 64) as u64
    }

    /// The next point of the disc of radius one, each part of it as often as its area says. Without sines, which
    /// differ from machine to machine.
    #[inline]
    pub const fn next_in_disc(&mut self) -> [f64; 2] {
        loop {
            let x = self.next_part() * 2.0 - 1.0;
            let y = self.next_part() * 2.0 - 1.0;
            if x * x + y * y <= 1.0 {
                return [x, y];
            }
        }
    }

    /// The next direction: a vector of length one.
    #[inline]
    pub fn next_direction(&mut self) -> [f32; 2] {
        loop {
            let [x, y] = self.next_in_disc();
            let length = (x * x + y * y).sqrt();
            // Closer to the middle too few bits say where.
            if length > 1e-6 {
                return [(x / length) as f32, (y / length) as f32];
            }
        }
    }
}
