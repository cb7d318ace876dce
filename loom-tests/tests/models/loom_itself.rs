//! What the model checker itself explores: models that pass because nothing was tried prove nothing.

use std::collections::BTreeSet;
use std::sync::{Arc as PlainArc, Mutex};

use loom::sync::Arc;
use loom::thread;
use megachunk::sync::atomic::{AtomicU64, Ordering, fence};
use megachunk_loom_tests::Bound::Exhaustive;
use megachunk_loom_tests::model;

/// All results that `body` has in any execution.
fn results(name: &str, body: impl Fn() -> Vec<u64> + Send + Sync + 'static) -> BTreeSet<Vec<u64>> {
    let seen = PlainArc::new(Mutex::new(BTreeSet::new()));
    let collected = PlainArc::clone(&seen);
    model(name, Exhaustive, move || {
        let result = body();
        collected
            .lock()
            .expect("no panic under this lock")
            .insert(result);
    });
    let seen = seen.lock().expect("no panic under this lock");
    seen.clone()
}

#[test]
fn a_look_that_comes_after_look_and_swap_is_tried() {
    let seen = results("a_look_that_comes_after_look_and_swap_is_tried", || {
        let word = Arc::new(AtomicU64::new(0));
        let other = thread::spawn({
            let word = Arc::clone(&word);
            move || {
                let old = word.load(Ordering::Acquire);
                word.compare_exchange(old, 1, Ordering::AcqRel, Ordering::Acquire)
                    .expect("nobody else changes it");
            }
        });
        let looked = word.load(Ordering::Acquire);
        other.join().expect("no panic");
        vec![looked]
    });
    assert_eq!(seen, BTreeSet::from([vec![0], vec![1]]));
}

#[test]
fn every_mixture_of_two_lookers_and_a_changer_is_tried() {
    let seen = results(
        "every_mixture_of_two_lookers_and_a_changer_is_tried",
        || {
            let word = Arc::new(AtomicU64::new(0));
            let changer = thread::spawn({
                let word = Arc::clone(&word);
                move || {
                    for value in 1..=2 {
                        word.load(Ordering::Relaxed);
                        word.store(value, Ordering::Release);
                    }
                }
            });
            let looker = thread::spawn({
                let word = Arc::clone(&word);
                move || word.load(Ordering::Acquire)
            });
            let mine = word.load(Ordering::Acquire);
            changer.join().expect("no panic");
            vec![mine, looker.join().expect("no panic")]
        },
    );
    let all = (0..3)
        .flat_map(|mine| (0..3).map(move |theirs| vec![mine, theirs]))
        .collect();
    assert_eq!(seen, all);
}

#[test]
fn two_that_look_and_swap_can_each_win() {
    let seen = results("two_that_look_and_swap_can_each_win", || {
        let word = Arc::new(AtomicU64::new(0));
        let swap = |word: &AtomicU64, value| {
            let old = word.load(Ordering::Acquire);
            let swapped = word
                .compare_exchange(old, value, Ordering::AcqRel, Ordering::Acquire)
                .is_ok();
            u64::from(swapped)
        };
        let other = thread::spawn({
            let word = Arc::clone(&word);
            move || swap(&word, 1)
        });
        let mine = swap(&word, 2);
        let theirs = other.join().expect("no panic");
        vec![mine, theirs, word.load(Ordering::Acquire)]
    });
    let all = [[1, 0, 2], [0, 1, 1], [1, 1, 1], [1, 1, 2]].map(Vec::from);
    assert_eq!(seen, BTreeSet::from(all));
}

#[test]
fn an_old_value_can_be_loaded_and_never_an_older_one_after_it() {
    let seen = results(
        "an_old_value_can_be_loaded_and_never_an_older_one_after_it",
        || {
            let word = Arc::new(AtomicU64::new(0));
            let other = thread::spawn({
                let word = Arc::clone(&word);
                move || {
                    word.load(Ordering::Relaxed);
                    word.fetch_add(1, Ordering::Release);
                    word.load(Ordering::Relaxed);
                    word.fetch_add(1, Ordering::Release);
                }
            });
            let looks = vec![word.load(Ordering::Relaxed), word.load(Ordering::Relaxed)];
            other.join().expect("no panic");
            looks
        },
    );
    let all = [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]].map(Vec::from);
    assert_eq!(seen, BTreeSet::from(all));
}

/// What a thread may see of `first`, which another one set before `second`, which a third one saw and told it of
/// without passing on more.
fn seen_of_the_first(name: &str, order: Ordering, fenced: bool) -> BTreeSet<Vec<u64>> {
    results(name, move || {
        let words = Arc::new([(); 3].map(|()| AtomicU64::new(0)));
        let spawn = |work: fn(&[AtomicU64; 3])| {
            let words = Arc::clone(&words);
            thread::spawn(move || work(&words))
        };
        let first = spawn(|[_, second, first]| {
            first.store(1, Ordering::Relaxed);
            second.store(1, Ordering::Release);
        });
        let teller = spawn(|[told, second, _]| {
            let seen = second.load(Ordering::Relaxed);
            told.store(seen, Ordering::Release);
        });
        let told = words[0].load(order);
        if fenced {
            fence(Ordering::Acquire);
        }
        let seen = words[2].load(Ordering::Relaxed);
        first.join().expect("no panic");
        teller.join().expect("no panic");
        vec![told, seen]
    })
}

#[test]
fn a_load_acquires_no_more_than_it_has_to() {
    let seen = seen_of_the_first(
        "a_load_acquires_no_more_than_it_has_to",
        Ordering::Acquire,
        false,
    );
    let all = [[0, 0], [0, 1], [1, 0], [1, 1]].map(Vec::from);
    assert_eq!(seen, BTreeSet::from(all));
}

#[test]
fn a_fence_acquires_also_what_others_saw_without_acquiring_it() {
    // Which the memory model does not promise: see `mutant::looks_acquire`.
    let seen = seen_of_the_first(
        "a_fence_acquires_also_what_others_saw_without_acquiring_it",
        Ordering::Relaxed,
        true,
    );
    let all = [[0, 0], [0, 1], [1, 1]].map(Vec::from);
    assert_eq!(seen, BTreeSet::from(all));
}
