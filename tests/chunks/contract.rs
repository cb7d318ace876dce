//! The contract of `ChunkAllocator`: the same tests for every allocator behind it.
//!
//! * a run of 1 to 64 chunks lies in one mega-chunk, and no two runs in use share a chunk,
//!   whoever takes and gives meanwhile;
//! * the memory of a run is readable and writable while it is in use, and nobody else's;
//! * what is given back can be taken again;
//! * the number in use is exact while nobody takes or gives;
//! * then an allocator that can look at itself finds no contradiction.
//!
//! Where a reference breaks the contract by a published fault, `published_faults.rs` shows it.

use std::sync::Barrier;
use std::thread;

use crate::chunk_ops::chunk_subjects::Contender;
use crate::support::{Dice, Ledger};
use megachunk::chunk::reference::{MegachunkDots, Naive};
use megachunk::chunk::{
    CHUNK_BYTES, CHUNKS, ChunkAllocator, ChunkError, MEGACHUNK_CHUNKS, MEGACHUNKS,
    MegachunkAllocator, Run,
};

/// Instantiates each test for each contender.
macro_rules! contract {
    ($($contender:ident: $allocator:ty),* => $tests:tt) => {
        $(mod $contender {
            use super::*;
            contract!(@tests $allocator, $tests);
        })*
    };
    (@tests $allocator:ty, [$($test:ident),* $(,)?]) => {
        $(#[test] fn $test() { super::$test::<$allocator>(); })*
    };
}

contract!(naive: Naive, megachunk_dots: MegachunkDots, megachunk_allocator: MegachunkAllocator => [
    a_length_beyond_1_to_64_is_refused,
    runs_of_every_length_lie_in_one_megachunk_and_never_overlap,
    memory_is_writable_and_disjoint,
    what_is_given_back_is_taken_again,
    a_run_fits_into_a_hole_of_its_length,
    a_run_longer_than_every_hole_takes_none_of_them,
    giving_back_twice_is_refused,
    giving_back_what_was_never_taken_is_refused,
    the_number_in_use_follows_taking_and_giving,
    when_all_chunks_are_in_use_a_request_is_refused,
    threads_never_share_a_chunk,
    of_many_threads_that_want_the_last_chunks_each_gets_its_own,
]);

const THREADS: usize = 4;

/// Gives back a run that the test owns.
fn give<A: ChunkAllocator>(allocator: &A, run: Run) {
    // SAFETY: every test gives a run back once, and never uses its memory afterwards.
    unsafe { allocator.free(run) }.expect("it is in use");
}

fn chunks(run: Run) -> std::ops::Range<usize> {
    run.first() as usize..(run.first() + run.len()) as usize
}

/// Writes `stamp` to the first and the last word of each chunk of the run.
fn stamp<A: ChunkAllocator>(allocator: &A, run: Run, stamp: u64) {
    for word in words(allocator, run) {
        // SAFETY: the word lies in memory of a run that this thread owns.
        unsafe { word.write(stamp) };
    }
}

/// Whether the first and the last word of each chunk of the run still hold `stamp`.
fn holds<A: ChunkAllocator>(allocator: &A, run: Run, stamp: u64) -> bool {
    // SAFETY: as in `stamp`, which has written these words.
    words(allocator, run).all(|word| unsafe { word.read() } == stamp)
}

fn words<A: ChunkAllocator>(allocator: &A, run: Run) -> impl Iterator<Item = *mut u64> {
    let base = allocator.base(run).as_ptr();
    (0..run.len() as usize).flat_map(move |chunk| {
        let first = base.wrapping_add(chunk * CHUNK_BYTES);
        [first.cast(), first.wrapping_add(CHUNK_BYTES - 8).cast()]
    })
}

fn a_length_beyond_1_to_64_is_refused<A: ChunkAllocator>() {
    let allocator = A::fresh();
    for len in [0, 65, 128, usize::MAX] {
        let refused = allocator.allocate(len);
        assert!(matches!(refused, Err(ChunkError::BadLength { len: l }) if l == len));
    }
    assert_eq!(allocator.in_use(), 0);
}

fn runs_of_every_length_lie_in_one_megachunk_and_never_overlap<A: ChunkAllocator>() {
    let allocator = A::fresh();
    let ledger = Ledger::new(CHUNKS);
    let mut runs = Vec::new();
    for len in (1..=64).chain((1..=64).rev()) {
        let run = allocator.allocate(len).unwrap();
        assert_eq!(run.len() as usize, len);
        assert_eq!(
            Run::new(run.first(), run.len()),
            Some(run),
            "{run:?} is a valid run"
        );
        chunks(run).for_each(|chunk| ledger.take(chunk));
        runs.push(run);
    }
    runs.into_iter().for_each(|run| give(&allocator, run));
    assert_eq!(allocator.in_use(), 0);
}

fn memory_is_writable_and_disjoint<A: ChunkAllocator>() {
    let allocator = A::fresh();
    let runs: Vec<_> = [1, 64, 1, 7, 33, 1, 31, 2, 64, 63]
        .into_iter()
        .map(|len| allocator.allocate(len).unwrap())
        .collect();
    for (number, &run) in (1_u8..).zip(&runs) {
        let bytes = run.len() as usize * CHUNK_BYTES;
        // SAFETY: the run is in use and this test's own; it has so many bytes.
        unsafe { allocator.base(run).write_bytes(number, bytes) };
    }
    for (number, &run) in (1_u8..).zip(&runs) {
        let bytes = run.len() as usize * CHUNK_BYTES;
        // SAFETY: the run is in use and this test's own; all its bytes were written above.
        let memory = unsafe { std::slice::from_raw_parts(allocator.base(run).as_ptr(), bytes) };
        assert!(
            memory.iter().all(|&byte| byte == number),
            "somebody wrote into {run:?}"
        );
    }
    runs.into_iter().for_each(|run| give(&allocator, run));
}

fn what_is_given_back_is_taken_again<A: Contender>() {
    let allocator = A::fresh();
    let ledger = Ledger::new(CHUNKS);
    let mut dice = Dice::new(2);
    let mut held = Vec::new();
    for round in 0..10_000 {
        if held.len() < 40 && dice.below(2) == 0 {
            let run = allocator.allocate(1 + dice.below(64)).unwrap();
            chunks(run).for_each(|chunk| ledger.take(chunk));
            stamp(&allocator, run, round);
            held.push((run, round));
        } else if !held.is_empty() {
            let (run, round) = held.swap_remove(dice.below(held.len()));
            assert!(holds(&allocator, run, round));
            chunks(run).for_each(|chunk| ledger.give(chunk));
            give(&allocator, run);
        }
    }
    held.into_iter().for_each(|(run, _)| give(&allocator, run));
    assert_eq!(allocator.in_use(), 0);
    allocator.check_itself();
}

/// Takes `megachunks * 64` single chunks, then gives back those whose offset `leaves` says so.
fn with_holes<A: ChunkAllocator>(megachunks: usize, leaves: impl Fn(u32) -> bool) -> (A, usize) {
    let allocator = A::fresh();
    let runs: Vec<_> = (0..megachunks * MEGACHUNK_CHUNKS)
        .map(|_| allocator.allocate(1).unwrap())
        .collect();
    let mut kept = runs.len();
    for run in runs
        .into_iter()
        .filter(|run| leaves(run.first() % MEGACHUNK_CHUNKS as u32))
    {
        give(&allocator, run);
        kept -= 1;
    }
    allocator.flush();
    (allocator, kept)
}

fn a_run_fits_into_a_hole_of_its_length<A: ChunkAllocator>() {
    // Holes of three chunks, one chunk apart; nothing says that they must be used before fresh
    // mega-chunks are, but what is taken must not overlap what is kept.
    let (allocator, kept) = with_holes::<A>(4, |offset| offset % 4 != 0);
    let runs: Vec<_> = (0..64).map(|_| allocator.allocate(3).unwrap()).collect();

    for run in &runs {
        let in_hole = (run.first() as usize) < 4 * MEGACHUNK_CHUNKS;
        assert!(
            !in_hole || run.first() % 4 == 1,
            "{run:?} overlaps a chunk in use"
        );
    }
    assert_eq!(allocator.in_use(), kept + 3 * 64);
}

fn a_run_longer_than_every_hole_takes_none_of_them<A: ChunkAllocator>() {
    let (allocator, kept) = with_holes::<A>(4, |offset| offset % 2 != 0);
    let in_holes: Vec<_> = (0..10).map(|_| allocator.allocate(2).unwrap()).collect();

    assert!(
        in_holes
            .iter()
            .all(|run| run.first() as usize >= 4 * MEGACHUNK_CHUNKS)
    );
    assert_eq!(allocator.in_use(), kept + 20);
}

fn giving_back_twice_is_refused<A: ChunkAllocator>() {
    let allocator = A::fresh();
    let keep = allocator.allocate(1).unwrap();
    let run = allocator.allocate(2).unwrap();
    give(&allocator, run);

    // SAFETY: nobody uses the memory; the run's bits say that it is not in use.
    let twice = unsafe { allocator.free(run) };

    assert!(matches!(twice, Err(ChunkError::NotInUse { run: r }) if r == run));
    assert_eq!(allocator.in_use(), 1);
    give(&allocator, keep);
}

fn giving_back_what_was_never_taken_is_refused<A: ChunkAllocator>() {
    let allocator = A::fresh();
    let run = allocator.allocate(2).unwrap();
    let last = Run::new(CHUNKS as u32 - 1, 1).unwrap();
    let next = Run::new(run.first() + 1, 2).unwrap();

    for foreign in [last, next] {
        // SAFETY: nobody uses the memory; at least one chunk's bit says that it is not in use.
        let refused = unsafe { allocator.free(foreign) };
        assert!(
            matches!(refused, Err(ChunkError::NotInUse { .. })),
            "{foreign:?}"
        );
    }
    assert_eq!(allocator.in_use(), 2);
}

fn the_number_in_use_follows_taking_and_giving<A: Contender>() {
    let allocator = A::fresh();
    let mut expected = 0;
    let mut runs = Vec::new();
    for len in 1..=64 {
        runs.push(allocator.allocate(len).unwrap());
        expected += len;
        assert_eq!(allocator.in_use(), expected);
    }
    Dice::new(3).shuffle(&mut runs);
    for run in runs {
        give(&allocator, run);
        expected -= run.len() as usize;
        assert_eq!(allocator.in_use(), expected);
    }
    allocator.flush();
    assert_eq!(allocator.in_use(), 0);
    allocator.check_itself();
}

fn when_all_chunks_are_in_use_a_request_is_refused<A: Contender>() {
    let allocator = A::fresh();
    // 16 GiB, of which nothing is touched.
    let runs: Vec<_> = (0..MEGACHUNKS)
        .map(|_| allocator.allocate(64).unwrap())
        .collect();
    assert_eq!(allocator.in_use(), CHUNKS);

    for len in [1, 64] {
        let refused = allocator.allocate(len);
        assert!(matches!(refused, Err(ChunkError::Exhausted { len: l }) if l == len));
    }
    give(&allocator, runs[7_000]);
    let halves = [32, 32].map(|len| allocator.allocate(len).unwrap());
    assert!(
        halves
            .iter()
            .all(|half| half.megachunk() == runs[7_000].megachunk())
    );
    assert!(allocator.allocate(1).is_err());
    allocator.check_itself();
}

/// One thread of `threads_never_share_a_chunk`.
fn churn<A: ChunkAllocator>(allocator: &A, ledger: &Ledger, seed: u64) {
    let mut dice = Dice::new(seed);
    let mut held = Vec::new();
    for round in 0..10_000_u64 {
        if held.len() < 30 && dice.below(2) == 0 {
            let len = if dice.below(4) == 0 {
                1 + dice.below(64)
            } else {
                1
            };
            let run = allocator.allocate(len).unwrap();
            chunks(run).for_each(|chunk| ledger.take(chunk));
            let mark = seed << 32 | round;
            stamp(allocator, run, mark);
            held.push((run, mark));
        } else if !held.is_empty() {
            let (run, mark) = held.swap_remove(dice.below(held.len()));
            assert!(holds(allocator, run, mark), "somebody wrote into {run:?}");
            chunks(run).for_each(|chunk| ledger.give(chunk));
            give(allocator, run);
        }
    }
    for (run, mark) in held {
        assert!(holds(allocator, run, mark), "somebody wrote into {run:?}");
        chunks(run).for_each(|chunk| ledger.give(chunk));
        give(allocator, run);
    }
}

fn threads_never_share_a_chunk<A: Contender>() {
    let allocator = A::fresh();
    let ledger = Ledger::new(CHUNKS);

    thread::scope(|scope| {
        let (allocator, ledger) = (&allocator, &ledger);
        for seed in 0..THREADS as u64 {
            scope.spawn(move || churn(allocator, ledger, seed));
        }
    });

    assert_eq!(allocator.in_use(), 0, "all were returned");
    allocator.check_itself();
}

/// All threads at the boundary of one mega-chunk: it is committed and given up over and over.
fn of_many_threads_that_want_the_last_chunks_each_gets_its_own<A: Contender>() {
    let allocator = A::fresh();
    let ledger = Ledger::new(CHUNKS);
    let start = Barrier::new(THREADS);

    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (allocator, ledger, start) = (&allocator, &ledger, &start);
            scope.spawn(move || {
                start.wait();
                for round in 0..2_000_u64 {
                    let run = allocator.allocate(64 / THREADS).unwrap();
                    chunks(run).for_each(|chunk| ledger.take(chunk));
                    let mark = (thread as u64) << 32 | round;
                    stamp(allocator, run, mark);
                    assert!(holds(allocator, run, mark), "somebody wrote into {run:?}");
                    chunks(run).for_each(|chunk| ledger.give(chunk));
                    give(allocator, run);
                }
            });
        }
    });

    assert_eq!(allocator.in_use(), 0);
    allocator.check_itself();
}

#[test]
fn who_is_refused_chunks_is_told_whether_they_are_too_few_or_apart() {
    let chunks = MegachunkAllocator::new();
    let more = chunks.allocate_many(CHUNKS + 1).unwrap_err();
    assert!(
        more.to_string()
            .starts_with("fewer than 1048577 chunks are free")
    );
    let apart = ChunkError::Exhausted { len: 64 };
    assert!(
        apart
            .to_string()
            .starts_with("no run of 64 free chunks is left")
    );
    let none = ChunkError::Exhausted { len: 1 }.to_string();
    assert!(
        none.starts_with("all 1048576 chunks of 16 KiB are in use"),
        "{none}"
    );
}
