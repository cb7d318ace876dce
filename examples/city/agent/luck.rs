//! `Luck`: what an agent decides by chance, the same in every run with the same seed.

/// A generator of an agent's own: SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Luck(u64);
megachunk::plain!(Luck { 0 });

impl Luck {
    /// One for the agent with this number.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut luck = Self(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        luck.next();
        luck
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// 0 up to, not including, `end`.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        ((self.next() >> 32).wrapping_mul(u64::from(end)) >> 32) as u32
    }

    /// 0 up to 1.
    pub(crate) fn part(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u32 << 24) as f32
    }
}
