//! Lives and places of entities: free against free, stale free against reuse, look-up against death
//! and reuse, publish against death.
//!
//! One claim a model, named after it. The threads have slots in hand, so that a creation is a store;
//! how they come by slots is the subject of `entity_claims.rs`.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use megachunk::entity::model::{
    bury_and_free, destroy_few, destroy_owned, destroy_owned_slice, destroy_slowly, replace_place,
    set_place,
};
use megachunk::entity::{Entity, EntityFault, EntityIndex, Place};
use megachunk::sync::atomic::{AtomicU64, Ordering};
use megachunk::sync::model::ThreadCache;
use megachunk_loom_tests::Bound::{Costly, Exhaustive, ExhaustiveUnlessQuick, Preemptions};
use megachunk_loom_tests::entities::{Thread, empty, handle, place, spawn};
use megachunk_loom_tests::model;

/// An index, and a cache with slots 0 and 1 in it that this thread has adopted.
fn with_slots_in_hand() -> (Arc<EntityIndex>, Box<dyn ThreadCache>) {
    let index = empty();
    let cache = Box::new(index.thread_cache());
    cache.adopt();
    let entity = index.create().expect("not full");
    index.destroy(entity).expect("it lives");
    (index, cache)
}

// --- Deaths -------------------------------------------------------------------------------------

#[test]
fn of_two_destroyers_of_one_entity_one_wins() {
    model(
        "of_two_destroyers_of_one_entity_one_wins",
        Exhaustive,
        || {
            let (index, _cache) = with_slots_in_hand();
            let entity = index.create().expect("not full");
            let other = spawn(&index, move |index| {
                let result = index.destroy(entity);
                assert!(
                    !index.exists(entity),
                    "who is told that it is dead finds it dead"
                );
                result
            });
            let mine = index.destroy(entity);
            assert!(
                !index.exists(entity),
                "who is told that it is dead finds it dead"
            );
            let theirs = other.join();
            assert!(mine.is_ok() != theirs.is_ok());
            let fault = mine.and(theirs).expect_err("one of them lost").fault;
            assert_eq!(fault, EntityFault::Destroyed);
        },
    );
}

#[test]
fn of_three_destroyers_of_one_entity_one_wins() {
    model(
        "of_three_destroyers_of_one_entity_one_wins",
        Preemptions(2),
        || {
            let (index, _cache) = with_slots_in_hand();
            let entity = index.create().expect("not full");
            let destroy = move |index: &EntityIndex| index.destroy(entity).is_ok();
            let others: [Thread<bool>; 2] = [spawn(&index, destroy), spawn(&index, destroy)];
            let mine = destroy(&index);
            assert!(
                !index.exists(entity),
                "who is told that it is dead finds it dead"
            );
            let theirs = others.map(Thread::join);
            assert_eq!(
                usize::from(mine) + theirs.iter().filter(|won| **won).count(),
                1
            );
        },
    );
}

#[test]
fn neighbours_in_a_group_die_independently() {
    model(
        "neighbours_in_a_group_die_independently",
        Exhaustive,
        || {
            let (index, _cache) = with_slots_in_hand();
            let [first, second] = [(); 2].map(|()| index.create().expect("not full"));
            let other = spawn(&index, move |index| index.destroy(first).is_ok());
            assert!(index.destroy(second).is_ok());
            assert!(other.join());
            assert!(!index.exists(first) && !index.exists(second));
        },
    );
}

#[test]
fn a_stale_destroy_never_hits_the_next_owner() {
    model(
        "a_stale_destroy_never_hits_the_next_owner",
        ExhaustiveUnlessQuick(3),
        || {
            let (index, _cache) = with_slots_in_hand();
            let first = index.create().expect("not full");
            let other = spawn(&index, move |index| index.destroy(first).is_ok());
            if index.destroy(first).is_ok() {
                let second = index.create().expect("not full");
                assert_eq!(second.index(), first.index());
                assert!(!other.join(), "one entity was destroyed twice");
                assert!(index.exists(second), "a stale handle killed the next owner");
            } else {
                assert!(other.join());
            }
        },
    );
}

/// A destroyer that does as `stale_destroy` comes late: its slot has an entity of the same phase by then.
fn a_stale_destroy_spares_a_later_owner_of_the_same_phase(
    name: &'static str,
    stale_destroy: fn(&EntityIndex, Entity) -> bool,
) {
    model(name, Preemptions(3), move || {
        let (index, _cache) = with_slots_in_hand();
        let first = index.create().expect("not full");
        let other = spawn(&index, move |index| stale_destroy(index, first));
        if index.destroy(first).is_ok() {
            let second = index.create().expect("not full");
            index.destroy(second).expect("only this thread knows it");
            let third = index.create().expect("not full");
            assert_eq!(third, handle(first.index(), first.version() + 4));
            assert!(!other.join(), "one entity was destroyed twice");
            assert!(index.exists(third), "a stale handle killed the next owner");
        } else {
            assert!(other.join());
        }
    });
}

#[test]
fn a_stale_destroy_never_hits_a_later_owner_of_the_same_phase() {
    a_stale_destroy_spares_a_later_owner_of_the_same_phase(
        "a_stale_destroy_never_hits_a_later_owner_of_the_same_phase",
        |index, entity| index.destroy(entity).is_ok(),
    );
}

#[test]
fn a_stale_destroy_that_was_beaten_never_hits_a_later_owner_of_the_same_phase() {
    a_stale_destroy_spares_a_later_owner_of_the_same_phase(
        "a_stale_destroy_that_was_beaten_never_hits_a_later_owner_of_the_same_phase",
        destroy_slowly,
    );
}

#[test]
fn a_dead_handle_is_refused_whatever_its_slot_does() {
    model(
        "a_dead_handle_is_refused_whatever_its_slot_does",
        Preemptions(3),
        || {
            let (index, _cache) = with_slots_in_hand();
            let first = index.create().expect("not full");
            index.destroy(first).expect("it lives");
            let stale = spawn(&index, move |index| {
                index.destroy(first).map_err(|error| error.fault)
            });
            let second = index.create().expect("not full");
            index.destroy(second).expect("only this thread knows it");
            let third = index.create().expect("not full");
            assert_eq!(third, handle(first.index(), first.version() + 4));
            assert_eq!(stale.join(), Err(EntityFault::Destroyed));
            assert!(index.exists(third), "a stale handle killed the next owner");
        },
    );
}

#[test]
fn a_guessed_handle_dies_only_after_it_was_created() {
    model(
        "a_guessed_handle_dies_only_after_it_was_created",
        Exhaustive,
        || {
            let (index, _cache) = with_slots_in_hand();
            let first = index.create().expect("not full");
            let guess = handle(first.index(), first.version() + 2);
            let other = spawn(&index, move |index| {
                index.destroy(guess).map_err(|error| error.fault)
            });
            index.destroy(first).expect("nobody else destroys it");
            let second = index.create().expect("not full");
            assert_eq!(second, guess);
            match other.join() {
                Ok(()) => assert!(!index.exists(second)),
                Err(fault) => {
                    assert_eq!(fault, EntityFault::NeverCreated);
                    assert!(index.exists(second), "a refused destroy took effect");
                }
            }
        },
    );
}

/// Who finds an entity dead that `kill` destroys sees what its destroyer did before.
fn a_death_is_seen_with_what_came_before(name: &'static str, kill: fn(&EntityIndex, Entity)) {
    model(name, Preemptions(3), move || {
        let (index, _cache) = with_slots_in_hand();
        let entity = index.create().expect("not full");
        let data = Arc::new(UnsafeCell::new(0));
        let other = spawn(&index, {
            let data = Arc::clone(&data);
            move |index| read_if_dead(index, entity, &data)
        });
        // SAFETY: nobody sees the entity dead yet.
        data.with_mut(|data| unsafe { *data = 1 });
        kill(&index, entity);
        other.join();
    });
}

fn read_if_dead(index: &EntityIndex, entity: Entity, data: &UnsafeCell<u32>) {
    if !index.exists(entity) {
        // SAFETY: who sees the death may read; that this is enough is the claim.
        assert_eq!(data.with(|data| unsafe { *data }), 1);
    }
}

#[test]
fn who_sees_a_death_sees_what_its_destroyer_did_before() {
    a_death_is_seen_with_what_came_before(
        "who_sees_a_death_sees_what_its_destroyer_did_before",
        |index, entity| index.destroy(entity).expect("it lives"),
    );
}

#[test]
fn who_sees_a_death_in_a_batch_sees_what_its_destroyer_did_before() {
    a_death_is_seen_with_what_came_before(
        "who_sees_a_death_in_a_batch_sees_what_its_destroyer_did_before",
        |index, entity| assert!(index.destroy_slice(&[entity]).is_clean()),
    );
}

#[test]
fn who_sees_a_death_in_a_small_batch_sees_what_its_destroyer_did_before() {
    a_death_is_seen_with_what_came_before(
        "who_sees_a_death_in_a_small_batch_sees_what_its_destroyer_did_before",
        |index, entity| {
            let sibling = index.create().expect("not full");
            assert_eq!(destroy_few(index, &[entity, sibling]), 2);
        },
    );
}

#[test]
fn who_sees_an_owned_death_sees_what_its_world_did_before() {
    a_death_is_seen_with_what_came_before(
        "who_sees_an_owned_death_sees_what_its_world_did_before",
        destroy_owned,
    );
}

#[test]
fn who_sees_one_of_many_owned_deaths_sees_what_its_world_did_before() {
    a_death_is_seen_with_what_came_before(
        "who_sees_one_of_many_owned_deaths_sees_what_its_world_did_before",
        |index, entity| destroy_owned_slice(index, &[entity]),
    );
}

#[test]
fn who_sees_a_burial_sees_what_its_world_did_before() {
    a_death_is_seen_with_what_came_before(
        "who_sees_a_burial_sees_what_its_world_did_before",
        |index, entity| bury_and_free(index, &[entity]),
    );
}

#[test]
fn who_sees_a_death_that_was_helped_sees_what_its_destroyer_did_before() {
    // The destroyer stands between its compare-and-swap and its store; the loser stores for it.
    model(
        "who_sees_a_death_that_was_helped_sees_what_its_destroyer_did_before",
        Preemptions(2),
        || {
            let (index, _cache) = with_slots_in_hand();
            let entity = index.create().expect("not full");
            let data = Arc::new(AtomicU64::new(0));
            let helper = spawn(&index, move |index| index.destroy(entity).is_ok());
            let seer = spawn(&index, {
                let data = Arc::clone(&data);
                move |index| index.exists(entity) || data.load(Ordering::Relaxed) == 1
            });
            data.store(1, Ordering::Relaxed);
            let won = index.destroy(entity).is_ok();
            assert!(won != helper.join());
            assert!(
                seer.join() || !won,
                "a death was seen without what came before"
            );
        },
    );
}

// --- Look-ups -----------------------------------------------------------------------------------

#[test]
fn a_dead_handle_never_exists_whatever_its_slot_does() {
    model(
        "a_dead_handle_never_exists_whatever_its_slot_does",
        Exhaustive,
        || {
            let (index, _cache) = with_slots_in_hand();
            let first = index.create().expect("not full");
            index.destroy(first).expect("it lives");
            let other = spawn(&index, move |index| {
                assert!(!index.exists(first));
                assert_eq!(
                    index.locate(first).map_err(|e| e.fault),
                    Err(EntityFault::Destroyed)
                );
            });
            let second = index.create().expect("not full");
            index.destroy(second).expect("only this thread knows it");
            let third = index.create().expect("not full");
            other.join();
            assert!(index.exists(third));
        },
    );
}

#[test]
fn a_look_up_answers_with_the_entitys_own_place_or_that_it_is_dead() {
    model(
        "a_look_up_answers_with_the_entitys_own_place_or_that_it_is_dead",
        Exhaustive,
        || {
            let (index, _cache) = with_slots_in_hand();
            let first = index.create().expect("not full");
            index.publish(first, place(1)).expect("it lives");
            let other = spawn(&index, move |index| index.locate(first));
            index.destroy(first).expect("nobody else destroys it");
            let second = index.create().expect("not full");
            index.publish(second, place(2)).expect("it lives");
            assert_eq!(index.locate(second), Ok(Some(place(2))));
            match other.join() {
                Ok(found) => assert_eq!(found, Some(place(1)), "the place of another entity"),
                Err(error) => assert_eq!(error.fault, EntityFault::Destroyed),
            }
            assert!(!index.exists(first));
        },
    );
}

#[test]
fn what_is_dead_stays_dead() {
    model("what_is_dead_stays_dead", Exhaustive, || {
        let (index, _cache) = with_slots_in_hand();
        let entity = index.create().expect("not full");
        let other = spawn(&index, move |index| {
            (index.exists(entity), index.exists(entity))
        });
        index.destroy(entity).expect("nobody else destroys it");
        index.create().expect("not full");
        let (early, late) = other.join();
        assert!(early || !late, "it came back to life");
    });
}

#[test]
fn a_loser_that_helps_leaves_what_comes_after_alone() {
    // The winner may stand between its compare-and-swap and its store while the loser helps.
    model(
        "a_loser_that_helps_leaves_what_comes_after_alone",
        Costly(2),
        || {
            let (index, _cache) = with_slots_in_hand();
            let first = index.create().expect("not full");
            let destroy = move |index: &EntityIndex| {
                let won = index.destroy(first).is_ok();
                assert!(
                    !index.exists(first),
                    "who is told that it is dead finds it dead"
                );
                won
            };
            let others = [spawn(&index, destroy), spawn(&index, destroy)];
            let second = index
                .destroy(first)
                .is_ok()
                .then(|| index.create().expect("not full"));
            for other in others {
                other.join();
            }
            if let Some(second) = second {
                assert_eq!(index.locate(second), Ok(None));
            }
        },
    );
}

#[test]
fn who_sees_an_entity_sees_what_its_creator_did_before() {
    model(
        "who_sees_an_entity_sees_what_its_creator_did_before",
        Exhaustive,
        || {
            let (index, _cache) = with_slots_in_hand();
            let guess = handle(0, 3);
            let data = Arc::new(UnsafeCell::new(0));
            let other = spawn(&index, {
                let data = Arc::clone(&data);
                move |index| {
                    if index.exists(guess) {
                        // SAFETY: who sees the entity may read; that this is enough is the claim.
                        assert_eq!(data.with(|data| unsafe { *data }), 1);
                    }
                }
            });
            // SAFETY: nobody sees the entity yet.
            data.with_mut(|data| unsafe { *data = 1 });
            assert_eq!(index.create(), Ok(guess));
            other.join();
        },
    );
}

// --- Places -------------------------------------------------------------------------------------

/// Who finds an entity at a place, where `place_at` puts it, sees what was written there before.
fn a_place_is_seen_with_what_was_written_there(
    name: &'static str,
    place_at: fn(&EntityIndex, Entity, Place),
) {
    model(name, Exhaustive, move || {
        let (index, _cache) = with_slots_in_hand();
        let entity = index.create().expect("not full");
        let data = Arc::new(UnsafeCell::new(0));
        let other = spawn(&index, {
            let data = Arc::clone(&data);
            move |index| {
                if index.locate(entity) == Ok(Some(place(1))) {
                    // SAFETY: who sees the place may read; that this is enough is the claim.
                    assert_eq!(data.with(|data| unsafe { *data }), 1);
                }
            }
        });
        // SAFETY: nobody sees the place yet.
        data.with_mut(|data| unsafe { *data = 1 });
        place_at(&index, entity, place(1));
        other.join();
    });
}

#[test]
fn who_sees_a_place_sees_what_was_written_there() {
    a_place_is_seen_with_what_was_written_there(
        "who_sees_a_place_sees_what_was_written_there",
        |index, entity, place| index.publish(entity, place).expect("it lives"),
    );
}

#[test]
fn who_sees_a_place_that_was_changed_sees_what_was_written_there() {
    a_place_is_seen_with_what_was_written_there(
        "who_sees_a_place_that_was_changed_sees_what_was_written_there",
        |index, entity, place| {
            assert_eq!(index.relocate(entity, None, Some(place)), Ok(()));
        },
    );
}

#[test]
fn who_sees_a_place_that_a_world_set_sees_what_was_written_there() {
    a_place_is_seen_with_what_was_written_there(
        "who_sees_a_place_that_a_world_set_sees_what_was_written_there",
        set_place,
    );
}

#[test]
fn who_sees_a_place_that_a_world_replaced_sees_what_was_written_there() {
    a_place_is_seen_with_what_was_written_there(
        "who_sees_a_place_that_a_world_replaced_sees_what_was_written_there",
        replace_place,
    );
}

#[test]
fn of_one_who_moves_an_entity_and_one_who_destroys_it_each_place_is_freed_once() {
    model(
        "of_one_who_moves_an_entity_and_one_who_destroys_it_each_place_is_freed_once",
        Exhaustive,
        || {
            let (index, _cache) = with_slots_in_hand();
            let entity = index.create().expect("not full");
            index.publish(entity, place(1)).expect("it lives");
            let mover = spawn(&index, move |index| {
                match index.relocate(entity, Some(place(1)), Some(place(2))) {
                    Ok(()) => place(1),
                    Err(_) => place(2),
                }
            });
            let taken = index.take_place(entity).expect("nobody else destroys it");
            index.destroy(entity).expect("nobody else destroys it");
            let freed = [taken.expect("nobody else takes it"), mover.join()];
            assert!(freed == [place(1), place(2)] || freed == [place(2), place(1)]);
        },
    );
}

#[test]
fn a_late_publish_never_hits_the_next_owner() {
    model(
        "a_late_publish_never_hits_the_next_owner",
        Exhaustive,
        || {
            let (index, _cache) = with_slots_in_hand();
            let first = index.create().expect("not full");
            let other = spawn(&index, move |index| {
                index.publish(first, place(1)).map_err(|error| error.fault)
            });
            index.destroy(first).expect("nobody else destroys it");
            let second = index.create().expect("not full");
            assert_eq!(second.index(), first.index());
            assert_eq!(
                index.locate(second),
                Ok(None),
                "the place of another entity"
            );
            assert!(matches!(other.join(), Ok(()) | Err(EntityFault::Destroyed)));
            assert_eq!(
                index.locate(second),
                Ok(None),
                "the place of another entity"
            );
        },
    );
}

#[test]
fn a_refused_publish_was_seen_by_nobody() {
    model(
        "a_refused_publish_was_seen_by_nobody",
        Preemptions(2),
        || {
            let (index, _cache) = with_slots_in_hand();
            let entity = index.create().expect("not full");
            let publisher = spawn(&index, move |index| index.publish(entity, place(1)).is_ok());
            let seer = spawn(&index, move |index| {
                index.locate(entity) == Ok(Some(place(1)))
            });
            index.destroy(entity).expect("nobody else destroys it");
            let (published, seen) = (publisher.join(), seer.join());
            assert!(published || !seen, "a publish took effect and was refused");
            assert!(!index.exists(entity));
        },
    );
}

#[test]
fn a_publish_while_it_dies_does_not_bring_an_entity_back() {
    model(
        "a_publish_while_it_dies_does_not_bring_an_entity_back",
        Preemptions(2),
        || {
            let (index, _cache) = with_slots_in_hand();
            let entity = index.create().expect("not full");
            let publisher = spawn(&index, move |index| index.publish(entity, place(1)).is_ok());
            let loser = spawn(&index, move |index| {
                let won = index.destroy(entity).is_ok();
                assert!(
                    !index.exists(entity),
                    "who is told that it is dead finds it dead"
                );
                won
            });
            let won = index.destroy(entity).is_ok();
            assert!(
                !index.exists(entity),
                "who is told that it is dead finds it dead"
            );
            publisher.join();
            assert!(won != loser.join());
            assert!(!index.exists(entity));
        },
    );
}

#[test]
fn of_two_publishes_the_later_stays() {
    model("of_two_publishes_the_later_stays", Exhaustive, || {
        let (index, _cache) = with_slots_in_hand();
        let entity = index.create().expect("not full");
        let other = spawn(&index, move |index| {
            index.publish(entity, place(1)).expect("it lives");
            index.locate(entity).expect("it lives")
        });
        index.publish(entity, place(2)).expect("it lives");
        let mine = index.locate(entity).expect("it lives");
        let theirs = other.join();
        let last = index.locate(entity).expect("it lives");
        assert!(last == mine || last == theirs, "a place went back in time");
    });
}

#[test]
fn of_two_that_build_one_entity_one_wins() {
    model("of_two_that_build_one_entity_one_wins", Exhaustive, || {
        let (index, _cache) = with_slots_in_hand();
        let entity = index.reserve().expect("not full");
        let other = spawn(&index, move |index| index.build(entity, place(1)));
        let mine = index.build(entity, place(2));
        let theirs = other.join();
        let winner = if mine.is_ok() { place(2) } else { place(1) };
        assert_eq!(index.locate(entity), Ok(Some(winner)));
        let fault = mine.and(theirs).expect_err("one of them lost").fault;
        assert_eq!(fault, EntityFault::AlreadyBuilt);
    });
}
