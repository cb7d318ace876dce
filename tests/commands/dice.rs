//! Numbers by chance, the same each time.

/// A number that says nothing of the one it comes from (the end of splitmix64).
pub(crate) fn mix(mut n: u64) -> u64 {
    n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}
