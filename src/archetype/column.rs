//! `Column`: one fragment's array in every chunk of an archetype.

use core::mem::MaybeUninit;

use crate::fragment::{DropValues, FragmentId};

/// Where a fragment's values lie in a chunk of an archetype, and how they are dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// Where the array begins.
    pub(crate) offset: u32,
    /// Bytes of a value; zero only for a tag that must be dropped.
    pub(crate) size: u32,
    pub(crate) id: FragmentId,
    /// `None` if values need not be dropped.
    pub(crate) drop: Option<DropValues>,
}

/// Copies a value of `size` bytes, whose address is `row` values behind `from`, to `there` values behind `to`.
///
/// A few branches that the columns of one archetype take alike each time, and no call for values of up to 64 bytes.
/// For the sizes that most columns have the compiler knows how far it is from row to row.
///
/// # Safety
/// `size` bytes to read and to write, which do not overlap.
#[inline(always)]
pub(crate) unsafe fn copy_row(from: *const u8, row: usize, to: *mut u8, there: usize, size: u32) {
    // SAFETY: the caller's, with the size that each arm names.
    unsafe {
        if size <= 16 {
            match size {
                12 => return copy_one::<[u32; 3]>(from, row, to, there),
                4 => return copy_one::<u32>(from, row, to, there),
                _ => {}
            }
        } else if size == 64 {
            return copy_one::<[u128; 4]>(from, row, to, there);
        }
        let bytes = size as usize;
        copy_value(from.add(row * bytes), to.add(there * bytes), size);
    }
}

/// Copies one of an array's values to another array.
///
/// # Safety
/// A `T` to read there and to write there, which do not overlap.
#[inline(always)]
unsafe fn copy_one<T>(from: *const u8, row: usize, to: *mut u8, there: usize) {
    let (from, to) = (from.cast::<MaybeUninit<T>>(), to.cast::<MaybeUninit<T>>());
    // SAFETY: the caller's.
    unsafe {
        to.add(there)
            .write_unaligned(from.add(row).read_unaligned())
    };
}

/// Copies a value of `size` bytes: up to 64 without a call, a few branches that columns of one kind take alike.
///
/// # Safety
/// `size` bytes to read and to write, which do not overlap.
#[inline(always)]
pub(crate) unsafe fn copy_value(from: *const u8, to: *mut u8, size: u32) {
    // SAFETY: the caller's; each arm moves as many bytes as `size` says, those in the middle twice where it is not
    // twice what a step moves.
    unsafe {
        if size <= 16 {
            if size >= 8 {
                copy_ends::<u64>(from, to, size);
            } else if size >= 4 {
                copy_ends::<u32>(from, to, size);
            } else if size >= 2 {
                copy_ends::<u16>(from, to, size);
            } else if size == 1 {
                to.cast::<MaybeUninit<u8>>()
                    .write(from.cast::<MaybeUninit<u8>>().read());
            }
        } else if size <= 32 {
            copy_ends::<u128>(from, to, size);
        } else if size <= 64 {
            copy_ends::<u128>(from, to, 32);
            let rest = size as usize - 32;
            copy_ends::<u128>(from.add(rest), to.add(rest), 32);
        } else {
            copy_long(from, to, size);
        }
    }
}

/// Copies a large value.
///
/// # Safety
/// `size` bytes to read and to write, which do not overlap.
#[cold]
#[inline(never)]
unsafe fn copy_long(from: *const u8, to: *mut u8, size: u32) {
    // SAFETY: the caller's.
    unsafe { from.copy_to_nonoverlapping(to, size as usize) };
}

/// Copies the first bytes of a value and the last, as many as a `T` has: all of it, if it is as long as one to two.
///
/// # Safety
/// `size` bytes to read and to write, at least as many as a `T` has, which do not overlap.
#[inline(always)]
unsafe fn copy_ends<T>(from: *const u8, to: *mut u8, size: u32) {
    let last = size as usize - size_of::<T>();
    // SAFETY: the caller's.
    unsafe {
        let begin = from.cast::<MaybeUninit<T>>().read_unaligned();
        let end = from.add(last).cast::<MaybeUninit<T>>().read_unaligned();
        to.cast::<MaybeUninit<T>>().write_unaligned(begin);
        to.add(last).cast::<MaybeUninit<T>>().write_unaligned(end);
    }
}
