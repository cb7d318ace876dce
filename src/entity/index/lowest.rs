//! `Lowest`: from which claim word on the lowest free slot is to be looked for.
//!
//! **State**: one word, the number of a claim word and a stamp that each change makes another one.
//!
//! **Operations**: [`seen`](Lowest::seen) before a search; [`found`](Lowest::found) after it, when what it claimed and
//! did not use has been given back; [`freed`](Lowest::freed) after slots were given back in any other way.
//!
//! **Must hold** when no call is in progress: no slot of a claim word before this one is free.
//! Whoever gives a slot of word `w` back comes here afterwards, and leaves a number that is `w` or
//! less. Only `found` makes the number greater, and only if nothing has changed since the search
//! began: so the search came later than every give-back that was told of, and saw its slots free,
//! or taken again by somebody who is to come here too.
//!
//! **Linearization**: each operation's one read-modify-write. Lock-free: a retry means that another
//! thread's took effect.
//!
//! A stamp has 43 bits: a search would have to take as long as 8 thousand billion changes to miss them.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::geometry::WORDS;
use crate::sync::mutant;

/// Bits of a claim word's number.
const NUMBER_BITS: u32 = 21;
const _: () = assert!(WORDS <= 1 << NUMBER_BITS, "a number has room");

/// From where on to look. See the [file's](self) head.
#[derive(Debug)]
pub(crate) struct Lowest(AtomicU64);

/// What a search began with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen(u64);

impl Seen {
    /// The claim word to begin with.
    pub(crate) fn word(self) -> u32 {
        (self.0 & ((1 << NUMBER_BITS) - 1)) as u32
    }

    /// The next stamp, with another claim word.
    fn then(self, word: u32) -> Self {
        let stamp = (self.0 >> NUMBER_BITS).wrapping_add(1);
        Self(stamp << NUMBER_BITS | u64::from(word))
    }
}

impl Lowest {
    /// From the first claim word on.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// From where on to look now.
    pub(crate) fn seen(&self) -> Seen {
        // Ordering: Acquire pairs with the Release in `change`: slots whose giving back was told of are seen free.
        Seen(
            self.0
                .load(mutant::ordering("lowest_relaxed", Ordering::Acquire)),
        )
    }

    /// A search that began with `seen` found nothing free before `word`. What it claimed of that and did not use is
    /// free again.
    pub(crate) fn found(&self, seen: Seen, word: u32) {
        if mutant::active("lowest_by_store") {
            return self.0.store(seen.then(word).0, Ordering::Release);
        }
        self.change(|now| {
            if now == seen {
                word
            } else {
                word.min(now.word())
            }
        });
    }

    /// Slots of a claim word are free again.
    pub(crate) fn freed(&self, word: u32) {
        self.change(|now| word.min(now.word()));
    }

    fn change(&self, word: impl Fn(Seen) -> u32) {
        let mut now = self.seen();
        loop {
            // Ordering: Release pairs with the Acquire in `seen`; Acquire, for what this thread looks for later.
            match self.0.compare_exchange_weak(
                now.0,
                now.then(word(now)).0,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return,
                Err(other) => now = Seen(other),
            }
        }
    }
}
