//! The check for quiet moments: that masks, memory, hints, caches, tickets and counts do not contradict each other.
//!
//! Called by tests and fuzzers after each operation, with a universe's by [`Universe::check`], and by users who fear for
//! their chunks. It reads, and changes nothing, but that the calling thread has a cache afterwards.
//!
//! What must hold is what papers/mega-chunk.md says of moments when no operation is running: J2 to J4. A hint may lag
//! in one direction: one that says "there may be such a run" may stand where there is none.
//!
//! Of other threads' caches only the public part may be read. A thread that is about to end may still give back
//! what it kept, and memory with it, which is no flaw: while there is one that may, what seems wrong is looked at again
//! for a while.
//!
//! Orderings: relaxed: who says that it is quiet has seen what the others did.
//!
//! [`Universe::check`]: crate::archetype::Universe::check

use super::cache::{CACHED_CHUNKS, Cache, KEPT};
use super::tally::Tally;
use super::{MegachunkAllocator, Memory, Shared};
use crate::chunk::Run;
use crate::flaw::{FlawPlace, Found, IntegrityError};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::MEGACHUNK_CHUNKS;

impl<M: Memory> MegachunkAllocator<M> {
    /// Checks that nothing contradicts itself: what is taken has memory, as many chunks are taken as threads have
    /// counted, none is in two hands as far as can be seen, a ticket is for a chunk that is taken, a hint that says that
    /// there is no run is right, and counts are what they count. O(mega-chunks), and their tickets in groups of 64 of which
    /// some were ever used.
    ///
    /// For quiet moments: exact while no other thread takes, gives, flushes or trims. (For one that ends, and gives back
    /// what it kept, what seems wrong is looked at up to a thousand times, a thousandth of a second apart.) Else it may
    /// find flaws that are none.
    ///
    /// Chunks that threads keep are looked at one by one where they are the calling thread's. Of others' it sees the last
    /// one; how many these keep is taken at their word.
    ///
    /// ```
    /// use megachunk::chunk::MegachunkAllocator;
    ///
    /// let allocator = MegachunkAllocator::new();
    /// let runs = allocator.allocate_many(150)?;
    /// let _one = allocator.allocate()?;
    /// drop(runs);
    /// allocator.check()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`IntegrityError`] with all that is wrong, and where. Whoever finds that has found a bug of this crate, or has a
    /// [`Memory`] that breaks its promise not to unwind.
    pub fn check(&self) -> Result<(), IntegrityError> {
        let mut found = Found::default();
        self.check_into(&mut found);
        found.into_result("allocator")
    }

    /// Notes what is wrong.
    pub(crate) fn check_into(&self, found: &mut Found) {
        found.append(Found::settled(|found| {
            self.with_cache(|_, cache, tally| self.shared.check(cache, tally, found))
        }));
    }
}

impl<M: Memory> Shared<M> {
    /// Notes what is wrong; whether others have caches, and may be about to give back what they keep.
    fn check(&self, cache: &Cache, tally: &Tally, found: &mut Found) -> bool {
        let mut has_others = false;
        let mut kept = 0;
        let mut hands = Vec::new();
        for node in self.registry.nodes() {
            let (owned, other) = (node.is_owned(), &node.public);
            let is_other = !core::ptr::eq(other, tally);
            has_others |= owned && is_other;
            kept += u64::from(other.cached());
            let hand = self.check_tally(other, owned, found);
            hands.extend(hand.filter(|_| is_other));
        }
        let own = self.check_own(cache, tally, &mut hands, found);
        let taken = self.core.check(found);
        let in_use = Tally::total(self.registry.nodes().map(|node| &node.public));
        // What is kept cancels out: a chunk that another thread keeps twice is seen when fewer are in use than none.
        let counted = in_use + kept as i64;
        found.expect(counted == taken as i64, FlawPlace::Allocator, || {
            format!("{taken} chunks are taken, and {counted} are counted")
        });
        found.expect(in_use >= 0, FlawPlace::Allocator, || {
            format!("{in_use} chunks are in use, and {kept} are kept")
        });
        self.check_tickets(&own, found);
        has_others
    }

    /// Notes what is wrong with what everybody may read of a cache; the chunk that its thread gave back last, if that is
    /// one that it keeps.
    fn check_tally(&self, tally: &Tally, owned: bool, found: &mut Found) -> Option<u32> {
        let kept = tally.cached();
        found.expect(
            !tally.lag.is_odd() && !tally.is_leaving(),
            FlawPlace::Allocator,
            || "a cache says that its hints lag, or that chunks leave it".into(),
        );
        found.expect(kept as usize <= CACHED_CHUNKS, FlawPlace::Allocator, || {
            format!("a cache of {CACHED_CHUNKS} chunks has {kept}")
        });
        found.expect(owned || kept == 0, FlawPlace::Allocator, || {
            format!("a cache that nobody has keeps {kept} chunks")
        });
        let hand = Run::from_bits(tally.hand.load(Ordering::Relaxed))?;
        self.check_kept(hand, found);
        Some(hand.first())
    }

    /// Notes whether a chunk is free that a cache keeps.
    fn check_kept(&self, chunk: Run, found: &mut Found) {
        let at = FlawPlace::Megachunk(chunk.megachunk());
        found.expect(self.core.is_taken(chunk), at, || {
            format!("{chunk} is free, and a cache keeps it")
        });
    }

    /// Notes what is wrong with what the calling thread keeps, beside what others have in hand; those chunks, in order.
    fn check_own(
        &self,
        cache: &Cache,
        tally: &Tally,
        others: &mut Vec<u32>,
        found: &mut Found,
    ) -> Vec<u32> {
        if tally.kept.load(Ordering::Relaxed) as usize > KEPT {
            // Which is said already.
            return Vec::new();
        }
        let mut kept = [Run::single(0); CACHED_CHUNKS];
        let count = cache.all(tally, &mut kept);
        let kept = &kept[..count];
        kept.iter().for_each(|&chunk| self.check_kept(chunk, found));
        let mut own: Vec<u32> = kept.iter().map(|chunk| chunk.first()).collect();
        own.sort_unstable();
        // (Both here and there is twice, too.)
        others.extend_from_slice(&own);
        others.sort_unstable();
        for two in others.windows(2) {
            let at = FlawPlace::Megachunk(two[0] / MEGACHUNK_CHUNKS);
            found.expect(two[0] != two[1], at, || {
                format!("chunk {} is kept twice", two[0])
            });
        }
        own
    }

    /// Notes tickets that are out for chunks that nobody has taken, or that the calling thread keeps. (A run's is that of
    /// its first chunk.)
    fn check_tickets(&self, own: &[u32], found: &mut Found) {
        for megachunk in self.core.touched().flatten() {
            let mask = self.core.mask(megachunk).load(Ordering::Relaxed);
            for lane in 0..MEGACHUNK_CHUNKS {
                let chunk = megachunk * MEGACHUNK_CHUNKS + lane;
                let ticket = self.tickets.get(chunk as usize).load(Ordering::Relaxed);
                if ticket.is_multiple_of(2) {
                    continue;
                }
                let in_use = mask >> lane & 1 == 1 && own.binary_search(&chunk).is_err();
                found.expect(in_use, FlawPlace::Megachunk(megachunk), || {
                    format!("a ticket is out for chunk {chunk}, which is not in use")
                });
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
