//! Collections: a query on entities that somebody names, split at the borders of chunks.

use core::ops::Range;

use crate::archetype::Row;
use crate::entity::Entity;
use crate::panics::after;
use crate::query::lookup::{lend, refused};
use crate::query::masks::{any_masked, masked};
use crate::query::matches::Match;
use crate::query::rows::lend_rows;
use crate::query::run::Scope;
use crate::query::{ChunkView, Query, QueryData, QueryFilter, QueryRun, ReadOnly};
use crate::workers::fork_join;
use crate::world::{SliceReport, World, WorldError};

/// Spans in a task of a thread.
const TOGETHER: usize = 16;

/// Neighbouring rows of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) archetype: u32,
    /// The chunk's position in its archetype.
    pub(crate) chunk: u32,
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Span {
    pub(crate) fn same_chunk(&self, other: &Self) -> bool {
        (self.archetype, self.chunk) == (other.archetype, other.chunk)
    }
}

/// Where entities lie, as spans in the order of archetypes, chunks and rows, each row once; and the handles
/// that are refused.
pub(crate) fn located(world: &World, entities: &[Entity]) -> (Vec<Span>, SliceReport) {
    let mut report = SliceReport::default();
    let mut rows = Vec::with_capacity(entities.len());
    for (position, &entity) in entities.iter().enumerate() {
        match world.find(entity) {
            Ok((archetype, row)) => rows.push((archetype, row.chunk, row.row)),
            Err(error) => report.refused.push((position, error)),
        }
    }
    rows.sort_unstable();
    rows.dedup();
    let neighbours =
        |a: &(u32, u32, u32), b: &(u32, u32, u32)| (a.0, a.1) == (b.0, b.1) && a.2 + 1 == b.2;
    let spans = rows.chunk_by(neighbours).map(|rows| Span {
        archetype: rows[0].0,
        chunk: rows[0].1,
        first: rows[0].2,
        count: rows.len() as u32,
    });
    (spans.collect(), report)
}

impl<'q, D: QueryData, F: QueryFilter> QueryRun<'q, D, F> {
    /// Lends the data of one entity, if the run sees it. O(log archetypes that match), and what its
    /// filter of chunks takes.
    ///
    /// Who looks up many has a [`QueryLookup`](crate::query::QueryLookup), O(1) each.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Target(Entity);
    /// struct Health(u32);
    ///
    /// let mut world = World::new();
    /// let prey = world.create((Health(3),))?;
    /// world.create((Target(prey),))?;
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("bite", |targets: QueryRun<&Target>, mut healths: QueryRun<&mut Health>| {
    ///     for target in targets {
    ///         if let Ok(health) = healths.get_mut(target.0) {
    ///             health.0 -= 1;
    ///         }
    ///     }
    /// }));
    /// schedule.run(&mut world)?;
    /// assert_eq!(world.get::<Health>(prey)?.0, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::Missing`] if the run does not see the entity.
    #[inline]
    pub fn get_mut(&mut self, entity: Entity) -> Result<D::Item<'_>, WorldError> {
        // SAFETY: `&mut self` lends nothing else.
        unsafe { self.lend(entity) }
    }

    /// Lends the data of one entity to be read, if the run sees it: of many at once.
    ///
    /// # Errors
    /// As for [`get_mut`](Self::get_mut).
    #[inline]
    pub fn get(&self, entity: Entity) -> Result<D::Item<'_>, WorldError>
    where
        D: ReadOnly,
    {
        // SAFETY: the run only reads, as does whoever has borrowed it too.
        unsafe { self.lend(entity) }
    }

    /// [`get_mut`](Self::get_mut) for as long as the world is lent: several fragments of one entity side by side.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Position(f32);
    /// struct Velocity(f32);
    ///
    /// let mut world = World::new();
    /// let ball = world.create((Position(1.0), Velocity(-2.0)))?;
    /// let (position, velocity) = world
    ///     .query::<(&mut Position, &mut Velocity), ()>()?
    ///     .one(ball)?;
    /// position.0 += velocity.0;
    /// if position.0 < 0.0 {
    ///     core::mem::swap(&mut position.0, &mut velocity.0);
    /// }
    /// assert_eq!(world.get::<Position>(ball)?.0, -2.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// What is lent keeps the world borrowed, and uses the run up:
    ///
    /// ```compile_fail,E0499
    /// # use megachunk::prelude::*;
    /// # let mut world = World::new();
    /// # let ant = world.create((1_u8,)).unwrap();
    /// let lent = world.query::<&mut u8, ()>().unwrap().one(ant).unwrap();
    /// let again = world.query::<&mut u8, ()>().unwrap().one(ant).unwrap();
    /// core::mem::swap(lent, again);
    /// ```
    ///
    /// ```compile_fail,E0382
    /// # use megachunk::prelude::*;
    /// fn twice<'w>(run: QueryRun<'w, &mut u8>, ant: Entity) -> [&'w mut u8; 2] {
    ///     [run.one(ant).unwrap(), run.one(ant).unwrap()]
    /// }
    /// ```
    ///
    /// ```compile_fail,E0515
    /// # use megachunk::prelude::*;
    /// fn outlived(ant: Entity) -> &'static mut u8 {
    ///     let mut world = World::new();
    ///     world.query::<&mut u8, ()>().unwrap().one(ant).unwrap()
    /// }
    /// ```
    ///
    /// # Errors
    /// As for [`get_mut`](Self::get_mut).
    #[doc(alias = "query_one")]
    #[inline]
    pub fn one(self, entity: Entity) -> Result<D::Item<'q>, WorldError> {
        // SAFETY: what the run lends is its alone for `'q`, unless it only reads; nothing else will be lent by it.
        unsafe { self.lend(entity) }
    }

    /// # Safety
    /// Nobody has what is lent in a way that conflicts.
    #[inline]
    unsafe fn lend<'a>(&self, entity: Entity) -> Result<D::Item<'a>, WorldError>
    where
        'q: 'a,
    {
        if self.filter.is_some() {
            // SAFETY: the caller's.
            return unsafe { self.lend_filtered(entity) };
        }
        let (world, versions) = (self.world, (self.since, self.version));
        // SAFETY: the caller's; looked for just now.
        unsafe { lend(world, &self.matches, versions, entity, world.locate(entity)) }
    }

    /// The same, where a filter of chunks is to be asked.
    ///
    /// # Safety
    /// As for [`lend`](Self::lend).
    #[inline(never)]
    unsafe fn lend_filtered<'a>(&self, entity: Entity) -> Result<D::Item<'a>, WorldError>
    where
        'q: 'a,
    {
        let (archetype, Row { chunk, row }) = self.world.find(entity)?;
        if let Some((known, view)) = seen(&self.matches, self.scope(), archetype, chunk)
            && masked(known.masks(), view.chunk, row)
        {
            // SAFETY: a row of the chunk; for the rest the caller's.
            return Ok(unsafe { D::item(D::fetch(known.data, view), row as usize) });
        }
        Err(refused::<D, F>(entity))
    }

    /// Lends rows one by one, to whoever sees to it that each is lent once.
    pub(crate) fn lender(&self) -> RowLender<'_, '_, D, F> {
        RowLender::new(&self.matches, self.scope())
    }

    /// Lends the data of those of `entities` that the query sees, in the order in which they lie. O(n log n) for
    /// n entities.
    ///
    /// An entity that stands there twice is lent once; handles that are refused are reported by position.
    /// `done` is the number of entities that were lent.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ants: Vec<Entity> = (0..9_u32).map(|n| world.create((n,))).collect::<Result<_, _>>()?;
    /// world.add(ants[4], ("wet",))?;
    /// let mut dry = Query::<&mut u32, Without<&str>>::new(&world).unwrap();
    /// let report = dry.on(&mut world).for_each_in(&ants[3..6], |number| *number += 100);
    /// assert_eq!(report.into_result()?, 2);
    /// let numbers: Vec<u32> = ants.iter().map(|&ant| *world.get(ant).unwrap()).collect();
    /// assert_eq!(numbers, [0, 1, 2, 103, 4, 105, 6, 7, 8]);
    /// # Ok::<(), WorldError>(())
    /// ```
    pub fn for_each_in<'a>(
        &'a mut self,
        entities: &[Entity],
        mut each: impl FnMut(D::Item<'a>),
    ) -> SliceReport {
        let (spans, mut report) = located(self.world, entities);
        let (matches, scope) = (&*self.matches, self.scope());
        for span in &spans {
            report.done += rows_of(matches, scope, span, &mut each);
        }
        after(each, report)
    }

    /// Lends the data of those of `entities` that the query sees, as [`for_each_in`](Self::for_each_in) does, on all
    /// threads of the current rayon pool.
    pub fn par_for_each_in<'a>(
        &'a mut self,
        entities: &[Entity],
        each: impl Fn(D::Item<'a>) + Sync,
    ) -> SliceReport {
        let (spans, mut report) = located(self.world, entities);
        let (matches, scope) = (&*self.matches, self.scope());
        let done = fork_join::map(spans.chunks(TOGETHER).collect(), |spans| {
            let rows = |span| rows_of(matches, scope, span, &mut |item| each(item));
            spans.iter().map(rows).sum::<usize>()
        });
        report.done = done.into_iter().sum();
        after(each, report)
    }

    /// Lends the data of those of `entities` that the query sees as slices: for each piece of neighbouring
    /// rows the chunk, which of its rows they are, and their data. `done` is the number of entities that were lent.
    ///
    /// **Also rows that the query does not see** because fragments are [switched off](crate::query::Enabled) are
    /// lent, and counted, as by [`for_each_chunk`](Self::for_each_chunk). Where a fragment that the query asks for or
    /// excludes can be switched, use [`for_each_in`](Self::for_each_in).
    pub fn for_each_chunk_in<'a>(
        &'a mut self,
        entities: &[Entity],
        mut each: impl FnMut(ChunkView<'a>, Range<usize>, D::Slices<'a>),
    ) -> SliceReport {
        let (spans, mut report) = located(self.world, entities);
        let (matches, scope) = (&*self.matches, self.scope());
        for span in &spans {
            if let Some((known, view)) = seen(matches, scope, span.archetype, span.chunk) {
                let (first, count) = (span.first as usize, span.count as usize);
                let fetch = D::skip(D::fetch(known.data, view), first);
                // SAFETY: rows of the chunk; spans have no row in common.
                let slices = unsafe { D::slices(fetch, count) };
                D::alone(slices, |slices| each(view, first..first + count, slices));
                report.done += count;
            }
        }
        after(each, report)
    }
}

impl<D: QueryData, F: QueryFilter> Query<D, F> {
    /// Lends the data of those of these rows that the query sees, as a run does: of each before it asks for the
    /// next. What it changes gets this version.
    ///
    /// # Safety
    /// Rows of the world, each once; nobody uses in the meantime what `D` writes, or writes what it reads.
    pub(crate) unsafe fn lend_rows(
        &mut self,
        world: &World,
        version: u32,
        rows: impl Iterator<Item = (u32, Row)>,
        mut each: impl FnMut(D::Item<'_>),
    ) {
        self.update(world);
        let since = self.begin_at(world, version);
        let scope = Scope::unfiltered(world, (since, version));
        let mut lender = RowLender::new(&self.matches, scope);
        for (archetype, row) in rows {
            // SAFETY: the caller names each row once.
            if let Some(item) = unsafe { lender.lend(archetype, row) } {
                each(item);
            }
        }
    }
}

/// Lends rows one by one, of which those of one chunk mostly follow each other: what is asked of a chunk is asked once a
/// stretch.
pub(crate) struct RowLender<'a, 'f, D: QueryData, F: QueryFilter> {
    matches: &'a [Match<D, F>],
    scope: Scope<'a, 'f>,
    /// The chunk of the row before, and its archetype.
    last: Option<(u32, u32)>,
    here: Option<(&'a Match<D, F>, ChunkView<'a>)>,
    /// Where the chunk's data lie, once a row of it is lent: asking says that it is written to.
    fetch: Option<D::Fetch<'a>>,
}

impl<'a, 'f, D: QueryData, F: QueryFilter> RowLender<'a, 'f, D, F> {
    #[inline]
    fn new(matches: &'a [Match<D, F>], scope: Scope<'a, 'f>) -> Self {
        Self {
            matches,
            scope,
            last: None,
            here: None,
            fetch: None,
        }
    }

    /// Lends an entity's row, if the query sees it.
    ///
    /// # Safety
    /// As for [`lend`](Self::lend), for the row that the entity has.
    #[inline]
    pub(crate) unsafe fn lend_of(&mut self, entity: Entity) -> Option<D::Item<'a>> {
        let (archetype, row) = self.scope.world.locate(entity)?;
        // SAFETY: the caller's; the row was found in this world.
        unsafe { self.lend(archetype, row) }
    }

    /// Lends a row, if the query sees it.
    ///
    /// # Safety
    /// A row of the world; nobody has what is lent of it in a way that conflicts.
    #[inline]
    unsafe fn lend(&mut self, archetype: u32, Row { chunk, row }: Row) -> Option<D::Item<'a>> {
        if self.last != Some((archetype, chunk)) {
            self.last = Some((archetype, chunk));
            self.here = seen(self.matches, self.scope, archetype, chunk);
            self.fetch = None;
        }
        let (known, view) = self.here?;
        if !masked(known.masks(), view.chunk, row) {
            return None;
        }
        let fetch = *self.fetch.get_or_insert_with(|| D::fetch(known.data, view));
        // SAFETY: a row of the chunk; for the rest the caller's.
        Some(unsafe { D::item(fetch, row as usize) })
    }
}

/// Lends the rows of a span that the query sees; how many.
fn rows_of<'a, D: QueryData, F: QueryFilter>(
    matches: &'a [Match<D, F>],
    scope: Scope<'a, '_>,
    span: &Span,
    each: &mut impl FnMut(D::Item<'a>),
) -> usize {
    let Some((known, view)) = seen(matches, scope, span.archetype, span.chunk) else {
        return 0;
    };
    let rows = span.first as usize..(span.first + span.count) as usize;
    if !any_masked(known.masks(), view.chunk, rows.clone()) {
        return 0;
    }
    let fetch = D::fetch(known.data, view);
    if known.masks().is_none() {
        // SAFETY: rows of the chunk; spans have no row in common, so each is lent once.
        unsafe { lend_rows::<D>(fetch, rows, each) };
        return span.count as usize;
    }
    let mut count = 0;
    for row in span.first..span.first + span.count {
        if masked(known.masks(), view.chunk, row) {
            // SAFETY: as above.
            each(unsafe { D::item(fetch, row as usize) });
            count += 1;
        }
    }
    count
}

/// A chunk, if the query sees it.
pub(super) fn seen<'m, 'a, D: QueryData, F: QueryFilter>(
    matches: &'m [Match<D, F>],
    scope: Scope<'a, '_>,
    archetype: u32,
    chunk: u32,
) -> Option<(&'m Match<D, F>, ChunkView<'a>)> {
    let found = matches.binary_search_by_key(&archetype, |known| known.archetype);
    let known = &matches[found.ok()?];
    let archetype = &scope.world.archetypes[archetype as usize];
    let chunk = &archetype.chunks[chunk as usize];
    Some((known, scope.view(known, archetype, chunk)?))
}
