//! Columns filled with one value: by a loop that knows the type, or by its bytes.
//!
//! Called for the copies of a prototype. What is more than the caches hold is written past them.

use core::mem::MaybeUninit;

use crate::memory::LINE;
use crate::memory::stream::{Settled, stream};

/// Clones the value at `from` to `count` places that lie one behind the other from `to` on and hold none, past the
/// caches if `past` says so. Counts in `made` those that have to be dropped if a clone panics.
pub(crate) type FillValues =
    unsafe fn(from: *const u8, to: *mut u8, count: usize, past: bool, made: &mut usize);

/// Values that are cloned at a time to be copied past the caches: so many of a size that four divides are whole lines.
const BATCH: usize = 16;
/// The largest value that is copied past the caches: larger ones are no worse off with the compiler's copy.
const LARGEST: usize = 256;

/// [`FillValues`] of a type.
///
/// # Safety
/// A value of the type, and room for so many.
pub(super) unsafe fn fill_values<T: Clone>(
    from: *const u8,
    to: *mut u8,
    count: usize,
    past: bool,
    made: &mut usize,
) {
    // SAFETY: the caller's.
    let from = unsafe { &*from.cast::<T>() };
    let to = to.cast::<T>();
    if size_of::<T>() == 0 {
        // Nothing to move. If they must be dropped, they are when their rows end.
        for _ in 0..count {
            core::mem::forget(from.clone());
            *made += 1;
        }
    } else if core::mem::needs_drop::<T>() {
        for at in 0..count {
            // SAFETY: the caller's.
            unsafe { to.add(at).write(from.clone()) };
            *made = at + 1;
        }
    } else {
        let past = past && size_of::<T>().is_multiple_of(4) && size_of::<T>() <= LARGEST;
        let (head, batches) = match past {
            true => head_and_batches(to.addr(), size_of::<T>(), count, BATCH),
            false => (count, 0),
        };
        for at in 0..head {
            // SAFETY: the caller's.
            unsafe { to.add(at).write(from.clone()) };
        }
        if batches > 0 {
            // SAFETY: the caller's; the head ends where a line does.
            unsafe { fill_past(from, to.add(head), batches) };
        }
        for at in head + batches * BATCH..count {
            // SAFETY: the caller's.
            unsafe { to.add(at).write(from.clone()) };
        }
        *made = count;
    }
}

/// Clones a value to places that begin with a line, [`BATCH`] by batch, past the caches.
///
/// # Safety
/// Room for so many batches, of a size that four divides; the type need not be dropped.
unsafe fn fill_past<T: Clone>(from: &T, to: *mut T, batches: usize) {
    let _settled = Settled;
    for at in 0..batches {
        let mut batch = [const { MaybeUninit::<T>::uninit() }; BATCH];
        for place in &mut batch {
            place.write(from.clone());
        }
        let lines = size_of_val(&batch) / LINE;
        // SAFETY: the caller's; the values move.
        unsafe { stream(batch.as_ptr().cast(), to.add(at * BATCH).cast(), lines) };
    }
}

/// How many values lie before the first that begins a line, and how many whole batches follow; all before it, if there
/// are few.
fn head_and_batches(to: usize, size: usize, count: usize, batch: usize) -> (usize, usize) {
    let begins_line = |&at: &usize| (to + at * size).is_multiple_of(LINE);
    match (0..count.min(LINE)).find(begins_line) {
        Some(head) => (head, (count - head) / batch),
        None => (count, 0),
    }
}

/// Bytes of the blocks that a column is filled with: a multiple of many sizes.
const BLOCK: usize = LINE;
/// The same for sizes that have a factor of three: vectors of three numbers.
const BLOCK_OF_THREES: usize = 3 * LINE;

/// Copies `size` bytes at `from`, one at least, to `count` places one behind the other, past the caches if `past` says
/// so.
///
/// As wide stores as there are: bytes that are all alike by `memset`, values that divide a block by stores from
/// registers.
///
/// # Safety
/// `size` bytes to read, and `size * count` others to write.
pub(crate) unsafe fn fill_bytes(
    from: *const u8,
    size: usize,
    to: *mut u8,
    count: usize,
    past: bool,
) {
    // SAFETY: the caller's.
    let value = unsafe { core::slice::from_raw_parts(from, size) };
    let first = value[0];
    if value.iter().all(|&byte| byte == first) {
        // SAFETY: the caller's.
        unsafe { to.write_bytes(first, size * count) };
    } else if BLOCK.is_multiple_of(size) {
        // SAFETY: the caller's.
        unsafe { fill_blocks::<BLOCK>(value, to, count, past) };
    } else if BLOCK_OF_THREES.is_multiple_of(size) {
        // SAFETY: the caller's.
        unsafe { fill_blocks::<BLOCK_OF_THREES>(value, to, count, past) };
    } else {
        for at in 0..count {
            // SAFETY: the caller's.
            unsafe { from.copy_to_nonoverlapping(to.add(at * size), size) };
        }
    }
}

/// Fills places with a value whose size divides `N`, which is whole lines.
///
/// # Safety
/// So many places to write.
unsafe fn fill_blocks<const N: usize>(value: &[u8], to: *mut u8, count: usize, past: bool) {
    let size = value.len();
    let mut block = [0; N];
    for part in block.chunks_exact_mut(size) {
        part.copy_from_slice(value);
    }
    let in_block = N / size;
    let (head, blocks) = match past {
        true => head_and_batches(to.addr(), size, count, in_block),
        false => (0, count / in_block),
    };
    // SAFETY: the caller's, here and below: `head` places, whole blocks, and the rest. The first are fewer than a
    // block unless there are no others.
    let fill = |first: usize, places: usize| unsafe {
        for at in first..first + places {
            value
                .as_ptr()
                .copy_to_nonoverlapping(to.add(at * size), size);
        }
    };
    fill(0, head);
    let start = to.wrapping_add(head * size);
    if past {
        let _settled = Settled;
        for at in 0..blocks {
            // SAFETY: as above; `start` begins a line, and blocks are whole lines.
            unsafe { stream(block.as_ptr(), start.add(at * N), N / LINE) };
        }
    } else {
        for at in 0..blocks {
            // SAFETY: as above.
            unsafe { start.add(at * N).cast::<[u8; N]>().write_unaligned(block) };
        }
    }
    let done = head + blocks * in_block;
    fill(done, count - done);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_the_value_and_no_byte_around_them_changes() {
        for size in 1..=130_usize {
            for like in [true, false] {
                let byte = |at| if like { 7 } else { at as u8 + 1 };
                let value: Vec<u8> = (0..size).map(byte).collect();
                for (count, skip) in [0, 1, 2, 7, 64, 200].into_iter().zip([0, 1, 5, 63, 2, 7]) {
                    for past in [true, false] {
                        let bytes = size * (count + skip) + 3 * LINE;
                        let mut out = vec![0xee_u8; bytes];
                        let line = out.as_ptr().align_offset(LINE);
                        let start = line + size * skip;
                        // SAFETY: as many bytes, and more.
                        unsafe {
                            let to = out.as_mut_ptr().add(start);
                            fill_bytes(value.as_ptr(), size, to, count, past);
                        }
                        let (before, rest) = out.split_at(start);
                        let (filled, after) = rest.split_at(size * count);
                        assert!(filled.chunks_exact(size).all(|place| place == value));
                        assert!(before.iter().chain(after).all(|&byte| byte == 0xee));
                    }
                }
            }
        }
    }

    fn typed<const N: usize>() {
        let value: [u8; N] = core::array::from_fn(|at| (at % 250) as u8 + 1);
        for (count, skip) in [0, 1, 15, 16, 17, 500].into_iter().zip([0, 1, 5, 63, 2, 7]) {
            for past in [true, false] {
                let mut out = vec![0xee_u8; N * (count + skip) + 3 * LINE];
                let start = out.as_ptr().align_offset(LINE) + N * skip;
                let mut made = 0;
                // SAFETY: as many bytes, and more.
                unsafe {
                    let (from, to) = (value.as_ptr(), out.as_mut_ptr().add(start));
                    fill_values::<[u8; N]>(from, to, count, past, &mut made);
                }
                assert_eq!(made, count);
                let (before, rest) = out.split_at(start);
                let (filled, after) = rest.split_at(N * count);
                assert!(filled.chunks_exact(N).all(|place| place == value));
                assert!(before.iter().chain(after).all(|&byte| byte == 0xee));
            }
        }
    }

    #[test]
    fn types_of_every_size_are_cloned_to_every_place() {
        typed::<1>();
        typed::<4>();
        typed::<7>();
        typed::<12>();
        typed::<20>();
        typed::<64>();
        typed::<100>();
        typed::<256>();
        typed::<260>();
    }
}
