//! Shares of a parallel loop: every number is taken once, whoever helps whom.

use loom::sync::Arc;
use loom::thread;
use megachunk::sync::shares::{Piece, Shares};
use megachunk_loom_tests::Bound::{self, Exhaustive, Preemptions};
use megachunk_loom_tests::model;

/// What a worker takes.
fn work(shares: &Shares, worker: usize) -> Vec<u32> {
    let taken = core::iter::from_fn(|| shares.take(worker));
    taken.flatten().collect()
}

fn all_are_taken_once(name: &str, bound: Bound, workers: usize, count: u32, piece: Piece) {
    model(name, bound, move || {
        let shares = Arc::new(Shares::new(count, workers, piece));
        let others: Vec<_> = (1..workers)
            .map(|worker| {
                let shares = Arc::clone(&shares);
                thread::spawn(move || work(&shares, worker))
            })
            .collect();
        let mut all = work(&shares, 0);
        for other in others {
            all.extend(other.join().expect("it does not panic"));
        }
        all.sort_unstable();
        assert_eq!(all, (0..count).collect::<Vec<_>>());
    });
}

#[test]
fn every_number_is_taken_once() {
    all_are_taken_once("every_number_is_taken_once", Exhaustive, 2, 3, Piece::of(1));
}

#[test]
fn three_workers_take_every_number_once() {
    all_are_taken_once(
        "three_workers_take_every_number_once",
        Preemptions(2),
        3,
        6,
        Piece::of(2),
    );
}
