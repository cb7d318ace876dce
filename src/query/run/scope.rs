//! `Scope`: what of a world a run sees.

use crate::archetype::{Archetype, Chunk};
use crate::query::matches::Match;
use crate::query::run::NEAR;
use crate::query::run::visit::Visit;
use crate::query::{ChunkView, QueryData, QueryFilter};
use crate::world::World;

/// What of a world a run sees.
#[derive(Clone, Copy)]
pub(in crate::query) struct Scope<'a, 'f> {
    pub(in crate::query) world: &'a World,
    pub(in crate::query) since: u32,
    pub(in crate::query) version: u32,
    /// It may end before what is lent of the world does.
    pub(in crate::query) filter: Option<&'f (dyn Fn(&ChunkView<'_>) -> bool + Send + Sync + 'f)>,
}

impl<'a> Scope<'a, '_> {
    /// All of a world, for a run with these versions: since when it looks for changes, and what its writes get.
    #[inline(always)]
    pub(in crate::query) fn unfiltered(world: &'a World, (since, version): (u32, u32)) -> Self {
        Self {
            world,
            since,
            version,
            filter: None,
        }
    }

    #[inline(always)]
    pub(in crate::query) fn show(
        self,
        archetype: &'a Archetype,
        chunk: &'a Chunk,
    ) -> ChunkView<'a> {
        ChunkView {
            world: self.world,
            archetype,
            chunk,
            version: self.version,
            since: self.since,
        }
    }

    /// A chunk, if it is seen.
    #[inline(always)]
    pub(in crate::query) fn view<D: QueryData, F: QueryFilter>(
        self,
        known: &Match<D, F>,
        archetype: &'a Archetype,
        chunk: &'a Chunk,
    ) -> Option<ChunkView<'a>> {
        let view = self.show(archetype, chunk);
        let seen = chunk.len > 0
            && F::sees(known.filter, view)
            && self.filter.is_none_or(|filter| filter(&view));
        seen.then_some(view)
    }

    /// Shows `visit` each of several chunks that is seen. Where they are more than the caches hold, the next is
    /// fetched while one is worked on: chunks are too short for the processor's own prefetcher to do that well.
    ///
    /// Inlined, so that what a caller's closure adds up stays in a register: handed to a function, it is memory for all rows,
    /// and nothing beside it becomes vectors. (Measured: `papers/measured.md`.)
    #[inline(always)]
    pub(super) fn walk<D: QueryData, F: QueryFilter>(
        self,
        known: &'a Match<D, F>,
        archetype: &'a Archetype,
        chunks: &'a [Chunk],
        visit: &mut impl Visit<'a, D, F>,
    ) {
        let far = chunks.len() > NEAR;
        for (at, chunk) in chunks.iter().enumerate() {
            if far && let Some(next) = chunks.get(at + 1) {
                D::ahead(known.data, self.show(archetype, next));
            }
            if let Some(view) = self.view(known, archetype, chunk) {
                visit.chunk(known, view, known.masks());
            }
        }
    }
}
