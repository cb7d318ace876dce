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

/// Copies a value of `size` bytes: up to 64 without a call, a few branches that columns of one kind take alike.
///
/// # Safety
/// `size` bytes to read and to write, which do not overlap.
#[inline(always)]
pub(crate) unsafe fn copy_value(from: *const u8, to: *mut u8, size: u32) {
    // SAFETY: the caller's; each arm moves as many bytes as `size` says, those in the middle twice where it is not
    // twice what a step moves.
    unsafe {
        match size {
            8..=16 => copy_ends::<u64>(from, to, size),
            4..=7 => copy_ends::<u32>(from, to, size),
            17..=32 => copy_ends::<u128>(from, to, size),
            33..=64 => {
                copy_ends::<u128>(from, to, 32);
                let rest = size as usize - 32;
                copy_ends::<u128>(from.add(rest), to.add(rest), 32);
            }
            _ => from.copy_to_nonoverlapping(to, size as usize),
        }
    }
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
