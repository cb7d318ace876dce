//! `Stripes`: which ids each recorder takes in an [ordered](crate::world::Universe::ordered) universe, so that
//! they do not depend on which thread was quicker.
//!
//! The pieces of work are numbered. Free claim words stand in a row, those that were used first, in order.
//! Piece `k` of `n` has word `k`, then words `n + 2 k` and the next, then four from `3 n + 4 k` on: always
//! twice as many, none of which any other piece has. So a recorder needs no other to know its ids. A word of
//! which a slot is taken is passed by.

use core::ops::Range;

use crate::archetype::Universe;
use crate::entity::{Claimed, FreeWords};
use crate::entity::{Entity, EntityIndex, Full, Place};
use crate::world::World;

/// The words of all pieces.
#[derive(Debug)]
pub(crate) struct Stripes {
    free: FreeWords,
    /// The first word that was never used.
    used: u32,
    /// For each archetype the number of the piece that its first chunk is; then their end.
    first: Vec<u32>,
    pieces: u32,
    /// Keys are the numbers of pieces, not chunks' keys.
    numbered: bool,
}

/// Of more pieces the later ones have no ids of their own anyway: there are not as many.
pub(crate) fn saturated(pieces: usize) -> u32 {
    u32::try_from(pieces).unwrap_or(u32::MAX)
}

/// One piece's way through its words.
#[derive(Debug)]
pub(super) struct Stripe<'q> {
    stripes: &'q Stripes,
    piece: Option<u32>,
    /// Twice as many words as the last time, of which so many are passed.
    level: u32,
    passed: u32,
    claimed: Claimed,
}

impl Stripes {
    /// For a world in an ordered universe: a piece for each chunk, or so many. O(ids / 2,048 +
    /// archetypes + words where some slots are free).
    pub(crate) fn of(world: &World, pieces: Option<usize>) -> Self {
        let (free, used) = world.universe.index().free_words();
        let mut first = Vec::with_capacity(world.archetypes.len() + 1);
        let mut chunks = 0;
        for archetype in &world.archetypes {
            first.push(chunks);
            chunks += archetype.chunks.len() as u32;
        }
        first.push(chunks);
        Self {
            free,
            used,
            first,
            pieces: pieces.map_or(chunks, saturated).max(1),
            numbered: pieces.is_some(),
        }
    }

    /// The words of the piece with a sort key: the number of a piece, or a chunk's key.
    pub(super) fn stripe(&self, key: u64) -> Stripe<'_> {
        self.stripe_among(0..self.pieces, key)
    }

    /// The same, where only these pieces are meant.
    pub(super) fn stripe_among(&self, pieces: Range<u32>, key: u64) -> Stripe<'_> {
        let (archetype, position) = ((key >> 32) as usize, key as u32);
        let piece = match (self.first.get(archetype), self.first.get(archetype + 1)) {
            _ if archetype == 0 && self.numbered => Some(position),
            (Some(first), Some(end)) => first.checked_add(position).filter(|piece| piece < end),
            _ => None,
        };
        let piece = piece.and_then(|piece| piece.checked_add(pieces.start));
        Stripe {
            stripes: self,
            piece: piece.filter(|&piece| piece < pieces.end),
            level: 0,
            passed: 0,
            claimed: Claimed::default(),
        }
    }
}

impl Stripe<'_> {
    /// The piece's next word.
    fn next_word(&mut self) -> Option<u32> {
        let piece = u64::from(self.piece?);
        let pieces = u64::from(self.stripes.pieces);
        let many = 1_u64 << self.level;
        let number = pieces * (many - 1) + piece * many + u64::from(self.passed);
        self.passed += 1;
        if u64::from(self.passed) == many {
            (self.level, self.passed) = (self.level + 1, 0);
        }
        let free = u64::from(self.stripes.free.len());
        let known = u32::try_from(number).ok();
        let word = match known.and_then(|number| self.stripes.free.get(number)) {
            Some(word) => u64::from(word),
            None => u64::from(self.stripes.used) + (number - free),
        };
        if word >= u64::from(EntityIndex::WORDS) {
            // No words are left, nor will there be.
            self.piece = None;
            return None;
        }
        Some(word as u32)
    }

    /// Creates an entity with the piece's next id; `None` if it has none left, or the key is no piece's.
    /// Lock-free.
    fn create(&mut self, universe: &Universe, place: Option<Place>) -> Option<Entity> {
        loop {
            let index = universe.index();
            if let Some(entity) = index.create_claimed(&mut self.claimed, place) {
                return Some(entity);
            }
            let word = self.next_word()?;
            match index.claim_whole_word(word, &universe.lowest) {
                Ok(Some(claimed)) => self.claimed = claimed,
                Ok(None) => {}
                Err(Full { .. }) => {
                    // Nor will there be memory for words further on.
                    self.piece = None;
                    return None;
                }
            }
        }
    }

    /// Gives back what was not used.
    pub(super) fn close(&mut self, universe: &Universe) {
        let index = universe.index();
        index.give_claimed(&mut self.claimed, &universe.lowest);
    }
}

/// Where a recorder's ids come from.
#[derive(Debug)]
pub(super) struct Ids<'q> {
    /// `None`: from where the world's own come.
    pub(super) stripe: Option<Stripe<'q>>,
    /// Ids that depend on which thread was quicker, although they were not to.
    pub(super) by_chance: usize,
}

impl Ids<'_> {
    /// Creates an entity with a place, or a reserved one.
    #[inline(always)]
    pub(super) fn create(
        &mut self,
        universe: &Universe,
        place: Option<Place>,
    ) -> Result<Entity, Full> {
        match (&self.stripe, place) {
            (None, Some(place)) => universe.create_at(place),
            (None, None) => universe.reserve(),
            (Some(_), _) => self.create_in_order(universe, place),
        }
    }

    /// Reserves an id for each place of `out`; all or none.
    pub(super) fn reserve_slice(
        &mut self,
        universe: &Universe,
        out: &mut [Entity],
    ) -> Result<(), Full> {
        // It says so of more than there are, too, before it takes any.
        if self.stripe.is_none() || out.len() > EntityIndex::CAPACITY {
            return universe.reserve_slice(out);
        }
        for at in 0..out.len() {
            match self.create_in_order(universe, None) {
                Ok(entity) => out[at] = entity,
                Err(full) => {
                    universe.give_back_reserved(&out[..at]);
                    out.fill(Entity::PLACEHOLDER);
                    return Err(full);
                }
            }
        }
        Ok(())
    }

    /// [`create`](Self::create), as a call of its own: in an ordered universe it is long.
    #[cold]
    #[inline(never)]
    pub(super) fn create_apart(
        &mut self,
        universe: &Universe,
        place: Place,
    ) -> Result<Entity, Full> {
        self.create(universe, Some(place))
    }

    /// In an ordered universe, uses up so many ids as a call would have used that is broken off, by way of this place:
    /// how many it got before depends on which recorders shared its lane, and the ids of those that come are not to.
    #[cold]
    pub(super) fn use_up(&mut self, universe: &Universe, place: Place, count: usize) {
        if !universe.is_ordered() {
            return;
        }
        // All at once: each is to be another one.
        let ids = (0..count).map_while(|_| self.create(universe, Some(place)).ok());
        universe.kill_slice(&ids.collect::<Vec<_>>());
    }

    #[cold]
    fn create_in_order(
        &mut self,
        universe: &Universe,
        place: Option<Place>,
    ) -> Result<Entity, Full> {
        let stripe = self.stripe.as_mut();
        if let Some(entity) = stripe.and_then(|stripe| stripe.create(universe, place)) {
            return Ok(entity);
        }
        self.by_chance += 1;
        match place {
            Some(place) => universe.create_at(place),
            None => universe.reserve(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::world::World;

    /// As on Windows, where memory is asked for.
    #[test]
    fn a_piece_without_memory_for_more_words_has_none_left() {
        let universe = Arc::new(Universe::ordered());
        universe.index().grant(1);
        let mut world = World::of(&universe).unwrap();
        let commands = world.parallel_commands_for(2);
        let mut recorder = commands.open_at(1);
        let created = (0..10_000).take_while(|&n: &u32| recorder.create((n,)).is_ok());
        // Its own words, and then what is left of the others'.
        assert_eq!(created.count(), 8_192);
        universe.index().grant(3);
        recorder.create((10_000_u32,)).unwrap();
        drop(recorder);
        drop(commands);
        let report = world.flush();
        assert!(report.is_clean(), "{report:?}");
        assert_eq!(world.count(), 8_193);
    }
}
