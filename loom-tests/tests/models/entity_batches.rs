//! Batches that die: against each other, against single deaths, against reuse.
//!
//! Under the model checker a group has two slots and so has a claim word: a batch of two neighbours
//! takes the path of a whole word, a batch of one or in the wrong order that of a group.

use loom::sync::Arc;
use megachunk::entity::{Entity, EntityFault, EntityIndex};
use megachunk::sync::model::ThreadCache;
use megachunk_loom_tests::Bound::{Costly, Exhaustive, ExhaustiveUnlessQuick, Preemptions};
use megachunk_loom_tests::entities::{empty, place, spawn};
use megachunk_loom_tests::model;

/// An index, two entities that are a whole word, and a cache that this thread has adopted.
pub(crate) fn with_a_word() -> (Arc<EntityIndex>, [Entity; 2], Box<dyn ThreadCache>) {
    let index = empty();
    let cache = Box::new(index.thread_cache());
    cache.adopt();
    // All of a span, so that the cache keeps nothing.
    let mut span = [Entity::PLACEHOLDER; 4];
    index.create_slice(&mut span).expect("not full");
    assert_eq!((span[0].index(), span[1].index()), (0, 1));
    (index, [span[0], span[1]], cache)
}

/// Which of two handles a batch destroyed; all others are refused as dead, and are.
fn died(index: &EntityIndex, batch: [Entity; 2]) -> [bool; 2] {
    let report = index.destroy_slice(&batch);
    assert_eq!(report.destroyed + report.refused.len(), batch.len());
    let mut died = [true; 2];
    for (position, error) in report.refused {
        assert_eq!(
            (error.entity, error.fault),
            (batch[position], EntityFault::Destroyed)
        );
        died[position] = false;
    }
    assert!(
        batch.iter().all(|&entity| !index.exists(entity)),
        "told that it is dead"
    );
    died
}

#[test]
fn of_two_batches_that_destroy_the_same_each_entity_dies_once() {
    model(
        "of_two_batches_that_destroy_the_same_each_entity_dies_once",
        Preemptions(3),
        || {
            let (index, word, _cache) = with_a_word();
            let other = spawn(&index, move |index| died(index, word));
            let mine = died(&index, word);
            let theirs = other.join();
            assert!(mine[0] != theirs[0] && mine[1] != theirs[1]);
        },
    );
}

#[test]
fn a_batch_and_a_backward_batch_destroy_each_entity_once() {
    model(
        "a_batch_and_a_backward_batch_destroy_each_entity_once",
        Preemptions(3),
        || {
            let (index, [first, second], _cache) = with_a_word();
            let other = spawn(&index, move |index| died(index, [second, first]));
            let mine = died(&index, [first, second]);
            let theirs = other.join();
            assert!(mine[0] != theirs[1] && mine[1] != theirs[0]);
        },
    );
}

#[test]
fn a_batch_and_a_single_death_destroy_each_entity_once() {
    model(
        "a_batch_and_a_single_death_destroy_each_entity_once",
        ExhaustiveUnlessQuick(3),
        || {
            let (index, word, _cache) = with_a_word();
            let other = spawn(&index, move |index| {
                let won = index.destroy(word[1]).is_ok();
                assert!(!index.exists(word[1]), "told that it is dead");
                won
            });
            let mine = died(&index, word);
            assert!(mine[0]);
            assert!(mine[1] != other.join());
        },
    );
}

#[test]
fn of_a_handle_twice_in_a_batch_one_dies() {
    model("of_a_handle_twice_in_a_batch_one_dies", Exhaustive, || {
        let (index, [first, second], _cache) = with_a_word();
        let other = spawn(&index, move |index| index.destroy(second).is_ok());
        assert_eq!(died(&index, [first, first]), [true, false]);
        assert!(other.join());
    });
}

#[test]
fn a_stale_batch_never_hits_the_next_owners() {
    model(
        "a_stale_batch_never_hits_the_next_owners",
        Costly(2),
        || {
            let (index, word, _cache) = with_a_word();
            let other = spawn(&index, move |index| died(index, word));
            let mine = died(&index, word);
            let mut next = [Entity::PLACEHOLDER; 2];
            index.create_slice(&mut next).expect("not full");
            let theirs = other.join();
            assert!(mine[0] != theirs[0] && mine[1] != theirs[1]);
            assert!(
                next.iter().all(|&entity| index.exists(entity)),
                "killed by a stale handle"
            );
        },
    );
}

#[test]
fn a_stale_backward_batch_never_hits_the_next_owner_of_the_same_phase() {
    model(
        "a_stale_backward_batch_never_hits_the_next_owner_of_the_same_phase",
        Preemptions(2),
        || {
            let (index, [first, second], _cache) = with_a_word();
            let other = spawn(&index, move |index| died(index, [second, first]));
            if index.destroy(first).is_ok() {
                let later = index.create().expect("not full");
                index.destroy(later).expect("only this thread knows it");
                let last = index.create().expect("not full");
                assert_eq!(last.index(), first.index());
                assert_eq!(other.join(), [true, false]);
                assert!(index.exists(last), "killed by a stale handle");
            } else {
                assert_eq!(other.join(), [true, true]);
            }
        },
    );
}

/// Two destroy the same word; whoever wins creates the next owners, destroys them, and creates those of the first ones'
/// phases, all by `destroy`: how many of the first ones it destroyed.
pub(crate) fn a_stale_batch_never_hits(
    name: &'static str,
    destroy: fn(&EntityIndex, &[Entity]) -> usize,
) {
    model(name, Preemptions(1), move || {
        let (index, word, _cache) = with_a_word();
        let other = spawn(&index, move |index| destroy(index, &word));
        if destroy(&index, &word) == 2 {
            let mut later = [Entity::PLACEHOLDER; 2];
            index.create_slice(&mut later).expect("not full");
            assert_eq!(destroy(&index, &later), 2);
            let mut last = later;
            index.create_slice(&mut last).expect("not full");
            assert_eq!(last.map(Entity::index), word.map(Entity::index));
            assert_eq!(other.join(), 0, "an entity was destroyed twice");
            assert!(
                last.iter().all(|&entity| index.exists(entity)),
                "killed by a stale handle"
            );
        } else {
            other.join();
        }
    });
}

#[test]
fn a_stale_batch_never_hits_the_next_owners_of_the_same_phases() {
    a_stale_batch_never_hits(
        "a_stale_batch_never_hits_the_next_owners_of_the_same_phases",
        |index, batch| index.destroy_slice(batch).destroyed,
    );
}

#[test]
fn a_stale_batch_never_hits_a_later_owner_when_all_die_in_batches() {
    model(
        "a_stale_batch_never_hits_a_later_owner_when_all_die_in_batches",
        Preemptions(2),
        || {
            let (index, [first, second], _cache) = with_a_word();
            let other = spawn(&index, move |index| index.destroy_slice(&[first]).destroyed);
            let mine = index.destroy_slice(&[first]).destroyed;
            if mine == 1 {
                let later = index.create().expect("not full");
                assert!(index.destroy_slice(&[later]).is_clean());
                let last = index.create().expect("not full");
                assert_eq!(last.index(), first.index());
                assert_eq!(other.join(), 0, "one entity was destroyed twice");
                assert!(
                    index.exists(last) && index.exists(second),
                    "killed by a stale handle"
                );
            } else {
                assert_eq!(other.join(), 1);
            }
        },
    );
}

#[test]
fn a_batch_of_dead_handles_is_refused_whatever_their_slots_do() {
    model(
        "a_batch_of_dead_handles_is_refused_whatever_their_slots_do",
        Preemptions(2),
        || {
            let (index, [first, second], _cache) = with_a_word();
            index.destroy(first).expect("it lives");
            let other = spawn(&index, move |index| died(index, [second, first]));
            let later = index.create().expect("not full");
            index.destroy(later).expect("only this thread knows it");
            let last = index.create().expect("not full");
            assert_eq!(other.join(), [true, false]);
            assert!(index.exists(last), "killed by a stale handle");
        },
    );
}

#[test]
fn a_place_published_while_a_batch_dies_goes_with_it() {
    model(
        "a_place_published_while_a_batch_dies_goes_with_it",
        Exhaustive,
        || {
            let (index, word, _cache) = with_a_word();
            let other = spawn(&index, move |index| {
                index.publish(word[0], place(1)).is_ok()
            });
            assert_eq!(died(&index, word), [true, true]);
            let mut next = [Entity::PLACEHOLDER; 2];
            index.create_slice(&mut next).expect("not full");
            other.join();
            assert!(next.iter().all(|&entity| index.locate(entity) == Ok(None)));
        },
    );
}
