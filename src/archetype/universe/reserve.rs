//! Ids that are reserved, and given back.

use crate::archetype::universe::Universe;
use crate::entity::{
    Entity, EntityError, EntityFault, EntityIndex, Full, Place, RelocateError, overwritten,
};

impl Universe {
    /// Whether an entity lives, in whatever world, or is reserved. Wait-free, one load.
    #[inline]
    #[must_use]
    pub fn exists(&self, entity: Entity) -> bool {
        self.index.exists(entity)
    }

    /// Reserves an id, which any of its worlds may build. Lock-free.
    ///
    /// # Errors
    /// [`Full`].
    pub fn reserve(&self) -> Result<Entity, Full> {
        if self.ordered {
            return self.create_lowest(None);
        }
        self.index.reserve()
    }

    /// Reserves an id for each place of `out`; all or none. Lock-free.
    ///
    /// # Errors
    /// [`Full`]. Then none stays reserved, and `out` holds [`Entity::PLACEHOLDER`].
    pub fn reserve_slice(&self, out: &mut [Entity]) -> Result<(), Full> {
        if !self.ordered {
            return self.index.create_slice(out);
        }
        // Not by trying: all others would find none meanwhile.
        if out.len() > EntityIndex::CAPACITY {
            out.fill(Entity::PLACEHOLDER);
            let capacity = EntityIndex::CAPACITY;
            return Err(Full { capacity });
        }
        // SAFETY: nothing but handles is written.
        let handles = unsafe { overwritten(out) };
        if let Err((made, full)) = self.create_lowest_slice(handles, None) {
            self.give_back_reserved(&out[..made]);
            out.fill(Entity::PLACEHOLDER);
            return Err(full);
        }
        Ok(())
    }

    /// Gives a reserved id back, which was not built: what [`World::release`](crate::world::World::release) does, for
    /// threads that have no world. Lock-free.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use megachunk::prelude::*;
    ///
    /// let universe = Arc::new(Universe::new());
    /// let mut world = World::of(&universe)?;
    /// // A thread that loads something has ids for it before the world knows it.
    /// let loader = Arc::clone(&universe);
    /// let loaded = std::thread::spawn(move || {
    ///     let mut ids = [Entity::PLACEHOLDER; 3];
    ///     loader.reserve_slice(&mut ids)?;
    ///     // There are only two, as it turns out.
    ///     let [first, second, spare] = ids;
    ///     loader.release(spare)?;
    ///     Ok::<_, WorldError>([first, second])
    /// });
    /// let [first, second] = loaded.join().unwrap()?;
    /// world.build(first, (second,))?;
    /// assert_eq!(universe.count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The handle is refused; [`EntityFault::AlreadyBuilt`]: then its world has to destroy it.
    pub fn release(&self, entity: Entity) -> Result<(), EntityError> {
        // So that nobody builds it while it dies.
        match self.index.relocate(entity, None, Some(Place::LEAVING)) {
            Ok(()) => {
                self.index.destroy(entity)?;
                self.settle_released(entity);
                Ok(())
            }
            Err(RelocateError::Entity(error)) => Err(error),
            Err(_) => Err(EntityError::new(entity, EntityFault::AlreadyBuilt)),
        }
    }
}
