//! `DynamicRun`: a dynamic query on a world.

use core::marker::PhantomData;

use crate::archetype::{Archetype, Chunk, Row};
use crate::entity::Entity;
use crate::fragment::{FragmentError, FragmentId, FragmentKind, Value, Values};
use crate::panics::after;
use crate::query::collection::{Span, located};
use crate::query::dynamic::chunk::DynamicChunk;
use crate::query::dynamic::query::{DynamicMatch, DynamicQuery, Lend};
use crate::query::masks::masked;
use crate::query::sees_chunk::{SeesChunk, and};
use crate::query::share::share_chunks;
use crate::query::{ChunkView, QueryError};
use crate::workers::fork_join;
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
    /// world.registry().register::<Shared<&str>>()?;
    /// for team in ["red", "red", "blue"] {
    ///     world.create((1_u32,).shared(team))?;
    /// }
    /// let mut heights = DynamicQuery::builder(&world).read(height).build()?;
    /// let mut heights = heights.on(&mut world)?;
    /// for (team, count) in [("red", 2), ("blue", 1)] {
    ///     let mut of_team = heights.reborrow_mut().filter_chunks(move |chunk| chunk.shared() == Some(&team));
    ///     assert_eq!(of_team.count(), count);
    /// }
    /// assert_eq!(heights.count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reborrow_mut(&mut self) -> DynamicRun<'_> {
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
    pub fn filter_chunks(self, filter: impl Fn(&ChunkView<'_>) -> bool + Send + Sync + 'q) -> Self {
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
        let shares = shares(self.world, value)?;
        Ok(self.filter_chunks(shares))
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
        let seen = chunk.len > 0
            && self.query.has_changed(known, chunk, self.since)
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
                Some(unsafe { DynamicChunk::new(view, run, known, 0, chunk.len) })
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
                    each(unsafe { DynamicChunk::new(view, run, known, 0, chunk.len) });
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
            // SAFETY: rows of a chunk that matches. Spans have no row in common, and what `each` is lent of
            // one ends before it gets the next.
            let rows = unsafe { DynamicChunk::new(view, self, known, span.first, span.count) };
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
        let (known, number, row) = run.matching(entity)?;
        let archetype = &run.world.archetypes[number as usize];
        let chunk = &archetype.chunks[row.chunk as usize];
        match run.view(known, archetype, chunk) {
            // SAFETY: a row of a chunk that matches, lent while the run is borrowed.
            Some(view) => Ok(unsafe { DynamicChunk::new(view, run, known, row.row, 1) }),
            None => Err(run.lacks(entity)),
        }
    }

    /// The value of a fragment of an entity, to be read, if the query sees the entity and lends the fragment: also one that
    /// it lends to be written, which has not changed by that. As [`QueryLookup::peek`](crate::query::QueryLookup::peek); from
    /// any thread. From within a loop: [`DynamicChunk::peek`]. O(log archetypes that match + fragments that the query lends).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let height = world.registry().register::<f32>()?.id();
    /// let (cart, load) = (world.create((5.0_f32,))?, world.create((0.0_f32,))?);
    /// let mut heights = DynamicQuery::builder(&world).write(height).build()?;
    /// let mut heights = heights.on(&mut world)?;
    /// let below = *heights.peek(cart, height)?.value::<f32>()?;
    /// *heights.get_mut(load)?.write(height)?.value::<f32>()? = below;
    /// drop(heights);
    /// assert_eq!(world.get::<f32>(load)?, &5.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`get_mut`](Self::get_mut); [`WorldError::Missing`] also if the query does not lend the fragment
    /// ([`Lack::Lent`]), or the entity does not have it; [`FragmentError::Unknown`].
    pub fn peek(&self, entity: Entity, id: FragmentId) -> Result<Values<'_>, WorldError> {
        let (known, number, row) = self.matching(entity)?;
        let archetype = &self.world.archetypes[number as usize];
        let chunk = &archetype.chunks[row.chunk as usize];
        if self.view(known, archetype, chunk).is_none() {
            return Err(self.lacks(entity));
        }
        // The query lends it, so that nobody writes it but by what borrows the run to write, which nobody does meanwhile.
        self.lent(entity, id, |_| Ok(()))?;
        self.world.values_of(entity, number, row, id)
    }

    /// The same from within a loop, which may have lent on any thread what the query lends to be written.
    ///
    /// No value is lent twice: what is lent here the query lends to be read alone, once in all; so no [`DynamicChunk`] of the
    /// run lends it to be written, and whoever else could, another query of a processor, is kept off the archetypes that
    /// match this one. Closures are not asked that see chunks: they may look at a chunk's fragment of another chunk than
    /// the one in hand, which the query may lend to be written, and another thread have it.
    pub(super) fn peek_beside(
        &self,
        entity: Entity,
        id: FragmentId,
    ) -> Result<Values<'_>, WorldError> {
        let (known, number, row) = self.placed(entity)?;
        // What it throws itself another thread may be throwing.
        if !self.query.switches_what_it_sees {
            self.switched_on(known, entity, number, row)?;
        }
        self.lent(entity, id, |lend| match lend.write {
            true => Err(Lack::LentToWrite),
            false => Ok(()),
        })?;
        self.world.values_of(entity, number, row, id)
    }

    /// Asks whether what is known of how a fragment is lent will do.
    fn lent(
        &self,
        entity: Entity,
        id: FragmentId,
        will_do: impl Fn(&Lend) -> Result<(), Lack>,
    ) -> Result<(), WorldError> {
        let info = self.world.registry().get(id);
        let info = info.ok_or(FragmentError::Unknown { id })?;
        let lend = self.query.lends.iter().find(|lend| lend.id == id);
        let lent = lend.ok_or(Lack::Lent).and_then(will_do);
        lent.map_err(|lack| WorldError::Missing {
            entity,
            name: info.name().into(),
            lack,
        })
    }

    /// Where an entity lies that the query's requirements see, whatever its filters of chunks say.
    fn matching(&self, entity: Entity) -> Result<(&DynamicMatch, u32, Row), WorldError> {
        let (known, number, row) = self.placed(entity)?;
        self.switched_on(known, entity, number, row)?;
        Ok((known, number, row))
    }

    /// Where an entity lies whose composition matches.
    fn placed(&self, entity: Entity) -> Result<(&DynamicMatch, u32, Row), WorldError> {
        let (number, row) = self.world.find(entity)?;
        let matches = &self.query.matches;
        match matches.binary_search_by_key(&number, |known| known.archetype) {
            Ok(at) => Ok((&matches[at], number, row)),
            Err(_) => Err(self.lacks(entity)),
        }
    }

    /// Asks whether the switches of an entity are as the query wants them.
    fn switched_on(
        &self,
        known: &DynamicMatch,
        entity: Entity,
        archetype: u32,
        row: Row,
    ) -> Result<(), WorldError> {
        let chunk = &self.world.archetypes[archetype as usize].chunks[row.chunk as usize];
        match masked(known.masks.as_deref(), chunk, row.row) {
            true => Ok(()),
            false => Err(self.lacks(entity)),
        }
    }

    /// The query does not see an entity.
    #[cold]
    fn lacks(&self, entity: Entity) -> WorldError {
        WorldError::Missing {
            entity,
            name: self.query.names(self.world.registry()),
            lack: Lack::Match,
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
        Some(unsafe { DynamicChunk::new(view, run, known, row, 1) })
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
        Some(unsafe { DynamicChunk::new(view, run, known, row, 1) })
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

/// Sees chunks whose shared value, const or not, equals `value`.
///
/// # Errors
/// As for [`DynamicRun::sharing`].
pub(super) fn shares<'q>(
    world: &World,
    value: &'q Value,
) -> Result<impl Fn(&ChunkView<'_>) -> bool + Sync + use<'q>, QueryError> {
    let id = value.id();
    let info = world.registry().get(id);
    let info = info.ok_or(FragmentError::Unknown { id })?;
    if !value.is_of(info) {
        return Err(FragmentError::OtherUniverse { id }.into());
    }
    let ops = info.shared_ops().ok_or_else(|| FragmentError::WrongKind {
        name: info.name().into(),
        is: info.kind(),
        wanted: FragmentKind::Shared,
    })?;
    let equal = ops.equal;
    Ok(move |chunk: &ChunkView<'_>| {
        let Some(at) = chunk.archetype.shared_at(id) else {
            return false;
        };
        let there = chunk.world.shared_at(chunk.archetype, chunk.chunk, at);
        // SAFETY: two values of this fragment.
        unsafe { equal(there, value.as_ptr()) }
    })
}
