//! How a total is shared out.

use crate::template::spawner::SpawnError;

/// How many of `total` each entry gets: as its proportion says, rounded so that they sum to the total.
///
/// Each gets the whole part of its quota, and those that lose most by that get one more, the first of equals first:
/// the method of the largest remainder (Hamilton's). The quotas are computed in whole numbers: proportions are
/// scaled by a power of two until the largest has 63 bits, so that no sum is rounded.
pub(super) fn shares(entries: &[(&str, f64)], total: usize) -> Result<Vec<usize>, SpawnError> {
    if entries.is_empty() {
        return Err(SpawnError::NoEntries);
    }
    for &(entry, proportion) in entries {
        check(entry, proportion)?;
    }
    let largest = entries.iter().map(|&(_, p)| p).fold(0.0, f64::max);
    if largest == 0.0 {
        let entries = entries.iter().map(|&(entry, _)| entry.into()).collect();
        return Err(SpawnError::AllZero { entries });
    }
    let top = exponent(largest);
    let weights: Vec<u128> = entries.iter().map(|&(_, p)| weight(p, top)).collect();
    let sum: u128 = weights.iter().sum();
    // A total has 64 bits and a weight 63.
    let quota = |weight: u128| (total as u128 * weight / sum, total as u128 * weight % sum);
    let mut shares: Vec<usize> = weights.iter().map(|&w| quota(w).0 as usize).collect();
    let left = total - shares.iter().sum::<usize>();
    let mut by_loss: Vec<usize> = (0..shares.len()).collect();
    by_loss.sort_by_key(|&entry| core::cmp::Reverse(quota(weights[entry]).1));
    for &entry in &by_loss[..left] {
        shares[entry] += 1;
    }
    Ok(shares)
}

/// Whether a proportion is one.
pub(super) fn check(entry: &str, proportion: f64) -> Result<(), SpawnError> {
    if proportion.is_finite() && proportion >= 0.0 {
        return Ok(());
    }
    Err(SpawnError::Proportion {
        entry: entry.into(),
        proportion,
    })
}

/// The power of two of a positive number's last bit, and its bits.
fn parts(number: f64) -> (i32, u64) {
    let bits = number.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match (bits >> 52) as i32 & 0x7ff {
        0 => (-1074, fraction),
        exponent => (exponent - 1075, fraction | 1 << 52),
    }
}

/// The power of two of a positive number's first bit.
fn exponent(number: f64) -> i32 {
    let (last, bits) = parts(number);
    last + bits.ilog2() as i32
}

/// A number from zero on in units of 2^(top - 62).
fn weight(number: f64, top: i32) -> u128 {
    let (last, bits) = parts(number);
    match last - (top - 62) {
        // At most 10: the first bit is at most `top`.
        left @ 0.. => u128::from(bits) << left,
        right @ -63..0 => u128::from(bits >> -right),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(proportions: &[f64], total: usize) -> Vec<usize> {
        let entries: Vec<(&str, f64)> = proportions.iter().map(|&p| ("", p)).collect();
        shares(&entries, total).unwrap()
    }

    #[test]
    fn equal_shares_of_ten_are_four_three_three() {
        assert_eq!(of(&[1.0, 1.0, 1.0], 10), [4, 3, 3]);
        assert_eq!(of(&[0.1, 0.1, 0.1], 10), [4, 3, 3]);
        assert_eq!(of(&[1e308, 1e308, 1e308], 11), [4, 4, 3]);
        assert_eq!(of(&[f64::from_bits(1); 3], 11), [4, 4, 3]);
        assert_eq!(of(&[3.0, 0.0, 1.0], 8), [6, 0, 2]);
        assert_eq!(of(&[f64::MAX, 5e-324], usize::MAX), [usize::MAX, 0]);
    }

    proptest! {
        #[test]
        fn whole_proportions_are_shared_as_the_naive_model_shares_them(
            proportions in prop::collection::vec(0_u32..1_000, 1..9),
            total in 0_usize..100_000,
        ) {
            let sum: u32 = proportions.iter().sum();
            prop_assume!(sum > 0);
            let mut model: Vec<usize> = (proportions.iter())
                .map(|&p| total * p as usize / sum as usize)
                .collect();
            let mut given = vec![false; model.len()];
            while model.iter().sum::<usize>() < total {
                // The first of those with the largest remainder that has not got one more.
                let mut best = None;
                for (at, &p) in proportions.iter().enumerate() {
                    let rest = total * p as usize % sum as usize;
                    if !given[at] && best.is_none_or(|(most, _)| rest > most) {
                        best = Some((rest, at));
                    }
                }
                let (_, at) = best.unwrap();
                given[at] = true;
                model[at] += 1;
            }
            let proportions: Vec<f64> = proportions.iter().map(|&p| f64::from(p)).collect();
            prop_assert_eq!(of(&proportions, total), model);
        }

        #[test]
        fn any_shares_sum_to_the_total_and_are_less_than_one_off(
            proportions in prop::collection::vec(0.0_f64..1e6, 1..9),
            total in 0_usize..134_217_728,
        ) {
            let sum: f64 = proportions.iter().sum();
            prop_assume!(sum > 0.0);
            let shares = of(&proportions, total);
            prop_assert_eq!(shares.iter().sum::<usize>(), total);
            for (&share, proportion) in shares.iter().zip(proportions) {
                let quota = total as f64 * (proportion / sum);
                prop_assert!((share as f64 - quota).abs() < 1.0 + 1e-6, "{share} of {quota}");
            }
        }
    }
}
