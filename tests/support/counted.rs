//! `Counted`: a value that counts how many of it there are, and panics where a fuse says so.
//!
//! Used by tests of this folder and by the crate's own.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

thread_local! {
    /// Calls of [`burnt`] on this thread until one says so; 0: none does.
    pub(crate) static FUSE: Cell<usize> = const { Cell::new(0) };
}

/// What users' code does that may panic.
///
/// # Panics
/// If the fuse has come to its end.
pub(crate) fn burn() {
    if burnt() {
        resume_unwind(Box::new("the fuse"));
    }
}

/// Whether the fuse comes to its end with this call: for what may fail in other ways than by a panic.
pub(crate) fn burnt() -> bool {
    let left = FUSE.get();
    FUSE.set(left.saturating_sub(1));
    left == 1
}

/// Adds one to a number while it lives. To clone it burns the fuse.
#[derive(Debug)]
pub(crate) struct Counted(Arc<AtomicUsize>);

impl Counted {
    /// One more of those that `alive` counts.
    pub(crate) fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(alive))
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        burn();
        Self::new(&self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
