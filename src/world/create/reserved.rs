//! Entities that have their ids first, and are built later.

use core::convert::Infallible;

use crate::archetype::{Row, Universe, place};
use crate::chunk::Run;
use crate::entity::{Entity, EntityError, EntityFault};
use crate::fragment::{Bundle, refused_bundle};
use crate::world::compose::Unready;
use crate::world::{World, WorldError};

impl World {
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
    /// [`WorldError::Full`]. Then none stays reserved, and `out` holds [placeholders](Entity::PLACEHOLDER).
    pub fn reserve_slice(&self, out: &mut [Entity]) -> Result<(), WorldError> {
        Ok(self.universe.reserve_slice(out)?)
    }

    /// Gives a reserved entity its fragments. O(fragments), and one read-modify-write on the entity's slot, so that of
    /// two worlds that build it at once one is refused.
    ///
    /// # Errors
    /// As for [`create`](Self::create); [`WorldError::AlreadyBuilt`] if it is built, here or in another
    /// world, or by a recorder; [`WorldError::Entity`] if it does not live. (A copy of a prototype:
    /// [`build_copy`](Self::build_copy).)
    ///
    /// # Panics
    /// As for [`create`](Self::create): where that leaves no new entity, this one is reserved as before.
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
            Err(Unready::Refused(error)) => return Err(refused_bundle(bundle, error)),
            Err(Unready::Completed(_)) => return self.build_with_values(entity, bundle),
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
    pub(in crate::world) fn build_in(
        &mut self,
        entity: Entity,
        archetype: u32,
        row: Row,
    ) -> Result<(), WorldError> {
        let run = self.archetypes[archetype as usize].chunks[row.chunk as usize].run;
        if let Err(error) = self.place_reserved(entity, run, row.row) {
            self.abandon(archetype, row.chunk);
            return Err(error);
        }
        self.births += 1;
        Ok(())
    }

    /// Says that a reserved entity is in a row, if nobody has built it: another world may at this moment.
    pub(in crate::world) fn place_reserved(
        &self,
        entity: Entity,
        run: Run,
        row: u32,
    ) -> Result<(), WorldError> {
        let built = self.universe.index().build(entity, place(run, row));
        built.map_err(not_reserved)
    }

    /// Gives a reserved id back, which was not built. Any thread, lock-free.
    ///
    /// # Errors
    /// [`WorldError::AlreadyBuilt`] if it is built, or a recorder has built it: then [`destroy`](Self::destroy) it in
    /// its world, after the flush. [`WorldError::Entity`] if it does not live.
    pub fn release(&self, entity: Entity) -> Result<(), WorldError> {
        self.universe.release(entity).map_err(not_reserved)
    }
}

/// What a world says of a handle that is not one of a reserved entity.
fn not_reserved(error: EntityError) -> WorldError {
    match error.fault {
        EntityFault::AlreadyBuilt => WorldError::AlreadyBuilt {
            entity: error.entity,
        },
        _ => error.into(),
    }
}
