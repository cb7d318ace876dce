//! What those hear of a change who watch the world.

use std::collections::HashSet;

use crate::query::change::ways::chunks_of;
use crate::query::matches::Match;
use crate::query::run::Scope;
use crate::query::{ChunkView, QueryChange, QueryData, QueryFilter};
use crate::world::watch::{Outcome, REMOVED, WatchedRows};
use crate::world::{World, WorldError};

impl<D: QueryData, F: QueryFilter> QueryChange<'_, D, F> {
    /// Asks the filter of chunks now, once for each chunk: what is told and what is done are to be the same.
    pub(super) fn decide(&mut self) {
        let Some(filter) = self.seen.chunks.take() else {
            return;
        };
        let (world, matches) = (&*self.world, &*self.matches);
        let scope = Scope {
            world,
            since: self.seen.since,
            version: self.seen.version,
            filter: Some(&*filter),
        };
        let mut seen = HashSet::new();
        for known in matches.iter() {
            let archetype = &world.archetypes[known.archetype as usize];
            let chunks = archetype.chunks.iter();
            let chunks = chunks.filter(|chunk| scope.view(known, archetype, chunk).is_some());
            seen.extend(chunks.map(|chunk| chunk.run.first()));
        }
        drop(filter);
        let decided = move |chunk: &ChunkView<'_>| seen.contains(&chunk.chunk.run.first());
        self.seen.chunks = Some(Box::new(decided));
    }

    /// The rows that are seen of archetypes that are watched for `kind`, each with the archetype that its
    /// entities go to.
    pub(super) fn going(&self, kind: u8, archetypes: Vec<(&Match<D, F>, u32)>) -> Vec<WatchedRows> {
        let (mut going, mut runs) = (Vec::new(), Vec::new());
        let world = &*self.world;
        for (known, other) in archetypes {
            let archetype = known.archetype;
            if !world.watches(archetype, kind) || other == archetype {
                continue;
            }
            for chunk in 0..chunks_of(world, archetype) {
                self.seen.rows(world, known, chunk, &mut runs);
                let rows = runs.iter();
                going.extend(rows.map(|&rows| WatchedRows::new(archetype, rows, other)));
            }
        }
        going
    }

    /// The same for entities that change and may lose fragments: `to` says to which archetype they
    /// will go from another.
    pub(super) fn going_along(
        &mut self,
        to: impl Fn(&mut World, u32) -> Result<u32, WorldError>,
    ) -> Result<Vec<WatchedRows>, WorldError> {
        let mut archetypes = Vec::new();
        for known in self.matches.iter() {
            // An archetype without entities needs no other.
            if self.world.archetypes[known.archetype as usize].entities > 0 {
                match to(self.world, known.archetype) {
                    Ok(other) => archetypes.push((known, other)),
                    Err(error) => {
                        self.world.expect_none();
                        return Err(error);
                    }
                }
            }
        }
        Ok(self.going(REMOVED, archetypes))
    }

    /// Makes the change, and tells those who watch the world.
    pub(super) fn told<R: Outcome>(
        self,
        kind: u8,
        going: Vec<WatchedRows>,
        change: impl FnOnce(QueryChange<'_, D, F>) -> R,
    ) -> R {
        let Self {
            matches,
            world,
            seen,
        } = self;
        world.told(kind, going, |world| {
            change(QueryChange {
                matches,
                world,
                seen,
            })
        })
    }
}
