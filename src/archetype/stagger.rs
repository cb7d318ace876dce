//! Where chunks begin in their memory.
//!
//! Chunks lie 16 KiB apart. If all began where their memory does, the first lines of all would share a few sets of the
//! caches, so that a walk over many small archetypes would find hardly any of them there.

use core::ptr::NonNull;

use crate::archetype::universe::Universe;
use crate::chunk::Run;
use crate::memory::LINE;

/// How many bytes later than its memory a chunk may begin.
pub(crate) const STAGGER: usize = (STEPS - 1) * LINE;
/// Four keep it to one part in 80 of a chunk.
const STEPS: usize = 4;

/// Where a chunk begins in its memory.
pub(crate) fn begin(universe: &Universe, run: Run, staggered: bool) -> NonNull<u8> {
    let base = universe.base(run);
    if staggered {
        // SAFETY: the layout leaves that much room at the end.
        unsafe { base.add(stagger(run)) }
    } else {
        base
    }
}

/// How many bytes later than its memory this chunk begins.
pub(super) fn stagger(run: Run) -> usize {
    // The lowest three bits of the number choose among the sets of larger caches already. Neighbours differ too: a
    // processor takes a load for one of what was just stored if the addresses differ by multiples of 4 KiB.
    let number = run.first() as usize;
    (number + number / 8) % STEPS * LINE
}
