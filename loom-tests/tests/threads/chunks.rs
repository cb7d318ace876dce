//! What threads that end kept of the chunk allocator.

use std::sync::Barrier;
use std::sync::mpsc;
use std::thread;

use megachunk::chunk::{
    CACHED_CHUNKS, CHUNKS, ChunkError, ChunkOptions, Chunks, MEGACHUNK_CHUNKS, MEGACHUNKS,
    MegachunkAllocator,
};

use crate::{End, on_a_thread, on_this_thread};

/// Threads that end: if each lost what it kept, that would be several mega-chunks.
const THREADS: usize = 200;

/// An allocator that keeps its memory: to give that of 16,384 mega-chunks back takes seconds here.
fn fresh() -> MegachunkAllocator {
    let allocator = ChunkOptions::new().retain(MEGACHUNKS).build();
    allocator.expect("there is address space")
}

/// Takes and gives so many single chunks that the thread keeps as many as it can.
fn fill_cache(allocator: &MegachunkAllocator) {
    let singles: Vec<Chunks<'_>> = (0..CACHED_CHUNKS + 3)
        .map(|_| allocator.allocate().expect("there is room"))
        .collect();
    drop(singles);
}

/// Nothing is in use, and no mask has a bit that is nobody's: these would count as kept.
fn assert_untaken(allocator: &MegachunkAllocator) {
    let stats = allocator.stats();
    assert_eq!((stats.in_use, stats.cached), (0, 0));
    assert_eq!(stats.committed_megachunks, stats.empty_megachunks);
}

/// Each chunk can be taken: all mega-chunks whole, and then nothing more.
fn assert_all_can_be_taken(allocator: &MegachunkAllocator) {
    let all: Vec<Chunks<'_>> = (0..MEGACHUNKS)
        .map(|_| allocator.allocate_run(MEGACHUNK_CHUNKS))
        .collect::<Result<_, _>>()
        .expect("nothing was lost");
    assert_eq!(allocator.in_use(), CHUNKS);
    assert_eq!(
        allocator.allocate().map(drop),
        Err(ChunkError::Exhausted { len: 1 })
    );
    drop(all);
}

#[test]
fn a_thread_that_ends_gives_the_chunks_back_that_it_kept() {
    for end in [End::Return, End::Panic] {
        let allocator = fresh();
        for _ in 0..THREADS {
            on_a_thread(end, || {
                fill_cache(&allocator);
                assert!(allocator.stats().cached > CACHED_CHUNKS / 2);
            });
            assert_untaken(&allocator);
        }
        assert_eq!(
            allocator.stats().commits,
            1,
            "{THREADS} threads would lose {CACHED_CHUNKS} chunks each"
        );
        assert_all_can_be_taken(&allocator);
    }
}

#[test]
fn threads_that_end_at_the_same_time_give_the_chunks_back_that_they_kept() {
    let allocator = fresh();
    for _ in 0..THREADS / 4 {
        let start = Barrier::new(4);
        thread::scope(|scope| {
            let (allocator, start) = (&allocator, &start);
            let threads = [End::Return, End::Panic, End::Return, End::Panic].map(|end| {
                scope.spawn(move || {
                    start.wait();
                    on_this_thread(end, || fill_cache(allocator));
                })
            });
            // The scope alone would wait for their closures, and not for what comes after these.
            let ended = threads.map(|thread| thread.join().is_ok());
            assert_eq!(ended, [true, false, true, false]);
        });
        assert_untaken(&allocator);
    }
    assert_all_can_be_taken(&allocator);
}

#[test]
fn chunks_in_the_hands_of_a_thread_that_panics_are_given_back() {
    let allocator = fresh();
    for _ in 0..THREADS {
        let unwound = thread::scope(|scope| {
            let unwinding = || {
                fill_cache(&allocator);
                // Dropped while the thread unwinds, into its cache and past it.
                let _held = [1, 1, 5, 64].map(|len| allocator.allocate_run(len));
                on_this_thread(End::Panic, || ());
            };
            scope.spawn(unwinding).join()
        });
        assert!(unwound.is_err());
        assert_untaken(&allocator);
    }
    assert_all_can_be_taken(&allocator);
}

#[test]
fn chunks_that_outlive_the_thread_that_took_them_stay_taken() {
    let allocator = fresh();
    for end in [End::Return, End::Panic] {
        let mut tickets = Vec::new();
        on_a_thread(end, || {
            fill_cache(&allocator);
            tickets = [1, 7, 64]
                .map(|len| allocator.allocate_run(len).expect("there is room"))
                .map(Chunks::into_raw)
                .to_vec();
        });
        assert_eq!((allocator.in_use(), allocator.stats().cached), (72, 0));
        for ticket in tickets {
            drop(allocator.reclaim(ticket).expect("it was not redeemed"));
        }
        allocator.flush();
        assert_untaken(&allocator);
    }
}

#[test]
fn a_thread_may_end_after_the_allocator_whose_chunks_it_kept() {
    for end in [End::Return, End::Panic] {
        for _ in 0..THREADS {
            let allocator = fresh();
            let other = fresh();
            on_a_thread(end, || {
                fill_cache(&other);
                fill_cache(&allocator);
                // While this thread keeps chunks of it.
                drop(allocator);
            });
            assert_untaken(&other);
        }
    }
}

#[test]
fn a_thread_that_ends_after_another_took_all_there_was_leaves_room_for_what_it_kept() {
    for end in [End::Return, End::Panic] {
        let allocator = fresh();
        let (ready, is_ready) = mpsc::channel();
        let (done, is_done) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let allocator = &allocator;
            let keeper = scope.spawn(move || {
                fill_cache(allocator);
                let kept = allocator.stats().cached;
                assert!(kept > CACHED_CHUNKS / 2);
                ready.send(kept).expect("somebody waits");
                is_done.recv().expect("somebody says so");
                on_this_thread(end, || ());
            });
            let kept = is_ready.recv().expect("the thread says so");
            let mut all = Vec::new();
            let last = loop {
                match allocator.allocate_up_to(MEGACHUNK_CHUNKS) {
                    Ok(chunks) => all.push(chunks),
                    Err(error) => break error,
                }
            };
            assert_eq!(
                last,
                ChunkError::Exhausted {
                    len: MEGACHUNK_CHUNKS
                }
            );
            assert_eq!(allocator.in_use(), CHUNKS - kept);
            done.send(()).expect("the thread waits");
            assert_eq!(keeper.join().is_err(), matches!(end, End::Panic));

            assert_eq!(allocator.in_use(), CHUNKS - kept);
            all.extend((0..kept).map(|_| allocator.allocate().expect("what it kept is free")));
            assert_eq!(allocator.in_use(), CHUNKS);
            assert!(allocator.allocate().is_err());
        });
        allocator.flush();
        assert_untaken(&allocator);
        assert_all_can_be_taken(&allocator);
    }
}

#[test]
fn chunks_that_one_thread_took_and_another_gave_back_belong_to_nobody_when_both_have_ended() {
    let allocator = fresh();
    for _ in 0..THREADS {
        let (pass, passed) = mpsc::channel();
        thread::scope(|scope| {
            let allocator = &allocator;
            let taker = scope.spawn(move || {
                for _ in 0..2 * CACHED_CHUNKS {
                    let ticket = allocator.allocate().expect("there is room").into_raw();
                    pass.send(ticket).expect("the other takes it");
                }
            });
            let giver = scope.spawn(move || {
                for ticket in passed {
                    drop(allocator.reclaim(ticket).expect("it was not redeemed"));
                }
            });
            taker.join().expect("no panic");
            giver.join().expect("no panic");
        });
        assert_untaken(&allocator);
    }
    assert_all_can_be_taken(&allocator);
}
