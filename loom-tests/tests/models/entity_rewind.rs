//! A world that is alone in an ordered universe goes back to a checkpoint, while another thread creates or destroys, for
//! nobody or in a world of its own: it takes back slots that are its own or nobody's, or it is refused, and then nothing
//! has changed.

use std::sync::atomic::{AtomicBool, Ordering};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use megachunk::entity::model::{LowestIds, SlotsThen, set_place};
use megachunk::entity::{Entity, Place};
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

/// The chunk of the world that goes back.
const OWN: u32 = 0;
/// The chunk of another one.
const THEIRS: u32 = 1;

/// An entity of the world.
fn create_own(ids: &LowestIds) -> Entity {
    create_at(ids, OWN, 0)
}

/// An entity of whose chunk this is.
fn create_at(ids: &LowestIds, chunk: u32, row: u32) -> Entity {
    ids.create_placed(place(chunk, row)).expect("not full")
}

fn place(chunk: u32, row: u32) -> Place {
    Place::new(chunk, row).expect("in range")
}

/// Whether the world has gone back.
fn go_back(ids: &LowestIds, then: &SlotsThen) -> bool {
    ids.go_back(then, |place| place.chunk() == OWN)
}

/// Which of the two ends occurred in some execution. (Of std: it outlives executions, and orders nothing in them.)
struct Ends([AtomicBool; 2]);

impl Ends {
    fn note(&self, went_back: bool) {
        self.0[usize::from(went_back)].store(true, Ordering::Relaxed);
    }

    /// Both must be possible, or the model shows nothing.
    fn assert_both(&self) {
        let [refused, went_back] = self.0.each_ref().map(|end| end.load(Ordering::Relaxed));
        assert!(refused, "it was never refused");
        assert!(went_back, "it never went back");
    }
}

/// When all is quiet: each of these lives and has a slot to itself, nobody else does, and all other slots are free.
fn check(ids: &LowestIds, living: &[Entity]) {
    assert!(
        living.iter().all(|&it| ids.index().exists(it)),
        "{living:?}"
    );
    assert_eq!(ids.index().count(), living.len());
    assert!(ids.is_in_order(), "a free slot is passed by");
    let mut slots: Vec<u32> = living.iter().map(|it| it.index()).collect();
    slots.extend((0..9).map_while(|_| ids.create().ok().map(|it| it.index())));
    slots.sort_unstable();
    assert!(
        slots.iter().copied().eq(0..8),
        "lost or given twice: {slots:?}"
    );
    assert!(living.iter().all(|&it| ids.release(it)), "one is condemned");
}

#[test]
fn a_world_goes_back_or_changes_nothing_beside_one_that_creates() {
    static ENDS: Ends = Ends([AtomicBool::new(false), AtomicBool::new(false)]);
    model(
        "a_world_goes_back_or_changes_nothing_beside_one_that_creates",
        Preemptions(3),
        || {
            let (ids, _cache) = ids();
            let [stays, comes_back] = [(); 2].map(|()| create_own(&ids));
            let then = ids.save(2).expect("alone");
            ids.destroy(comes_back);
            let other = spawn(&ids, |ids| ids.create().expect("not full"));
            let went_back = go_back(&ids, &then);
            ENDS.note(went_back);
            let theirs = other();
            if went_back {
                check(&ids, &[stays, comes_back, theirs]);
            } else {
                assert!(!ids.index().exists(comes_back), "something has changed");
                check(&ids, &[stays, theirs]);
            }
        },
    );
    ENDS.assert_both();
}

#[test]
fn what_came_since_is_free_again_beside_one_that_creates() {
    static ENDS: Ends = Ends([AtomicBool::new(false), AtomicBool::new(false)]);
    model(
        "what_came_since_is_free_again_beside_one_that_creates",
        Preemptions(2),
        || {
            let (ids, _cache) = ids();
            let stays = create_own(&ids);
            let then = ids.save(1).expect("alone");
            // In the rest of the word, and in the next one.
            let came = [(); 2].map(|()| create_own(&ids));
            let other = spawn(&ids, |ids| ids.create().expect("not full"));
            let went_back = go_back(&ids, &then);
            ENDS.note(went_back);
            let theirs = other();
            if went_back {
                // (It may have got what is given again.)
                check(&ids, &[stays, theirs]);
            } else {
                check(&ids, &[stays, came[0], came[1], theirs]);
            }
        },
    );
    ENDS.assert_both();
}

#[test]
fn of_two_who_destroy_an_id_beside_a_world_that_goes_back_one_wins() {
    static ENDS: Ends = Ends([AtomicBool::new(false), AtomicBool::new(false)]);
    model(
        "of_two_who_destroy_an_id_beside_a_world_that_goes_back_one_wins",
        Preemptions(3),
        || {
            let (ids, _cache) = ids();
            let then = ids.save(0).expect("alone");
            let reserved = ids.create().expect("not full");
            let other = spawn(&ids, move |ids| ids.release(reserved));
            let mine = ids.release(reserved);
            let went_back = go_back(&ids, &then);
            ENDS.note(went_back);
            assert_ne!(mine, other(), "it dies once");
            let next = ids.create().expect("not full");
            assert_eq!(next == reserved, went_back, "ids go back, too: {next}");
            check(&ids, &[next]);
        },
    );
    ENDS.assert_both();
}

#[test]
fn who_sees_an_entity_that_came_back_sees_what_its_world_did_before() {
    model(
        "who_sees_an_entity_that_came_back_sees_what_its_world_did_before",
        Exhaustive,
        || {
            let (ids, _cache) = ids();
            let entity = create_own(&ids);
            let then = ids.save(1).expect("alone");
            ids.destroy(entity);
            let data = Arc::new(UnsafeCell::new(0));
            let seen = Arc::clone(&data);
            let other = spawn(&ids, move |ids| {
                if ids.index().exists(entity) {
                    // SAFETY: read only; loom checks that nobody writes meanwhile.
                    seen.with(|data| assert_eq!(unsafe { *data }, 1));
                }
            });
            // SAFETY: nobody reads before the entity is back; loom checks it.
            data.with_mut(|data| unsafe { *data = 1 });
            assert!(go_back(&ids, &then), "alone");
            other();
            check(&ids, &[entity]);
        },
    );
}

#[test]
fn a_world_that_goes_back_leaves_another_what_it_has() {
    static ENDS: Ends = Ends([AtomicBool::new(false), AtomicBool::new(false)]);
    model(
        "a_world_that_goes_back_leaves_another_what_it_has",
        Costly(3),
        || {
            let (ids, _cache) = ids();
            let [stays, comes_back] = [0, 1].map(|row| create_at(&ids, OWN, row));
            let then = ids.save(2).expect("alone");
            ids.destroy(comes_back);
            set_place(ids.index(), stays, place(OWN, 1));
            let other = spawn(&ids, |ids| {
                let theirs = create_at(ids, THEIRS, 0);
                set_place(ids.index(), theirs, place(THEIRS, 1));
                theirs
            });
            let went_back = go_back(&ids, &then);
            ENDS.note(went_back);
            let theirs = other();
            assert_eq!(ids.index().locate(theirs), Ok(Some(place(THEIRS, 1))));
            let found = [stays, comes_back].map(|entity| ids.index().locate(entity).ok().flatten());
            if went_back {
                assert_eq!(found, [0, 1].map(|row| Some(place(OWN, row))));
                check(&ids, &[stays, comes_back, theirs]);
            } else {
                assert_eq!(found, [Some(place(OWN, 1)), None]);
                check(&ids, &[stays, theirs]);
            }
        },
    );
    ENDS.assert_both();
}

#[test]
fn what_another_world_has_had_ends_once_beside_one_that_goes_back() {
    static ENDS: Ends = Ends([AtomicBool::new(false), AtomicBool::new(false)]);
    model(
        "what_another_world_has_had_ends_once_beside_one_that_goes_back",
        Costly(3),
        || {
            let (ids, _cache) = ids();
            let [stays, comes_back] = [0, 1].map(|row| create_at(&ids, OWN, row));
            let then = ids.save(2).expect("alone");
            ids.destroy(comes_back);
            let other = spawn(&ids, |ids| {
                let theirs = create_at(ids, THEIRS, 0);
                let found = ids.index().locate(theirs);
                ids.destroy(theirs);
                (theirs, found)
            });
            let went_back = go_back(&ids, &then);
            ENDS.note(went_back);
            let (theirs, found) = other();
            assert_eq!(found, Ok(Some(place(THEIRS, 0))), "while it lived");
            assert!(!ids.index().exists(theirs), "it lives again");
            if went_back {
                let found = [stays, comes_back].map(|entity| ids.index().locate(entity));
                assert_eq!(found, [0, 1].map(|row| Ok(Some(place(OWN, row)))));
                check(&ids, &[stays, comes_back]);
            } else {
                assert!(!ids.index().exists(comes_back), "something has changed");
                check(&ids, &[stays]);
            }
        },
    );
    ENDS.assert_both();
}
