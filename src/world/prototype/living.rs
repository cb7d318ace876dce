//! A prototype with the values of an entity that is there.

use std::sync::Arc;

use super::{Prototype, Role, Source, Way, new_number};
use crate::entity::Entity;
use crate::fragment::{FragmentError, FragmentInfo, Pile, Value};
use crate::world::{World, WorldError};

impl Prototype {
    /// A prototype with the values that an entity has, each in its role: fragments and chunk fragments are cloned, shared
    /// values are the same. Not with its name; and what is switched off in the entity is on in copies. O(values).
    ///
    /// What becomes of the entity then is nothing to the prototype. One clone, with its switches:
    /// [`World::clone_entity`].
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.registry().register_clone::<String>()?;
    /// let ant = world.create((String::from("ant"), 6_u8).shared("red"))?;
    /// // A type that nobody has said how to clone is named.
    /// assert!(Prototype::of(&world, ant).is_err());
    /// world.registry().register_clone::<u8>()?;
    /// let ants = Prototype::of(&world, ant)?;
    /// world.destroy(ant)?;
    /// let ants = world.create_copies(&ants, 1_000)?;
    /// let last = ants.iter(&world).last().unwrap();
    /// assert_eq!((world.get::<String>(last)?.as_str(), world.shared::<&str>(last)?), ("ant", &"red"));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::NotCloneable`] names the fragment or tag.
    ///
    /// # Panics
    /// If a `clone` panics; the clones that were made are dropped then.
    pub fn of(world: &World, entity: Entity) -> Result<Self, WorldError> {
        let (archetype, row) = world.find(entity)?;
        let registry = world.registry();
        let data = &world.archetypes[archetype as usize];
        let chunk = &data.chunks[row.chunk as usize];
        let roles = data.ids.iter().map(|&id| {
            let info = registry.get(id).ok_or(FragmentError::Unknown { id })?;
            Ok((info, Role::of(info)?))
        });
        // Before users' code runs.
        let roles: Result<Vec<(&FragmentInfo, Role)>, WorldError> = roles.collect();
        let (mut sources, mut once, mut shared) = (Pile::new(), Pile::new(), Pile::new());
        for (info, role) in roles? {
            let id = info.id();
            match role {
                Role::Column(way) => {
                    let value = world.address_of(archetype, row, id);
                    // SAFETY: a value of the fragment, which lies there as long as the world is borrowed.
                    let value = unsafe { way.clone_one(info, value) };
                    sources.push(Source { value, way });
                }
                // It has no `drop` either.
                Role::Nowhere => {}
                Role::PerChunk => {
                    let value = world.address_of(archetype, row, id);
                    // SAFETY: as above; chunk fragments can be cloned, as chunks begin with clones.
                    let value = unsafe { Value::clone_of(info, value) };
                    once.push(Arc::new(value));
                }
                Role::Shared => {
                    if let Some(at) = data.shared_at(id) {
                        let number = data.groups[chunk.group as usize].key[at];
                        shared.push(Arc::clone(world.shared.value(number)));
                    }
                }
            }
        }
        Ok(Self {
            number: new_number(),
            registry: registry.identity(),
            ids: data.ids.iter().copied().collect(),
            sources,
            once,
            shared,
        })
    }
}

impl Way {
    /// A clone of one value.
    ///
    /// # Safety
    /// `from` holds a value of the fragment, whose way this is.
    unsafe fn clone_one(self, info: &FragmentInfo, from: *const u8) -> Value {
        match self {
            // SAFETY: the caller's; the value is nothing but its bytes, and another one with them is its clone.
            Self::Bytes => unsafe { Value::take(info, from) },
            // SAFETY: the caller's; who has one of these ways has a clone function.
            Self::Typed(_) | Self::Each(_) => unsafe { Value::clone_of(info, from) },
        }
    }
}
