//! `Held`: runs that a workload holds, so that giving them back is safe code.

use core::ptr;

use super::ChunkContender;
use crate::chunk::{CHUNK_BYTES, ChunkError, Run};

/// Bytes of a page: one write in each makes a chunk's memory real.
const PAGE: usize = 4_096;

/// An allocator that runs can be taken from without `unsafe`: a [`Held`] is given back once, to
/// the allocator that it came from.
#[derive(Debug)]
pub(super) struct Room<C>(C);

/// A run in use. It is neither copied nor made anywhere but in [`Room`]; one that is dropped
/// stays in use.
#[derive(Debug)]
pub(super) struct Held(Run);

impl<C: ChunkContender> Room<C> {
    pub(super) fn new() -> Self {
        Self(C::fresh())
    }

    /// Takes a run.
    #[inline(always)]
    pub(super) fn take(&self, len: usize) -> Held {
        match self.0.take(len) {
            Ok(run) => Held(run),
            Err(error) => refused(&error),
        }
    }

    /// Takes a run, if there is one.
    #[inline(always)]
    pub(super) fn try_take(&self, len: usize) -> Option<Held> {
        self.0.take(len).ok().map(Held)
    }

    /// Gives a run back.
    #[inline(always)]
    pub(super) fn give(&self, held: Held) {
        // SAFETY: a `Held` is made of a run that was just taken, is used up here, and its memory is
        // not reachable but through `touch`, which keeps no pointer. It is this allocator's: each
        // workload has only one, whose `Held`s it never moves to another.
        let given = unsafe { self.0.give(held.0) };
        if let Err(error) = given {
            refused(&error);
        }
    }

    /// Writes a word to each page of the run.
    pub(super) fn touch(&self, held: &Held) {
        let base = self.0.base(held.0);
        for offset in (0..held.0.len() as usize * CHUNK_BYTES).step_by(PAGE) {
            // SAFETY: the run is in use, so its `len` chunks from `base` are writable, and nobody
            // else has them.
            unsafe { ptr::write_volatile(base.as_ptr().add(offset), 1) };
        }
    }

    pub(super) fn flush(&self) {
        self.0.flush();
    }

    pub(super) fn trim(&self) {
        self.0.trim();
    }
}

#[cold]
#[inline(never)]
fn refused(error: &ChunkError) -> ! {
    panic!("{error}")
}
