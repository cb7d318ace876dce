//! Numbers of chunks and mega-chunks that there are none of.

use std::panic::catch_unwind;

use megachunk::chunk::memory::SystemMemory;
use megachunk::chunk::{CHUNK_BYTES, CHUNKS, MEGACHUNKS, MegachunkAllocator};

/// What a call with such a number says, which panics.
fn said(call: fn(&MegachunkAllocator)) -> String {
    let panic = catch_unwind(|| call(&MegachunkAllocator::new())).unwrap_err();
    panic.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn a_chunk_behind_the_last_one_has_no_address() {
    let allocator = MegachunkAllocator::new();
    let [first, last] = [0, CHUNKS as u32 - 1].map(|chunk| allocator.base(chunk));
    // Where each mega-chunk is mapped by itself, what is not committed has no address.
    if let SystemMemory::Reserved(_) = allocator.memory() {
        assert_eq!(
            last.addr().get() - first.addr().get(),
            (CHUNKS - 1) * CHUNK_BYTES
        );
    }
    assert_eq!(
        said(|it| _ = it.base(CHUNKS as u32)),
        "chunk 1048576 is out of range"
    );
    assert_eq!(
        said(|it| _ = it.base(u32::MAX)),
        "chunk 4294967295 is out of range"
    );
}

#[test]
fn a_mega_chunk_behind_the_last_one_has_no_mask() {
    let allocator = MegachunkAllocator::new();
    assert_eq!(allocator.in_use_mask(MEGACHUNKS as u32 - 1), 0);
    let behind = said(|it| _ = it.in_use_mask(MEGACHUNKS as u32));
    assert_eq!(behind, "mega-chunk 16384 is out of range");
}
