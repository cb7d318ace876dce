//! `DynamicQuery`: requirements that were put together at run time, and the archetypes that meet them.

use core::fmt;
use std::sync::Arc;

use crate::archetype::{Archetype, Chunk, is_newer};
use crate::entity::Entity;
use crate::fragment::{FragmentId, FragmentRegistry, FragmentSet};
use crate::query::dynamic::builder::DynamicQueryBuilder;
use crate::query::dynamic::change::DynamicChange;
use crate::query::dynamic::resources::DynamicResources;
use crate::query::dynamic::run::DynamicRun;
use crate::query::explain::{explain, explain_none};
use crate::query::requirements::Mask;
use crate::query::{Mismatch, NoMatch, QueryError, Requirements};
use crate::world::{World, WorldError};

/// A query that was put together at run time, to keep: what it lends and sees, and the archetypes that match,
/// which are looked for once.
///
/// It runs on every world of the universe that it was built for, and of those that are [like](crate::world::Universe::like)
/// it. (Of worlds in turn each looks for its archetypes anew: where many take turns, one query for each costs less.)
///
/// ```
/// use core::alloc::Layout;
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let health = world.registry().define_plain("health", Layout::new::<u32>())?.id();
/// let speed = world.registry().register::<f32>()?.id();
/// for value in [10_u32, 20] {
///     let bundle = DynamicBundle::new()
///         .with(Value::from_bytes(world.registry(), health, &value.to_ne_bytes())?)
///         .with(Value::new(world.registry(), 0.5_f32)?);
///     world.create_dynamic(bundle)?;
/// }
///
/// let mut query = DynamicQuery::builder(&world).write(health).read(speed).build()?;
/// query.on(&mut world)?.for_each_chunk(|mut chunk| {
///     // All rows: neither can be switched off. (Else: those that `chunk.rows()` names.)
///     let speeds = chunk.read(speed).unwrap().slice::<f32>().unwrap();
///     let healths = chunk.write(health).unwrap().plain::<u32>().unwrap();
///     for (health, speed) in healths.iter_mut().zip(speeds) {
///         *health += (speed * 2.0) as u32;
///     }
///     assert!(chunk.write(health).is_err(), "it is lent once");
///     assert_eq!(healths, [11, 21]);
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DynamicQuery {
    registry: Arc<FragmentRegistry>,
    requirements: Requirements,
    pub(super) lends: Box<[Lend]>,
    changed: Box<[FragmentId]>,
    changed_any: Box<[Box<[FragmentId]>]>,
    pub(super) moved: bool,
    /// It throws switches by which it sees who is there.
    pub(super) switches_what_it_sees: bool,
    pub(super) matches: Vec<DynamicMatch>,
    /// Archetypes that have been looked at.
    seen: u32,
    /// The world that they are of, as it was when they were looked at.
    world: u64,
    /// That world, also when it has let archetypes go since.
    origin: u64,
    /// The moment at which it ran last.
    since: u64,
}

/// "No world": no identity counts so far.
const NO_WORLD: u64 = u64::MAX;

/// A fragment whose values are lent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lend {
    pub(super) id: FragmentId,
    pub(super) write: bool,
}

/// An archetype that meets the requirements, and where in it what is lent lies.
#[derive(Debug)]
pub(super) struct DynamicMatch {
    pub(super) archetype: u32,
    /// For each fragment that is lent.
    pub(super) places: Box<[LendPlace]>,
    /// The chunk's versions that must have changed; `None` for a tag.
    pub(super) changed: Box<[Option<u32>]>,
    /// The same, of which one of each group must have changed.
    pub(super) changed_any: Box<[Box<[Option<u32>]>]>,
    /// `None` where no bits decide.
    pub(super) masks: Option<Box<[Mask]>>,
}

/// Where values lie in the chunks of an archetype.
#[derive(Clone, Copy, Debug)]
pub(super) enum LendPlace {
    Absent,
    Column {
        column: u32,
        offset: u32,
        size: u32,
    },
    /// The value of the chunk's group at this position.
    Shared(u32),
    /// The chunk's value at this offset.
    Chunk(u32),
}

/// What it lends and asks for, by names, and how many archetypes match, not which.
impl fmt::Debug for DynamicQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registry = &*self.registry;
        let lent = |write| -> FragmentSet {
            let lends = self.lends.iter().filter(|lend| lend.write == write);
            lends.map(|lend| lend.id).collect()
        };
        let (reads, writes) = (lent(false), lent(true));
        f.debug_struct("DynamicQuery")
            .field("reads", &format_args!("{}", reads.named(registry)))
            .field("writes", &format_args!("{}", writes.named(registry)))
            .field(
                "required",
                &format_args!("{}", self.requirements.required().named(registry)),
            )
            .field("matches", &self.matches.len())
            .finish_non_exhaustive()
    }
}

impl DynamicQuery {
    /// A query for worlds of this world's universe, and of those like it, in the making.
    pub fn builder(world: &World) -> DynamicQueryBuilder<'_> {
        DynamicQueryBuilder::new(world)
    }

    pub(super) fn new(
        registry: Arc<FragmentRegistry>,
        requirements: Requirements,
        lends: Box<[Lend]>,
        changed: Box<[FragmentId]>,
        changed_any: Box<[Box<[FragmentId]>]>,
        moved: bool,
    ) -> Self {
        let switches_what_it_sees = requirements
            .switches()
            .intersects(&requirements.looked_at());
        Self {
            registry,
            switches_what_it_sees,
            requirements,
            lends,
            changed,
            changed_any,
            moved,
            matches: Vec::new(),
            seen: 0,
            world: NO_WORLD,
            origin: NO_WORLD,
            since: 0,
        }
    }

    /// A query that lends nothing, for worlds of this world's universe, where fragments have these numbers.
    pub(crate) fn asking(world: &World, requirements: Requirements) -> Self {
        let registry = Arc::clone(world.universe().shared_registry());
        let (lends, changed, groups) = (Box::default(), Box::default(), Box::default());
        Self::new(registry, requirements, lends, changed, groups, false)
    }

    /// Why it does not see an entity, as [`Query::explain`](crate::query::Query::explain).
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::OtherUniverse`].
    pub fn explain(&self, world: &World, entity: Entity) -> Result<Vec<Mismatch>, WorldError> {
        let since = self.changes_since(world)?;
        explain(&self.requirements, world, entity, Some(since))
    }

    /// Why it sees no entity of a world, as [`Query::explain_none`](crate::query::Query::explain_none).
    ///
    /// # Errors
    /// [`WorldError::OtherUniverse`].
    pub fn explain_none(&self, world: &World) -> Result<Option<NoMatch>, WorldError> {
        let since = self.changes_since(world)?;
        Ok(explain_none(&self.requirements, world, Some(since)))
    }

    /// Since when a run on this world would look for changes.
    fn changes_since(&self, world: &World) -> Result<u32, WorldError> {
        if !self.is_for(world) {
            return Err(WorldError::OtherUniverse);
        }
        let known = self.origin == world.origin();
        let moment = if known { self.since } else { world.long_ago() };
        Ok(world.since(moment, world.stamp()))
    }

    /// What it asks of an archetype.
    #[must_use]
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// The names of what must be there, as errors tell it.
    pub(super) fn names(&self, registry: &FragmentRegistry) -> Box<str> {
        let required = self.requirements.required().iter();
        let names = required.filter_map(|id| Some(registry.get(id)?.name()));
        format!("({})", names.collect::<Vec<_>>().join(", ")).into()
    }

    /// How many archetypes are known to match, of the world that it ran on last.
    #[must_use]
    pub fn matched(&self) -> usize {
        self.matches.len()
    }

    /// The query on a world, to be run.
    ///
    /// # Errors
    /// [`QueryError::OtherUniverse`].
    pub fn on<'q>(&'q mut self, world: &'q mut World) -> Result<DynamicRun<'q>, QueryError> {
        self.check_universe(world)?;
        let version = world.begin_version_alone();
        // SAFETY: its registry; the world is this call's alone.
        Ok(unsafe { self.run_at(world, version) })
    }

    /// The query on a world, to be run, and the resources that it asked for.
    ///
    /// # Errors
    /// [`QueryError::OtherUniverse`].
    pub fn with_resources<'q>(
        &'q mut self,
        world: &'q mut World,
    ) -> Result<(DynamicRun<'q>, DynamicResources<'q>), QueryError> {
        let run = self.on(world)?;
        let (resources, access) = (run.world.resources(), run.query.requirements.resources());
        // SAFETY: the world is borrowed as long as what is lent, and what the run lends is no resource.
        let resources = unsafe { DynamicResources::new(resources, access) };
        Ok((run, resources))
    }

    /// The query on a world that is only read.
    ///
    /// # Errors
    /// [`QueryError::OtherUniverse`]; [`QueryError::Writes`] if it lends a fragment to be written, or a switch.
    pub fn read<'q>(&'q mut self, world: &'q World) -> Result<DynamicRun<'q>, QueryError> {
        let written = self.lends.iter().find(|lend| lend.write);
        let switched = self.requirements.switches().iter();
        if let Some(id) = written
            .map(|lend| lend.id)
            .into_iter()
            .chain(switched)
            .next()
        {
            let info = self.registry.get(id);
            let name = info.map_or("", |info| info.name()).into();
            return Err(QueryError::Writes { name });
        }
        self.check_universe(world)?;
        // SAFETY: its registry; nothing is written.
        Ok(unsafe { self.run_at(world, world.begin_version()) })
    }

    /// What the query matches in a world, to be changed or destroyed as a whole, as
    /// [`Query::change`](crate::query::Query::change). It counts as a run of the query: the next one looks for changes since.
    ///
    /// # Errors
    /// [`QueryError::OtherUniverse`].
    pub fn change<'q>(&'q mut self, world: &'q mut World) -> Result<DynamicChange<'q>, QueryError> {
        self.check_universe(world)?;
        let version = world.begin_version_alone();
        self.update(world);
        let before = core::mem::replace(&mut self.since, world.moment(version));
        let since = world.since(before, version);
        Ok(DynamicChange::new(self, world, (since, version)))
    }

    /// Whether it asks what has changed in a chunk.
    pub(super) fn asks_for_changes(&self) -> bool {
        self.moved || !self.changed.is_empty() || !self.changed_any.is_empty()
    }

    /// Whether what it asks of changes in a chunk, of an archetype that matches, is so.
    #[inline]
    pub(super) fn has_changed(&self, known: &DynamicMatch, chunk: &Chunk, since: u32) -> bool {
        let changed = |version: &Option<u32>| {
            // A tag changes by coming and going.
            let version = version.map_or(chunk.filled_version, |at| chunk.version(at as usize));
            is_newer(version, since)
        };
        known.changed.iter().all(changed)
            && known
                .changed_any
                .iter()
                .all(|group| group.iter().any(changed))
            && (!self.moved || is_newer(chunk.order_version, since))
    }

    /// Refuses a world to which its fragments' numbers do not mean the same.
    fn check_universe(&self, world: &World) -> Result<(), QueryError> {
        match self.is_for(world) {
            true => Ok(()),
            false => Err(QueryError::OtherUniverse),
        }
    }

    /// The query on a world, for a processor, whose changes get this version.
    ///
    /// # Safety
    /// The query [is for](Self::is_for) the world. For `'q` nobody else has what the query lends in a way that conflicts, and no
    /// entity moves.
    #[inline]
    pub(crate) unsafe fn run_at<'q>(
        &'q mut self,
        world: &'q World,
        version: u32,
    ) -> DynamicRun<'q> {
        self.update(world);
        let before = core::mem::replace(&mut self.since, world.moment(version));
        let since = world.since(before, version);
        DynamicRun::new(self, world, since, version)
    }

    /// Calls `see` with the rows of each chunk of the archetypes that match, and whether a run would see it.
    pub(crate) fn count_chunks(&mut self, world: &World, mut see: impl FnMut(usize, bool)) {
        self.update(world);
        let version = world.stamp();
        let since = world.since(self.since, version);
        DynamicRun::new(self, world, since, version).count_chunks(&mut see);
    }

    /// Forgets on which worlds it ran, and when: the next run is its first.
    pub(crate) fn begin_anew(&mut self) {
        self.matches.clear();
        self.seen = 0;
        (self.world, self.origin) = (NO_WORLD, NO_WORLD);
    }

    /// Whether its fragments' numbers mean the same to this world: it was built for one of its universe, or of one like it.
    pub(crate) fn is_for(&self, world: &World) -> bool {
        Arc::ptr_eq(&self.registry, world.universe().shared_registry())
    }

    /// Looks at the archetypes that have come.
    fn update(&mut self, world: &World) {
        if self.world != world.identity() {
            self.world = world.identity();
            self.matches.clear();
            self.seen = 0;
            // In one that has let archetypes go nothing has changed by that.
            if core::mem::replace(&mut self.origin, world.origin()) != world.origin() {
                self.since = world.long_ago();
            }
        }
        if self.seen as usize == world.archetypes.len() {
            return;
        }
        // Of the fragments that must be there, the one that the fewest archetypes have.
        let switched = self.requirements.switches().iter();
        let all = self.requirements.required().iter().chain(switched);
        let rarest = all
            .map(|id| world.having.of(id))
            .min_by_key(|list| list.len());
        let from = self.seen;
        match rarest {
            Some(archetypes) => {
                let new = archetypes.partition_point(|having| having.archetype < from);
                for having in &archetypes[new..] {
                    self.consider(&world.archetypes[having.archetype as usize]);
                }
            }
            None => {
                for archetype in &world.archetypes[from as usize..] {
                    self.consider(archetype);
                }
            }
        }
        self.seen = world.archetypes.len() as u32;
    }

    fn consider(&mut self, archetype: &Archetype) {
        // A composition that is older than a switch has none.
        let mut switches = self.requirements.switches().iter();
        if self.requirements.met_by(archetype)
            && switches.all(|id| archetype.enabled_of(id).is_some())
        {
            let versions = self.changed.iter().map(|&id| archetype.version_of(id));
            let groups = self.changed_any.iter().map(|ids| {
                let there = ids.iter().filter(|&&id| archetype.set.contains(id));
                there.map(|&id| archetype.version_of(id)).collect()
            });
            let places = self.lends.iter().map(|lend| place(lend.id, archetype));
            self.matches.push(DynamicMatch {
                archetype: archetype.number,
                places: places.collect(),
                changed: versions.collect(),
                changed_any: groups.collect(),
                masks: self.requirements.masks(archetype),
            });
        }
    }
}

fn place(id: FragmentId, archetype: &Archetype) -> LendPlace {
    if let Some(at) = archetype.column_of(id) {
        let column = archetype.columns[at];
        return LendPlace::Column {
            column: at as u32,
            offset: column.offset,
            size: column.size,
        };
    }
    if let Some(at) = archetype.shared_at(id) {
        return LendPlace::Shared(at as u32);
    }
    match archetype.chunk_value_of(id) {
        Some(value) => LendPlace::Chunk(value.offset),
        None => LendPlace::Absent,
    }
}
