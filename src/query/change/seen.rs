//! `Seen`: which rows of the archetypes that match a change sees.

use crate::archetype::Rows;
use crate::fragment::Bundle;
use crate::query::masks::masked_rows;
use crate::query::matches::Match;
use crate::query::run::Scope;
use crate::query::sees_chunk::SeesChunk;
use crate::query::{ChunkView, QueryData, QueryFilter};
use crate::world::World;
use crate::world::runs::Fill;

/// Which of their chunks are seen.
pub(super) struct Seen<'q> {
    pub(super) since: u32,
    pub(super) version: u32,
    pub(super) chunks: Option<SeesChunk<'q>>,
}

impl Seen<'_> {
    /// Finds the rows of a chunk that are seen, as runs, the last ones first: then a gap that closes
    /// moves no row that is still to come.
    pub(super) fn rows<D: QueryData, F: QueryFilter>(
        &self,
        world: &World,
        known: &Match<D, F>,
        chunk: u32,
        runs: &mut Vec<Rows>,
    ) {
        runs.clear();
        let scope = Scope {
            world,
            since: self.since,
            version: self.version,
            filter: self.chunks.as_deref(),
        };
        let archetype = &world.archetypes[known.archetype as usize];
        let record = &archetype.chunks[chunk as usize];
        let Some(view) = scope.view(known, archetype, record) else {
            return;
        };
        let run = |first, count| Rows {
            chunk,
            first,
            count,
        };
        let Some(masks) = known.masks() else {
            runs.push(run(0, view.len() as u32));
            return;
        };
        for row in masked_rows(masks, record, 0..view.len()) {
            let row = row as u32;
            match runs.last_mut() {
                Some(last) if last.first + last.count == row => last.count += 1,
                _ => runs.push(run(row, 1)),
            }
        }
        runs.reverse();
    }

    /// Lends the rows of a run in turn, and gives each what `bundle` makes of them.
    pub(super) fn fill<D: QueryData, F: QueryFilter, B: Bundle>(
        &self,
        known: &Match<D, F>,
        fill: &mut Fill<'_, B>,
        bundle: &mut impl FnMut(D::Item<'_>) -> B,
    ) {
        let archetype = &fill.world.archetypes[fill.archetype as usize];
        let view = ChunkView {
            world: fill.world,
            archetype,
            chunk: &archetype.chunks[fill.rows.chunk as usize],
            version: self.version,
            since: self.since,
        };
        let fetch = D::fetch(known.data, view);
        // SAFETY: rows of the chunk, each lent once, in a world that the caller has to itself.
        fill.each(|row| bundle(unsafe { D::item(fetch, row as usize) }));
    }
}
