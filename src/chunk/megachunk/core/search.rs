//! The search: where chunks are looked for.
//!
//! Must hold: a search that finds nothing has been everywhere, wherever it began.
//!
//! Orderings: looks at masks are relaxed: what came back before the call is seen, as that happened before, and `take`
//! decides by a compare-and-swap.

use core::cell::Cell;
use core::ops::Range;

use super::{Attempt, Core, Memory, Tally, Threads};
use crate::chunk::ChunkError;
use crate::chunk::megachunk::bits::lowest_run;
use crate::chunk::megachunk::hints::{at, leaves_group};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::MEGACHUNKS;
use crate::sync::{mutant, probe};

/// Searches by hints that may be crossed by other threads' changes before every mask is looked at.
const QUIET_TRIES: usize = if cfg!(loom) { 1 } else { 3 };

/// What is looked for, and where first.
pub(super) struct Wanted<P> {
    /// Neighbouring chunks.
    pub(super) len: u32,
    /// Whether places are counted from the top.
    pub(super) down: bool,
    /// The place where the search begins. From the last it goes on at the first.
    pub(super) from: u32,
    /// A mega-chunk that comes before all others.
    pub(super) before: Option<u32>,
    /// Picks chunks of a mask.
    pub(super) pick: P,
    /// Set when another thread takes in a mega-chunk where this one is about to.
    pub(super) crowded: Cell<bool>,
}

impl<M: Memory> Core<M> {
    /// Takes what is wanted: of which mega-chunk, and which bits. If the system refuses memory for it, elsewhere, where memory is.
    pub(super) fn find_and_take<P: Fn(u64) -> Option<u64>>(
        &self,
        threads: &Threads,
        tally: &Tally,
        wanted: &Wanted<P>,
    ) -> Result<(u32, u64), ChunkError> {
        let again = wanted
            .before
            .map(|megachunk| (megachunk, self.take(tally, megachunk, wanted)));
        let found = match again {
            Some((megachunk, Ok(Attempt::Taken(bits)))) => return Ok((megachunk, bits)),
            Some((_, Err(refused))) => Err(refused),
            _ => self.search_surely(threads, tally, wanted),
        };
        match found {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(ChunkError::Exhausted {
                len: wanted.len as usize,
            }),
            Err(refused) => self.take_committed(tally, wanted).ok_or(refused),
        }
    }

    /// Takes what is wanted where the memory is there already.
    #[cold]
    fn take_committed<P: Fn(u64) -> Option<u64>>(
        &self,
        tally: &Tally,
        wanted: &Wanted<P>,
    ) -> Option<(u32, u64)> {
        for megachunk in self.touched().flatten() {
            let mask = self.mask(megachunk).load(Ordering::Relaxed);
            if self.has_memory(megachunk)
                && lowest_run(mask, wanted.len).is_some()
                && let Ok(Attempt::Taken(bits)) = self.take(tally, megachunk, wanted)
            {
                return Some((megachunk, bits));
            }
        }
        None
    }

    /// Looks where the hints say there may be what is wanted, and takes it there.
    fn search<P: Fn(u64) -> Option<u64>>(
        &self,
        tally: &Tally,
        wanted: &Wanted<P>,
    ) -> Result<Option<(u32, u64)>, ChunkError> {
        let found = self.search_in(tally, wanted, wanted.from..MEGACHUNKS)?;
        if found.is_some() || wanted.from == 0 || mutant::active("search_ends_at_the_last") {
            return Ok(found);
        }
        self.search_in(tally, wanted, 0..wanted.from)
    }

    /// `search` among some places.
    fn search_in<P: Fn(u64) -> Option<u64>>(
        &self,
        tally: &Tally,
        wanted: &Wanted<P>,
        places: Range<u32>,
    ) -> Result<Option<(u32, u64)>, ChunkError> {
        let Wanted { len, down, .. } = *wanted;
        let mut next = self.hints.find(places.clone(), len, down);
        while let Some(place) = next {
            let megachunk = at(place, down);
            match self.take(tally, megachunk, wanted)? {
                Attempt::Taken(bits) => return Ok(Some((megachunk, bits))),
                Attempt::None { longest } => {
                    let _lag = (!mutant::active("learn_lag_not_said")).then(|| tally.lag.begin());
                    self.hints.learn(megachunk, longest, || {
                        // Ordering: Relaxed: the Acquire in `learn` keeps the look behind it.
                        self.mask(megachunk).load(Ordering::Relaxed)
                    });
                }
            }
            next = self.hints.find(place + 1..places.end, len, down);
            if leaves_group(place, next) {
                let _lag = (!mutant::active("learn_lag_not_said")).then(|| tally.lag.begin());
                self.hints.learn_group(megachunk);
            }
        }
        Ok(None)
    }

    /// `search`, and before it says that there is nothing: once more, until no other thread's change
    /// of the hints crossed it. If one stands between a change and its hint, perhaps for ever, every
    /// mask is looked at.
    fn search_surely<P: Fn(u64) -> Option<u64>>(
        &self,
        threads: &Threads,
        tally: &Tally,
        wanted: &Wanted<P>,
    ) -> Result<Option<(u32, u64)>, ChunkError> {
        let found = self.search(tally, wanted)?;
        if found.is_some() {
            return Ok(found);
        }
        for _ in 0..QUIET_TRIES {
            let quiet = threads.quiet(tally);
            if quiet.is_none() {
                break;
            }
            let found = self.search(tally, wanted)?;
            if found.is_some()
                || threads.quiet(tally) == quiet
                || mutant::active("quiet_not_compared")
            {
                return Ok(found);
            }
        }
        self.search_masks(tally, wanted)
    }

    /// Looks at every mask.
    #[cold]
    fn search_masks<P: Fn(u64) -> Option<u64>>(
        &self,
        tally: &Tally,
        wanted: &Wanted<P>,
    ) -> Result<Option<(u32, u64)>, ChunkError> {
        if mutant::active("no_mask_scan") {
            return Ok(None);
        }
        for megachunk in 0..MEGACHUNKS {
            probe::probed(1);
            let mask = self.mask(megachunk).load(Ordering::Relaxed);
            if lowest_run(mask, wanted.len).is_some()
                && let Attempt::Taken(bits) = self.take(tally, megachunk, wanted)?
            {
                return Ok(Some((megachunk, bits)));
            }
        }
        Ok(None)
    }
}
