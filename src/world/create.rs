//! Entities come: one by one, in batches, reserved first.

use core::convert::Infallible;

use crate::archetype::{Archetype, Row, Rows, Universe, place};
use crate::chunk::Run;
use crate::entity::{Entity, EntityFault, Place, RelocateError};
use crate::fragment::panic::{Panicked, first as earlier, note, refused, resume, resume_alone};
use crate::fragment::{Bundle, Given, Pile, Value, refused_bundle};
use crate::world::taken::TakenIn;
use crate::world::watch::CREATED;
use crate::world::{World, WorldError};

/// Columns that a bundle can have.
pub(crate) const COLUMNS: usize = 16;

impl World {
    /// Creates an entity with these fragments. O(fragments).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let entity = world.create(("ant", 0.5_f32))?;
    /// assert_eq!(world.get::<f32>(entity)?, &0.5);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// A fragment that stands there twice or is too large, no id or no memory left.
    ///
    /// # Panics
    /// If a value of the bundle [takes the place](Bundle::per_chunk) of a template, and the `drop`
    /// of that template panics. The entity is there then.
    #[inline]
    #[doc(alias = "spawn")]
    pub fn create<B: Bundle>(&mut self, bundle: B) -> Result<Entity, WorldError> {
        if B::HAS_VALUES {
            return self.create_with_values(bundle);
        }
        let number = match self.bundle::<B>() {
            Ok(number) => number,
            Err(error) => return Err(refused_bundle(bundle, error)),
        };
        let archetype = self.bundles.infos[number].archetype;
        // No `Result` where there is room: it would go through memory.
        let chunk = match self.open_chunk(archetype, 0) {
            Some(chunk) => chunk,
            None => match self.add_room(archetype, 0, 0) {
                Ok(row) => row.chunk,
                Err(error) => return Err(refused_bundle(bundle, error)),
            },
        };
        // SAFETY: the chunk has room, and the offsets are the archetype's.
        let created = unsafe { self.push(archetype, chunk, number, bundle, Universe::create_in) };
        created.map_err(WorldError::from)
    }

    /// The chunk of a group that is filled next, if it has one with room.
    #[inline(always)]
    fn open_chunk(&self, archetype: u32, group: u32) -> Option<u32> {
        let data = &self.archetypes[archetype as usize];
        data.groups[group as usize].open.last().copied()
    }

    /// An empty row at the end of a chunk of the group.
    #[inline(always)]
    pub(crate) fn room(&mut self, archetype: u32, group: u32) -> Result<Row, WorldError> {
        self.room_for(archetype, group, 0)
    }

    /// [`room`](Self::room) for the first of so many entities: if there is none, a chunk comes that is long enough
    /// for many of them.
    #[inline(always)]
    pub(crate) fn room_for(
        &mut self,
        archetype: u32,
        group: u32,
        coming: usize,
    ) -> Result<Row, WorldError> {
        let Some(chunk) = self.open_chunk(archetype, group) else {
            return self.add_room(archetype, group, coming);
        };
        // SAFETY: what is open is there.
        let row = unsafe { self.archetypes[archetype as usize].chunks.at(chunk) }.len;
        Ok(Row { chunk, row })
    }

    /// Adds a chunk to a group. If there is no memory for it, or the `clone` of a template panics, a group
    /// that has no other goes, and its shared values are let go.
    #[cold]
    #[inline(never)]
    fn add_room(&mut self, archetype: u32, group: u32, coming: usize) -> Result<Row, WorldError> {
        self.keep_versions();
        let version = self.version();
        let data = &mut self.archetypes[archetype as usize];
        let mut panicked = None;
        let mut added = None;
        note(&mut panicked, || {
            added = Some(data.add_chunk(&self.universe, self.number, group, coming, version));
        });
        if !matches!(added, Some(Ok(_))) {
            data.forget_group(group);
            self.settle_groups(archetype);
        }
        match added {
            Some(added) => Ok(Row {
                chunk: added?,
                row: 0,
            }),
            None => {
                resume(panicked);
                unreachable!("nothing was added, because of a panic")
            }
        }
    }

    /// Fills the row behind a chunk's last, for the entity that `entity` gives it.
    ///
    /// # Safety
    /// There is such a chunk, it has room, and the bundle's offsets are this archetype's.
    #[inline(always)]
    unsafe fn push<B: Bundle, E>(
        &mut self,
        number_of_archetype: u32,
        position: u32,
        number: usize,
        bundle: B,
        entity: impl FnOnce(&Universe, Run, u32) -> Result<Entity, E>,
    ) -> Result<Entity, E> {
        let version = self.version();
        let archetype = &mut self.archetypes[number_of_archetype as usize];
        // SAFETY: the caller's.
        let chunk = unsafe { archetype.chunks.at_mut(position) };
        let row = chunk.len;
        let entity = match entity(&self.universe, chunk.run, row) {
            Ok(entity) => entity,
            Err(error) => return Err(refused_bundle(bundle, error)),
        };
        let columns = columns::<B>(chunk, &self.bundles.infos[number].offsets);
        // SAFETY: the columns have such a row, which is empty.
        unsafe {
            bundle.write(columns.as_ptr(), row as usize);
            chunk.handles().add(row as usize).write(entity);
        }
        chunk.grow(&archetype.enabled, 1, version);
        archetype.entities += 1;
        if chunk.is_full() {
            archetype.filled_up(position);
        }
        if archetype.watched & CREATED != 0 {
            let chunk = position;
            self.tell_created(number_of_archetype, Row { chunk, row });
        }
        Ok(entity)
    }

    #[cold]
    #[inline(never)]
    fn create_with_values<B: Bundle>(&mut self, bundle: B) -> Result<Entity, WorldError> {
        self.placing_values(bundle, Self::create_row)
    }

    /// A new entity in an empty row of a group.
    pub(super) fn create_row(
        &mut self,
        archetype: u32,
        group: u32,
    ) -> Result<(Entity, Row), WorldError> {
        let row = self.room(archetype, group)?;
        let run = self.archetypes[archetype as usize].chunks[row.chunk as usize].run;
        match self.universe.create_in(run, row.row) {
            Ok(entity) => Ok((entity, row)),
            Err(full) => {
                self.abandon(archetype, row.chunk);
                Err(full.into())
            }
        }
    }

    /// Lets an empty chunk of a group go that nothing came into after all.
    pub(crate) fn abandon(&mut self, archetype: u32, chunk: u32) {
        let data = &mut self.archetypes[archetype as usize];
        if data.chunks[chunk as usize].len == 0 {
            data.emptied(&self.universe, self.number, chunk);
        }
        self.settle_groups(archetype);
    }

    /// Fills the row that `place` finds for an entity, which has its id then. The values of the bundle that are not for
    /// columns are taken out first.
    fn placing_values<B: Bundle>(
        &mut self,
        bundle: B,
        place: impl FnOnce(&mut Self, u32, u32) -> Result<(Entity, Row), WorldError>,
    ) -> Result<Entity, WorldError> {
        let mut bundle = Given::new(bundle);
        let mut values: Pile<Value> = Pile::new();
        let registry = self.universe.registry();
        // SAFETY: the first time, of a bundle that was given to go into an entity.
        let taken = unsafe { bundle.take_values(registry, &mut |_, value| values.push(value)) };
        let number = taken.and_then(|()| self.bundles.number::<B>(registry));
        // Before any of the values is the world's.
        let possible = match number {
            Ok(number) => self.check_bundle(number),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = possible {
            return Err(refused((bundle, values), error));
        }
        let taken = self.take_in(values);
        let created = self.sharing_told(taken, |world, shared| {
            let number = world.bundle::<B>()?;
            let archetype = world.bundles.infos[number].archetype;
            let key = TakenIn::key(shared);
            let group = if key.is_empty() {
                0
            } else {
                world.group_of(archetype, &key)
            };
            let (entity, row) = place(world, archetype, group)?;
            // Filled before anything else is done: what `sharing` ends with may panic. And what an observer panics with
            // must not come to it: the entity is there.
            let mut panicked = None;
            if let Some(bundle) = bundle.take() {
                note(&mut panicked, || {
                    let placed = |_: &Universe, _, _| Ok::<_, Infallible>(entity);
                    // SAFETY: the chunk has room, and the offsets are the archetype's.
                    let Ok(_) = unsafe { world.push(archetype, row.chunk, number, bundle, placed) };
                });
            }
            Ok((entity, panicked))
        });
        created.map_err(|error| refused(bundle, error))
    }

    /// Creates an entity for each bundle, in order. O(entities × fragments); handles are made a chunk at a
    /// time.
    ///
    /// All or none: if ids or memory run out, or if the iterator panics, those that were made are gone
    /// again.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ants = world.create_batch((0..1_000).map(|n| (n as f32, [0_u8; 3])))?;
    /// assert_eq!(ants.len(), 1_000);
    /// let seventh = ants.iter(&world).nth(6).unwrap();
    /// assert_eq!(world.get::<f32>(seventh)?, &6.0);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`create`](Self::create).
    #[doc(alias = "spawn_batch")]
    pub fn create_batch<I>(&mut self, bundles: I) -> Result<Batch, WorldError>
    where
        I: IntoIterator,
        I::Item: Bundle,
    {
        let bundles = bundles.into_iter();
        if self.is_watched(CREATED) {
            return self.told(CREATED, Vec::new(), |world| world.create_all(bundles));
        }
        self.create_all(bundles)
    }

    #[inline]
    fn create_all<B: Bundle>(
        &mut self,
        mut bundles: impl Iterator<Item = B>,
    ) -> Result<Batch, WorldError> {
        if B::HAS_VALUES {
            return self.create_batch_with_values(bundles);
        }
        let number = match self.bundle::<B>() {
            Ok(number) => number,
            Err(error) => return Err(refused(bundles, error)),
        };
        let archetype = self.bundles.infos[number].archetype;
        let mut unfinished = Unfinished {
            world: self,
            batch: Batch {
                archetype,
                spans: Vec::new(),
            },
        };
        let mut more = true;
        while more {
            // A chunk is taken only for an entity that comes.
            let Some(first) = bundles.next() else { break };
            let world = &mut *unfinished.world;
            let coming = match bundles.size_hint() {
                (0, Some(0)) => 1,
                // Nobody knows.
                (0, _) => 0,
                (others, _) => others.saturating_add(1),
            };
            let row = match world.room_for(archetype, 0, coming) {
                Ok(row) => row,
                Err(error) => return Err(refused_bundle(first, error)),
            };
            let data = &world.archetypes[archetype as usize];
            let chunk = &data.chunks[row.chunk as usize];
            let columns = columns::<B>(chunk, &world.bundles.infos[number].offsets);
            let mut written = Written {
                data,
                row,
                count: 0,
            };
            let (start, room) = (row.row as usize, chunk.capacity - row.row);
            // SAFETY: the columns have rows up to the capacity, empty from `start` on.
            unsafe { first.write(columns.as_ptr(), start) };
            written.count = 1;
            while written.count < room {
                let Some(bundle) = bundles.next() else {
                    // It has said that this was all: it is not asked again.
                    more = false;
                    break;
                };
                // SAFETY: as above.
                unsafe { bundle.write(columns.as_ptr(), start + written.count as usize) };
                written.count += 1;
            }
            written.commit(&world.universe)?;
            let count = written.finish();
            unfinished.note(row, count);
        }
        // The iterator may panic once more.
        drop(bundles);
        Ok(unfinished.finish())
    }

    /// Bundles whose shared values may differ: one by one.
    fn create_batch_with_values<B: Bundle>(
        &mut self,
        mut bundles: impl Iterator<Item = B>,
    ) -> Result<Batch, WorldError> {
        let mut batch = Singles {
            world: self,
            entities: Vec::new(),
        };
        for bundle in &mut bundles {
            let Singles { world, entities } = &mut batch;
            // Noted as soon as it has an id: what its template takes the place of may panic when it goes.
            let created = world.placing_values(bundle, |world, archetype, group| {
                let (entity, row) = world.create_row(archetype, group)?;
                entities.push(entity);
                Ok((entity, row))
            });
            if let Err(error) = created {
                return Err(refused((batch, bundles), error));
            }
        }
        // As above.
        drop(bundles);
        Ok(batch.finish())
    }

    /// Reserves an id, for [`build`](Self::build). Any thread, lock-free.
    ///
    /// # Errors
    /// [`WorldError::Full`].
    pub fn reserve(&self) -> Result<Entity, WorldError> {
        Ok(self.universe.reserve()?)
    }

    /// Reserves an id for each place of `out`, for [`build`](Self::build); all or none. Any thread, lock-free.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let mut pair = [Entity::PLACEHOLDER; 2];
    /// world.reserve_slice(&mut pair)?;
    /// // Each can name the other before either is built.
    /// world.build(pair[0], (pair[1],))?;
    /// world.build(pair[1], (pair[0],))?;
    /// assert_eq!(world.get::<Entity>(pair[0])?, &pair[1]);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`WorldError::Full`]. Then none stays reserved, and `out` holds unspecified handles.
    pub fn reserve_slice(&self, out: &mut [Entity]) -> Result<(), WorldError> {
        Ok(self.universe.reserve_slice(out)?)
    }

    /// Gives a reserved entity its fragments. O(fragments), and one read-modify-write on the entity's slot, so that of
    /// two worlds that build it at once one is refused.
    ///
    /// # Errors
    /// As for [`create`](Self::create); [`WorldError::AlreadyBuilt`] if it is built, here or in another
    /// world, or by a recorder.
    pub fn build<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), WorldError> {
        match self.universe.index().locate(entity) {
            Ok(None) => {}
            Ok(Some(_)) => {
                return Err(refused_bundle(bundle, WorldError::AlreadyBuilt { entity }));
            }
            Err(error) => return Err(refused_bundle(bundle, error.into())),
        }
        if B::HAS_VALUES {
            return self.build_with_values(entity, bundle);
        }
        let number = match self.bundle::<B>() {
            Ok(number) => number,
            Err(error) => return Err(refused_bundle(bundle, error)),
        };
        let archetype = self.bundles.infos[number].archetype;
        let room = self.room(archetype, 0).and_then(|row| {
            self.build_in(entity, archetype, row)?;
            Ok(row)
        });
        let row = match room {
            Ok(row) => row,
            Err(error) => return Err(refused_bundle(bundle, error)),
        };
        let built = |_: &Universe, _, _| Ok::<_, Infallible>(entity);
        // SAFETY: the chunk has room, and the offsets are the archetype's.
        match unsafe { self.push(archetype, row.chunk, number, bundle, built) } {
            Ok(_) => Ok(()),
        }
    }

    #[cold]
    #[inline(never)]
    fn build_with_values<B: Bundle>(
        &mut self,
        entity: Entity,
        bundle: B,
    ) -> Result<(), WorldError> {
        self.placing_values(bundle, |world, archetype, group| {
            let row = world.room(archetype, group)?;
            world.build_in(entity, archetype, row)?;
            Ok((entity, row))
        })?;
        Ok(())
    }

    /// Gives a reserved entity an empty row as its place.
    pub(super) fn build_in(
        &mut self,
        entity: Entity,
        archetype: u32,
        row: Row,
    ) -> Result<(), WorldError> {
        let run = self.archetypes[archetype as usize].chunks[row.chunk as usize].run;
        // Another world may build it at this moment.
        if let Err(error) = self.universe.index().build(entity, place(run, row.row)) {
            self.abandon(archetype, row.chunk);
            return Err(match error.fault {
                EntityFault::AlreadyBuilt => WorldError::AlreadyBuilt { entity },
                _ => error.into(),
            });
        }
        self.births += 1;
        Ok(())
    }

    /// Gives a reserved id back, which was not built. Any thread, lock-free.
    ///
    /// # Errors
    /// [`WorldError::AlreadyBuilt`] if it is built, or a recorder has built it: then [`destroy`](Self::destroy) it in
    /// its world, after the flush.
    pub fn release(&self, entity: Entity) -> Result<(), WorldError> {
        // So that nobody builds it while it dies.
        match self
            .universe
            .index()
            .relocate(entity, None, Some(Place::LEAVING))
        {
            Ok(()) => {
                self.universe.index().destroy(entity)?;
                self.universe.settle_released(entity);
                Ok(())
            }
            Err(RelocateError::Entity(error)) => Err(error.into()),
            Err(_) => Err(WorldError::AlreadyBuilt { entity }),
        }
    }

    /// Whether the entity lives in this world, was recorded for it, or is reserved in its universe, for whichever world
    /// builds it first. Wait-free.
    #[inline]
    #[must_use]
    pub fn exists(&self, entity: Entity) -> bool {
        match self.find(entity) {
            Ok(_) => true,
            Err(WorldError::NotBuilt { .. } | WorldError::Pending { .. }) => true,
            Err(_) => false,
        }
    }

    /// Whether the entity lives in this world, with an archetype. Wait-free.
    #[inline]
    #[must_use]
    pub fn is_built(&self, entity: Entity) -> bool {
        self.find(entity).is_ok()
    }
}

/// The columns of a chunk that a bundle's values go to.
#[inline(always)]
pub(crate) fn columns<B: Bundle>(
    chunk: &crate::archetype::Chunk,
    offsets: &[u32],
) -> [*mut u8; COLUMNS] {
    const { assert!(B::LEN <= COLUMNS) };
    let mut columns = [core::ptr::null_mut(); COLUMNS];
    for (column, &offset) in columns.iter_mut().zip(offsets).take(B::LEN) {
        *column = chunk.array(offset);
    }
    columns
}

/// The entities that one call has created, in order. Names only: it keeps nothing alive.
#[derive(Clone, Debug)]
pub struct Batch {
    archetype: u32,
    spans: Vec<Span>,
}

/// Neighbouring rows, or single entities.
#[derive(Clone, Debug)]
enum Span {
    Rows { chunk: u32, first: u32, count: u32 },
    Entities(Vec<Entity>),
}

impl Batch {
    /// Rows of an archetype, in order.
    pub(super) fn of_rows(archetype: u32, rows: impl Iterator<Item = Rows>) -> Self {
        let spans = rows.map(|rows| Span::Rows {
            chunk: rows.chunk,
            first: rows.first,
            count: rows.count,
        });
        Self {
            archetype,
            spans: spans.collect(),
        }
    }

    /// How many entities were created.
    #[must_use]
    pub fn len(&self) -> usize {
        let lengths = self.spans.iter().map(|span| match span {
            Span::Rows { count, .. } => *count as usize,
            Span::Entities(entities) => entities.len(),
        });
        lengths.sum()
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The handles, in the order of the bundles. Ask before the world changes again: it reads them from
    /// the rows where they were created. Where entities of this composition have been destroyed or moved since, or the
    /// world is another one, that is no error: it gives whoever lies in these rows now, and none of those that lie side
    /// by side in a chunk if some of their rows are gone.
    pub fn iter<'w>(&'w self, world: &'w World) -> impl Iterator<Item = Entity> + 'w {
        self.slices(world).flatten().copied()
    }

    /// The same, as many neighbours at a time as there are.
    pub(crate) fn slices<'w>(
        &'w self,
        world: &'w World,
    ) -> impl Iterator<Item = &'w [Entity]> + 'w {
        let archetype = world.archetypes.get(self.archetype as usize);
        self.spans.iter().map(move |span| -> &'w [Entity] {
            match span {
                Span::Entities(entities) => entities,
                &Span::Rows {
                    chunk,
                    first,
                    count,
                } => {
                    let chunk = archetype.and_then(|data| data.chunks.get(chunk as usize));
                    let rows = first as usize..(first + count) as usize;
                    chunk.and_then(|c| c.entities().get(rows)).unwrap_or(&[])
                }
            }
        })
    }
}

/// Rows behind the end of a chunk that hold values and have no entities yet; if it is dropped, the values go.
struct Written<'a> {
    data: &'a Archetype,
    row: Row,
    count: u32,
}

impl Written<'_> {
    /// Makes an entity of each row.
    fn commit(&self, universe: &Universe) -> Result<(), WorldError> {
        let chunk = &self.data.chunks[self.row.chunk as usize];
        // SAFETY: rows of the chunk.
        unsafe {
            let handles = chunk.handles().add(self.row.row as usize);
            Ok(universe.create_rows(handles, chunk.run, self.row.row, self.count)?)
        }
    }

    /// The values belong to entities now: how many rows that are.
    fn finish(self) -> u32 {
        core::mem::ManuallyDrop::new(self).count
    }
}

impl Drop for Written<'_> {
    fn drop(&mut self) {
        // SAFETY: values without entities, which nobody has seen.
        let panicked = unsafe {
            self.data
                .drop_rows(self.row.chunk, self.row.row, self.count)
        };
        resume_alone(panicked);
    }
}

/// A batch in the making; if it is dropped, its entities go again.
struct Unfinished<'w> {
    world: &'w mut World,
    batch: Batch,
}

impl Unfinished<'_> {
    /// Notes that rows at the end of a chunk are entities now.
    fn note(&mut self, row: Row, count: u32) {
        let version = self.world.version();
        let archetype = &mut self.world.archetypes[self.batch.archetype as usize];
        archetype.grown(row.chunk, count, version);
        self.world.gather_created(self.batch.archetype, row, count);
        self.batch.spans.push(Span::Rows {
            chunk: row.chunk,
            first: row.row,
            count,
        });
    }

    fn finish(mut self) -> Batch {
        // Nothing is left to undo.
        let spans = core::mem::take(&mut self.batch.spans);
        Batch {
            archetype: self.batch.archetype,
            spans,
        }
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let mut panicked: Panicked = None;
        let archetype = self.batch.archetype;
        if !self.batch.spans.is_empty() {
            self.world.forget_created();
        }
        // From the end, so that rows that are still to go do not move.
        for span in core::mem::take(&mut self.batch.spans).into_iter().rev() {
            if let Span::Rows {
                chunk,
                first,
                count,
            } = span
            {
                for row in (first..first + count).rev() {
                    let data = &self.world.archetypes[archetype as usize];
                    let entity = data.chunks[chunk as usize].entities()[row as usize];
                    let row = Row { chunk, row };
                    let more = self.world.destroy_row(archetype, row, entity);
                    panicked = earlier(panicked, more);
                }
            }
        }
        resume_alone(panicked);
    }
}

/// A batch of single entities in the making; if it is dropped, they go again.
struct Singles<'w> {
    world: &'w mut World,
    entities: Vec<Entity>,
}

impl Singles<'_> {
    fn finish(mut self) -> Batch {
        Batch {
            archetype: 0,
            spans: vec![Span::Entities(core::mem::take(&mut self.entities))],
        }
    }
}

impl Drop for Singles<'_> {
    fn drop(&mut self) {
        let mut panicked: Panicked = None;
        if !self.entities.is_empty() {
            self.world.forget_created();
        }
        for entity in core::mem::take(&mut self.entities) {
            // Its own, just made.
            if let Ok((archetype, row)) = self.world.find(entity) {
                let more = self.world.destroy_row(archetype, row, entity);
                panicked = earlier(panicked, more);
            }
        }
        resume_alone(panicked);
    }
}
