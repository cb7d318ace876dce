//! Entities whose fragments are known at run time only: created, built, changed, read.
//!
//! The same moves as those of typed bundles: a set of fragments that comes or goes is a bundle with a
//! number, whose archetype and edges are remembered until compositions are collected.

use crate::archetype::{Archetype, Change, Chunk, EnabledBits, Row};
use crate::entity::Entity;
use crate::fragment::{
    DynamicBundle, FragmentError, FragmentId, FragmentInfo, FragmentKind, FragmentSet, Pile, Value,
    Values, ValuesMut, none_twice,
};
use crate::panics::{note, refused, resume};
use crate::world::bundles::Completed;
use crate::world::taken::TakenIn;
use crate::world::watch::{CREATED, SET};
use crate::world::{Lack, World, WorldError};

/// A bundle that is ready to be put somewhere.
struct Prepared {
    /// Its number among the world's bundles.
    number: u32,
    /// The values for columns, in the order of the bundle's fragments, each with its position there.
    columns: Pile<(usize, Value)>,
    /// The others.
    taken: TakenIn,
}

impl World {
    /// Creates an entity with values whose types are known at run time only. O(fragments).
    ///
    /// The world keeps each set of fragments that is created, added, removed or copied so, a few hundred bytes and the
    /// ways from the compositions where it came or went, until [`collect_archetypes`](Self::collect_archetypes).
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let health = world.registry().define_plain("health", Layout::new::<u32>())?.id();
    /// let full = Value::from_bytes(world.registry(), health, &100_u32.to_ne_bytes())?;
    /// let ant = world.create_dynamic(DynamicBundle::new().with(full))?;
    /// assert_eq!(world.get_dynamic(ant, health)?.plain::<u32>()?, [100]);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`create`](Self::create); [`FragmentError::OtherUniverse`] for a value of another universe. The
    /// bundle is dropped then.
    ///
    /// # Panics
    /// As for [`create`](Self::create).
    pub fn create_dynamic(&mut self, bundle: DynamicBundle) -> Result<Entity, WorldError> {
        self.placing(bundle, World::create_row)
    }

    /// Gives a reserved entity values whose types are known at run time only.
    ///
    /// # Errors
    /// As for [`build`](Self::build) and [`create_dynamic`](Self::create_dynamic).
    ///
    /// # Panics
    /// As for [`build`](Self::build).
    pub fn build_dynamic(
        &mut self,
        entity: Entity,
        bundle: DynamicBundle,
    ) -> Result<(), WorldError> {
        match self.universe.index().locate(entity) {
            Ok(None) => {}
            Ok(Some(_)) => return Err(refused(bundle, WorldError::AlreadyBuilt { entity })),
            Err(error) => return Err(refused(bundle, error.into())),
        }
        self.placing(bundle, |world, archetype, group| {
            let row = world.room(archetype, group)?;
            world.build_in(entity, archetype, row)?;
            Ok((entity, row))
        })?;
        Ok(())
    }

    /// Fills the row that `place` finds for an entity, which has its id then.
    fn placing(
        &mut self,
        bundle: DynamicBundle,
        place: impl FnOnce(&mut Self, u32, u32) -> Result<(Entity, Row), WorldError>,
    ) -> Result<Entity, WorldError> {
        let Prepared {
            number,
            columns,
            taken,
        } = self.prepare_dynamic(bundle, |world, number| world.check_bundle(number))?;
        let mut columns = Some(columns);
        let created = self.sharing_told(taken, |world, shared| {
            let Completed { archetype, fills } = world.bundle_numbered(number)?;
            // Users' code: before anything is there.
            let stock = fills.stock(1);
            let group = world.group_of(archetype, &TakenIn::key(shared));
            let (entity, row) = match place(world, archetype, group) {
                Ok(placed) => placed,
                Err(error) => return Err(refused(stock, error)),
            };
            let chunk = &world.archetypes[archetype as usize].chunks[row.chunk as usize];
            // SAFETY: an empty row behind the chunk's last.
            unsafe { stock.put(|offset| chunk.array(offset), row.row) };
            // As in `placing_values`.
            let mut panicked = None;
            if let Some(columns) = columns.take() {
                note(&mut panicked, || {
                    // SAFETY: an empty row at the end of the chunk, and the columns are the bundle's.
                    unsafe { world.fill(number, archetype, row, columns, entity) };
                });
            }
            Ok((entity, panicked))
        });
        created.map_err(|error| refused(columns, error))
    }

    /// Fills an empty row with an entity.
    ///
    /// # Safety
    /// The row is the first behind the chunk's last, and has room; the columns are those of the bundle of this number,
    /// which is the archetype's.
    unsafe fn fill(
        &mut self,
        number: u32,
        archetype: u32,
        row: Row,
        columns: Pile<(usize, Value)>,
        entity: Entity,
    ) {
        let version = self.stamp();
        let data = &mut self.archetypes[archetype as usize];
        let chunk = &data.chunks[row.chunk as usize];
        let offsets = &self.bundles.infos[number as usize].offsets;
        // SAFETY: the caller's.
        unsafe {
            write(chunk, offsets, row.row, columns);
            chunk.handles().add(row.row as usize).write(entity);
        }
        data.grown(row.chunk, 1, version);
        if data.watched & (CREATED | SET) != 0 {
            self.tell_created(archetype, row);
        }
    }

    /// Checks a bundle, gives it a number, of which `check` says whether it can come, and puts aside what does not lie
    /// in columns.
    fn prepare_dynamic(
        &mut self,
        mut bundle: DynamicBundle,
        check: impl FnOnce(&mut Self, u32) -> Result<(), WorldError>,
    ) -> Result<Prepared, WorldError> {
        let registry = self.universe.registry();
        let ids = match bundle.sort(registry) {
            Ok(ids) => ids,
            Err(error) => return Err(refused(bundle, error.into())),
        };
        let number = self.bundles.number_of(&ids);
        // Before any of the values is the world's.
        if let Err(error) = check(self, number) {
            return Err(refused(bundle, error));
        }
        let registry = self.universe.registry();
        let mut columns = Pile::with_capacity(ids.len());
        let mut others = Pile::new();
        for (at, value) in bundle.values.into_vec().into_iter().enumerate() {
            let id = value.id();
            let info = registry.get(id).ok_or(FragmentError::Unknown { id })?;
            match info.kind() {
                FragmentKind::Fragment | FragmentKind::Tag => columns.push((at, value)),
                FragmentKind::Chunk | FragmentKind::Shared | FragmentKind::ConstShared => {
                    others.push(value);
                }
            }
        }
        Ok(Prepared {
            number,
            columns,
            taken: self.take_in(others),
        })
    }

    /// Gives an entity values whose types are known at run time only, in one move: as
    /// [`add`](Self::add) does. O(fragments of the entity and the bundle); the first time that a
    /// set of fragments comes to a composition as there.
    ///
    /// # Errors
    /// As for [`add`](Self::add) and [`create_dynamic`](Self::create_dynamic).
    ///
    /// # Panics
    /// As for [`add`](Self::add).
    pub fn add_dynamic(&mut self, entity: Entity, bundle: DynamicBundle) -> Result<(), WorldError> {
        match self.find(entity) {
            Ok(found) => self.come_dynamic(entity, found, bundle, Change::Add),
            Err(error) => Err(refused(bundle, error)),
        }
    }

    /// Gives an entity that was found a bundle, by the change that `change` makes of the bundle's number.
    fn come_dynamic(
        &mut self,
        entity: Entity,
        (archetype, row): (u32, Row),
        bundle: DynamicBundle,
        change: impl Fn(u32) -> Change,
    ) -> Result<(), WorldError> {
        let prepared = self.prepare_dynamic(bundle, |world, number| {
            world.check_change(archetype, change(number))
        });
        let Prepared {
            number,
            columns,
            taken,
        } = prepared?;
        let mut columns = Some(columns);
        let result = self.sharing_told(taken, |world, shared| {
            let edge = world.edge_among(archetype, row, entity, change(number), shared)?;
            let write = |chunk: &Chunk, row| {
                if let Some(columns) = columns.take() {
                    // SAFETY: a row of the edge's target that holds no values there.
                    unsafe { write(chunk, &edge.offsets, row, columns) }
                }
            };
            let panicked = world.add_shared(archetype, row, entity, &edge, shared, write)?;
            Ok(((), panicked))
        });
        result.map_err(|error| refused(columns, error))
    }

    /// Takes those of these fragments away from an entity that it has, and gives it values whose types are known at run
    /// time only, in one move: as [`swap`](Self::swap) does. O(fragments of the entity and the bundle, and those named,
    /// which are sorted); the first time that such a change is made of a composition as for [`add`](Self::add).
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let registry = world.registry();
    /// let asleep = registry.define_plain("asleep", Layout::new::<()>())?.id();
    /// let awake = registry.define_plain("awake", Layout::new::<()>())?.id();
    /// let tag = |world: &World, id| Value::from_bytes(world.registry(), id, &[]);
    /// let bear = world.create_dynamic(DynamicBundle::new().with(tag(&world, asleep)?))?;
    /// let come = DynamicBundle::new().with(tag(&world, awake)?);
    /// world.swap_dynamic(bear, &[asleep], come)?;
    /// assert!(world.has_dynamic(bear, awake)? && !world.has_dynamic(bear, asleep)?);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`add_dynamic`](Self::add_dynamic) and [`remove_dynamic`](Self::remove_dynamic). The bundle is dropped
    /// then.
    ///
    /// # Panics
    /// As for [`swap`](Self::swap).
    pub fn swap_dynamic(
        &mut self,
        entity: Entity,
        gone: &[FragmentId],
        come: DynamicBundle,
    ) -> Result<(), WorldError> {
        let found = self.find(entity);
        let found = found.and_then(|found| Ok((found, self.number_of_gone(gone)?)));
        match found {
            Ok((found, gone)) => {
                self.come_dynamic(entity, found, come, |come| Change::Swap(gone, come))
            }
            Err(error) => Err(refused(come, error)),
        }
    }

    /// The number of the bundle of fragments that go, in whatever order they were named.
    pub(crate) fn number_of_gone(
        &mut self,
        fragments: &[FragmentId],
    ) -> Result<u32, FragmentError> {
        let registry = self.universe.registry();
        for &id in fragments {
            registry.get(id).ok_or(FragmentError::Unknown { id })?;
        }
        let mut ids = fragments.to_vec();
        ids.sort_unstable();
        none_twice(registry, &ids)?;
        Ok(self.bundles.number_of(&ids))
    }

    /// Takes those of these fragments away from an entity that it has, in one move, and drops them; `false` if
    /// it has none of them. O(fragments of the entity, and those named, which are sorted); the first time that a set of
    /// fragments goes from a composition as for [`add`](Self::add).
    ///
    /// # Errors
    /// The handle is refused; [`FragmentError::Unknown`], [`FragmentError::Twice`]; no memory is left.
    ///
    /// # Panics
    /// As for [`remove`](Self::remove).
    pub fn remove_dynamic(
        &mut self,
        entity: Entity,
        fragments: &[FragmentId],
    ) -> Result<bool, WorldError> {
        let (archetype, row) = self.find(entity)?;
        let number = self.number_of_gone(fragments)?;
        let edge = self.edge_for(archetype, Change::Remove(number))?;
        if edge.target == archetype {
            return Ok(false);
        }
        resume(self.remove_watched(archetype, row, entity, &edge)?);
        Ok(true)
    }

    /// Whether an entity has a fragment, in whatever role. O(1).
    ///
    /// # Errors
    /// The handle is refused; [`FragmentError::Unknown`] (where [`DynamicChunk::has`](crate::query::DynamicChunk::has)
    /// and [`Prototype::has`](crate::world::Prototype::has), which refuse nothing, say `false`).
    pub fn has_dynamic(&self, entity: Entity, id: FragmentId) -> Result<bool, WorldError> {
        let (archetype, _) = self.find(entity)?;
        self.is_among(archetype, id)
    }

    /// The same of an entity that was found.
    pub(super) fn is_among(&self, archetype: u32, id: FragmentId) -> Result<bool, WorldError> {
        self.universe
            .registry()
            .get(id)
            .ok_or(FragmentError::Unknown { id })?;
        Ok(self.archetypes[archetype as usize].set.contains(id))
    }

    /// The value of a fragment of an entity, in whatever role: one value, its type checked when it is asked
    /// for. O(1).
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::Missing`]; [`FragmentError::Unknown`].
    pub fn get_dynamic(&self, entity: Entity, id: FragmentId) -> Result<Values<'_>, WorldError> {
        let (archetype, row) = self.find(entity)?;
        self.values_of(entity, archetype, row, id)
    }

    /// The same of an entity that was found.
    pub(crate) fn values_of(
        &self,
        entity: Entity,
        archetype: u32,
        row: Row,
        id: FragmentId,
    ) -> Result<Values<'_>, WorldError> {
        let (info, place) = self.place_of(entity, archetype, row, id)?;
        let first = match place {
            ValuePlace::Column(_, value) | ValuePlace::Chunk(value) => value,
            ValuePlace::Shared(value) => value.cast_mut(),
        };
        // SAFETY: a value of the fragment; it changes only through `&mut` of the world.
        Ok(unsafe { Values::new(info, first, 1) })
    }

    /// The value of a fragment of an entity, to change: one value, its type checked when it is asked for.
    /// O(1).
    ///
    /// # Errors
    /// As for [`get_dynamic`](Self::get_dynamic); [`FragmentError::WrongKind`] for a shared value: to
    /// change that the entity has to move, [`add_dynamic`](Self::add_dynamic) it.
    pub fn get_dynamic_mut(
        &mut self,
        entity: Entity,
        id: FragmentId,
    ) -> Result<ValuesMut<'_>, WorldError> {
        self.keep_versions();
        let (archetype, row) = self.find(entity)?;
        let (info, place) = self.place_of(entity, archetype, row, id)?;
        let first = match place {
            ValuePlace::Column(column, value) => {
                if let Some(column) = column {
                    let chunk = &self.archetypes[archetype as usize].chunks[row.chunk as usize];
                    chunk.touch(column, self.stamp());
                }
                value
            }
            ValuePlace::Chunk(value) => value,
            ValuePlace::Shared(_) => {
                return Err(FragmentError::WrongKind {
                    name: info.name().into(),
                    is: info.kind(),
                    wanted: FragmentKind::Fragment,
                }
                .into());
            }
        };
        // SAFETY: a value of the fragment, and `&mut self` lends nothing else meanwhile.
        Ok(unsafe { ValuesMut::new(info, first, 1) })
    }

    /// Where the value of a fragment lies that an entity has, in a row or for its chunk.
    pub(in crate::world) fn address_of(
        &self,
        archetype: u32,
        Row { chunk, row }: Row,
        id: FragmentId,
    ) -> *const u8 {
        let data = &self.archetypes[archetype as usize];
        let chunk = &data.chunks[chunk as usize];
        if let Some(column) = data.column_of(id) {
            let at = data.columns[column];
            let size = at.size as usize;
            return chunk.array(at.offset).wrapping_add(row as usize * size);
        }
        match data.chunk_value_of(id) {
            Some(value) => chunk.array(value.offset),
            None => unreachable!("it is there, with a column or as a chunk fragment"),
        }
    }

    /// Where the value of a fragment lies.
    fn place_of(
        &self,
        entity: Entity,
        archetype: u32,
        row: Row,
        id: FragmentId,
    ) -> Result<(&FragmentInfo, ValuePlace), WorldError> {
        let registry = self.universe.registry();
        let info = registry.get(id).ok_or(FragmentError::Unknown { id })?;
        let data = &self.archetypes[archetype as usize];
        let chunk = &data.chunks[row.chunk as usize];
        let place = if !data.set.contains(id) {
            None
        } else if let Some(column) = data.column_of(id) {
            let Row { row, .. } = row;
            let at = data.columns[column];
            let value = chunk
                .array(at.offset)
                .wrapping_add(row as usize * at.size as usize);
            Some(ValuePlace::Column(Some(column), value))
        } else if let Some(at) = data.shared_at(id) {
            Some(ValuePlace::Shared(self.shared_at(data, chunk, at)))
        } else if let Some(value) = data.chunk_value_of(id) {
            Some(ValuePlace::Chunk(chunk.array(value.offset)))
        } else {
            // A tag: any address will do.
            Some(ValuePlace::Column(None, chunk.handles().cast()))
        };
        match place {
            Some(place) => Ok((info, place)),
            None => Err(WorldError::Missing {
                entity,
                name: info.name().into(),
                lack: Lack::Fragment,
            }),
        }
    }

    /// Switches a fragment of an entity off or on, as [`set_enabled`](Self::set_enabled) does. O(1).
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::Missing`]; [`WorldError::NotEnableable`];
    /// [`FragmentError::Unknown`].
    pub fn set_enabled_dynamic(
        &mut self,
        entity: Entity,
        id: FragmentId,
        enabled: bool,
    ) -> Result<(), WorldError> {
        self.keep_versions();
        let (data, row, bits) = self.bits_of(entity, id)?;
        data.switch(row, bits, enabled, self.stamp());
        Ok(())
    }

    /// Whether a fragment of an entity is switched on. O(1).
    ///
    /// # Errors
    /// As for [`set_enabled_dynamic`](Self::set_enabled_dynamic).
    pub fn is_enabled_dynamic(&self, entity: Entity, id: FragmentId) -> Result<bool, WorldError> {
        let (data, row, bits) = self.bits_of(entity, id)?;
        let array = data.chunks[row.chunk as usize].array(bits.offset);
        // SAFETY: a row of the chunk.
        Ok(unsafe { crate::archetype::read_bit(array, row.row) })
    }

    fn bits_of(
        &self,
        entity: Entity,
        id: FragmentId,
    ) -> Result<(&Archetype, Row, EnabledBits), WorldError> {
        let (archetype, row) = self.find(entity)?;
        let (info, _) = self.place_of(entity, archetype, row, id)?;
        let data = &self.archetypes[archetype as usize];
        match data.enabled_of(id) {
            Some(bits) => Ok((data, row, bits)),
            None => Err(WorldError::NotEnableable {
                name: info.name().into(),
            }),
        }
    }

    /// The fragments of an entity as a set, in every role. O(fragments).
    ///
    /// # Errors
    /// The handle is refused.
    pub fn composition(&self, entity: Entity) -> Result<FragmentSet, WorldError> {
        let (archetype, _) = self.find(entity)?;
        Ok(self.archetypes[archetype as usize].set.clone())
    }
}

/// Where a value lies, and what may be done with it.
enum ValuePlace {
    /// In a row; with the column, unless it is a tag's.
    Column(Option<usize>, *mut u8),
    Chunk(*mut u8),
    Shared(*const u8),
}

/// Moves values to a row of a chunk: each to the column of its fragment; tags go nowhere.
///
/// # Safety
/// `offsets` are the chunk's, by the position of each value's fragment; the row holds no values there.
pub(super) unsafe fn write(
    chunk: &Chunk,
    offsets: &[u32],
    row: u32,
    columns: Pile<(usize, Value)>,
) {
    for (at, value) in columns.into_vec() {
        let size = value.size();
        let to = chunk.array(offsets[at]).wrapping_add(row as usize * size);
        // SAFETY: the caller's; a value of size zero is nowhere.
        unsafe { value.move_to(to) };
    }
}
