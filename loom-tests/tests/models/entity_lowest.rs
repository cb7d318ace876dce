//! Ordered universes: whoever creates takes the lowest free slot. Recorders claim whole words and give back what they
//! did not use; when all is quiet, no slot is free before the word from which on it is looked for.

use loom::sync::Arc;
use loom::thread;
use megachunk::entity::Entity;
use megachunk::entity::model::LowestIds;
use megachunk::sync::model::ThreadCache;
use megachunk_loom_tests::Bound::{Costly, Exhaustive, Preemptions};
use megachunk_loom_tests::model;

/// Runs `work` on a thread of its own; its result comes from the closure that is returned.
fn spawn<R: 'static>(
    ids: &Arc<LowestIds>,
    work: impl FnOnce(&LowestIds) -> R + 'static,
) -> impl FnOnce() -> R {
    let ids = Arc::clone(ids);
    let handle = thread::spawn(move || {
        let cache = ids.index().thread_cache();
        cache.adopt();
        (work(&ids), cache)
    });
    move || handle.join().expect("no panic").0
}

fn ids() -> (Arc<LowestIds>, Box<dyn ThreadCache>) {
    let ids = Arc::new(LowestIds::new());
    let cache: Box<dyn ThreadCache> = Box::new(ids.index().thread_cache());
    cache.adopt();
    (ids, cache)
}

#[test]
fn two_that_create_the_lowest_leave_nothing_behind_them() {
    model(
        "two_that_create_the_lowest_leave_nothing_behind_them",
        Costly(3),
        || {
            let (ids, _cache) = ids();
            let other = spawn(&ids, |ids| ids.create().expect("not full"));
            let mine = ids.create().expect("not full");
            let theirs = other();
            assert_ne!(mine, theirs, "one id for two");
            assert!(ids.is_in_order());
            // Words have two slots: one is free before the third word, or the first word is full.
            let next = ids.create().expect("not full");
            assert!(next.index() < 4, "{next}");
        },
    );
}

#[test]
fn a_slot_that_dies_beside_a_search_is_found_by_the_next() {
    model(
        "a_slot_that_dies_beside_a_search_is_found_by_the_next",
        Exhaustive,
        || {
            let (ids, _cache) = ids();
            let [first, second, third] = [(); 3].map(|()| ids.create().expect("not full"));
            let killer = spawn(&ids, move |ids| ids.destroy(first));
            let mine = ids.create().expect("not full");
            killer();
            assert!(ids.is_in_order());
            let next = ids.create().expect("not full");
            assert!(
                [mine, next].iter().any(|entity| entity.index() == 0),
                "{mine}, {next}"
            );
            assert!([second, third].iter().all(|&it| ids.index().exists(it)));
        },
    );
}

#[test]
fn a_batch_beside_one_that_creates_leaves_nothing_behind_it() {
    model(
        "a_batch_beside_one_that_creates_leaves_nothing_behind_it",
        Preemptions(2),
        || {
            let (ids, _cache) = ids();
            let other = spawn(&ids, |ids| ids.create().expect("not full"));
            // A half of a word.
            let mut mine = [Entity::PLACEHOLDER; 1];
            ids.create_slice(&mut mine).expect("not full");
            let theirs = other();
            assert!(!mine.contains(&theirs), "one id for two");
            assert!(ids.is_in_order());
            // One is free before the third word, or the first word is full.
            let next = ids.create().expect("not full");
            assert!(next.index() < 4, "{next}");
            assert!(mine.iter().all(|&it| ids.index().exists(it)));
        },
    );
}

#[test]
fn slots_that_die_beside_a_batch_are_found_by_the_next() {
    model(
        "slots_that_die_beside_a_batch_are_found_by_the_next",
        Preemptions(3),
        || {
            let (ids, _cache) = ids();
            // Two words are full.
            let mut old = [Entity::PLACEHOLDER; 4];
            ids.create_slice(&mut old).expect("not full");
            let dying = [old[2], old[0]];
            let killer = spawn(&ids, move |ids| ids.destroy_slice(&dying));
            let mut mine = [Entity::PLACEHOLDER; 2];
            ids.create_slice(&mut mine).expect("not full");
            killer();
            assert!(ids.is_in_order());
            let mut next = [Entity::PLACEHOLDER; 2];
            ids.create_slice(&mut next).expect("not full");
            let mut all: Vec<u32> = [mine, next].concat().iter().map(|it| it.index()).collect();
            all.sort_unstable();
            // Others are of the words that were free before, of which one slot may be left.
            assert_eq!(all[..2], [0, 2], "a slot is lost");
            assert!([old[1], old[3]].iter().all(|&it| ids.index().exists(it)));
        },
    );
}

#[test]
fn what_a_recorder_did_not_use_is_found_when_it_ends() {
    model(
        "what_a_recorder_did_not_use_is_found_when_it_ends",
        Costly(3),
        || {
            let (ids, _cache) = ids();
            let recorder = spawn(&ids, |ids| {
                let mut piece = ids.claim(0)?;
                let entity = ids.create_in(&mut piece);
                ids.close(piece);
                entity
            });
            let mine = ids.create().expect("not full");
            let theirs = recorder();
            assert_ne!(theirs, Some(mine), "one id for two");
            assert!(ids.is_in_order());
            let all: Vec<Entity> = (0..8).map_while(|_| ids.create().ok()).collect();
            let recorded = usize::from(theirs.is_some());
            assert_eq!(all.len() + 1 + recorded, 8, "a slot is lost");
        },
    );
}

#[test]
fn hints_that_are_set_late_hide_no_lower_slot() {
    model(
        "hints_that_are_set_late_hide_no_lower_slot",
        Preemptions(3),
        || {
            let (ids, _cache) = ids();
            // Two words that are full, of which no hint says so yet.
            let [first, _, _, last] = [(); 4].map(|()| ids.create().expect("not full"));
            // The first is full again, and yet where the next search begins.
            ids.destroy(first);
            assert_eq!(ids.create().expect("not full").index(), 0);
            let other = spawn(&ids, move |ids| {
                ids.destroy(last);
                ids.create().expect("not full")
            });
            // The hints are set, as by a thread that ends.
            ids.index().flush();
            assert_eq!(other().index(), 3, "the lowest is passed by");
            assert!(ids.is_in_order());
        },
    );
}

#[test]
fn two_that_take_from_one_word_take_two_slots() {
    model(
        "two_that_take_from_one_word_take_two_slots",
        Exhaustive,
        || {
            let (ids, _cache) = ids();
            // Both slots of the first word are free singly.
            let first = ids.create().expect("not full");
            ids.destroy(first);
            let other = spawn(&ids, |ids| ids.create().expect("not full"));
            let mine = ids.create().expect("not full");
            let mut both = [mine.index(), other().index()];
            both.sort_unstable();
            assert_eq!(both, [0, 1]);
            assert!(ids.is_in_order());
            assert_eq!(ids.create().expect("not full").index(), 2);
        },
    );
}

#[test]
fn a_slot_that_dies_where_the_lowest_are_taken_from_is_had_anew() {
    model(
        "a_slot_that_dies_where_the_lowest_are_taken_from_is_had_anew",
        Exhaustive,
        || {
            let (ids, _cache) = ids();
            // The second slot of the word is free singly.
            let first = ids.create().expect("not full");
            let killer = spawn(&ids, move |ids| ids.destroy(first));
            let mine = ids.create().expect("not full");
            assert_ne!(mine, first, "a handle that is dead lives again");
            assert!(mine.index() < 2, "{mine}");
            killer();
            assert!(ids.is_in_order());
            let next = ids.create().expect("not full");
            assert_eq!(mine.index() + next.index(), 1, "{mine}, {next}");
            assert!([mine, next].iter().all(|&it| ids.index().exists(it)));
            assert!(!ids.index().exists(first));
        },
    );
}
