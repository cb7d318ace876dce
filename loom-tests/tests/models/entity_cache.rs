//! What threads keep: nothing is lost when they give it back, however they end; and nodes of the
//! registry have one owner at a time.

use loom::sync::Arc;
use loom::thread;
use megachunk::entity::Entity;
use megachunk::sync::model::{Nodes, ThreadCache};
use megachunk_loom_tests::Bound::{Costly, Exhaustive, Preemptions};
use megachunk_loom_tests::entities::{all_taken_but, empty, room};
use megachunk_loom_tests::model;

#[test]
fn what_two_threads_kept_is_everybodys_when_they_end() {
    model(
        "what_two_threads_kept_is_everybodys_when_they_end",
        Preemptions(2),
        || {
            let index = empty();
            let threads = [(); 2].map(|()| {
                let index = Arc::clone(&index);
                let cache = index.thread_cache();
                thread::spawn(move || {
                    cache.adopt();
                    let kept = index.create().expect("not full");
                    let freed = index.create().expect("not full");
                    index.destroy(freed).expect("it lives");
                    drop(cache);
                    kept
                })
            });
            let kept = threads.map(|thread| thread.join().expect("no panic"));
            assert!(kept.iter().all(|&entity| index.exists(entity)));
            assert_eq!(index.count(), 2);
            assert_eq!(room(&index), 6, "a thread that ended took slots with it");
        },
    );
}

#[test]
fn what_a_thread_kept_is_claimed_while_it_ends() {
    model(
        "what_a_thread_kept_is_claimed_while_it_ends",
        Costly(3),
        || {
            let (index, entities) = all_taken_but(&[]);
            let victims = [entities[2], entities[4]];
            let ending = thread::spawn({
                let (index, cache) = (Arc::clone(&index), index.thread_cache());
                move || {
                    cache.adopt();
                    for victim in victims {
                        index.destroy(victim).expect("nobody else destroys it");
                    }
                    drop(cache);
                }
            });
            let early: Option<Entity> = index.create().ok();
            ending.join().expect("no panic");
            assert_eq!(room(&index) + usize::from(early.is_some()), 2);
        },
    );
}

#[test]
fn what_a_session_kept_is_claimed_while_it_is_dropped() {
    model(
        "what_a_session_kept_is_claimed_while_it_is_dropped",
        Costly(2),
        || {
            let (index, entities) = all_taken_but(&[]);
            let victims = [entities[2], entities[4]];
            let dropping = thread::spawn({
                let index = Arc::clone(&index);
                move || {
                    let mut session = index.session();
                    for victim in victims {
                        session.destroy(victim).expect("nobody else destroys it");
                    }
                }
            });
            let early: Option<Entity> = index.create().ok();
            dropping.join().expect("no panic");
            assert_eq!(room(&index) + usize::from(early.is_some()), 2);
        },
    );
}

#[test]
fn a_session_and_a_thread_share_no_slot_and_lose_none() {
    model(
        "a_session_and_a_thread_share_no_slot_and_lose_none",
        Preemptions(2),
        || {
            let index = empty();
            // A node that neither of the two had: what one of them kept in its own is not found there.
            let counting = index.thread_cache();
            let other = thread::spawn({
                let (index, cache) = (Arc::clone(&index), index.thread_cache());
                move || {
                    cache.adopt();
                    let kept = index.create().expect("not full");
                    drop(cache);
                    kept
                }
            });
            let mut session = index.session();
            let [kept, freed] = [(); 2].map(|()| session.create().expect("not full"));
            session.destroy(freed).expect("it lives");
            assert!(session.exists(kept) && !session.exists(freed));
            drop(session);
            let others = other.join().expect("no panic");
            assert_ne!(kept.index(), others.index());
            assert!(index.exists(kept) && index.exists(others) && !index.exists(freed));
            assert_eq!(index.count(), 2);
            counting.adopt();
            assert_eq!(room(&index), 6, "who ended took slots along");
        },
    );
}

#[test]
fn a_full_magazine_gives_back_what_does_not_fit() {
    model(
        "a_full_magazine_gives_back_what_does_not_fit",
        Preemptions(2),
        || {
            let (index, entities) = all_taken_but(&[]);
            let destroyer = thread::spawn({
                let (index, cache) = (Arc::clone(&index), index.thread_cache());
                move || {
                    cache.adopt();
                    for &entity in entities.iter().step_by(2) {
                        index.destroy(entity).expect("nobody else destroys it");
                    }
                    cache
                }
            });
            let claimed = index.create().is_ok();
            let cache = destroyer.join().expect("no panic");
            let room_while_kept = room(&index);
            assert!(usize::from(claimed) + room_while_kept <= 4);
            drop(cache);
            assert_eq!(usize::from(claimed) + room_while_kept + room(&index), 4);
        },
    );
}

#[test]
fn a_slot_given_back_beside_a_full_magazine_is_found() {
    model(
        "a_slot_given_back_beside_a_full_magazine_is_found",
        Preemptions(2),
        || {
            let (index, entities) = all_taken_but(&[]);
            // The first stays in hand, the last in the magazine. The second goes back, the only free slot of its word,
            // whose hint follows.
            let spilling = thread::spawn({
                let (index, cache) = (Arc::clone(&index), index.thread_cache());
                let victims = [entities[0], entities[2], entities[4]];
                move || {
                    cache.adopt();
                    for victim in victims {
                        index.destroy(victim).expect("nobody else destroys it");
                    }
                    cache
                }
            });
            // The other one, which perhaps finds the word open, and leaves the hint alone.
            index.destroy(entities[3]).expect("it lives");
            index.create().expect("a slot was given back before");
            drop(spilling.join().expect("no panic"));
            assert_eq!(room(&index), 3);
        },
    );
}

#[test]
fn a_node_has_one_owner_at_a_time() {
    model("a_node_has_one_owner_at_a_time", Exhaustive, || {
        let mut nodes = Arc::new(Nodes::default());
        let other = thread::spawn({
            let nodes = Arc::clone(&nodes);
            move || nodes.visit(1)
        });
        nodes.visit(2);
        nodes.visit(4);
        other.join().expect("no panic");
        let nodes = Arc::get_mut(&mut nodes).expect("the threads have ended");
        assert_eq!(
            nodes.numbers().iter().sum::<u64>(),
            7,
            "the use of a node was lost"
        );
    });
}

#[test]
fn nodes_of_three_threads_have_one_owner_at_a_time() {
    model(
        "nodes_of_three_threads_have_one_owner_at_a_time",
        Preemptions(2),
        || {
            let mut nodes = Arc::new(Nodes::default());
            let others = [1, 2].map(|amount| {
                let nodes = Arc::clone(&nodes);
                thread::spawn(move || nodes.visit(amount))
            });
            nodes.visit(4);
            for other in others {
                other.join().expect("no panic");
            }
            let nodes = Arc::get_mut(&mut nodes).expect("the threads have ended");
            let numbers = nodes.numbers();
            assert!(numbers.len() <= 3);
            assert_eq!(numbers.iter().sum::<u64>(), 7, "the use of a node was lost");
        },
    );
}
