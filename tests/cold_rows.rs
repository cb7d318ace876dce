//! Nothing of a row's forerunner is left when a cold row begins: neither in the heap of the thread that the world will be
//! on, nor where universes leave memory for later ones. A process of its own, because all of it is looked at.
#![cfg(all(feature = "cli", target_os = "linux", target_env = "gnu"))]

use std::hint::black_box;
use std::sync::Arc;

use megachunk::cli::measure::{Pool, give_memory_back, resident_memory};
use megachunk::cli::workload::ecs::{settle, settle_on};
use megachunk::world::{Universe, World};
use rayon::ThreadPoolBuilder;

const MEBIBYTE: u64 = 1 << 20;

/// Takes 32 MiB of this thread's heap, and lets them go.
fn live_and_die() {
    // Once a piece as large as this has come and gone, as those of a table that grows do, glibc keeps up to twice as
    // much at the end of a heap, and maps none singly that are smaller.
    drop(black_box(vec![1_u8; 30 << 20]));
    let pieces: Vec<Vec<u8>> = (0..32).map(|_| vec![1; 1 << 20]).collect();
    black_box(&pieces);
}

/// What is resident now, and was not then.
fn more_than(before: u64) -> u64 {
    resident_memory().unwrap().saturating_sub(before)
}

#[test]
fn who_settles_finds_nothing_of_a_forerunner() {
    let workers = Pool::start(1).unwrap();
    let done = workers.run(
        1,
        Arc::new(|_| {
            let before = resident_memory().unwrap();
            live_and_die();
            drop(World::new());
            let kept = more_than(before);
            // From another thread the end of this one's heap does not go back.
            std::thread::spawn(give_memory_back).join().unwrap();
            let kept_by_others = more_than(before);
            settle(0);
            let left = more_than(before);
            (kept, kept_by_others, left, Universe::forget_spare())
        }),
    );
    let (kept, kept_by_others, left, had_spare) = done.unwrap()[0];
    assert!(
        kept > 24 * MEBIBYTE,
        "{kept}: the heap keeps what was freed"
    );
    assert!(kept_by_others > 24 * MEBIBYTE, "{kept_by_others}");
    assert!(left < 8 * MEBIBYTE, "{left}");
    assert!(!had_spare, "no universe's memory waits for the next");

    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let before = resident_memory().unwrap();
    pool.broadcast(|_| live_and_die());
    let kept = more_than(before);
    assert!(kept > 48 * MEBIBYTE, "{kept}: of both threads");
    settle_on(&pool, 0);
    let left = more_than(before);
    assert!(left < 8 * MEBIBYTE, "{left}");
}
