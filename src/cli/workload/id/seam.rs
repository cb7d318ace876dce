//! `Seam`: every `EntityAllocator` is a contender.

use super::{Abilities, IdContender, IdSession};
use crate::entity::{Entity, EntityAllocator, Place};
use crate::sync::geometry::SLOTS;

/// An [`EntityAllocator`] as a contender.
#[derive(Debug)]
pub struct Seam<A>(A);

/// A thread's way to an [`EntityAllocator`]: a plain reference.
#[derive(Debug)]
pub struct SeamSession<'a, A>(&'a A);

impl<A: EntityAllocator + 'static> IdContender for Seam<A> {
    type Id = Entity;
    type Session<'a> = SeamSession<'a, A>;

    const NAME: &'static str = A::NAME;
    const ABILITIES: Abilities = Abilities {
        batches: true,
        exists: true,
        places: true,
        limit: Some(SLOTS as usize),
    };
    const COUNTED: bool = true;

    fn fresh() -> Self {
        Self(A::fresh())
    }

    fn session(&self) -> SeamSession<'_, A> {
        SeamSession(&self.0)
    }

    fn placeholder() -> Entity {
        Entity::PLACEHOLDER
    }
}

impl<A: EntityAllocator> IdSession for SeamSession<'_, A> {
    type Id = Entity;

    #[inline(always)]
    fn create(&mut self) -> Entity {
        match self.0.create() {
            Ok(entity) => entity,
            Err(full) => refused(&full),
        }
    }

    #[inline(always)]
    fn destroy(&mut self, entity: Entity) -> bool {
        self.0.destroy(entity).is_ok()
    }

    #[inline(always)]
    fn create_slice(&mut self, out: &mut [Entity]) {
        if let Err(full) = self.0.create_slice(out) {
            refused(&full);
        }
    }

    #[inline(always)]
    fn destroy_slice(&mut self, entities: &[Entity]) -> usize {
        self.0.destroy_slice(entities).destroyed
    }

    #[inline(always)]
    fn exists(&mut self, entity: Entity) -> bool {
        self.0.exists(entity)
    }

    #[inline(always)]
    fn locate(&mut self, entity: Entity) -> Option<Place> {
        self.0.locate(entity).ok().flatten()
    }

    #[inline(always)]
    fn publish(&mut self, entity: Entity, place: Place) -> bool {
        self.0.publish(entity, place).is_ok()
    }

    fn flush(&mut self) {
        self.0.flush();
    }
}

#[cold]
#[inline(never)]
fn refused(full: &crate::entity::Full) -> ! {
    panic!("{full}")
}
