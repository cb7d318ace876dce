//! `megachunk_dots`: the chunk store of Unity DOTS as published, one mask a mega-chunk.
//!
//! State: 16,384 mega-chunks, each a mask of 64 bits (1 = in use) and a mapping; a hint bit a
//! mega-chunk, 1 = "its mask is full". A mask with all bits set is full *or* busy: some thread
//! maps or unmaps.
//!
//! Operations: *allocate* begins at the first hint word that is not full, tries one mega-chunk
//! after the other (all of them), and takes the first run that fits by compare-exchange. Mask 0
//! means "not mapped": it goes to all ones, the memory is mapped, and then the true mask is stored.
//! *Free* clears the run's bits by compare-exchange; the last one out sets all ones instead,
//! unmaps, and stores 0. It always clears the hint.
//!
//! Invariant: only the thread that set all bits of a mask changes the mapping.
//!
//! Progress: lock-free (a busy mega-chunk is passed over), but see the faults.
//!
//! # Faults, as published
//!
//! None of these is improved here; the tests that show them are named `megachunk_dots_…`.
//!
//! 1. When the system refuses memory, only the request's own bits are cleared: the rest of the
//!    mask stays set for ever, and the next request gets the cleared ones, without memory.
//! 2. The last free unmaps at once: a program at the boundary of a mega-chunk maps and unmaps for
//!    ever.
//! 3. A double free while the mask is all ones because of a mapping goes unseen.
//! 4. Free does not check that the run lies in one mega-chunk. (Here the type [`Run`] does.)
//! 5. The hints are set without a second look at the mask: a free that comes between leaves the
//!    hint set although there is room, and allocation begins its walk further on than it need.
//! 6. A run is searched first-fit over every mask: where the masks are full of holes that are too
//!    small, a request looks at all 16,384.
//!
//! The published store also falls back to shorter runs by halving; the seam asks for exactly `len`.
//!
//! Source: Unity's `com.unity.entities` 1.x, the design only; this is our own code.

use core::fmt;
use core::ptr::{self, NonNull};

use memmap2::MmapMut;

use crate::chunk::{CHUNK_BYTES, ChunkAllocator, ChunkError, MEGACHUNK_CHUNKS, MEGACHUNKS, Run};
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::sync::geometry::{ALL_CHUNKS, FULL, WORD_BITS};
use crate::sync::{UnsafeCell, probe};

/// Whether the system grants memory for this mega-chunk.
type Grants = dyn Fn(u32) -> bool + Send + Sync;

/// The published DOTS chunk store, faults and all; see the head of its source file.
///
/// A mapping of 1 MiB for each mega-chunk in use. Any thread may call anything.
///
/// ```
/// use megachunk::chunk::{ChunkAllocator, reference::MegachunkDots};
///
/// let store = MegachunkDots::fresh();
/// let run = store.allocate(64).unwrap();
/// assert_eq!((run.first(), run.len()), (0, 64));
/// // SAFETY: the run is in use, and given back once.
/// unsafe { store.free(run) }.unwrap();
/// ```
pub struct MegachunkDots {
    megachunks: Box<[Megachunk]>,
    is_full: Box<[AtomicU64]>,
    grants: Box<Grants>,
}

struct Megachunk {
    in_use: AtomicU64,
    /// Where the memory begins; null while none is mapped.
    base: AtomicPtr<u8>,
    /// Touched only by who set all bits of `in_use`.
    memory: UnsafeCell<Option<MmapMut>>,
}

// SAFETY: `memory` is touched only by the thread that set all bits of `in_use`; the mask's Release
// and Acquire order one such thread after the other.
unsafe impl Sync for Megachunk {}

impl MegachunkDots {
    /// A store whose system grants memory for a mega-chunk only where `grants` says so.
    ///
    /// For tests: `grants` is called at the moment of each mapping, while the mask is busy.
    pub fn with_system(grants: impl Fn(u32) -> bool + Send + Sync + 'static) -> Self {
        let megachunk = |_| Megachunk {
            in_use: AtomicU64::new(0),
            base: AtomicPtr::new(ptr::null_mut()),
            memory: UnsafeCell::new(None),
        };
        Self {
            megachunks: (0..MEGACHUNKS).map(megachunk).collect(),
            is_full: (0..MEGACHUNKS.div_ceil(WORD_BITS as usize))
                .map(|_| AtomicU64::new(0))
                .collect(),
            grants: Box::new(grants),
        }
    }

    /// The first mega-chunk of the first hint word that is not full.
    fn start(&self) -> usize {
        let word = self.is_full.iter().position(|word| {
            probe::probed(1);
            // Ordering: Relaxed: a hint.
            word.load(Ordering::Relaxed) != FULL
        });
        word.map_or(0, |word| word * WORD_BITS as usize)
    }

    /// Takes a run in this mega-chunk, if one fits; maps its memory if it is the first.
    fn take_in(&self, index: usize, len: u32) -> Option<Result<u32, ChunkError>> {
        let in_use = &self.megachunks[index].in_use;
        probe::probed(1);
        let mut before = in_use.load(Ordering::Relaxed);
        let (offset, after) = loop {
            let offset = first_fit(before, len)?;
            let after = before | mask(offset, len);
            let new = if before == 0 { ALL_CHUNKS } else { after };
            // Ordering: Acquire pairs with the Release of the thread that mapped or unmapped, and
            // of those that freed these chunks before us.
            match in_use.compare_exchange(before, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => break (offset, after),
                Err(found) => before = found,
            }
        };
        if before == 0
            && let Err(error) = self.map(index, after)
        {
            // Fault 1: the other bits of the busy mask stay set.
            in_use.fetch_and(!mask(offset, len), Ordering::AcqRel);
            return Some(Err(error));
        }
        if after == ALL_CHUNKS {
            // Fault 5: no second look at the mask.
            self.hint_of(index)
                .fetch_or(hint_bit(index), Ordering::AcqRel);
        }
        Some(Ok(offset))
    }

    /// Maps the memory of a busy mega-chunk, then stores its true mask.
    #[cold]
    fn map(&self, index: usize, after: u64) -> Result<(), ChunkError> {
        let refused = |kind| ChunkError::Refused {
            megachunk: index as u32,
            kind,
        };
        if !(self.grants)(index as u32) {
            return Err(refused(std::io::ErrorKind::OutOfMemory));
        }
        let mut memory = MmapMut::map_anon(MEGACHUNK_CHUNKS * CHUNK_BYTES)
            .map_err(|error| refused(error.kind()))?;
        let megachunk = &self.megachunks[index];
        // Ordering: Relaxed: who owns a chunk here has acquired the mask that is stored next.
        megachunk.base.store(memory.as_mut_ptr(), Ordering::Relaxed);
        // SAFETY: this thread set all bits of the mask, so nobody else touches the mapping.
        megachunk
            .memory
            .with_mut(|mapped| unsafe { *mapped = Some(memory) });
        // Ordering: Release pairs with the Acquire of the next claim in `take_in`. (The published
        // algorithm swaps.)
        megachunk.in_use.swap(after, Ordering::AcqRel);
        Ok(())
    }

    /// Unmaps the memory of a busy mega-chunk, then stores the mask 0.
    #[cold]
    fn unmap(&self, index: usize) {
        let megachunk = &self.megachunks[index];
        megachunk.base.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: this thread set all bits of the mask, so nobody else touches the mapping.
        let memory = megachunk
            .memory
            .with_mut(|mapped| unsafe { (*mapped).take() });
        // Ordering: Release pairs with the Acquire of the next claim in `take_in`.
        megachunk.in_use.swap(0, Ordering::AcqRel);
        drop(memory);
    }

    fn hint_of(&self, index: usize) -> &AtomicU64 {
        &self.is_full[index / WORD_BITS as usize]
    }
}

fn hint_bit(index: usize) -> u64 {
    1 << (index % WORD_BITS as usize)
}

fn mask(offset: u32, len: u32) -> u64 {
    (u64::MAX >> (64 - len)) << offset
}

/// Where the first `len` neighbouring zero bits begin.
fn first_fit(in_use: u64, len: u32) -> Option<u32> {
    let mut starts = !in_use & ALL_CHUNKS;
    // After each step a bit of `starts` is set if `covered` free chunks begin there.
    let mut covered = 1;
    while covered < len && starts != 0 {
        let step = covered.min(len - covered);
        starts &= starts >> step;
        covered += step;
    }
    (starts != 0).then(|| starts.trailing_zeros())
}

// SAFETY: a run's bits are set by the compare-exchange that takes it, and its mapping stays while one of them is; one
// that has no memory, by fault 1, has no base.
unsafe impl ChunkAllocator for MegachunkDots {
    const NAME: &'static str = "megachunk_dots";

    fn fresh() -> Self {
        Self::with_system(|_| true)
    }

    fn allocate(&self, len: usize) -> Result<Run, ChunkError> {
        if len == 0 || len > MEGACHUNK_CHUNKS {
            return Err(ChunkError::BadLength { len });
        }
        let start = self.start();
        for step in 0..MEGACHUNKS {
            let index = (start + step) % MEGACHUNKS;
            if let Some(taken) = self.take_in(index, len as u32) {
                let first = (index * MEGACHUNK_CHUNKS) as u32 + taken?;
                return Ok(Run::new(first, len as u32).expect("it fits in its mega-chunk"));
            }
        }
        Err(ChunkError::Exhausted { len })
    }

    unsafe fn free(&self, run: Run) -> Result<(), ChunkError> {
        let index = run.megachunk() as usize;
        let Some(megachunk) = self.megachunks.get(index) else {
            return Err(ChunkError::NotInUse { run });
        };
        let mut before = megachunk.in_use.load(Ordering::Relaxed);
        loop {
            // Fault 3: a mask that is busy looks as if all chunks were in use.
            if before & run.mask() != run.mask() {
                return Err(ChunkError::NotInUse { run });
            }
            let last = before == run.mask();
            let new = if last {
                ALL_CHUNKS
            } else {
                before & !run.mask()
            };
            // Ordering: Release pairs with the Acquire of the next owner's claim in `take_in`;
            // Acquire so that the last one out unmaps after all the others' accesses.
            match megachunk.in_use.compare_exchange(
                before,
                new,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) if last => break self.unmap(index),
                Ok(_) => break,
                Err(found) => before = found,
            }
        }
        self.hint_of(index)
            .fetch_and(!hint_bit(index), Ordering::AcqRel);
        Ok(())
    }

    /// # Panics
    /// If the run has no memory, which fault 1 brings about. (The published algorithm gives out an
    /// address near zero.)
    fn base(&self, run: Run) -> NonNull<u8> {
        // Ordering: Relaxed: the run's owner acquired the mask after the mapping was stored.
        let base = self.megachunks[run.megachunk() as usize]
            .base
            .load(Ordering::Relaxed);
        let base = NonNull::new(base).unwrap_or_else(|| panic!("{run:?} has no memory"));
        let offset = run.first() as usize % MEGACHUNK_CHUNKS * CHUNK_BYTES;
        // SAFETY: `offset` lies inside the mapping of the mega-chunk.
        unsafe { base.add(offset) }
    }

    fn in_use(&self) -> usize {
        let masks = self
            .megachunks
            .iter()
            .map(|m| m.in_use.load(Ordering::Relaxed));
        masks.map(|mask| mask.count_ones() as usize).sum()
    }
}

impl fmt::Debug for MegachunkDots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MegachunkDots")
            .field("in_use", &self.in_use())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn first_fit_finds_the_lowest_run_that_is_long_enough() {
        assert_eq!(first_fit(0, 64), Some(0));
        assert_eq!(first_fit(1, 64), None);
        assert_eq!(first_fit(0b1001_0101, 1), Some(1));
        assert_eq!(first_fit(0b1001_0101, 2), Some(5));
        assert_eq!(first_fit(0b1001_0101, 3), Some(8));
        assert_eq!(first_fit(!(0b111 << 61), 3), Some(61));
        assert_eq!(first_fit(u64::MAX, 1), None);
    }

    #[test]
    fn megachunk_dots_keeps_a_hint_that_a_late_thread_set() {
        let store = MegachunkDots::fresh();
        let run = store.allocate(64).unwrap();
        // SAFETY: the run is in use, and given back once.
        unsafe { store.free(run) }.unwrap();
        // What the allocating thread does last, had it stopped before until now.
        store.hint_of(0).fetch_or(hint_bit(0), Ordering::AcqRel);

        let again = store.allocate(64).unwrap();

        assert_eq!(store.is_full[0].load(Ordering::Relaxed) & 1, 1);
        assert_eq!(
            again.megachunk(),
            0,
            "a walk over all masks finds it, hint or not"
        );
    }
}
