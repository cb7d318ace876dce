//! Lends rows of a chunk that lie side by side, one after the other: the innermost loop of `for_each`, `fold` and all
//! that is made of them.
//!
//! What a closure does to each entity becomes instructions that do it to several, if the compiler knows two things:
//!
//! - that no column lies over another, or over what the closure writes meanwhile. It knows it of references that are
//!   parameters, but forgets it of those in a tuple, and of a function's that is inlined too early. So [`alone`] hands
//!   slices on each by a parameter of its own, and is inlined last.
//! - where a value of a type is no vector, or no power of two, as three numbers are: that four of them follow each other.
//!   Loops over one such value at a time become vectors of two numbers and a single one, at best. So rows of such
//!   fragments are lent [in fours](QueryData::IN_FOURS).
//!
//! And where all values have four bytes, it makes a loop over eight at a time, and another for what is left, one at a time: up
//! to seven rows, which in a chunk of twenty take as long as the others. So such rows are lent [in
//! eights](QueryData::IN_EIGHTS), then once in four, then the last.
//!
//! `examples/vectors.rs` shows the loop and how to see its instructions; `tests/vectors.rs` looks whether they are
//! vectors.
//!
//! [`alone`]: QueryData::alone

use core::ops::Range;

use crate::query::QueryData;

/// Rows that are lent at a time, where that makes vectors.
const FOUR: usize = 4;

/// Rows of which compilers make a step of a loop over values of four bytes, two vectors of 16 bytes.
const EIGHT: usize = 8;

/// Whether rows with values of a type are lent in fours: it has no size of which the compiler makes vectors by itself,
/// and is not so large that code for four would be much.
pub(super) const fn in_fours<T>() -> bool {
    let size = size_of::<T>();
    size > 0 && size <= 64 && !size.is_power_of_two() && !size.is_multiple_of(16)
}

/// Lends rows, and gives on what `each` makes of the last result.
///
/// # Safety
/// They are rows of the chunk, and nobody has what is lent in a way that conflicts.
#[inline(always)]
pub(super) unsafe fn fold_rows<'a, D: QueryData, B>(
    fetch: D::Fetch<'a>,
    rows: Range<usize>,
    init: B,
    mut each: impl FnMut(B, D::Item<'a>) -> B,
) -> B {
    let len = rows.len();
    // SAFETY: the caller's.
    let slices = unsafe { D::slices(D::skip(fetch, rows.start), len) };
    D::alone(slices, |slices| {
        let mut fetch = D::fetch_of(slices);
        let (mut left, mut result) = (len, init);
        if D::IN_FOURS {
            while left >= FOUR {
                for row in 0..FOUR {
                    // SAFETY: a row of the slices; each is lent once.
                    result = each(result, unsafe { D::item(fetch, row) });
                }
                fetch = D::skip(fetch, FOUR);
                left -= FOUR;
            }
        }
        if D::IN_EIGHTS {
            let eights = left - left % EIGHT;
            for row in 0..eights {
                // SAFETY: as above.
                result = each(result, unsafe { D::item(fetch, row) });
            }
            fetch = D::skip(fetch, eights);
            left %= EIGHT;
            if left >= FOUR {
                for row in 0..FOUR {
                    // SAFETY: as above.
                    result = each(result, unsafe { D::item(fetch, row) });
                }
                fetch = D::skip(fetch, FOUR);
            }
            // So the compiler knows that they are fewer than fill a vector.
            left %= FOUR;
        }
        for row in 0..left {
            // SAFETY: as above.
            result = each(result, unsafe { D::item(fetch, row) });
        }
        result
    })
}

/// Lends rows.
///
/// # Safety
/// As for [`fold_rows`].
#[inline(always)]
pub(super) unsafe fn lend_rows<'a, D: QueryData>(
    fetch: D::Fetch<'a>,
    rows: Range<usize>,
    each: &mut impl FnMut(D::Item<'a>),
) {
    // SAFETY: the caller's.
    unsafe { fold_rows::<D, ()>(fetch, rows, (), |(), item| each(item)) };
}
