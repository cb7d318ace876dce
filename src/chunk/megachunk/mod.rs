//! `MegachunkAllocator`: the concurrent allocator of 16 KiB chunks.

mod bits;
mod cache;
mod check;
mod chunks;
mod core;
mod hints;
#[cfg(loom)]
pub mod model;
mod options;
#[cfg(not(loom))]
mod recycled;
mod seat;
mod stats;
mod tally;

use ::core::fmt;
use std::io;
use std::ptr::NonNull;

use crate::chunk::memory::{Memory, SystemMemory};
use crate::chunk::{ChunkAllocator, ChunkError, MEGACHUNK_CHUNKS, Run};
use crate::memory::Table;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::geometry;
use crate::sync::local::{self, Registry};

pub use cache::CACHED_CHUNKS;
pub use chunks::{Chunks, RawChunks};
pub use options::ChunkOptions;
pub use stats::ChunkStats;

use cache::Cache;
use core::Core;
use tally::Tally;

/// Gives out 16 KiB chunks, singly or in runs of up to 64 neighbours, to any thread at any moment,
/// without a lock.
///
/// Two levels: 16,384 mega-chunks of 64 chunks, 1,048,576 chunks, 16 GiB. All methods take `&self`.
///
/// # Promises
/// * **No chunk has two owners.** Handles are linear ([`Chunks`]); tickets ([`RawChunks`]) are good
///   once.
/// * **Nobody waits.** Taking and giving back are lock-free. A thread that stops for ever while it
///   commits or gives back memory takes those mega-chunks with it, and stops nobody.
/// * **A refusal changes nothing.** When the system refuses memory, the call is served from memory
///   that is there; if that cannot be, masks and mappings are as before the call.
///
/// # When it is exhausted
/// [`ChunkError::Exhausted`] comes when the call has found no such run that it could have. It finds every
/// run of chunks that were given back before the call began and that nobody has taken since: by the hints,
/// or, if other threads' changes crossed the search, by a look at every mask. Free chunks that it cannot
/// have are those that other threads keep for themselves, at most [`CACHED_CHUNKS`] (16) a thread that has
/// used the allocator, mega-chunks that another thread is opening for its first chunks (one) or giving back (up to 64)
/// at that moment, and the free ones of a mega-chunk whose memory another thread [discards](Self::discard).
///
/// # Costs
/// | operation | progress | read-modify-writes | complexity |
/// |---|---|---|---|
/// | one chunk, taken or given back | lock-free | 0, and 2 in 8 where these are neighbours; up to 5 for each mega-chunk they are of | O(1) |
/// | a run, taken | lock-free | 1 as a rule where this thread gave one as long back last, of an empty mega-chunk 2 to 7; a search adds 1 for each mega-chunk that it finds full and no search has found full since chunks went back there, and up to 2 for each 64 side by side | a few hundred loads, once the hints have learned |
/// | a run, given back | lock-free | 2 to 5; some forty where memory goes back | O(1), but for memory |
/// | `base` | wait-free | 0 | an addition |
///
/// Memory: 20 bytes a mega-chunk in use for the tables, in whole pages for each stretch of them; 8 a chunk where [`RawChunks`] are used, and 16 KiB a chunk from
/// the first touch.
/// Empty mega-chunks are kept up to [`ChunkOptions::retain`] and eight more (where what was given back is asked for
/// again, more, up to [`ChunkOptions::retain_at_most`]), and then given back in pairs (2 MiB); an empty one whose
/// neighbour is in use is kept until [`trim`](Self::trim).
///
/// # Threads, forks, allocators, signals
/// * A thread finds its own cache at once if it used no other allocator since. If it uses several in turn, it finds
///   those of 16 in a table, a few nanoseconds later; allocators and indices whose numbers (they are counted as they
///   are made) are equal modulo 16 share a place there: then it looks into a larger table, tens of nanoseconds however
///   many it uses.
/// * In the child of a `fork`, the allocator is a copy, and only the calling thread is there: what other threads kept
///   for themselves, or were in the middle of, stays taken in the copy.
/// * A thread's first call takes memory from the global allocator, so an allocator of chunks cannot serve one; and no
///   method may be called from a signal handler.
/// * `mlockall(MCL_FUTURE)` fetches what is reserved after it, 16 GiB, unless it comes with `MCL_ONFAULT`. Locked memory
///   is not given back: the system refuses that, which changes nothing else (`decommits` of the statistics counts the
///   calls).
///
/// ```
/// use megachunk::chunk::MegachunkAllocator;
///
/// let allocator = MegachunkAllocator::new();
/// let chunk = allocator.allocate()?;
/// let run = allocator.allocate_run(64)?;
/// assert_eq!((chunk.run().len(), run.run().len(), allocator.in_use()), (1, 64, 65));
/// drop((chunk, run));
/// assert_eq!(allocator.in_use(), 0);
/// # Ok::<(), megachunk::chunk::ChunkError>(())
/// ```
///
/// Source of the idea: Unity DOTS' chunk allocator (mega-chunks, in-use masks). The protocol is this
/// crate's own: see `papers/mega-chunk.md`.
pub struct MegachunkAllocator<M: Memory = SystemMemory> {
    shared: Arc<Shared<M>>,
}

/// What threads keep alive while they give their caches back.
#[derive(Debug)]
pub(crate) struct Shared<M> {
    core: Core<M>,
    registry: Registry<Cache, Tally>,
    /// Caches that were made.
    caches: AtomicU32,
    /// For each chunk the number of tickets issued and redeemed: odd while one is out.
    tickets: Table<AtomicU64>,
}

impl<M: Memory> local::Home for Shared<M> {
    type Private = Cache;
    type Public = Tally;

    const KIND: usize = 1;

    fn registry(&self) -> &Registry<Cache, Tally> {
        &self.registry
    }

    fn new_parts(&self) -> (Cache, Tally) {
        // Ordering: Relaxed, a number.
        let ordinal = self.caches.fetch_add(1, Ordering::Relaxed) + 1;
        (Cache::new(ordinal), Tally::default())
    }

    fn retire(&self, cache: &mut Cache, tally: &Tally) {
        self.core.flush(cache, tally);
    }
}

impl MegachunkAllocator {
    /// An allocator with nothing in use and the default [options](ChunkOptions).
    ///
    /// # Panics
    /// If the system has no address space left for the tables, 20 MiB;
    /// [`ChunkOptions::build`] returns the error instead.
    #[must_use]
    pub fn new() -> Self {
        match ChunkOptions::new().build() {
            Ok(allocator) => allocator,
            Err(error) => panic!("no address space for a chunk allocator: {error}"),
        }
    }
}

impl<M: Memory> MegachunkAllocator<M> {
    /// Chunks in all: 1,048,576.
    pub const CAPACITY: usize = crate::chunk::CHUNKS;

    fn with_options(options: &ChunkOptions, memory: M) -> io::Result<Self> {
        let shared = Shared {
            core: Core::new(memory, options.retain..=options.most(), options.budget())?,
            registry: Registry::new(),
            caches: AtomicU32::new(0),
            tickets: Table::new(crate::chunk::CHUNKS, 23 << 12)?,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Runs `access` on this thread's cache. `access` calls nothing that comes back here.
    #[inline(always)]
    fn with_cache<R>(&self, access: impl FnOnce(&Core<M>, &mut Cache, &Tally) -> R) -> R {
        let core = &self.shared.core;
        // SAFETY: every caller is in this room, and passes a closure that calls nothing but the core
        // and what belongs to it, and reads what is public of threads' nodes: nothing that looks for this thread's.
        unsafe { local::with(&self.shared, |cache, tally| access(core, cache, tally)) }
    }

    /// Takes a run, which the caller owns then.
    #[inline(always)]
    pub(crate) fn take(&self, len: usize) -> Result<Run, ChunkError> {
        if len == 1
            && let Some(node) = local::hot(&self.shared)
        {
            // SAFETY: popping calls nothing that comes back here.
            let kept = unsafe { node.with(|cache, tally| cache.pop(tally)) };
            if let Some(chunk) = kept {
                return Ok(chunk);
            }
        }
        self.take_shared(len)
    }

    /// `take`, when the thread's cache is not at hand or does not have it.
    #[cold]
    #[inline(never)]
    fn take_shared(&self, len: usize) -> Result<Run, ChunkError> {
        if !(1..=MEGACHUNK_CHUNKS).contains(&len) {
            return Err(ChunkError::BadLength { len });
        }
        let threads = &self.shared.registry;
        self.with_cache(|core, cache, tally| {
            if len == 1 {
                return match cache.pop(tally) {
                    Some(chunk) => Ok(chunk),
                    None => core.refill(threads, cache, tally),
                };
            }
            match core.take_run(threads, cache, tally, len as u32) {
                // The thread's own cache may hold what is missing.
                Err(ChunkError::Exhausted { .. }) if tally.cached() > 0 => {
                    core.flush(cache, tally);
                    core.take_run(threads, cache, tally, len as u32)
                }
                // Only if it does: else a refusal would change masks.
                Err(ChunkError::Refused { .. }) if core.is_missing(cache, tally, len as u32) => {
                    let _ = core.free_all(cache, tally);
                    core.take_run(threads, cache, tally, len as u32)
                }
                result => result,
            }
        })
    }

    /// Gives a run back.
    ///
    /// # Safety
    /// The caller owns the run, and nobody uses its memory from now on.
    #[inline(always)]
    pub(crate) unsafe fn give_back(&self, run: Run) {
        let kept = run.len() == 1
            && local::hot(&self.shared).is_some_and(|node| {
                // SAFETY: pushing calls nothing that comes back here.
                unsafe { node.with(|cache, tally| cache.push(tally, run)) }
            });
        if !kept {
            // SAFETY: the caller's.
            unsafe { self.give_back_shared(run) };
        }
    }

    /// `give_back`, when the thread's cache is not at hand or has no room.
    ///
    /// # Safety
    /// As for `give_back`.
    #[cold]
    #[inline(never)]
    unsafe fn give_back_shared(&self, run: Run) {
        self.with_cache(|core, cache, tally| {
            if run.len() > 1 {
                cache.returned = Some(run);
                tally.gave(run.len());
                core.give(tally, run.megachunk(), run.mask());
            } else if !cache.push(tally, run) {
                core.spill(cache, tally, run);
            }
        });
    }

    /// Takes one chunk. Lock-free; no read-modify-write but a few in 8.
    ///
    /// # Errors
    /// [`ChunkError::Exhausted`], as [above](Self#when-it-is-exhausted); [`ChunkError::Refused`] when
    /// the system has no memory. Nothing has changed then.
    #[inline]
    pub fn allocate(&self) -> Result<Chunks<'_, M>, ChunkError> {
        let run = self.take(1)?;
        // SAFETY: just taken.
        Ok(unsafe { Chunks::new(self, run) })
    }

    /// Takes `len` neighbouring chunks of one mega-chunk, 1 to 64. Lock-free.
    ///
    /// # Errors
    /// As for [`allocate`](Self::allocate), and [`ChunkError::BadLength`]. If it is exhausted, this thread has given back the
    /// chunks that it kept.
    pub fn allocate_run(&self, len: usize) -> Result<Chunks<'_, M>, ChunkError> {
        let run = self.take(len)?;
        // SAFETY: just taken.
        Ok(unsafe { Chunks::new(self, run) })
    }

    /// Takes `len` neighbouring chunks, or half as many, or a quarter …: the longest of those runs
    /// that there is. Lock-free.
    ///
    /// # Errors
    /// As for [`allocate_run`](Self::allocate_run); exhausted or refused only if not even one chunk is left.
    pub fn allocate_up_to(&self, len: usize) -> Result<Chunks<'_, M>, ChunkError> {
        let mut wanted = len;
        let mut shortage: Option<ChunkError> = None;
        loop {
            match self.allocate_run(wanted) {
                Err(error) if error.is_shortage() => {
                    let first = shortage.get_or_insert(error);
                    if wanted == 1 {
                        return Err(first.clone());
                    }
                    wanted /= 2;
                }
                result => return result,
            }
        }
    }

    /// Takes `count` chunks in as few runs as possible, the longest first; all or none. Lock-free.
    ///
    /// ```
    /// # use megachunk::chunk::MegachunkAllocator;
    /// let allocator = MegachunkAllocator::new();
    /// let runs = allocator.allocate_many(150)?;
    /// let lengths: Vec<_> = runs.iter().map(|chunks| chunks.run().len()).collect();
    /// assert_eq!(lengths, [64, 64, 22]);
    /// # Ok::<(), megachunk::chunk::ChunkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ChunkError::TooFew`] chunks are free; [`ChunkError::Refused`], as for [`allocate`](Self::allocate).
    pub fn allocate_many(&self, count: usize) -> Result<Vec<Chunks<'_, M>>, ChunkError> {
        // Not by trying: all others would find none meanwhile.
        if count > crate::chunk::CHUNKS {
            return Err(ChunkError::TooFew { count });
        }
        let mut runs = Vec::with_capacity(count.div_ceil(MEGACHUNK_CHUNKS));
        let mut left = count;
        // No longer run than this is left.
        let mut longest = MEGACHUNK_CHUNKS;
        let mut refused = None;
        while left > 0 {
            let wanted = left.min(longest);
            match self.allocate_run(wanted) {
                Ok(run) => {
                    runs.push(run);
                    left -= wanted;
                }
                Err(error) if error.is_shortage() => {
                    if let ChunkError::Refused { .. } = error {
                        refused.get_or_insert(error);
                    }
                    if wanted == 1 {
                        // Those taken so far are given back as `runs` is dropped.
                        return Err(refused.unwrap_or(ChunkError::TooFew { count }));
                    }
                    longest = wanted - 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(runs)
    }

    /// Where a chunk begins: an addition, with reserved memory. For a chunk that is not in use the
    /// address means nothing. Wait-free.
    ///
    /// # Panics
    /// If there is no such chunk.
    #[inline(always)]
    #[must_use]
    pub fn base(&self, chunk: u32) -> NonNull<u8> {
        assert!(
            (chunk as usize) < crate::chunk::CHUNKS,
            "chunk {chunk} is out of range"
        );
        self.shared.core.memory().base(chunk)
    }

    /// Where the chunks' memory comes from.
    #[must_use]
    pub fn memory(&self) -> &M {
        self.shared.core.memory()
    }

    /// Chunks in use: exact while no thread takes or gives (a thread that ends does neither, when it gives
    /// back what it kept), else an estimate. Wait-free, O(threads that used it at one time).
    #[must_use]
    pub fn in_use(&self) -> usize {
        let in_use = Tally::total(self.shared.registry.nodes().map(|node| &node.public));
        // Seen in the middle of other threads' calls, the sum can be below zero for a moment.
        (in_use.max(0) as usize).min(Self::CAPACITY)
    }

    /// How the allocator stands. Looks at every mega-chunk: microseconds.
    #[must_use]
    pub fn stats(&self) -> ChunkStats {
        let totals = self.shared.core.totals();
        let in_use = self.in_use();
        let broken = totals.free_in_used - totals.free_in_longest;
        ChunkStats {
            in_use,
            cached: (totals.taken as usize).saturating_sub(in_use),
            committed_megachunks: totals.committed as usize,
            empty_megachunks: totals.empty as usize,
            free_in_used: totals.free_in_used as usize,
            fragmentation: if totals.free_in_used == 0 {
                0.0
            } else {
                broken as f64 / totals.free_in_used as f64
            },
            commits: totals.commits,
            decommits: totals.decommits,
        }
    }

    /// The in-use mask of a mega-chunk, bit `n` for its chunk `n`; chunks that a thread keeps for
    /// itself count as in use. Wait-free, one load.
    ///
    /// # Panics
    /// If there is no such mega-chunk.
    #[must_use]
    pub fn in_use_mask(&self, megachunk: u32) -> u64 {
        assert!(
            megachunk < geometry::MEGACHUNKS,
            "mega-chunk {megachunk} is out of range"
        );
        // Ordering: Acquire, for who looks from outside: what came before a change that is seen is seen, too. The
        // allocator does without.
        self.shared.core.mask(megachunk).load(Ordering::Acquire)
    }

    /// Gives the memory of all empty mega-chunks back, this thread's kept chunks included; how many
    /// mega-chunks that were. Lock-free, but for what the system does; O(mega-chunks in groups of 64
    /// of which some were ever used), and a call of the system for neighbours, up to 64 at once.
    pub fn trim(&self) -> usize {
        self.trim_to(0)
    }

    /// Gives the memory of empty mega-chunks back, as [`trim`](Self::trim) does, but for `keep` of them: those that are
    /// taken next. O(1) if there are no more of them (while other threads take and give, about so many).
    pub fn trim_to(&self, keep: usize) -> usize {
        self.with_cache(|core, cache, tally| core.flush_and_trim(cache, tally, keep) as usize)
    }

    /// Gives the memory of free chunks back whose mega-chunks are in use; how many chunks were free there. What
    /// [`trim`](Self::trim) leaves: a mega-chunk of which one chunk is in use keeps its memory, 1 MiB. Who takes such a chunk
    /// next touches fresh memory, which takes a fault a page; so this is for the end of a peak, not for each frame. This
    /// thread's kept chunks are included, others' are not.
    ///
    /// Nothing happens where the memory cannot do it: on Windows, on Unix other than Linux, Android and Apple's (where it goes
    /// when the system wants it), and of the heap. On x86 every free chunk's memory goes back;
    /// on other processors, whose pages may be as large, that of each whole 64 KiB, on such a border, that is free. Where
    /// the system makes huge pages by itself it may fill the gaps again, by and by, if they are
    /// [wanted](ChunkOptions::huge_pages).
    ///
    /// Lock-free, but for what the system does: a call for each run of free chunks, half a microsecond each on Linux, and
    /// one to five for each chunk of 16 KiB whose memory is there. The free chunks of one mega-chunk at a time, 63 at most,
    /// are taken meanwhile: others find none there.
    ///
    /// ```
    /// # use megachunk::chunk::MegachunkAllocator;
    /// let allocator = MegachunkAllocator::new();
    /// let mut chunks = allocator.allocate_many(6_400)?;
    /// // One of each mega-chunk.
    /// let kept: Vec<_> = (0..100).map(|_| allocator.allocate()).collect::<Result<_, _>>()?;
    /// chunks.clear();
    /// allocator.trim();
    /// allocator.discard();
    /// assert_eq!(allocator.in_use(), kept.len());
    /// # Ok::<(), megachunk::chunk::ChunkError>(())
    /// ```
    pub fn discard(&self) -> usize {
        self.with_cache(|core, cache, tally| {
            core.flush(cache, tally);
            core.discard(tally)
        })
    }

    /// For models: a cache, which some thread adopts. (A thread without one works with an empty cache,
    /// and gives it back, in each call.)
    #[cfg(loom)]
    #[must_use]
    pub fn thread_cache(&self) -> impl crate::sync::model::ThreadCache + 'static + use<M> {
        local::hold(&self.shared)
    }

    /// Returns the chunks that this thread keeps for itself, so that any thread can have them.
    /// Lock-free; O(chunks that it keeps), 16 at most.
    pub fn flush(&self) {
        self.with_cache(|core, cache, tally| core.flush(cache, tally));
    }

    /// Turns a ticket back into the owner of its chunks: once. Lock-free, one read-modify-write.
    ///
    /// ```
    /// # use megachunk::chunk::MegachunkAllocator;
    /// let allocator = MegachunkAllocator::new();
    /// let ticket = allocator.allocate()?.into_raw();
    /// assert!(allocator.reclaim(ticket).is_ok());
    /// assert!(allocator.reclaim(ticket).is_err());
    /// # Ok::<(), megachunk::chunk::ChunkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ChunkError::StaleTicket`] if it was redeemed before, [`ChunkError::ForeignTicket`] if it is
    /// another allocator's.
    pub fn reclaim(&self, raw: RawChunks) -> Result<Chunks<'_, M>, ChunkError> {
        let ticket = self.shared.tickets.get(raw.run.first() as usize);
        if raw.allocator != self.id() {
            return Err(ChunkError::ForeignTicket { run: raw.run });
        }
        // Ordering: only which of two gets the chunks is decided here. Who has a ticket was given it, and with it, by
        // whatever way it came, what the last owner wrote to the chunks: safe code cannot guess one. Acquire, with the
        // Release in `issue_ticket`, is not needed for that; kept.
        if ticket
            .compare_exchange(
                raw.ticket,
                raw.ticket + 1,
                Ordering::AcqRel,
                Ordering::Relaxed,
            )
            .is_ok()
        {
            // SAFETY: the ticket was issued for an owned run, and only this call redeemed it.
            return Ok(unsafe { Chunks::new(self, raw.run) });
        }
        Err(ChunkError::StaleTicket { run: raw.run })
    }

    /// Issues a ticket for a run that the caller owns and lets go of.
    fn issue_ticket(&self, run: Run) -> RawChunks {
        let counter = self.shared.tickets.get(run.first() as usize);
        // Ordering: Relaxed: only the owner of the chunk issues, who got it by its mask after the
        // one before it; none is out, so nobody redeems.
        let ticket = counter.load(Ordering::Relaxed) + 1;
        // Ordering: Release, see `reclaim`.
        counter.store(ticket, Ordering::Release);
        RawChunks {
            run,
            ticket,
            allocator: self.id(),
        }
    }

    /// This allocator's number, unique in the process.
    fn id(&self) -> u64 {
        self.shared.registry.id()
    }
}

/// Counts only, as [`in_use`](MegachunkAllocator::in_use) has them. Wait-free.
impl<M: Memory> fmt::Debug for MegachunkAllocator<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MegachunkAllocator")
            .field("in_use", &self.in_use())
            .finish_non_exhaustive()
    }
}

impl Default for MegachunkAllocator {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: no chunk has two owners, and their memory is committed until they are given back.
unsafe impl ChunkAllocator for MegachunkAllocator {
    const NAME: &'static str = "megachunk";

    fn fresh() -> Self {
        Self::new()
    }

    fn try_fresh() -> io::Result<Self> {
        ChunkOptions::new().build()
    }

    #[inline(always)]
    fn allocate(&self, len: usize) -> Result<Run, ChunkError> {
        self.take(len)
    }

    #[inline(always)]
    unsafe fn free(&self, run: Run) -> Result<(), ChunkError> {
        if !self.shared.core.is_taken(run) {
            return Err(ChunkError::NotInUse { run });
        }
        // SAFETY: the caller's.
        unsafe { self.give_back(run) };
        Ok(())
    }

    #[inline]
    fn base(&self, run: Run) -> NonNull<u8> {
        self.base(run.first())
    }

    fn in_use(&self) -> usize {
        self.in_use()
    }

    fn flush(&self) {
        self.flush();
    }
}
