//! `Only`: the one item of a pool in which something waits, for who has the pool to itself: it stays where it lies, and
//! costs no read-modify-write.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr;

use super::{ANYBODY, Node, Pool, kept};
use crate::sync::atomic::Ordering;

/// An item that lies in its slot.
pub struct Only<'p, T> {
    node: *mut Node<T>,
    pool: PhantomData<&'p Pool<T>>,
}

impl<T> Pool<T> {
    /// The only item in which something waits; `None` if there are more, or none, or one that does not lie in a slot, or
    /// one in which nothing waits, but of which `is_idle` says that there is something to do with it. Loads alone, of no
    /// more slots than it takes to have seen all items.
    ///
    /// # Safety
    /// Until what comes back is gone the caller has the pool to itself: nobody else asks it for anything, nor gives back,
    /// and what others have done before is seen.
    #[must_use]
    pub unsafe fn only_waiting(&self, is_idle: impl Fn(&T) -> bool) -> Option<Only<'_, T>> {
        let mut to_see = self.len();
        let mut only: *mut Node<T> = ptr::null_mut();
        for slot in self.slots_from_home() {
            // Ordering: Relaxed: the caller's.
            let node = slot.load(Ordering::Relaxed);
            if node.is_null() {
                continue;
            }
            // SAFETY: the caller's: nobody has it, and nodes live as long as the pool.
            let (waits, item) = unsafe { (kept(node).is_some(), &(*node).item) };
            match waits {
                true if only.is_null() => only = node,
                false if is_idle(item) => {}
                _ => return None,
            }
            to_see -= 1;
            if to_see == 0 {
                break;
            }
        }
        (to_see == 0 && !only.is_null()).then_some(Only {
            node: only,
            pool: PhantomData,
        })
    }
}

impl<T> Only<'_, T> {
    /// It is anybody's to take: nothing waits in it any more.
    #[inline]
    pub fn leave(self) {
        // Ordering: Relaxed: as `Lent::leave`; who comes next comes after who has the pool to itself.
        //
        // SAFETY: the node lives as long as the pool.
        unsafe { (*self.node).kept_for.store(ANYBODY, Ordering::Relaxed) };
    }
}

impl<T> Deref for Only<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: of `only_waiting`: the node is this one's alone, and lives as long as the pool.
        unsafe { &(*self.node).item }
    }
}

impl<T> DerefMut for Only<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut (*self.node).item }
    }
}

impl<T> core::fmt::Debug for Only<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Only").finish_non_exhaustive()
    }
}
