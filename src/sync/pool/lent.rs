//! `Lent`: an item of a pool in the hands of one thread.

use core::fmt;
use core::ops::{Deref, DerefMut};

use super::fit::{Fit, fit};
use super::{ANYBODY, Node, Pool};
use crate::sync::atomic::Ordering;
use crate::sync::thread_number::thread_identity;

/// An item of a pool, as long as one thread has it; dropped, it goes back.
pub struct Lent<'p, T> {
    pub(super) pool: &'p Pool<T>,
    pub(super) node: *mut Node<T>,
}

// SAFETY: a `Lent` is the only access to its item.
unsafe impl<T: Send> Send for Lent<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Lent<'_, T> {}

impl<T> Deref for Lent<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the node is this one's alone, and lives as long as the pool.
        unsafe { &(*self.node).item }
    }
}

impl<T> DerefMut for Lent<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut (*self.node).item }
    }
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        self.pool.give(self.node);
    }
}

impl<T: fmt::Debug> fmt::Debug for Lent<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> Lent<'_, T> {
    /// Given back, it is this thread's alone to [take](Pool::take), until it is [left](Self::leave)
    /// to all; who takes all has it with the others. Something waits in it since this time, unless
    /// it was kept before: then since that.
    pub fn keep(&self, time: u64) {
        self.keep_for(thread_identity(), time);
    }

    /// [`keep`](Self::keep), for a thread with another number.
    pub fn keep_for(&self, thread: usize, time: u64) {
        // SAFETY: the node lives as long as the pool.
        let (kept_for, kept_at) = unsafe { (&(*self.node).kept_for, &(*self.node).kept_at) };
        // Ordering: Relaxed, also below: see `kept`.
        if kept_for.load(Ordering::Relaxed) == ANYBODY {
            kept_at.store(time, Ordering::Relaxed);
        }
        kept_for.store(thread, Ordering::Relaxed);
    }

    /// Given back, it is anybody's to take: nothing waits in it.
    pub fn leave(&self) {
        // SAFETY: as above.
        unsafe { (*self.node).kept_for.store(ANYBODY, Ordering::Relaxed) };
    }

    /// Whether something waits in it since before this time.
    #[inline]
    #[must_use]
    pub fn waits_since_before(&self, time: u64) -> bool {
        self.fit(ANYBODY, time) == Fit::Missed
    }

    #[inline(always)]
    pub(super) fn fit(&self, thread: usize, since: u64) -> Fit {
        // SAFETY: the node lives as long as the pool.
        unsafe { fit(self.node, thread, since) }
    }
}
