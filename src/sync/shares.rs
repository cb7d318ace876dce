//! `Shares`: numbers that are shared out among workers, who help each other out.
//!
//! State: for each worker a word with the numbers that are left to it, `first 32 | end 32`. Operations, on
//! `&self`, lock-free: [`take`](Shares::take) takes numbers from the front of the worker's own share; when
//! that is empty, from the back of another's. So neighbours stay with one worker as far as all are equally
//! quick, and with the same one time after time (affinity scheduling, Markatos and LeBlanc 1994); a worker that
//! nobody plays has its share done by others, and at the end nobody waits for longer than one piece takes. Pieces
//! shrink with what is left (guided self-scheduling, Polychronopoulos and Kuck 1987): from the longest to the
//! shortest that the [`Piece`] allows. [`stop`](Shares::stop) empties all shares.
//!
//! Invariant: the numbers that were taken and those that are left are all, each once. The compare-and-swap of a
//! share's word is the linearization point; a word never comes back once a number of it is gone, as its
//! first number only grows and its end only shrinks.
//!
//! Orderings: all Relaxed. Only uniqueness matters; who shares work out sees by other means that it is done.

use crossbeam_utils::CachePadded;

use super::atomic::{AtomicU64, Ordering};
use super::mutant;
use core::ops::Range;

/// How many numbers are taken at once.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Not fewer, but for the last. Longer pieces are multiples of it.
    pub shortest: u32,
    /// Not more.
    pub longest: u32,
}

impl Piece {
    /// Always so many.
    #[must_use]
    pub const fn of(numbers: u32) -> Self {
        Self {
            shortest: numbers,
            longest: numbers,
        }
    }

    /// Of so many: a quarter, within bounds.
    #[inline(always)]
    fn from(self, left: u32) -> u32 {
        let quarter = (left / 4).min(self.longest);
        let whole = quarter - quarter % self.shortest;
        whole.max(self.shortest).min(left)
    }
}

/// Numbers that are shared out.
#[derive(Debug)]
pub struct Shares {
    left: Box<[CachePadded<AtomicU64>]>,
    piece: Piece,
}

impl Shares {
    /// The numbers below `count`, shared out evenly among so many workers, who take them in pieces.
    ///
    /// # Panics
    /// If there is no worker, or nothing in a piece.
    #[must_use]
    pub fn new(count: u32, workers: usize, piece: Piece) -> Self {
        assert!(workers > 0 && piece.shortest > 0, "somebody does something");
        let border = |worker: usize| (u64::from(count) * worker as u64) / workers as u64;
        let share = |worker| pack(border(worker), border(worker + 1));
        let shares = (0..workers).map(|worker| CachePadded::new(AtomicU64::new(share(worker))));
        Self {
            left: shares.collect(),
            piece,
        }
    }

    /// Numbers that nobody else gets, for a worker by its number; `None` if there are none left.
    #[inline]
    pub fn take(&self, worker: usize) -> Option<Range<u32>> {
        let own = self.take_from(worker, |first, end| {
            let taken = self.piece.from(end - first);
            (first..first + taken, first + taken..end)
        });
        own.or_else(|| self.help(worker))
    }

    /// Numbers of another worker's share.
    #[cold]
    fn help(&self, worker: usize) -> Option<Range<u32>> {
        let mut others = (worker + 1..self.left.len()).chain(0..worker);
        others.find_map(|other| {
            self.take_from(other, |first, end| {
                let taken = self.piece.from(end - first);
                (end - taken..end, first..end - taken)
            })
        })
    }

    /// Takes what `split` says, given the first number of a share that is not empty, and its end: what is
    /// taken, what is left.
    #[inline(always)]
    fn take_from(
        &self,
        worker: usize,
        split: impl Fn(u32, u32) -> (Range<u32>, Range<u32>),
    ) -> Option<Range<u32>> {
        let share = &self.left[worker];
        // Ordering: Relaxed, as all of them: see above.
        let mut seen = share.load(Ordering::Relaxed);
        loop {
            let (first, end) = ((seen >> 32) as u32, seen as u32);
            if first >= end {
                return None;
            }
            let (taken, left) = split(first, end);
            let left = pack(u64::from(left.start), u64::from(left.end));
            if mutant::active("shares_read_then_write") {
                share.store(left, Ordering::Relaxed);
                return Some(taken);
            }
            match share.compare_exchange_weak(seen, left, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(taken),
                Err(now) => seen = now,
            }
        }
    }

    /// Nobody gets more.
    pub fn stop(&self) {
        for share in &self.left {
            share.store(0, Ordering::Relaxed);
        }
    }
}

const fn pack(first: u64, end: u64) -> u64 {
    first << 32 | end
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_worker_gets_all_if_nobody_helps_him() {
        for (count, workers, piece) in [(0, 1, 1), (1, 3, 1), (7, 2, 3), (100, 7, 4)] {
            let shares = Shares::new(count, workers, Piece::of(piece));
            let taken = core::iter::from_fn(|| shares.take(workers - 1));
            let mut all: Vec<u32> = taken.flatten().collect();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn who_is_as_quick_as_the_others_keeps_to_his_own() {
        let shares = Shares::new(8, 2, Piece::of(2));
        let both: Vec<_> = (0..2)
            .map(|_| [0, 1].map(|worker| shares.take(worker)))
            .collect();
        assert_eq!(both, [[Some(0..2), Some(4..6)], [Some(2..4), Some(6..8)]]);
        assert_eq!([0, 1].map(|worker| shares.take(worker)), [None, None]);
    }

    #[test]
    fn pieces_shrink_with_what_is_left() {
        let piece = Piece {
            shortest: 3,
            longest: 20,
        };
        let shares = Shares::new(100, 1, piece);
        let taken = core::iter::from_fn(|| shares.take(0)).map(|taken| taken.len());
        let taken: Vec<usize> = taken.collect();
        assert_eq!(taken[..6], [18, 18, 15, 12, 9, 6]);
        assert!(taken[6..taken.len() - 1].iter().all(|&len| len == 3));
        assert_eq!(taken.iter().sum::<usize>(), 100);
    }

    #[test]
    fn nobody_gets_anything_after_the_end() {
        let shares = Shares::new(8, 2, Piece::of(1));
        assert_eq!(shares.take(0), Some(0..1));
        shares.stop();
        assert_eq!([0, 1].map(|worker| shares.take(worker)), [None, None]);
    }
}
