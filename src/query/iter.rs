//! `QueryIter`: the data of a run's entities in turn.

use crate::archetype::Chunk;
use crate::query::masks::mask_of;
use crate::query::matches::Match;
use crate::query::requirements::Mask;
use crate::query::run::Scope;
use crate::query::{QueryData, QueryFilter};

/// Lends the data of each entity in turn.
pub struct QueryIter<'a, D: QueryData, F: QueryFilter> {
    matches: &'a [Match<D, F>],
    scope: Scope<'a>,
    /// The match and its chunk that come next.
    at: usize,
    chunk: usize,
    fetch: Option<D::Fetch<'a>>,
    row: usize,
    len: usize,
    /// Of the chunk in hand, if bits decide.
    masked: Option<(&'a [Mask], &'a Chunk)>,
}

impl<D: QueryData, F: QueryFilter> core::fmt::Debug for QueryIter<'_, D, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("QueryIter").finish_non_exhaustive()
    }
}

impl<'a, D: QueryData, F: QueryFilter> QueryIter<'a, D, F> {
    /// Begins at the first entity.
    #[inline]
    pub(super) fn new(matches: &'a [Match<D, F>], scope: Scope<'a>) -> Self {
        Self {
            matches,
            scope,
            at: 0,
            chunk: 0,
            fetch: None,
            row: 0,
            len: 0,
            masked: None,
        }
    }

    /// Goes to the next chunk that the query sees.
    fn next_chunk(&mut self) -> bool {
        loop {
            let Some(known) = self.matches.get(self.at) else {
                self.fetch = None;
                return false;
            };
            let archetype = &self.scope.world.archetypes[known.archetype as usize];
            let Some(chunk) = archetype.chunks.get(self.chunk) else {
                self.at += 1;
                self.chunk = 0;
                continue;
            };
            self.chunk += 1;
            if let Some(view) = self.scope.view(known, archetype, chunk) {
                self.fetch = Some(D::fetch(known.data, view));
                self.row = 0;
                self.len = view.len();
                self.masked = known.masks().map(|masks| (masks, chunk));
                return true;
            }
        }
    }
}

impl<'a, D: QueryData, F: QueryFilter> Iterator for QueryIter<'a, D, F> {
    type Item = D::Item<'a>;

    #[inline]
    fn next(&mut self) -> Option<D::Item<'a>> {
        loop {
            if self.row < self.len {
                let row = self.row;
                self.row += 1;
                if let Some((masks, chunk)) = self.masked
                    && mask_of(masks, chunk, row as u32 / 64) >> (row % 64) & 1 == 0
                {
                    continue;
                }
                let fetch = self.fetch?;
                // SAFETY: a row of the chunk; each is lent once.
                return Some(unsafe { D::item(fetch, row) });
            }
            if !self.next_chunk() {
                return None;
            }
        }
    }
}
