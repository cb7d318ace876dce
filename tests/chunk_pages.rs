//! What chunks cost: memory that is fetched, given back, and advised. One test, so that nothing else in the process
//! takes memory meanwhile.

#![cfg(target_os = "linux")]

#[path = "support/resident.rs"]
mod resident;

use megachunk::chunk::memory::{MappedMemory, Memory, SystemMemory};
use megachunk::chunk::{CHUNK_BYTES, ChunkOptions, Chunks, MegachunkAllocator};

use resident::{advice_of_mappings, resident};

/// Bytes of a mega-chunk.
const MEGACHUNK: usize = 64 * CHUNK_BYTES;

#[test]
fn memory_is_resident_where_it_is_touched_or_fetched_and_goes_back() {
    let options = |huge| ChunkOptions::new().huge_pages(huge);
    let memory = |huge| SystemMemory::new(&options(huge));
    memory_of_free_chunks_goes_back(memory(false));
    memory_of_free_chunks_goes_back(memory(true));
    memory_of_free_chunks_goes_back(MappedMemory::new(&options(false)));

    memory_is_fetched_as_it_is_committed(ChunkOptions::new().populate(true));
    memory_is_fetched_as_it_is_committed(ChunkOptions::new().huge_pages(false).populate(true));
    let mapped = |populate| {
        let memory = MappedMemory::new(&options(false).populate(populate));
        ChunkOptions::new().build_with(memory).unwrap()
    };
    assert_eq!(resident_megachunks_of(&mapped(true)), 32);
    assert_eq!(resident_megachunks_of(&mapped(false)), 0);

    pages_are_huge_only_where_they_are_wanted();
}

fn fill<M: Memory>(chunks: &mut Chunks<'_, M>, byte: u8) {
    chunks
        .as_uninit()
        .iter_mut()
        .step_by(CHUNK_BYTES / 4)
        .for_each(|at| _ = at.write(byte));
}

/// Holds one chunk of each of many mega-chunks, and gives the memory of the others back.
fn memory_of_free_chunks_goes_back<M: Memory>(memory: M) {
    const CHUNKS: usize = 128 * 64;
    const ALL: usize = CHUNKS * CHUNK_BYTES;
    let allocator = ChunkOptions::new().build_with(memory).unwrap();
    let mut chunks: Vec<_> = (0..CHUNKS).map(|_| allocator.allocate().unwrap()).collect();
    chunks.iter_mut().for_each(|chunk| fill(chunk, 7));
    let mut seen = std::collections::HashSet::new();
    chunks.retain(|chunk| seen.insert(chunk.run().megachunk()));
    let (before, kept) = (resident(), chunks.len());
    allocator.trim();
    assert!(resident() + ALL / 4 > before, "each mega-chunk is in use");
    assert_eq!(allocator.discard(), CHUNKS - kept);
    assert!(
        resident() + ALL * 3 / 4 < before,
        "{before} bytes were resident, and {} are",
        resident()
    );
    assert_eq!(allocator.in_use(), kept);
    for chunk in &mut chunks {
        let bytes = chunk.as_uninit();
        // SAFETY: written by `fill`.
        assert_eq!(unsafe { bytes[CHUNK_BYTES / 4].assume_init() }, 7);
    }
    // It is there again where it is wanted.
    chunks.extend((kept..CHUNKS).map(|_| allocator.allocate().unwrap()));
    chunks.iter_mut().for_each(|chunk| fill(chunk, 8));
    allocator.check().unwrap();
}

fn memory_is_fetched_as_it_is_committed(options: ChunkOptions) {
    assert_eq!(resident_megachunks_of(&options.build().unwrap()), 32);
}

/// How many mega-chunks are resident of 32 that nobody has touched yet, and which are zeros.
fn resident_megachunks_of<M: Memory>(allocator: &MegachunkAllocator<M>) -> usize {
    const COUNT: usize = 32;
    // What the first call takes for the thread is not the chunks'. (Two of them: with a huge page both come.)
    drop([(); 2].map(|()| allocator.allocate_run(64).unwrap()));
    allocator.trim();
    let mut runs = Vec::with_capacity(COUNT);
    let before = resident();
    runs.extend((0..COUNT).map(|_| allocator.allocate_run(64).unwrap()));
    let came = resident().saturating_sub(before);
    for run in &mut runs {
        let bytes = run.as_uninit();
        // SAFETY: nobody has written there since the system made the memory, of zeros.
        let zeros = bytes.iter().all(|byte| unsafe { byte.assume_init() } == 0);
        assert!(zeros);
    }
    allocator.check().unwrap();
    // Some pages of tables come, too.
    assert!(came % MEGACHUNK < MEGACHUNK / 2, "{came} bytes");
    came / MEGACHUNK
}

/// Where the system gives huge pages unasked, the first touch of a chunk would cost one.
fn pages_are_huge_only_where_they_are_wanted() {
    const ALL: usize = 16 << 30;
    for huge in [false, true] {
        let allocator = ChunkOptions::new().huge_pages(huge).build().unwrap();
        if let (SystemMemory::Reserved(_), Some(advice)) =
            (allocator.memory(), advice_of_mappings(ALL))
        {
            assert_eq!(advice, [Some(huge)]);
        }
    }
}
