//! Three threads at one mega-chunk: no chunk is given to two of them, and none is lost.
//!
//! What two cannot show is a mask that changes twice while a third looks at it. There is room for all three,
//! beside something that stays in use: nobody opens a mega-chunk, and nobody searches in vain, which would be
//! more interleavings than all the rest. The memory of the models watches: see `chunks::WatchedMemory`.

use loom::sync::Arc;
use megachunk::chunk::CHUNKS;
use megachunk_loom_tests::Bound::{Costly, ExhaustiveUnlessQuick, Preemptions};
use megachunk_loom_tests::chunks::{
    Allocator, Thread, fresh, give, hold_cache, keep, room, spawn, take,
};
use megachunk_loom_tests::model;

/// Chunks that stay in use.
const KEPT: usize = 3;

/// An allocator whose mega-chunks both have memory: one has three free chunks, the other a run of two.
fn with_room_for_three() -> Arc<Allocator> {
    let allocator = fresh();
    assert!(keep(&allocator, 1) && keep(&allocator, 2));
    allocator
}

/// Takes a run, uses its memory and gives it back, so that any thread can have it.
fn take_and_give(allocator: &Allocator, len: usize) {
    let chunks = take(allocator, len).expect("there is room");
    give(allocator, chunks);
    allocator.flush();
}

#[test]
fn three_takers_of_single_chunks_get_different_ones() {
    model(
        "three_takers_of_single_chunks_get_different_ones",
        Preemptions(4),
        || {
            let allocator = with_room_for_three();
            let _cache = hold_cache(&allocator);
            let others = [(); 2].map(|()| spawn(&allocator, |allocator| keep(allocator, 1)));
            assert!(keep(&allocator, 1));
            assert_eq!(others.map(Thread::join), [true; 2]);
            assert_eq!(allocator.in_use(), KEPT + 3);
            assert_eq!(room(&allocator, 1), CHUNKS - KEPT - 3);
        },
    );
}

#[test]
fn two_takers_of_runs_and_one_of_a_single_chunk_get_different_ones() {
    model(
        "two_takers_of_runs_and_one_of_a_single_chunk_get_different_ones",
        ExhaustiveUnlessQuick(3),
        || {
            let allocator = with_room_for_three();
            let _cache = hold_cache(&allocator);
            let others = [(); 2].map(|()| spawn(&allocator, |allocator| keep(allocator, 2)));
            assert!(keep(&allocator, 1));
            assert_eq!(others.map(Thread::join), [true; 2]);
            assert_eq!(allocator.in_use(), CHUNKS);
        },
    );
}

#[test]
fn three_that_take_chunks_and_give_them_back_lose_none() {
    model(
        "three_that_take_chunks_and_give_them_back_lose_none",
        Costly(3),
        || {
            let allocator = with_room_for_three();
            let _cache = hold_cache(&allocator);
            let others =
                [(); 2].map(|()| spawn(&allocator, |allocator| take_and_give(allocator, 2)));
            take_and_give(&allocator, 1);
            for other in others {
                other.join();
            }
            assert_eq!(allocator.in_use(), KEPT);
            assert!(keep(&allocator, 2) && keep(&allocator, 2) && keep(&allocator, 1));
        },
    );
}
