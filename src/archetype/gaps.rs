//! Gaps: rows all over a chunk go together. Their values are dropped, then each column is closed in one pass,
//! the last rows that stay coming where the first ones go.

use core::mem::MaybeUninit;

use crate::archetype::archetype::Archetype;
use crate::archetype::bits::{read_bit, write_bit};
use crate::archetype::universe::Universe;
use crate::memory::prefetch;
use crate::panics::{Panicked, first};

/// A row that stays, and the gap that it comes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    from: u32,
    to: u32,
}

/// How many moves ahead memory is asked for.
const AHEAD: usize = 12;

impl Archetype {
    /// Ends rows of a chunk, in ascending order, whose entities are dead: drops their values and closes the
    /// gaps. Gives the chunk back if it is empty and not wanted. `moves` is room for working.
    ///
    /// # Safety
    /// The rows hold values, which nobody uses any more.
    pub(crate) unsafe fn end_scattered(
        &mut self,
        universe: &Universe,
        world: u16,
        position: u32,
        rows: &[u32],
        version: u32,
        moves: &mut Vec<Move>,
    ) -> Panicked {
        let mut panicked = None;
        if self.needs_drop {
            for &row in rows {
                // SAFETY: the caller's.
                panicked = first(panicked, unsafe { self.drop_rows(position, row, 1) });
            }
        }
        let chunk = &mut self.chunks[position as usize];
        plan(chunk.len, rows, moves);
        for column in &self.columns {
            // SAFETY: rows of the column, as `plan` has them; the values of gaps are gone.
            unsafe { close_column(chunk.array(column.offset), column.size as usize, moves) };
        }
        for bits in &self.enabled {
            let array = chunk.array(bits.offset);
            for &Move { from, to } in moves.iter() {
                // SAFETY: rows of the chunk.
                unsafe { write_bit(array, to, read_bit(array, from)) };
            }
        }
        // SAFETY: all rows have a handle.
        let handles =
            unsafe { core::slice::from_raw_parts_mut(chunk.handles(), chunk.len as usize) };
        for (at, &Move { from, to }) in moves.iter().enumerate() {
            if let Some(later) = moves.get(at + AHEAD) {
                universe
                    .index()
                    .places()
                    .expect(handles[later.from as usize]);
            }
            let entity = handles[from as usize];
            handles[to as usize] = entity;
            universe.place(entity, chunk.run, to);
        }
        chunk.len -= rows.len() as u32;
        chunk.order_version = version;
        let is_empty = chunk.len == 0;
        self.entities -= rows.len();
        self.reopen(position);
        if is_empty {
            self.emptied(universe, world, position);
        }
        panicked
    }
}

/// Which rows of `len` come to which gaps: the gaps that are left below the new length, in order, are filled
/// by the rows that stay behind it, in order.
fn plan(len: u32, gaps: &[u32], moves: &mut Vec<Move>) {
    moves.clear();
    let left = len - gaps.len() as u32;
    let (open, behind) = gaps.split_at(gaps.partition_point(|&row| row < left));
    let mut behind = behind.iter().peekable();
    let stay = (left..len).filter(|row| behind.next_if_eq(&row).is_none());
    moves.extend(stay.zip(open).map(|(from, &to)| Move { from, to }));
}

/// Moves values of one column.
///
/// # Safety
/// An array of values of `size` bytes that has all these rows; no row is moved to that is moved from.
unsafe fn close_column(array: *mut u8, size: usize, moves: &[Move]) {
    macro_rules! sizes {
        ($($known:literal)*) => {
            match size {
                // SAFETY: the caller's, for this size.
                $($known => unsafe { close_sized::<$known>(array, moves) },)*
                _ => {
                    for &Move { from, to } in moves {
                        // SAFETY: the caller's.
                        unsafe {
                            let from = array.add(from as usize * size);
                            from.copy_to_nonoverlapping(array.add(to as usize * size), size);
                        }
                    }
                }
            }
        };
    }
    sizes!(1 2 4 8 12 16 20 24 32 40 48 64 80 96 128);
}

/// [`close_column`] for a size that the compiler knows.
///
/// # Safety
/// As there.
unsafe fn close_sized<const SIZE: usize>(array: *mut u8, moves: &[Move]) {
    // Whatever the values are: they may hold pointers, and bytes that nobody wrote.
    let array = array.cast::<MaybeUninit<[u8; SIZE]>>();
    for (at, &Move { from, to }) in moves.iter().enumerate() {
        // Small values stand so close that the processor sees for itself what comes.
        if SIZE >= 32
            && let Some(later) = moves.get(at + AHEAD)
        {
            prefetch(array.wrapping_add(later.from as usize));
            prefetch(array.wrapping_add(later.to as usize));
        }
        // SAFETY: the caller's.
        unsafe {
            array
                .add(to as usize)
                .write_unaligned(array.add(from as usize).read_unaligned())
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_below_the_new_length_are_filled_by_rows_that_stay() {
        for gaps in 0_u32..1 << 10 {
            let rows: Vec<u32> = (0..10).filter(|row| gaps >> row & 1 == 1).collect();
            let mut moves = Vec::new();
            plan(10, &rows, &mut moves);
            let mut column: Vec<u32> = (0..10).collect();
            // SAFETY: ten rows of four bytes.
            unsafe { close_column(column.as_mut_ptr().cast(), 4, &moves) };
            column.truncate(10 - rows.len());
            column.sort_unstable();
            let stay: Vec<u32> = (0..10).filter(|row| gaps >> row & 1 == 0).collect();
            assert_eq!(column, stay);
        }
    }

    #[test]
    fn values_that_hold_pointers_or_have_bytes_between_come_whole() {
        #[derive(Debug, PartialEq)]
        struct Padded(u8, u32);
        let mut moves = Vec::new();
        plan(4, &[0, 2], &mut moves);
        let mut boxes = ['a', 'b', 'c', 'd'].map(|letter| MaybeUninit::new(Box::new(letter)));
        let mut padded = [0, 1, 2, 3].map(|n| MaybeUninit::new(Padded(n, n.into())));
        let stay = |left: &[Move]| left.iter().map(|each| each.from).collect::<Vec<_>>();
        assert_eq!(stay(&moves), [3]);
        // SAFETY: four rows each; those that go have been read out or need no end.
        unsafe {
            drop([boxes[0].assume_init_read(), boxes[2].assume_init_read()]);
            close_column(boxes.as_mut_ptr().cast(), size_of::<Box<char>>(), &moves);
            close_column(padded.as_mut_ptr().cast(), size_of::<Padded>(), &moves);
            let [first, second, ..] = &boxes;
            assert_eq!(*first.assume_init_read(), 'd');
            assert_eq!(*second.assume_init_read(), 'b');
            assert_eq!(*padded[0].assume_init_ref(), Padded(3, 3));
            assert_eq!(*padded[1].assume_init_ref(), Padded(1, 1));
        }
    }
}
