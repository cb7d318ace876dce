//! `Shares`: numbers that are shared out among workers, who help each other out.
//!
//! State: for each worker a word with the numbers that are left to it, `first 32 | end 32`; and, on a line of its own, how
//! many of these words have numbers left. Operations, lock-free: a [`Worker`] [takes](Worker::take) numbers from the front
//! of its own share; when that is empty, from the back of another's, of the one that it took from last or of those after it.
//! So neighbours stay with one worker as far as all are equally quick, and with the same one time after time (affinity
//! scheduling, Markatos and LeBlanc 1994); a worker that nobody plays has its share done by others, and at the end nobody
//! waits for longer than one piece takes. Pieces
//! shrink with what is left (guided self-scheduling, Polychronopoulos and Kuck 1987): from the longest to the
//! shortest that the [`Piece`] allows. [`stop`](Shares::stop) empties all shares.
//!
//! Invariant: the numbers that were taken and those that are left are all, each once. The compare-and-swap of a
//! share's word is the linearization point; a word never comes back once a number of it is gone, as its
//! first number only grows and its end only shrinks. Who takes the last number of a share counts it out, once, after that:
//! where the count is zero, nothing is left, and nobody looks for it (as each of many workers would at the end, at the
//! shares of all). While somebody has not counted yet, or has stopped all, who looks finds nothing in any share.
//!
//! Orderings: all Relaxed. Only uniqueness matters; who shares work out sees by other means that it is done.

use crossbeam_utils::CachePadded;

use super::atomic::{AtomicU64, AtomicUsize, Ordering};
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
    /// Shares that have numbers left, and some that have just lost the last one.
    open: CachePadded<AtomicUsize>,
    piece: Piece,
}

/// One who takes numbers, beginning with a share of its own: several may have the same one.
#[derive(Debug)]
pub struct Worker<'s> {
    shares: &'s Shares,
    own: usize,
    /// Whose share it looks at first when its own is empty.
    other: usize,
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
        // Borders lie evenly: of fewer numbers than workers, each is a share of its own.
        let open = workers.min(count as usize);
        Self {
            left: shares.collect(),
            open: CachePadded::new(AtomicUsize::new(open)),
            piece,
        }
    }

    /// A worker by the number of its share.
    ///
    /// # Panics
    /// If there is no such share.
    #[inline]
    #[must_use]
    pub fn worker(&self, own: usize) -> Worker<'_> {
        assert!(own < self.left.len(), "a share that there is");
        Worker {
            shares: self,
            own,
            other: (own + 1) % self.left.len(),
        }
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
            let word = pack(u64::from(left.start), u64::from(left.end));
            if mutant::active("shares_read_then_write") {
                share.store(word, Ordering::Relaxed);
                return Some(taken);
            }
            match share.compare_exchange_weak(seen, word, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    if left.is_empty() || mutant::active("shares_counted_by_pieces") {
                        self.count_out();
                    }
                    return Some(taken);
                }
                Err(now) => seen = now,
            }
        }
    }

    /// A share has lost its last number.
    #[cold]
    fn count_out(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether there may be numbers left. Who asks learns nothing of those that others have taken.
    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) != 0
    }

    /// Nobody gets more.
    pub fn stop(&self) {
        for share in &self.left {
            share.store(0, Ordering::Relaxed);
        }
    }
}

impl Worker<'_> {
    /// Numbers that nobody else gets; `None` if there are none left.
    #[inline]
    pub fn take(&mut self) -> Option<Range<u32>> {
        let piece = self.shares.piece;
        let own = self.shares.take_from(self.own, |first, end| {
            let taken = piece.from(end - first);
            (first..first + taken, first + taken..end)
        });
        own.or_else(|| self.help())
    }

    /// Numbers of another worker's share.
    #[cold]
    fn help(&mut self) -> Option<Range<u32>> {
        let Shares { left, piece, .. } = self.shares;
        if !self.shares.is_open() {
            return None;
        }
        let mut others = (self.other..left.len()).chain(0..self.other);
        others.find_map(|other| {
            let taken = self.shares.take_from(other, |first, end| {
                let taken = piece.from(end - first);
                (end - taken..end, first..end - taken)
            })?;
            self.other = other;
            Some(taken)
        })
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
            let mut worker = shares.worker(workers - 1);
            let taken = core::iter::from_fn(|| worker.take());
            let mut all: Vec<u32> = taken.flatten().collect();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn who_is_as_quick_as_the_others_keeps_to_his_own() {
        let shares = Shares::new(8, 2, Piece::of(2));
        let mut workers = [0, 1].map(|own| shares.worker(own));
        let mut both = || workers.each_mut().map(Worker::take);
        assert_eq!(both(), [Some(0..2), Some(4..6)]);
        assert_eq!(both(), [Some(2..4), Some(6..8)]);
        assert_eq!(both(), [None, None]);
    }

    #[test]
    fn pieces_shrink_with_what_is_left() {
        let piece = Piece {
            shortest: 3,
            longest: 20,
        };
        let shares = Shares::new(100, 1, piece);
        let mut worker = shares.worker(0);
        let taken = core::iter::from_fn(|| worker.take()).map(|taken| taken.len());
        let taken: Vec<usize> = taken.collect();
        assert_eq!(taken[..6], [18, 18, 15, 12, 9, 6]);
        assert!(taken[6..taken.len() - 1].iter().all(|&len| len == 3));
        assert_eq!(taken.iter().sum::<usize>(), 100);
    }

    #[test]
    fn nobody_gets_anything_after_the_end() {
        let shares = Shares::new(8, 2, Piece::of(1));
        let mut workers = [0, 1].map(|own| shares.worker(own));
        assert_eq!(workers[0].take(), Some(0..1));
        shares.stop();
        assert_eq!(workers.each_mut().map(Worker::take), [None, None]);
    }

    #[test]
    fn who_helps_stays_with_whom_it_helped_until_nothing_is_left_there() {
        let shares = Shares::new(20, 5, Piece::of(1));
        let mut worker = shares.worker(3);
        let all = core::iter::from_fn(|| worker.take()).flatten();
        // Its own from the front, others' from the back.
        let expected = [
            [12, 13, 14, 15],
            [19, 18, 17, 16],
            [3, 2, 1, 0],
            [7, 6, 5, 4],
            [11, 10, 9, 8],
        ];
        assert_eq!(all.collect::<Vec<u32>>(), expected.concat());
    }

    #[test]
    fn shares_that_have_numbers_are_counted_and_those_that_have_none_are_not() {
        let open = |shares: &Shares| shares.open.load(Ordering::Relaxed);
        for (count, workers, piece) in [(0, 3, 1), (2, 3, 1), (3, 3, 5), (7, 3, 2), (100, 64, 1)] {
            let shares = Shares::new(count, workers, Piece::of(piece));
            let full = |share: &CachePadded<AtomicU64>| {
                let left = share.load(Ordering::Relaxed);
                left >> 32 < left & u64::from(u32::MAX)
            };
            let counted = || shares.left.iter().filter(|share| full(share)).count();
            let mut worker = shares.worker(0);
            while worker.take().is_some() {
                assert_eq!(open(&shares), counted());
            }
            assert_eq!((open(&shares), counted()), (0, 0));
        }
    }
}
