//! All that worlds do, in worlds so small that Miri walks through them in a minute or so:
//!
//!     MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-permissive-provenance -Zmiri-tree-borrows" \
//!         RAYON_NUM_THREADS=1 cargo +nightly miri test --test small_worlds
//!
//! Values hold pointers, have bytes between, are aligned widely, and are counted where they end: what goes wrong shows
//! without Miri only if it goes wrong badly.

#![cfg(feature = "world")]

mod chunks;
mod many;
mod one;
mod others;

/// A byte, three that nobody writes, and a number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Padded(u8, u32);

/// A tag whose end is something.
struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {}
}

/// A shared value on the heap.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Team(String);

/// What chunks begin with.
#[derive(Clone, Debug, PartialEq)]
struct Begin(String);

/// A fragment that can be switched off.
struct Switched;
