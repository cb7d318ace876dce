//! `Query`: requirements, and the archetypes that meet them.

use core::any::type_name;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use crate::archetype::{Having, Lists, STRETCH, Walk};
use crate::entity::Entity;
use crate::exactly::Exactly;
use crate::query::candidates::Candidates;
use crate::query::chunk_table::ChunkTable;
use crate::query::explain::{explain, explain_none};
use crate::query::lookup::lend;
use crate::query::matches::{Match, MatchList, Matches};
use crate::query::run::{QueryRun, Scope};
use crate::query::{
    ChunkView, Mismatch, NoMatch, QueryData, QueryError, QueryFilter, QueryLookup, QueryResources,
    ReadOnly, Requirements,
};
use crate::world::{World, WorldError};

/// A query to keep: what it lends and sees, and the archetypes that match, which are looked for once.
///
/// [`on`](Self::on) a world it can be run; `R` is what [resources](QueryResources) it lends beside.
/// On another world than the last one it begins anew: it looks for that world's archetypes from the
/// beginning, and all is [changed](crate::query::Changed) for it. Who asks several worlds in turn
/// keeps a query for each.
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
///
/// Who keeps one in a struct writes out what it lends with `'static`, which says nothing of for how long that is lent:
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Minimap {
///     players: Query<(Entity, &'static f32), With<u8>>,
/// }
///
/// let mut world = World::new();
/// world.create((1.5_f32, 1_u8))?;
/// let mut minimap = Minimap { players: Query::new(&world)? };
/// assert_eq!(minimap.players.on(&mut world).count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Query<D: QueryData, F: QueryFilter = (), R: QueryResources = ()> {
    data: D::Ids,
    filter: F::Ids,
    requirements: Requirements,
    /// Nothing must be there, or not be there, but what the data says.
    plain: bool,
    pub(super) matches: MatchList<D, F>,
    /// Archetypes that have been looked at.
    seen: u32,
    /// The world that they are of, as it was when they were looked at.
    world: u64,
    /// That world, also when it has let archetypes go since.
    origin: u64,
    /// The moment at which it ran last.
    since: u64,
    /// The moment at which it ran before that.
    before: u64,
    /// For random access.
    table: ChunkTable<D>,
    resources: Exactly<R>,
}

/// No world's [identity](World::identity).
const NO_WORLD: u64 = 0;

/// Finds what matches know of archetypes, upwards.
struct MatchFinder<'a, D: QueryData, F: QueryFilter> {
    data: D::Cursors<'a>,
    filter: F::Cursors<'a>,
}

impl<D: QueryData, F: QueryFilter> MatchFinder<'_, D, F> {
    /// Adds those of `candidates` that have what the data must lend. A function of its own, so that the cursors
    /// stay in registers.
    #[inline(never)]
    fn find_all(self, candidates: &[Having], all: &mut Vec<Match<D, F>>) {
        let Self {
            mut data,
            mut filter,
        } = self;
        all.reserve(candidates.len());
        let first = all.spare_capacity_mut().as_mut_ptr();
        let mut next = first;
        let mut add = |known: Match<D, F>| {
            // SAFETY: there is room for as many as there are candidates, and each is added once at most.
            next = unsafe {
                next.write(MaybeUninit::new(known));
                next.add(1)
            };
        };
        let mut left = candidates;
        while let Some((stretch, after)) = left.split_first_chunk::<STRETCH>() {
            left = after;
            let [start, .., end] = stretch;
            let start = start.archetype;
            // Mostly archetypes that have something follow on each other, and have what else is asked for too: then so
            // many are compared by their first and last.
            if end.archetype - start == STRETCH as u32 - 1 && data.is_at_stretch(start) {
                for archetype in (0..STRETCH as u32).map(|at| start + at) {
                    // SAFETY: all have been said to be there.
                    let data = unsafe { D::take_columns(&mut data) };
                    add(Match::new(
                        archetype,
                        data,
                        F::columns(&mut filter, archetype),
                    ));
                }
            } else {
                for candidate in stretch {
                    find(&mut data, &mut filter, candidate.archetype).map(&mut add);
                }
            }
        }
        for candidate in left {
            find(&mut data, &mut filter, candidate.archetype).map(&mut add);
        }
        // SAFETY: so many have just been written behind the last.
        unsafe { all.set_len(all.len() + next.offset_from_unsigned(first)) };
    }

    #[inline(always)]
    fn find(&mut self, archetype: u32) -> Option<Match<D, F>> {
        find(&mut self.data, &mut self.filter, archetype)
    }
}

/// What is to be known, but for the masks, of an archetype that meets the requirements, if it has what the data
/// must lend.
#[inline(always)]
fn find<D: QueryData, F: QueryFilter>(
    data: &mut D::Cursors<'_>,
    filter: &mut F::Cursors<'_>,
    archetype: u32,
) -> Option<Match<D, F>> {
    let data = D::columns(data, archetype)?;
    Some(Match::new(archetype, data, F::columns(filter, archetype)))
}

impl<D: QueryData, F: QueryFilter, R: QueryResources> core::fmt::Debug for Query<D, F, R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Query")
            .field("lends", &format_args!("{}", type_name::<D>()))
            .field("filter", &format_args!("{}", type_name::<F>()))
            .field("resources", &format_args!("{}", type_name::<R>()))
            .field("matches", &self.matches.len())
            .finish_non_exhaustive()
    }
}

impl<D: QueryData, F: QueryFilter, R: QueryResources> Query<D, F, R> {
    /// How many archetypes are known to match, of the world that it ran on last.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.create((1_u8,))?;
    /// world.create((2_u8, 'a'))?;
    /// let mut numbers = Query::<&u8>::new(&world)?;
    /// assert_eq!(numbers.matched(), 0, "it has not run");
    /// assert_eq!(numbers.on(&mut world).count(), 2);
    /// assert_eq!(numbers.matched(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn matched(&self) -> usize {
        self.matches.len()
    }

    /// A query for worlds of this world's universe.
    ///
    /// # Errors
    /// [`QueryError`]: it asks for a fragment and excludes it; takes a fragment or resource twice, even if only to read it;
    /// [switches](crate::query::Enabled) a fragment that cannot be switched off; or the registry is full. Or it names a
    /// [tuple](crate::fragment::FragmentError::TupleNamed) as a fragment, `With<(A, B)>` where `(With<A>, With<B>)` is meant,
    /// or a [reference](crate::fragment::FragmentError::ReferenceNamed), and nobody has registered that.
    pub fn new(world: &World) -> Result<Self, QueryError> {
        let mut requirements = Requirements::new();
        let registry = world.registry();
        // Filters first: they are safe code, whoever wrote them, and what the data asks for must stand.
        let filter = F::require(registry, &mut requirements)?;
        let plain = requirements.is_empty();
        let data = D::require(registry, &mut requirements)?;
        R::require(requirements.resources_mut());
        requirements.ask_for_optional();
        requirements.check(registry)?;
        Ok(Self {
            data,
            filter,
            requirements,
            plain,
            matches: MatchList::new(),
            seen: 0,
            world: world.identity(),
            origin: world.origin(),
            since: world.long_ago(),
            before: world.long_ago(),
            table: ChunkTable::new(),
            resources: PhantomData,
        })
    }

    /// Why the query does not see an entity: nothing if it does. What has [changed](crate::query::Changed) it asks since the
    /// last run, as the next one will; this is none. (Chunk filters of a run are not looked at.) O(what it asks for).
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::query::Mismatch;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u32,))?;
    /// let mut query = Query::<&u32, (Without<char>, Changed<u32>)>::new(&world)?;
    /// assert_eq!(query.explain(&world, ant)?, []);
    /// let _ = query.on(&mut world);
    /// assert_eq!(query.explain(&world, ant)?, [Mismatch::IfChanged("u32".into())]);
    /// world.add(ant, ('x',))?;
    /// assert_eq!(query.explain(&world, ant)?, [Mismatch::Excludes("char".into())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::OtherUniverse`]: the world is of another universe than the last one, and the
    /// query cannot be asked there.
    pub fn explain(&self, world: &World, entity: Entity) -> Result<Vec<Mismatch>, WorldError> {
        self.ask(world, |requirements, since| {
            explain(requirements, world, entity, Some(since))
        })?
    }

    /// Why the query sees no entity of a world: the compositions that come nearest to what it asks for, and which types are
    /// there in other roles; `None` if it sees one. As for [`explain`](Self::explain). O(archetypes · what it asks for), and
    /// the rows of archetypes that match.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// let mut world = World::new();
    /// world.create((1_u32,).shared(Team(1)))?;
    /// let query = Query::<(&u32, &Team)>::new(&world)?;
    /// let why = query.explain_none(&world)?.unwrap();
    /// assert_eq!(why.nearest[0].entities, 1);
    /// assert!(why.to_string().contains("Team is there as a shared fragment"), "{why}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`WorldError::OtherUniverse`], as for [`explain`](Self::explain).
    pub fn explain_none(&self, world: &World) -> Result<Option<NoMatch>, WorldError> {
        self.ask(world, |requirements, since| {
            explain_none(requirements, world, Some(since))
        })
    }

    /// Asks with the numbers that fragments have in this world's universe, and since when changes are looked for there.
    fn ask<A>(
        &self,
        world: &World,
        ask: impl FnOnce(&Requirements, u32) -> A,
    ) -> Result<A, WorldError> {
        let since = |moment| world.since(moment, world.stamp());
        if self.origin == world.origin() {
            return Ok(ask(&self.requirements, since(self.since)));
        }
        let new = Self::new(world).map_err(|_| WorldError::OtherUniverse)?;
        Ok(ask(&new.requirements, since(new.since)))
    }

    /// What it asks of an archetype.
    #[must_use]
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// The query on a world, to be run.
    ///
    /// It counts as a run for [`Changed`](crate::query::Changed) and [`Moved`](crate::query::Moved)
    /// now, whatever is done with it.
    ///
    /// # Panics
    /// If the world is of another universe than the last one, and the query cannot be asked there: a fragment can
    /// not be registered, or is a tuple that was registered in the first one alone, or, for
    /// [`Enabled`](crate::query::Enabled), is one that is not switched on and off.
    #[inline]
    pub fn on<'q>(&'q mut self, world: &'q mut World) -> QueryRun<'q, D, F> {
        let version = world.begin_version_alone();
        self.run_at(world, version)
    }

    /// The query on a world, to be run, and the resources that it lends beside. (Of a world that is only read
    /// [`read`](Self::read) leaves [`World::resources`] free.)
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Gravity(f32);
    /// struct Fallen(usize);
    /// struct Height(f32);
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert(Gravity(9.8));
    /// world.resources_mut().insert(Fallen(0));
    /// let _ = world.create_batch((0..20).map(|n| (Height(n as f32),)))?;
    ///
    /// let mut falling = Query::<&mut Height, (), (&Gravity, &mut Fallen)>::new(&world)?;
    /// let (mut run, (gravity, fallen)) = falling.with_resources(&mut world)?;
    /// run.for_each(|height| {
    ///     height.0 -= gravity.0;
    ///     fallen.0 += usize::from(height.0 < 0.0);
    /// });
    /// drop(run);
    /// assert_eq!(world.resources().get::<Fallen>().unwrap().0, 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`QueryError::NoResource`]. That does not count as a run.
    ///
    /// # Panics
    /// As for [`on`](Self::on).
    pub fn with_resources<'q>(
        &'q mut self,
        world: &'q mut World,
    ) -> Result<(QueryRun<'q, D, F>, R::Item<'q>), QueryError> {
        let version = world.begin_version_alone();
        // SAFETY: the world is borrowed as long as what is lent, and what the run lends is no resource.
        let resources = unsafe { R::lend(world.resources()) }?;
        Ok((self.run_at(world, version), resources))
    }

    /// The query on a world that is only read. It counts as a run as [`on`](Self::on) does.
    ///
    /// # Panics
    /// As for [`on`](Self::on).
    #[inline]
    pub fn read<'q>(&'q mut self, world: &'q World) -> QueryRun<'q, D, F>
    where
        D: ReadOnly,
    {
        self.run(world)
    }

    #[inline]
    pub(super) fn run<'q>(&'q mut self, world: &'q World) -> QueryRun<'q, D, F> {
        self.run_at(world, world.begin_version())
    }

    /// A run that has this version, as its changes have.
    #[inline]
    pub(crate) fn run_at<'q>(&'q mut self, world: &'q World, version: u32) -> QueryRun<'q, D, F> {
        self.update(world);
        let since = self.begin_at(world, version);
        QueryRun::new(Matches::Lent(&self.matches), world, (since, version))
    }

    /// Calls `see` for each chunk of the archetypes that match, and says whether a run would see it.
    pub(crate) fn count_chunks(&mut self, world: &World, mut see: impl FnMut(ChunkView<'_>, bool)) {
        self.update(world);
        let version = world.stamp();
        let scope = Scope::unfiltered(world, (world.since(self.since, version), version));
        for known in self.matches.iter() {
            let archetype = &world.archetypes[known.archetype as usize];
            for chunk in &archetype.chunks {
                let seen = scope.view(known, archetype, chunk).is_some();
                see(scope.show(archetype, chunk), seen);
            }
        }
    }

    /// Since when a run looks for changes whose own get this version.
    #[inline]
    pub(super) fn begin_at(&mut self, world: &World, version: u32) -> u32 {
        self.before = core::mem::replace(&mut self.since, world.moment(version));
        world.since(self.before, version)
    }

    /// The run of this version, if it was the last, did not take place.
    pub(crate) fn take_back(&mut self, version: u32) {
        if self.since as u32 == version {
            self.since = self.before;
        }
    }

    /// What its data is known by.
    #[inline]
    pub(super) fn data(&self) -> &D::Ids {
        &self.data
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

    /// Whether it knows all archetypes of this world.
    pub(super) fn knows(&self, world: &World) -> bool {
        self.world == world.identity() && self.seen as usize == world.archetypes.len()
    }

    /// Starts anew on another world. On one that has let archetypes go it only looks for the others anew: in their
    /// chunks nothing has changed by that.
    #[cold]
    fn rebind(&mut self, world: &World) {
        let moments = (self.origin, self.since, self.before);
        // Numbers of fragments are the universe's: ask again. The requirements were checked.
        match Self::new(world) {
            Ok(new) => {
                *self = new;
                if moments.0 == self.origin {
                    (_, self.since, self.before) = moments;
                }
            }
            Err(error) => panic!("the query cannot be asked in another universe: {error}"),
        }
    }

    /// Looks at the archetypes that have come: walks the lists of the fragments that must be there side by
    /// side, from the shortest one on.
    #[cold]
    fn look(&mut self, world: &World) {
        let from = core::mem::replace(&mut self.seen, world.archetypes.len() as u32);
        // What was found until a filter panicked is of no world: then it begins anew.
        self.world = NO_WORLD;
        let lists = Lists::new(&world.having, from);
        let mut new = MatchFinder::<D, F> {
            data: D::cursors(&self.data, lists),
            filter: F::cursors(&self.filter, lists),
        };
        let first = self.matches.len();
        let all = self.matches.plain(self.seen);
        let candidates = Candidates::new(&self.requirements, lists);
        match candidates.rarest() {
            // The data sees for itself whether all is there that it must lend.
            Some(rarest) if self.plain => new.find_all(lists.cursor(rarest).left(), all),
            rarest => {
                all.reserve(rarest.map_or(0, |rarest| lists.cursor(rarest).left().len()));
                candidates.each(&world.archetypes, from, &mut |number| {
                    if let Some(known) = new.find(number) {
                        all.push(known);
                    }
                });
            }
        }
        if world.has_switches {
            self.matches.mask(first, |number| {
                (self.requirements).masks(&world.archetypes[number as usize])
            });
        }
        self.world = world.identity();
    }

    /// The query on a world, for random access: to look entities up by their handles, many of them. O(archetypes
    /// that match, and their chunks, up to a GiB or two of these). For one entity: [`get`](Self::get).
    ///
    /// It is no run: its filters ask what has [changed](crate::query::Changed) since the last one, which stays the last.
    /// (As the parameter of a processor it is one.)
    ///
    /// # Panics
    /// As for [`on`](Self::on).
    #[inline]
    pub fn lookup<'q>(&'q mut self, world: &'q World) -> QueryLookup<'q, D, F>
    where
        D: ReadOnly,
    {
        self.lookup_in(world)
    }

    /// Looks up and lends to write: [`lookup`](Self::lookup) on a world that is borrowed alone. For one entity:
    /// [`get_mut`](Self::get_mut).
    ///
    /// # Panics
    /// As for [`on`](Self::on).
    #[inline]
    pub fn lookup_mut<'q>(&'q mut self, world: &'q mut World) -> QueryLookup<'q, D, F> {
        world.keep_versions();
        self.lookup_in(world)
    }

    /// The same for a processor, whose changes get this version. That is a run: the next one's looks for changes since.
    #[inline]
    pub(crate) fn lookup_at<'q>(
        &'q mut self,
        world: &'q World,
        version: u32,
    ) -> QueryLookup<'q, D, F> {
        self.update(world);
        let since = self.begin_at(world, version);
        self.lookup_since(world, since, version)
    }

    #[inline]
    fn lookup_in<'q>(&'q mut self, world: &'q World) -> QueryLookup<'q, D, F> {
        self.update(world);
        let version = world.stamp();
        let since = world.since(self.since, version);
        self.lookup_since(world, since, version)
    }

    fn lookup_since<'q>(
        &'q mut self,
        world: &'q World,
        since: u32,
        version: u32,
    ) -> QueryLookup<'q, D, F> {
        let sees_all = F::SEES_ALL && !self.matches.is_masked();
        let tabled = sees_all && self.requirements.switches().is_empty();
        let table = tabled.then_some(&mut self.table);
        QueryLookup::new(
            world,
            &self.matches,
            &self.requirements,
            table,
            since,
            version,
        )
    }

    /// Lends the data of one entity, if the query sees it. It is no run, as a [`lookup`](Self::lookup) is none. O(log
    /// archetypes that match + archetypes that came since).
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::Missing`] if the query does not see the entity.
    ///
    /// # Panics
    /// As for [`on`](Self::on).
    #[inline]
    pub fn get_mut<'q>(
        &'q mut self,
        world: &'q mut World,
        entity: Entity,
    ) -> Result<D::Item<'q>, WorldError> {
        world.keep_versions();
        // SAFETY: `&mut` of the world lends nothing else.
        unsafe { self.lend(world, entity) }
    }

    /// Lends the data of one entity to be read, if the query sees it: [`get_mut`](Self::get_mut) for `&World`.
    ///
    /// # Errors
    /// As for [`get_mut`](Self::get_mut).
    ///
    /// # Panics
    /// As for [`on`](Self::on).
    #[inline]
    pub fn get<'q>(
        &'q mut self,
        world: &'q World,
        entity: Entity,
    ) -> Result<D::Item<'q>, WorldError>
    where
        D: ReadOnly,
    {
        // SAFETY: the query only reads, as does whoever has borrowed the world too.
        unsafe { self.lend(world, entity) }
    }

    /// Lends the data of one entity.
    ///
    /// # Safety
    /// Nobody has what is lent in a way that conflicts.
    #[inline]
    unsafe fn lend<'q>(
        &'q mut self,
        world: &'q World,
        entity: Entity,
    ) -> Result<D::Item<'q>, WorldError> {
        self.update(world);
        let version = world.stamp();
        let versions = (world.since(self.since, version), version);
        // SAFETY: the caller's.
        unsafe { lend(world, &self.matches, versions, entity, world.locate(entity)) }
    }
}
