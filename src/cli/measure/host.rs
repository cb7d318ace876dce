//! Memory that the machine has at hand.

use std::hint::black_box;

/// Bytes that the system provides at a time at least.
const PAGE: usize = 4_096;

/// Touches so many bytes of memory, and gives them back.
///
/// A virtual machine's host takes memory away that was not in use for some seconds, and needs twenty times as long to
/// provide it again as the system needs to clear it. What is timed from here on within a second or two finds memory that
/// only has to be cleared.
pub fn provide_memory(bytes: usize) {
    if bytes == 0 {
        return;
    }
    let Ok(mut memory) = memmap2::MmapMut::map_anon(bytes) else {
        return;
    };
    #[cfg(target_os = "linux")]
    let _ = memory.advise(memmap2::Advice::HugePage);
    for page in memory.chunks_mut(PAGE) {
        page[0] = 1;
    }
    black_box(&memory);
}
