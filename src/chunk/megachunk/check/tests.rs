//! Each thing that the check speaks of, broken by hand, is named by it; mended, it is found sound.

use std::sync::Barrier;
use std::thread;

use super::*;
use crate::chunk::{ChunkOptions, Chunks, MEGACHUNKS, RawChunks};
use crate::sync::geometry::ALL_CHUNKS;

/// The mega-chunk of single chunks.
const LOW: u32 = 0;
/// The mega-chunk of runs.
const HIGH: u32 = MEGACHUNKS as u32 - 1;
/// One that was never used, in the group of the single chunks.
const EMPTY: u32 = 5;

/// An allocator with runs at the top and single chunks at the bottom, for which there are tickets.
fn allocator() -> (MegachunkAllocator, Vec<RawChunks>) {
    let allocator = MegachunkAllocator::new();
    let runs = allocator.allocate_many(100).unwrap();
    let singles = (0..36).map(|_| allocator.allocate().unwrap());
    let all: Vec<Chunks<'_>> = runs.into_iter().chain(singles).collect();
    let held = all.into_iter().map(Chunks::into_raw).collect();
    allocator.check().unwrap();
    (allocator, held)
}

/// What the check says, which finds something.
fn said(allocator: &MegachunkAllocator) -> String {
    let error = allocator.check().unwrap_err();
    assert!(!error.flaws().is_empty());
    error.to_string()
}

#[test]
fn a_hint_that_hides_runs_is_named_at_every_level() {
    let (allocator, _held) = allocator();
    let hints = allocator.shared.core.hints();
    // As if each was full when somebody looked.
    hints.learn(EMPTY, 3, || ALL_CHUNKS);
    let below = said(&allocator);
    assert!(
        below.contains("hint 5 of level 0: it says that there is no run of 4, and there is one"),
        "{below}"
    );
    hints.clear(EMPTY, MEGACHUNK_CHUNKS);
    allocator.check().unwrap();
    let group = 0..64;
    for megachunk in group.clone() {
        hints.learn(megachunk, 3, || ALL_CHUNKS);
    }
    hints.learn_group(LOW);
    hints.forget(0, EMPTY);
    let above = said(&allocator);
    assert!(
        above.contains("hint 0 of level 1: it says that there is no run of 4 below"),
        "{above}"
    );
    hints.forget(1, 0);
    group.for_each(|megachunk| hints.forget(0, megachunk));
    allocator.check().unwrap();
}

#[test]
fn a_hint_that_lags_the_other_way_is_none() {
    let (allocator, _held) = allocator();
    let hints = allocator.shared.core.hints();
    // A search learns that no run of so many is there; then it is forgotten.
    let _run = allocator.allocate_run(50).unwrap();
    hints.forget(0, HIGH);
    hints.forget(1, HIGH / 64);
    allocator.check().unwrap();
}

#[test]
fn chunks_without_memory_and_memory_that_is_not_counted_are_named() {
    let (allocator, _held) = allocator();
    let core = &allocator.shared.core;
    core.say_committed(HIGH, false);
    let without = said(&allocator);
    assert!(
        without.contains(&format!("mega-chunk {HIGH}: 64 of its chunks are taken")),
        "{without}"
    );
    core.say_committed(HIGH, true);
    allocator.check().unwrap();
    core.say_committed(EMPTY, true);
    let surplus = said(&allocator);
    assert!(
        surplus.contains("1 mega-chunks have memory and are empty, and 0 are counted"),
        "{surplus}"
    );
}

#[test]
fn memory_beyond_the_budget_is_named() {
    let allocator = ChunkOptions::new().at_most(1).build().unwrap();
    let _chunk = allocator.allocate().unwrap();
    allocator.check().unwrap();
    allocator.shared.core.say_committed(EMPTY, true);
    let beyond = said(&allocator);
    assert!(
        beyond.contains("2 mega-chunks have memory, 1 are counted, and 1 may have some"),
        "{beyond}"
    );
}

#[test]
fn chunks_that_are_lost_or_in_two_hands_are_named() {
    let (allocator, mut held) = allocator();
    let mask = allocator.shared.core.mask(LOW);
    mask.fetch_or(1 << 60, Ordering::Relaxed);
    let lost = said(&allocator);
    assert!(
        lost.contains("141 chunks are taken, and 140 are counted"),
        "{lost}"
    );
    mask.fetch_and(!(1 << 60), Ordering::Relaxed);
    allocator.check().unwrap();
    mask.fetch_and(!(1 << 3), Ordering::Relaxed);
    let free = said(&allocator);
    assert!(
        free.contains("mega-chunk 0: a ticket is out for chunk 3, which is not in use"),
        "{free}"
    );
    mask.fetch_or(1 << 3, Ordering::Relaxed);
    // Given back by a way round its ticket.
    let last = held.pop().unwrap().run;
    // SAFETY: nobody uses its memory.
    unsafe { allocator.give_back(last) };
    let twice = said(&allocator);
    assert!(twice.contains("a ticket is out for chunk 35"), "{twice}");
}

#[test]
fn what_a_thread_keeps_is_accounted_for() {
    let (allocator, _held) = allocator();
    let mask = allocator.shared.core.mask(LOW);
    // 40 were taken by eights, of which the thread keeps four.
    let kept = allocator.with_cache(|_, cache, _| cache.chunks[0]);
    mask.fetch_and(!kept.mask(), Ordering::Relaxed);
    let free = said(&allocator);
    assert!(free.contains("is free, and a cache keeps it"), "{free}");
    mask.fetch_or(kept.mask(), Ordering::Relaxed);
    allocator.check().unwrap();
    allocator.with_cache(|_, cache, _| cache.chunks[1] = kept);
    let twice = said(&allocator);
    assert!(
        twice.contains(&format!("chunk {} is kept twice", kept.first())),
        "{twice}"
    );
}

#[test]
fn a_chunk_that_two_threads_keep_is_named() {
    let (allocator, _held) = allocator();
    let kept = allocator.with_cache(|_, cache, _| cache.chunks[0]);
    let (begun, looked) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            allocator.with_cache(|_, _, tally| tally.hand.store(kept.to_bits(), Ordering::Relaxed));
            begun.wait();
            looked.wait();
            allocator.with_cache(|_, _, tally| tally.hand.store(0, Ordering::Relaxed));
        });
        begun.wait();
        let twice = said(&allocator);
        looked.wait();
        assert!(
            twice.contains(&format!("chunk {} is kept twice", kept.first())),
            "{twice}"
        );
    });
}

#[test]
fn a_cache_that_keeps_more_than_it_can_and_more_than_was_taken_is_named() {
    let (allocator, held) = allocator();
    let before = allocator.with_cache(|_, _, tally| tally.kept.swap(17, Ordering::Relaxed));
    let over = said(&allocator);
    assert!(over.contains("a cache of 16 chunks has 17"), "{over}");
    allocator.with_cache(|_, _, tally| tally.kept.store(before, Ordering::Relaxed));
    allocator.check().unwrap();
    // Of none that is in use one thread keeps one more than it took.
    for raw in held {
        drop(allocator.reclaim(raw).unwrap());
    }
    allocator.flush();
    allocator.with_cache(|_, _, tally| tally.kept.store(1, Ordering::Relaxed));
    let more = said(&allocator);
    assert!(
        more.contains("-1 chunks are in use, and 1 are kept"),
        "{more}"
    );
}

#[test]
fn a_ticket_without_memory_and_a_hint_where_nothing_ever_was_are_named() {
    let (allocator, mut held) = allocator();
    let far = MEGACHUNKS as u32 / 2;
    allocator.shared.core.hints().learn(far, 0, || ALL_CHUNKS);
    let hidden = said(&allocator);
    assert!(
        hidden.contains(&format!(
            "hint {far} of level 0: it says that there is no run of 1"
        )),
        "{hidden}"
    );
    allocator.shared.core.hints().forget(0, far);
    allocator.check().unwrap();
    let last = held.pop().unwrap().run;
    // SAFETY: nobody uses its memory.
    unsafe { allocator.give_back(last) };
    for raw in held {
        drop(allocator.reclaim(raw).unwrap());
    }
    allocator.flush();
    allocator.trim();
    let out = said(&allocator);
    assert!(out.contains("a ticket is out for chunk 35"), "{out}");
}

#[test]
fn a_cache_in_the_middle_of_a_call_is_named() {
    let (allocator, _held) = allocator();
    for leaves in [false, true] {
        let (begun, looked) = (Barrier::new(2), Barrier::new(2));
        let said = thread::scope(|scope| {
            scope.spawn(|| {
                allocator.with_cache(|_, _, tally| {
                    let _lag = (!leaves).then(|| tally.lag.begin());
                    let _leaving = leaves.then(|| tally.leave());
                    begun.wait();
                    looked.wait();
                });
            });
            begun.wait();
            let said = said(&allocator);
            looked.wait();
            said
        });
        assert!(said.contains("a cache says that its hints lag"), "{said}");
    }
}

/// One that ends is not in a call, and gives back what it kept after those that wait for its closure have gone on.
#[test]
fn a_thread_that_ends_is_no_flaw() {
    let allocator = MegachunkAllocator::new();
    for round in 0..100 {
        thread::scope(|scope| {
            scope.spawn(|| {
                let runs = allocator.allocate_many(64 * 20 + round).unwrap();
                let one = allocator.allocate().unwrap();
                drop((runs, one));
            });
        });
        allocator.check().unwrap();
    }
}
