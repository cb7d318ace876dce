//! Slots retire: after a slot's last version nothing is ever created there again.

use loom::sync::Arc;
use megachunk::entity::model::{LAST_VERSION, age};
use megachunk::entity::{Entity, EntityIndex};
use megachunk::sync::geometry::SLOTS;
use megachunk::sync::model::ThreadCache;
use megachunk_loom_tests::Bound::{Exhaustive, Preemptions};
use megachunk_loom_tests::entities::{empty, handle, room, spawn};
use megachunk_loom_tests::model;

/// An index whose slots 0 and 1 have one version left, which live now; and this thread's cache.
pub(crate) fn on_their_last_versions() -> (Arc<EntityIndex>, [Entity; 2], Box<dyn ThreadCache>) {
    let index = empty();
    age(&index, 0, LAST_VERSION);
    age(&index, 1, LAST_VERSION);
    let cache = Box::new(index.thread_cache());
    cache.adopt();
    let last = [(); 2].map(|()| index.create().expect("not full"));
    assert_eq!(last, [handle(0, LAST_VERSION), handle(1, LAST_VERSION)]);
    (index, last, cache)
}

#[test]
fn a_slot_whose_versions_are_used_up_is_not_used_again() {
    model(
        "a_slot_whose_versions_are_used_up_is_not_used_again",
        Preemptions(2),
        || {
            let (index, [last, other_last], _cache) = on_their_last_versions();
            let creator = spawn(&index, |index| index.create().expect("not full"));
            index.destroy(last).expect("it lives");
            assert!(!index.exists(last) && index.exists(other_last));
            let created = creator.join();
            assert_ne!(created.index(), last.index());
            assert_eq!(index.retired(), 1);
            assert_eq!(room(&index), SLOTS as usize - 3);
            assert!(!index.exists(last), "a dead handle lives again");
        },
    );
}

#[test]
fn of_two_that_destroy_a_last_version_one_retires_the_slot() {
    model(
        "of_two_that_destroy_a_last_version_one_retires_the_slot",
        Exhaustive,
        || {
            let (index, [last, _], _cache) = on_their_last_versions();
            let other = spawn(&index, move |index| index.destroy(last).is_ok());
            let mine = index.destroy(last).is_ok();
            assert!(mine != other.join());
            assert_eq!(index.retired(), 1);
            assert!(index.create().expect("not full").index() > 1);
        },
    );
}

#[test]
fn a_batch_of_last_versions_retires_their_slots() {
    model(
        "a_batch_of_last_versions_retires_their_slots",
        Preemptions(2),
        || {
            let (index, last, _cache) = on_their_last_versions();
            let other = spawn(&index, move |index| index.destroy_slice(&last).destroyed);
            let mine = index.destroy_slice(&last).destroyed;
            assert_eq!(mine + other.join(), 2);
            assert_eq!(index.retired(), 2);
            assert_eq!(room(&index), SLOTS as usize - 2);
            assert!(
                last.iter().all(|&entity| !index.exists(entity)),
                "a dead handle lives again"
            );
        },
    );
}
