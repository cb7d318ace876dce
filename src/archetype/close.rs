//! Rows that end: their values are dropped, and the last row of the chunk comes to the hole.

use crate::archetype::archetype::{Archetype, Row};
use crate::archetype::chunk::Chunk;
use crate::archetype::column::{Column, copy_row};
use crate::archetype::directory::place;
use crate::archetype::universe::Universe;
use crate::entity::Place;
use crate::fragment::FragmentId;
use crate::memory;
use crate::panics::{Panicked, note};

impl Archetype {
    /// Drops the values of a row. What a value's `drop` panics with comes back; all others are dropped.
    ///
    /// # Safety
    /// The row holds values, which nobody uses any more.
    #[inline(always)]
    pub(crate) unsafe fn drop_row(&self, row: Row) -> Panicked {
        if self.needs_drop {
            // SAFETY: the caller's.
            unsafe { self.drop_rows(row.chunk, row.row, 1) }
        } else {
            None
        }
    }

    /// Drops the values of neighbouring rows, column by column.
    ///
    /// # Safety
    /// The rows hold values, which nobody uses any more.
    pub(crate) unsafe fn drop_rows(&self, position: u32, first: u32, count: u32) -> Panicked {
        // SAFETY: the caller's.
        unsafe { self.drop_rows_in(position, first, count, |_| count) }
    }

    /// The same of rows of which not all columns have a value: `there` says in how many rows a fragment's has, the first
    /// ones.
    ///
    /// # Safety
    /// As for [`drop_rows`](Self::drop_rows), of the rows that have one.
    #[inline(always)]
    pub(crate) unsafe fn drop_rows_in(
        &self,
        position: u32,
        first: u32,
        count: u32,
        there: impl Fn(FragmentId) -> u32,
    ) -> Panicked {
        let mut panicked = None;
        if self.needs_drop && count > 0 {
            let chunk = &self.chunks[position as usize];
            for column in &self.columns {
                if let Some(drop) = column.drop {
                    let size = column.size as usize;
                    let mut value = chunk
                        .array(column.offset)
                        .wrapping_add(first as usize * size);
                    // A slice whose element panics goes on with the others; only a second panic
                    // would end the program.
                    for _ in 0..there(column.id) {
                        // SAFETY: the caller's.
                        note(&mut panicked, || unsafe { drop(value, 1) });
                        value = value.wrapping_add(size);
                    }
                }
            }
        }
        panicked
    }

    /// Fills the hole that a row leaves, whose values are gone, with the last row of its chunk. Gives the
    /// chunk back if it is empty and not wanted.
    #[inline(always)]
    pub(crate) fn close_row(&mut self, universe: &Universe, world: u16, row: Row, version: u32) {
        let chunk = &self.chunks[row.chunk as usize];
        let (last, place) = (chunk.len - 1, place(chunk.run, row.row));
        assert!(row.row <= last, "a row that there is");
        // SAFETY: just looked at.
        let has_room = unsafe { self.fill_hole(universe, row, place, row.row as usize, version) };
        if !self.enabled.is_empty() && row.row != last {
            self.move_bits(row.chunk, last, row.row);
        }
        if has_room {
            self.has_room(universe, world, row.chunk);
        }
    }

    /// [`close_row`](Self::close_row) but for what can be switched off, of a row that is at a place. `true` if the
    /// chunk may be filled again or is empty now: then [`has_room`](Self::has_room) is to be called.
    ///
    /// Row `next`, of any chunk of this length, may be the next hole.
    ///
    /// # Safety
    /// There is the row.
    #[inline(always)]
    pub(crate) unsafe fn fill_hole(
        &mut self,
        universe: &Universe,
        row: Row,
        place: Place,
        next: usize,
        version: u32,
    ) -> bool {
        // SAFETY: the caller's.
        let chunk = unsafe { self.chunks.at_mut(row.chunk) };
        let last = chunk.len - 1;
        chunk.len = last;
        chunk.order_version = version;
        self.entities -= 1;
        if row.row != last {
            let (hole, from) = (row.row as usize, last as usize);
            // SAFETY: both rows have a handle, and what is in the last row comes to the place of the other; two rows
            // of each column, which differ; the last one's values move.
            unsafe {
                let moved = *chunk.handles().add(from);
                *chunk.handles().add(hole) = moved;
                universe.index().replace_place(moved, place);
                match chunk.arrays() {
                    Some(arrays) => match &*self.movers {
                        [mover] => mover.close(arrays, from, hole, next),
                        [] => close_columns(&self.columns, |c| arrays.at(c), from, hole, next),
                        movers => {
                            for mover in movers {
                                mover.close(arrays, from, hole, next);
                            }
                        }
                    },
                    None => close_refit(&self.columns, chunk, from, hole),
                }
            }
        }
        chunk.opens_now(last)
    }
}

/// Moves the values of one row to another, whose values are gone. Asks the processor for row `next`.
///
/// # Safety
/// `array` says where the columns' arrays are, which have both rows.
#[inline(always)]
unsafe fn close_columns(
    columns: &[Column],
    array: impl Fn(u32) -> *mut u8,
    from: usize,
    hole: usize,
    next: usize,
) {
    for column in columns {
        let array = array(column.offset);
        memory::prefetch(array.wrapping_add(next * column.size as usize));
        // SAFETY: the caller's.
        unsafe { copy_row(array, from, array, hole, column.size) };
    }
}

/// [`close_columns`] of a chunk whose arrays do not lie where the archetype says.
///
/// # Safety
/// As there.
#[cold]
#[inline(never)]
unsafe fn close_refit(columns: &[Column], chunk: &Chunk, from: usize, hole: usize) {
    // SAFETY: the caller's.
    unsafe { close_columns(columns, |offset| chunk.array(offset), from, hole, hole) };
}
