//! `thread_number`: a small number of the calling thread, which is another's once it has ended: where it begins to look. And
//! `thread_identity`, which no other thread ever has: whose what it keeps is.
//!
//! State: a bit for each of the first numbers, set while a thread has it; and how many numbers beyond them were given out.
//!
//! Operations, lock-free: `take` sets the lowest bit that is clear by a compare-and-swap, or counts one further; `give_back`
//! clears it. A thread takes a number when it is first asked for it, and gives it back when it ends. Destructors of
//! thread-local values that run later than that and ask again get one beyond the first, for good.
//!
//! Invariant: no two threads have one number at one time. So threads that come and go have the numbers of as many as run
//! at one time, and do not meet in a table that has a place for each of these.
//!
//! Who has a number after another thread has that thread's place, but not what it kept there: that goes by identities, so that
//! nobody holds back what another thread has left.

#[cfg(not(any(loom, shuttle)))]
use core::cell::Cell;
#[cfg(not(any(loom, shuttle)))]
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Words of numbers that are used again: for so many threads at one time times 64.
#[cfg(not(any(loom, shuttle)))]
const WORDS: usize = 16;

/// How many numbers are used again.
#[cfg(not(any(loom, shuttle)))]
const AGAIN: usize = WORDS * 64;

/// No number.
#[cfg(not(any(loom, shuttle)))]
const NONE: usize = usize::MAX;

/// Which numbers threads have.
#[cfg(not(any(loom, shuttle)))]
struct Numbers {
    taken: [AtomicU64; WORDS],
    /// The next one beyond those.
    next: AtomicUsize,
}

#[cfg(not(any(loom, shuttle)))]
impl Numbers {
    const fn new() -> Self {
        Self {
            taken: [const { AtomicU64::new(0) }; WORDS],
            next: AtomicUsize::new(AGAIN),
        }
    }

    /// A number that no thread has. O(threads / 64), unless others come at the same time.
    fn take(&self) -> usize {
        for (at, word) in self.taken.iter().enumerate() {
            // Ordering: Relaxed: the compare-and-swap decides.
            let mut taken = word.load(Ordering::Relaxed);
            while taken != u64::MAX {
                let bit = taken.trailing_ones();
                // Ordering: Acquire pairs with the Release in `give_back`: this thread finds what the one before it left in
                // its place. (Nothing would be wrong if it did not: each thing says by itself who may have it.)
                match word.compare_exchange_weak(
                    taken,
                    taken | 1 << bit,
                    Ordering::Acquire,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => return at * 64 + bit as usize,
                    Err(now) => taken = now,
                }
            }
        }
        self.beyond()
    }

    /// A number that no other thread ever has.
    fn beyond(&self) -> usize {
        // Ordering: only uniqueness matters. (No program counts to the end.)
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A thread has ended that had this number.
    fn give_back(&self, number: usize) {
        if let Some(word) = self.taken.get(number / 64) {
            // Ordering: Release pairs with the Acquire in `take`.
            word.fetch_and(!(1 << (number % 64)), Ordering::Release);
        }
    }
}

#[cfg(not(any(loom, shuttle)))]
static NUMBERS: Numbers = Numbers::new();

#[cfg(not(any(loom, shuttle)))]
super::thread_local! {
    /// Needs no destructor, so that reaching it is a load relative to the thread pointer and no more.
    static NUMBER: Cell<usize> = const { Cell::new(NONE) };
    static ENDS: GivesBack = const { GivesBack(Cell::new(NONE)) };
}

/// Gives the thread's number back when it ends. It has the number itself: where the system ends values of threads one by
/// one, the other may have gone before.
#[cfg(not(any(loom, shuttle)))]
struct GivesBack(Cell<usize>);

#[cfg(not(any(loom, shuttle)))]
impl GivesBack {
    /// The thread's number, which it has from now on if it had none.
    fn number(&self) -> usize {
        if self.0.get() == NONE {
            self.0.set(NUMBERS.take());
        }
        self.0.get()
    }
}

#[cfg(not(any(loom, shuttle)))]
impl Drop for GivesBack {
    fn drop(&mut self) {
        NUMBER.set(NONE);
        if self.0.get() != NONE {
            NUMBERS.give_back(self.0.get());
        }
    }
}

/// A small number of the calling thread, which no other has that runs at the same time. O(1), wait-free but for the first
/// time.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub(crate) fn thread_number() -> usize {
    match NUMBER.get() {
        NONE => first_number(),
        number => number,
    }
}

#[cfg(not(any(loom, shuttle)))]
#[cold]
#[inline(never)]
fn first_number() -> usize {
    // Whose values are dropped already gives nothing back any more.
    let number = ENDS.try_with(GivesBack::number);
    let number = number.unwrap_or_else(|_| NUMBERS.beyond());
    NUMBER.set(number);
    number
}

/// What no other thread is ever called. O(1), wait-free.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub(crate) fn thread_identity() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    super::thread_local! {
        static IDENTITY: Cell<usize> = const { Cell::new(NONE) };
    }
    IDENTITY.with(|identity| {
        if identity.get() == NONE {
            // Ordering: only uniqueness matters. (No program counts to the end.)
            identity.set(NEXT.fetch_add(1, Ordering::Relaxed) % NONE);
        }
        identity.get()
    })
}

/// In models all threads begin to look at one place, so that they meet.
#[cfg(any(loom, shuttle))]
pub(crate) fn thread_number() -> usize {
    0
}

/// In models threads say by themselves who they are, or are all the same.
#[cfg(any(loom, shuttle))]
pub(crate) fn thread_identity() -> usize {
    0
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn the_lowest_number_that_no_thread_has_is_the_next() {
        let numbers = Numbers::new();
        assert!((0..AGAIN).all(|number| numbers.take() == number));
        // Those beyond are given once.
        assert_eq!((numbers.take(), numbers.take()), (AGAIN, AGAIN + 1));
        numbers.give_back(AGAIN);
        assert_eq!(numbers.take(), AGAIN + 2);
        for number in [700, 3] {
            numbers.give_back(number);
        }
        assert_eq!([(); 3].map(|()| numbers.take()), [3, 700, AGAIN + 3]);
    }

    #[test]
    fn threads_that_run_at_one_time_have_numbers_of_their_own_and_leave_them_to_others() {
        const THREADS: usize = 20;
        let mut highest = 0;
        for _ in 0..100 {
            let barrier = Barrier::new(THREADS);
            let numbers: Vec<usize> = std::thread::scope(|scope| {
                let ask = || {
                    let number = thread_number();
                    barrier.wait();
                    assert_eq!(thread_number(), number, "it stays");
                    number
                };
                let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
                let numbers = threads.into_iter().map(|thread| thread.join());
                numbers.map(|number| number.unwrap()).collect()
            });
            assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), THREADS);
            highest = highest.max(*numbers.iter().max().unwrap());
        }
        // Other tests have threads, too.
        assert!(highest < 1_000, "{highest} of 2,000 threads");
    }

    #[test]
    fn a_destructor_that_asks_after_the_number_has_gone_back_gets_one_that_no_other_has() {
        struct Late(std::sync::mpsc::Sender<usize>);

        impl Drop for Late {
            fn drop(&mut self) {
                _ = self.0.send(thread_number());
            }
        }

        thread_local! {
            static LATE: Cell<Option<Late>> = const { Cell::new(None) };
        }

        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            // What is there first is dropped before or after, as the system has it.
            LATE.set(Some(Late(sender)));
            thread_number()
        });
        let number = thread.join().unwrap();
        let late = receiver.recv().unwrap();
        assert!(late == number || late >= AGAIN, "{late} after {number}");
    }
}
