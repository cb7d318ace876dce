//! What a recorder lends: fragments of those that it has created.

use crate::command::Commands;
use crate::entity::Entity;
use crate::fragment::{Fragment, FragmentInfo};
use crate::world::WorldError;

impl Commands<'_> {
    /// A fragment of an entity that this recorder has created. O(chunks that it has filled).
    ///
    /// # Errors
    /// [`WorldError::Elsewhere`] if it has not, though it may live in this world; [`WorldError::Missing`].
    pub fn get<T: Fragment>(&self, entity: Entity) -> Result<&T, WorldError> {
        let value = self.value::<T>(entity)?;
        // SAFETY: a value of this type in a chunk that only this recorder has.
        Ok(unsafe { &*value })
    }

    /// A fragment of an entity that this recorder has created, to change. O(chunks that it has filled).
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn get_mut<T: Fragment>(&mut self, entity: Entity) -> Result<&mut T, WorldError> {
        let value = self.value::<T>(entity)?;
        // SAFETY: as above, and `&mut self` lends nothing else meanwhile.
        Ok(unsafe { &mut *value })
    }

    fn value<T: Fragment>(&self, entity: Entity) -> Result<*mut T, WorldError> {
        let Some((private, row)) = self.lane.find(entity) else {
            // Whether it is dead or somebody else's.
            self.lane.universe.index().locate(entity)?;
            return Err(WorldError::Elsewhere {
                entity,
                world: None,
            });
        };
        let private = &self.lane.privates[private as usize];
        let stream = &self.lane.streams[private.stream() as usize];
        let has = |id| stream.ids.binary_search(&id).is_ok();
        let id = self.registry().of::<T>().map(FragmentInfo::id);
        let Some(id) = id.filter(|&id| has(id)) else {
            return Err(WorldError::missing::<T>(self.registry(), entity, has));
        };
        if size_of::<T>() == 0 {
            return Ok(core::ptr::NonNull::dangling().as_ptr());
        }
        let array = private.chunk.array(stream.draft.offsets(&[id])[0]);
        Ok(array.cast::<T>().wrapping_add(row as usize))
    }
}
