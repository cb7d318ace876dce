//! The protocol: take, give back, commit, decommit.
//!
//! # State
//! * One *in-use mask* for each mega-chunk, 1 = taken: the only authority on who may use a chunk.
//! * One *committed* flag for each: whether its memory is there.
//! * Hints over the masks (`hints`), and how many committed mega-chunks are empty: never relied upon.
//!
//! # Operations, each with its linearization point
//! * take, mask neither empty nor full: a compare-and-swap that adds the bits.
//! * take, mask empty: a compare-and-swap 0 → all; commit, if the flag is clear; `fetch_sub` of the
//!   bits that are not wanted (the first compare-and-swap; the others become free at the `fetch_sub`).
//! * give back: `fetch_sub` of the bits.
//! * decommit: a compare-and-swap 0 → all; give the memory back; clear the flag; `swap` to 0.
//! * discard: a compare-and-swap → all, of a mask that is not 0; the memory of the chunks that were free; give back.
//!
//! # Invariants
//! 1. Bits are removed only by whoever added them (or holds them by a handle that was passed on).
//! 2. The flag and the mapping change only while their changer holds all bits. So a mega-chunk with
//!    some bits set is committed, and stays so while its bits are held.
//! 3. When a commit fails, the mask is 0 again and the flag clear: nothing has changed.
//!
//! While a thread commits or decommits, the others see the mega-chunk as full and go on; a thread
//! that stops there for ever takes that mega-chunk with it (while it decommits, up to 64 of them), and
//! stops nobody.
//!
//! papers/mega-chunk.md has the argument; loom-tests/ the models.

mod budget;
mod check;
mod discard;
mod kept;
mod search;
mod spare;
mod surplus;

use core::cell::Cell;
use core::ops::{Range, RangeInclusive};
use std::io;

use crossbeam_utils::CachePadded;

use crate::chunk::megachunk::bits::{longest_run, lowest, lowest_run, run_round};
use crate::chunk::megachunk::cache::{BATCH, Cache};
use crate::chunk::megachunk::hints::{Hints, at};
use crate::chunk::megachunk::tally::Tally;
use crate::chunk::memory::Memory;
use crate::chunk::{ChunkError, Run};
use crate::memory::Table;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::geometry::{ALL_CHUNKS, MEGACHUNK_CHUNKS, MEGACHUNKS};
use crate::sync::local::Registry;
use crate::sync::{mutant, probe};

use budget::Budget;
use search::Wanted;
use spare::Spare;

/// The threads' caches.
pub(crate) type Threads = Registry<Cache, Tally>;

/// The shared state of an allocator, without the threads' caches.
#[derive(Debug)]
pub(crate) struct Core<M> {
    memory: M,
    masks: Table<AtomicU64>,
    /// 1 = committed. Written only by the holder of all 64 bits; anybody may read it for statistics.
    committed: Table<AtomicU32>,
    pub(super) hints: Hints,
    /// One for each group of mega-chunks, not 0 once one of them was committed: who looks at all memory
    /// looks no further. Models do without, and look everywhere.
    #[cfg(not(loom))]
    touched: Vec<AtomicU32>,
    /// Committed mega-chunks with nothing in use. On a line of its own: who takes all of a mega-chunk counts here, and
    /// everybody looks at the tables.
    spare: CachePadded<Spare>,
    budget: Budget,
    commits: AtomicU64,
    decommits: AtomicU64,
}

/// What an attempt to take chunks of one mega-chunk came to.
enum Attempt {
    /// The bits that are the caller's now.
    Taken(u64),
    /// No such run; the longest there is.
    None { longest: u32 },
}

/// What the statistics are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    pub(crate) committed: u64,
    pub(crate) empty: u64,
    /// Bits set in all masks.
    pub(crate) taken: u64,
    /// Free chunks in mega-chunks that are partly in use.
    pub(crate) free_in_used: u64,
    /// Of those, the ones in the longest run of their mega-chunk.
    pub(crate) free_in_longest: u64,
    pub(crate) commits: u64,
    pub(crate) decommits: u64,
}

impl<M: Memory> Core<M> {
    /// Keeps so many empty mega-chunks, and asks for memory for so many at most, if that was said.
    pub(crate) fn new(
        memory: M,
        spare: RangeInclusive<usize>,
        most: Option<u64>,
    ) -> io::Result<Self> {
        Ok(Self {
            memory,
            masks: Table::new(MEGACHUNKS as usize, 3 << 12)?,
            committed: Table::new(MEGACHUNKS as usize, 19 << 12)?,
            hints: Hints::new()?,
            #[cfg(not(loom))]
            touched: (0..MEGACHUNKS / GROUP).map(|_| AtomicU32::new(0)).collect(),
            spare: CachePadded::new(Spare::new(*spare.start(), *spare.end())),
            budget: Budget::new(most),
            commits: AtomicU64::new(0),
            decommits: AtomicU64::new(0),
        })
    }

    pub(crate) fn memory(&self) -> &M {
        &self.memory
    }

    pub(crate) fn mask(&self, megachunk: u32) -> &AtomicU64 {
        self.masks.get(megachunk as usize)
    }

    /// Whether all of a run's chunks are taken, by whomever.
    #[inline(always)]
    pub(crate) fn is_taken(&self, run: Run) -> bool {
        // SAFETY: a run's chunks exist, and so does their mega-chunk, which has a mask.
        let mask = unsafe { self.masks.get_unchecked(run.megachunk() as usize) };
        // Ordering: Relaxed: whoever owns the run knows that it was taken, and nothing else is read by the answer.
        run.is_within(mask.load(Ordering::Relaxed))
    }

    // --- Taking ---------------------------------------------------------------------------------

    /// Takes a run of `len` chunks, from the top down: runs and single chunks grow towards each
    /// other, so that singles do not break up the room for runs.
    ///
    /// Lock-free: an attempt fails if another thread has changed the same word meanwhile (or, on some processors,
    /// for no reason).
    pub(crate) fn take_run(
        &self,
        threads: &Threads,
        cache: &mut Cache,
        tally: &Tally,
        len: u32,
    ) -> Result<Run, ChunkError> {
        let returned = cache.returned.take_if(|run| run.len() == len);
        if mutant::active("returned_not_claimed")
            && let Some(run) = returned
        {
            self.mask(run.megachunk())
                .fetch_or(run.mask(), Ordering::AcqRel);
            tally.took(len);
            return Ok(run);
        }
        let wanted = Wanted {
            len,
            down: true,
            from: cache.runs.first_place(),
            before: returned
                .map(Run::megachunk)
                .filter(|&before| self.is_to_be_refilled(before, len)),
            pick: |mask| lowest_run(mask, len),
            crowded: Cell::new(false),
        };
        let (megachunk, bits) = self.find_and_take(threads, tally, &wanted)?;
        tally.took(len);
        if wanted.crowded.get() {
            cache.runs.go_apart(at(megachunk, true), cache.ordinal);
        }
        let first = megachunk * MEGACHUNK_CHUNKS + bits.trailing_zeros();
        Run::new(first, len).ok_or(ChunkError::BadLength { len: len as usize })
    }

    /// Whether a mega-chunk to which a run of `len` went back is where the next one is best taken: in the first place, or
    /// where nothing else of that length is free. From where more is free, what is in use moves to the first places by
    /// and by, so that memory goes back; so it does from a pair of which this was the last.
    fn is_to_be_refilled(&self, megachunk: u32, len: u32) -> bool {
        // Its memory may have gone back, and be elsewhere.
        if !self.has_memory(megachunk) {
            return false;
        }
        if megachunk == at(0, true) {
            return true;
        }
        // Ordering: Relaxed, both: they say where to look, and `take` looks again.
        let mask = self.mask(megachunk).load(Ordering::Relaxed);
        let is_last = |bits| lowest_run(mask | bits, len).is_none();
        lowest_run(mask, len).is_some_and(is_last)
            && (mask != 0 || self.mask(megachunk ^ 1).load(Ordering::Relaxed) != 0)
    }

    /// Takes some single chunks, of which an empty cache gets all but the one returned, from the bottom
    /// up. Lock-free.
    #[cold]
    #[inline(never)]
    pub(crate) fn refill(
        &self,
        threads: &Threads,
        cache: &mut Cache,
        tally: &Tally,
    ) -> Result<Run, ChunkError> {
        debug_assert_eq!(tally.cached(), 0, "what is in the cache comes first");
        let wanted = Wanted {
            len: 1,
            down: false,
            from: cache.singles.first_place(),
            // Its memory may have gone back, and be elsewhere.
            before: cache.megachunk.filter(|&before| self.has_memory(before)),
            pick: |mask| Some(lowest(mask, BATCH)).filter(|&bits| bits != 0),
            crowded: Cell::new(false),
        };
        let (megachunk, bits) = self.find_and_take(threads, tally, &wanted)?;
        tally.took(bits.count_ones());
        cache.megachunk = Some(megachunk);
        if wanted.crowded.get() {
            cache.singles.go_apart(megachunk, cache.ordinal);
            cache.megachunk = None;
        }
        let mut rest = bits & (bits - 1);
        while rest != 0 {
            let highest = 63 - rest.leading_zeros();
            rest &= !(1 << highest);
            cache.push_below(tally, Run::single(megachunk * MEGACHUNK_CHUNKS + highest));
        }
        let lowest = megachunk * MEGACHUNK_CHUNKS + bits.trailing_zeros();
        Ok(Run::single(lowest))
    }

    /// Takes what is wanted of a mega-chunk.
    #[inline(always)]
    fn take<P: Fn(u64) -> Option<u64>>(
        &self,
        tally: &Tally,
        megachunk: u32,
        wanted: &Wanted<P>,
    ) -> Result<Attempt, ChunkError> {
        let word = self.mask(megachunk);
        // Ordering: Relaxed: the compare-and-swap decides, and acquires.
        let mut mask = word.load(Ordering::Relaxed);
        loop {
            probe::probed(1);
            let Some(bits) = (wanted.pick)(mask) else {
                return Ok(Attempt::None {
                    longest: longest_run(mask),
                });
            };
            let empty = mask == 0;
            let new = if empty { ALL_CHUNKS } else { mask | bits };
            // Ordering: Acquire pairs with the Release in `give`, `commit` and `decommit`: the
            // chunks come as their last user left them, with their mapping.
            let order = mutant::ordering("take_relaxed", Ordering::AcqRel);
            match word.compare_exchange_weak(mask, new, order, Ordering::Relaxed) {
                Ok(_) if empty && mutant::active("commit_late") => {
                    self.give(tally, megachunk, ALL_CHUNKS & !bits);
                    self.commit(tally, megachunk)?;
                    return Ok(Attempt::Taken(bits));
                }
                Ok(_) if empty => {
                    self.commit(tally, megachunk)?;
                    // The rest of what was held for the commit.
                    self.give(tally, megachunk, ALL_CHUNKS & !bits);
                    return Ok(Attempt::Taken(bits));
                }
                Ok(_) => return Ok(Attempt::Taken(bits)),
                Err(now) => {
                    probe::failed_claim();
                    // Some processors fail without a reason, and who gives does not stay.
                    if now & !mask != 0 {
                        wanted.crowded.set(true);
                    }
                    mask = now;
                }
            }
        }
    }

    /// Makes sure that a mega-chunk's memory is there. The caller holds all its chunks; on an error,
    /// none any more.
    fn commit(&self, tally: &Tally, megachunk: u32) -> Result<(), ChunkError> {
        let flag = self.committed.get(megachunk as usize);
        if self.has_memory(megachunk) {
            self.spare.taken();
            return Ok(());
        }
        if !self.budget.claim() {
            return Err(self.beyond_budget(tally, megachunk));
        }
        // Ordering: Relaxed, all of them: the first only counts; the mask passes on the others, with the chunks.
        self.commits.fetch_add(1, Ordering::Relaxed);
        #[cfg(not(loom))]
        self.touched[(megachunk / GROUP) as usize].store(1, Ordering::Relaxed);
        // Also if the memory breaks its promise not to unwind.
        let undo = Undo(|| {
            self.budget.gone(1);
            if mutant::active("failed_commit_clears_own_bit_only") {
                self.mask(megachunk).fetch_sub(1, Ordering::AcqRel);
            } else {
                self.reopen(tally, megachunk);
            }
        });
        // SAFETY: the caller holds all chunks, and the flag says that they are not committed.
        match unsafe { self.memory.commit(megachunk) } {
            Ok(()) => {
                core::mem::forget(undo);
                flag.store(1, Ordering::Relaxed);
                self.spare.asked_for();
                Ok(())
            }
            Err(error) => Err(ChunkError::Refused {
                megachunk,
                kind: match error.kind() {
                    // What the budget says: a memory with a bound of its own has been asked.
                    io::ErrorKind::QuotaExceeded => io::ErrorKind::OutOfMemory,
                    kind => kind,
                },
            }),
        }
    }

    /// Frees all chunks of a mega-chunk that is not to have memory.
    #[cold]
    fn beyond_budget(&self, tally: &Tally, megachunk: u32) -> ChunkError {
        self.reopen(tally, megachunk);
        ChunkError::Refused {
            megachunk,
            kind: io::ErrorKind::QuotaExceeded,
        }
    }

    /// Whether a mega-chunk's memory is there.
    pub(super) fn has_memory(&self, megachunk: u32) -> bool {
        // Ordering: Relaxed. Only for a holder of all bits is the answer more than a hint, and the mask passes it on.
        self.committed
            .get(megachunk as usize)
            .load(Ordering::Relaxed)
            == 1
    }

    /// The mega-chunks that may have been committed, by group.
    pub(super) fn touched(&self) -> impl Iterator<Item = Range<u32>> {
        self.groups(true)
    }

    /// The others.
    fn untouched(&self) -> impl Iterator<Item = Range<u32>> {
        self.groups(false)
    }

    fn groups(&self, touched: bool) -> impl Iterator<Item = Range<u32>> {
        let groups = 0..MEGACHUNKS / GROUP;
        let groups = groups.filter(move |&group| self.is_touched(group) == touched);
        groups.map(|group| group * GROUP..(group + 1) * GROUP)
    }

    /// Whether mega-chunks of a group may have been committed.
    #[cfg(not(loom))]
    fn is_touched(&self, group: u32) -> bool {
        // Ordering: Relaxed: who missed it would miss a mega-chunk that others have just begun with. What came back there
        // before a call is seen there, and so is this.
        self.touched[group as usize].load(Ordering::Relaxed) == 1
    }

    /// Models look everywhere.
    #[cfg(loom)]
    fn is_touched(&self, _: u32) -> bool {
        true
    }

    /// Frees all chunks of a mega-chunk that the caller held for its mapping's sake. Others took it
    /// for full meanwhile, so the hints are cleared.
    fn reopen(&self, tally: &Tally, megachunk: u32) {
        let _lag = (!mutant::active("reopen_lag_not_said")).then(|| tally.lag.begin());
        // Ordering: Release pairs with the Acquire in `take`. A read-modify-write, though nobody else
        // can change a full mask: models of the memory order see it as one chain that way.
        self.mask(megachunk).swap(0, Ordering::AcqRel);
        self.hints.clear(megachunk, MEGACHUNK_CHUNKS);
    }

    // --- Giving back ----------------------------------------------------------------------------

    /// Frees chunks of a mega-chunk, all held by the caller. Wait-free, but for a decommit.
    pub(crate) fn give(&self, tally: &Tally, megachunk: u32, bits: u64) {
        if self.free(tally, megachunk, bits) {
            self.give_memory_back(tally, megachunk);
        }
    }

    /// Frees chunks of a mega-chunk, all held by the caller; whether so many mega-chunks are empty now that memory
    /// is to be given back. Wait-free.
    fn free(&self, tally: &Tally, megachunk: u32, bits: u64) -> bool {
        if bits == 0 {
            return false;
        }
        let lag = (!mutant::active("free_lag_not_said")).then(|| tally.lag.begin());
        // The bits are the caller's and set, so nothing is borrowed from others.
        //
        // Ordering: Release pairs with the Acquire in `take`.
        let order = mutant::ordering("give_relaxed", Ordering::AcqRel);
        let old = self.mask(megachunk).fetch_sub(bits, order);
        debug_assert!(
            old & bits == bits,
            "chunks were given back that were not held"
        );
        let new = old & !bits;
        // Always, also where a longer run was there before: to know that costs more than the change.
        if !mutant::active("free_unchecked_hint") {
            self.hints.clear(megachunk, run_round(new, bits));
        }
        drop(lag);
        new == 0 && self.spare.emptied()
    }

    // --- Statistics -----------------------------------------------------------------------------

    pub(crate) fn totals(&self) -> Totals {
        // Ordering: Relaxed, all of them: counts for who looks on.
        let mut totals = Totals {
            committed: 0,
            empty: 0,
            taken: 0,
            free_in_used: 0,
            free_in_longest: 0,
            commits: self.commits.load(Ordering::Relaxed),
            decommits: self.decommits.load(Ordering::Relaxed),
        };
        for megachunk in self.touched().flatten() {
            let mask = self.mask(megachunk).load(Ordering::Relaxed);
            let committed = self.has_memory(megachunk);
            totals.committed += u64::from(committed);
            totals.empty += u64::from(committed && mask == 0);
            totals.taken += u64::from(mask.count_ones());
            if mask != 0 {
                totals.free_in_used += u64::from(MEGACHUNK_CHUNKS - mask.count_ones());
                totals.free_in_longest += u64::from(longest_run(mask));
            }
        }
        totals
    }
}

/// Does something when it is dropped, unless it is forgotten.
struct Undo<F: FnMut()>(F);

impl<F: FnMut()> Drop for Undo<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Mega-chunks of a group: as many are held at a time to give their memory back, at most, 64 MiB.
#[cfg(not(loom))]
const GROUP: u32 = 64;
#[cfg(loom)]
const GROUP: u32 = MEGACHUNKS;

#[cfg(all(test, not(loom)))]
mod layout {
    use core::mem::{align_of, offset_of};

    use super::*;
    use crate::chunk::memory::ReservedMemory;

    #[test]
    fn what_runs_count_shares_no_cache_line_with_what_everybody_reads() {
        type Shared = Core<ReservedMemory>;

        const LINE: usize = align_of::<CachePadded<u8>>();
        assert_eq!(size_of::<CachePadded<Spare>>(), LINE);
        let written = offset_of!(Shared, spare) / LINE;
        let read = [
            offset_of!(Shared, memory),
            offset_of!(Shared, masks),
            offset_of!(Shared, committed),
            offset_of!(Shared, hints),
            offset_of!(Shared, touched),
        ];
        assert!(read.iter().all(|offset| offset / LINE != written));
    }
}
