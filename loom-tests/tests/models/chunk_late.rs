//! Three threads at the hints: what one says too late, and another passes on, hides nothing from a third.
//!
//! What two cannot show is a hint that is wrong by somebody else's fault: a thread says above what it found below, where
//! the one who was wrong has still to look again. Whole searches on three threads are too many interleavings; two of
//! them do here only what a search does when it has found nothing.

use megachunk::chunk::MEGACHUNK_CHUNKS;
use megachunk::chunk::model::{forget_returned, learn_group, learn_taken};
use megachunk_loom_tests::Bound::Preemptions;
use megachunk_loom_tests::chunks::{
    check, fresh, full_with_a_run, give_ticket, hold_cache, keep, spawn, ticket,
};
use megachunk_loom_tests::model;

#[test]
fn exhausted_is_not_said_because_of_a_late_hint_that_another_search_passed_on() {
    model(
        "exhausted_is_not_said_because_of_a_late_hint_that_another_search_passed_on",
        Preemptions(2),
        || {
            let (allocator, _cache, run) = full_with_a_run();
            learn_taken(&allocator, 1);
            // Late: it looked before the run came back.
            let late = spawn(&allocator, |allocator| learn_taken(allocator, 0));
            let other = spawn(&allocator, |allocator| learn_group(allocator, 0));
            give_ticket(&allocator, run);
            forget_returned(&allocator);
            assert!(
                keep(&allocator, 2),
                "a thread does not find what it gave back itself"
            );
            late.join();
            other.join();
            check(&allocator);
        },
    );
}

#[test]
fn exhausted_is_not_said_though_the_first_who_gave_chunks_back_has_not_said_so() {
    model(
        "exhausted_is_not_said_though_the_first_who_gave_chunks_back_has_not_said_so",
        Preemptions(2),
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            assert!(keep(&allocator, MEGACHUNK_CHUNKS));
            let runs = [(); 2].map(|()| ticket(&allocator, 2));
            // Both levels say that nothing is free.
            assert!(!keep(&allocator, 2));
            let [first, second] =
                runs.map(|run| spawn(&allocator, move |allocator| give_ticket(allocator, run)));
            second.join();
            let found = keep(&allocator, 2);
            first.join();
            assert!(found, "a run that was given back before is not found");
            check(&allocator);
        },
    );
}
