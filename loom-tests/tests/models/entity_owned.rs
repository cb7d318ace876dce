//! A world and its own entities: it creates them in rows, and destroys them by a store, without a word to the
//! group, while others create, destroy, look up and guess handles beside it.

use loom::sync::Arc;
use megachunk::entity::model::{
    bury_and_free, bury_and_free_at_once, create_in_rows, create_newborn, create_placed,
    destroy_owned, destroy_owned_slice, destroy_owned_slice_at_once, free_words, set_place,
};
use megachunk::entity::{Entity, EntityFault, EntityIndex, RelocateError};
use megachunk::sync::geometry::SLOTS;
use megachunk::sync::model::ThreadCache;
use megachunk_loom_tests::Bound::{Costly, Exhaustive, Preemptions};
use megachunk_loom_tests::entities::{
    all_taken_but, empty, handle, place, room, spawn, spawn_with,
};
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

/// Slots of a world's entities go back together, by `kill`, while another thread creates.
fn slots_that_go_back_together_have_one_next_owner(
    name: &'static str,
    kill: fn(&EntityIndex, &[Entity]),
) {
    model(name, Preemptions(2), move || {
        let (index, pair, _cache) = with_neighbours();
        let creator = spawn(&index, move |index| {
            let created = index.create().expect("not full");
            assert!(index.exists(created) && !pair.contains(&created));
            created
        });
        kill(&index, &pair);
        assert!(
            pair.iter().all(|&dead| !index.exists(dead)),
            "a dead handle lives"
        );
        // What stayed with this thread is everybody's.
        index.flush();
        let created = index.create().expect("not full");
        let theirs = creator.join();
        assert_ne!(created, theirs, "one id for two");
        assert!(index.exists(created) && index.exists(theirs));
        index.destroy(created).expect("the phase fits its version");
        index.flush();
        assert_eq!(room(&index), SLOTS as usize - 1);
    });
}

#[test]
fn slots_of_owned_entities_in_order_have_one_next_owner() {
    slots_that_go_back_together_have_one_next_owner(
        "slots_of_owned_entities_in_order_have_one_next_owner",
        destroy_owned_slice,
    );
}

#[test]
fn slots_of_buried_entities_have_one_next_owner() {
    slots_that_go_back_together_have_one_next_owner(
        "slots_of_buried_entities_have_one_next_owner",
        bury_and_free,
    );
}

#[test]
fn slots_of_buried_entities_that_are_everybodys_at_once_have_one_next_owner() {
    slots_that_go_back_together_have_one_next_owner(
        "slots_of_buried_entities_that_are_everybodys_at_once_have_one_next_owner",
        bury_and_free_at_once,
    );
}

#[test]
fn slots_of_owned_entities_that_are_everybodys_at_once_have_one_next_owner() {
    slots_that_go_back_together_have_one_next_owner(
        "slots_of_owned_entities_that_are_everybodys_at_once_have_one_next_owner",
        destroy_owned_slice_at_once,
    );
}

/// A thread finds the slot that it released itself, whatever hints a world's deaths have not set right yet.
fn full_is_not_said_beside_deaths_of_a_world(
    name: &'static str,
    kill: fn(&EntityIndex, &[Entity]),
) {
    model(name, Preemptions(2), move || {
        let (index, entities) = all_taken_but(&[]);
        // The first of them stays with the thread; the other's word is opened.
        let owned = [entities[0], entities[2]];
        let other = spawn(&index, move |index| kill(index, &owned));
        index.destroy(entities[3]).expect("it lives");
        index.flush();
        index.create().expect("this thread has released a slot");
        other.join();
    });
}

#[test]
fn full_is_not_said_beside_owned_deaths_in_order() {
    full_is_not_said_beside_deaths_of_a_world(
        "full_is_not_said_beside_owned_deaths_in_order",
        destroy_owned_slice,
    );
}

#[test]
fn full_is_not_said_beside_buried_entities() {
    full_is_not_said_beside_deaths_of_a_world(
        "full_is_not_said_beside_buried_entities",
        bury_and_free,
    );
}

#[test]
fn words_that_are_free_are_told_while_a_thread_gives_back_what_it_kept() {
    model(
        "words_that_are_free_are_told_while_a_thread_gives_back_what_it_kept",
        Preemptions(3),
        || {
            let (index, entities) = all_taken_but(&[]);
            let kept = Box::new(index.thread_cache());
            kept.adopt();
            index.destroy(entities[0]).expect("it lives");
            let other = spawn_with(kept, &index, EntityIndex::flush);
            // The other slot of its word.
            let mine = Box::new(index.thread_cache());
            mine.adopt();
            index.destroy(entities[1]).expect("it lives");
            index.flush();
            let [before, told] = free_words(&index);
            assert!(
                before.iter().all(|word| told.contains(word)),
                "a hint was believed that lags"
            );
            other.join();
            assert_eq!(free_words(&index), [[0], [0]]);
        },
    );
}

#[test]
fn an_entity_that_is_created_at_a_place_is_never_without_it() {
    model(
        "an_entity_that_is_created_at_a_place_is_never_without_it",
        Exhaustive,
        || {
            let (index, [first, _], _cache) = with_neighbours();
            index.destroy(first).expect("it lives");
            let guess = handle(first.index(), first.version() + 2);
            let guesser = spawn(&index, move |index| {
                assert!(index.build(guess, place(9)).is_err(), "it has a place");
                let seen = index.locate(guess);
                assert!(seen.is_err() || seen == Ok(Some(place(4))));
            });
            assert_eq!(create_placed(&index, place(4)), Ok(guess));
            guesser.join();
            assert_eq!(index.locate(guess), Ok(Some(place(4))));
        },
    );
}

#[test]
fn nobody_builds_an_entity_that_waits_for_its_row() {
    model(
        "nobody_builds_an_entity_that_waits_for_its_row",
        Costly(5),
        || {
            let (index, [first, _], _cache) = with_neighbours();
            index.destroy(first).expect("it lives");
            let guess = handle(first.index(), first.version() + 2);
            let guesser = spawn(&index, move |index| {
                assert!(index.build(guess, place(9)).is_err(), "it waits");
                assert!(index.relocate(guess, None, Some(place(9))).is_err());
                let seen = index.locate(guess);
                assert!(seen != Ok(None) && seen != Ok(Some(place(9))));
            });
            assert_eq!(create_newborn(&index), Ok(guess));
            set_place(&index, guess, place(4));
            assert_eq!(index.locate(guess), Ok(Some(place(4))));
            destroy_owned(&index, guess);
            guesser.join();
            assert!(!index.exists(guess));
        },
    );
}

#[test]
fn entities_of_rows_are_never_without_their_places() {
    model(
        "entities_of_rows_are_never_without_their_places",
        Exhaustive,
        || {
            let index = empty();
            let guesser = spawn(&index, |index| {
                let guess = handle(1, 1);
                assert!(index.build(guess, place(9)).is_err(), "it has a place");
                match index.relocate(guess, None, Some(place(9))) {
                    Err(RelocateError::Entity(_)) => {}
                    moved => {
                        let place = Some(place(4));
                        let elsewhere = RelocateError::Elsewhere {
                            entity: guess,
                            place,
                        };
                        assert_eq!(moved, Err(elsewhere));
                    }
                }
                let seen = index.locate(guess);
                assert!(seen.is_err() || seen == Ok(Some(place(4))));
            });
            let mut rows = [Entity::PLACEHOLDER; 3];
            create_in_rows(&index, &mut rows, place(3)).expect("not full");
            guesser.join();
            for (&entity, row) in rows.iter().zip(3..) {
                assert_eq!(index.locate(entity), Ok(Some(place(row))));
            }
            assert!(rows.contains(&handle(1, 1)));
        },
    );
}

#[test]
fn two_threads_create_in_rows_of_their_own() {
    model(
        "two_threads_create_in_rows_of_their_own",
        Preemptions(2),
        || {
            let index = empty();
            let create = |first: u32| {
                move |index: &EntityIndex| {
                    let mut rows = [Entity::PLACEHOLDER; 3];
                    create_in_rows(index, &mut rows, place(first)).expect("not full");
                    rows
                }
            };
            let other = spawn(&index, create(10));
            let mine = create(0)(&index);
            let theirs = other.join();
            for (rows, first) in [(mine, 0), (theirs, 10)] {
                for (&entity, row) in rows.iter().zip(first..) {
                    assert_eq!(index.locate(entity), Ok(Some(place(row))));
                }
            }
            assert!(mine.iter().all(|entity| !theirs.contains(entity)));
        },
    );
}

#[test]
fn rows_that_found_no_ids_leave_none_behind_and_nobody_had_them() {
    model(
        "rows_that_found_no_ids_leave_none_behind_and_nobody_had_them",
        Preemptions(2),
        || {
            let (index, entities) = all_taken_but(&[2, 3]);
            let guess = handle(2, entities[2].version() + 2);
            let guesser = spawn(&index, move |index| {
                assert!(index.build(guess, place(9)).is_err(), "it has a place");
            });
            let mut rows = [Entity::PLACEHOLDER; 3];
            create_in_rows(&index, &mut rows, place(0)).expect_err("there are two");
            guesser.join();
            assert!(!index.exists(guess));
            assert_eq!(index.count(), SLOTS as usize - 2);
            assert_eq!(room(&index), 2);
        },
    );
}

#[test]
fn an_id_of_a_failed_batch_that_somebody_built_stays_his() {
    model(
        "an_id_of_a_failed_batch_that_somebody_built_stays_his",
        Preemptions(2),
        || {
            let (index, entities) = all_taken_but(&[2, 3]);
            let guess = handle(2, entities[2].version() + 2);
            let guesser = spawn(&index, move |index| {
                let built = index.build(guess, place(9)).is_ok();
                if built {
                    assert_eq!(index.locate(guess), Ok(Some(place(9))), "lost by others");
                }
                built
            });
            let mut batch = [Entity::PLACEHOLDER; 3];
            index.create_slice(&mut batch).expect_err("there are two");
            let built = guesser.join();
            assert_eq!(index.exists(guess), built);
            assert_eq!(room(&index), if built { 1 } else { 2 });
        },
    );
}
