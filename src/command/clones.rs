//! Clones that are recorded: their ids are there at once, and their values with the flush.

use std::sync::Arc;

use crate::archetype::Universe;
use crate::command::Commands;
use crate::command::lane::Called;
use crate::entity::Entity;
use crate::world::{World, WorldError};

impl Commands<'_> {
    /// Records that an entity is [cloned](World::clone_entity), and says at once who the clone will be: a reserved entity,
    /// which the flush builds. What is recorded after this, here or by who comes later, finds it built.
    ///
    /// The clone has the values that the other one has when the command's turn comes, after all commands before. Until
    /// then nobody reads them: [`get`](Self::get) does not either. If it cannot be made, because the other one is dead by
    /// then, say, or [not cloneable](WorldError::NotCloneable), its id is free again, and the flush's report names it among
    /// those that were [refused](crate::command::FlushReport::refused); if it was destroyed before it was built, as
    /// [dead](crate::command::FlushReport::dead). If a `clone` panics, its id is free again, and the panic goes on when the
    /// flush is done.
    ///
    /// A flush makes it as it calls a [closure](Self::defer): alone, between what comes before and what comes after. Many
    /// that are alike: [`Prototype::of`](crate::world::Prototype::of), and [`create_copies`](Self::create_copies).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.registry().register_clone::<String>()?;
    /// let ant = world.create((String::from("ant"),))?;
    /// let mut commands = world.commands();
    /// let twin = commands.clone_entity(ant)?;
    /// commands.add(twin, (2_u8,))?;
    /// drop(commands);
    /// let report = world.flush();
    /// assert!(report.is_clean() && report.created == 1);
    /// assert_eq!((world.get::<String>(twin)?.as_str(), world.get::<u8>(twin)?), ("ant", &2));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`WorldError::Full`].
    #[doc(alias = "instantiate")]
    #[doc(alias = "duplicate")]
    pub fn clone_entity(&mut self, of: Entity) -> Result<Entity, WorldError> {
        let entity = self.reserve()?;
        let promised = Promised {
            universe: Arc::clone(&self.lane.universe),
            entity,
        };
        self.lane
            .call(move |world: &mut World| promised.keep(world, of));
        Ok(entity)
    }
}

/// A reserved entity that is to be a clone. Whatever becomes of the command, its id does not leak.
struct Promised {
    universe: Arc<Universe>,
    entity: Entity,
}

impl Promised {
    fn keep(self, world: &mut World, of: Entity) -> Called {
        if !self.universe.exists(self.entity) {
            return Called::Dead(self.entity);
        }
        match world.build_clone(self.entity, of) {
            Ok(()) => Called::Created,
            Err(error) => Called::Refused(self.entity, error),
        }
    }
}

impl Drop for Promised {
    fn drop(&mut self) {
        // If it is built, it stays.
        let _ = self.universe.release(self.entity);
    }
}
