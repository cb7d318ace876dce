//! Hints: they never keep a search from a run that is free.
//!
//! Everything is taken at first; a search that finds nothing writes that down while another thread
//! gives a run back. The run is taken last: no search has yet written down that it is taken. Who gave a run back has
//! forgotten so before its next request, which is for a search.

use megachunk::chunk::MEGACHUNK_CHUNKS;
use megachunk::chunk::model::forget_returned;
use megachunk_loom_tests::Bound::Preemptions;
use megachunk_loom_tests::chunks::{
    check, fresh, full_with_a_run, give_ticket, hold_cache, keep, spawn, ticket,
};
use megachunk_loom_tests::model;

#[test]
fn a_run_given_back_while_a_search_learned_is_found_again() {
    model(
        "a_run_given_back_while_a_search_learned_is_found_again",
        Preemptions(3),
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            assert!(keep(&allocator, MEGACHUNK_CHUNKS));
            let run = ticket(&allocator, MEGACHUNK_CHUNKS);
            let other = spawn(&allocator, move |allocator| give_ticket(allocator, run));
            let early = keep(&allocator, MEGACHUNK_CHUNKS);
            other.join();
            check(&allocator);
            assert!(
                early != keep(&allocator, MEGACHUNK_CHUNKS),
                "the hints hide a run that is free"
            );
        },
    );
}

#[test]
fn a_run_that_two_frees_make_is_found_again() {
    model(
        "a_run_that_two_frees_make_is_found_again",
        Preemptions(2),
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            assert!(keep(&allocator, MEGACHUNK_CHUNKS));
            let [low, high] = [(); 2].map(|()| ticket(&allocator, 2));
            let other = spawn(&allocator, move |allocator| {
                give_ticket(allocator, low);
                keep(allocator, MEGACHUNK_CHUNKS)
            });
            give_ticket(&allocator, high);
            let early = other.join();
            check(&allocator);
            assert!(
                early != keep(&allocator, MEGACHUNK_CHUNKS),
                "the hints hide a run that is free"
            );
        },
    );
}

#[test]
fn exhausted_is_never_said_while_a_completed_free_left_room() {
    model(
        "exhausted_is_never_said_while_a_completed_free_left_room",
        Preemptions(3),
        || {
            let (allocator, _cache, run) = full_with_a_run();
            // Asks for more than there will be, so that it takes nothing and only learns.
            let learner = spawn(&allocator, |allocator| keep(allocator, MEGACHUNK_CHUNKS));
            give_ticket(&allocator, run);
            forget_returned(&allocator);
            assert!(
                keep(&allocator, 2),
                "a thread does not find what it gave back itself"
            );
            assert!(!learner.join());
            check(&allocator);
        },
    );
}

#[test]
fn a_run_is_found_though_another_free_stands_between_two_levels() {
    model(
        "a_run_is_found_though_another_free_stands_between_two_levels",
        Preemptions(2),
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            assert!(keep(&allocator, MEGACHUNK_CHUNKS));
            let [low, high] = [(); 2].map(|()| ticket(&allocator, 2));
            // Both levels say that nothing is free.
            assert!(!keep(&allocator, 2));
            let other = spawn(&allocator, move |allocator| give_ticket(allocator, low));
            give_ticket(&allocator, high);
            forget_returned(&allocator);
            assert!(
                keep(&allocator, 2),
                "a thread does not find what it gave back itself"
            );
            other.join();
            check(&allocator);
        },
    );
}

#[test]
fn a_run_is_found_though_a_mega_chunk_that_was_held_is_half_reopened() {
    model(
        "a_run_is_found_though_a_mega_chunk_that_was_held_is_half_reopened",
        Preemptions(3),
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            assert!(keep(&allocator, MEGACHUNK_CHUNKS));
            // Empty, with memory: it is held while that is given back.
            give_ticket(&allocator, ticket(&allocator, 2));
            let other = spawn(&allocator, |allocator| {
                // Who finds nothing has said so at both levels. A single chunk is looked for without hints, and what
                // was held with it, in case its memory is missing, is given back.
                if !keep(allocator, 2) && keep(allocator, 1) {
                    assert!(
                        keep(allocator, 2),
                        "a thread does not find what it gave back itself"
                    );
                }
            });
            allocator.trim();
            other.join();
            check(&allocator);
        },
    );
}

#[test]
fn who_met_another_thread_still_finds_what_is_free_anywhere() {
    model(
        "who_met_another_thread_still_finds_what_is_free_anywhere",
        Preemptions(3),
        || {
            let allocator = fresh();
            // The last of them is this thread's: by its number, the part that it goes to is not the first.
            let _caches = [(); 3].map(|()| hold_cache(&allocator));
            // In use, so that nobody holds a mega-chunk for its memory's sake; room for a run in each.
            assert!(keep(&allocator, 1) && keep(&allocator, 2));
            let other = spawn(&allocator, |allocator| ticket(allocator, 2));
            let own = ticket(&allocator, 2);
            give_ticket(&allocator, other.join());
            give_ticket(&allocator, own);
            forget_returned(&allocator);
            assert!(
                keep(&allocator, 2) && keep(&allocator, 2),
                "a search did not go everywhere"
            );
            check(&allocator);
        },
    );
}
