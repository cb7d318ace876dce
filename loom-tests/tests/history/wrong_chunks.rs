//! What the check of chunks must find: allocators that are wrong in one way each, over an honest one.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64 as Word;

use megachunk::chunk::reference::Naive;
use megachunk::chunk::{CHUNK_BYTES, ChunkAllocator, ChunkError, MEGACHUNK_CHUNKS, Run};
use megachunk::sync::atomic::{AtomicU32, Ordering};
use megachunk_loom_tests::history::chunks::{Fault, Histories, Program, Promise, Subject};
use megachunk_loom_tests::say;

use crate::Plan;

/// A naive allocator with a fault.
struct Wrong<F> {
    honest: Naive,
    requests: AtomicU32,
    /// The run that was given out last.
    last: Mutex<Option<Run>>,
    /// A chunk that was given back, and one more than its number: 0 = none.
    kept: AtomicU32,
    fault: PhantomData<F>,
}

/// What is wrong, and how.
trait Mistake: Send + Sync + Sized {
    const NAME: &'static str;

    fn allocate(wrong: &Wrong<Self>, len: usize) -> Result<Run, ChunkError> {
        wrong.honest.allocate(len)
    }

    /// # Safety
    /// As for [`ChunkAllocator::free`].
    unsafe fn free(wrong: &Wrong<Self>, run: Run) -> Result<(), ChunkError> {
        // SAFETY: the caller's.
        unsafe { wrong.honest.free(run) }
    }
}

impl<F> Wrong<F> {
    /// Whether this is a request at which something goes wrong.
    fn is_due(&self) -> bool {
        self.requests.fetch_add(1, Ordering::Relaxed) % 64 == 63
    }
}

// SAFETY: not kept, on purpose. The memory is there all the same, and the check uses it by atomic accesses only.
unsafe impl<F: Mistake> ChunkAllocator for Wrong<F> {
    const NAME: &'static str = F::NAME;

    fn fresh() -> Self {
        Self {
            honest: Naive::fresh(),
            requests: AtomicU32::new(0),
            last: Mutex::default(),
            kept: AtomicU32::new(0),
            fault: PhantomData,
        }
    }

    fn allocate(&self, len: usize) -> Result<Run, ChunkError> {
        F::allocate(self, len)
    }

    unsafe fn free(&self, run: Run) -> Result<(), ChunkError> {
        // SAFETY: the caller's.
        unsafe { F::free(self, run) }
    }

    fn base(&self, run: Run) -> NonNull<u8> {
        self.honest.base(run)
    }

    fn in_use(&self) -> usize {
        let kept = self.kept.load(Ordering::Relaxed) != 0;
        // One that is kept twice may be given out, and given back, twice.
        self.honest.in_use().wrapping_sub(usize::from(kept))
    }
}

impl<F: Mistake> Subject for Wrong<F> {
    type Allocator = Self;
    const NAME: &'static str = F::NAME;
    const PROMISE: Promise = Naive::PROMISE;
    const ROOMS: &'static [&'static [u32]] = &[];
    const WHOLE: usize = 2;
}

impl<F> fmt::Debug for Wrong<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wrong").finish_non_exhaustive()
    }
}

/// The check finds a fault, of this kind.
fn expect_found<F: Mistake>(kind: impl Fn(&Fault) -> bool) {
    let mut allocators = Histories::<Wrong<F>>::default();
    let found = Plan::until_found().first_violation(F::NAME, |seed| {
        let violation = allocators.run(&Program::random(seed)).err()?;
        assert!(kind(&violation.fault), "{violation}");
        Some(violation.to_string())
    });
    assert!(found.is_some(), "{} was found to be right", F::NAME);
    say(&format!("histories {} violation=found", F::NAME));
}

/// Gives the last run out again, now and then.
struct GivesOutTwice;

impl Mistake for GivesOutTwice {
    const NAME: &'static str = "gives-out-twice";

    fn allocate(wrong: &Wrong<Self>, len: usize) -> Result<Run, ChunkError> {
        let mut last = wrong.last.lock().expect("no panic under this lock");
        match *last {
            Some(run) if wrong.is_due() && run.len() as usize == len => return Ok(run),
            _ => {}
        }
        let run = wrong.honest.allocate(len)?;
        *last = Some(run);
        Ok(run)
    }
}

#[test]
fn a_chunk_given_out_twice_is_found() {
    // One that was given back meanwhile is no fault; one that was not is in the order or in the memory.
    expect_found::<GivesOutTwice>(|fault| matches!(fault, Fault::NoOrder | Fault::Memory(_)));
}

/// Refuses now and then, whatever is free.
struct Refuses;

impl Mistake for Refuses {
    const NAME: &'static str = "refuses";

    fn allocate(wrong: &Wrong<Self>, len: usize) -> Result<Run, ChunkError> {
        if wrong.is_due() {
            return Err(ChunkError::Exhausted { len });
        }
        wrong.honest.allocate(len)
    }
}

#[test]
fn a_request_that_is_refused_wrongly_is_found() {
    expect_found::<Refuses>(|fault| matches!(fault, Fault::Refused(_)));
}

/// Gives the memory of a mega-chunk back as soon as anything of it is given back: it reads as zeros.
struct DiscardsEarly;

impl Mistake for DiscardsEarly {
    const NAME: &'static str = "discards-early";

    unsafe fn free(wrong: &Wrong<Self>, run: Run) -> Result<(), ChunkError> {
        let first = run.first() - run.first() % MEGACHUNK_CHUNKS as u32;
        let whole = Run::new(first, MEGACHUNK_CHUNKS as u32).expect("it is one");
        let base = wrong.honest.base(whole);
        for chunk in 0..MEGACHUNK_CHUNKS {
            // SAFETY: the block is there as long as the allocator; all use these words by atomic accesses.
            let word = unsafe { base.add(chunk * CHUNK_BYTES).cast::<Word>().as_ref() };
            word.store(0, Ordering::Relaxed);
        }
        // SAFETY: the caller's.
        unsafe { wrong.honest.free(run) }
    }
}

#[test]
fn memory_that_is_given_back_while_it_is_in_use_is_found() {
    expect_found::<DiscardsEarly>(|fault| matches!(fault, Fault::Memory(_)));
}

/// Keeps one chunk for the next request, by a load and a store where it takes a swap: wrong only if another
/// thread comes between the two.
struct LooksThenTakes;

impl Mistake for LooksThenTakes {
    const NAME: &'static str = "looks-then-takes";

    fn allocate(wrong: &Wrong<Self>, len: usize) -> Result<Run, ChunkError> {
        let kept = wrong.kept.load(Ordering::Acquire);
        if len != 1 || kept == 0 {
            return wrong.honest.allocate(len);
        }
        wrong.kept.store(0, Ordering::Release);
        Ok(Run::new(kept - 1, 1).expect("it was given back"))
    }

    unsafe fn free(wrong: &Wrong<Self>, run: Run) -> Result<(), ChunkError> {
        if run.len() != 1 || wrong.kept.load(Ordering::Acquire) != 0 {
            // SAFETY: the caller's.
            return unsafe { wrong.honest.free(run) };
        }
        wrong.kept.store(run.first() + 1, Ordering::Release);
        Ok(())
    }
}

#[test]
fn a_fault_of_one_step_between_two_threads_is_found() {
    expect_found::<LooksThenTakes>(|fault| matches!(fault, Fault::NoOrder | Fault::Memory(_)));
}
