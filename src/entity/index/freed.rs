//! `Freed`: slots of many entities that died, on their way back to everybody.

use crate::entity::Entity;
use crate::entity::index::cache::{Cache, Tally};
use crate::entity::index::core::Core;
use crate::entity::index::{slot, span};
use crate::sync::geometry::{FULL, GROUP_SLOTS, WORD_BITS};
use crate::sync::mutant;

/// Freed slots on their way back: gathered by claim word, and these by span. The thread may keep some of them (`KEEPS`), or
/// all are everybody's.
#[derive(Debug)]
pub(crate) struct Freed<'a, const KEEPS: bool = true> {
    core: &'a Core,
    cache: &'a mut Cache,
    word: u32,
    slots: u64,
    span: u32,
    /// Lanes of the span all of whose slots were freed.
    whole: u64,
    /// Lanes of the span whose claim words were opened.
    opened: u64,
}

impl<'a> Freed<'a> {
    pub(super) fn new(core: &'a Core, cache: &'a mut Cache) -> Self {
        Self::of(core, cache)
    }
}

impl<'a> Freed<'a, false> {
    /// Slots that the thread keeps none of.
    pub(super) fn at_once(core: &'a Core, cache: &'a mut Cache) -> Self {
        Self::of(core, cache)
    }
}

impl<'a, const KEEPS: bool> Freed<'a, KEEPS> {
    fn of(core: &'a Core, cache: &'a mut Cache) -> Self {
        Self {
            core,
            cache,
            word: 0,
            slots: 0,
            span: 0,
            whole: 0,
            opened: 0,
        }
    }

    /// The number of the thread's node, from 1.
    pub(super) fn ordinal(&self) -> u32 {
        self.cache.ordinal
    }

    /// Adds slots of group `number`, all owned by the caller.
    #[inline]
    pub(crate) fn add(&mut self, number: u32, lanes: u64) {
        let word = number / (WORD_BITS / GROUP_SLOTS);
        if word != self.word {
            self.pass_on_word();
            self.word = word;
        }
        self.slots |= lanes << (number * GROUP_SLOTS % WORD_BITS);
    }

    /// Adds slots of a claim word, all owned by the caller; those of one word are gathered if they come together.
    #[inline]
    pub(crate) fn add_word(&mut self, word: u32, slots: u64) {
        self.pass_on_word();
        self.word = word;
        self.slots = slots;
    }

    /// Adds the slot of an entity that the caller has destroyed, unless it has retired.
    pub(crate) fn add_one(&mut self, entity: Entity, tally: &Tally) {
        if entity.version() == slot::LAST_VERSION {
            tally.add_retired(1);
        } else {
            self.add(
                entity.index() / GROUP_SLOTS,
                1 << (entity.index() % GROUP_SLOTS),
            );
        }
    }

    fn pass_on_word(&mut self) {
        let slots = core::mem::take(&mut self.slots);
        if slots == 0 || KEEPS && self.cache.stow(self.word, slots) {
            return;
        }
        if span::of(self.word) != self.span {
            self.pass_on_lanes();
            self.span = span::of(self.word);
        }
        let lane = span::lane(self.word);
        if slots == FULL || mutant::active("part_given_back_whole") {
            self.whole |= lane;
        } else if self.core.release_slots(self.word, slots) {
            self.opened |= lane;
        }
    }

    fn pass_on_lanes(&mut self) {
        if self.whole | self.opened != 0 {
            self.core.open_lanes(self.span, self.whole, self.opened);
            (self.whole, self.opened) = (0, 0);
        }
    }

    /// Gives back what is gathered.
    pub(super) fn pass_on(&mut self) {
        self.pass_on_word();
        self.pass_on_lanes();
    }

    pub(super) fn finish(mut self) {
        self.pass_on();
    }
}
