//! Plain values repeated over a column.

/// Bytes of the blocks that a column is filled with: a multiple of many sizes.
const BLOCK: usize = 64;
/// The same for sizes that have a factor of three: vectors of three numbers.
const BLOCK_OF_THREES: usize = 96;

/// Copies `size` bytes at `from`, one at least, to `count` places one behind the other.
///
/// As wide stores as there are: bytes that are all alike by `memset`, values that divide a block by stores from
/// registers. A copy from memory that is filled already would be slower: it loads, and loads of what was just stored
/// some 4 KiB before wait for it.
///
/// # Safety
/// `size` bytes to read, and `size * count` others to write.
pub(super) unsafe fn repeat(from: *const u8, size: usize, to: *mut u8, count: usize) {
    // SAFETY: the caller's.
    let value = unsafe { core::slice::from_raw_parts(from, size) };
    let first = value[0];
    let bytes = size * count;
    if value.iter().all(|&byte| byte == first) {
        // SAFETY: the caller's.
        unsafe { to.write_bytes(first, bytes) };
    } else if BLOCK.is_multiple_of(size) {
        // SAFETY: the caller's.
        unsafe { blocks::<BLOCK>(value, to, bytes) };
    } else if BLOCK_OF_THREES.is_multiple_of(size) {
        // SAFETY: the caller's.
        unsafe { blocks::<BLOCK_OF_THREES>(value, to, bytes) };
    } else {
        for at in 0..count {
            // SAFETY: the caller's.
            unsafe { from.copy_to_nonoverlapping(to.add(at * size), size) };
        }
    }
}

/// Fills `bytes` with a value whose size divides `N`.
///
/// # Safety
/// So many bytes to write.
unsafe fn blocks<const N: usize>(value: &[u8], to: *mut u8, bytes: usize) {
    let mut block = [0; N];
    for part in block.chunks_exact_mut(value.len()) {
        part.copy_from_slice(value);
    }
    let whole = bytes / N;
    for at in 0..whole {
        // SAFETY: the caller's.
        unsafe { to.add(at * N).cast::<[u8; N]>().write_unaligned(block) };
    }
    // SAFETY: the caller's; the rest is shorter than a block.
    unsafe {
        block
            .as_ptr()
            .copy_to_nonoverlapping(to.add(whole * N), bytes - whole * N);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_the_value_and_no_byte_behind_them_changes() {
        for size in 1..=130_usize {
            for like in [true, false] {
                let value: Vec<u8> = (0..size)
                    .map(|at| if like { 7 } else { at as u8 + 1 })
                    .collect();
                for count in [0, 1, 2, 3, 7, 64, 100] {
                    let mut out = vec![0xee; size * count + 16];
                    // SAFETY: as many bytes, and more.
                    unsafe { repeat(value.as_ptr(), size, out.as_mut_ptr(), count) };
                    let (filled, rest) = out.split_at(size * count);
                    assert!(filled.chunks_exact(size).all(|place| place == value));
                    assert!(rest.iter().all(|&byte| byte == 0xee));
                }
            }
        }
    }
}
