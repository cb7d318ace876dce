//! Words that are claimed and given back whole, and the hints of the claim words.
//!
//! Under the model checker a claim word has two slots and a span two claim words: slots 0 to 3 and 4
//! to 7.

use std::sync::atomic::{AtomicBool, Ordering};

use loom::sync::Arc;
use megachunk::entity::{Entity, EntityIndex};
use megachunk::sync::model::ThreadCache;
use megachunk_loom_tests::Bound::{Exhaustive, Preemptions};
use megachunk_loom_tests::entities::{
    Thread, all_taken_but, empty, handle, room, spawn, spawn_with,
};
use megachunk_loom_tests::model;

/// Creates `count` in one call.
pub(crate) fn batch(index: &EntityIndex, count: usize) -> Option<Vec<Entity>> {
    let mut out = vec![Entity::PLACEHOLDER; count];
    index.create_slice(&mut out).ok()?;
    Some(out)
}

/// An index in which all slots are taken but those of word `word`, which is whole, and the entities by
/// their slots.
fn all_taken_but_word(word: usize) -> (Arc<EntityIndex>, Vec<Entity>) {
    let (index, entities) = all_taken_but(&[]);
    let report = index.destroy_slice(&entities[2 * word..2 * word + 2]);
    assert!(report.is_clean());
    (index, entities)
}

/// All of them live, in slots of their own; how many they are.
pub(crate) fn all_differ(index: &EntityIndex, mut entities: Vec<Entity>) -> usize {
    assert!(entities.iter().all(|&entity| index.exists(entity)));
    let count = entities.len();
    entities.sort_unstable_by_key(|entity| entity.index());
    entities.dedup_by_key(|entity| entity.index());
    assert_eq!(entities.len(), count, "one slot was given out twice");
    count
}

#[test]
fn no_whole_word_is_given_to_two_batches() {
    model(
        "no_whole_word_is_given_to_two_batches",
        Preemptions(3),
        || {
            let (index, _) = all_taken_but_word(1);
            let other = spawn(&index, |index| batch(index, 2));
            let mine = batch(&index, 2);
            let theirs = other.join();
            assert!(
                mine.is_some() != theirs.is_some(),
                "one word was given out twice, or not at all"
            );
            all_differ(&index, mine.into_iter().chain(theirs).flatten().collect());
        },
    );
}

#[test]
fn no_slot_of_a_whole_word_is_given_to_a_batch_and_a_single_creation() {
    model(
        "no_slot_of_a_whole_word_is_given_to_a_batch_and_a_single_creation",
        Preemptions(3),
        || {
            let (index, entities) = all_taken_but_word(2);
            let other = spawn(&index, |index| index.create().ok());
            let cache = index.thread_cache();
            cache.adopt();
            // The rest of the span is freed singly meanwhile.
            index.destroy(entities[6]).expect("it lives");
            index.flush();
            let mine = batch(&index, 2);
            let theirs = other.join();
            let created: Vec<Entity> = mine.into_iter().flatten().chain(theirs).collect();
            assert!(!created.is_empty(), "three slots were free");
            all_differ(&index, created);
        },
    );
}

#[test]
fn two_batches_take_the_words_of_a_span() {
    model(
        "two_batches_take_the_words_of_a_span",
        Preemptions(2),
        || {
            let index = empty();
            let threads: [Thread<_>; 2] = [4, 3].map(|count| {
                spawn(&index, move |index| {
                    batch(index, count).expect("there is room for both")
                })
            });
            all_differ(&index, threads.into_iter().flat_map(Thread::join).collect());
            assert_eq!(room(&index), 1, "the rest of a claimed word was lost");
        },
    );
}

#[test]
fn a_word_that_is_given_back_whole_and_claimed_has_the_next_versions() {
    model(
        "a_word_that_is_given_back_whole_and_claimed_has_the_next_versions",
        Preemptions(3),
        || {
            let (index, entities) = all_taken_but(&[]);
            let word = [entities[4], entities[5]];
            let other = spawn(&index, move |index| {
                assert!(index.destroy_slice(&word).is_clean());
                index.flush();
            });
            let early = batch(&index, 2);
            other.join();
            let next = word.map(|entity| handle(entity.index(), entity.version() + 2));
            assert_eq!(early.or_else(|| batch(&index, 2)), Some(next.to_vec()));
        },
    );
}

#[test]
fn a_word_that_is_claimed_in_an_open_span_has_the_next_versions() {
    // The claim does not close the span: nothing but the claim itself sees what the last owner did.
    model(
        "a_word_that_is_claimed_in_an_open_span_has_the_next_versions",
        Preemptions(2),
        || {
            let (index, entities) = all_taken_but(&[6]);
            let word = [entities[4], entities[5]];
            let other = spawn(&index, move |index| {
                assert!(index.destroy_slice(&word).is_clean());
                index.flush();
            });
            let early = batch(&index, 2);
            other.join();
            let created = early.or_else(|| batch(&index, 2)).expect("three are free");
            for entity in &created {
                assert!(entity.version() > entities[entity.index() as usize].version());
            }
            all_differ(&index, created);
        },
    );
}

#[test]
fn a_word_that_passes_through_three_threads_has_the_next_versions() {
    // Freed singly, one slot by another thread, gathered and given back whole by a third, claimed by a fourth.
    model(
        "a_word_that_passes_through_three_threads_has_the_next_versions",
        // The threads one after the other, in any order: what matters is what each sees of the others.
        Preemptions(0),
        || {
            let (index, entities) = all_taken_but(&[]);
            let (first, second) = (entities[4], entities[5]);
            index.destroy(second).expect("nobody else destroys it");
            index.flush();
            let freer = spawn(&index, move |index| {
                index.destroy(first).expect("nobody else destroys it");
                index.flush();
            });
            let gatherer = spawn(&index, |index| {
                let mine = batch(index, 2)?;
                assert!(index.destroy_slice(&mine).is_clean());
                index.flush();
                Some(mine)
            });
            let claimer = spawn(&index, |index| batch(index, 2));
            freer.join();
            let gathered = gatherer.join();
            let claimed = claimer.join();
            let next =
                |entity: Entity, lives: u32| handle(entity.index(), entity.version() + 2 * lives);
            if let Some(claimed) = claimed {
                for entity in claimed {
                    assert!(index.exists(entity));
                    assert!(gathered.iter().flatten().all(|&other| other != entity));
                    // The gatherer lived there before, if only until it found nothing beside it, or did not.
                    let before = entities[entity.index() as usize];
                    assert!(entity == next(before, 1) || entity == next(before, 2));
                }
            } else {
                assert_eq!(room(&index), 2);
            }
        },
    );
}

#[test]
fn a_part_of_a_word_is_not_given_back_whole() {
    model(
        "a_part_of_a_word_is_not_given_back_whole",
        Preemptions(3),
        || {
            let (index, entities) = all_taken_but(&[]);
            let victims = [entities[0], entities[4]];
            let other = spawn(&index, move |index| {
                assert!(index.destroy_slice(&victims).is_clean());
                index.flush();
            });
            let mine = index.create().ok();
            other.join();
            all_differ(
                &index,
                mine.into_iter().chain([entities[1], entities[5]]).collect(),
            );
            assert_eq!(room(&index) + usize::from(mine.is_some()), 2);
            assert!(index.exists(entities[1]) && index.exists(entities[5]));
        },
    );
}

#[test]
fn a_word_emptied_and_opened_is_not_hidden() {
    model(
        "a_word_emptied_and_opened_is_not_hidden",
        Exhaustive,
        || {
            let (index, entities) = all_taken_but(&[0, 4]);
            let late: Box<dyn ThreadCache> = Box::new(index.thread_cache());
            late.adopt();
            let entity = index.create().expect("slot 0 is free");
            assert_eq!(entity.index(), 0);
            // One thread sets the hint of word 0, another one opens the word.
            let setter = spawn_with(late, &index, EntityIndex::flush);
            let cache = index.thread_cache();
            cache.adopt();
            index.destroy(entities[1]).expect("nobody else destroys it");
            index.flush();
            setter.join();
            assert_eq!(room(&index), 2, "an open word is hidden");
        },
    );
}

#[test]
fn a_span_closed_and_opened_is_not_hidden() {
    model(
        "a_span_closed_and_opened_is_not_hidden",
        Preemptions(3),
        || {
            let (index, entities) = all_taken_but_word(0);
            let word = [entities[2], entities[3]];
            let other = spawn(&index, move |index| {
                assert!(index.destroy_slice(&word).is_clean());
                index.flush();
            });
            let mine = batch(&index, 2).expect("a word is free");
            other.join();
            assert_eq!(room(&index), 2, "an open span is hidden");
            all_differ(&index, mine);
        },
    );
}

#[test]
fn a_closed_span_opened_by_two_threads_is_not_hidden() {
    model(
        "a_closed_span_opened_by_two_threads_is_not_hidden",
        Preemptions(3),
        || {
            let (index, entities) = all_taken_but(&[]);
            let word = [entities[0], entities[1]];
            let other = spawn(&index, move |index| {
                assert!(index.destroy_slice(&word).is_clean());
                index.flush();
            });
            let cache = index.thread_cache();
            cache.adopt();
            index.destroy(entities[2]).expect("nobody else destroys it");
            index.flush();
            other.join();
            assert_eq!(room(&index), 3, "an open word is hidden");
        },
    );
}

#[test]
fn full_is_not_said_because_of_a_late_claim() {
    // The other thread closes the span by its claim, and says so to the hints above it only after the
    // span has been opened again.
    model(
        "full_is_not_said_because_of_a_late_claim",
        Preemptions(3),
        || {
            let (index, entities) = all_taken_but_word(1);
            let word = [entities[0], entities[1]];
            let other = spawn(&index, |index| index.create().ok());
            let cache = index.thread_cache();
            cache.adopt();
            assert!(index.destroy_slice(&word).is_clean());
            index.flush();
            index
                .create()
                .expect("this thread has released a word, and the other one took one of two");
            other.join();
        },
    );
}

#[test]
fn a_word_of_a_batch_that_dies_is_claimed_when_all_of_it_is_dead() {
    model(
        "a_word_of_a_batch_that_dies_is_claimed_when_all_of_it_is_dead",
        Preemptions(3),
        || {
            let index = empty();
            let cache = Box::new(index.thread_cache());
            megachunk::sync::model::ThreadCache::adopt(&*cache);
            // The last word stays in hand, so that what dies goes to everybody, who has nothing else.
            let six = batch(&index, 6).expect("not full");
            let pair = [six[0], six[1]];
            let other = spawn(&index, |index| index.create().ok());
            assert!(index.destroy_slice(&pair).is_clean());
            if let Some(theirs) = other.join() {
                assert!(!pair.contains(&theirs), "a handle came twice");
                assert!(index.exists(theirs));
            }
            assert!(pair.iter().all(|&dead| !index.exists(dead)));
        },
    );
}

#[test]
fn of_two_batches_that_pass_a_hole_by_for_a_whole_word_one_has_it() {
    model(
        "of_two_batches_that_pass_a_hole_by_for_a_whole_word_one_has_it",
        Preemptions(3),
        || {
            let (index, entities) = all_taken_but(&[0]);
            assert!(index.destroy_slice(&entities[2..4]).is_clean());
            let cache = index.thread_cache();
            cache.adopt();
            let other = spawn(&index, |index| batch(index, 2));
            let mine = batch(&index, 2);
            let theirs = other.join();
            assert!(
                mine.is_some() != theirs.is_some(),
                "the word was given out twice, or not at all"
            );
            let created: Vec<Entity> = mine.into_iter().chain(theirs).flatten().collect();
            let slots: Vec<u32> = created.iter().map(|entity| entity.index()).collect();
            assert_eq!(slots, [2, 3], "they do not stand side by side");
            all_differ(&index, created);
            assert_eq!(room(&index), 1, "a slot was lost");
        },
    );
}

#[test]
fn a_walk_finds_who_lives_all_along_whatever_is_created_and_dies_beside_it() {
    // Of std: it outlives executions, and orders nothing in them.
    static ENDS: [AtomicBool; 4] = [const { AtomicBool::new(false) }; 4];
    let note = |end: usize| ENDS[end].store(true, Ordering::Relaxed);
    model(
        "a_walk_finds_who_lives_all_along_whatever_is_created_and_dies_beside_it",
        Preemptions(3),
        move || {
            let (index, entities) = all_taken_but_word(1);
            let dying = [entities[4], entities[5]];
            let other = spawn(&index, move |index| {
                assert!(index.destroy_slice(&dying).is_clean());
                batch(index, 2).expect("two words were whole")
            });
            let found: Vec<Entity> = index.iter().collect();
            let created = other.join();
            assert!(found.is_sorted_by(|one, next| one.index() < next.index()));
            let (stay, others): (Vec<Entity>, Vec<Entity>) = found
                .into_iter()
                .partition(|entity| [0, 1, 6, 7].contains(&entity.index()));
            assert_eq!(stay, [0, 1, 6, 7].map(|slot: usize| entities[slot]));
            let known = |entity| dying.contains(entity) || created.contains(entity);
            assert!(others.iter().all(known), "nobody of {others:?} ever lived");
            note(usize::from(others.contains(&dying[1])));
            note(2 + usize::from(others.contains(&created[1])));
        },
    );
    let [passed, late, unseen, seen] = ENDS.each_ref().map(|end| end.load(Ordering::Relaxed));
    assert!(
        passed && late,
        "who dies is not found in all, or in no walk"
    );
    assert!(unseen && seen, "who comes is found in all, or in no walk");
}
