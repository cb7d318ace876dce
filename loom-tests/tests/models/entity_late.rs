//! Three threads at the hints: what one has not said yet, or said wrongly, and another goes by, keeps no third from
//! what was free before.
//!
//! What two cannot show: "full" depends on the third's seeing that the first one's hints lag, and it knows of that one
//! by the second only.
//!
//! Under the model checker a claim word has two slots and a span two claim words: slots 0 to 3 and 4 to 7.

use megachunk::entity::model::mark_closed;
use megachunk::entity::{Entity, EntityIndex};
use megachunk::sync::model::ThreadCache;
use megachunk_loom_tests::Bound::Preemptions;
use megachunk_loom_tests::entities::{all_taken_but, spawn, spawn_with};
use megachunk_loom_tests::model;

use crate::entity_claims::with_late_hint;

/// Two threads give slots back, and a third one comes after the second.
fn third_finds_a_slot(name: &str, first: &'static [usize], second: &'static [usize]) {
    model(name, Preemptions(2), move || {
        let (index, entities) = all_taken_but(&[]);
        let [first, second] = [first, second].map(|slots| {
            let dying: Vec<Entity> = slots.iter().map(|&slot| entities[slot]).collect();
            spawn(&index, move |index: &EntityIndex| {
                assert!(index.destroy_slice(&dying).is_clean());
                index.flush();
            })
        });
        second.join();
        let cache = index.thread_cache();
        cache.adopt();
        let created = index.create();
        first.join();
        created.expect("the second thread had released a slot");
    });
}

#[test]
fn full_is_not_said_because_of_a_late_hint_that_another_search_passed_on() {
    model(
        "full_is_not_said_because_of_a_late_hint_that_another_search_passed_on",
        Preemptions(2),
        || {
            let (index, entities) = all_taken_but(&[0]);
            let (late, _) = with_late_hint(&index);
            {
                let cache = index.thread_cache();
                cache.adopt();
                index.destroy(entities[1]).expect("nobody else destroys it");
            }
            let late = spawn_with(late, &index, EntityIndex::flush);
            let other = spawn(&index, |index| mark_closed(index, 0));
            let cache = index.thread_cache();
            cache.adopt();
            let created = index.create();
            late.join();
            other.join();
            created.expect("a slot was released before");
        },
    );
}

#[test]
fn full_is_not_said_though_the_first_who_released_a_slot_of_a_word_has_not_said_so() {
    third_finds_a_slot(
        "full_is_not_said_though_the_first_who_released_a_slot_of_a_word_has_not_said_so",
        &[0],
        &[1],
    );
}

#[test]
fn full_is_not_said_though_the_first_who_opened_a_span_has_not_said_so() {
    third_finds_a_slot(
        "full_is_not_said_though_the_first_who_opened_a_span_has_not_said_so",
        &[0, 1],
        &[2, 3],
    );
}
