//! `EnabledBits`: which rows of a chunk have a fragment switched on, a bit each.

use crate::archetype::archetype::{Archetype, Row};
use crate::fragment::FragmentId;

/// The bits of an enableable fragment: set where it is enabled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EnabledBits {
    pub(crate) id: FragmentId,
    pub(crate) offset: u32,
    /// Which of a chunk's versions says when one was switched: the column's, or one of its own.
    pub(crate) version: u32,
}

impl Archetype {
    /// The enabled bits of a fragment, if it has them.
    #[inline]
    pub(crate) fn enabled_of(&self, id: FragmentId) -> Option<EnabledBits> {
        self.enabled.iter().find(|bits| bits.id == id).copied()
    }

    /// Switches a fragment of a row, which the caller has to itself; a change only if it was not so.
    #[inline]
    pub(crate) fn switch(&self, row: Row, bits: EnabledBits, to: bool, version: u32) {
        let chunk = &self.chunks[row.chunk as usize];
        let array = chunk.array(bits.offset);
        debug_assert!(row.row < chunk.len);
        // SAFETY: a row that the caller has found in this archetype.
        unsafe {
            if read_bit(array, row.row) != to {
                write_bit(array, row.row, to);
                chunk.touch(bits.version as usize, version);
            }
        }
    }

    /// Moves the enabled bits of a row to another.
    #[cold]
    pub(super) fn move_bits(&self, position: u32, from: u32, to: u32) {
        let chunk = &self.chunks[position as usize];
        for bits in &self.enabled {
            let array = chunk.array(bits.offset);
            // SAFETY: two rows of the chunk.
            unsafe { write_bit(array, to, read_bit(array, from)) };
        }
    }
}

/// # Safety
/// `bits` holds a word for each 64 rows up to `row`, and nobody else uses it.
#[inline]
pub(crate) unsafe fn read_bit(bits: *const u8, row: u32) -> bool {
    // SAFETY: the caller's.
    let word = unsafe { *bits.cast::<u64>().add(row as usize / 64) };
    word >> (row % 64) & 1 == 1
}

/// # Safety
/// As for [`read_bit`].
#[inline]
pub(crate) unsafe fn write_bit(bits: *mut u8, row: u32, to: bool) {
    // SAFETY: the caller's.
    let word = unsafe { &mut *bits.cast::<u64>().add(row as usize / 64) };
    *word = *word & !(1 << (row % 64)) | u64::from(to) << (row % 64);
}

/// Sets the bits of rows that come behind the last one. A word whose first row comes is written as a whole, whatever
/// was there: nobody has written one to a fresh chunk, or what lay there was no word.
///
/// # Safety
/// `bits` has room for a word for each 64 rows up to the last, holds those of the rows before
/// `first`, and nobody else uses it.
pub(crate) unsafe fn set_bits(bits: *mut u8, first: u32, count: u32) {
    let mut row = first;
    let end = first + count;
    while row < end {
        let (word, lane) = (row / 64, row % 64);
        let next = end.min((word + 1) * 64);
        let come = u64::MAX >> (64 - (next - row)) << lane;
        // SAFETY: the caller's.
        unsafe {
            let word = bits.cast::<u64>().add(word as usize);
            let before = if lane == 0 { 0 } else { word.read() };
            word.write(before | come);
        }
        row = next;
    }
}
