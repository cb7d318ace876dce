//! `Placing`: a bundle on its way to a row, where more is to be done than to move its values there.
//!
//! It has values that do not lie in columns, or its entities come with more than it has. Nothing of that depends on its type
//! but how it is asked and written, so it is compiled once, and not for each bundle of a program.

use crate::archetype::{Chunk, Row};
use crate::entity::Entity;
use crate::fragment::{Bundle, FragmentError, FragmentRegistry, Given, Pile, Value};
use crate::panics::{note, refused};
use crate::world::bundles::{Bundles, Completed};
use crate::world::create::columns;
use crate::world::taken::TakenIn;
use crate::world::watch::{CREATED, SET};
use crate::world::{World, WorldError};

/// What finds an empty row of a group of an archetype for an entity, which has its id then.
type Place<'a> = dyn FnMut(&mut World, u32, u32) -> Result<(Entity, Row), WorldError> + 'a;

/// A bundle that a call was given, whatever its type.
trait Placing {
    /// Moves the values out that do not lie in columns.
    ///
    /// # Safety
    /// Called once, by who puts the bundle into an entity.
    unsafe fn take_values(
        &mut self,
        registry: &FragmentRegistry,
        values: &mut Pile<Value>,
    ) -> Result<(), FragmentError>;

    /// Its type's number.
    fn number(
        &self,
        bundles: &mut Bundles,
        registry: &FragmentRegistry,
    ) -> Result<u32, FragmentError>;

    /// Moves the other values to a row, once.
    ///
    /// # Safety
    /// The chunk has such a row, which is empty, and the offsets are those of the bundle's columns in it.
    unsafe fn write(&mut self, chunk: &Chunk, offsets: &[u32], row: usize);

    /// Drops what there is left of it, each value by itself; goes on with the first panic.
    fn end(&mut self);
}

impl<B: Bundle> Placing for Given<B> {
    unsafe fn take_values(
        &mut self,
        registry: &FragmentRegistry,
        values: &mut Pile<Value>,
    ) -> Result<(), FragmentError> {
        // SAFETY: the caller's.
        unsafe { B::take_values(self, registry, &mut |_, value| values.push(value)) }
    }

    fn number(
        &self,
        bundles: &mut Bundles,
        registry: &FragmentRegistry,
    ) -> Result<u32, FragmentError> {
        bundles.number::<B>(registry)
    }

    unsafe fn write(&mut self, chunk: &Chunk, offsets: &[u32], row: usize) {
        let Some(bundle) = self.take() else {
            unreachable!("a bundle is taken once");
        };
        let columns = columns::<B>(chunk, offsets);
        // SAFETY: the caller's.
        unsafe { bundle.write(columns.as_ptr(), row) };
    }

    fn end(&mut self) {
        drop(self.take().map(Given::new));
    }
}

/// Ends it with what else was given.
struct Ends<'a>(&'a mut dyn Placing);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl World {
    /// Fills the row that `place` finds for an entity, which has its id then. The values of the bundle that are not for
    /// columns are taken out first; what comes with it by default is made before there is a row.
    pub(super) fn placing_values<B: Bundle>(
        &mut self,
        bundle: B,
        mut place: impl FnMut(&mut Self, u32, u32) -> Result<(Entity, Row), WorldError>,
    ) -> Result<Entity, WorldError> {
        let mut bundle = Given::new(bundle);
        match self.place_given(&mut bundle, &mut place) {
            Ok(entity) => Ok(entity),
            Err(error) => Err(refused(bundle, error)),
        }
    }

    fn place_given(
        &mut self,
        bundle: &mut dyn Placing,
        place: &mut Place<'_>,
    ) -> Result<Entity, WorldError> {
        let mut values: Pile<Value> = Pile::new();
        let registry = self.universe.registry();
        // SAFETY: the first time, of a bundle that was given to go into an entity.
        let taken = unsafe { bundle.take_values(registry, &mut values) };
        let number = taken.and_then(|()| bundle.number(&mut self.bundles, registry));
        // Before any of the values is the world's.
        let possible = match number {
            Ok(number) => self.check_bundle(number),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = possible {
            return Err(refused((Ends(bundle), values), error));
        }
        let taken = self.take_in(values);
        self.sharing_told(taken, |world, shared| {
            let number = bundle.number(&mut world.bundles, world.universe.registry())?;
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
            // Filled before anything else is done: what `sharing` ends with may panic. And what an observer panics with
            // must not come to it: the entity is there.
            let mut panicked = None;
            note(&mut panicked, || {
                // SAFETY: the chunk has room, and the offsets are the archetype's.
                unsafe { world.push_given(archetype, row.chunk, number, bundle, entity) };
            });
            Ok((entity, panicked))
        })
    }

    /// [`push`](Self::push) of a bundle whose type is not known, for an entity that has its id.
    ///
    /// # Safety
    /// There is such a chunk, it has room, and the bundle's offsets are this archetype's.
    unsafe fn push_given(
        &mut self,
        number_of_archetype: u32,
        position: u32,
        number: u32,
        bundle: &mut dyn Placing,
        entity: Entity,
    ) {
        let version = self.stamp();
        let archetype = &mut self.archetypes[number_of_archetype as usize];
        // SAFETY: the caller's.
        let chunk = unsafe { archetype.chunks.at_mut(position) };
        let row = chunk.len;
        let offsets = &self.bundles.infos[number as usize].offsets;
        // SAFETY: the chunk has such a row, which is empty.
        unsafe {
            bundle.write(chunk, offsets, row as usize);
            chunk.handles().add(row as usize).write(entity);
        }
        chunk.grow(&archetype.enabled, 1, version);
        archetype.entities += 1;
        if chunk.is_full() {
            archetype.filled_up(position);
        }
        if archetype.watched & (CREATED | SET) != 0 {
            let chunk = position;
            self.tell_created(number_of_archetype, Row { chunk, row });
        }
    }
}
