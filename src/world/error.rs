//! What can go wrong with a world, as a type.

use crate::chunk::ChunkError;
use crate::entity::{Entity, EntityError, Full};
use crate::fragment::FragmentError;
use crate::query::QueryError;
use crate::world::Lack;

/// A call of a world was refused; nothing has changed, but as far as calls for many entities say
/// that some are done. (An archetype that was to be the first of its composition may be there,
/// without entities, where no memory was left for these.)
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// A handle was refused: its entity is destroyed, or was never created.
    #[error(transparent)]
    Entity(#[from] EntityError),
    /// The entity is reserved: it has an id and nothing else yet.
    #[error("entity {entity}: it is reserved, and not built yet")]
    NotBuilt {
        /// The handle.
        entity: Entity,
    },
    /// The entity is built, by a world or by a recorder of commands, where one that is only reserved was asked for.
    #[error("entity {entity}: it is built already, or recorded to be")]
    AlreadyBuilt {
        /// The handle.
        entity: Entity,
    },
    /// The entity was created by a recorder of commands, and joins the world with the next flush.
    #[error(
        "entity {entity}: it was recorded, and the world is not flushed yet; till then its recorder alone lends it"
    )]
    Pending {
        /// The handle.
        entity: Entity,
    },
    /// The entity lives in another world of the same universe; where a recorder was asked, it is
    /// none of those that this recorder has created since the last flush.
    #[error("entity {entity}: it lives {}, not in the world or recorder that was asked", place_of(*world))]
    #[non_exhaustive]
    Elsewhere {
        /// The handle.
        entity: Entity,
        /// The [number](crate::world::World::number) of the world that it lives in, or that a recorder has created it for,
        /// if that is known: not where a recorder was asked, nor at the moment at which it goes from one to another.
        world: Option<u16>,
    },
    /// The entity does not have a fragment, or a query does not see it.
    #[error("entity {entity}: {}", lack.of(name))]
    #[non_exhaustive]
    Missing {
        /// The handle.
        entity: Entity,
        /// The fragment's name; of a query, what it lends and its filters.
        name: Box<str>,
        /// How that is.
        lack: Lack,
    },
    /// The entity was named twice where each is lent for writing.
    #[error("entity {entity}: it is named twice, and can be lent for writing once")]
    Twice {
        /// The handle.
        entity: Entity,
    },
    /// The entity has another value of a const shared fragment already. [`World::remove`](crate::world::World::remove)
    /// takes that away.
    #[error(
        "entity {entity}: its {name} is const shared: it can be removed (`remove::<ConstShared<…>>`), but not changed"
    )]
    #[non_exhaustive]
    ConstShared {
        /// The handle.
        entity: Entity,
        /// The fragment's name.
        name: Box<str>,
    },
    /// A fragment was refused.
    #[error(transparent)]
    Fragment(#[from] FragmentError),
    /// A query was refused. No call of a world says so: it is for functions that ask queries and change what they find.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// fn wake(world: &mut World) -> Result<usize, WorldError> {
    ///     world.matching::<With<u8>>()?.add(|_| ("awake",))
    /// }
    /// let mut world = World::new();
    /// world.create((1_u8,))?;
    /// assert_eq!(wake(&mut world)?, 1);
    /// # Ok::<(), WorldError>(())
    /// ```
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The world has no [state](crate::processor::State) of this type, which a
    /// [command](crate::command::Commands::set_state) asks for.
    #[error("the world has no state `{name}`: `World::init_state` puts it there")]
    #[non_exhaustive]
    NoState {
        /// The name of the states' type.
        name: Box<str>,
    },
    /// A fragment cannot be cloned.
    #[error("{name} cannot be cloned: register it with `register_clone`")]
    #[non_exhaustive]
    NotCloneable {
        /// Its name.
        name: Box<str>,
    },
    /// A fragment cannot be switched off and on.
    #[error(
        "{name} cannot be switched off: register it with `register_enableable` before its first use (compositions that were there before have no switch)"
    )]
    #[non_exhaustive]
    NotEnableable {
        /// Its name.
        name: Box<str>,
    },
    /// No id is left.
    #[error(transparent)]
    Full(#[from] Full),
    /// No chunk is left, or the system has no memory.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    /// The universe has as many worlds as it can.
    #[error("the universe has 65,535 worlds, which is the limit")]
    TooManyWorlds,
    /// Users' code panicked in the middle of a flush; the panic goes on when the flush is done.
    #[error("users' code panicked before it could be done")]
    Interrupted,
    /// Entities cannot go to a world of another universe, nor can prototypes be used there.
    #[error("the world is of another universe: ids and fragments of one mean nothing in the other")]
    OtherUniverse,
    /// The world has as many archetypes as it can.
    #[error("the world has 1,048,575 archetypes, which is the limit")]
    TooManyArchetypes,
}

impl WorldError {
    /// Says which of some handles is there twice, if one is.
    pub(crate) fn if_twice(entities: &[Entity]) -> Result<(), Self> {
        let mut left = entities;
        while let [entity, others @ ..] = left {
            if others.contains(entity) {
                return Err(Self::Twice { entity: *entity });
            }
            left = others;
        }
        Ok(())
    }

    /// The same, about another entity, if it is about one.
    pub(crate) fn for_another(&self, another: Entity) -> Self {
        let mut same = self.clone();
        // Each by its name: whoever adds one says which it is.
        match &mut same {
            Self::Entity(error) => error.entity = another,
            Self::NotBuilt { entity }
            | Self::AlreadyBuilt { entity }
            | Self::Pending { entity }
            | Self::Elsewhere { entity, .. }
            | Self::Twice { entity }
            | Self::ConstShared { entity, .. }
            | Self::Missing { entity, .. } => *entity = another,
            Self::Fragment(_)
            | Self::Query(_)
            | Self::NoState { .. }
            | Self::NotCloneable { .. }
            | Self::NotEnableable { .. }
            | Self::Full(_)
            | Self::Chunk(_)
            | Self::TooManyWorlds
            | Self::Interrupted
            | Self::OtherUniverse
            | Self::TooManyArchetypes => {}
        }
        same
    }

    /// The entity that the error is about, if it is about one.
    #[must_use]
    pub fn entity(&self) -> Option<Entity> {
        match self {
            Self::Entity(error) => Some(error.entity),
            Self::NotBuilt { entity }
            | Self::AlreadyBuilt { entity }
            | Self::Pending { entity }
            | Self::Elsewhere { entity, .. }
            | Self::Twice { entity }
            | Self::ConstShared { entity, .. }
            | Self::Missing { entity, .. } => Some(*entity),
            _ => None,
        }
    }
}

/// Where an entity lives that is not where it was asked for.
fn place_of(world: Option<u16>) -> String {
    match world {
        Some(world) => format!("in world {world} of the universe"),
        None => "elsewhere".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::EntityFault;
    use crate::fragment::FragmentKind;

    #[test]
    fn of_another_entity_an_error_says_the_same() {
        let [one, other] = [1, 2].map(|index| Entity::new(index, 1).unwrap());
        let name = || Box::from("ant");
        let about = |entity| {
            let fault = EntityFault::Destroyed;
            [
                EntityError::new(entity, fault).into(),
                WorldError::NotBuilt { entity },
                WorldError::AlreadyBuilt { entity },
                WorldError::Pending { entity },
                WorldError::Elsewhere {
                    entity,
                    world: Some(7),
                },
                WorldError::Twice { entity },
                WorldError::ConstShared {
                    entity,
                    name: name(),
                },
                WorldError::Missing {
                    entity,
                    name: name(),
                    lack: Lack::Role(FragmentKind::Chunk),
                },
            ]
        };
        for (of_one, of_other) in about(one).into_iter().zip(about(other)) {
            assert_eq!(of_one.entity(), Some(one));
            assert_eq!(of_one.for_another(other), of_other);
        }
        for error in [
            FragmentError::EmptyName.into(),
            QueryError::OtherUniverse.into(),
            WorldError::NoState { name: name() },
            WorldError::NotCloneable { name: name() },
            WorldError::NotEnableable { name: name() },
            Full { capacity: 7 }.into(),
            WorldError::TooManyWorlds,
            WorldError::OtherUniverse,
            WorldError::TooManyArchetypes,
        ] {
            assert_eq!(error.entity(), None);
            assert_eq!(error.for_another(other), error);
        }
    }
}
