//! The graph of a schedule's processors: each vertex is run once a round, after those before it, and sees what
//! they did.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use megachunk::sync::graph::{Bag, Doorbell, Graph};
use megachunk::sync::queue::Queue;
use megachunk_loom_tests::Bound::{Exhaustive, ExhaustiveUnlessQuick, Preemptions};
use megachunk_loom_tests::model;

/// What the vertices of a round have done: a cell each, so that one who does not see another's is found.
struct Round {
    graph: Graph,
    done: Vec<UnsafeCell<u32>>,
}

impl Round {
    fn new(vertices: usize, edges: &[(u32, u32)]) -> Self {
        Self {
            graph: Graph::new(vertices, edges),
            done: (0..vertices).map(|_| UnsafeCell::new(0)).collect(),
        }
    }

    /// Runs a vertex and all that becomes free by it.
    fn run(&self, vertex: u32, before: &[(u32, u32)], round: u32) {
        let mut left = vec![vertex];
        while let Some(vertex) = left.pop() {
            for &(from, _) in before.iter().filter(|(_, to)| *to == vertex) {
                // SAFETY: who is before has ended: that is what the model asks.
                let seen = self.done[from as usize].with(|done| unsafe { *done });
                assert_eq!(seen, round, "who is before has run in this round");
            }
            self.done[vertex as usize].with_mut(|done| {
                // SAFETY: the vertex is this thread's alone: that is what the model asks.
                unsafe {
                    assert_eq!(*done, round - 1, "it runs once a round");
                    *done = round;
                }
            });
            self.graph.finish(vertex, |ready| left.push(ready));
        }
    }
}

#[test]
fn a_vertex_that_waits_for_two_threads_runs_once_and_sees_both() {
    model(
        "a_vertex_that_waits_for_two_threads_runs_once_and_sees_both",
        Exhaustive,
        || {
            const EDGES: &[(u32, u32)] = &[(0, 2), (1, 2), (2, 3)];
            let round = Arc::new(Round::new(4, EDGES));
            for number in 1..=2 {
                let other = {
                    let round = Arc::clone(&round);
                    thread::spawn(move || round.run(1, EDGES, number))
                };
                round.run(0, EDGES, number);
                other.join().expect("it does not panic");
                // SAFETY: all threads are done.
                let last = round.done[3].with(|done| unsafe { *done });
                assert_eq!(last, number, "all has run");
            }
        },
    );
}

#[test]
fn a_vertex_that_waits_for_three_threads_sees_them_all() {
    model(
        "a_vertex_that_waits_for_three_threads_sees_them_all",
        Preemptions(3),
        || {
            const EDGES: &[(u32, u32)] = &[(0, 3), (1, 3), (2, 3)];
            let round = Arc::new(Round::new(4, EDGES));
            let others: Vec<_> = [1, 2]
                .map(|vertex| {
                    let round = Arc::clone(&round);
                    thread::spawn(move || round.run(vertex, EDGES, 1))
                })
                .into();
            round.run(0, EDGES, 1);
            for other in others {
                other.join().expect("it does not panic");
            }
            // SAFETY: all threads are done.
            assert_eq!(round.done[3].with(|done| unsafe { *done }), 1);
        },
    );
}

#[test]
fn what_is_in_a_bag_is_given_out_once() {
    model("what_is_in_a_bag_is_given_out_once", Exhaustive, || {
        let bag = Arc::new(Bag::new([4, 5]));
        let empty = |bag: &Bag| core::iter::from_fn(|| bag.take()).collect::<Vec<_>>();
        let other = {
            let bag = Arc::clone(&bag);
            thread::spawn(move || empty(&bag))
        };
        let mut all = empty(&bag);
        all.extend(other.join().expect("it does not panic"));
        all.sort_unstable();
        assert_eq!(all, [4, 5]);
    });
}

#[test]
fn what_is_put_into_a_queue_is_taken_once_with_what_was_done_before() {
    model(
        "what_is_put_into_a_queue_is_taken_once_with_what_was_done_before",
        ExhaustiveUnlessQuick(3),
        || {
            let queue = Arc::new(Queue::new(2));
            let done: Arc<[_; 2]> = Arc::new([UnsafeCell::new(0), UnsafeCell::new(0)]);
            let take = |queue: &Queue, done: &[UnsafeCell<u32>; 2]| {
                let taken: Vec<u32> = core::iter::from_fn(|| queue.take()).collect();
                for &vertex in &taken {
                    // SAFETY: who takes it has it alone: that is what the model asks.
                    let seen = done[vertex as usize].with_mut(|done| unsafe {
                        *done += 10;
                        *done
                    });
                    assert_eq!(seen, vertex + 11, "it is taken once, with what was done");
                }
                taken
            };
            // Each puts one, and takes what it finds.
            let work = move |own: u32, queue: &Queue, done: &[UnsafeCell<u32>; 2]| {
                // SAFETY: its own until it is put.
                done[own as usize].with_mut(|done| unsafe { *done = own + 1 });
                queue.put(own);
                take(queue, done)
            };
            let other = {
                let (queue, done) = (Arc::clone(&queue), Arc::clone(&done));
                thread::spawn(move || work(1, &queue, &done))
            };
            let mut all = work(0, &queue, &done);
            all.extend(other.join().expect("it does not panic"));
            // What each has missed is found by who comes after both.
            all.extend(take(&queue, &done));
            all.sort_unstable();
            assert_eq!(all, [0, 1]);
        },
    );
}

#[test]
fn who_is_rung_for_wakes_and_sees_what_was_done() {
    model(
        "who_is_rung_for_wakes_and_sees_what_was_done",
        Exhaustive,
        || {
            let doorbell = Arc::new(Doorbell::new());
            let done = Arc::new(UnsafeCell::new(0));
            let other = {
                let (doorbell, done) = (Arc::clone(&doorbell), Arc::clone(&done));
                thread::spawn(move || {
                    // SAFETY: the owner looks when it was rung: that is what the model asks.
                    done.with_mut(|done| unsafe { *done = 7 });
                    doorbell.ring(3);
                })
            };
            let answer = || loop {
                match doorbell.answer() {
                    Some(vertex) => break vertex,
                    None => thread::park(),
                }
            };
            assert_eq!(answer(), 3);
            // SAFETY: as above.
            assert_eq!(done.with(|done| unsafe { *done }), 7);
            other.join().expect("it does not panic");
            assert_eq!(doorbell.answer(), None, "it is answered once");
        },
    );
}
