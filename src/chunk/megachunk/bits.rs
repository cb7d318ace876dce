//! Runs of free chunks in an in-use mask.

use crate::sync::geometry::ALL_CHUNKS;

/// The free chunks of an in-use mask.
#[inline(always)]
pub(crate) const fn free(mask: u64) -> u64 {
    !mask & ALL_CHUNKS
}

/// The bits from which a run of at least `len` set bits goes upwards.
///
/// Doubling: after a step, a bit stands for a run twice as long. `len` is 1 to 64.
#[inline]
const fn starts(bits: u64, len: u32) -> u64 {
    let mut bits = bits;
    let mut have = 1;
    while have < len {
        let step = if len - have < have { len - have } else { have };
        bits &= bits >> step;
        have += step;
    }
    bits
}

/// The lowest run of `len` free chunks, as a mask; `None` if there is none.
#[inline]
pub(crate) const fn lowest_run(mask: u64, len: u32) -> Option<u64> {
    let starts = starts(free(mask), len);
    if starts == 0 {
        return None;
    }
    Some((u64::MAX >> (64 - len)) << starts.trailing_zeros())
}

/// How long the longest run of free chunks is.
///
/// Doubling, then halving: the length's bits from the highest down. Without a branch that depends on the
/// mask, because nobody could predict it.
#[inline]
pub(crate) const fn longest_run(mask: u64) -> u32 {
    let all = free(mask);
    // `runs[i]`: starts of runs of at least 2^i.
    let mut runs = [all; 6];
    let mut power = 1;
    while power < 6 {
        runs[power] = runs[power - 1] & (runs[power - 1] >> (1 << (power - 1)));
        power += 1;
    }
    // Starts of runs of at least `len`: of none, every bit is one.
    let (mut bits, mut len) = (u64::MAX, 0);
    while power > 0 {
        power -= 1;
        let longer = bits & (runs[power] >> len);
        let found = (longer != 0) as u32;
        // `longer` or `bits`.
        bits ^= (bits ^ longer) & (found as u64).wrapping_neg();
        len += found << power;
    }
    // 63 is the most that the powers come to.
    len + (all == u64::MAX) as u32
}

/// How long the longest run of free chunks is that some of `bits` lie in, which are free; or a longer one
/// that there is.
#[inline]
pub(crate) const fn run_round(mask: u64, bits: u64) -> u32 {
    let (low, high) = (bits.trailing_zeros(), 63 - bits.leading_zeros());
    if bits.wrapping_add(1 << low) & bits != 0 {
        // No neighbours.
        return longest_run(mask);
    }
    let all = free(mask);
    let upwards = (all >> low).trailing_ones();
    let downwards = (all << (63 - high)).leading_ones();
    upwards + downwards - (high - low + 1)
}

/// The `count` lowest free chunks, or all of them, as a mask.
#[inline]
pub(crate) const fn lowest(mask: u64, count: u32) -> u64 {
    let mut left = free(mask);
    let all = left;
    let mut count = count;
    while count > 0 && left != 0 {
        left &= left - 1;
        count -= 1;
    }
    all & !left
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn slow_longest(mask: u64) -> u32 {
        (1..=64)
            .rev()
            .find(|&len| slow_run(mask, len).is_some())
            .unwrap_or(0)
    }

    fn slow_run(mask: u64, len: u32) -> Option<u64> {
        let run = u64::MAX >> (64 - len);
        (0..=64 - len)
            .map(|at| run << at)
            .find(|run| mask & run == 0)
    }

    #[test]
    fn runs_are_found_as_a_bit_by_bit_search_finds_them() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for round in 0..20_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let mask = match round % 4 {
                0 => random,
                1 => random & random.rotate_left(11) & random.rotate_left(23),
                2 => random | random.rotate_left(7) | random.rotate_left(19),
                _ => u64::MAX << (random % 64) & !(1 << ((random >> 8) % 64)),
            };
            assert_eq!(longest_run(mask), slow_longest(mask), "{mask:#x}");
            let len = (random >> 16) as u32 % 64 + 1;
            assert_eq!(
                lowest_run(mask, len),
                slow_run(mask, len),
                "{mask:#x} {len}"
            );
            if let Some(bits) = slow_run(mask, len) {
                let round = run_round(mask, bits);
                assert!((len..=slow_longest(mask)).contains(&round));
                let rest = mask | bits;
                let grown = slow_longest(mask) > slow_longest(rest);
                assert!(!grown || round == slow_longest(mask), "{mask:#x} {len}");
            }
        }
        assert_eq!((longest_run(0), longest_run(u64::MAX)), (64, 0));
    }

    #[test]
    fn the_lowest_free_chunks_are_as_many_as_asked_for() {
        assert_eq!(lowest(0b0101, 2), 0b1010);
        assert_eq!(lowest(u64::MAX, 3), 0);
        assert_eq!(lowest(!0b110, 8), 0b110);
    }
}
