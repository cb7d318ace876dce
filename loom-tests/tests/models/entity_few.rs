//! Small batches that die: against each other, against reuse, on their last versions.
//!
//! Under the model checker a small batch is what `destroy_few` is given: two entities that are a group, and a claim
//! word. It destroys them at once, or, where somebody was there before, none.

use megachunk::entity::Entity;
use megachunk::entity::model::destroy_few;
use megachunk::sync::geometry::SLOTS;
use megachunk_loom_tests::Bound::Exhaustive;
use megachunk_loom_tests::entities::{handle, place, room, spawn};
use megachunk_loom_tests::model;

use crate::entity_batches::{a_stale_batch_never_hits, with_a_word};
use crate::entity_retire::on_their_last_versions;

#[test]
fn of_two_small_batches_each_entity_dies_once() {
    model(
        "of_two_small_batches_each_entity_dies_once",
        Exhaustive,
        || {
            let (index, [first, second], _cache) = with_a_word();
            let other = spawn(&index, move |index| destroy_few(index, &[second, first]));
            let mine = destroy_few(&index, &[first, second]);
            assert_eq!(mine + other.join(), 2);
            assert!(!index.exists(first) && !index.exists(second));
        },
    );
}

#[test]
fn a_small_batch_and_a_single_death_destroy_each_entity_once() {
    model(
        "a_small_batch_and_a_single_death_destroy_each_entity_once",
        Exhaustive,
        || {
            let (index, [first, second], _cache) = with_a_word();
            let other = spawn(&index, move |index| index.destroy(second).is_ok());
            match destroy_few(&index, &[first, second]) {
                2 => assert!(!other.join()),
                1 => assert!(other.join()),
                0 => assert!(other.join() && index.exists(first)),
                _ => unreachable!("two were given"),
            }
            assert!(!index.exists(second));
        },
    );
}

#[test]
fn a_stale_small_batch_never_hits_the_next_owners_of_the_same_phases() {
    a_stale_batch_never_hits(
        "a_stale_small_batch_never_hits_the_next_owners_of_the_same_phases",
        destroy_few,
    );
}

#[test]
fn a_small_batch_of_two_words_destroys_what_lies_before_another_death() {
    model(
        "a_small_batch_of_two_words_destroys_what_lies_before_another_death",
        Exhaustive,
        || {
            let (index, [first, second], _cache) = with_a_word();
            let [third, fourth] = [2, 3].map(|slot| handle(slot, first.version()));
            let other = spawn(&index, move |index| index.destroy(third).is_ok());
            let mine = destroy_few(&index, &[first, second, third, fourth]);
            let theirs = other.join();
            assert!(!index.exists(first) && !index.exists(second) && !index.exists(third));
            match mine {
                4 => assert!(!theirs),
                2 => assert!(theirs && index.exists(fourth)),
                others => panic!("{others} of four died"),
            }
            let left = 4 - mine - usize::from(theirs);
            assert_eq!(index.count(), left);
            assert_eq!(room(&index), SLOTS as usize - left);
        },
    );
}

#[test]
fn a_small_batch_of_last_versions_leaves_them_to_others() {
    model(
        "a_small_batch_of_last_versions_leaves_them_to_others",
        Exhaustive,
        || {
            let (index, last, _cache) = on_their_last_versions();
            let other = spawn(&index, move |index| index.destroy(last[1]).is_ok());
            assert_eq!(destroy_few(&index, &last), 0);
            assert!(index.exists(last[0]) && other.join());
        },
    );
}

#[test]
fn a_place_published_while_a_small_batch_dies_goes_with_it() {
    model(
        "a_place_published_while_a_small_batch_dies_goes_with_it",
        Exhaustive,
        || {
            let (index, word, _cache) = with_a_word();
            let other = spawn(&index, move |index| {
                index.publish(word[0], place(1)).is_ok()
            });
            assert_eq!(destroy_few(&index, &word), 2);
            let mut next = [Entity::PLACEHOLDER; 2];
            index.create_slice(&mut next).expect("not full");
            other.join();
            assert!(next.iter().all(|&entity| index.locate(entity) == Ok(None)));
        },
    );
}
