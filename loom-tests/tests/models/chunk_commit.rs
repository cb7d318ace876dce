//! Memory comes before the first owner and goes after the last, once each; a refusal changes nothing;
//! an emptied mega-chunk is kept for the next request.
//!
//! The memory of the models watches: see `chunks::WatchedMemory`.

use megachunk::chunk::{CHUNKS, ChunkError, MEGACHUNK_CHUNKS, MEGACHUNKS};
use megachunk_loom_tests::Bound::{Costly, Exhaustive, ExhaustiveUnlessQuick, Preemptions};
use megachunk_loom_tests::chunks::{
    check, fresh, give, give_ticket, hold_cache, keep, refusing, room, spawn, take, ticket,
};
use megachunk_loom_tests::model;

#[test]
fn two_takers_of_fresh_runs_commit_each_mega_chunk_once() {
    model(
        "two_takers_of_fresh_runs_commit_each_mega_chunk_once",
        Exhaustive,
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            let other = spawn(&allocator, |allocator| keep(allocator, 2));
            assert!(keep(&allocator, 2));
            assert!(other.join());
            let stats = allocator.stats();
            assert_eq!(stats.commits, stats.committed_megachunks as u64);
            assert_eq!(stats.decommits, 0);
        },
    );
}

#[test]
fn chunks_are_seen_with_the_memory_that_another_thread_committed() {
    model(
        "chunks_are_seen_with_the_memory_that_another_thread_committed",
        ExhaustiveUnlessQuick(3),
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            // Singles, in the mega-chunk where both look first.
            let other = spawn(&allocator, |allocator| keep(allocator, 1));
            assert!(keep(&allocator, 1));
            assert!(other.join());
        },
    );
}

#[test]
fn memory_is_given_back_after_its_last_owner_used_it() {
    model(
        "memory_is_given_back_after_its_last_owner_used_it",
        Exhaustive,
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            let run = ticket(&allocator, 2);
            let other = spawn(&allocator, |allocator| allocator.trim());
            give_ticket(&allocator, run);
            let trimmed = other.join();
            assert_eq!(trimmed + allocator.trim(), 1);
        },
    );
}

#[test]
fn memory_is_discarded_of_chunks_that_nobody_has() {
    model(
        "memory_is_discarded_of_chunks_that_nobody_has",
        Exhaustive,
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            // A mega-chunk of which a half is in use.
            assert!(keep(&allocator, 2));
            let run = ticket(&allocator, 2);
            let other = spawn(&allocator, |allocator| allocator.discard());
            give_ticket(&allocator, run);
            let taken = keep(&allocator, 2);
            let discarded = other.join();
            check(&allocator);
            assert!(discarded <= 2);
            assert!(taken, "there is another mega-chunk");
            assert_eq!(room(&allocator, 2), (CHUNKS - 4) / 2, "a chunk was lost");
        },
    );
}

#[test]
fn memory_is_not_given_back_under_a_taker() {
    model("memory_is_not_given_back_under_a_taker", Exhaustive, || {
        let allocator = fresh();
        let _cache = hold_cache(&allocator);
        let run = take(&allocator, 2).expect("there is room");
        give(&allocator, run);
        let other = spawn(&allocator, |allocator| allocator.trim());
        let run = take(&allocator, 2).expect("there is room");
        other.join();
        give(&allocator, run);
        for megachunk in 0..MEGACHUNKS as u32 {
            assert_eq!(allocator.in_use_mask(megachunk), 0);
        }
        let stats = allocator.stats();
        assert_eq!(
            stats.empty_megachunks, stats.committed_megachunks,
            "a flag does not tell what is in use"
        );
        assert_eq!(room(&allocator, MEGACHUNK_CHUNKS), MEGACHUNKS);
    });
}

#[test]
fn a_run_that_was_given_back_is_had_again_with_its_memory() {
    model(
        "a_run_that_was_given_back_is_had_again_with_its_memory",
        Costly(3),
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            // The neighbour stays in use: this thread looks first where the run was.
            assert!(keep(&allocator, MEGACHUNK_CHUNKS));
            let run = ticket(&allocator, MEGACHUNK_CHUNKS);
            let other = spawn(&allocator, |allocator| {
                allocator.trim();
                keep(allocator, MEGACHUNK_CHUNKS)
            });
            give_ticket(&allocator, run);
            // Not if the other thread is giving the memory back just now.
            let mine = keep(&allocator, MEGACHUNK_CHUNKS);
            let theirs = other.join();
            check(&allocator);
            let later = keep(&allocator, MEGACHUNK_CHUNKS);
            let owners = [mine, theirs, later].map(usize::from).iter().sum::<usize>();
            assert_eq!(owners, 1, "there was one run");
        },
    );
}

#[test]
fn flags_tell_which_memory_is_there() {
    model("flags_tell_which_memory_is_there", Preemptions(2), || {
        let allocator = fresh();
        let _cache = hold_cache(&allocator);
        let [low, high] = [(); 2].map(|()| ticket(&allocator, MEGACHUNK_CHUNKS));
        let other = spawn(&allocator, move |allocator| {
            give_ticket(allocator, high);
            // Not if the other thread is giving all memory back just now.
            keep(allocator, 2)
        });
        // Two empty ones are one more than is kept.
        give_ticket(&allocator, low);
        let kept = other.join();
        assert_eq!(
            (0..MEGACHUNKS as u32)
                .map(|megachunk| allocator.in_use_mask(megachunk).count_ones())
                .sum::<u32>(),
            if kept { 2 } else { 0 },
            "what was held for its memory stays taken"
        );
        let committed = (0..MEGACHUNKS as u32)
            .filter(|&megachunk| allocator.memory().is_committed(megachunk))
            .count();
        assert_eq!(allocator.stats().committed_megachunks, committed);
    });
}

#[test]
fn surplus_memory_is_given_back_once() {
    model("surplus_memory_is_given_back_once", Exhaustive, || {
        let allocator = fresh();
        let _cache = hold_cache(&allocator);
        let [low, high] = [(); 2].map(|()| ticket(&allocator, MEGACHUNK_CHUNKS));
        let other = spawn(&allocator, move |allocator| give_ticket(allocator, high));
        give_ticket(&allocator, low);
        other.join();
        // Or not yet: how many are empty is a hint, which may come before the masks that it is about.
        let left = allocator.stats().committed_megachunks;
        assert!(left == 0 || left == MEGACHUNKS, "pairs go whole");
        assert_eq!(allocator.trim(), left);
        assert_eq!(allocator.stats().decommits, 1, "both go in one call");
        assert_eq!(room(&allocator, MEGACHUNK_CHUNKS), MEGACHUNKS);
    });
}

#[test]
fn the_mega_chunk_emptied_last_is_kept_for_the_next_request() {
    model(
        "the_mega_chunk_emptied_last_is_kept_for_the_next_request",
        Exhaustive,
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            let [low, high] = [(); 2].map(|()| ticket(&allocator, 2));
            assert_eq!(low.run().megachunk(), high.run().megachunk());
            let other = spawn(&allocator, move |allocator| give_ticket(allocator, low));
            give_ticket(&allocator, high);
            other.join();
            assert!(keep(&allocator, MEGACHUNK_CHUNKS));
            let stats = allocator.stats();
            assert_eq!((stats.commits, stats.decommits), (1, 0));
        },
    );
}

/// Two takers of whole mega-chunks, of whose commits one fails.
fn one_commit_fails(name: &'static str, refused: u32) {
    model(name, Preemptions(2), move || {
        let allocator = refusing(refused);
        let _cache = hold_cache(&allocator);
        let served = |result: Result<(), ChunkError>| match result {
            Ok(()) => true,
            Err(ChunkError::Refused { .. }) => false,
            Err(error) => panic!("{error}, though both have room"),
        };
        let whole = |allocator: &_| take(allocator, MEGACHUNK_CHUNKS).map(std::mem::forget);
        let other = spawn(&allocator, move |allocator| whole(allocator));
        let mine = served(whole(&allocator));
        let theirs = served(other.join());
        assert!(mine != theirs, "one commit failed");
        let left = (0..MEGACHUNKS as u32)
            .find(|&megachunk| allocator.in_use_mask(megachunk) == 0)
            .expect("a refusal leaves nothing behind");
        assert!(!allocator.memory().is_committed(left));
        assert_eq!(allocator.stats().committed_megachunks, 1);
        assert!(keep(&allocator, MEGACHUNK_CHUNKS), "the next may succeed");
    });
}

#[test]
fn when_the_first_commit_fails_nothing_has_changed() {
    one_commit_fails("when_the_first_commit_fails_nothing_has_changed", 1);
}

#[test]
fn when_the_second_commit_fails_nothing_has_changed() {
    one_commit_fails("when_the_second_commit_fails_nothing_has_changed", 2);
}

#[test]
fn who_is_refused_memory_is_served_where_memory_is() {
    model(
        "who_is_refused_memory_is_served_where_memory_is",
        Exhaustive,
        || {
            // The second commit fails; the first is this thread's.
            let allocator = refusing(2);
            let _cache = hold_cache(&allocator);
            let single = ticket(&allocator, 2);
            assert!(keep(&allocator, 2));
            let other = spawn(&allocator, move |allocator| give_ticket(allocator, single));
            let mine = take(&allocator, 2).map(std::mem::forget);
            other.join();
            match mine {
                Ok(()) => assert_eq!(allocator.in_use(), 4),
                Err(ChunkError::Refused { .. }) => assert!(keep(&allocator, 2)),
                Err(error) => panic!("{error}"),
            }
        },
    );
}
