//! What threads keep for themselves: nothing is lost when they give it back, however they end.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use megachunk::chunk::{CHUNKS, MEGACHUNK_CHUNKS};
use megachunk::sync::model::ThreadCache;
use megachunk_loom_tests::Bound::{Costly, Preemptions};
use megachunk_loom_tests::chunks::{
    fresh, give, give_ticket, hold_cache, keep, room, spawn, take, ticket,
};
use megachunk_loom_tests::model;

#[test]
fn what_two_threads_kept_is_everybodys_when_they_end() {
    model(
        "what_two_threads_kept_is_everybodys_when_they_end",
        Preemptions(2),
        || {
            let allocator = fresh();
            let cache = hold_cache(&allocator);
            let other = thread::spawn({
                let allocator = Arc::clone(&allocator);
                move || {
                    let _cache = hold_cache(&allocator);
                    let chunk = take(&allocator, 1).expect("there is room");
                    give(&allocator, chunk);
                }
            });
            let chunk = take(&allocator, 1).expect("there is room");
            give(&allocator, chunk);
            drop(cache);
            other.join().expect("no panic");
            assert_eq!(allocator.in_use(), 0);
            assert_eq!(
                room(&allocator, 1),
                CHUNKS,
                "a thread that ended took chunks with it"
            );
        },
    );
}

#[test]
fn what_a_thread_kept_is_taken_while_it_ends() {
    model(
        "what_a_thread_kept_is_taken_while_it_ends",
        Preemptions(3),
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            assert!(keep(&allocator, MEGACHUNK_CHUNKS));
            let single = ticket(&allocator, 1);
            assert!(keep(&allocator, 1) && keep(&allocator, 2));
            let other = thread::spawn({
                let allocator = Arc::clone(&allocator);
                let cache = allocator.thread_cache();
                move || {
                    cache.adopt();
                    give_ticket(&allocator, single);
                }
            });
            let early = keep(&allocator, 1);
            other.join().expect("no panic");
            assert!(early != keep(&allocator, 1), "there was one chunk");
        },
    );
}

#[test]
fn what_is_in_use_is_exact_while_a_thread_that_ends_gives_back_what_it_kept() {
    model(
        "what_is_in_use_is_exact_while_a_thread_that_ends_gives_back_what_it_kept",
        Preemptions(3),
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            let [first, second] = [(); 2].map(|()| ticket(&allocator, 1));
            assert!(keep(&allocator, 1));
            let done = Arc::new(AtomicBool::new(false));
            let other = thread::spawn({
                let (allocator, done) = (Arc::clone(&allocator), Arc::clone(&done));
                let cache = allocator.thread_cache();
                move || {
                    cache.adopt();
                    give_ticket(&allocator, first);
                    give_ticket(&allocator, second);
                    // All that the thread does is done; what is left is its end.
                    done.store(true, Ordering::Release);
                }
            });
            if done.load(Ordering::Acquire) {
                assert_eq!(allocator.in_use(), 1, "while the thread ends");
            }
            other.join().expect("no panic");
            assert_eq!(allocator.in_use(), 1);
        },
    );
}

#[test]
fn a_full_cache_gives_back_what_does_not_fit() {
    model(
        "a_full_cache_gives_back_what_does_not_fit",
        Preemptions(2),
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            let singles = [(); 3].map(|()| ticket(&allocator, 1));
            assert!(keep(&allocator, 1) && keep(&allocator, MEGACHUNK_CHUNKS));
            let other = spawn(&allocator, move |allocator| {
                for single in singles {
                    give_ticket(allocator, single);
                }
            });
            let early = keep(&allocator, 1);
            other.join();
            assert_eq!(usize::from(early) + room(&allocator, 1), 3);
        },
    );
}

#[test]
fn a_run_is_found_though_the_thread_keeps_a_part_of_it() {
    model(
        "a_run_is_found_though_the_thread_keeps_a_part_of_it",
        Costly(2),
        || {
            let allocator = fresh();
            let _cache = hold_cache(&allocator);
            assert!(keep(&allocator, MEGACHUNK_CHUNKS));
            let [low, high] = [(); 2].map(|()| ticket(&allocator, 1));
            assert!(keep(&allocator, 2));
            let taker = spawn(&allocator, |allocator| keep(allocator, 1));
            give_ticket(&allocator, low);
            give_ticket(&allocator, high);
            let run = keep(&allocator, 2);
            let single = taker.join();
            assert!(run || single, "somebody got them");
            assert!(!(run && single), "there were two chunks");
        },
    );
}
