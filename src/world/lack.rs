//! `Lack`: how it is that an entity does not have what was asked for.

use crate::entity::Entity;
use crate::fragment::{
    ConstShared, FragmentId, FragmentInfo, FragmentKind, FragmentRegistry, PerChunk, Shared,
};
use crate::world::{World, WorldError};

/// How it is that an entity does not have what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lack {
    /// It is not there in any role.
    Fragment,
    /// The type is there, but in this role, which is not the one that was asked for.
    Role(FragmentKind),
    /// A query does not see the entity: what it asks for is not there, or its filters pass the entity by.
    Match,
    /// The query sees the entity, but does not lend this of it: see
    /// [`QueryLookup::peek`](crate::query::QueryLookup::peek) and [`DynamicRun::peek`](crate::query::DynamicRun::peek).
    Lent,
    /// The query sees the entity, and lends this of it to be written, to another thread perhaps: see
    /// [`DynamicChunk::peek`](crate::query::DynamicChunk::peek).
    LentToWrite,
}

impl Lack {
    /// What an error says, with the name of what was asked for.
    pub(super) fn of(self, name: &str) -> String {
        match self {
            Self::Fragment => format!("it has no {name}"),
            Self::Role(kind) => format!("it has no {name} in this role: there it is a {kind}"),
            Self::Match => format!("the query {name} does not match it"),
            Self::Lent => format!("the query does not lend its {name}"),
            Self::LentToWrite => {
                format!("the query lends its {name} to be written: a loop that runs may write it")
            }
        }
    }
}

impl World {
    /// Why an entity has no `T` in the role in which it was looked for.
    #[cold]
    #[inline(never)]
    pub(crate) fn missing<T: 'static>(&self, archetype: u32, entity: Entity) -> WorldError {
        let set = &self.archetypes[archetype as usize].set;
        WorldError::missing::<T>(self.registry(), entity, |id| set.contains(id))
    }
}

impl WorldError {
    /// The same of an entity of which `has` says which fragments it has.
    pub(crate) fn missing<T: 'static>(
        registry: &FragmentRegistry,
        entity: Entity,
        has: impl Fn(FragmentId) -> bool,
    ) -> Self {
        let roles = [
            registry.of_role::<T>(),
            registry.of_role::<PerChunk<T>>(),
            registry.of_role::<Shared<T>>(),
            registry.of_role::<ConstShared<T>>(),
        ];
        let mut there = roles.into_iter().flatten();
        let there = there.find(|info| has(info.id()));
        Self::Missing {
            entity,
            name: core::any::type_name::<T>().into(),
            lack: there
                .map(FragmentInfo::kind)
                .map_or(Lack::Fragment, Lack::Role),
        }
    }
}
