//! What a thread keeps of each allocator, when it uses more of them than it finds at once.

use megachunk::chunk::{CACHED_CHUNKS, Chunks, MegachunkAllocator};

/// More than a thread remembers where it has their caches.
const ALLOCATORS: usize = 20;

fn names(chunks: &[Chunks<'_>]) -> Vec<u32> {
    chunks.iter().map(|chunk| chunk.run().first()).collect()
}

#[test]
fn chunks_kept_of_one_allocator_come_back_after_many_others_were_used() {
    let allocators: Vec<_> = (0..ALLOCATORS).map(|_| MegachunkAllocator::new()).collect();
    let kept: Vec<Vec<u32>> = (allocators.iter())
        .map(|allocator| {
            let chunks: Vec<_> = (0..10).map(|_| allocator.allocate().unwrap()).collect();
            names(&chunks)
        })
        .collect();
    // Each call comes to a cache that was not used last: the newest kept chunk is the first to come.
    let mut held: Vec<Vec<Chunks<'_>>> = allocators.iter().map(|_| Vec::new()).collect();
    for _ in 0..5 {
        for (allocator, held) in allocators.iter().zip(&mut held) {
            let before = allocator.stats().cached;
            held.push(allocator.allocate().unwrap());
            assert_eq!(allocator.stats().cached, before - 1);
        }
    }
    for (held, kept) in held.iter().zip(&kept) {
        let newest: Vec<u32> = kept.iter().rev().copied().take(5).collect();
        assert_eq!(names(held), newest);
    }
    // They go back to where they came from, and from there when there is no more room.
    for round in 0..5 {
        for (allocator, held) in allocators.iter().zip(&mut held) {
            let before = allocator.stats().cached;
            assert!(before < CACHED_CHUNKS, "there is room");
            drop(held.pop());
            assert_eq!(allocator.stats().cached, before + 1, "round {round}");
        }
    }
    for allocator in &allocators {
        allocator.flush();
        let stats = allocator.stats();
        assert_eq!((stats.in_use, stats.cached), (0, 0));
        assert_eq!(allocator.in_use_mask(0), 0);
    }
}

#[test]
fn a_cache_that_is_full_takes_one_more_after_many_others_were_used() {
    let allocators: Vec<_> = (0..ALLOCATORS).map(|_| MegachunkAllocator::new()).collect();
    let mut held: Vec<Vec<Chunks<'_>>> = allocators
        .iter()
        .map(|allocator| {
            (0..CACHED_CHUNKS + 6)
                .map(|_| allocator.allocate().unwrap())
                .collect()
        })
        .collect();
    while !held[0].is_empty() {
        for (allocator, held) in allocators.iter().zip(&mut held) {
            drop(held.pop());
            assert_eq!(allocator.in_use(), held.len());
            assert!(allocator.stats().cached <= CACHED_CHUNKS);
        }
    }
    for allocator in &allocators {
        allocator.flush();
        assert_eq!((allocator.in_use(), allocator.in_use_mask(0)), (0, 0));
    }
}
