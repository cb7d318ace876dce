//! `Refreshed`: a thing that is lent to many, and that the first who comes after a change of affairs brings up to
//! date.
//!
//! State: the thing, and a word, `of 63 | claimed 1`: the state of affairs for which the thing is up to date, or
//! for which somebody has claimed it to bring it up to date.
//!
//! The only operation, [`get`](Refreshed::get), on `&self`, is wait-free: a load, and if affairs are others now
//! a compare-and-swap that claims the thing; who gets it refreshes and then lends it, everybody else goes without
//! and helps themselves. A thread that stops while it refreshes, or panics, holds nobody up: the thing is lent
//! to nobody until affairs change again.
//!
//! Invariant: what is lent does not change while it is lent. It is changed only by who claims it, which takes a word
//! of other affairs; those who were lent it then are gone, as the callers of `get` promise. Of those who come now
//! one alone claims it, and it is lent to the others only when it is not claimed any more: the linearization point
//! is the store that says so.
//!
//! Orderings: that store is a Release, and the load an Acquire, so that who is lent the thing sees all of it. To claim
//! is Relaxed: who changed or was lent the thing for other affairs came before these by what the callers do.

use core::fmt;

use super::UnsafeCell;
use super::atomic::{AtomicU64, Ordering};
use super::mutant;

/// A thing, brought up to date when it is asked for.
pub struct Refreshed<T> {
    word: AtomicU64,
    value: UnsafeCell<T>,
}

const CLAIMED: u64 = 1;
/// Of no affairs.
const OUTDATED: u64 = u64::MAX;

// SAFETY: it is lent to many threads at once, and changed by one of them while it is lent to nobody.
unsafe impl<T: Send + Sync> Sync for Refreshed<T> {}

impl<T> Refreshed<T> {
    /// A thing that is not up to date.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            word: AtomicU64::new(OUTDATED),
            value: UnsafeCell::new(value),
        }
    }

    /// The thing, brought up to date if it is not; `None` while somebody else does that, and after that has
    /// panicked. Wait-free, apart from `refresh`, which is called by one thread at most for each state of affairs.
    ///
    /// # Safety
    /// `now` is below 2⁶³ − 1. Who calls at the same time, or still has what it was lent, says the same `now`; who has
    /// said another one happened before this call, or happens after whatever is done with what this call lends.
    #[inline]
    pub unsafe fn get(&self, now: u64, refresh: impl FnOnce(&mut T)) -> Option<&T> {
        // Ordering: Acquire pairs with the Release in `refresh`.
        let order = mutant::ordering("refreshed_lent_relaxed", Ordering::Acquire);
        let word = self.word.load(order);
        let fresh = match word {
            word if word == now << 1 => true,
            word if word >> 1 == now => mutant::active("refreshed_lent_early"),
            word => self.refresh(word, now, refresh),
        };
        // SAFETY: nobody changes it before affairs do, and then what is lent here is not used any more.
        fresh.then(|| self.value.with(|value| unsafe { &*value }))
    }

    /// Brings the thing up to date, if nobody else does.
    #[cold]
    fn refresh(&self, word: u64, now: u64, refresh: impl FnOnce(&mut T)) -> bool {
        // Ordering: Relaxed: see the file's head.
        let (order, claimed) = (Ordering::Relaxed, now << 1 | CLAIMED);
        if mutant::active("refreshed_claimed_twice") {
            self.word.store(claimed, order);
        } else if (self.word.compare_exchange(word, claimed, order, order)).is_err() {
            return false;
        }
        // SAFETY: only who claims it does this, and one alone does; it is lent to nobody, as the caller of `get` says.
        self.value.with_mut(|value| refresh(unsafe { &mut *value }));
        // Ordering: Release publishes the thing to those who find it fresh.
        let order = mutant::ordering("refreshed_said_relaxed", Ordering::Release);
        self.word.store(now << 1, order);
        true
    }
}

impl<T> fmt::Debug for Refreshed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The thing may be somebody's who changes it.
        f.debug_struct("Refreshed").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use super::*;

    #[test]
    fn who_comes_while_it_is_refreshed_goes_without_and_waits_for_nobody() {
        let thing = Refreshed::new(0);
        // SAFETY: affairs are the same.
        let lent = unsafe {
            thing.get(7, |value| {
                assert_eq!(thing.get(7, |_| unreachable!("it is claimed")), None);
                *value = 1;
            })
        };
        assert_eq!(lent, Some(&1));
        // SAFETY: as above.
        let again = unsafe { thing.get(7, |_| unreachable!("it is fresh")) };
        assert_eq!(again, Some(&1));
    }

    #[test]
    fn what_a_panic_left_is_lent_only_when_it_was_refreshed_for_other_affairs() {
        let thing = Refreshed::new(0);
        let broken = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: affairs are the same.
            unsafe { thing.get(1, |_| resume_unwind(Box::new("on the way"))) };
        }));
        assert!(broken.is_err());
        // SAFETY: as above.
        assert_eq!(unsafe { thing.get(1, |value| *value = 1) }, None);
        // SAFETY: nothing is lent any more.
        assert_eq!(unsafe { thing.get(2, |value| *value = 2) }, Some(&2));
    }
}
