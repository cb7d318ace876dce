//! Iterators: over new entities, over living ones.

use core::fmt;
use std::vec;

use crate::entity::index::core::Core;
use crate::entity::index::span::{SPAN_WORDS, SPANS_PER_BLOCK};
use crate::entity::{Entity, EntityIndex, Full};
use crate::sync::geometry::WORD_BITS;

/// New entities; see [`EntityIndex::create_iter`].
#[must_use = "those that it is not asked for are destroyed again"]
pub struct Created<'a> {
    index: &'a EntityIndex,
    entities: vec::IntoIter<Entity>,
}

impl<'a> Created<'a> {
    pub(crate) fn new(index: &'a EntityIndex, count: usize) -> Result<Self, Full> {
        let mut entities = Vec::new();
        index.create_into(&mut entities, count)?;
        Ok(Self {
            index,
            entities: entities.into_iter(),
        })
    }
}

impl fmt::Debug for Created<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Created")
            .field("left", &self.entities.len())
            .finish_non_exhaustive()
    }
}

impl Iterator for Created<'_> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        self.entities.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entities.size_hint()
    }
}

impl ExactSizeIterator for Created<'_> {}
impl core::iter::FusedIterator for Created<'_> {}

impl Drop for Created<'_> {
    fn drop(&mut self) {
        // Handles that nobody was given; a refusal can only mean that somebody guessed one.
        let _ = self.index.destroy_slice(self.entities.as_slice());
    }
}

/// Living entities in index order; see [`EntityIndex::iter`].
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct Live<'a> {
    core: &'a Core,
    /// The word whose slots are in `taken`.
    word: u32,
    /// Slots of that word that are not looked at yet.
    taken: u64,
    /// Words of the span before `next` that are not looked at yet, as lanes. Those that were whole when the walk came to
    /// the span are not among them.
    lanes: u64,
    /// The next span.
    next: u32,
    spans: u32,
}

impl<'a> Live<'a> {
    pub(crate) fn new(core: &'a Core) -> Self {
        Self {
            core,
            word: 0,
            taken: 0,
            lanes: 0,
            next: 0,
            spans: core.opened() * SPANS_PER_BLOCK,
        }
    }

    /// Goes on to the next word of which a slot is taken; `false` if there is none. (Not with `next` in the caller's
    /// program: that is for each entity, this for up to 64.)
    #[inline(never)]
    fn turn(&mut self) -> bool {
        loop {
            while self.lanes == 0 {
                if self.next == self.spans {
                    return false;
                }
                self.lanes = self.core.lanes_in_use(self.next);
                self.next += 1;
            }
            self.word = (self.next - 1) * SPAN_WORDS + self.lanes.trailing_zeros();
            self.lanes &= self.lanes - 1;
            // SAFETY: what is not whole was used: its block is open.
            self.taken = unsafe { self.core.taken_singly(self.word) };
            if self.taken != 0 {
                return true;
            }
        }
    }
}

impl fmt::Debug for Live<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live")
            .field("next", &(self.next * SPAN_WORDS * WORD_BITS))
            .field("end", &(self.spans * SPAN_WORDS * WORD_BITS))
            .finish_non_exhaustive()
    }
}

impl Iterator for Live<'_> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        loop {
            while self.taken != 0 {
                let lane = self.taken.trailing_zeros();
                self.taken &= self.taken - 1;
                let index = self.word * WORD_BITS + lane;
                // A slot is free, kept by a thread, or alive: the look says.
                //
                // SAFETY: a slot of a word that was used.
                if let Some(entity) = unsafe { self.core.at_slot(index) } {
                    return Some(entity);
                }
            }
            if !self.turn() {
                return None;
            }
        }
    }
}

impl core::iter::FusedIterator for Live<'_> {}
