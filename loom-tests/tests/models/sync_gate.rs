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
