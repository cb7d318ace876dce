//! `Payload`: the values of recorded commands, by type: a column for each fragment of a bundle, or one for
//! a closure. They lie there until the flush moves them out; what it does not move is dropped.
//!
//! Must hold: every column has `len` rows; a row of a column with a `drop` holds a value exactly if its
//! mark is 0.

use core::alloc::Layout;
use core::ptr::NonNull;
use std::alloc::{alloc, handle_alloc_error, realloc};

use crate::archetype::copy_value;
use crate::fragment::{Bundle, DropValues, FragmentId, NO_COLUMN_LEFT};
use crate::panics::{Panicked, note};
use crate::world::COLUMNS;

/// Rows that a column has room for when its first value comes.
const FEWEST: usize = 64;

/// One fragment's values.
#[derive(Debug)]
pub(super) struct PayloadColumn {
    pub(super) id: FragmentId,
    pub(super) layout: Layout,
    drop: Option<DropValues>,
    memory: NonNull<u8>,
    /// A byte for each row, 1 once its value has been moved out; empty if nothing need be dropped.
    marks: Vec<u8>,
    /// Where the marks lie, from [`Payload::seal`] on.
    sealed: *mut u8,
}

/// A column as whoever moves many of its values out reads it: in registers.
#[derive(Clone, Copy)]
pub(super) struct Source {
    memory: *mut u8,
    size: u32,
    /// Null if nothing need be dropped.
    marks: *mut u8,
}

/// The values of all commands of one type.
#[derive(Debug)]
pub(super) struct Payload {
    pub(super) columns: Vec<PayloadColumn>,
    len: usize,
    room: usize,
    /// Where the first columns begin, for [`Bundle::write`].
    bases: [*mut u8; COLUMNS],
}

// SAFETY: values of fragments and closures are `Send`.
unsafe impl Send for Payload {}
// SAFETY: shared, it is only read or moved out of row by row, as the flush divides them.
unsafe impl Sync for Payload {}

impl PayloadColumn {
    pub(super) fn new(id: FragmentId, layout: Layout, drop: Option<DropValues>) -> Self {
        Self {
            id,
            layout,
            drop,
            memory: NonNull::dangling(),
            marks: Vec::new(),
            sealed: core::ptr::null_mut(),
        }
    }

    /// Where a row's value lies.
    #[inline(always)]
    pub(super) fn row(&self, row: u32) -> *mut u8 {
        let memory = self.memory.as_ptr();
        memory.wrapping_add(row as usize * self.layout.size())
    }

    /// Notes that a row's value is moved out.
    ///
    /// # Safety
    /// The payload is sealed, the row holds a value, and nobody else moves it out.
    #[inline(always)]
    pub(super) unsafe fn moved_out(&self, row: u32) {
        if self.drop.is_some() {
            // SAFETY: the payload is sealed, with a mark for each row; one command has this row, and one
            // task the command.
            unsafe { self.sealed.add(row as usize).write(1) };
        }
    }

    /// Whether its values need not be dropped.
    pub(super) fn is_plain(&self) -> bool {
        self.drop.is_none()
    }

    /// To move values out of it.
    ///
    /// # Safety
    /// The payload is sealed for as long as this is used.
    #[inline(always)]
    pub(super) unsafe fn source(&self) -> Source {
        Source {
            memory: self.memory.as_ptr(),
            size: self.layout.size() as u32,
            marks: match self.drop {
                Some(_) => self.sealed,
                None => core::ptr::null_mut(),
            },
        }
    }

    /// Drops the value of a row, if it has one that was not moved out and need be dropped.
    fn drop_row(&mut self, row: u32, panicked: &mut Panicked) {
        let mark = self.marks.get_mut(row as usize);
        let mark = mark.map(|mark| core::mem::replace(mark, 1));
        if let (Some(drop), Some(0)) = (self.drop, mark) {
            // SAFETY: a value that nobody has moved out, and nobody uses again.
            note(panicked, || unsafe { drop(self.row(row), 1) });
        }
    }

    fn bytes(&self, rows: usize) -> Option<Layout> {
        let bytes = self.layout.size().checked_mul(rows)?;
        Layout::from_size_align(bytes, self.layout.align().max(16)).ok()
    }

    /// Makes room for `rows` instead of `before`.
    fn grow(&mut self, before: usize, rows: usize) {
        let Some(new) = self.bytes(rows) else {
            unreachable!("it has been asked whether they fit");
        };
        if new.size() == 0 {
            // Aligned to the type, for whoever looks at it as one.
            let align = self.layout.align();
            self.memory = NonNull::without_provenance(match core::num::NonZero::new(align) {
                Some(align) => align,
                None => unreachable!("an alignment is a power of two"),
            });
            return;
        }
        // SAFETY: the size is not zero; the old memory was allocated with the old layout.
        let memory = unsafe {
            match self.bytes(before) {
                Some(old) if before > 0 => realloc(self.memory.as_ptr(), old, new.size()),
                _ => alloc(new),
            }
        };
        match NonNull::new(memory) {
            Some(memory) => self.memory = memory,
            None => handle_alloc_error(new),
        }
    }
}

impl Source {
    /// Where a row's value lies.
    #[inline(always)]
    pub(super) fn row(self, row: u32) -> *mut u8 {
        self.memory.wrapping_add(row as usize * self.size as usize)
    }

    /// Moves a row's value to where nothing lies.
    ///
    /// # Safety
    /// The payload is sealed still, the row holds a value, and nobody else moves it out; there is room for it.
    #[inline(always)]
    pub(super) unsafe fn move_out(self, row: u32, to: *mut u8) {
        // SAFETY: the caller's. A mark for each row; one command has this row, and one task the command.
        unsafe {
            copy_value(self.row(row), to, self.size);
            if !self.marks.is_null() {
                self.marks.add(row as usize).write(1);
            }
        }
    }

    /// Moves the values of `count` rows, one after the other, to where nothing lies.
    ///
    /// # Safety
    /// As for [`move_out`](Self::move_out), for each of the rows.
    #[inline(always)]
    pub(super) unsafe fn move_run_out(self, row: u32, count: usize, to: *mut u8) {
        // SAFETY: the caller's.
        unsafe {
            let bytes = count * self.size as usize;
            self.row(row).copy_to_nonoverlapping(to, bytes);
            if !self.marks.is_null() {
                self.marks.add(row as usize).write_bytes(1, count);
            }
        }
    }
}

impl Payload {
    pub(super) fn new(columns: Vec<PayloadColumn>) -> Self {
        Self {
            columns,
            len: 0,
            room: 0,
            bases: [core::ptr::null_mut(); COLUMNS],
        }
    }

    /// Rows that are there.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// A row for the values of one more command: write each column's, then [`push`](Self::push).
    #[inline(always)]
    pub(super) fn next(&mut self) -> u32 {
        if self.len == self.room {
            self.grow();
        }
        self.len as u32
    }

    /// Adds the values of a bundle.
    ///
    /// # Safety
    /// The payload is of the bundle's type, and [`next`](Self::next) was asked for the row.
    #[inline(always)]
    pub(super) unsafe fn add<B: Bundle>(&mut self, bundle: B) {
        const { assert!(B::LEN <= COLUMNS, "{}", NO_COLUMN_LEFT) };
        // SAFETY: the payload has the bundle's columns, and room for one more row.
        unsafe { bundle.write(self.bases.as_ptr(), self.len) };
        if core::mem::needs_drop::<B>() {
            self.push();
        } else {
            self.len += 1;
        }
    }

    /// The row that [`next`](Self::next) gave holds values now.
    #[inline(always)]
    pub(super) fn push(&mut self) {
        for column in &mut self.columns {
            if column.drop.is_some() {
                column.marks.push(0);
            }
        }
        self.len += 1;
    }

    /// From now on values are moved out, by several threads, until it is [cleared](Self::clear).
    pub(super) fn seal(&mut self) {
        for column in &mut self.columns {
            column.sealed = column.marks.as_mut_ptr();
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let room = (2 * self.room).clamp(FEWEST, u32::MAX as usize);
        assert!(room > self.room, "4 billion commands of one type");
        // Before any of them has grown: their room is one number.
        let fits = self
            .columns
            .iter()
            .all(|column| column.bytes(room).is_some());
        assert!(fits, "the values of recorded commands take all memory");
        for column in &mut self.columns {
            column.grow(self.room, room);
            if column.drop.is_some() {
                column.marks.reserve(room - column.marks.len());
            }
        }
        self.room = room;
        for (base, column) in self.bases.iter_mut().zip(&self.columns) {
            *base = column.memory.as_ptr();
        }
    }

    /// Whether there are values that were not moved out, and need be dropped.
    pub(super) fn has_left(&self) -> bool {
        self.columns.iter().any(|column| column.marks.contains(&0))
    }

    /// Drops those of a row, if they were not.
    pub(super) fn drop_row(&mut self, row: u32, panicked: &mut Panicked) {
        for column in &mut self.columns {
            column.drop_row(row, panicked);
        }
    }

    /// Drops the values that were not moved out, and keeps the room for new ones.
    pub(super) fn clear(&mut self) -> Panicked {
        let mut panicked = None;
        let rows = core::mem::take(&mut self.len) as u32;
        // Mostly all were.
        if self.has_left() {
            (0..rows).for_each(|row| self.drop_row(row, &mut panicked));
        }
        self.columns
            .iter_mut()
            .for_each(|column| column.marks.clear());
        panicked
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        crate::panics::forget(self.clear());
        for column in &self.columns {
            if let Some(layout) = column.bytes(self.room)
                && layout.size() > 0
            {
                // SAFETY: allocated with this layout.
                unsafe { std::alloc::dealloc(column.memory.as_ptr(), layout) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_all_commands_that_have_numbers() {
        let column = PayloadColumn::new(FragmentId::from_number(0), Layout::new::<()>(), None);
        let mut payload = Payload::new(vec![column]);
        payload.len = 1 << 31;
        payload.room = 1 << 31;
        assert_eq!(payload.next(), 1 << 31);
        assert_eq!(payload.room, u32::MAX as usize);
        payload.len = u32::MAX as usize;
        let full = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| payload.next()));
        let full = full.unwrap_err();
        assert_eq!(
            crate::panics::said(&*full),
            Some("4 billion commands of one type")
        );
    }
}
