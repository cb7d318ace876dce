//! What is lent to many, brought up to date by the first who comes after a change of affairs: who is lent it sees all
//! of what that one did, nobody sees it half done, and it is done once.

use std::sync::atomic::{AtomicU32, Ordering};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use megachunk::sync::refreshed::Refreshed;
use megachunk_loom_tests::Bound::{Exhaustive, Preemptions};
use megachunk_loom_tests::model;

/// What is known of some affairs.
struct Known(UnsafeCell<u64>);

// SAFETY: it is lent to be read, and changed by one who has it alone: that is what the models ask.
unsafe impl Sync for Known {}

/// A thing that many ask for, and how often it was brought up to date. (The count is no part of the model.)
struct Thing {
    known: Refreshed<Known>,
    refreshed: AtomicU32,
}

impl Thing {
    fn new() -> Self {
        Self {
            known: Refreshed::new(Known(UnsafeCell::new(0))),
            refreshed: AtomicU32::new(0),
        }
    }

    /// Asks for it as affairs are now; whether it was lent.
    fn ask(&self, now: u64) -> bool {
        // SAFETY: in each model threads that ask for other affairs come after each other.
        let lent = unsafe {
            self.known.get(now, |known| {
                self.refreshed.fetch_add(1, Ordering::Relaxed);
                // SAFETY: nobody else has it: that is what the models ask.
                known.0.with_mut(|known| *known = now);
            })
        };
        let known = lent.map(|known| {
            // SAFETY: nobody changes what is lent: that is what the models ask.
            known.0.with(|known| unsafe { *known })
        });
        assert!(known.is_none_or(|known| known == now), "it is up to date");
        known.is_some()
    }
}

/// So many ask at once, this thread among them; how many were lent it.
fn all_ask(thing: &Arc<Thing>, count: usize, now: u64) -> usize {
    let others = (1..count).map(|_| {
        let thing = Arc::clone(thing);
        thread::spawn(move || thing.ask(now))
    });
    let others: Vec<_> = others.collect();
    let mine = thing.ask(now);
    let lent = others.into_iter().map(|other| other.join());
    let lent = lent.map(|lent| usize::from(lent.expect("it does not panic")));
    lent.sum::<usize>() + usize::from(mine)
}

#[test]
fn of_two_who_ask_one_brings_it_up_to_date() {
    model(
        "of_two_who_ask_one_brings_it_up_to_date",
        Exhaustive,
        || {
            let thing = Arc::new(Thing::new());
            assert!(all_ask(&thing, 2, 1) >= 1, "who refreshes it is lent it");
            assert_eq!(thing.refreshed.load(Ordering::Relaxed), 1);
            assert!(thing.ask(1), "it is fresh");
        },
    );
}

#[test]
fn what_was_fresh_before_affairs_changed_is_not_lent_any_more() {
    model(
        "what_was_fresh_before_affairs_changed_is_not_lent_any_more",
        Exhaustive,
        || {
            let thing = Arc::new(Thing::new());
            assert!(thing.ask(1));
            assert!(all_ask(&thing, 2, 2) >= 1, "who refreshes it is lent it");
            assert_eq!(thing.refreshed.load(Ordering::Relaxed), 2);
        },
    );
}

#[test]
fn of_three_who_ask_one_brings_it_up_to_date() {
    model(
        "of_three_who_ask_one_brings_it_up_to_date",
        Preemptions(3),
        || {
            let thing = Arc::new(Thing::new());
            assert!(all_ask(&thing, 3, 1) >= 1, "who refreshes it is lent it");
            assert_eq!(thing.refreshed.load(Ordering::Relaxed), 1);
        },
    );
}
