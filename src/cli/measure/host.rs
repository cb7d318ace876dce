//! Memory and processors that the machine has at hand.

use std::hint::black_box;

use rayon::ThreadPool;

use crate::cli::measure::Barrier;

/// Bytes that the system provides at a time at least.
const PAGE: usize = 4_096;

/// Bytes that glibc never maps by themselves.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const PIECE: usize = 64 << 10;
/// As many as a thread's heap can have free at its end: 64 MiB.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const PIECES: usize = 1_024;

/// So often the threads of a pool meet: each time at once if all run, and after a millisecond if two share a processor.
const MEETINGS: usize = 32;

/// Wakes the threads of a pool, and sees to it that each has a processor of its own, if there are so many.
///
/// Two that are woken after a long sleep may get one together, although another is idle, for
/// milliseconds. What is timed next is to say how long work takes on so many threads, and not where
/// the system put them.
pub fn provide_processors(pool: &ThreadPool) {
    let barrier = Barrier::new(pool.current_num_threads());
    pool.broadcast(|_| (0..MEETINGS).for_each(|_| barrier.wait()));
}

/// Gives the pages that the process's heap keeps back to the system: who comes next pays for its first touch of memory,
/// and does not live in its forerunner's. Whether that is possible here.
///
/// Without it glibc keeps blocks of up to 32 MiB; larger ones always go back.
#[must_use]
pub fn give_memory_back() -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            // glibc, `malloc.h`; safe on every thread at every moment.
            safe fn malloc_trim(pad: usize) -> core::ffi::c_int;
        }
        // The last free piece of a thread's own heap stays: so it shall not be the last.
        let pieces: Vec<Vec<u8>> = (0..PIECES).map(|_| Vec::with_capacity(PIECE)).collect();
        let last: Vec<u8> = Vec::with_capacity(PIECE);
        black_box((&pieces, &last));
        drop(pieces);
        malloc_trim(0);
        // And that of the first thread's goes altogether.
        drop(last);
        malloc_trim(0);
    }
    cfg!(all(target_os = "linux", target_env = "gnu"))
}

/// Touches so many bytes of memory, and gives them back.
///
/// A virtual machine's host takes memory away that was not in use for some seconds, and needs
/// twenty times as long to provide it again as the system needs to clear it. What is timed from
/// here on within a second or two finds memory that only has to be cleared.
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
