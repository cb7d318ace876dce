//! `DynamicRun`: a dynamic query on a world.

use core::marker::PhantomData;

use crate::archetype::{Archetype, Chunk, is_newer};
use crate::entity::Entity;
use crate::fragment::{FragmentError, FragmentKind, Value};
use crate::panics::after;
use crate::query::collection::{Span, located};
use crate::query::dynamic::chunk::DynamicChunk;
use crate::query::dynamic::query::{DynamicMatch, DynamicQuery};
use crate::query::masks::masked;
use crate::query::sees_chunk::{SeesChunk, and};
use crate::query::share::share_chunks;
use crate::query::{ChunkView, QueryError};
use crate::sync::fork_join;
use crate::world::{Lack, SliceReport, Version, World, WorldError};

/// A dynamic query on a world: goes from chunk to chunk, in the order of archetypes and chunks.
///
/// Every way to go lends each row once: what is lent lives as long as the run is borrowed.
#[must_use = "a query does nothing until it is run"]
pub struct DynamicRun<'q> {
    pub(super) query: &'q DynamicQuery,
    pub(super) world: &'q World,
    since: u32,
    version: u32,
    filter: Option<SeesChunk<'q>>,
    /// Lends as `&mut World` would.
    _lends: PhantomData<&'q mut World>,
}

impl core::fmt::Debug for DynamicRun<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("DynamicRun")
            .field("query", &self.query)
            .field("since", &self.since)
            .finish_non_exhaustive()
    }
}

impl<'q> DynamicRun<'q> {
    pub(super) fn new(query: &'q DynamicQuery, world: &'q World, since: u32, version: u32) -> Self {
        Self {
            query,
            world,
            since,
            version,
            filter: None,
            _lends: PhantomData,
        }
    }

    /// The same run, to be gone through by this call's borrow: what takes a run by value, to see less of it, can be asked
    /// of one that is [lent](crate::processor::DynamicParams::runs), and each time anew. O(1); with a chunk filter one
    /// allocation.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let height = world.registry().register::<u32>()?.id();
    /// world.registry().register_shared::<&str>()?;
    /// for team in ["red", "red", "blue"] {
    ///     world.create((1_u32,).shared(team))?;
    /// }
    /// let mut heights = DynamicQuery::builder(&world).read(height).build()?;
    /// let mut heights = heights.on(&mut world)?;
    /// for (team, count) in [("red", 2), ("blue", 1)] {
    ///     let mut of_team = heights.reborrow().filter_chunks(move |chunk| chunk.shared() == Some(&team));
    ///     assert_eq!(of_team.count(), count);
    /// }
    /// assert_eq!(heights.count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reborrow(&mut self) -> DynamicRun<'_> {
        let filter = self.filter.as_deref();
        DynamicRun {
            query: self.query,
            world: self.world,
            since: self.since,
            version: self.version,
            filter: filter.map(|filter| Box::new(filter) as SeesChunk<'_>),
            _lends: PhantomData,
        }
    }

    /// Calls `see` with the rows of each chunk of the archetypes that match, and whether it is seen.
    pub(super) fn count_chunks(&self, see: &mut impl FnMut(usize, bool)) {
        for known in &self.query.matches {
            let archetype = &self.world.archetypes[known.archetype as usize];
            for chunk in &archetype.chunks {
                see(
                    chunk.len as usize,
                    self.view(known, archetype, chunk).is_some(),
                );
            }
        }
    }

    /// Sees only chunks for which `filter` is true: it is asked once a chunk, before its entities.
    pub fn filter_chunks(self, filter: impl Fn(&ChunkView<'_>) -> bool + Sync + 'q) -> Self {
        Self {
            filter: Some(and(self.filter, filter)),
            ..self
        }
    }

    /// Sees only entities whose shared value, const or not, equals `value`.
    ///
    /// # Errors
    /// [`FragmentError::OtherUniverse`] if the value is of another universe; [`FragmentError::WrongKind`] if it is not
    /// of a shared fragment.
    pub fn sharing(self, value: &'q Value) -> Result<Self, QueryError> {
        let id = value.id();
        let info = self.world.registry().get(id);
        let info = info.ok_or(FragmentError::Unknown { id })?;
        if !value.is_of(info) {
            return Err(FragmentError::OtherUniverse { id }.into());
        }
        let ops = info.shared_ops().ok_or_else(|| FragmentError::WrongKind {
            name: info.name().into(),
            is: info.kind(),
            wanted: FragmentKind::Shared,
        })?;
        Ok(self.filter_chunks(move |chunk| {
            let Some(at) = chunk.archetype.shared_at(id) else {
                return false;
            };
            let there = chunk.world.shared_at(chunk.archetype, chunk.chunk, at);
            // SAFETY: two values of this fragment.
            unsafe { (ops.equal)(there, value.as_ptr()) }
        }))
    }

    /// See [`QueryRun::since`](crate::query::QueryRun::since).
    pub fn since(self, version: Version) -> Self {
        Self {
            since: self.world.since(version.to_bits(), self.version),
            ..self
        }
    }

    /// A chunk, if it is seen.
    fn view<'a>(
        &'a self,
        known: &DynamicMatch,
        archetype: &'a Archetype,
        chunk: &'a Chunk,
    ) -> Option<ChunkView<'a>> {
        let view = ChunkView {
            world: self.world,
            archetype,
            chunk,
            version: self.version,
            since: self.since,
        };
        let changed = |version: &Option<u32>| {
            // A tag changes by coming and going.
            let version = version.map_or(chunk.filled_version, |at| chunk.version(at as usize));
            is_newer(version, self.since)
        };
        let seen = chunk.len > 0
            && known.changed.iter().all(changed)
            && known
                .changed_any
                .iter()
                .all(|group| group.iter().any(changed))
            && (!self.query.moved || is_newer(chunk.order_version, self.since))
            && self.filter.as_ref().is_none_or(|filter| filter(&view));
        seen.then_some(view)
    }

    /// The chunks that the query sees, one after the other, each once; also those none of whose rows it sees, because
    /// fragments are [switched off](crate::query::Enabled). Which rows it does see [`DynamicChunk::rows`] says.
    pub fn chunks<'a>(&'a mut self) -> impl Iterator<Item = DynamicChunk<'a>> {
        let run: &'a Self = self;
        run.query.matches.iter().flat_map(move |known| {
            let archetype = &run.world.archetypes[known.archetype as usize];
            archetype.chunks.iter().filter_map(move |chunk| {
                let view = run.view(known, archetype, chunk)?;
                // SAFETY: all rows of a chunk that matches, which is lent once while the run is borrowed.
                Some(unsafe { DynamicChunk::new(view, &run.query.lends, known, 0, chunk.len) })
            })
        })
    }

    /// Calls `each` for each chunk that the query sees.
    ///
    /// **Columns are whole, also where the query does not see a row** because fragments are [switched
    /// off](crate::query::Enabled). Where a fragment that it asks for or excludes can be switched, walk the
    /// [`rows`](DynamicChunk::rows).
    pub fn for_each_chunk<'a>(&'a mut self, each: impl FnMut(DynamicChunk<'a>)) {
        self.chunks().for_each(each);
    }

    /// Calls `each` for each chunk that the query sees, on all threads of the current rayon pool. The order
    /// is not fixed. A panic of `each` comes back when the other threads are done with their chunks.
    ///
    /// **Columns are whole, also where the query does not see a row** because fragments are [switched
    /// off](crate::query::Enabled), as for [`for_each_chunk`](Self::for_each_chunk): [`DynamicChunk::rows`].
    pub fn par_for_each_chunk<'a>(&'a mut self, each: impl Fn(DynamicChunk<'a>) + Sync) {
        let run: &'a Self = self;
        let matches = &run.query.matches;
        share_chunks(
            run.world,
            matches,
            |known| known.archetype,
            |known, archetype, chunk| {
                if let Some(view) = run.view(known, archetype, chunk) {
                    // SAFETY: as in `chunks`; no number of a chunk comes twice.
                    each(unsafe { DynamicChunk::new(view, &run.query.lends, known, 0, chunk.len) });
                }
            },
        );
    }

    /// Calls `each` for those of `entities` that the query sees, neighbouring rows of a chunk together, in the
    /// order in which they lie. O(n log n) for n entities.
    ///
    /// An entity that stands there twice is seen once; handles that are refused are reported by position.
    /// `done` is the number of entities that were seen. Among neighbours there may be rows that the query does not see,
    /// because fragments are [switched off](crate::query::Enabled): [`DynamicChunk::rows`].
    pub fn for_each_in(
        &mut self,
        entities: &[Entity],
        mut each: impl FnMut(DynamicChunk<'_>),
    ) -> SliceReport {
        let (spans, mut report) = located(self.world, entities);
        let run: &Self = self;
        for of_chunk in spans.chunk_by(Span::same_chunk) {
            report.done += run.spans(of_chunk, &mut each);
        }
        after(each, report)
    }

    /// Calls `each` for those of `entities` that the query sees, as [`for_each_in`](Self::for_each_in) does, on all
    /// threads of the current rayon pool; the rows of one chunk on one thread.
    pub fn par_for_each_in(
        &mut self,
        entities: &[Entity],
        each: impl Fn(DynamicChunk<'_>) + Sync,
    ) -> SliceReport {
        let (spans, mut report) = located(self.world, entities);
        let run: &Self = self;
        let of_chunks: Vec<&[Span]> = spans.chunk_by(Span::same_chunk).collect();
        let seen = fork_join::map(of_chunks, |of_chunk| {
            run.spans(of_chunk, &mut |chunk: DynamicChunk<'_>| each(chunk))
        });
        report.done = seen.into_iter().sum();
        after(each, report)
    }

    /// Calls `each` for the rows of one chunk, if the query sees it; how many it sees.
    fn spans(&self, spans: &[Span], each: &mut impl FnMut(DynamicChunk<'_>)) -> usize {
        let Some(first) = spans.first() else { return 0 };
        let matches = &self.query.matches;
        let Ok(at) = matches.binary_search_by_key(&first.archetype, |known| known.archetype) else {
            return 0;
        };
        let known = &matches[at];
        let archetype = &self.world.archetypes[first.archetype as usize];
        let chunk = &archetype.chunks[first.chunk as usize];
        let Some(view) = self.view(known, archetype, chunk) else {
            return 0;
        };
        let mut seen = 0;
        for span in spans {
            let lends = &self.query.lends;
            // SAFETY: rows of a chunk that matches. Spans have no row in common, and what `each` is lent of
            // one ends before it gets the next.
            let rows = unsafe { DynamicChunk::new(view, lends, known, span.first, span.count) };
            let visible = rows.rows().count();
            if visible > 0 {
                each(rows);
            }
            seen += visible;
        }
        seen
    }

    /// The row of one entity, if the query sees it, to read and to write.
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::Missing`] if the query does not see the entity.
    pub fn get_mut<'a>(&'a mut self, entity: Entity) -> Result<DynamicChunk<'a>, WorldError> {
        let run: &'a Self = self;
        let (number, row) = run.world.find(entity)?;
        let matches = &run.query.matches;
        let found = matches.binary_search_by_key(&number, |known| known.archetype);
        let archetype = &run.world.archetypes[number as usize];
        let chunk = &archetype.chunks[row.chunk as usize];
        let seen = found.ok().and_then(|at| {
            let known = &matches[at];
            let view = run.view(known, archetype, chunk)?;
            masked(known.masks.as_deref(), chunk, row.row).then_some((known, view))
        });
        match seen {
            Some((known, view)) => {
                // SAFETY: a row of a chunk that matches, lent while the run is borrowed.
                Ok(unsafe { DynamicChunk::new(view, &run.query.lends, known, row.row, 1) })
            }
            None => Err(WorldError::Missing {
                entity,
                name: run.query.names(run.world.registry()),
                lack: Lack::Match,
            }),
        }
    }

    /// How many entities the query sees.
    #[must_use]
    pub fn count(&mut self) -> usize {
        self.chunks().map(|chunk| chunk.rows().count()).sum()
    }

    /// Whether the query sees no entity. Nothing is lent: it is no change.
    #[must_use]
    pub fn is_empty(&mut self) -> bool {
        self.rows().next().is_none()
    }

    /// The row of the first entity that the query sees.
    #[must_use]
    pub fn first<'a>(&'a mut self) -> Option<DynamicChunk<'a>> {
        let run: &'a Self = self;
        let (known, view, row) = run.rows().next()?;
        // SAFETY: a row of a chunk that matches, lent while the run is borrowed.
        Some(unsafe { DynamicChunk::new(view, &run.query.lends, known, row, 1) })
    }

    /// The row of the only entity that the query sees; `None` if there is none, or more than one.
    #[must_use]
    pub fn single<'a>(&'a mut self) -> Option<DynamicChunk<'a>> {
        let run: &'a Self = self;
        let mut rows = run.rows();
        let (known, view, row) = rows.next()?;
        if rows.next().is_some() {
            return None;
        }
        // SAFETY: as in `first`.
        Some(unsafe { DynamicChunk::new(view, &run.query.lends, known, row, 1) })
    }

    /// The rows that the query sees, each with its chunk.
    fn rows<'a>(&'a self) -> impl Iterator<Item = (&'a DynamicMatch, ChunkView<'a>, u32)> {
        self.query.matches.iter().flat_map(move |known| {
            let archetype = &self.world.archetypes[known.archetype as usize];
            let chunks = archetype.chunks.iter();
            let views = chunks.filter_map(move |chunk| self.view(known, archetype, chunk));
            views.flat_map(move |view| {
                let rows = 0..view.chunk.len;
                let rows = rows.filter(move |&row| masked(known.masks.as_deref(), view.chunk, row));
                rows.map(move |row| (known, view, row))
            })
        })
    }

    /// The entities that the query sees.
    pub fn entities(&mut self) -> impl Iterator<Item = Entity> {
        self.chunks().flat_map(|chunk| {
            let entities = chunk.entities();
            chunk.rows().map(move |row| entities[row])
        })
    }
}
