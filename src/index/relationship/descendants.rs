//! `Descendants`: who names an entity, who names those, and so on.

use core::fmt;
use core::iter::FusedIterator;

use crate::entity::Entity;
use crate::index::relationship::sources::Sources;

/// All that name an entity, those that name these, and so on: each once, after the one that it names; those that are
/// as far from the entity side by side, in the order of the entities that they name, and of handles.
///
/// Made by [`RelationshipIndex::descendants`](super::RelationshipIndex::descendants). O(1) for each.
#[derive(Clone)]
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct Descendants<'i> {
    sources: &'i Sources,
    start: Entity,
    found: Vec<Entity>,
    /// How many of them have been told.
    told: usize,
}

impl fmt::Debug for Descendants<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Descendants")
            .field("start", &self.start)
            .field("told", &self.told)
            .finish_non_exhaustive()
    }
}

impl<'i> Descendants<'i> {
    pub(super) fn new(sources: &'i Sources, start: Entity) -> Self {
        let mut this = Self {
            sources,
            start,
            found: Vec::new(),
            told: 0,
        };
        this.find(start);
        this
    }

    fn find(&mut self, target: Entity) {
        if target == Entity::PLACEHOLDER {
            // Nobody has none, whoever names nobody.
            return;
        }
        // Each source names one target, so that only who starts can be met again: if it is on a circle.
        let start = self.start;
        let sources = self.sources.of(target).iter();
        let new = sources.copied().filter(|source| *source != start);
        self.found.extend(new);
    }
}

impl Iterator for Descendants<'_> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        let next = *self.found.get(self.told)?;
        self.told += 1;
        self.find(next);
        Some(next)
    }
}

impl FusedIterator for Descendants<'_> {}
