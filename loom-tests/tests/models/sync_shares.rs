//! Shares of a parallel loop: every number is taken once, whoever helps whom, and nobody else touches its slot.

use loom::sync::Arc;
use loom::thread;
use megachunk::sync::shares::{Piece, Shares};
use megachunk::sync::slots::Slots;
use megachunk_loom_tests::Bound::{self, Costly, Exhaustive};
use megachunk_loom_tests::model;

/// What a worker takes.
fn work(shares: &Shares, worker: usize) -> Vec<u32> {
    let mut worker = shares.worker(worker);
    core::iter::from_fn(|| worker.take()).flatten().collect()
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

// (With the count of open shares beside, all interleavings of these are too many.)
#[test]
fn every_number_is_taken_once() {
    all_are_taken_once("every_number_is_taken_once", Costly(4), 2, 3, Piece::of(1));
}

#[test]
fn three_workers_take_every_number_once() {
    all_are_taken_once(
        "three_workers_take_every_number_once",
        Costly(2),
        3,
        6,
        Piece::of(2),
    );
}

/// Who finds nothing left may go home: what is left then was taken by somebody.
#[test]
fn a_share_whose_worker_never_comes_is_taken_by_the_others() {
    let name = "a_share_whose_worker_never_comes_is_taken_by_the_others";
    model(name, Costly(3), || {
        let shares = Arc::new(Shares::new(4, 3, Piece::of(1)));
        let other = {
            let shares = Arc::clone(&shares);
            thread::spawn(move || work(&shares, 1))
        };
        let mut all = work(&shares, 0);
        all.extend(other.join().expect("it does not panic"));
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3]);
    });
}

/// Threads of a pool that is larger than there are workers.
#[test]
fn two_who_begin_with_one_share_take_every_number_once() {
    let name = "two_who_begin_with_one_share_take_every_number_once";
    model(name, Costly(3), || {
        let shares = Arc::new(Shares::new(3, 2, Piece::of(1)));
        let other = {
            let shares = Arc::clone(&shares);
            thread::spawn(move || work(&shares, 1))
        };
        let mut all = work(&shares, 1);
        all.extend(other.join().expect("it does not panic"));
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
    });
}

/// The model checker sees each access to a slot.
#[test]
fn tasks_are_done_by_one_and_results_are_in_their_order() {
    let name = "tasks_are_done_by_one_and_results_are_in_their_order";
    model(name, Exhaustive, || {
        let shared = Arc::new((Shares::new(2, 2, Piece::of(1)), Slots::new(vec![1, 2])));
        let done = |shared: &(Shares, Slots<u32, u32>), worker| {
            for number in work(&shared.0, worker) {
                // SAFETY: the shares have given it to this worker alone.
                unsafe { shared.1.run(number as usize, |task| task * 10) };
            }
        };
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || done(&shared, 1))
        };
        done(&shared, 0);
        other.join().expect("it does not panic");
        let Ok((_, slots)) = Arc::try_unwrap(shared) else {
            unreachable!("the other has ended");
        };
        assert_eq!(slots.into_results(), [10, 20]);
    });
}
