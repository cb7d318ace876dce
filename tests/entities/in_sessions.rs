//! An allocator that does everything that a session can through one of its own, a new one each time.

use crate::entity_ops::Subject;
use megachunk::entity::{
    DestroyReport, Entity, EntityAllocator, EntityError, EntityIndex, Full, Place,
};

/// The entity index in sessions.
pub(crate) struct InSessions(EntityIndex);

impl EntityAllocator for InSessions {
    const NAME: &'static str = "in_sessions";

    fn fresh() -> Self {
        Self(EntityIndex::new())
    }

    fn capacity(&self) -> usize {
        EntityIndex::CAPACITY
    }

    fn create(&self) -> Result<Entity, Full> {
        self.0.session().create()
    }

    fn create_slice(&self, out: &mut [Entity]) -> Result<(), Full> {
        self.0.session().create_slice(out)
    }

    fn destroy(&self, entity: Entity) -> Result<(), EntityError> {
        self.0.session().destroy(entity)
    }

    fn destroy_slice(&self, entities: &[Entity]) -> DestroyReport {
        self.0.session().destroy_slice(entities)
    }

    fn exists(&self, entity: Entity) -> bool {
        self.0.session().exists(entity)
    }

    fn locate(&self, entity: Entity) -> Result<Option<Place>, EntityError> {
        self.0.session().locate(entity)
    }

    fn publish(&self, entity: Entity, place: Place) -> Result<(), EntityError> {
        self.0.session().index().publish(entity, place)
    }

    fn count(&self) -> usize {
        self.0.count()
    }
}

impl Subject for InSessions {
    fn living(&self) -> Option<Vec<Entity>> {
        Some(self.0.session().index().iter().collect())
    }

    fn check(&self) {
        self.0.check().expect("an index without contradictions");
    }
}
