//! The gate of helpers: its owner goes on when nobody is inside and nobody comes any more, and has seen all that was done.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use megachunk::sync::gate::Gate;
use megachunk::sync::queue::Queue;
use megachunk_loom_tests::Bound::{Exhaustive, Preemptions};
use megachunk_loom_tests::model;

/// A gate, and what is done inside: a cell each, so that one who is inside still when the owner goes on is found.
struct House {
    gate: Gate,
    done: Vec<UnsafeCell<u32>>,
}

impl House {
    fn new(helpers: usize) -> Self {
        Self {
            gate: Gate::new(),
            done: (0..helpers).map(|_| UnsafeCell::new(0)).collect(),
        }
    }

    /// Works inside, if that is open; whether it was.
    fn help(&self, own: usize) -> bool {
        let entered = self.gate.enter().is_some();
        if entered {
            // SAFETY: the owner comes when nobody is inside: that is what the model asks.
            self.done[own].with_mut(|done| unsafe { *done += 1 });
            self.gate.leave();
        }
        entered
    }

    /// The owner closes it, and finds what was done.
    fn close(&self) -> Vec<u32> {
        loop {
            let view = self.gate.look();
            if !view.is_empty() {
                thread::park();
            } else if self.gate.close(view) {
                break;
            }
        }
        // SAFETY: nobody is inside.
        let take =
            |done: &UnsafeCell<u32>| done.with_mut(|done| unsafe { core::mem::take(&mut *done) });
        self.done.iter().map(take).collect()
    }
}

fn helpers_of(house: &Arc<House>, count: usize) -> Vec<thread::JoinHandle<bool>> {
    let helpers = (0..count).map(|own| {
        let house = Arc::clone(house);
        thread::spawn(move || house.help(own))
    });
    helpers.collect()
}

#[test]
fn who_closes_a_gate_has_seen_all_that_was_done_inside() {
    model(
        "who_closes_a_gate_has_seen_all_that_was_done_inside",
        Exhaustive,
        || {
            let house = Arc::new(House::new(2));
            let helpers = helpers_of(&house, 2);
            let seen = house.close();
            for (helper, seen) in helpers.into_iter().zip(seen) {
                let entered = helper.join().expect("it does not panic");
                assert_eq!(u32::from(entered), seen, "who was inside is seen");
            }
        },
    );
}

#[test]
fn three_helpers_and_who_closes_behind_them() {
    model(
        "three_helpers_and_who_closes_behind_them",
        Preemptions(3),
        || {
            let house = Arc::new(House::new(3));
            let helpers = helpers_of(&house, 3);
            let seen = house.close();
            for (helper, seen) in helpers.into_iter().zip(seen) {
                let entered = helper.join().expect("it does not panic");
                assert_eq!(u32::from(entered), seen, "who was inside is seen");
            }
        },
    );
}

#[test]
fn a_gate_is_not_closed_on_what_was_found_before_somebody_came() {
    model(
        "a_gate_is_not_closed_on_what_was_found_before_somebody_came",
        Exhaustive,
        || {
            let gate = Arc::new(Gate::new());
            let queue = Arc::new(Queue::new(1));
            let helper = {
                let (gate, queue) = (Arc::clone(&gate), Arc::clone(&queue));
                thread::spawn(move || {
                    let entered = gate.enter().is_some();
                    if entered {
                        queue.put(7);
                        gate.leave();
                    }
                    entered
                })
            };
            let mut found = Vec::new();
            loop {
                let view = gate.look();
                let before = found.len();
                found.extend(core::iter::from_fn(|| queue.take()));
                if found.len() > before {
                    continue;
                }
                if !view.is_empty() {
                    thread::park();
                } else if gate.close(view) {
                    break;
                }
            }
            let entered = helper.join().expect("it does not panic");
            assert_eq!(entered, found == [7], "nobody has left anything behind");
        },
    );
}

#[test]
fn who_is_inside_asks_another_and_the_owner_helps_itself() {
    model(
        "who_is_inside_asks_another_and_the_owner_helps_itself",
        Exhaustive,
        || {
            let house = Arc::new(House::new(3));
            let helper = {
                let house = Arc::clone(&house);
                thread::spawn(move || {
                    if house.gate.enter().is_none() {
                        return [false; 2];
                    }
                    // (A loop in a processor that a helper runs: one that helps with both.)
                    let other = {
                        let house = Arc::clone(&house);
                        thread::spawn(move || house.help(1))
                    };
                    // SAFETY: the owner comes when nobody is inside: that is what the model asks.
                    house.done[0].with_mut(|done| unsafe { *done += 1 });
                    house.gate.leave();
                    [true, other.join().expect("it does not panic")]
                })
            };
            // As who waits and runs a job of the call that it waits in.
            let mut waited = false;
            let helped = loop {
                let view = house.gate.look();
                if !view.is_empty() && !core::mem::replace(&mut waited, true) {
                    assert!(house.help(2), "nobody else closes it");
                }
                if house.gate.close(view) {
                    break waited;
                }
                if !view.is_empty() {
                    thread::park();
                }
            };
            // SAFETY: nobody is inside.
            let take = |done: &UnsafeCell<u32>| done.with_mut(|done| unsafe { *done });
            let seen: Vec<u32> = house.done.iter().map(take).collect();
            let [one, other] = helper.join().expect("it does not panic");
            let expected = [one, other, helped].map(u32::from);
            assert_eq!(seen, expected, "who was inside is seen");
        },
    );
}
