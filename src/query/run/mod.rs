//! `QueryRun`: a query on a world.

mod fallible;
mod gather;
mod parallel;
mod scope;
mod visit;

use core::hint::assert_unchecked;
use core::marker::PhantomData;
use core::ops::Range;

use crate::archetype::{Archetype, Chunk, ChunkList};
use crate::exactly::Exactly;
use crate::query::masks::{masked_rows, next_run};
use crate::query::matches::{Match, Matches};
use crate::query::requirements::Mask;
use crate::query::run::visit::{Chunks, Entities, Slices, Visit, lend_stretches};
use crate::query::sees_chunk::RunFilter;
use crate::query::{ChunkView, QueryData, QueryFilter, QueryIter, ReadOnly};
use crate::world::{Version, World};

pub(super) use scope::Scope;

/// As many chunks of an archetype are taken to be in the caches still from the last walk: 1 MiB.
const NEAR: usize = 64;

/// Rows of an archetype's only chunk from which on it is worth while to fetch that of one of the next ones meanwhile:
/// with fewer the processor gets there by itself.
const ENOUGH: u32 = 4;
/// So many archetypes ahead.
const AHEAD: usize = 2;

/// A query on a world: lends what the query says, in the order of archetypes, chunks and rows. From
/// [`Query::on`](crate::query::Query::on) and [`Query::read`](crate::query::Query::read); from [`World::query`] and
/// [`World::read`], for a query that is not kept; and what a processor asks for.
///
/// It is walked by its own calls, or by a loop: over `&mut run`, over `&run` where all is [only
/// read](ReadOnly), and over `run`, which is used up then, and whose items live as long as what it
/// borrows. Its own calls take `&mut self` also where all is only read, for they are those of every
/// run; for such a run there is [`reborrow`](Self::reborrow).
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// world.create_batch((0..10_u32).map(|n| (n,)))?;
/// let mut numbers = Query::<&mut u32>::new(&world)?;
/// let mut run = numbers.on(&mut world);
/// run.for_each(|number| *number += 1);
/// for number in &mut run {
///     *number *= 2;
/// }
/// assert_eq!(run.into_iter().map(|number| *number).sum::<u32>(), 110);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is lent until it is asked for, but the run counts: the next one looks for changes since"]
pub struct QueryRun<'q, D: QueryData, F: QueryFilter = ()> {
    pub(super) matches: Matches<'q, D, F>,
    pub(super) world: &'q World,
    pub(super) since: u32,
    pub(super) version: u32,
    pub(super) filter: Option<RunFilter<'q>>,
    /// What is lent: whoever has this need not be able to have it.
    pub(super) _data: Exactly<D>,
}

impl<D: QueryData, F: QueryFilter> core::fmt::Debug for QueryRun<'_, D, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("QueryRun")
            .field("matches", &self.matches.len())
            .field("since", &self.since)
            .finish_non_exhaustive()
    }
}

impl<'q, D: QueryData, F: QueryFilter> QueryRun<'q, D, F> {
    /// A run over these archetypes of the world, which are all that match.
    #[inline(always)]
    pub(super) fn new(
        matches: Matches<'q, D, F>,
        world: &'q World,
        (since, version): (u32, u32),
    ) -> Self {
        Self {
            matches,
            world,
            since,
            version,
            filter: None,
            _data: PhantomData,
        }
    }

    /// Sees only chunks for which `filter` is true: it is asked once a chunk, before its entities;
    /// by calls for a collection of entities, once for each stretch of it that lies side by side in
    /// a chunk. What it looks at it borrows (so it is `Copy`, and has no `drop`): a run that is not used any more keeps nothing
    /// borrowed.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..10_u32).map(|n| (n,)))?;
    /// let some = vec![10, 20];
    /// let mut run = world.query::<&u32, ()>()?.filter_chunks(|chunk| some.contains(&chunk.len()));
    /// assert_eq!(run.count(), 10);
    /// drop(some);
    /// world.create((10_u32,))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// ```compile_fail,E0505
    /// # use megachunk::prelude::*;
    /// # let mut world = World::new();
    /// # let some = vec![10, 20];
    /// let mut run = world.query::<&u32, ()>().unwrap().filter_chunks(|chunk| some.contains(&chunk.len()));
    /// drop(some);
    /// let _ = run.count();
    /// ```
    ///
    /// ```compile_fail,E0277
    /// # use megachunk::prelude::*;
    /// # let mut world = World::new();
    /// # let some = vec![10, 20];
    /// let run = world.query::<&u32, ()>().unwrap().filter_chunks(move |chunk| some.contains(&chunk.len()));
    /// ```
    pub fn filter_chunks(
        self,
        filter: impl Fn(&ChunkView<'_>) -> bool + Copy + Send + Sync + 'q,
    ) -> Self {
        Self {
            filter: Some(RunFilter::and(self.filter, filter)),
            ..self
        }
    }

    /// Sees only entities whose shared value, const or not, equals `value`.
    pub fn sharing<T: crate::fragment::SharedFragment>(self, value: &'q T) -> Self {
        self.filter_chunks(move |chunk| chunk.shares(value))
    }

    /// Looks for changes after this [version](World::version), instead of since the last run. A version that is
    /// more than a billion behind may show what has not changed, and misses nothing. Since
    /// [`Version::START`]: for all that there is.
    pub fn since(self, version: Version) -> Self {
        Self {
            since: self.world.since(version.to_bits(), self.version),
            ..self
        }
    }

    /// The version of this run: what to tell [`since`](Self::since) for all that changes after it, among which its own
    /// writes are not. As [`World::version`](crate::world::World::version), for who has the run and not the world. In a
    /// processor that is so for the fragments that the run asks for: others are written beside it, perhaps, by processors
    /// with lesser versions, and whoever asks for them is told the version of a run that reads them. O(1).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u8,))?;
    /// let bee = world.create((1_u16,))?;
    /// let mut numbers = Query::<&u8, Changed<u8>>::new(&world)?;
    /// let mut run = numbers.on(&mut world);
    /// let (seen, sent) = (run.count(), run.version());
    /// drop(run);
    /// assert_eq!(seen, 1);
    /// *world.get_mut::<u16>(bee)? = 2;
    /// assert_eq!(numbers.on(&mut world).since(sent).count(), 0);
    /// *world.get_mut::<u8>(ant)? = 2;
    /// // However many runs there were since.
    /// assert_eq!(numbers.on(&mut world).since(sent).count(), 1);
    /// assert_eq!(numbers.on(&mut world).since(sent).count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn version(&self) -> Version {
        Version::from_bits(self.world.moment(self.version))
    }

    /// Lends the same run once more, to be used beside itself: what is only read may be lent to many at once. So one
    /// run can be walked in loops inside each other, or by all threads of another query's
    /// [`par_for_each`](Self::par_for_each); `&run` is the iterator of such a run.
    ///
    /// It sees what this one sees, looks for changes since the same version, and counts as no run
    /// of its own. O(1), and an allocation where there is a [filter of
    /// chunks](Self::filter_chunks), which is asked for every walk anew.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Mass(f32);
    /// struct Pull(f32);
    ///
    /// let mut world = World::new();
    /// let _ = world.create_batch((1..4).map(|n| (Mass(n as f32), Pull(0.0))))?;
    ///
    /// let mut masses = Query::<(Entity, &Mass)>::new(&world)?;
    /// let masses = masses.read(&world);
    /// let mut pairs = 0;
    /// for (one, _) in &masses {
    ///     pairs += masses.reborrow().iter().filter(|(other, _)| one < *other).count();
    /// }
    /// assert_eq!(pairs, 3);
    /// drop(masses);
    ///
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("pull", |mut pulls: QueryRun<&mut Pull>, masses: QueryRun<&Mass>| {
    ///     pulls.par_for_each(|pull| {
    ///         for mass in &masses {
    ///             pull.0 += mass.0;
    ///         }
    ///     });
    /// }));
    /// schedule.run(&mut world)?;
    /// assert!(world.query::<&Pull, ()>()?.into_iter().all(|pull| pull.0 == 6.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// What is lent to be written is lent once, so there is no such run of it:
    ///
    /// ```compile_fail,E0277
    /// # use megachunk::prelude::*;
    /// fn pairs(masses: QueryRun<&mut f32>) {
    ///     let _ = masses.reborrow();
    /// }
    /// ```
    ///
    /// ```compile_fail,E0277
    /// # use megachunk::prelude::*;
    /// fn pairs(masses: QueryRun<(Entity, &mut f32)>) {
    ///     for mass in &masses {}
    /// }
    /// ```
    ///
    /// ```compile_fail,E0505
    /// # use megachunk::prelude::*;
    /// fn outlived(masses: QueryRun<&f32>) {
    ///     let again = masses.reborrow();
    ///     drop(masses);
    ///     let _ = again.get(Entity::PLACEHOLDER);
    /// }
    /// ```
    #[doc(alias = "as_readonly")]
    #[doc(alias = "iter_combinations")]
    pub fn reborrow(&self) -> QueryRun<'_, D, F>
    where
        D: ReadOnly,
    {
        // SAFETY: all is only read.
        unsafe { self.again() }
    }

    /// The same run, to be gone through by this call's borrow: what takes a run by value, to see less of it, can be asked of
    /// one that writes, too, and each time anew. What only reads is lent to many at once by [`reborrow`](Self::reborrow). O(1);
    /// with a filter of chunks one allocation.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// fn score(points: &mut QueryRun<&mut u32>, winners: &'static str) {
    ///     points.for_each(|points| *points += 1);
    ///     points.reborrow_mut().sharing(&winners).for_each(|points| *points += 2);
    /// }
    ///
    /// let mut world = World::new();
    /// world.registry().register::<Shared<&str>>()?;
    /// let [red, blue] = ["red", "blue"].map(|team| world.create((0_u32,).shared(team)));
    /// score(&mut world.query::<&mut u32, ()>()?, "red");
    /// assert_eq!((*world.get::<u32>(red?)?, *world.get::<u32>(blue?)?), (3, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Meanwhile the run itself lends nothing:
    ///
    /// ```compile_fail,E0499
    /// # use megachunk::prelude::*;
    /// fn twice(mut run: QueryRun<&mut f32>) {
    ///     let mut again = run.reborrow_mut();
    ///     let lent = run.first();
    ///     let also = again.first();
    ///     drop((lent, also));
    /// }
    /// ```
    pub fn reborrow_mut(&mut self) -> QueryRun<'_, D, F> {
        // SAFETY: `&mut self` lends nothing else.
        unsafe { self.again() }
    }

    /// The same run once more.
    ///
    /// # Safety
    /// While it is there, nothing is lent by this one, unless all is only read.
    unsafe fn again(&self) -> QueryRun<'_, D, F> {
        QueryRun {
            matches: Matches::Lent(&self.matches),
            world: self.world,
            since: self.since,
            version: self.version,
            filter: self.filter.as_ref().map(RunFilter::reborrow),
            _data: PhantomData,
        }
    }

    /// Lends each chunk of the archetypes that match as slices, also those that the run does not see: by its
    /// [filter of chunks](Self::filter_chunks), or because they have not changed.
    pub(crate) fn for_all_chunks<'a>(&'a self, mut each: impl FnMut(ChunkView<'a>, D::Slices<'a>))
    where
        D: ReadOnly,
    {
        let scope = self.scope();
        for known in self.matches.iter() {
            let archetype = &self.world.archetypes[known.archetype as usize];
            let far = archetype.chunks.len() > NEAR;
            for (at, chunk) in archetype.chunks.iter().enumerate() {
                if far && let Some(next) = archetype.chunks.get(at + 1) {
                    D::ahead(known.data, scope.show(archetype, next));
                }
                if chunk.len == 0 {
                    continue;
                }
                let view = scope.show(archetype, chunk);
                let fetch = D::fetch(known.data, view);
                // SAFETY: the rows of the chunk; what is only read may be lent to many.
                each(view, unsafe { D::slices(fetch, view.len()) });
            }
        }
    }

    /// Whether an archetype matches. O(log matches).
    pub(crate) fn has_archetype(&self, archetype: u32) -> bool {
        let found = self
            .matches
            .binary_search_by_key(&archetype, |known| known.archetype);
        found.is_ok()
    }

    /// The world that it is on.
    pub(crate) fn world(&self) -> &World {
        self.world
    }

    /// What its own writes get.
    pub(crate) fn stamp(&self) -> u32 {
        self.version
    }

    /// Shows `visit` each chunk that the query sees.
    #[inline(always)]
    fn chunks<'a>(&'a self, mut visit: impl Visit<'a, D, F>) {
        let scope = self.scope();
        let archetypes = scope.world.archetypes.as_slice();
        assert!(self.matches.end() <= archetypes.len());
        let enough = match self.matches.len() > NEAR {
            true => ENOUGH,
            false => u32::MAX,
        };
        let masked = self.matches.is_masked();
        let mut left: &[Match<D, F>] = &self.matches;
        while let [known, after @ ..] = left {
            left = after;
            // SAFETY: below the end of all numbers, which has just been compared.
            let archetype = unsafe { archetypes.get_unchecked(known.archetype as usize) };
            match &archetype.chunks {
                // Where archetypes are many, most have one chunk, folded or as short as can be: the loop over them asks
                // as few questions as it can.
                ChunkList::One(chunk) if chunk.is_short() && !masked => {
                    if chunk.len >= enough {
                        self.expect(after.get(AHEAD - 1));
                    }
                    // SAFETY: as has just been asked. (The compiler would ask again: what was asked for ahead may
                    // have changed it, for all that it knows.)
                    unsafe { assert_unchecked(chunk.is_short()) };
                    if let Some(view) = scope.view(known, archetype, chunk) {
                        visit.chunk(known, view, None);
                    }
                }
                chunks => scope.walk(known, archetype, chunks, &mut visit),
            }
        }
    }

    /// Asks the processor for the only chunk of an archetype that comes soon.
    #[inline(always)]
    fn expect(&self, known: Option<&Match<D, F>>) {
        let Some(known) = known else { return };
        let archetype = &self.world.archetypes[known.archetype as usize];
        if let ChunkList::One(chunk) = &archetype.chunks {
            D::ahead(known.data, self.scope().show(archetype, chunk));
        }
    }

    #[inline(always)]
    pub(super) fn scope(&self) -> Scope<'q, '_> {
        Scope {
            world: self.world,
            since: self.since,
            version: self.version,
            filter: self.filter.as_ref().map(|filter| filter.get() as _),
        }
    }

    /// Lends the data of each entity in turn.
    ///
    /// The compiler makes vectors of what `each` does, where it can be: also of values that fill none by themselves, as
    /// three numbers do, which are taken four at a time. A `for` loop over the run has not that.
    #[inline]
    pub fn for_each<'a>(&'a mut self, each: impl FnMut(D::Item<'a>)) {
        self.chunks(Entities(each));
    }

    /// Lends the data of each chunk as slices: for loops of one's own. (What is done to each entity by itself is as fast by
    /// [`for_each`](Self::for_each), and faster to structs of three numbers, unless one's loop takes
    /// [four at a time](slice::as_chunks), too.)
    ///
    /// **A slice is a chunk's whole column, also those rows that the query does not see** because a
    /// fragment that it asks for is [switched off](crate::query::Enabled), or one that it excludes
    /// is switched off in other rows of the chunk. Where a fragment that the query asks for or
    /// excludes, by its data or its filter, can be switched, use
    /// [`for_each_slice`](Self::for_each_slice) or [`for_each`](Self::for_each). (`Option<&T>` says
    /// whether there is a `T`, switched on or not, in every kind of walk; ask for `Enabled<T>` to
    /// see its switches.)
    #[inline]
    pub fn for_each_chunk<'a>(&'a mut self, each: impl FnMut(ChunkView<'a>, D::Slices<'a>)) {
        self.chunks(Slices(each));
    }

    /// Lends the data of neighbouring entities that the query sees as slices: the chunk, which of
    /// its rows they are, and their data. Where nothing that the query asks for or excludes can be
    /// switched off, that is once a chunk, as with [`for_each_chunk`](Self::for_each_chunk); else
    /// for each stretch of rows between two that it does not see. Rows are lent as their bits stood
    /// when the call came to the stretch.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Energy(u32);
    ///
    /// let mut world = World::new();
    /// world.registry().register_enableable::<Energy>()?;
    /// let ants = world.create_batch((0..100).map(|n| (Energy(n),)))?;
    /// let ants = ants.to_vec(&world);
    /// world.set_enabled::<Energy>(ants[40], false)?;
    ///
    /// let mut rows = Vec::new();
    /// world.query::<&mut Energy, ()>()?.for_each_slice(|_, at, energies| {
    ///     energies.iter_mut().for_each(|energy| energy.0 += 1);
    ///     rows.push(at);
    /// });
    /// assert_eq!(rows, [0..40, 41..100]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_each_slice<'a>(
        &'a mut self,
        mut each: impl FnMut(ChunkView<'a>, Range<usize>, D::Slices<'a>),
    ) {
        self.chunks(Chunks(|known: &'a Match<D, F>, view: ChunkView<'a>| {
            lend_stretches(known, view, &mut each);
        }));
    }

    /// The data of each entity in turn, as an iterator.
    #[inline]
    pub fn iter<'a>(&'a mut self) -> QueryIter<'a, D, F> {
        QueryIter::new(self)
    }

    /// How many entities the query sees. O(archetypes that match); O(chunks) where something is asked of each chunk, and
    /// O(entities) where fragments can be switched off. Nothing is lent: it is no change.
    #[must_use]
    pub fn count(&mut self) -> usize {
        if F::SEES_ALL && self.filter.is_none() {
            let archetypes = self.world.archetypes.as_slice();
            let archetype = |known: &Match<D, F>| &archetypes[known.archetype as usize];
            if !self.matches.is_masked() {
                return self
                    .matches
                    .iter()
                    .map(|known| archetype(known).entities)
                    .sum();
            }
            let counts = self.matches.iter().map(|known| match known.masks() {
                None => archetype(known).entities,
                Some(masks) => count_masked(masks, archetype(known)),
            });
            return counts.sum();
        }
        let mut count = 0;
        self.chunks(Chunks(|known: &Match<D, F>, view: ChunkView<'_>| {
            count += match known.masks() {
                None => view.len(),
                Some(masks) => masked_rows(masks, view.chunk, 0..view.len()).count(),
            };
        }));
        count
    }

    /// Whether the query sees no entity. Nothing is lent: it is no change.
    #[must_use]
    pub fn is_empty(&mut self) -> bool {
        let scope = self.scope();
        self.matches.iter().all(|known| {
            let archetype = &self.world.archetypes[known.archetype as usize];
            archetype.chunks.iter().all(|chunk| {
                let Some(view) = scope.view(known, archetype, chunk) else {
                    return true;
                };
                match known.masks() {
                    None => view.is_empty(),
                    Some(masks) => next_run(masks, chunk, 0, view.len()).is_none(),
                }
            })
        })
    }

    /// The data of the first entity.
    #[inline]
    #[must_use]
    pub fn first(&mut self) -> Option<D::Item<'_>> {
        self.iter().first()
    }

    /// The data of the only entity; `None` if there is none, or more than one: then nothing is lent, and it is no change.
    #[inline]
    #[must_use]
    pub fn single(&mut self) -> Option<D::Item<'_>> {
        self.iter().single()
    }
}

/// How many entities of an archetype masks let through.
#[cold]
#[inline(never)]
fn count_masked(masks: &[Mask], archetype: &Archetype) -> usize {
    let rows = |chunk: &Chunk| masked_rows(masks, chunk, 0..chunk.len as usize).count();
    archetype.chunks.iter().map(rows).sum()
}
