//! `Query`: requirements, and the archetypes that meet them.

use core::marker::PhantomData;

use crate::archetype::{Archetype, Chunk, Having, LONG_AGO, Seeker, advance};
use crate::entity::Entity;
use crate::query::requirements::Mask;
use crate::query::{ChunkView, QueryData, QueryError, QueryFilter, ReadOnly, Requirements};
use crate::sync::atomic::Ordering;
use crate::world::{World, WorldError};

/// A query to keep: what it lends and sees, and the archetypes that match, which are looked for once.
///
/// [`on`](Self::on) a world it can be run. Kept in another world's hands, it looks for that world's
/// archetypes from the beginning.
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Position(f32);
/// struct Velocity(f32);
/// struct Asleep;
///
/// let mut world = World::new();
/// world.create((Position(0.0), Velocity(1.0)))?;
/// world.create((Position(0.0), Velocity(1.0), Asleep))?;
///
/// let mut moving = Query::<(&mut Position, &Velocity), Without<Asleep>>::new(&world)?;
/// for _ in 0..10 {
///     moving.on(&mut world).for_each(|(position, velocity)| position.0 += velocity.0);
/// }
/// let places: Vec<f32> = world.query::<&Position, ()>()?.iter().map(|p| p.0).collect();
/// assert_eq!(places, [10.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Query<D: QueryData, F: QueryFilter = ()> {
    data: D::Ids,
    filter: F::Ids,
    requirements: Requirements,
    pub(super) matches: Vec<Match<D, F>>,
    /// Archetypes that have been looked at.
    seen: u32,
    /// The world that they are of.
    world: u64,
    /// The version at which it ran last.
    since: u32,
}

/// An archetype that meets the requirements, and where the fragments lie in it.
pub(crate) struct Match<D: QueryData, F: QueryFilter> {
    pub(super) archetype: u32,
    pub(super) data: D::Columns,
    filter: F::Columns,
    /// `None` where no bits decide.
    pub(super) masks: Option<Box<[Mask]>>,
}

impl<D: QueryData, F: QueryFilter> core::fmt::Debug for Query<D, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Query")
            .field("requirements", &self.requirements)
            .field("matches", &self.matches.len())
            .finish_non_exhaustive()
    }
}

impl<D: QueryData, F: QueryFilter> Query<D, F> {
    /// A query for worlds of this world's universe.
    ///
    /// # Errors
    /// [`QueryError`]: it asks for a fragment and excludes it, or takes one twice.
    pub fn new(world: &World) -> Result<Self, QueryError> {
        let mut requirements = Requirements::new();
        let registry = world.registry();
        // Filters first: they are safe code, whoever wrote them, and what the data asks for must stand.
        let filter = F::require(registry, &mut requirements)?;
        let data = D::require(registry, &mut requirements)?;
        requirements.check(registry)?;
        Ok(Self {
            data,
            filter,
            requirements,
            matches: Vec::new(),
            seen: 0,
            world: world.identity(),
            since: world.version().wrapping_sub(LONG_AGO),
        })
    }

    /// What it asks of an archetype.
    #[must_use]
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// The query on a world, to be run.
    ///
    /// # Panics
    /// If the world is of another universe than the last one, and that can register no fragment more.
    #[inline]
    pub fn on<'q>(&'q mut self, world: &'q mut World) -> QueryRun<'q, D, F> {
        world.keep_versions();
        self.run(world)
    }

    /// The query on a world that is only read.
    #[inline]
    pub fn read<'q>(&'q mut self, world: &'q World) -> QueryRun<'q, D, F>
    where
        D: ReadOnly,
    {
        self.run(world)
    }

    #[inline]
    fn run<'q>(&'q mut self, world: &'q World) -> QueryRun<'q, D, F> {
        self.update(world);
        let (since, version) = self.begin(world);
        QueryRun {
            matches: &self.matches,
            world,
            since,
            version,
            chunks: None,
            _data: PhantomData,
        }
    }

    /// The versions of a run that begins: since when it looks for changes, and what its writes get.
    #[inline]
    pub(super) fn begin(&mut self, world: &World) -> (u32, u32) {
        // Ordering: Relaxed, as in `World::version`.
        let version = world
            .version
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(1);
        let since = self.since(version);
        self.since = version;
        (since, version)
    }

    /// The version at which it ran last; one before all that chunks have, if that was long ago.
    #[inline]
    fn since(&self, version: u32) -> u32 {
        let runs = version.wrapping_sub(self.since);
        version.wrapping_sub(runs.min(LONG_AGO))
    }

    /// Looks at the archetypes that have come.
    #[inline]
    pub(super) fn update(&mut self, world: &World) {
        if self.world != world.identity() {
            self.rebind(world);
        }
        if self.seen as usize != world.archetypes.len() {
            self.look(world);
        }
    }

    /// Starts anew on another world, or on one that has let archetypes go.
    #[cold]
    fn rebind(&mut self, world: &World) {
        // Numbers of fragments are the universe's: ask again. The requirements were checked.
        match Self::new(world) {
            Ok(new) => *self = new,
            Err(error) => panic!("the query cannot be asked in another universe: {error}"),
        }
    }

    /// Looks at the archetypes that have come: walks the lists of the fragments that must be there side by
    /// side, from the shortest one on.
    #[cold]
    fn look(&mut self, world: &World) {
        let from = core::mem::replace(&mut self.seen, world.archetypes.len() as u32);
        let list = |id| world.having.of(id);
        let start = |list: &'_ [Having]| list.partition_point(|having| having.archetype < from);
        let required = self.requirements.required();
        let rarest = required.iter().min_by_key(|&id| list(id).len());
        let mut seeker = Seeker::new(&world.having);
        let Some(rarest) = rarest else {
            for archetype in &world.archetypes[from as usize..] {
                if self.requirements.met_by(archetype) {
                    self.add(world, archetype.number, &mut seeker);
                }
            }
            return;
        };
        let others = required.iter().filter(|&id| id != rarest);
        let mut others: Vec<(&[Having], usize)> =
            others.map(|id| (list(id), start(list(id)))).collect();
        let excluded = self.requirements.excluded().iter();
        let mut excluded: Vec<(&[Having], usize)> =
            excluded.map(|id| (list(id), start(list(id)))).collect();
        let candidates = &list(rarest)[start(list(rarest))..];
        self.matches.reserve(candidates.len());
        let any = self.requirements.asks_for_any();
        for candidate in candidates {
            let number = candidate.archetype;
            let all = others.iter_mut().all(|(list, at)| {
                let (next, found) = advance(list, *at, number);
                *at = next;
                found.is_some()
            });
            let none = all
                && excluded.iter_mut().all(|(list, at)| {
                    let (next, found) = advance(list, *at, number);
                    *at = next;
                    found.is_none_or(|having| having.switchable)
                });
            let met =
                none && (!any || self.requirements.met_by(&world.archetypes[number as usize]));
            if met {
                self.add(world, number, &mut seeker);
            }
        }
    }

    /// Adds an archetype that meets the requirements.
    #[inline(always)]
    fn add(&mut self, world: &World, number: u32, seeker: &mut Seeker<'_>) {
        seeker.go_to(number);
        let masks = if world.has_switches {
            self.requirements.masks(&world.archetypes[number as usize])
        } else {
            None
        };
        self.matches.push(Match {
            archetype: number,
            data: D::columns(&self.data, seeker),
            filter: F::columns(&self.filter, seeker),
            masks,
        });
    }

    /// Lends the data of one entity, if the query sees it.
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::Missing`] if the query does not see the entity.
    #[inline]
    pub fn get<'q>(
        &'q mut self,
        world: &'q mut World,
        entity: Entity,
    ) -> Result<D::Item<'q>, WorldError> {
        self.lend(world, entity)
    }

    /// Lends the data of one entity to be read, if the query sees it.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    #[inline]
    pub fn peek<'q>(
        &'q mut self,
        world: &'q World,
        entity: Entity,
    ) -> Result<D::Item<'q>, WorldError>
    where
        D: ReadOnly,
    {
        self.lend(world, entity)
    }

    #[inline]
    fn lend<'q>(&'q mut self, world: &'q World, entity: Entity) -> Result<D::Item<'q>, WorldError> {
        self.update(world);
        let (archetype, row) = world.find(entity)?;
        let refused = || WorldError::Missing {
            entity,
            name: core::any::type_name::<(D, F)>().into(),
        };
        let at = self
            .matches
            .binary_search_by_key(&archetype, |known| known.archetype)
            .map_err(|_| refused())?;
        let known = &self.matches[at];
        let data = &world.archetypes[archetype as usize];
        let chunk = ChunkView {
            world,
            archetype: data,
            chunk: &data.chunks[row.chunk as usize],
            version: world.version(),
            since: self.since(world.version()),
        };
        let seen = known.masks.as_deref().is_none_or(|masks| {
            mask_of(masks, chunk.chunk, row.row / 64) >> (row.row % 64) & 1 == 1
        });
        if !seen || !F::sees(known.filter, chunk) {
            return Err(refused());
        }
        // SAFETY: a row of the chunk; the borrow of the world lends nothing else that conflicts.
        Ok(unsafe { D::item(D::fetch(known.data, chunk), row.row as usize) })
    }
}

/// The rows among 64 that masks let through.
#[inline]
fn mask_of(masks: &[Mask], chunk: &Chunk, word: u32) -> u64 {
    masks.iter().fold(u64::MAX, |rows, mask| {
        // SAFETY: the archetype's bits have a word for each 64 rows; they change only through `&mut` of the
        // world.
        let bits = unsafe { *chunk.array(mask.offset).cast::<u64>().add(word as usize) };
        rows & if mask.inverted { !bits } else { bits }
    })
}

/// Decides whether a run sees a chunk.
pub(super) type ChunkFilter<'q> = Box<dyn Fn(&ChunkView<'_>) -> bool + Sync + 'q>;

/// As many chunks of an archetype are taken to be in the caches still from the last walk: 1 MiB.
const NEAR: usize = 64;

/// What of a world a run sees.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) world: &'a World,
    pub(super) since: u32,
    pub(super) version: u32,
    pub(super) filter: Option<&'a (dyn Fn(&ChunkView<'_>) -> bool + Sync + 'a)>,
}

impl<'a> Scope<'a> {
    #[inline(always)]
    fn show(self, archetype: &'a Archetype, chunk: &'a Chunk) -> ChunkView<'a> {
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
    pub(super) fn view<D: QueryData, F: QueryFilter>(
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
}

/// A query on a world: lends what the query says, in the order of archetypes, chunks and rows.
#[must_use = "a query does nothing until it is run"]
pub struct QueryRun<'q, D: QueryData, F: QueryFilter = ()> {
    pub(super) matches: &'q [Match<D, F>],
    pub(super) world: &'q World,
    since: u32,
    version: u32,
    chunks: Option<ChunkFilter<'q>>,
    /// Lends as `&mut World` would.
    _data: PhantomData<&'q mut D>,
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
    /// Sees only chunks for which `filter` is true: it is asked once a chunk, before its entities.
    pub fn filter_chunks(self, filter: impl Fn(&ChunkView<'_>) -> bool + Sync + 'q) -> Self {
        let before = self.chunks;
        Self {
            chunks: Some(match before {
                None => Box::new(filter),
                Some(before) => Box::new(move |chunk| before(chunk) && filter(chunk)),
            }),
            ..self
        }
    }

    /// Sees only entities whose shared value equals `value`.
    pub fn shared<T: crate::fragment::SharedFragment>(self, value: &'q T) -> Self {
        self.filter_chunks(move |chunk| chunk.shared::<T>() == Some(value))
    }

    /// Looks for changes since this version, instead of since the last run.
    pub fn since(self, version: u32) -> Self {
        Self {
            since: version,
            ..self
        }
    }

    /// Calls `run` for each chunk that the query sees.
    #[inline(always)]
    fn chunks<'a>(&'a self, mut run: impl FnMut(&'a Match<D, F>, ChunkView<'a>)) {
        let scope = self.scope();
        for known in self.matches {
            let archetype = &scope.world.archetypes[known.archetype as usize];
            if archetype.chunks.len() > NEAR {
                self.far_chunks(known, archetype, &mut run);
                continue;
            }
            for chunk in &archetype.chunks {
                if let Some(view) = scope.view(known, archetype, chunk) {
                    run(known, view);
                }
            }
        }
    }

    /// The same for more chunks than the caches hold: while one is worked on, the next is fetched. Chunks
    /// are too short for the processor's own prefetcher to do that well.
    #[inline(never)]
    fn far_chunks<'a>(
        &'a self,
        known: &'a Match<D, F>,
        archetype: &'a Archetype,
        run: &mut impl FnMut(&'a Match<D, F>, ChunkView<'a>),
    ) {
        let scope = self.scope();
        let ahead = archetype.chunks.iter().skip(1).map(Some).chain([None]);
        for (chunk, next) in archetype.chunks.iter().zip(ahead) {
            if let Some(next) = next {
                D::ahead(known.data, scope.show(archetype, next));
            }
            if let Some(view) = scope.view(known, archetype, chunk) {
                run(known, view);
            }
        }
    }

    #[inline(always)]
    pub(super) fn scope(&self) -> Scope<'_> {
        Scope {
            world: self.world,
            since: self.since,
            version: self.version,
            filter: self.chunks.as_deref(),
        }
    }

    /// Lends the data of each entity in turn.
    #[inline]
    pub fn for_each<'a>(&'a mut self, mut each: impl FnMut(D::Item<'a>)) {
        self.chunks(|known, view| Self::rows(known, view, &mut each));
    }

    /// Lends the rows of a chunk.
    #[inline(always)]
    fn rows<'a>(known: &Match<D, F>, view: ChunkView<'a>, each: &mut impl FnMut(D::Item<'a>)) {
        let fetch = D::fetch(known.data, view);
        match &known.masks {
            None => {
                for row in 0..view.len() {
                    // SAFETY: a row of the chunk; each is lent once.
                    each(unsafe { D::item(fetch, row) });
                }
            }
            Some(masks) => {
                for row in masked_rows(masks, view.chunk) {
                    // SAFETY: as above.
                    each(unsafe { D::item(fetch, row) });
                }
            }
        }
    }

    /// Lends the data of each chunk as slices: what the compiler vectorises best. Enabled bits are not
    /// looked at: ask for `Option` data, or use [`for_each`](Self::for_each), where they matter.
    #[inline]
    pub fn for_each_chunk<'a>(&'a mut self, mut each: impl FnMut(ChunkView<'a>, D::Slices<'a>)) {
        self.chunks(|known, view| {
            let fetch = D::fetch(known.data, view);
            // SAFETY: the rows of the chunk; each chunk is lent once.
            each(view, unsafe { D::slices(fetch, view.len()) });
        });
    }

    /// Lends the data of each entity, chunks on all threads of the current rayon pool. The order is not
    /// fixed. A panic of `each` comes back when the other threads are done with their chunks.
    pub fn par_for_each<'a>(&'a mut self, each: impl Fn(D::Item<'a>) + Sync) {
        self.par_chunks(|known, view| Self::rows(known, view, &mut |item| each(item)));
    }

    /// Lends the data of each chunk as slices, chunks on all threads of the current rayon pool.
    pub fn par_for_each_chunk<'a>(
        &'a mut self,
        each: impl Fn(ChunkView<'a>, D::Slices<'a>) + Sync,
    ) {
        self.par_chunks(|known, view| {
            let fetch = D::fetch(known.data, view);
            // SAFETY: the rows of the chunk; each chunk is lent once.
            each(view, unsafe { D::slices(fetch, view.len()) });
        });
    }

    fn par_chunks<'a>(&'a self, run: impl Fn(&'a Match<D, F>, ChunkView<'a>) + Sync) {
        use rayon::prelude::*;
        let scope = self.scope();
        self.matches.par_iter().for_each(|known| {
            let archetype = &scope.world.archetypes[known.archetype as usize];
            archetype.chunks.par_iter().for_each(|chunk| {
                if let Some(view) = scope.view(known, archetype, chunk) {
                    run(known, view);
                }
            });
        });
    }

    /// The data of each entity in turn, as an iterator.
    #[inline]
    pub fn iter<'a>(&'a mut self) -> QueryIter<'a, D, F> {
        QueryIter {
            matches: self.matches,
            scope: self.scope(),
            at: 0,
            chunk: 0,
            fetch: None,
            row: 0,
            len: 0,
            masked: None,
        }
    }

    /// How many entities the query sees.
    #[must_use]
    pub fn count(&mut self) -> usize {
        let mut count = 0;
        self.chunks(|known, view| {
            count += match &known.masks {
                None => view.len(),
                Some(masks) => masked_rows(masks, view.chunk).count(),
            };
        });
        count
    }

    /// Whether the query sees no entity.
    #[must_use]
    pub fn is_empty(&mut self) -> bool {
        self.first().is_none()
    }

    /// The data of the first entity.
    #[must_use]
    pub fn first(&mut self) -> Option<D::Item<'_>> {
        self.iter().next()
    }

    /// The data of the only entity; `None` if there is none, or more than one.
    #[must_use]
    pub fn single(&mut self) -> Option<D::Item<'_>> {
        let mut all = self.iter();
        let only = all.next()?;
        all.next().is_none().then_some(only)
    }
}

/// The rows of a chunk that masks let through.
pub(super) fn masked_rows<'a>(
    masks: &'a [Mask],
    chunk: &'a Chunk,
) -> impl Iterator<Item = usize> + use<'a> {
    (0..chunk.len.div_ceil(64)).flat_map(move |word| {
        let mut rows = mask_of(masks, chunk, word);
        let left = chunk.len - word * 64;
        if left < 64 {
            rows &= (1 << left) - 1;
        }
        core::iter::from_fn(move || {
            if rows == 0 {
                return None;
            }
            let row = rows.trailing_zeros();
            rows &= rows - 1;
            Some((word * 64 + row) as usize)
        })
    })
}

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
                self.masked = known.masks.as_deref().map(|masks| (masks, chunk));
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

/// A query that was made for one run.
#[must_use = "a query does nothing until it is run"]
pub struct QueryOnce<'w, D: QueryData, F: QueryFilter> {
    query: Query<D, F>,
    world: &'w World,
    _data: PhantomData<&'w mut D>,
}

impl<D: QueryData, F: QueryFilter> core::fmt::Debug for QueryOnce<'_, D, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.query.fmt(f)
    }
}

impl<'w, D: QueryData, F: QueryFilter> QueryOnce<'w, D, F> {
    fn new(world: &'w World) -> Result<Self, QueryError> {
        Ok(Self {
            query: Query::new(world)?,
            world,
            _data: PhantomData,
        })
    }

    /// The run itself, for its filters.
    pub fn run(&mut self) -> QueryRun<'_, D, F> {
        self.query.run(self.world)
    }

    /// See [`QueryRun::for_each`].
    pub fn for_each(&mut self, each: impl FnMut(D::Item<'_>)) {
        self.run().for_each(each);
    }

    /// See [`QueryRun::for_each_chunk`].
    pub fn for_each_chunk(&mut self, each: impl FnMut(ChunkView<'_>, D::Slices<'_>)) {
        self.run().for_each_chunk(each);
    }

    /// See [`QueryRun::iter`].
    pub fn iter(&mut self) -> QueryIter<'_, D, F> {
        self.query.update(self.world);
        let (since, version) = self.query.begin(self.world);
        QueryIter {
            matches: &self.query.matches,
            scope: Scope {
                world: self.world,
                since,
                version,
                filter: None,
            },
            at: 0,
            chunk: 0,
            fetch: None,
            row: 0,
            len: 0,
            masked: None,
        }
    }

    /// See [`QueryRun::count`].
    #[must_use]
    pub fn count(&mut self) -> usize {
        self.run().count()
    }

    /// See [`QueryRun::single`].
    #[must_use]
    pub fn single(&mut self) -> Option<D::Item<'_>> {
        let mut all = self.iter();
        let only = all.next()?;
        all.next().is_none().then_some(only)
    }
}

impl World {
    /// A query for one run: lends what `D` says of the entities that `D` and `F` match. To run it again
    /// and again, keep a [`Query`].
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.create((1_u8, "a"))?;
    /// world.create((2_u8,))?;
    /// let mut sum = 0;
    /// world.query::<&u8, ()>()?.for_each(|&number| sum += number);
    /// assert_eq!(sum, 3);
    /// assert_eq!(world.query::<Entity, With<&str>>()?.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Query::new`].
    pub fn query<D: QueryData, F: QueryFilter>(
        &mut self,
    ) -> Result<QueryOnce<'_, D, F>, QueryError> {
        self.keep_versions();
        QueryOnce::new(self)
    }

    /// A query for one run that only reads.
    ///
    /// # Errors
    /// As for [`Query::new`].
    pub fn read<D: ReadOnly, F: QueryFilter>(&self) -> Result<QueryOnce<'_, D, F>, QueryError> {
        QueryOnce::new(self)
    }
}
