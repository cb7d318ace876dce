//! `naive`: one mutex round a free list over heap memory, as an ordinary good program would write
//! it.
//!
//! One lock a call. A mega-chunk is one heap block of 1 MiB, kept until the allocator is dropped.
//! Single chunks come off a last-in-first-out list; runs are found first-fit. What must hold,
//! under the lock:
//!
//! * `in_use` of a mega-chunk has the bit of each chunk that is given out: it alone decides;
//! * `freed` names a chunk at most once. An entry may be out of date, because a run took the chunk
//!   meanwhile: whoever pops it looks at the bit. (A run that is freed is not listed: first-fit
//!   finds it once the list is empty. So no chunk is listed twice, and the list stays small.)
//!
//! Progress: blocking. A thread that stops inside a call stops everybody.

use core::fmt;
use core::ptr::NonNull;
use std::alloc::Layout;

use crate::chunk::{CHUNK_BYTES, ChunkAllocator, ChunkError, MEGACHUNK_CHUNKS, MEGACHUNKS, Run};
use crate::sync::geometry::ALL_CHUNKS;
use crate::sync::{Mutex, probe};

/// A heap block that holds the chunks of one mega-chunk.
const BLOCK: Layout = match Layout::from_size_align(MEGACHUNK_CHUNKS * CHUNK_BYTES, CHUNK_BYTES) {
    Ok(layout) => layout,
    Err(_) => panic!("1 MiB aligned to 16 KiB is a valid layout"),
};

/// The naive allocator: one [`Mutex`] round a free list over heap memory.
///
/// Every call takes the lock. A single chunk is O(1) under it while freed ones are listed; a run,
/// or a single chunk when none is listed, is O(mega-chunks).
///
/// ```
/// use megachunk::chunk::{ChunkAllocator, reference::Naive};
///
/// let naive = Naive::fresh();
/// let run = naive.allocate(3).unwrap();
/// assert_eq!(naive.in_use(), 3);
/// // SAFETY: the run is in use, and given back once.
/// unsafe { naive.free(run) }.unwrap();
/// assert_eq!(naive.in_use(), 0);
/// ```
#[derive(Default)]
pub struct Naive {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    megachunks: Vec<Megachunk>,
    freed: Vec<u32>,
}

struct Megachunk {
    in_use: u64,
    memory: NonNull<u8>,
}

// SAFETY: the block is owned by the mega-chunk and has no tie to the thread that allocated it.
unsafe impl Send for Megachunk {}

impl Megachunk {
    fn on_heap(index: u32) -> Result<Self, ChunkError> {
        // SAFETY: the layout's size is not zero.
        let memory = unsafe { std::alloc::alloc(BLOCK) };
        match NonNull::new(memory) {
            Some(memory) => Ok(Self { in_use: 0, memory }),
            None => Err(ChunkError::Refused {
                megachunk: index,
                kind: std::io::ErrorKind::OutOfMemory,
            }),
        }
    }

    /// The offset of the first `len` neighbouring chunks that are free.
    fn first_fit(&self, len: usize) -> Option<u32> {
        if self.in_use == ALL_CHUNKS {
            return None;
        }
        let run = ALL_CHUNKS >> (MEGACHUNK_CHUNKS - len);
        (0..=(MEGACHUNK_CHUNKS - len) as u32).find(|offset| self.in_use & (run << offset) == 0)
    }
}

impl Drop for Megachunk {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout by `on_heap`, and freed only here.
        unsafe { std::alloc::dealloc(self.memory.as_ptr(), BLOCK) }
    }
}

impl State {
    fn take(&mut self, run: Run) -> Run {
        self.megachunks[run.megachunk() as usize].in_use |= run.mask();
        run
    }

    fn pop_freed(&mut self) -> Option<Run> {
        while let Some(chunk) = self.freed.pop() {
            let run = Run::new(chunk, 1).expect("only chunks that exist are listed");
            if self.megachunks[run.megachunk() as usize].in_use & run.mask() == 0 {
                return Some(run);
            }
        }
        None
    }

    fn first_fit(&self, len: usize) -> Option<Run> {
        let fits = |megachunk: &Megachunk| megachunk.first_fit(len);
        let found = self
            .megachunks
            .iter()
            .enumerate()
            .find_map(|(index, m)| Some((index, fits(m)?)));
        probe::probed(found.map_or(self.megachunks.len(), |(index, _)| index + 1) as u64);
        let (index, offset) = found?;
        Run::new((index * MEGACHUNK_CHUNKS) as u32 + offset, len as u32)
    }

    fn grow(&mut self, len: usize) -> Result<Run, ChunkError> {
        let index = self.megachunks.len();
        if index == MEGACHUNKS {
            return Err(ChunkError::Exhausted { len });
        }
        self.megachunks.push(Megachunk::on_heap(index as u32)?);
        Ok(
            Run::new((index * MEGACHUNK_CHUNKS) as u32, len as u32)
                .expect("the length was checked"),
        )
    }
}

// SAFETY: a run is taken and given back under the lock, in blocks of the heap that are never given back.
unsafe impl ChunkAllocator for Naive {
    const NAME: &'static str = "naive";

    fn fresh() -> Self {
        Self::default()
    }

    fn allocate(&self, len: usize) -> Result<Run, ChunkError> {
        if len == 0 || len > MEGACHUNK_CHUNKS {
            return Err(ChunkError::BadLength { len });
        }
        let mut state = self.state.lock();
        let listed = if len == 1 { state.pop_freed() } else { None };
        let run = match listed.or_else(|| state.first_fit(len)) {
            Some(run) => run,
            None => state.grow(len)?,
        };
        Ok(state.take(run))
    }

    unsafe fn free(&self, run: Run) -> Result<(), ChunkError> {
        let mut state = self.state.lock();
        match state.megachunks.get_mut(run.megachunk() as usize) {
            Some(megachunk) if megachunk.in_use & run.mask() == run.mask() => {
                megachunk.in_use &= !run.mask();
            }
            _ => return Err(ChunkError::NotInUse { run }),
        }
        if run.len() == 1 {
            state.freed.push(run.first());
        }
        Ok(())
    }

    fn base(&self, run: Run) -> NonNull<u8> {
        let state = self.state.lock();
        let memory = state.megachunks[run.megachunk() as usize].memory;
        let offset = run.first() as usize % MEGACHUNK_CHUNKS * CHUNK_BYTES;
        // SAFETY: `offset` lies inside the mega-chunk's block.
        unsafe { memory.add(offset) }
    }

    fn in_use(&self) -> usize {
        let state = self.state.lock();
        state
            .megachunks
            .iter()
            .map(|megachunk| megachunk.in_use.count_ones() as usize)
            .sum()
    }
}

impl fmt::Debug for Naive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Naive")
            .field("in_use", &self.in_use())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_listed_chunk_that_a_run_took_is_not_given_out_again() {
        let naive = Naive::fresh();
        let single = naive.allocate(1).unwrap();
        // SAFETY: the run is in use, and given back once.
        unsafe { naive.free(single) }.unwrap();

        let run = naive.allocate(64).unwrap();
        let other = naive.allocate(1).unwrap();

        assert_eq!(run.megachunk(), single.megachunk());
        assert_ne!(other.megachunk(), run.megachunk());
    }
}
