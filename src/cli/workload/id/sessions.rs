//! `Sessions`: the product through a session for each thread.

use std::io;

use super::seam::refused;
use super::{Abilities, IdContender, IdSession, Seam, Usual};
use crate::entity::{Entity, EntityIndex, Place, Session};

/// The product, used through [`Session`]s: what it is worth not to look for the thread's cache in each call.
#[derive(Debug)]
pub struct Sessions(EntityIndex);

impl IdContender for Sessions {
    type Id = Entity;
    type Session<'a> = Session<'a>;

    const NAME: &'static str = "bitmask_session";
    const ABILITIES: Abilities = Seam::<Usual<EntityIndex>>::ABILITIES;
    const COUNTED: bool = true;

    fn fresh() -> Self {
        Self(EntityIndex::new())
    }

    fn try_room() -> io::Result<()> {
        Seam::<Usual<EntityIndex>>::try_room()
    }

    fn session(&self) -> Session<'_> {
        self.0.session()
    }

    fn placeholder() -> Entity {
        Entity::PLACEHOLDER
    }

    fn to_bits(entity: Entity) -> u64 {
        entity.to_bits()
    }

    fn from_bits(bits: u64) -> Entity {
        Entity::try_from_bits(bits).expect("the bits of an entity")
    }
}

impl IdSession for Session<'_> {
    type Id = Entity;

    #[inline(always)]
    fn create(&mut self) -> Entity {
        match self.create() {
            Ok(entity) => entity,
            Err(full) => refused(&full),
        }
    }

    #[inline(always)]
    fn destroy(&mut self, entity: Entity) -> bool {
        self.destroy(entity).is_ok()
    }

    #[inline(always)]
    fn create_slice(&mut self, out: &mut [Entity]) {
        if let Err(full) = self.create_slice(out) {
            refused(&full);
        }
    }

    #[inline(always)]
    fn destroy_slice(&mut self, entities: &[Entity]) -> usize {
        self.destroy_slice(entities).destroyed
    }

    #[inline(always)]
    fn exists(&mut self, entity: Entity) -> bool {
        Session::exists(self, entity)
    }

    #[inline(always)]
    fn locate(&mut self, entity: Entity) -> Option<Place> {
        Session::locate(self, entity).ok().flatten()
    }

    #[inline(always)]
    fn publish(&mut self, entity: Entity, place: Place) -> bool {
        self.index().publish(entity, place).is_ok()
    }

    fn flush(&mut self) {
        self.flush();
    }
}
