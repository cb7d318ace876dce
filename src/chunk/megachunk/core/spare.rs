//! `Spare`: how many empty mega-chunks there are, and how many of them keep their memory.
//!
//! About so many: no number here is relied upon for more than when to give memory back. So all accesses are relaxed; who
//! holds which memory, and sees it how, is the masks' business.
//!
//! # How many are kept
//! At least as many as the options say. Where memory that went back is asked for again, too little was kept: for
//! each such mega-chunk one more is kept from then on, up to the most that the options say. Each time that memory
//! goes back an eighth of those more are kept no longer (once, also where several calls give it back, each a part). So
//! a program that takes and gives 50 MiB again and again gets them from the system once, and not in every round; one
//! that becomes smaller keeps the least in the end.

use crate::flaw::{FlawPlace, Found};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::geometry::MEGACHUNKS;

/// Empty mega-chunks beyond those to be kept, before any are given back: a few at a time cost fewer
/// calls than each by itself.
#[cfg(not(loom))]
const SLACK: u64 = 8;
#[cfg(loom)]
const SLACK: u64 = 0;

/// Empty mega-chunks that have memory.
#[derive(Debug)]
pub(super) struct Spare {
    /// How many there are, modulo 2⁶⁴; lags.
    empty: AtomicU64,
    /// How many are kept at least.
    least: u64,
    /// How many can be kept beyond that.
    more: u64,
    /// How many are kept beyond the least now.
    learned: AtomicU64,
    /// Mega-chunks whose memory went back and was not asked for since, as far as that can still be learned from.
    given: AtomicU64,
    /// Above this many, some are given back.
    limit: AtomicU64,
}

impl Spare {
    /// None yet, of which `least` to `most` are to be kept.
    pub(super) fn new(least: usize, most: usize) -> Self {
        let least = least.min(MEGACHUNKS as usize) as u64;
        let most = most.min(MEGACHUNKS as usize) as u64;
        Self {
            empty: AtomicU64::new(0),
            least,
            more: most.saturating_sub(least),
            learned: AtomicU64::new(0),
            given: AtomicU64::new(0),
            limit: AtomicU64::new(least + SLACK),
        }
    }

    /// How many there are. In the middle of others' calls, less than one is none.
    pub(super) fn count(&self) -> u64 {
        let empty = self.empty.load(Ordering::Relaxed).cast_signed();
        empty.max(0).cast_unsigned()
    }

    /// Notes whether so many are empty, as is counted when nobody is in a call, and whether more are kept than may be.
    pub(super) fn check(&self, empty: u64, found: &mut Found) {
        let counted = self.empty.load(Ordering::Relaxed).cast_signed();
        let there = empty.cast_signed();
        found.expect(counted == there, FlawPlace::Allocator, || {
            format!("{there} mega-chunks have memory and are empty, and {counted} are counted")
        });
        let learned = self.learned.load(Ordering::Relaxed);
        found.expect(learned <= self.more, FlawPlace::Allocator, || {
            let most = self.least + self.more;
            format!(
                "{} empty mega-chunks are to be kept, of {most} at most",
                self.least + learned
            )
        });
    }

    /// How many there are beyond those that are to be kept.
    pub(super) fn surplus(&self) -> u64 {
        self.count().saturating_sub(self.kept())
    }

    /// One more is empty; whether they are so many now that memory is to be given back.
    pub(super) fn emptied(&self) -> bool {
        // It is somebody else's already, perhaps; the count is a hint.
        let empty = self.empty.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        empty.cast_signed() > self.limit.load(Ordering::Relaxed).cast_signed()
    }

    /// One is in use again.
    pub(super) fn taken(&self) {
        self.empty.fetch_sub(1, Ordering::Relaxed);
        // Those that could not be given back are fewer now. (Written by two at once it may be too high, until the
        // next comes.)
        let limit = self.limit_now();
        if self.limit.load(Ordering::Relaxed) > limit {
            self.limit.store(limit, Ordering::Relaxed);
        }
    }

    /// Memory was asked for, for one mega-chunk, and was there. If some went back before, more is to be kept.
    pub(super) fn asked_for(&self) {
        if self.more == 0 {
            return;
        }
        let given = self.given.load(Ordering::Relaxed);
        let learned = self.learned.load(Ordering::Relaxed);
        if given == 0 || learned == self.more {
            return;
        }
        // Where two threads do this at once, one more is learned from the two.
        self.given.store(given - 1, Ordering::Relaxed);
        self.learned.store(learned + 1, Ordering::Relaxed);
        // Not above those that are empty now: they may be given back.
        let limit = self.kept() + SLACK;
        if self.limit.load(Ordering::Relaxed) < limit {
            self.limit.store(limit, Ordering::Relaxed);
        }
    }

    /// The memory of some has gone back.
    pub(super) fn gone(&self, megachunks: u32) {
        self.empty.fetch_sub(megachunks.into(), Ordering::Relaxed);
    }

    /// Memory was given back because there was a surplus, of so many; whether more is to go that one call does not give
    /// back. Then the next that is emptied goes on with it.
    pub(super) fn gave_back(&self, megachunks: u64, goes_on: bool) {
        if self.more > 0 && megachunks > 0 {
            let given = self.given.load(Ordering::Relaxed) + megachunks;
            self.given.store(given.min(self.more), Ordering::Relaxed);
        }
        if goes_on {
            return self.limit.store(self.count(), Ordering::Relaxed);
        }
        if self.more > 0 && megachunks > 0 {
            let learned = self.learned.load(Ordering::Relaxed);
            self.learned
                .store(learned - learned.div_ceil(8), Ordering::Relaxed);
        }
        self.settle();
    }

    /// Memory comes to be given back when there are a few more than now: those that stayed because their neighbour
    /// is in use are not looked at again before.
    pub(super) fn settle(&self) {
        self.limit.store(self.limit_now(), Ordering::Relaxed);
    }

    /// How many are to be kept now.
    fn kept(&self) -> u64 {
        match self.more {
            0 => self.least,
            _ => self.least + self.learned.load(Ordering::Relaxed),
        }
    }

    fn limit_now(&self) -> u64 {
        self.count().max(self.kept()) + SLACK
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// So many become empty, and what is to be given back is; how many those are.
    fn shrinks(spare: &Spare, megachunks: u64) -> u64 {
        let mut given = 0;
        for _ in 0..megachunks {
            if spare.emptied() {
                let part = spare.surplus().min(10);
                spare.gone(part as u32);
                spare.gave_back(part, part == 10 && spare.surplus() > 0);
                given += part;
            }
        }
        given
    }

    /// So many are taken, those that have memory first.
    fn grows(spare: &Spare, megachunks: u64) {
        let there = spare.count().min(megachunks);
        (0..there).for_each(|_| spare.taken());
        (there..megachunks).for_each(|_| spare.asked_for());
    }

    #[test]
    fn what_comes_and_goes_is_kept_after_the_first_round() {
        let spare = Spare::new(8, 64);
        assert_eq!(shrinks(&spare, 60), 45);
        grows(&spare, 60);
        for _ in 0..10 {
            assert_eq!(shrinks(&spare, 60), 0);
            grows(&spare, 60);
        }
    }

    #[test]
    fn of_a_little_more_than_the_most_some_is_kept_and_never_more_than_the_most() {
        for megachunks in [80, 200, 1_000] {
            let spare = Spare::new(8, 64);
            for round in 0..10 {
                let given = shrinks(&spare, megachunks);
                let kept = spare.count();
                assert_eq!(given + kept, megachunks);
                assert!(kept <= 64 + SLACK, "{kept} in round {round}");
                assert!(
                    round == 0 || megachunks > 80 || kept > 40,
                    "{kept} in round {round}"
                );
                grows(&spare, megachunks);
            }
        }
    }

    #[test]
    fn more_than_the_most_is_never_kept_whatever_is_asked_for() {
        let spare = Spare::new(8, 64);
        assert!(shrinks(&spare, 400) > 300);
        // What becomes empty is not what is taken: each round asks for memory, and leaves more.
        for _ in 0..100 {
            shrinks(&spare, 8);
            spare.asked_for();
            assert!(spare.count() <= 64 + SLACK);
        }
    }

    #[test]
    fn a_program_that_becomes_smaller_keeps_the_least_in_the_end() {
        let spare = Spare::new(8, 64);
        for _ in 0..3 {
            shrinks(&spare, 60);
            grows(&spare, 60);
        }
        shrinks(&spare, 1_000);
        assert!(spare.count() <= 8 + SLACK);
    }

    #[test]
    fn nothing_is_learned_where_the_most_is_the_least() {
        let spare = Spare::new(8, 8);
        for _ in 0..5 {
            assert_eq!(shrinks(&spare, 60), 45);
            assert_eq!(spare.surplus(), 7);
            grows(&spare, 60);
        }
    }
}
