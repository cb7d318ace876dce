//! `naive`: one mutex round a free list and a table of slots, as an ordinary good program would
//! write it.
//!
//! One lock a call; a batch takes it once. What must hold, under the lock:
//!
//! * a slot's version is odd while its entity lives, even otherwise, and never goes back;
//! * `free` holds each slot that is neither alive nor retired nor untouched, once;
//! * a slot whose next version would be the last odd one is retired: it is never on `free` again,
//!   so that a dead handle cannot come back to life.
//!
//! Progress: blocking. A thread that stops inside a call stops everybody.

use core::fmt;

use crate::entity::{
    DestroyReport, Entity, EntityAllocator, EntityError, EntityFault, Full, Place,
};
use crate::sync::Mutex;
use crate::sync::geometry::SLOTS;

/// A slot with this (even) version has no life left: the next one would have to wrap.
const RETIRED: u32 = u32::MAX - 1;

/// The naive allocator: one [`Mutex`] round a last-in-first-out free list.
///
/// Eight bytes a slot ever used and four more while it is free; grows on demand. Every call takes
/// the lock; `create` and `destroy` are O(1) under it, the batch calls O(n).
///
/// ```
/// use megachunk::entity::{EntityAllocator, reference::Naive};
///
/// let naive = Naive::fresh();
/// let entity = naive.create().unwrap();
/// assert!(naive.exists(entity));
/// naive.destroy(entity).unwrap();
/// assert!(!naive.exists(entity));
/// ```
#[derive(Default)]
pub struct Naive {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    slots: Vec<Slot>,
    free: Vec<u32>,
    retired: usize,
}

#[derive(Clone, Copy)]
struct Slot {
    version: u32,
    /// As [`Place::encode`] has it: four bytes instead of the eight of an `Option<Place>`.
    place: u32,
}

impl Slot {
    const FIRST_LIFE: Self = Self {
        version: 1,
        place: Place::encode(None),
    };
}

impl State {
    fn create(&mut self) -> Option<Entity> {
        if let Some(index) = self.free.pop() {
            return Some(self.revive(index));
        }
        let index = self.slots.len() as u32;
        if index == SLOTS {
            return None;
        }
        self.slots.push(Slot::FIRST_LIFE);
        Some(Entity::from_parts(index, Slot::FIRST_LIFE.version))
    }

    fn create_slice(&mut self, out: &mut [Entity]) -> bool {
        let untouched = SLOTS as usize - self.slots.len();
        if self.free.len() + untouched < out.len() {
            return false;
        }
        let (reused, fresh) = out.split_at_mut(self.free.len().min(out.len()));
        for entity in reused {
            let index = self
                .free
                .pop()
                .expect("`reused` is no longer than the free list");
            *entity = self.revive(index);
        }
        let first = self.slots.len();
        self.slots.resize(first + fresh.len(), Slot::FIRST_LIFE);
        for (entity, index) in fresh.iter_mut().zip(first as u32..) {
            *entity = Entity::from_parts(index, Slot::FIRST_LIFE.version);
        }
        true
    }

    fn revive(&mut self, index: u32) -> Entity {
        let slot = &mut self.slots[index as usize];
        slot.version += 1;
        Entity::from_parts(index, slot.version)
    }

    fn destroy(&mut self, entity: Entity) -> Result<(), EntityError> {
        let slot = self.slot_mut(entity)?;
        slot.version += 1;
        slot.place = Place::encode(None);
        if slot.version == RETIRED {
            self.retired += 1;
        } else {
            self.free.push(entity.index());
        }
        Ok(())
    }

    /// The slot of a live entity.
    fn slot(&self, entity: Entity) -> Result<&Slot, EntityError> {
        match self.slots.get(entity.index() as usize) {
            Some(slot) if slot.version == entity.version() => Ok(slot),
            slot => Err(refused(entity, slot)),
        }
    }

    /// The slot of a live entity, to change.
    fn slot_mut(&mut self, entity: Entity) -> Result<&mut Slot, EntityError> {
        match self.slots.get_mut(entity.index() as usize) {
            Some(slot) if slot.version == entity.version() => Ok(slot),
            slot => Err(refused(entity, slot.as_deref())),
        }
    }
}

#[cold]
fn refused(entity: Entity, slot: Option<&Slot>) -> EntityError {
    let fault = match slot {
        Some(slot) if entity.version() < slot.version => EntityFault::Destroyed,
        None if entity.index() >= SLOTS => EntityFault::OutOfRange,
        _ => EntityFault::NeverCreated,
    };
    EntityError::new(entity, fault)
}

const FULL: Full = Full {
    capacity: SLOTS as usize,
};

impl EntityAllocator for Naive {
    const NAME: &'static str = "naive";

    fn fresh() -> Self {
        Self::default()
    }

    fn capacity(&self) -> usize {
        SLOTS as usize
    }

    fn create(&self) -> Result<Entity, Full> {
        self.state.lock().create().ok_or(FULL)
    }

    fn create_slice(&self, out: &mut [Entity]) -> Result<(), Full> {
        if self.state.lock().create_slice(out) {
            Ok(())
        } else {
            Err(FULL)
        }
    }

    fn destroy(&self, entity: Entity) -> Result<(), EntityError> {
        self.state.lock().destroy(entity)
    }

    fn destroy_slice(&self, entities: &[Entity]) -> DestroyReport {
        let mut state = self.state.lock();
        let mut report = DestroyReport::default();
        for (position, &entity) in entities.iter().enumerate() {
            match state.destroy(entity) {
                Ok(()) => report.destroyed += 1,
                Err(error) => report.refused.push((position, error)),
            }
        }
        report
    }

    fn exists(&self, entity: Entity) -> bool {
        self.state.lock().slot(entity).is_ok()
    }

    fn locate(&self, entity: Entity) -> Result<Option<Place>, EntityError> {
        self.state
            .lock()
            .slot(entity)
            .map(|slot| Place::decode(slot.place))
    }

    fn publish(&self, entity: Entity, place: Place) -> Result<(), EntityError> {
        self.state
            .lock()
            .slot_mut(entity)
            .map(|slot| slot.place = Place::encode(Some(place)))
    }

    fn count(&self) -> usize {
        let state = self.state.lock();
        state.slots.len() - state.free.len() - state.retired
    }
}

impl fmt::Debug for Naive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Naive")
            .field("live", &self.count())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_slot_retires_before_its_version_wraps() {
        let naive = Naive::fresh();
        let first = naive.create().unwrap();
        naive.state.lock().slots[0].version = u32::MAX - 2;
        let last = Entity::new(0, u32::MAX - 2).unwrap();

        assert_eq!(naive.destroy(last), Ok(()));

        assert_eq!(naive.count(), 0);
        assert_eq!(naive.create().unwrap().index(), 1);
        assert!(!naive.exists(first) && !naive.exists(last));
    }
}
