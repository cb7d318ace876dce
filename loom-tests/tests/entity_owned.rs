//! Owned deaths: a world destroys its own entities by a store, without a word to the group, while others
//! create, destroy and look up beside it.
#![cfg(loom)]

use loom::sync::Arc;
use megachunk::entity::model::destroy_owned;
use megachunk::entity::{Entity, EntityFault, EntityIndex};
use megachunk::sync::model::ThreadCache;
use megachunk_loom_tests::Bound::{Exhaustive, Preemptions};
use megachunk_loom_tests::entities::{empty, room, spawn};
use megachunk_loom_tests::model;

/// An index, two entities of one group, and a cache that this thread has adopted.
fn with_neighbours() -> (Arc<EntityIndex>, [Entity; 2], Box<dyn ThreadCache>) {
    let index = empty();
    let cache = Box::new(index.thread_cache());
    cache.adopt();
    let pair = [(); 2].map(|()| index.create().expect("not full"));
    assert_eq!((pair[0].index(), pair[1].index()), (0, 1));
    (index, pair, cache)
}

#[test]
fn an_owned_death_leaves_its_neighbours_to_themselves() {
    model(
        "an_owned_death_leaves_its_neighbours_to_themselves",
        Exhaustive,
        || {
            let (index, [mine, other], _cache) = with_neighbours();
            let killer = spawn(&index, move |index| {
                index.destroy(other).expect("it lives");
                assert_eq!(
                    index.destroy(other).unwrap_err().fault,
                    EntityFault::Destroyed
                );
            });
            destroy_owned(&index, mine);
            assert!(!index.exists(mine));
            killer.join();
            assert!(!index.exists(mine) && !index.exists(other));
            assert_eq!(index.count(), 0);
        },
    );
}

#[test]
fn who_gets_the_slot_after_an_owned_death_lives_and_can_be_destroyed() {
    model(
        "who_gets_the_slot_after_an_owned_death_lives_and_can_be_destroyed",
        Preemptions(3),
        || {
            let (index, [mine, other], _cache) = with_neighbours();
            let neighbour = spawn(&index, move |index| index.destroy(other).is_ok());
            destroy_owned(&index, mine);
            let next = index.create().expect("not full");
            assert!(index.exists(next) && !index.exists(mine));
            assert!(next.version() > mine.version() || next.index() != mine.index());
            index
                .destroy(next)
                .expect("it lives, in the phase of its version");
            assert!(!index.exists(next));
            assert!(neighbour.join());
            assert!(!index.exists(mine) && !index.exists(other) && !index.exists(next));
        },
    );
}

#[test]
fn a_slot_that_was_given_back_after_an_owned_death_has_one_next_owner() {
    model(
        "a_slot_that_was_given_back_after_an_owned_death_has_one_next_owner",
        Preemptions(3),
        || {
            let (index, [mine, _other], _cache) = with_neighbours();
            let creator = spawn(&index, move |index| {
                let created = index.create().expect("not full");
                assert!(index.exists(created) && created != mine);
                created
            });
            destroy_owned(&index, mine);
            index.flush();
            let created = index.create().expect("not full");
            let theirs = creator.join();
            assert_ne!(created, theirs, "one id for two");
            assert!(!index.exists(mine), "a dead handle lives again");
            assert!(index.exists(created) && index.exists(theirs));
            assert!(room(&index) > 0);
        },
    );
}
