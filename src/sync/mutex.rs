//! `Mutex`: for the references, whose subject it is to wait.
//!
//! The product takes one in six places, where nobody waits for what another does meanwhile: a helper that panicked puts
//! the panic where its caller finds it (`workers/helpers.rs`), an observing processor's closure goes to a world and comes back from it
//! (`processor/observing.rs`), its calls are noted where its schedule finds them, while they are measured
//! (`processor/stopwatch.rs`), a world's label is set and read (`world/seat.rs`), and a flush whose world was taken away from it leaves the numbers of the shared values that
//! it held, if any, where that world finds them (`world/seat.rs`), and a chunk's error is kept where a walk on several threads
//! ends (`query/run/fallible.rs`). Each holds it for a few moves, and calls
//! nothing of the user's under it. The protocols of entities, chunks, recorders and signals take none.

use core::ops::{Deref, DerefMut};

use super::probe;

/// A mutex whose steps the [`probe`] sees: the acquisition, each moment it is held, the release.
///
/// A lock that a panicking thread held is taken as it is: nobody who uses it leaves half-done state
/// behind a panic.
#[derive(Debug, Default)]
pub struct Mutex<T>(Inner<T>);

#[cfg(loom)]
type Inner<T> = loom::sync::Mutex<T>;
#[cfg(not(loom))]
type Inner<T> = std::sync::Mutex<T>;

#[cfg(loom)]
type InnerGuard<'a, T> = loom::sync::MutexGuard<'a, T>;
#[cfg(not(loom))]
type InnerGuard<'a, T> = std::sync::MutexGuard<'a, T>;

/// The right to use what a [`Mutex`] holds, until it is dropped.
#[derive(Debug)]
pub struct MutexGuard<'a, T>(InnerGuard<'a, T>);

impl<T> Mutex<T> {
    /// A mutex that holds `value`.
    pub fn new(value: T) -> Self {
        Self(Inner::new(value))
    }

    /// Waits until no other thread holds the lock, then holds it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        // The lock word is taken and given back by one read-modify-write each.
        probe::rmw(core::ptr::from_ref(self).cast(), true);
        let guard = match self.0.lock() {
            Ok(guard) => guard,
            Err(poisoned) => poisoned.into_inner(),
        };
        // A step while the lock is held: where a thread that stops blocks everybody.
        probe::step();
        MutexGuard(guard)
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        probe::rmw(core::ptr::from_ref::<T>(&self.0).cast(), true);
    }
}
