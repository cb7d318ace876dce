//! `Nesting`: the flushes of a world that are under way: one, and those that its closures make, one in the other.
//!
//! A closure that records itself anew and flushes would go on until the stack ends. So a flush that lies too deep is
//! refused; and until the outermost is done so is each other in it, and none of them begins another round: five rounds in
//! each of sixteen flushes would never end either.

use crate::sync::atomic::{AtomicU64, Ordering};

/// Flushes that may lie one in the other.
pub(super) const DEEPEST: u64 = 16;

/// One was refused, and the outermost is not done yet.
const REFUSED: u64 = 1 << 63;

/// A round that is under way; below, lanes that it has.
const ROUND: u64 = 1 << 32;

/// Rounds of flushes that are under way, how many lanes they have, and whether one flush was refused.
#[derive(Debug)]
pub(super) struct Nesting(AtomicU64);

// Ordering: Relaxed in all: counts. Flushes of one world come one after the other, or one in the other, but where a
// closure gives the world to another thread.
impl Nesting {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Whether a flush that begins now is refused. Wait-free.
    #[inline]
    pub(super) fn refuses(&self) -> bool {
        let state = self.0.load(Ordering::Relaxed);
        state != 0 && self.refuses_at(state)
    }

    #[cold]
    fn refuses_at(&self, state: u64) -> bool {
        let rounds = (state & !REFUSED) / ROUND;
        if rounds == 0 {
            // The outermost that was under way is done.
            self.0.fetch_and(!REFUSED, Ordering::Relaxed);
            return false;
        }
        if rounds < DEEPEST && state & REFUSED == 0 {
            return false;
        }
        self.0.fetch_or(REFUSED, Ordering::Relaxed);
        true
    }

    /// Lanes that rounds under way have, and whether they are the last.
    #[inline]
    pub(super) fn seen(&self) -> (usize, bool) {
        let state = self.0.load(Ordering::Relaxed);
        ((state % ROUND) as usize, state & REFUSED != 0)
    }

    /// A round begins with so many lanes; it ends when what comes back goes.
    #[inline]
    pub(super) fn begin(&self, lanes: usize) -> Round<'_> {
        let counted = ROUND + lanes as u64;
        self.0.fetch_add(counted, Ordering::Relaxed);
        Round {
            nesting: self,
            counted,
        }
    }
}

/// A round of a flush that is under way, also while it unwinds.
#[must_use]
pub(super) struct Round<'n> {
    nesting: &'n Nesting,
    counted: u64,
}

impl Drop for Round<'_> {
    #[inline]
    fn drop(&mut self) {
        self.nesting.0.fetch_sub(self.counted, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_that_unwinds_is_under_way_no_more() {
        let nesting = Nesting::new();
        for _ in 0..3 {
            let unwound = std::panic::catch_unwind(|| {
                let rounds: Vec<Round<'_>> = (0..DEEPEST).map(|_| nesting.begin(2)).collect();
                assert_eq!(nesting.seen(), (2 * DEEPEST as usize, false));
                assert!(nesting.refuses());
                assert!(nesting.seen().1);
                drop(rounds);
                let _round = nesting.begin(1);
                assert!(nesting.refuses(), "until the outermost is done");
                std::panic::resume_unwind(Box::new("burnt"));
            });
            assert!(unwound.is_err());
            assert!(!nesting.refuses());
            assert_eq!(nesting.seen(), (0, false));
        }
    }
}
