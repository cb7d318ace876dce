//! What an allocator shows of itself.

use megachunk::chunk::memory::{HeapMemory, MappedMemory};
use megachunk::chunk::{ChunkOptions, MegachunkAllocator};

#[test]
fn an_allocator_shows_its_counts_and_nothing_of_what_it_is_made_of() {
    let allocator = MegachunkAllocator::new();
    let runs = [64, 64, 3].map(|len| allocator.allocate_run(len).unwrap());
    assert_eq!(
        format!("{allocator:?}"),
        "MegachunkAllocator { in_use: 131, .. }"
    );
    drop(runs);
    let heap = ChunkOptions::new().build_with(HeapMemory::new()).unwrap();
    let _chunk = heap.allocate().unwrap();
    assert_eq!(format!("{heap:?}"), "MegachunkAllocator { in_use: 1, .. }");
    let options = ChunkOptions::new().huge_pages(false).populate(true);
    let memory = [
        format!("{:?}", HeapMemory::new()),
        format!("{:?}", MappedMemory::new(&options)),
    ];
    let expected = [
        "HeapMemory { megachunks: 0, .. }",
        "MappedMemory { megachunks: 0, huge_pages: false, populate: true, .. }",
    ];
    assert_eq!(memory, expected);
}

#[test]
fn statistics_are_shown_as_lines() {
    let allocator = MegachunkAllocator::new();
    let _whole = allocator.allocate_run(64).unwrap();
    let _part = allocator.allocate_run(48).unwrap();
    let mut stats = allocator.stats();
    // What the system is asked for is for the allocator to choose.
    (stats.commits, stats.decommits) = (3, 2);
    assert_eq!(
        stats.to_string(),
        "112 chunks in use, 1792 KiB; 0 kept by threads\n\
         2 mega-chunks (0 empty), 2048 KiB; 16 chunks free in the others, 0 % fragmented\n\
         3 calls for memory, 2 to give it back"
    );
}
