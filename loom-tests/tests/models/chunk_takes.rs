//! Taking and giving back: no chunk has two owners, who takes a chunk sees what its last owner did, and
//! nothing is lost.
//!
//! The memory of the models watches: see `chunks::WatchedMemory`.

use megachunk::chunk::MEGACHUNK_CHUNKS;
use megachunk_loom_tests::Bound::{Exhaustive, Preemptions};
use megachunk_loom_tests::chunks::{
    check, fresh, give, give_ticket, hold_cache, keep, room, spawn, take, ticket,
};
use megachunk_loom_tests::model;

#[test]
fn two_takers_of_single_chunks_get_different_ones() {
    model(
        "two_takers_of_single_chunks_get_different_ones",
        Exhaustive,
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            assert!(keep(&allocator, 1));
            let other = spawn(&allocator, |allocator| keep(allocator, 1));
            assert!(keep(&allocator, 1));
            assert!(other.join());
            assert_eq!(allocator.in_use(), 3);
        },
    );
}

#[test]
fn two_takers_of_runs_get_different_ones() {
    model("two_takers_of_runs_get_different_ones", Exhaustive, || {
        let allocator = fresh();
        let _cache = hold_cache(&allocator);
        // Both mega-chunks have memory, and room for one run each.
        let first = take(&allocator, 4).expect("there is room");
        assert!(keep(&allocator, 2));
        give(&allocator, first);
        assert!(keep(&allocator, 2));
        let other = spawn(&allocator, |allocator| keep(allocator, 2));
        assert!(keep(&allocator, 2));
        assert!(other.join());
        assert_eq!(room(&allocator, 1), 0);
    });
}

#[test]
fn of_two_takers_of_the_last_run_one_gets_it() {
    model(
        "of_two_takers_of_the_last_run_one_gets_it",
        Exhaustive,
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            assert!(keep(&allocator, 4));
            assert!(keep(&allocator, 2));
            let other = spawn(&allocator, |allocator| keep(allocator, 2));
            let mine = keep(&allocator, 2);
            assert!(mine != other.join());
        },
    );
}

#[test]
fn a_run_and_a_single_chunk_do_not_overlap() {
    model(
        "a_run_and_a_single_chunk_do_not_overlap",
        Exhaustive,
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            assert!(keep(&allocator, 4));
            assert!(keep(&allocator, 1));
            let other = spawn(&allocator, |allocator| keep(allocator, 2));
            assert!(keep(&allocator, 1));
            // One of the three that are left is between the two at worst.
            let theirs = other.join();
            assert_eq!(usize::from(theirs) * 2 + room(&allocator, 1), 2);
        },
    );
}

#[test]
fn a_run_that_is_given_back_is_taken_as_it_was_left() {
    model(
        "a_run_that_is_given_back_is_taken_as_it_was_left",
        Preemptions(3),
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            let run = ticket(&allocator, 2);
            assert!(keep(&allocator, 2) && keep(&allocator, 4));
            let other = spawn(&allocator, move |allocator| give_ticket(allocator, run));
            let early = keep(&allocator, 2);
            other.join();
            assert!(early != keep(&allocator, 2), "there was one run");
        },
    );
}

#[test]
fn two_that_give_neighbours_back_leave_one_long_run() {
    model(
        "two_that_give_neighbours_back_leave_one_long_run",
        Exhaustive,
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            let [low, high] = [(); 2].map(|()| ticket(&allocator, 2));
            assert!(keep(&allocator, 4));
            let other = spawn(&allocator, move |allocator| give_ticket(allocator, low));
            give_ticket(&allocator, high);
            other.join();
            assert_eq!(allocator.in_use_mask(low.run().megachunk()), 0);
            assert!(keep(&allocator, 4));
        },
    );
}

#[test]
fn a_ticket_is_good_for_one_of_two() {
    model("a_ticket_is_good_for_one_of_two", Exhaustive, || {
        let allocator = fresh();
        let _cache = hold_cache(&allocator);
        let run = ticket(&allocator, 2);
        let other = spawn(&allocator, move |allocator| {
            let chunks = allocator.reclaim(run);
            chunks.map(|chunks| give(allocator, chunks)).is_ok()
        });
        let mine = allocator.reclaim(run);
        let mine = mine.map(|chunks| give(&allocator, chunks)).is_ok();
        assert!(mine != other.join());
        assert_eq!(allocator.in_use(), 0);
    });
}

#[test]
fn a_run_that_was_given_back_is_had_again_or_another_thread_has_it() {
    model(
        "a_run_that_was_given_back_is_had_again_or_another_thread_has_it",
        Preemptions(3),
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            // Not in the first place: there a search would begin, too.
            assert!(keep(&allocator, MEGACHUNK_CHUNKS));
            let run = ticket(&allocator, 2);
            assert!(keep(&allocator, 2));
            let other = spawn(&allocator, |allocator| keep(allocator, 2));
            give_ticket(&allocator, run);
            let mine = keep(&allocator, 2);
            assert!(mine != other.join(), "there was one run");
            check(&allocator);
        },
    );
}
