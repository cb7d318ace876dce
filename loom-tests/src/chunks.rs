//! What the models of the chunk allocator have in common: memory that watches its users, and threads.

use std::fmt;
use std::io;
use std::mem;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread::{self, JoinHandle};
use megachunk::chunk::memory::Memory;
use megachunk::chunk::{
    CHUNKS, ChunkError, ChunkOptions, Chunks, MEGACHUNK_CHUNKS, MEGACHUNKS, MegachunkAllocator,
    RawChunks, Run,
};
use megachunk::sync::model::ThreadCache;

/// The allocator of the models.
pub type Allocator = MegachunkAllocator<WatchedMemory>;

/// No memory at all, but a witness: it fails the model when a mega-chunk is committed twice in a row,
/// decommitted while somebody owns a chunk of it or twice in a row, when a chunk is discarded that somebody owns, and when a
/// chunk has two owners.
///
/// The cells are part of the model: whoever owns, commits or decommits a chunk writes to its cell, so
/// that who does not *see* the one before is found out in every execution, not only where it hurts.
/// The rest is not, and adds no interleavings.
pub struct WatchedMemory {
    cells: [UnsafeCell<()>; CHUNKS],
    owned: [AtomicBool; CHUNKS],
    committed: [AtomicBool; MEGACHUNKS],
    commits: AtomicU32,
    /// The commit that is refused, counted from 1.
    refused: u32,
}

// SAFETY: the cells, which are what keeps it from being shared, are watched by loom.
unsafe impl Sync for WatchedMemory {}

impl fmt::Debug for WatchedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedMemory").finish_non_exhaustive()
    }
}

impl WatchedMemory {
    fn new(refused: u32) -> Self {
        Self {
            cells: std::array::from_fn(|_| UnsafeCell::new(())),
            owned: std::array::from_fn(|_| AtomicBool::new(false)),
            committed: std::array::from_fn(|_| AtomicBool::new(false)),
            commits: AtomicU32::new(0),
            refused,
        }
    }

    /// Whether a mega-chunk's memory is there.
    #[must_use]
    pub fn is_committed(&self, megachunk: u32) -> bool {
        self.committed[megachunk as usize].load(Ordering::Relaxed)
    }

    fn write(&self, chunks: Range<usize>) {
        for cell in &self.cells[chunks] {
            cell.with_mut(|_| ());
        }
    }

    /// A run has a new owner, who uses its memory.
    fn own(&self, run: Run) {
        assert!(
            self.is_committed(run.megachunk()),
            "{run} was handed out without memory"
        );
        self.write(chunks_of(run));
        for chunk in chunks_of(run) {
            let owned = self.owned[chunk].swap(true, Ordering::Relaxed);
            assert!(!owned, "chunk {chunk} has two owners");
        }
    }

    /// The owner of a run uses its memory for the last time.
    fn leave(&self, run: Run) {
        assert!(
            self.is_committed(run.megachunk()),
            "the memory of {run} was given back under its owner"
        );
        self.write(chunks_of(run));
        for chunk in chunks_of(run) {
            self.owned[chunk].store(false, Ordering::Relaxed);
        }
    }
}

fn chunks_of(run: Run) -> Range<usize> {
    let first = run.first() as usize;
    first..first + run.len() as usize
}

fn chunks_in(megachunk: u32) -> Range<usize> {
    let first = megachunk as usize * MEGACHUNK_CHUNKS;
    first..first + MEGACHUNK_CHUNKS
}

// SAFETY: there is no memory, and no model reads or writes what `base` names.
unsafe impl Memory for WatchedMemory {
    unsafe fn commit(&self, megachunk: u32) -> io::Result<()> {
        assert!(!self.is_committed(megachunk), "committed twice");
        self.write(chunks_in(megachunk));
        if self.commits.fetch_add(1, Ordering::Relaxed) + 1 == self.refused {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let before = self.committed[megachunk as usize].swap(true, Ordering::Relaxed);
        assert!(!before, "committed twice");
        Ok(())
    }

    unsafe fn decommit(&self, megachunks: Range<u32>) -> io::Result<()> {
        for megachunk in megachunks {
            self.write(chunks_in(megachunk));
            for chunk in chunks_in(megachunk) {
                let owned = self.owned[chunk].load(Ordering::Relaxed);
                assert!(!owned, "the memory of chunk {chunk} is in use");
            }
            let before = self.committed[megachunk as usize].swap(false, Ordering::Relaxed);
            assert!(before, "decommitted twice");
        }
        Ok(())
    }

    unsafe fn discard(&self, chunks: Range<u32>) -> io::Result<()> {
        assert!(
            self.is_committed(chunks.start / MEGACHUNK_CHUNKS as u32),
            "memory is discarded that is not there"
        );
        let chunks = chunks.start as usize..chunks.end as usize;
        self.write(chunks.clone());
        for chunk in chunks {
            let owned = self.owned[chunk].load(Ordering::Relaxed);
            assert!(!owned, "the memory of chunk {chunk} is in use");
        }
        Ok(())
    }

    fn base(&self, _chunk: u32) -> NonNull<u8> {
        NonNull::dangling()
    }
}

/// An allocator with nothing in use that keeps one empty mega-chunk.
#[must_use]
pub fn fresh() -> Arc<Allocator> {
    refusing(0)
}

/// As [`fresh`]; the `refused`th commit fails.
///
/// # Panics
/// If there is no memory for the tables.
#[must_use]
pub fn refusing(refused: u32) -> Arc<Allocator> {
    let allocator = ChunkOptions::new()
        .retain(1)
        .build_with(WatchedMemory::new(refused))
        .expect("there is room for the tables");
    Arc::new(allocator)
}

/// Takes a run and uses its memory.
///
/// # Errors
/// The allocator's.
pub fn take(allocator: &Allocator, len: usize) -> Result<Chunks<'_, WatchedMemory>, ChunkError> {
    let chunks = allocator.allocate_run(len)?;
    allocator.memory().own(chunks.run());
    Ok(chunks)
}

/// Uses the memory of a run for the last time, and gives it back.
pub fn give(allocator: &Allocator, chunks: Chunks<'_, WatchedMemory>) {
    allocator.memory().leave(chunks.run());
    chunks.free();
}

/// Takes a run, as [`take`], for another thread to give back: as a ticket.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn ticket(allocator: &Allocator, len: usize) -> RawChunks {
    take(allocator, len).expect("there is room").into_raw()
}

/// Gives back what a ticket stands for.
///
/// # Panics
/// If somebody else did.
pub fn give_ticket(allocator: &Allocator, ticket: RawChunks) {
    let chunks = allocator.reclaim(ticket).expect("not redeemed yet");
    give(allocator, chunks);
}

/// Takes a run for ever: whether there was one.
///
/// # Panics
/// If the request fails for another reason than that there is no such run.
#[must_use]
pub fn keep(allocator: &Allocator, len: usize) -> bool {
    match take(allocator, len) {
        Ok(chunks) => {
            mem::forget(chunks);
            true
        }
        Err(ChunkError::Exhausted { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

/// Looks inside, when all threads have been joined.
///
/// # Panics
/// If the allocator contradicts itself: a hint hides a run that is free, a chunk is lost.
pub fn check(allocator: &Allocator) {
    let checked = allocator.check();
    checked.expect("an allocator without contradictions");
}

/// An allocator in which all is taken, and a ticket for the run of two that the caller may give back: no search has yet
/// written down that it is taken. The cache is the calling thread's.
///
/// # Panics
/// If there is no room for it.
#[must_use]
pub fn full_with_a_run() -> (Arc<Allocator>, Box<dyn ThreadCache>, RawChunks) {
    let allocator = fresh();
    let cache = hold_cache(&allocator);
    assert!(keep(&allocator, MEGACHUNK_CHUNKS));
    let run = ticket(&allocator, 2);
    assert!(keep(&allocator, 2));
    (allocator, cache, run)
}

/// How many runs of `len` can still be taken, when all threads have been joined. Takes them.
///
/// # Panics
/// If there are more than chunks, or as [`check`] does.
#[must_use]
pub fn room(allocator: &Allocator, len: usize) -> usize {
    check(allocator);
    let room = (0..=CHUNKS).take_while(|_| keep(allocator, len)).count();
    assert!(room * len <= CHUNKS, "a chunk was given out twice");
    room
}

/// A cache for this thread, until it is dropped.
#[must_use]
pub fn hold_cache(allocator: &Allocator) -> Box<dyn ThreadCache> {
    let cache = Box::new(allocator.thread_cache());
    cache.adopt();
    cache
}

/// A thread that keeps a cache until it is joined.
pub struct Thread<R> {
    handle: JoinHandle<(R, Box<dyn ThreadCache>)>,
}

impl<R> fmt::Debug for Thread<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").finish_non_exhaustive()
    }
}

/// Runs `work` on a thread of its own, which has a cache. Who joins it gives the cache back, as the
/// thread's end would: that is no part of the model.
pub fn spawn<R: 'static>(
    allocator: &Arc<Allocator>,
    work: impl FnOnce(&Allocator) -> R + 'static,
) -> Thread<R> {
    let cache: Box<dyn ThreadCache> = Box::new(allocator.thread_cache());
    let allocator = Arc::clone(allocator);
    // Of one type, so that loom's threads are compiled once for each kind of result and not for each model.
    let work: Box<dyn FnOnce(&Allocator) -> R> = Box::new(work);
    let thread: Box<dyn FnOnce() -> (R, Box<dyn ThreadCache>)> = Box::new(move || {
        cache.adopt();
        (work(&allocator), cache)
    });
    let handle = thread::spawn(thread);
    Thread { handle }
}

impl<R> Thread<R> {
    /// What the thread's work came to; its cache is given back.
    ///
    /// # Panics
    /// If the thread panicked.
    pub fn join(self) -> R {
        let (result, _cache) = self.handle.join().expect("no panic");
        result
    }
}
