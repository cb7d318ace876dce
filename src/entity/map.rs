//! `EntityMap`: which entities have become which, where they came back with new ids.

use core::fmt;

use crate::entity::Entity;

/// Which entity has become which, where saved ones came back [with new
/// ids](crate::world::World::load_remapped): handles of then, and those of now.
///
/// Memory: twelve bytes for each slot that was used when they were saved.
///
/// ```
/// use std::sync::Arc;
/// use megachunk::prelude::*;
///
/// let universe = Arc::new(Universe::new());
/// let mut world = World::of(&universe)?;
/// let (ant, bee) = (world.create(())?, world.create(())?);
/// world.destroy(bee)?;
/// let saved = world.to_snapshot(&Default::default())?;
///
/// let (copy, entities) = World::from_snapshot_remapped(&saved, &universe)?;
/// let new = entities.get(ant).expect("it was saved");
/// assert!(copy.exists(new) && world.exists(ant) && new != ant);
/// assert_eq!(entities.get(bee), None);
/// assert_eq!(entities.iter().collect::<Vec<_>>(), [(ant, new)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct EntityMap {
    /// Of each slot the version that it had: an odd one if its entity is among those that are mapped.
    versions: Vec<u32>,
    /// Of each of these slots what its entity has become; anything of others.
    new: Vec<Entity>,
    len: usize,
}

impl EntityMap {
    /// Each of `old`, of which `versions` are the only odd versions, becomes the one that stands at its place in `new`.
    #[cfg(any(not(loom), test))]
    pub(crate) fn of(versions: Vec<u32>, old: &[Entity], new: &[Entity]) -> Self {
        let mut by_slot = vec![Entity::PLACEHOLDER; versions.len()];
        for (old, &new) in old.iter().zip(new) {
            by_slot[old.index() as usize] = new;
        }
        Self {
            versions,
            new: by_slot,
            len: old.len(),
        }
    }

    /// What an entity has become; `None` if it is none of those that came back. O(1).
    #[inline]
    #[must_use]
    pub fn get(&self, old: Entity) -> Option<Entity> {
        let slot = old.index() as usize;
        // A handle's version is odd.
        let is_there = self.versions.get(slot) == Some(&old.version());
        is_there.then(|| self.new[slot])
    }

    /// How many came back.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none came back.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Each of them, as it was and as it is, in the order of the old indices. O(slots).
    pub fn iter(&self) -> impl Iterator<Item = (Entity, Entity)> {
        let slots = self.versions.iter().zip(&self.new).zip(0..);
        slots.filter_map(|((&version, &new), index)| Some((Entity::new(index, version)?, new)))
    }
}

/// How many there are, not which.
impl fmt::Debug for EntityMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntityMap")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
