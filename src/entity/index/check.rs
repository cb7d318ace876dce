//! The check for quiet moments: that claim words, hints, slots, groups, caches and counts do not contradict each other.
//!
//! Called by tests and fuzzers after each operation, with a universe's by [`Universe::check`], and by users who fear for
//! their index. It reads, and changes nothing, but that the calling thread has a cache afterwards.
//!
//! What must hold is what papers/entity-index.md says of moments when no operation is running. A hint may lag in one
//! direction: one that says "something may be free" may stand over what is full. What says "nothing is free" over
//! something that is, hides slots, and that is a flaw.
//!
//! Of other threads' caches only the public part may be read. A thread that is about to end may still give back
//! what it kept, which is no flaw: while there is one that may, what seems wrong is looked at again for a while.
//!
//! Orderings: relaxed: who says that it is quiet has seen what the others did.
//!
//! [`Universe::check`]: crate::archetype::Universe::check

use crate::entity::EntityIndex;
use crate::entity::index::cache::{Cache, MAGAZINE, NO_BLOCK, Tally};
use crate::entity::index::core::{Core, Threads};
use crate::entity::index::group;
use crate::entity::index::slot::{self, LAST_VERSION};
use crate::entity::index::span::{self, CLOSED, SPANS_PER_BLOCK};
use crate::flaw::{FlawPlace, Found, IntegrityError};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::geometry::{FULL, GROUP_SLOTS, WORD_BITS, WORDS_PER_BLOCK};

/// The version of a slot that has retired.
const RETIRED: u32 = LAST_VERSION + 1;

/// How many slots there are of each kind but the free ones.
#[derive(Clone, Copy, Debug, Default)]
struct Slots {
    living: usize,
    retired: usize,
    /// Somebody's who may use them: in caches, while nobody is in a call.
    kept: usize,
}

/// Slots that caches hold.
struct Caches {
    /// The calling thread's, in order.
    own: Vec<u32>,
    /// How many caches others have.
    others: usize,
    /// So many slots are in those at least, in magazines; and with what may be in hand at most.
    at_least: usize,
    at_most: usize,
}

impl EntityIndex {
    /// Checks that nothing contradicts itself: no slot is free twice or in two hands, no entity lives in a free slot or
    /// is half dead, a hint that says that nothing is free is right, and counts are what they count. O(blocks in use); looks at
    /// each slot that was ever claimed.
    ///
    /// For quiet moments: exact while no other thread creates, destroys, flushes or opens or drops a
    /// [`Session`](crate::entity::Session). (For one that ends, and gives back what it kept, what seems
    /// wrong is looked at up to a thousand times, a thousandth of a second apart.) Else
    /// it may find flaws that are none.
    ///
    /// Slots that caches keep are accounted for one by one where they are the calling thread's, and by their number
    /// where others have them, another thread or a session that is open (up to 64 more each: those are in hand).
    ///
    /// ```
    /// use megachunk::entity::EntityIndex;
    ///
    /// let index = EntityIndex::new();
    /// let some: Vec<_> = index.create_iter(1_000)?.collect();
    /// assert!(index.destroy_slice(&some[..500]).is_clean());
    /// index.check()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`IntegrityError`] with all that is wrong, and where. Whoever finds that has found a bug of this crate.
    pub fn check(&self) -> Result<(), IntegrityError> {
        let mut found = Found::default();
        self.check_into(&mut found);
        found.into_result("index")
    }

    /// Notes what is wrong.
    pub(crate) fn check_into(&self, found: &mut Found) {
        found.append(Found::settled(|found| {
            self.with_cache(|core, cache, tally| {
                look(core, &self.shared.registry, cache, tally, found)
            })
        }));
    }
}

/// Notes what is wrong; whether others have caches, and may be about to give back what they keep.
fn look(core: &Core, threads: &Threads, cache: &Cache, tally: &Tally, found: &mut Found) -> bool {
    // Before the words: what a cache is said to keep may have come back when these are looked at. Then its thread is
    // one that ends, and all is looked at again.
    let caches = Caches::of(threads, cache, tally, found);
    let words = core.opened() * WORDS_PER_BLOCK;
    let mut own = caches.own.iter().copied().peekable();
    let mut slots = Slots::default();
    for word in 0..words {
        let mut in_word = 0;
        while let Some(slot) = own.next_if(|slot| slot / WORD_BITS == word) {
            in_word |= 1 << (slot % WORD_BITS);
        }
        core.check_word(word, in_word, &mut slots, found);
    }
    for slot in own {
        found.expect(false, FlawPlace::Slot(slot), || {
            "a cache keeps it, and it was never in use".into()
        });
    }
    let spans = (core.opened() * SPANS_PER_BLOCK) as usize;
    core.summary.check(found, |number| {
        // SAFETY: `number` is below that of the spans in use.
        number < spans && unsafe { core.span(number as u32) }.load(Ordering::Relaxed) == CLOSED
    });
    caches.check(slots, found);
    core.check_workers(cache, caches.others, found);
    check_counts(threads, slots, found);
    caches.others > 0
}

/// Notes counts that are not what they count.
fn check_counts(threads: &Threads, slots: Slots, found: &mut Found) {
    let counted = Tally::living(threads.nodes().map(|node| &node.public));
    found.expect(counted == slots.living as i64, FlawPlace::Index, || {
        format!("{} entities live, and {counted} are counted", slots.living)
    });
    let retired = threads.nodes();
    let retired = retired.map(|node| node.public.retired.load(Ordering::Relaxed));
    let counted: u64 = retired.sum();
    found.expect(counted == slots.retired as u64, FlawPlace::Index, || {
        format!(
            "{} slots have retired, and {counted} are counted",
            slots.retired
        )
    });
}

impl Caches {
    /// What caches hold; notes what is wrong with them.
    fn of(threads: &Threads, cache: &Cache, tally: &Tally, found: &mut Found) -> Self {
        let kept = cache.magazine.iter().take(tally.kept()).copied();
        let in_hand = (0..WORD_BITS).filter(|lane| cache.mask >> lane & 1 == 1);
        let in_hand = in_hand.map(|lane| cache.word * WORD_BITS + lane);
        let mut caches = Self {
            own: kept.chain(in_hand).collect(),
            others: 0,
            at_least: 0,
            at_most: 0,
        };
        caches.own.sort_unstable();
        for two in caches.own.windows(2) {
            found.expect(two[0] != two[1], FlawPlace::Slot(two[0]), || {
                "its thread keeps it twice".into()
            });
        }
        for node in threads.nodes() {
            let (owned, other) = (node.is_owned(), &node.public);
            let kept = other.kept();
            found.expect(!other.lag.is_odd(), FlawPlace::Index, || {
                "a cache says that its hints lag".into()
            });
            found.expect(kept <= MAGAZINE, FlawPlace::Index, || {
                format!("a magazine of {MAGAZINE} slots has {kept}")
            });
            found.expect(owned || kept == 0, FlawPlace::Index, || {
                format!("a cache that nobody has keeps {kept} slots")
            });
            if owned && !core::ptr::eq(other, tally) {
                caches.others += 1;
                caches.at_least += kept;
                caches.at_most += kept + WORD_BITS as usize;
            }
        }
        caches
    }

    /// Notes whether slots are lost, nobody's and not free; or kept, and free or an entity's.
    fn check(&self, slots: Slots, found: &mut Found) {
        let (own, least, most) = (self.own.len(), self.at_least, self.at_most);
        let right = (own + least..=own + most).contains(&slots.kept);
        found.expect(right, FlawPlace::Index, || {
            format!(
                "{} slots are neither free nor an entity's, of which the thread keeps {own} and others {least} to {most}",
                slots.kept
            )
        });
    }
}

impl Core {
    /// Notes what is wrong with a claim word, what is said of it, and its slots, of which some are kept by the calling
    /// thread; counts these.
    fn check_word(&self, word: u32, own: u64, slots: &mut Slots, found: &mut Found) {
        let at = FlawPlace::ClaimWord(word);
        let lane = span::lane(word);
        // SAFETY: a word of a block that is open.
        let (seen, claims) = unsafe {
            let (span, claims) = (self.span(span::of(word)), self.claims(word));
            (span.load(Ordering::Relaxed), claims.load(Ordering::Relaxed))
        };
        let (whole, closed) = (
            span::whole(seen) & lane != 0,
            seen & span::closed(lane) != 0,
        );
        found.expect(!whole || claims == 0, at, || {
            format!("it is free in one piece, and {claims:#x} of it are free singly")
        });
        found.expect(whole || !closed || claims == 0, at, || {
            format!("its hint says that nothing is free, and {claims:#x} of it are")
        });
        let free = if whole { FULL } else { claims };
        if !self.was_used(word) {
            let untouched = seen & (lane | span::closed(lane)) == 0 && claims == 0 && own == 0;
            return found.expect(untouched, at, || {
                "it was never claimed, and has a past".into()
            });
        }
        let is = self.kinds(word);
        let kept = FULL & !(free | is.living | is.retired);
        slots.living += is.living.count_ones() as usize;
        slots.retired += is.retired.count_ones() as usize;
        slots.kept += kept.count_ones() as usize;
        for (wrong, what) in [
            (free & is.living, "it is free, and an entity lives there"),
            (free & is.retired, "it is free, and has retired"),
            (is.misplaced, "it has a place, and no entity"),
            (is.beyond, "it has a version that no slot comes to"),
            (
                is.out_of_phase & is.living,
                "its entity is condemned, and lives",
            ),
            (
                is.out_of_phase & !is.living,
                "its phase is not that of its next entity",
            ),
            (own & !kept, "a cache keeps it, and it is another's or free"),
        ] {
            note(found, word, wrong, what);
        }
    }

    /// Whether a claim word may have been claimed: of others all slots are as they were, and are not looked at. (If one had
    /// an entity all the same, those who are counted would be more.)
    #[cfg(not(loom))]
    fn was_used(&self, word: u32) -> bool {
        word < self.used.load(Ordering::Relaxed)
    }

    /// Models look everywhere.
    #[cfg(loom)]
    fn was_used(&self, _: u32) -> bool {
        true
    }

    /// What kinds of slots a claim word has. In few instructions where nothing is rare.
    fn kinds(&self, word: u32) -> Kinds {
        let first = word * WORD_BITS;
        let mut is = Kinds::default();
        // Places of the dead, together, and the highest version.
        let (mut misplaced, mut highest) = (0, 0);
        // SAFETY: the caller's word is one of a block that is open.
        let slots = unsafe { self.slots(first, WORD_BITS as usize) };
        for (lane, slot) in slots.iter().enumerate() {
            let word = slot.load(Ordering::Relaxed);
            let version = slot::version(word);
            let living = u64::from(version & 1);
            is.living |= living << lane;
            is.out_of_phase |= u64::from(version >> 1 & 1) << lane;
            misplaced |= word & living.wrapping_sub(1);
            highest = version.max(highest);
        }
        for lane in (0..WORD_BITS).step_by(GROUP_SLOTS as usize) {
            // SAFETY: as above.
            let group = unsafe { self.group(first + lane) }.load(Ordering::Relaxed);
            is.out_of_phase ^= group::phases(group) << lane;
        }
        if misplaced as u32 != 0 || highest >= RETIRED {
            is.mark_rare(slots);
        }
        is
    }

    /// Notes blocks in which nobody works of whom that is said, given how many caches others have: all would pass by.
    fn check_workers(&self, cache: &Cache, others: usize, found: &mut Found) {
        let blocks = 0..self.opened();
        let worker = |block: u32| self.workers.get(block as usize).load(Ordering::Relaxed);
        let (mut own, mut others_work) = (None, Vec::new());
        for block in blocks {
            match worker(block) {
                0 => {}
                number if number != cache.ordinal => others_work.push(number),
                _ if own.is_none() => own = Some(block),
                _ => found.expect(false, FlawPlace::Index, || {
                    format!("the thread works in block {own:?} and in {block}")
                }),
            }
        }
        let right = own.unwrap_or(NO_BLOCK) == cache.block;
        found.expect(right, FlawPlace::Index, || {
            format!(
                "the thread works in {}, and in block {own:?} as is said",
                cache.block
            )
        });
        let count = others_work.len();
        others_work.sort_unstable();
        others_work.dedup();
        let right = count == others_work.len() && count <= others;
        found.expect(right, FlawPlace::Index, || {
            format!("others work in {count} blocks, and have {others} caches")
        });
    }
}

/// Which slots of a claim word are what.
#[derive(Default)]
struct Kinds {
    /// An entity lives there.
    living: u64,
    /// Their versions are used up.
    retired: u64,
    /// Their versions are beyond that.
    beyond: u64,
    /// A place without an entity.
    misplaced: u64,
    /// What the group says is not what the version says.
    out_of_phase: u64,
}

impl Kinds {
    /// Marks the slots of a claim word that few have one of.
    #[cold]
    fn mark_rare(&mut self, slots: &[AtomicU64]) {
        for (lane, slot) in slots.iter().enumerate() {
            let word = slot.load(Ordering::Relaxed);
            let version = slot::version(word);
            self.retired |= u64::from(version == RETIRED) << lane;
            self.beyond |= u64::from(version > RETIRED) << lane;
            self.misplaced |= u64::from(version & 1 == 0 && word as u32 != 0) << lane;
        }
    }
}

/// Notes what is wrong with some slots of a claim word.
#[inline]
fn note(found: &mut Found, word: u32, slots: u64, what: &str) {
    let mut left = slots;
    while left != 0 {
        let slot = word * WORD_BITS + left.trailing_zeros();
        left &= left - 1;
        found.expect(false, FlawPlace::Slot(slot), || what.into());
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
