//! What keeps a cold row cold.

/// Gives the pages that the process's heap keeps back to the system, where that is possible: the
/// next world pays for its first touch of memory, and does not live in its forerunner's.
///
/// Without it glibc keeps blocks of up to 32 MiB; larger ones always go back.
pub(super) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            // glibc, `malloc.h`; safe on every thread at every moment.
            safe fn malloc_trim(pad: usize) -> core::ffi::c_int;
        }
        malloc_trim(0);
    }
}
