//! An allocator, or a universe, that may have so much memory and no more.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use megachunk::chunk::memory::{HeapMemory, MappedMemory, Memory};
use megachunk::chunk::{ChunkError, ChunkOptions, MEGACHUNKS, MegachunkAllocator};

/// Chunks of a mega-chunk.
const ALL: usize = 64;

fn sound<M: Memory>(allocator: &MegachunkAllocator<M>, most: u64) {
    allocator.check().unwrap();
    let committed = allocator.stats().committed_megachunks as u64;
    assert!(committed <= most, "{committed} of {most}");
}

fn fill_and_empty<M: Memory>(allocator: &MegachunkAllocator<M>) {
    for _ in 0..3 {
        let mut all: Vec<_> = (0..3 * ALL)
            .map(|_| allocator.allocate().unwrap())
            .collect();
        sound(allocator, 3);
        for _ in 0..2 {
            let refused = allocator.allocate().unwrap_err();
            assert!(matches!(refused, ChunkError::Refused { .. }), "{refused}");
            assert!(refused.is_over_budget() && refused.to_string().contains("at_most"));
            assert!(allocator.allocate_run(2).unwrap_err().is_over_budget());
            assert!(allocator.allocate_many(1_000).is_err());
            sound(allocator, 3);
        }
        // What is there is given out to the last, wherever it is.
        drop(all.split_off(3 * ALL - 2));
        let two = [(); 2].map(|()| allocator.allocate().unwrap());
        assert!(allocator.allocate().unwrap_err().is_over_budget());
        drop((two, all));
        let runs = [(); 3].map(|()| allocator.allocate_run(ALL).unwrap());
        assert!(allocator.allocate_run(1).unwrap_err().is_over_budget());
        drop(runs);
        assert_eq!(allocator.in_use(), 0);
        allocator.trim();
        assert_eq!(allocator.stats().committed_megachunks, 0);
        sound(allocator, 3);
    }
}

#[test]
fn requests_beyond_the_budget_are_refused_and_change_nothing() {
    let options = ChunkOptions::new().at_most(3);
    fill_and_empty(&options.build().unwrap());
    fill_and_empty(&options.build_with(HeapMemory::new()).unwrap());
    fill_and_empty(
        &options
            .build_with(MappedMemory::new(&ChunkOptions::new().huge_pages(false)))
            .unwrap(),
    );
    // Who keeps more than there may be.
    fill_and_empty(&options.retain(100).build().unwrap());
}

#[test]
fn a_budget_of_nothing_and_one_of_all() {
    let none = ChunkOptions::new().at_most(0).build().unwrap();
    assert!(none.allocate().unwrap_err().is_over_budget());
    sound(&none, 0);
    for all in [MEGACHUNKS, usize::MAX] {
        let allocator = ChunkOptions::new().at_most(all).build().unwrap();
        assert!(allocator.allocate_run(ALL).is_ok());
    }
}

#[test]
fn threads_together_stay_within_the_budget() {
    const THREADS: usize = 4;
    let allocator = ChunkOptions::new().at_most(2).retain(1).build().unwrap();
    let (refused, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // (What the allocator says is an estimate meanwhile.)
    let in_hands = AtomicUsize::new(0);
    let begin = Barrier::new(THREADS);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (allocator, begin, refused, taken) = (&allocator, &begin, &refused, &taken);
            let in_hands = &in_hands;
            scope.spawn(move || {
                begin.wait();
                for round in 0..200 {
                    let len = 1 + (thread + round) % ALL;
                    let mut held = Vec::new();
                    for _ in 0..3 {
                        match allocator.allocate_run(len) {
                            Ok(run) => {
                                let before = in_hands.fetch_add(len, Ordering::Relaxed);
                                assert!(before + len <= 2 * ALL);
                                held.push(run);
                            }
                            Err(error) => {
                                let is_meant = error.is_over_budget()
                                    || error == (ChunkError::Exhausted { len });
                                assert!(is_meant, "{error}");
                                refused.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                    taken.fetch_add(held.len(), Ordering::Relaxed);
                    in_hands.fetch_sub(held.len() * len, Ordering::Relaxed);
                }
                allocator.flush();
            });
        }
    });
    assert!(
        refused.into_inner() > 0 && taken.into_inner() > 0,
        "or this shows nothing"
    );
    sound(&allocator, 2);
    let all = [(); 2].map(|()| allocator.allocate_run(ALL).unwrap());
    drop(all);
}

/// Of which every second call is refused by the system.
#[derive(Debug)]
struct Stingy(HeapMemory, AtomicUsize);

// SAFETY: what is given is the other's.
unsafe impl Memory for Stingy {
    unsafe fn commit(&self, megachunk: u32) -> std::io::Result<()> {
        if self.1.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            return Err(std::io::ErrorKind::OutOfMemory.into());
        }
        // SAFETY: the caller's.
        unsafe { self.0.commit(megachunk) }
    }

    unsafe fn decommit(&self, megachunks: core::ops::Range<u32>) -> std::io::Result<()> {
        if self.1.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            return Err(std::io::ErrorKind::Other.into());
        }
        // SAFETY: the caller's.
        unsafe { self.0.decommit(megachunks) }
    }

    fn base(&self, chunk: u32) -> core::ptr::NonNull<u8> {
        self.0.base(chunk)
    }
}

#[test]
fn memory_that_the_system_refuses_does_not_count() {
    let memory = Stingy(HeapMemory::new(), AtomicUsize::new(0));
    let allocator = ChunkOptions::new().at_most(2).build_with(memory).unwrap();
    let (mut held, mut of_system, mut of_budget) = (Vec::new(), 0, 0);
    for _ in 0..20 {
        match allocator.allocate_run(ALL) {
            Ok(run) => held.push(run),
            Err(error) if error.is_over_budget() => of_budget += 1,
            Err(_) => of_system += 1,
        }
        sound(&allocator, 2);
    }
    assert_eq!((held.len(), of_system, of_budget), (2, 2, 16));
    drop(held);
    for _ in 0..4 {
        allocator.trim();
        sound(&allocator, 2);
    }
    assert_eq!(allocator.stats().committed_megachunks, 0);
}

#[cfg(feature = "world")]
#[test]
fn a_universe_with_a_budget_refuses_entities_and_goes_on() {
    use megachunk::entity::IndexOptions;
    use megachunk::prelude::*;

    let options = ChunkOptions::new().at_most(2);
    let universe = Universe::with(&IndexOptions::new(), &options).unwrap();
    let universe = std::sync::Arc::new(universe);
    let (mut world, mut other) = (World::of(&universe).unwrap(), World::of(&universe).unwrap());
    for round in 0..3 {
        let mut made = Vec::new();
        let refused = loop {
            match world.create(([made.len() as u64; 32],)) {
                Ok(entity) => made.push(entity),
                Err(error) => break error,
            }
        };
        assert!(
            matches!(&refused, WorldError::Chunk(error) if error.is_over_budget()),
            "{refused}"
        );
        assert!(
            (6_000..=8_192).contains(&made.len()),
            "{} in round {round}",
            made.len()
        );
        world.check().unwrap();
        assert!(universe.chunk_stats().committed_megachunks <= 2);
        // Both worlds have one budget.
        assert!(other.create_batch((0..8_000).map(|n| ([n; 33],))).is_err());
        // Also recorded ones.
        let recorded = world.commands().create(([0_u64; 64],));
        let report = world.flush();
        match recorded {
            Ok(entity) => {
                let is_refused = report
                    .refused
                    .iter()
                    .any(|refused| refused.entity == entity);
                assert_ne!(world.exists(entity), is_refused);
            }
            Err(error) => assert!(
                matches!(&error, WorldError::Chunk(error) if error.is_over_budget()),
                "{error}"
            ),
        }
        world.check().unwrap();
        assert_eq!(world.get::<[u64; 32]>(made[77]).unwrap()[31], 77);
        assert!(world.clear() >= made.len());
        world.trim();
        assert!(other.create_batch((0..100).map(|n| ([n; 33],))).is_ok());
        other.clear();
    }
    drop((world, other));
    assert_eq!(universe.chunk_stats().in_use, 0);
    universe.trim();
}
