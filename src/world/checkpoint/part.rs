//! `Part`: an array of a chunk, or a value that a chunk has once, as it was; checkpoints that are next to each other share
//! what has not changed between them.
//!
//! Must hold: the first `count` values of a part are whole, and are dropped with it, if they are values that are dropped.

use core::alloc::Layout;
use core::ptr::NonNull;
use std::alloc::{alloc, dealloc, handle_alloc_error};
use std::sync::Arc;

use crate::archetype::MAX_ALIGN;
use crate::fragment::{CloneValue, DropValues};
use crate::memory::LINE;
use crate::panics::{Panicked, note, resume_alone};

/// Lengths of memory for which there is a list, powers of two: of up to 8 MiB.
const CLASSES: usize = 24;

/// A copy of values, or of bytes.
#[derive(Debug)]
pub(super) struct Part {
    memory: NonNull<u8>,
    layout: Layout,
    values: Option<Values>,
}

/// Values that are to be dropped.
#[derive(Clone, Copy, Debug)]
struct Values {
    drop: DropValues,
    size: usize,
    count: usize,
}

// SAFETY: what it has are bytes, and values of fragments, which are `Send + Sync`; it is changed through `&mut` alone.
unsafe impl Send for Part {}
// SAFETY: as above.
unsafe impl Sync for Part {}

impl Part {
    /// Room for so many bytes.
    fn new(layout: Layout) -> Self {
        // SAFETY: a line at least.
        let memory = unsafe { alloc(layout) };
        let Some(memory) = NonNull::new(memory) else {
            handle_alloc_error(layout)
        };
        Self {
            memory,
            layout,
            values: None,
        }
    }

    /// Where it begins.
    pub(super) fn first(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    /// Copies bytes.
    ///
    /// # Safety
    /// `count` bytes at `from`, and room for them here; they are no values that are dropped.
    pub(super) unsafe fn copy(&mut self, from: *const u8, count: usize) {
        debug_assert!(count <= self.layout.size() && self.values.is_none());
        // SAFETY: the caller's.
        unsafe { self.first().copy_from_nonoverlapping(from, count) };
    }

    /// Clones values, those that were made before one panicked are kept.
    ///
    /// # Safety
    /// `count` values of `size` bytes at `from`, that `clone` clones and `drop` drops; and room for them here, aligned for
    /// them.
    pub(super) unsafe fn clone_values(
        &mut self,
        from: *const u8,
        (size, count): (usize, usize),
        clone: CloneValue,
        drop: Option<DropValues>,
    ) {
        debug_assert!(size * count <= self.layout.size() && self.values.is_none());
        let first = self.first();
        for row in 0..count {
            // SAFETY: the caller's.
            unsafe { clone(from.add(row * size), first.add(row * size), size) };
            if let Some(drop) = drop {
                let count = row + 1;
                self.values = Some(Values { drop, size, count });
            }
        }
    }

    /// Moves all its bytes to where they have room: values in them are whoever's that is from now on.
    ///
    /// # Safety
    /// Room for `count` bytes at `to`, as many as were copied or cloned, where no values are.
    pub(super) unsafe fn move_to(&mut self, to: *mut u8, count: usize) {
        self.values = None;
        // SAFETY: the caller's.
        unsafe { to.copy_from_nonoverlapping(self.first(), count) };
    }

    /// Drops its values.
    fn end(&mut self, panicked: &mut Panicked) {
        if let Some(Values { drop, size, count }) = self.values.take() {
            // SAFETY: values that are whole, and that nobody uses any more.
            unsafe { drop_each(drop, self.first(), (size, count), panicked) };
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let mut panicked = None;
        self.end(&mut panicked);
        // SAFETY: from `alloc` with this layout.
        unsafe { dealloc(self.first(), self.layout) };
        resume_alone(panicked);
    }
}

/// Drops values one by one, however many panic.
///
/// # Safety
/// `count` values of `size` bytes at `first`, that `drop` drops and nobody uses any more.
pub(super) unsafe fn drop_each(
    drop: DropValues,
    first: *mut u8,
    (size, count): (usize, usize),
    panicked: &mut Panicked,
) {
    for row in 0..count {
        // SAFETY: the caller's.
        note(panicked, || unsafe { drop(first.add(row * size), 1) });
    }
}

/// Parts that nobody has any more, by the length of their memory.
#[derive(Debug, Default)]
pub(super) struct SpareParts([Vec<Arc<Part>>; CLASSES]);

impl SpareParts {
    /// A part with room for so many bytes, which nobody else has.
    pub(super) fn take(&mut self, bytes: usize, align: usize) -> Arc<Part> {
        let size = bytes.max(align).max(LINE).next_power_of_two();
        let spare = self.0.get_mut(size.trailing_zeros() as usize);
        if let Some(part) = spare.and_then(Vec::pop) {
            return part;
        }
        // As long as a page they begin at one: values may want it.
        let align = size.min(MAX_ALIGN);
        let Ok(layout) = Layout::from_size_align(size, align) else {
            unreachable!("a power of two, no longer than a chunk and a half")
        };
        Arc::new(Part::new(layout))
    }

    /// Takes a part back, if nobody else has it. What its values' `drop` panics with is noted.
    pub(super) fn give(&mut self, mut part: Arc<Part>, panicked: &mut Panicked) {
        let Some(own) = Arc::get_mut(&mut part) else {
            return;
        };
        own.end(panicked);
        let class = own.layout.size().trailing_zeros() as usize;
        match self.0.get_mut(class) {
            Some(spare) => spare.push(part),
            None => drop(part),
        }
    }

    /// Gives the memory of all back.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
