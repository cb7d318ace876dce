//! `Column`: one fragment's array in every chunk of an archetype.

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

/// Copies a value of `size` bytes. Small sizes without a call.
///
/// # Safety
/// `size` bytes to read and to write, which do not overlap.
#[inline(always)]
pub(crate) unsafe fn copy_value(from: *const u8, to: *mut u8, size: u32) {
    // SAFETY: the caller's; each arm moves as many bytes as `size` says.
    unsafe {
        match size {
            4 => to
                .cast::<[u8; 4]>()
                .write_unaligned(from.cast::<[u8; 4]>().read_unaligned()),
            8 => to
                .cast::<[u8; 8]>()
                .write_unaligned(from.cast::<[u8; 8]>().read_unaligned()),
            12 => to
                .cast::<[u8; 12]>()
                .write_unaligned(from.cast::<[u8; 12]>().read_unaligned()),
            16 => to
                .cast::<[u8; 16]>()
                .write_unaligned(from.cast::<[u8; 16]>().read_unaligned()),
            64 => to
                .cast::<[u8; 64]>()
                .write_unaligned(from.cast::<[u8; 64]>().read_unaligned()),
            _ => from.copy_to_nonoverlapping(to, size as usize),
        }
    }
}
