//! The chunk allocators as the operations in `chunk_ops.rs` see them: the seam of all contenders,
//! and the product's safe face over a memory that refuses on request and watches the rule.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use megachunk::chunk::memory::{Memory, SystemMemory};
use megachunk::chunk::reference::{MegachunkDots, Naive};
use megachunk::chunk::{
    CACHED_CHUNKS, ChunkAllocator, ChunkError, ChunkOptions, Chunks, MEGACHUNK_CHUNKS, MEGACHUNKS,
    MegachunkAllocator, RawChunks, Run,
};

/// Which second return of a run the allocator sees.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Every one.
    Always,
    /// One while not all of the chunks are in use again.
    WhileFree,
    /// None: its caller must not do that.
    Never,
}

/// An allocator under test.
pub(crate) trait Subject: Sync {
    /// What stands for a run until it is given back.
    type Ticket: Copy + Send + Sync;
    const SECOND_FREE_IS: Seen;

    fn fresh() -> Self;
    fn take(&self, len: usize) -> Result<(Run, Self::Ticket), ChunkError>;
    fn give(&self, ticket: Self::Ticket) -> Result<(), ChunkError>;
    fn base(&self, run: Run) -> NonNull<u8>;
    fn in_use(&self) -> usize;
    fn flush(&self);

    /// Takes up to `len` chunks in one run.
    fn take_up_to(&self, len: usize) -> Result<(Run, Self::Ticket), ChunkError> {
        self.take(len)
    }

    /// Takes `count` chunks in some runs.
    fn take_many(&self, count: usize) -> Result<Vec<(Run, Self::Ticket)>, ChunkError> {
        (0..count).map(|_| self.take(1)).collect()
    }

    /// Gives unused memory back to the system.
    fn trim(&self) {}

    /// Makes the system refuse the next requests for memory, and the next returns.
    fn refuse(&self, _commits: u32, _decommits: u32) {}

    /// Requests for memory that are still to be refused.
    fn refusals_left(&self) -> u32 {
        0
    }

    /// All masks that are not 0, if the allocator shows them.
    fn masks(&self) -> Vec<(u32, u64)> {
        Vec::new()
    }

    /// Looks for contradictions between the allocator and the model. `in_use` are the chunks in use.
    fn compare(&self, _in_use: &HashSet<u32>) {}

    /// Looks for contradictions inside the allocator, if it can. Nobody else is in a call.
    fn check(&self) {}
}

/// A contender that can look for contradictions inside itself, or does not.
pub(crate) trait Contender: ChunkAllocator {
    /// Nobody else is in a call.
    fn check_itself(&self) {}
}

impl Contender for Naive {}

impl Contender for MegachunkDots {}

impl Contender for MegachunkAllocator {
    fn check_itself(&self) {
        self.check().expect("an allocator without contradictions");
    }
}

/// Any contender, through the seam.
pub(crate) struct Seam<A, const SEES_SECOND_FREE: bool>(A);

impl<A: Contender, const SEES_SECOND_FREE: bool> Subject for Seam<A, SEES_SECOND_FREE> {
    type Ticket = Run;
    const SECOND_FREE_IS: Seen = if SEES_SECOND_FREE {
        Seen::WhileFree
    } else {
        Seen::Never
    };

    fn fresh() -> Self {
        Self(A::fresh())
    }

    fn take(&self, len: usize) -> Result<(Run, Run), ChunkError> {
        self.0.allocate(len).map(|run| (run, run))
    }

    fn give(&self, run: Run) -> Result<(), ChunkError> {
        // SAFETY: the machine gives a run back once and does not touch its memory afterwards; a
        // second time only where `SECOND_FREE_IS` says that the allocator sees it.
        unsafe { self.0.free(run) }
    }

    fn base(&self, run: Run) -> NonNull<u8> {
        self.0.base(run)
    }

    fn in_use(&self) -> usize {
        self.0.in_use()
    }

    fn flush(&self) {
        self.0.flush();
    }

    fn check(&self) {
        self.0.check_itself();
    }
}

/// The product's safe face, with tickets; it keeps as little unused memory as it can.
pub(crate) struct Tickets(MegachunkAllocator<Watched>);

impl Tickets {
    fn ticket(chunks: Chunks<'_, Watched>) -> (Run, RawChunks) {
        (chunks.run(), chunks.into_raw())
    }
}

impl Subject for Tickets {
    type Ticket = RawChunks;
    const SECOND_FREE_IS: Seen = Seen::Always;

    fn fresh() -> Self {
        let options = ChunkOptions::new().huge_pages(false).retain(1);
        let memory = Watched::new(SystemMemory::new(&options));
        Self(options.build_with(memory).expect("there is address space"))
    }

    fn take(&self, len: usize) -> Result<(Run, RawChunks), ChunkError> {
        let chunks = if len == 1 {
            self.0.allocate()
        } else {
            self.0.allocate_run(len)
        };
        chunks.map(Self::ticket)
    }

    fn take_up_to(&self, len: usize) -> Result<(Run, RawChunks), ChunkError> {
        self.0.allocate_up_to(len).map(Self::ticket)
    }

    fn take_many(&self, count: usize) -> Result<Vec<(Run, RawChunks)>, ChunkError> {
        let runs = self.0.allocate_many(count)?;
        Ok(runs.into_iter().map(Self::ticket).collect())
    }

    fn give(&self, ticket: RawChunks) -> Result<(), ChunkError> {
        self.0.reclaim(ticket).map(Chunks::free)
    }

    fn base(&self, run: Run) -> NonNull<u8> {
        self.0.base(run.first())
    }

    fn in_use(&self) -> usize {
        self.0.in_use()
    }

    fn flush(&self) {
        self.0.flush();
    }

    fn trim(&self) {
        self.0.trim();
        let stats = self.0.stats();
        let refused = self.0.memory().decommits_refused.swap(0, Ordering::Relaxed);
        assert!(
            stats.empty_megachunks == 0 || refused > 0,
            "memory was kept"
        );
        self.0.discard();
        assert_eq!(self.0.stats(), stats, "what is discarded stays committed");
    }

    fn refuse(&self, commits: u32, decommits: u32) {
        let memory = self.0.memory();
        memory.refuse_commits.store(commits, Ordering::Relaxed);
        memory.refuse_decommits.store(decommits, Ordering::Relaxed);
    }

    fn refusals_left(&self) -> u32 {
        self.0.memory().refuse_commits.load(Ordering::Relaxed)
    }

    fn masks(&self) -> Vec<(u32, u64)> {
        // A mask is 0 until the memory of its mega-chunk is asked for.
        let asked_for = self.0.memory().asked_for.lock().unwrap();
        asked_for
            .iter()
            .map(|&megachunk| (megachunk, self.0.in_use_mask(megachunk)))
            .filter(|&(_, mask)| mask != 0)
            .collect()
    }

    fn check(&self) {
        self.0.check().expect("an allocator without contradictions");
    }

    fn compare(&self, in_use: &HashSet<u32>) {
        let memory = self.0.memory();
        let stats = self.0.stats();
        let mut taken = 0;
        for (megachunk, mask) in self.masks() {
            taken += mask.count_ones() as usize;
            let committed = memory.committed[megachunk as usize].load(Ordering::Relaxed);
            assert!(
                mask == 0 || committed,
                "mega-chunk {megachunk} has no memory"
            );
        }
        let is_set = |chunk: u32| {
            let mask = self.0.in_use_mask(chunk / MEGACHUNK_CHUNKS as u32);
            mask >> (chunk % MEGACHUNK_CHUNKS as u32) & 1 == 1
        };
        assert!(in_use.iter().all(|&chunk| is_set(chunk)));
        assert_eq!(stats.in_use, in_use.len());
        assert_eq!(taken, stats.in_use + stats.cached);
        assert!(
            stats.cached <= CACHED_CHUNKS,
            "only this thread keeps chunks now"
        );
        let committed = memory.committed.iter();
        let committed = committed
            .filter(|flag| flag.load(Ordering::Relaxed))
            .count();
        assert_eq!(stats.committed_megachunks, committed);
    }
}

/// The system's memory, refusing on request, and watching that each mega-chunk is committed once,
/// decommitted once, and used in between only.
#[derive(Debug)]
pub(crate) struct Watched {
    system: SystemMemory,
    committed: Vec<AtomicBool>,
    asked_for: Mutex<BTreeSet<u32>>,
    refuse_commits: AtomicU32,
    refuse_decommits: AtomicU32,
    decommits_refused: AtomicU32,
}

impl Watched {
    fn new(system: SystemMemory) -> Self {
        Self {
            system,
            committed: (0..MEGACHUNKS).map(|_| AtomicBool::new(false)).collect(),
            asked_for: Mutex::default(),
            refuse_commits: AtomicU32::new(0),
            refuse_decommits: AtomicU32::new(0),
            decommits_refused: AtomicU32::new(0),
        }
    }
}

/// Counts down to zero; whether it was above.
fn count_down(counter: &AtomicU32) -> bool {
    let one_less = |left: u32| left.checked_sub(1);
    counter
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
        .is_ok()
}

// SAFETY: every call that succeeds goes to the system's memory, which keeps the promise.
unsafe impl Memory for Watched {
    unsafe fn commit(&self, megachunk: u32) -> io::Result<()> {
        self.asked_for.lock().unwrap().insert(megachunk);
        if count_down(&self.refuse_commits) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        // SAFETY: the caller's.
        unsafe { self.system.commit(megachunk) }?;
        let before = self.committed[megachunk as usize].swap(true, Ordering::Relaxed);
        assert!(!before, "mega-chunk {megachunk} was committed twice");
        Ok(())
    }

    unsafe fn decommit(&self, megachunks: Range<u32>) -> io::Result<()> {
        if count_down(&self.refuse_decommits) {
            self.decommits_refused.fetch_add(1, Ordering::Relaxed);
            return Err(io::ErrorKind::Other.into());
        }
        for megachunk in megachunks.clone() {
            let before = self.committed[megachunk as usize].swap(false, Ordering::Relaxed);
            assert!(before, "mega-chunk {megachunk} had no memory to give back");
        }
        // SAFETY: the caller's.
        unsafe { self.system.decommit(megachunks) }
    }

    unsafe fn discard(&self, chunks: Range<u32>) -> io::Result<()> {
        let megachunk = chunks.start as usize / MEGACHUNK_CHUNKS;
        assert!(
            self.committed[megachunk].load(Ordering::Relaxed),
            "{chunks:?} had no memory to discard"
        );
        // SAFETY: the caller's.
        unsafe { self.system.discard(chunks) }
    }

    fn base(&self, chunk: u32) -> NonNull<u8> {
        let megachunk = chunk as usize / MEGACHUNK_CHUNKS;
        assert!(
            self.committed[megachunk].load(Ordering::Relaxed),
            "chunk {chunk} was asked for without memory"
        );
        self.system.base(chunk)
    }
}
