//! What keeps a cold row cold, and the same on every machine.

use crate::cli::measure::provide_memory;

/// Bytes that a world of the rows' entities takes, of the contender that takes most, and twice while it grows.
const BYTES: usize = 320;

/// Before a fresh world of so many entities is timed: it finds no memory that is its own, and finds memory that the
/// machine has at hand.
pub(super) fn prepare(entities: u32) {
    give_back();
    provide_memory(entities as usize * BYTES);
}

/// Gives the pages that the process's heap keeps back to the system, where that is possible: the
/// next world pays for its first touch of memory, and does not live in its forerunner's.
///
/// Without it glibc keeps blocks of up to 32 MiB; larger ones always go back.
fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            // glibc, `malloc.h`; safe on every thread at every moment.
            safe fn malloc_trim(pad: usize) -> core::ffi::c_int;
        }
        malloc_trim(0);
    }
}
