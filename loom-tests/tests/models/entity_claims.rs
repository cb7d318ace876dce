//! Claims of slots: claim against claim, claim against free, and what "full" may say.
//!
//! One claim of ours a model, named after it.

use megachunk::entity::{Entity, EntityIndex};
use megachunk::sync::model::ThreadCache;
use megachunk_loom_tests::Bound::{Costly, Exhaustive, ExhaustiveUnlessQuick, Preemptions};
use megachunk_loom_tests::entities::{
    Thread, all_taken_but, empty, handle, room, spawn, spawn_with,
};
use megachunk_loom_tests::model;

#[test]
fn no_slot_is_given_to_two_threads() {
    model("no_slot_is_given_to_two_threads", Exhaustive, || {
        let (index, _) = all_taken_but(&[2, 3]);
        let other = spawn(&index, |index| index.create().ok());
        let cache = index.thread_cache();
        cache.adopt();
        let (mine, theirs) = (index.create().ok(), other.join());
        // Who comes second may find the word in the other's cache: that is the contract of "full".
        assert!(mine != theirs, "one slot twice, or none at all");
        for entity in [mine, theirs].into_iter().flatten() {
            assert!(index.exists(entity));
        }
    });
}

#[test]
fn no_slot_of_a_partly_taken_word_is_given_twice() {
    model(
        "no_slot_of_a_partly_taken_word_is_given_twice",
        Exhaustive,
        || {
            let (index, entities) = all_taken_but(&[2]);
            let cache = index.thread_cache();
            cache.adopt();
            let other = spawn(&index, |index| index.create().ok());
            let mine = index.create().ok();
            assert!(
                mine.is_some() != other.join().is_some(),
                "there was one slot"
            );
            assert!(index.exists(entities[3]));
        },
    );
}

#[test]
fn no_slot_is_given_to_three_threads() {
    // A word for each, so that nobody searches in vain: that would be more interleavings than all the rest.
    model("no_slot_is_given_to_three_threads", Costly(2), || {
        let (index, _) = all_taken_but(&[2, 4, 6]);
        let others = [(); 2].map(|()| spawn(&index, |index| index.create()));
        let cache = index.thread_cache();
        cache.adopt();
        let mine = index.create();
        let [first, second] = others.map(Thread::join);
        let entities =
            [mine, first, second].map(|entity| entity.expect("there is a slot for each"));
        assert!(entities.iter().all(|&entity| index.exists(entity)));
        let mut slots = entities.map(Entity::index);
        slots.sort_unstable();
        assert_eq!(slots, [2, 4, 6], "one slot was given out twice");
    });
}

#[test]
fn of_three_threads_that_want_the_last_two_slots_two_get_one() {
    model(
        "of_three_threads_that_want_the_last_two_slots_two_get_one",
        Preemptions(0),
        || {
            let (index, _) = all_taken_but(&[4, 6]);
            let threads = [(); 3].map(|()| spawn(&index, |index| index.create().ok()));
            let mut entities: Vec<Entity> = threads.into_iter().filter_map(Thread::join).collect();
            assert_eq!(entities.len(), 2, "there were two words with a slot");
            assert!(entities.iter().all(|&entity| index.exists(entity)));
            entities.dedup();
            assert_eq!(entities.len(), 2, "one slot was given out twice");
        },
    );
}

#[test]
fn a_slot_that_is_released_and_claimed_has_the_next_version() {
    model(
        "a_slot_that_is_released_and_claimed_has_the_next_version",
        Costly(2),
        || {
            let (index, entities) = all_taken_but(&[7]);
            let other = spawn(&index, |index| {
                let entity = index.create().ok()?;
                index.destroy(entity).expect("it lives");
                index.flush();
                Some(entity)
            });
            let mine = spawn(&index, |index| index.create().ok());
            let (mine, theirs) = (mine.join(), other.join());
            assert!(mine.is_some() || theirs.is_some());
            if let Some(mine) = mine {
                assert!(index.exists(mine));
                assert_ne!(theirs, Some(mine), "one handle was given out twice");
                assert_ne!(mine, entities[7], "a dead handle lives again");
            }
        },
    );
}

#[test]
fn a_slot_that_passes_through_three_threads_has_the_next_version() {
    // The destroyer is neither the creator nor the next owner.
    model(
        "a_slot_that_passes_through_three_threads_has_the_next_version",
        Preemptions(1),
        || {
            let (index, entities) = all_taken_but(&[]);
            let in_hand: Box<dyn ThreadCache> = Box::new(index.thread_cache());
            in_hand.adopt();
            index.destroy(entities[7]).expect("it lives");
            let guess = handle(7, entities[7].version() + 2);
            let creator = spawn_with(in_hand, &index, |index| index.create());
            let destroyer = spawn(&index, move |index| {
                let won = index.destroy(guess).is_ok();
                index.flush();
                won
            });
            let claimer = spawn(&index, |index| index.create().ok());
            assert_eq!(creator.join(), Ok(guess));
            let (destroyed, claimed) = (destroyer.join(), claimer.join());
            assert!(
                destroyed || claimed.is_none(),
                "one slot was given out twice"
            );
            if let Some(claimed) = claimed {
                assert_eq!(claimed, handle(7, guess.version() + 2));
                assert!(index.exists(claimed));
            }
        },
    );
}

#[test]
fn who_claims_a_slot_after_its_death_finds_it() {
    model(
        "who_claims_a_slot_after_its_death_finds_it",
        ExhaustiveUnlessQuick(3),
        || {
            let (index, entities) = all_taken_but(&[]);
            let entity = entities[5];
            let cache = index.thread_cache();
            cache.adopt();
            let other = spawn(&index, move |index| {
                index.destroy(entity).expect("nobody else destroys it");
                index.flush();
            });
            let early = index.create();
            other.join();
            let entity = early.or_else(|_| index.create());
            assert_eq!(entity, Ok(handle(5, entities[5].version() + 2)));
        },
    );
}

#[test]
fn full_is_not_said_after_a_free_slot_was_released() {
    // The other thread may stand between freeing a slot of the same word and the hint.
    model(
        "full_is_not_said_after_a_free_slot_was_released",
        Preemptions(3),
        || {
            let (index, entities) = all_taken_but(&[]);
            let (first, second) = (entities[0], entities[1]);
            let other = spawn(&index, move |index| {
                index.destroy(first).expect("nobody else destroys it");
                index.flush();
            });
            let cache = index.thread_cache();
            cache.adopt();
            index.destroy(second).expect("nobody else destroys it");
            index.flush();
            index.create().expect("this thread has released a slot");
            other.join();
        },
    );
}

#[test]
fn full_is_not_said_when_a_claimer_lags() {
    // The other thread claims the word, is slow to say so, and is overtaken by a free.
    model(
        "full_is_not_said_when_a_claimer_lags",
        Preemptions(3),
        || {
            let (index, entities) = all_taken_but(&[0]);
            let second = entities[1];
            let other = spawn(&index, |index| index.create().ok());
            let cache = index.thread_cache();
            cache.adopt();
            index.destroy(second).expect("nobody else destroys it");
            index.flush();
            let mine = index.create().ok();
            let theirs = other.join();
            assert!(mine.is_some() || theirs.is_some());
            // The other one may have got both slots with the word; then nothing was released after it.
            if theirs.is_none_or(|entity| entity.index() == 0) && mine.is_none() {
                assert_eq!(room(&index), 1, "the other thread had taken both");
            }
        },
    );
}

/// A cache whose thread has claimed the one free slot of word 0 and not yet set the word's hint.
pub(crate) fn with_late_hint(index: &EntityIndex) -> (Box<dyn ThreadCache>, Entity) {
    let late: Box<dyn ThreadCache> = Box::new(index.thread_cache());
    late.adopt();
    let entity = index.create().expect("slot 0 is free");
    assert_eq!(entity.index(), 0);
    (late, entity)
}

#[test]
fn full_is_not_said_because_of_a_late_hint() {
    // The other thread sets the hint of a word that has been opened since, looks again, and clears it.
    model(
        "full_is_not_said_because_of_a_late_hint",
        Preemptions(4),
        || {
            let (index, entities) = all_taken_but(&[0]);
            let (late, _) = with_late_hint(&index);
            let other = spawn_with(late, &index, EntityIndex::flush);
            let cache = index.thread_cache();
            cache.adopt();
            index.destroy(entities[1]).expect("nobody else destroys it");
            index.flush();
            index.create().expect("this thread has released a slot");
            other.join();
        },
    );
}

#[test]
fn full_is_not_said_because_of_two_late_hints() {
    model(
        "full_is_not_said_because_of_two_late_hints",
        Preemptions(2),
        || {
            let (index, entities) = all_taken_but(&[0]);
            let (first, entity) = with_late_hint(&index);
            let cache = index.thread_cache();
            cache.adopt();
            index.destroy(entity).expect("it lives");
            index.flush();
            let (second, _) = with_late_hint(&index);
            let others = [first, second].map(|late| spawn_with(late, &index, EntityIndex::flush));
            cache.adopt();
            index.destroy(entities[1]).expect("nobody else destroys it");
            index.flush();
            index.create().expect("this thread has released a slot");
            for other in others {
                other.join();
            }
        },
    );
}

#[test]
fn two_batches_share_no_slot() {
    model("two_batches_share_no_slot", Preemptions(2), || {
        let index = empty();
        let batch = |count: usize| {
            move |index: &EntityIndex| {
                let mut out = vec![Entity::PLACEHOLDER; count];
                index.create_slice(&mut out).map(|()| out)
            }
        };
        let threads: [Thread<_>; 2] = [spawn(&index, batch(3)), spawn(&index, batch(2))];
        let mut entities: Vec<Entity> = threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("there is room for both"))
            .collect();
        assert!(entities.iter().all(|&entity| index.exists(entity)));
        entities.sort_unstable();
        entities.dedup();
        assert_eq!(entities.len(), 5, "one slot was given out twice");
        assert_eq!(room(&index), 3, "the rest of a claimed word was lost");
    });
}

#[test]
fn a_batch_that_fails_leaves_nothing_alive_and_loses_nothing() {
    model(
        "a_batch_that_fails_leaves_nothing_alive_and_loses_nothing",
        Costly(2),
        || {
            let (index, entities) = all_taken_but(&[0, 1, 4]);
            let batch = |index: &EntityIndex| {
                let mut out = [Entity::PLACEHOLDER; 2];
                let made = index.create_slice(&mut out).is_ok();
                (made, out)
            };
            let threads = [spawn(&index, batch), spawn(&index, batch)];
            let results = threads.map(Thread::join);
            let made = results.iter().filter(|(made, _)| *made).count();
            assert!(made <= 1, "there were three slots");
            for (made, out) in results {
                assert!(out.iter().all(|&entity| index.exists(entity) == made));
            }
            assert_eq!(index.count(), entities.len() - 3 + 2 * made);
            assert_eq!(room(&index), 3 - 2 * made);
        },
    );
}

#[test]
fn full_is_not_said_beside_a_batch_that_dies() {
    model(
        "full_is_not_said_beside_a_batch_that_dies",
        Preemptions(2),
        || {
            let (index, entities) = all_taken_but(&[]);
            // The first of them stays with the thread; the other's word is opened.
            let batch = [entities[0], entities[2]];
            let other = spawn(&index, move |index| {
                assert!(index.destroy_slice(&batch).is_clean());
            });
            index.destroy(entities[3]).expect("it lives");
            index.flush();
            index.create().expect("this thread has released a slot");
            other.join();
        },
    );
}
