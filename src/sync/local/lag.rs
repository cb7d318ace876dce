//! `Lag`: whether the hints of a thread lag behind what it has done.

use core::ptr;

use super::Registry;
use crate::sync::atomic::{AtomicU64, Ordering, fence};
use crate::sync::mutant;

/// Counts the moments at which hints begin and cease to lag behind what a thread has done: odd from
/// before the thread changes what the hints speak of until the hints follow.
///
/// A search that finds nothing by the hints may believe them if no other thread's count was odd when
/// it began, and none has changed when it ends: then no hint that it saw was in the making. A flag
/// would not do: a thread may set a wrong hint, be believed, and take it back before it is asked.
#[derive(Debug, Default)]
pub(crate) struct Lag(AtomicU64);

/// Hints lag until this is dropped.
#[derive(Debug)]
pub(crate) struct Lagged<'a>(&'a Lag);

impl Lag {
    /// Whether hints lag now.
    pub(crate) fn is_odd(&self) -> bool {
        // Ordering: Acquire, as in `Registry::quiet`.
        self.0.load(Ordering::Acquire) % 2 == 1
    }

    /// Only the owner of the node calls it, and not while its hints lag already.
    #[inline]
    pub(crate) fn begin(&self) -> Lagged<'_> {
        // Ordering: Relaxed. Whoever sees the change that follows (by Acquire) sees this too, because
        // the change is a Release; and who does not see the change came first.
        if !mutant::active("lag_not_said") {
            let before = self.count(Ordering::Relaxed);
            debug_assert!(before.is_multiple_of(2), "one stretch within another");
        }
        Lagged(self)
    }

    /// One on; what it was. Only the owner writes, so a load and a store are enough.
    #[inline]
    fn count(&self, order: Ordering) -> u64 {
        let count = self.0.load(Ordering::Relaxed);
        self.0.store(count + 1, order);
        count
    }
}

impl Drop for Lagged<'_> {
    #[inline]
    fn drop(&mut self) {
        // Ordering: Release: who sees that this thread lags no more sees the hints.
        if !mutant::active("lag_not_said") {
            self.0.count(Ordering::Release);
        }
    }
}

/// A public part that says whether its owner's hints lag.
pub(crate) trait Lagging {
    /// The count.
    fn lag(&self) -> &Lag;
}

impl<C, P: Lagging> Registry<C, P> {
    /// `None` if the hints may lag behind what a thread other than the caller has done; else a number
    /// that is another one as soon as any of them has lagged again. O(nodes).
    pub(crate) fn quiet(&self, own: &P) -> Option<u64> {
        // Ordering: this fence pairs with the Release of the read-modify-writes that set the hints: the
        // search before has seen a hint by a Relaxed load, and must now see that its setter lags. (On
        // x86-64 it is no instruction.)
        if !mutant::active("quiet_no_fence") && !mutant::looks_acquire() {
            fence(Ordering::Acquire);
        }
        self.nodes()
            .filter(|node| !ptr::eq(&raw const node.public, own))
            .try_fold(0_u64, |sum, node| {
                // Ordering: Acquire pairs with the Release in `Lagged`.
                let count = node.public.lag().0.load(Ordering::Acquire);
                (count % 2 == 0).then(|| sum.wrapping_add(count))
            })
    }
}
