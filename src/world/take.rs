//! Values leave the world for who asks for them.

use smallvec::SmallVec;

use crate::archetype::Change;
use crate::entity::Entity;
use crate::fragment::{AboutFragment, Fragment, TakeBundle};
use crate::panics::resume;
use crate::world::change::{carry, two};
use crate::world::create::columns;
use crate::world::watch::REMOVED;
use crate::world::{World, WorldError};

impl World {
    /// Takes fragments away from an entity, in one move, and gives their values: all of `B`, or none,
    /// if one of them is not there. Who listens to what goes is told, as by [`remove`](Self::remove),
    /// while the values are still in their place. O(fragments of the entity); the first time from a
    /// composition as for [`add`](Self::add).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Purse(String);
    ///
    /// let mut world = World::new();
    /// let traveller = world.create((Purse("ten coins".into()), 3_u32))?;
    /// let (Purse(loot),) = world.take::<(Purse,)>(traveller)?;
    /// assert_eq!(loot, "ten coins");
    /// let error = world.take::<(u32, Purse)>(traveller).err().expect("the purse has gone");
    /// assert!(error.to_string().ends_with("Purse"), "{error}");
    /// assert_eq!(world.get::<u32>(traveller)?, &3);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::Missing`]; a fragment stands there twice; no memory is
    /// left. Nothing has changed then.
    ///
    /// # Panics
    /// If somebody who listens panics; the fragments are gone then, and their values dropped. If the
    /// `clone` of a chunk fragment panics, with which a new chunk was to begin; nothing has changed
    /// then.
    pub fn take<B: TakeBundle>(&mut self, entity: Entity) -> Result<B, WorldError> {
        let (archetype, row) = self.find(entity)?;
        let number = self.bundles.number::<B>(self.universe.registry())?;
        let lacks = Lacks {
            world: self,
            archetype,
            entity,
        };
        if let Some(error) = B::first(&lacks) {
            return Err(error);
        }
        let edge = self.edge_for(archetype, Change::Remove(number))?;
        let ids = &self.bundles.infos[number as usize].ids;
        let offsets: SmallVec<[u32; 16]> = self.archetypes[archetype as usize].offsets_of(ids);
        let mut panicked = None;
        if self.watches(archetype, REMOVED) {
            // Room first: what is shown as going does go.
            self.room_on(archetype, row, &edge)?;
            panicked = self.leaves(archetype, row, edge.target);
        }
        let to = self.room_on(archetype, row, &edge)?;
        let version = self.stamp();
        let (source, target) = two(&mut self.archetypes, archetype, edge.target);
        carry(source, row, target, to, &edge);
        let columns = columns::<B>(&source.chunks[row.chunk as usize], &offsets);
        // SAFETY: the columns of these fragments, all of which are there, with a value in the row; the edge does not
        // carry it, and nobody else ends it.
        let taken = unsafe { B::read(columns.as_ptr(), row.row as usize) };
        self.settle_move(archetype, row, &edge, to, entity, version);
        if panicked.is_some() {
            taken.end_each(&mut panicked);
            resume(panicked);
            unreachable!("it has panicked");
        }
        Ok(taken)
    }
}

/// Says of a fragment that an entity does not have it.
struct Lacks<'w> {
    world: &'w World,
    archetype: u32,
    entity: Entity,
}

impl AboutFragment for Lacks<'_> {
    type Said = WorldError;

    fn say<T: Fragment>(&self) -> Option<WorldError> {
        let set = &self.world.archetypes[self.archetype as usize].set;
        let info = self.world.registry().of_role::<T>();
        match info {
            Some(info) if set.contains(info.id()) => None,
            _ => Some(self.world.missing::<T>(self.archetype, self.entity)),
        }
    }
}
