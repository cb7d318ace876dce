//! Which entities live in a world, and where they lie.

use crate::archetype::{Finder, Row};
use crate::entity::{Entity, EntityError, EntityFault, Place};
use crate::world::{World, WorldError};

impl World {
    /// Whether the entity lives in this world, was recorded for it, or is reserved in its universe, for whichever world
    /// builds it first. Wait-free.
    #[inline]
    #[must_use]
    #[doc(alias = "contains")]
    pub fn exists(&self, entity: Entity) -> bool {
        match self.find(entity) {
            Ok(_) => true,
            Err(WorldError::NotBuilt { .. } | WorldError::Pending { .. }) => true,
            Err(_) => false,
        }
    }

    /// Whether the entity lives in this world, with an archetype. Wait-free.
    #[inline]
    #[must_use]
    pub fn is_built(&self, entity: Entity) -> bool {
        self.find(entity).is_ok()
    }

    /// Where an entity of this world lies.
    #[inline(always)]
    pub(crate) fn find(&self, entity: Entity) -> Result<(u32, Row), WorldError> {
        match self.locate(entity) {
            Some(found) => Ok(found),
            None => Err(self.refuse(entity)),
        }
    }

    /// Where an entity of this world lies; `None` if it is not built here.
    #[inline(always)]
    pub(crate) fn locate(&self, entity: Entity) -> Option<(u32, Row)> {
        self.finder().find(entity)
    }

    /// Where the entities of this world lie.
    #[inline(always)]
    pub(crate) fn finder(&self) -> Finder<'_> {
        self.universe.finder(self.mark)
    }

    /// Why an entity is not built in this world.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse(&self, entity: Entity) -> WorldError {
        match self.universe.index().locate(entity) {
            Err(error) => error.into(),
            Ok(None) => WorldError::NotBuilt { entity },
            Ok(Some(place)) if place == Place::LEAVING => {
                EntityError::new(entity, EntityFault::Destroyed).into()
            }
            Ok(Some(place)) if place == Place::COMING => WorldError::Elsewhere {
                entity,
                world: None,
            },
            Ok(Some(place)) => {
                let owner = self.universe.directory().owner(place);
                let private = owner.private_of().map(|(world, _)| world);
                if private == Some(self.number) {
                    return WorldError::Pending { entity };
                }
                let built = (!owner.is_nobodys()).then(|| owner.world());
                let world = private.or(built);
                // It may have come here just now.
                let world = world.filter(|&world| world != self.number);
                WorldError::Elsewhere { entity, world }
            }
        }
    }
}
