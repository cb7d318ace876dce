//! `DynamicChunk`: a chunk, or some rows of one, whose columns are asked for one by one.
//!
//! Must hold, so that no value is lent twice: of one `DynamicChunk` each column is lent either to one writer or
//! to readers (`read`, `written`), and whoever makes two of one chunk sees to it that they have no row in
//! common and do not live at one time.

use crate::entity::Entity;
use crate::fragment::{FragmentError, FragmentId, FragmentSet, Values, ValuesMut};
use crate::query::dynamic::query::{DynamicMatch, Lend, LendPlace};
use crate::query::dynamic::run::DynamicRun;
use crate::query::masks::masked;
use crate::query::{ChunkView, QueryError, Switches};
use crate::world::{Version, WorldError};

/// A chunk that a [`DynamicQuery`](crate::query::DynamicQuery) sees, or some neighbouring rows of one.
///
/// Columns are lent for as long as the run is borrowed: the same one to one writer, or to as many readers as
/// like; asking for more is an error, not a panic.
///
/// **Its columns and [`entities`](Self::entities) have also rows that the query does not see**, where a fragment that it
/// asks for or excludes can be [switched off](crate::query::Enabled): then walk its [`rows`](Self::rows).
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let health = world.registry().register_enableable::<u32>()?.id();
/// let ants = world.create_batch((0..10_u32).map(|n| (n,)))?;
/// let fifth = ants.iter(&world).nth(5).unwrap();
/// world.set_enabled::<u32>(fifth, false)?;
///
/// let mut healths = DynamicQuery::builder(&world).write(health).build()?;
/// healths.on(&mut world)?.for_each_chunk(|mut chunk| {
///     let rows = chunk.rows();
///     let healths = chunk.write(health).unwrap().slice::<u32>().unwrap();
///     assert_eq!(healths.len(), 10);
///     rows.for_each(|row| healths[row] += 100);
/// });
/// assert_eq!(world.get::<u32>(fifth)?, &5, "it is switched off");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DynamicChunk<'w> {
    view: ChunkView<'w>,
    run: &'w DynamicRun<'w>,
    lends: &'w [Lend],
    known: &'w DynamicMatch,
    first: u32,
    len: u32,
    /// A bit for each fragment that is lent to be read.
    read: u128,
    /// A bit for each fragment that is lent to be written.
    written: u128,
}

impl<'w> DynamicChunk<'w> {
    /// Rows of a chunk.
    ///
    /// # Safety
    /// The rows are the chunk's, one at least; `known` is of the run's query, and the places those of the
    /// chunk's archetype. For `'w` nobody else has what the query lends of these rows, or of the chunk's value, in
    /// a way that conflicts, and nobody has, of whatever row, what it lends to be read alone to be written.
    pub(super) unsafe fn new(
        view: ChunkView<'w>,
        run: &'w DynamicRun<'w>,
        known: &'w DynamicMatch,
        first: u32,
        len: u32,
    ) -> Self {
        Self {
            view,
            run,
            lends: &run.query.lends,
            known,
            first,
            len,
            read: 0,
            written: 0,
        }
    }

    /// How many rows; one at least.
    #[expect(clippy::len_without_is_empty, reason = "there is one at least")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// The entities, in the order of the rows; of all rows, also of those that the query does not see.
    #[must_use]
    pub fn entities(&self) -> &'w [Entity] {
        let first = self.first as usize;
        &self.view.entities()[first..first + self.len()]
    }

    /// The rows, counted from 0, that the query sees: all of them, unless fragments that it asks for or
    /// excludes can be switched off.
    pub fn rows(&self) -> impl Iterator<Item = usize> + use<'w> {
        let (masks, chunk) = (self.known.masks.as_deref(), self.view.chunk);
        let first = self.first;
        (first..first + self.len)
            .filter(move |&row| masked(masks, chunk, row))
            .map(move |row| (row - first) as usize)
    }

    /// As [`ChunkView::sort_key`](crate::query::ChunkView::sort_key): the key for what is recorded chunk by chunk, in
    /// [`par_for_each_chunk`] or [`par_for_each_in`], whatever thread has which. Runs of rows of one chunk have the
    /// same, and come one after the other.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let health = world.registry().register::<u32>()?.id();
    /// let _ = world.create_batch((0..10_000_u32).map(|n| (n % 100,)))?;
    /// let commands = world.parallel_commands();
    /// let mut healths = DynamicQuery::builder(&world).read(health).build()?;
    /// healths.on(&mut world)?.par_for_each_chunk(|mut chunk| {
    ///     let mut commands = commands.open_at(chunk.sort_key());
    ///     let healths = chunk.read(health).unwrap().slice::<u32>().unwrap();
    ///     for row in chunk.rows() {
    ///         if healths[row] < 10 {
    ///             commands.destroy(chunk.entities()[row]);
    ///         }
    ///     }
    /// });
    /// assert_eq!(world.flush().destroyed, 1_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`par_for_each_chunk`]: crate::query::DynamicRun::par_for_each_chunk
    /// [`par_for_each_in`]: crate::query::DynamicRun::par_for_each_in
    #[must_use]
    pub fn sort_key(&self) -> u64 {
        self.view.sort_key()
    }

    /// Whether the entities have a fragment, in whatever role. (`false` also for a number that no registry gave out, as
    /// [`Prototype::has`](crate::world::Prototype::has) says; a [world](crate::world::World::has_dynamic), which
    /// refuses handles anyway, refuses it.)
    #[must_use]
    pub fn has(&self, id: FragmentId) -> bool {
        self.view.archetype.set.contains(id)
    }

    /// What the entities have, in every role, as a set. O(1).
    #[must_use]
    pub fn composition(&self) -> &'w FragmentSet {
        self.view.composition()
    }

    /// As [`ChunkView::order_version`](crate::query::ChunkView::order_version).
    #[must_use]
    pub fn order_version(&self) -> Version {
        self.view.order_version()
    }

    /// As [`ChunkView::change_version`](crate::query::ChunkView::change_version); `None` also for what is not one an entity.
    #[must_use]
    pub fn change_version(&self, id: FragmentId) -> Option<Version> {
        let version = self.view.archetype.version_of(id)?;
        let stamp = self.view.chunk.version(version as usize);
        Some(Version::from_bits(self.view.world.moment(stamp)))
    }

    /// A fragment's values, to read: one a row, or one for all rows if it is shared or the chunk's. O(fragments
    /// that the query lends).
    ///
    /// # Errors
    /// [`QueryError::NotAsked`]; [`QueryError::Absent`] for an optional one; [`QueryError::Lent`] if it is lent to
    /// be written.
    pub fn read(&mut self, id: FragmentId) -> Result<Values<'w>, QueryError> {
        let at = self.find(id)?;
        if self.written >> at & 1 == 1 {
            return Err(self.error(id, |name| QueryError::Lent { name }));
        }
        let registry = self.view.world.registry();
        let info = registry.get(id).ok_or(FragmentError::Unknown { id })?;
        let chunk = self.view.chunk;
        let (first, len) = match self.known.places[at] {
            LendPlace::Absent => return Err(self.error(id, |name| QueryError::Absent { name })),
            LendPlace::Column { offset, size, .. } => (self.row(offset, size), self.len()),
            LendPlace::Chunk(offset) => (chunk.array(offset), 1),
            LendPlace::Shared(at) => {
                let data = self.view.archetype;
                let value = self.view.world.shared_at(data, chunk, at as usize);
                (value.cast_mut(), 1)
            }
        };
        self.read |= 1 << at;
        // SAFETY: values of this fragment, by the contract of `new`. Nobody writes them: the query lends them
        // here only, and `read` says that it is lent.
        Ok(unsafe { Values::new(info, first, len) })
    }

    /// A fragment's values, to write: one a row, or one if it is the chunk's. Marks it as changed. O(fragments
    /// that the query lends).
    ///
    /// # Errors
    /// As for [`read`](Self::read); [`QueryError::ReadOnly`] if the query asked to read; [`QueryError::Lent`] if it
    /// is lent already, in either way.
    pub fn write(&mut self, id: FragmentId) -> Result<ValuesMut<'w>, QueryError> {
        let at = self.find(id)?;
        if !self.lends[at].write {
            return Err(self.error(id, |name| QueryError::ReadOnly { name }));
        }
        if (self.read | self.written) >> at & 1 == 1 {
            return Err(self.error(id, |name| QueryError::Lent { name }));
        }
        let registry = self.view.world.registry();
        let info = registry.get(id).ok_or(FragmentError::Unknown { id })?;
        let (first, len) = match self.known.places[at] {
            LendPlace::Absent => return Err(self.error(id, |name| QueryError::Absent { name })),
            LendPlace::Column {
                column,
                offset,
                size,
            } => {
                self.view.chunk.touch(column as usize, self.view.version);
                (self.row(offset, size), self.len())
            }
            LendPlace::Chunk(offset) => (self.view.chunk.array(offset), 1),
            // The builder lets nobody ask for it.
            LendPlace::Shared(_) => {
                return Err(self.error(id, |name| QueryError::ReadOnly { name }));
            }
        };
        self.written |= 1 << at;
        // SAFETY: values of this fragment, by the contract of `new`; `read` and `written` say that nobody else
        // has them.
        Ok(unsafe { ValuesMut::new(info, first, len) })
    }

    /// The switches of a fragment, one a row, to look at and to switch: also of rows that the query does not see. They are
    /// lent as often as one likes, beside all else that the query lends. O(fragments that can be switched).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Awake;
    /// let mut world = World::new();
    /// let energy = world.registry().register::<i32>()?.id();
    /// let awake = world.registry().register_enableable::<Awake>()?.id();
    /// let _ = world.create_batch((0..1_000_i32).map(|n| (n, Awake)))?;
    ///
    /// let mut tired = DynamicQuery::builder(&world).read(energy).switch(awake).build()?;
    /// tired.on(&mut world)?.par_for_each_chunk(|mut chunk| {
    ///     let switches = chunk.switches(awake).unwrap();
    ///     let energies = chunk.read(energy).unwrap().slice::<i32>().unwrap();
    ///     for row in chunk.rows() {
    ///         switches.at(row).set(energies[row] > 500);
    ///     }
    /// });
    /// assert_eq!(world.query::<Entity, With<Awake>>()?.count(), 499);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`QueryError::NotAsked`], unless the query was told to
    /// [`switch`](crate::query::DynamicQueryBuilder::switch) it.
    pub fn switches(&self, id: FragmentId) -> Result<Switches<'w>, QueryError> {
        let asked = self.run.query.requirements().switches().contains(id);
        let bits = self.view.archetype.enabled_of(id).filter(|_| asked);
        let bits = bits.ok_or_else(|| self.error(id, |name| QueryError::NotAsked { name }))?;
        let (first, len) = (self.first as usize, self.len());
        // SAFETY: rows of the chunk, and bits of its archetype, which while a query runs that lends them to be switched are
        // accessed as atomics only.
        Ok(unsafe { Switches::new(self.view, bits, first, len) })
    }

    /// The value of a fragment of another entity, or of this one, to be read, if the query's requirements see the entity and
    /// it lends the fragment to be read: from within a loop, on however many threads, as
    /// [`DynamicRun::peek`] does between loops. O(log archetypes that match + fragments that the query lends).
    ///
    /// Filters of chunks and of [changes](crate::query::DynamicQueryBuilder::changed) are not asked, nor are switches where the
    /// query [throws](Self::switches) one that it looks at, for what they would say may depend on how far the loop has come:
    /// whoever matches is seen.
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::query::Access;
    ///
    /// let mut world = World::new();
    /// let place = world.registry().register::<f32>()?.id();
    /// let pull = world.registry().register::<f64>()?.id();
    /// let partner = world.registry().register::<Entity>()?.id();
    /// let sun = world.create((100.0_f32,))?;
    /// let planet = world.create((40.0_f32, 0.0_f64, sun))?;
    ///
    /// let query = DynamicQuery::builder(&world).read(place).optional(partner, Access::Read);
    /// let mut query = query.optional(pull, Access::Write).build()?;
    /// query.on(&mut world)?.par_for_each_chunk(|mut chunk| {
    ///     let (Ok(partners), Ok(pulls)) = (chunk.read(partner), chunk.write(pull)) else { return };
    ///     let places = chunk.read(place).unwrap().slice::<f32>().unwrap();
    ///     let (partners, pulls) = (partners.slice::<Entity>().unwrap(), pulls.slice::<f64>().unwrap());
    ///     for row in chunk.rows() {
    ///         let there = chunk.peek(partners[row], place).unwrap().value::<f32>().unwrap();
    ///         pulls[row] = f64::from(there - places[row]);
    ///     }
    ///     assert!(chunk.peek(partners[0], pull).is_err(), "it is lent to be written");
    /// });
    /// assert_eq!(world.get::<f64>(planet)?, &60.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::Missing`] if the query does not match the
    /// entity ([`Lack::Match`](crate::world::Lack::Match)), lends the fragment to be written
    /// ([`Lack::LentToWrite`](crate::world::Lack::LentToWrite)) or not at all
    /// ([`Lack::Lent`](crate::world::Lack::Lent)), or the entity does not have it; [`FragmentError::Unknown`].
    pub fn peek(&self, entity: Entity, id: FragmentId) -> Result<Values<'w>, WorldError> {
        self.run.peek_beside(entity, id)
    }

    /// The first row's value in a column.
    fn row(&self, offset: u32, size: u32) -> *mut u8 {
        let array = self.view.chunk.array(offset);
        array.wrapping_add(self.first as usize * size as usize)
    }

    /// Which of the fragments that the query lends this is.
    fn find(&self, id: FragmentId) -> Result<usize, QueryError> {
        let at = self.lends.iter().position(|lend| lend.id == id);
        at.ok_or_else(|| self.error(id, |name| QueryError::NotAsked { name }))
    }

    #[cold]
    fn error(&self, id: FragmentId, error: impl FnOnce(Box<str>) -> QueryError) -> QueryError {
        match self.view.world.registry().get(id) {
            Some(info) => error(info.name().into()),
            None => QueryError::Fragment(FragmentError::Unknown { id }),
        }
    }
}
