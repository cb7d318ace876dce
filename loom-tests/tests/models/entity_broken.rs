//! Batches that are created where slots are free singly, in several words: claimed in all of them before any is
//! written; and from what the thread has in hand.
//!
//! Under the model checker a claim word has two slots and a span two claim words: slots 0 to 3 and 4
//! to 7; a magazine has room for one.

use megachunk::sync::model::ThreadCache;
use megachunk_loom_tests::Bound::{Exhaustive, Preemptions};
use megachunk_loom_tests::entities::{all_taken_but, room, spawn};
use megachunk_loom_tests::model;

use crate::entity_spans::{all_differ, batch};

#[test]
fn what_a_batch_claims_in_broken_words_is_its_own() {
    model(
        "what_a_batch_claims_in_broken_words_is_its_own",
        Preemptions(3),
        || {
            let (index, _) = all_taken_but(&[0, 2, 3]);
            let cache = index.thread_cache();
            cache.adopt();
            let other = spawn(&index, |index| index.create().ok());
            let mine = batch(&index, 2);
            let theirs = other.join();
            let created = all_differ(&index, mine.into_iter().flatten().chain(theirs).collect());
            assert!(created > 0, "three slots were free");
            assert_eq!(created + room(&index), 3, "a slot was lost");
        },
    );
}

#[test]
fn a_batch_that_claims_in_many_words_keeps_what_its_thread_has_in_hand() {
    model(
        "a_batch_that_claims_in_many_words_keeps_what_its_thread_has_in_hand",
        Exhaustive,
        || {
            let (index, _) = all_taken_but(&[0, 1, 2, 4, 5]);
            let cache = index.thread_cache();
            cache.adopt();
            // The other slot of its word is in hand.
            let one = index.create().expect("not full");
            let some = batch(&index, 2).expect("not full");
            assert_eq!(
                all_differ(&index, some.into_iter().chain([one]).collect()),
                3
            );
            assert_eq!(room(&index), 2, "a slot was lost");
        },
    );
}

#[test]
fn a_batch_that_goes_from_span_to_span_loses_nothing_that_is_freed_meanwhile() {
    model(
        "a_batch_that_goes_from_span_to_span_loses_nothing_that_is_freed_meanwhile",
        Preemptions(3),
        || {
            let (index, entities) = all_taken_but(&[0, 4]);
            let dying = entities[1];
            let other = spawn(&index, move |index| {
                index.destroy(dying).expect("it lives");
                index.flush();
            });
            let cache = index.thread_cache();
            cache.adopt();
            let mine = batch(&index, 2).expect("two are free at any time");
            other.join();
            assert_eq!(all_differ(&index, mine), 2);
            assert_eq!(room(&index), 1, "a slot was lost");
        },
    );
}

#[test]
fn what_a_thread_has_freed_serves_its_batches() {
    model(
        "what_a_thread_has_freed_serves_its_batches",
        Preemptions(3),
        || {
            let (index, entities) = all_taken_but(&[2]);
            let cache = index.thread_cache();
            cache.adopt();
            index.destroy(entities[0]).expect("it lives");
            let other = spawn(&index, |index| index.create().ok());
            let mine = batch(&index, 2);
            let theirs = other.join();
            assert!(
                mine.is_some() != theirs.is_some(),
                "whoever had the one that both wanted was served"
            );
            let created = all_differ(&index, mine.into_iter().flatten().chain(theirs).collect());
            assert_eq!(created + room(&index), 2, "a slot was lost");
        },
    );
}

#[test]
fn a_batch_takes_a_whole_word_before_what_its_thread_has_freed() {
    model(
        "a_batch_takes_a_whole_word_before_what_its_thread_has_freed",
        Preemptions(2),
        || {
            let (index, entities) = all_taken_but(&[]);
            assert!(index.destroy_slice(&entities[4..6]).is_clean());
            let cache = index.thread_cache();
            cache.adopt();
            index.destroy(entities[0]).expect("it lives");
            let other = spawn(&index, |index| index.create().ok());
            let mine = batch(&index, 3);
            let theirs = other.join();
            assert!(
                mine.is_some() != theirs.is_some(),
                "whoever had the word was served"
            );
            if let Some(mine) = &mine {
                let slots: Vec<u32> = mine.iter().map(|entity| entity.index()).collect();
                assert_eq!(slots, [4, 5, 0]);
            }
            let created = all_differ(&index, mine.into_iter().flatten().chain(theirs).collect());
            assert_eq!(created + room(&index), 3, "a slot was lost");
        },
    );
}
