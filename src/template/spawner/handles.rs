//! `Spawned`: the entities of a spawn.

use crate::entity::Entity;
use crate::world::World;

/// What a spawner has created: the handles, entry by entry, in the order of the points.
///
/// Handles that follow each other (as those of a batch mostly do) are kept as one: 12 bytes for a run of them. Names
/// only: it keeps nothing alive.
///
/// ```
/// use std::sync::Arc;
/// use megachunk::fragment::{DynamicBundle, Value};
/// use megachunk::prelude::*;
/// use megachunk::template::spawner::Spawner;
/// use megachunk::world::Prototype;
///
/// let mut world = World::new();
/// let value = Value::cloneable(world.registry(), 1_u8)?;
/// let ant = Arc::new(Prototype::new(world.registry(), DynamicBundle::new().with(value))?);
/// let ants = Spawner::new(100).prototype("ant", &ant, 1.0)?.spawn(&mut world)?;
/// let first = ants.iter().next().unwrap();
/// world.destroy(first)?;
/// assert_eq!((ants.len(), ants.despawn(&mut world)), (100, 99));
/// assert!(world.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spawned {
    entries: Vec<Handles>,
}

/// Handles in an order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Handles {
    runs: Vec<Run>,
    len: usize,
}

/// Handles of one version whose indices follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    index: u32,
    version: u32,
    count: u32,
}

impl Run {
    fn iter(self) -> impl Iterator<Item = Entity> {
        (0..self.count).map(move |at| Entity::from_parts(self.index + at, self.version))
    }
}

impl Handles {
    fn push(&mut self, entity: Entity) {
        self.len += 1;
        let (index, version) = (entity.index(), entity.version());
        match self.runs.last_mut() {
            Some(run) if (run.index + run.count, run.version) == (index, version) => run.count += 1,
            _ => self.runs.push(Run {
                index,
                version,
                count: 1,
            }),
        }
    }

    fn iter(&self) -> impl Iterator<Item = Entity> + '_ {
        self.runs.iter().flat_map(|run| run.iter())
    }
}

impl Spawned {
    pub(super) fn new(entries: usize) -> Self {
        Self {
            entries: vec![Handles::default(); entries],
        }
    }

    pub(super) fn extend(&mut self, entry: usize, entities: impl Iterator<Item = Entity>) {
        entities.for_each(|entity| self.entries[entry].push(entity));
    }

    /// How many were created, whether they still live or not. O(entries).
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.iter().map(|handles| handles.len).sum()
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All handles, entry by entry.
    pub fn iter(&self) -> impl Iterator<Item = Entity> + '_ {
        self.entries.iter().flat_map(Handles::iter)
    }

    /// How many were created of each entry.
    pub fn counts(&self) -> impl Iterator<Item = usize> + '_ {
        self.entries.iter().map(|handles| handles.len)
    }

    /// The handles of one entry; none if there is no such entry.
    pub fn of(&self, entry: usize) -> impl Iterator<Item = Entity> + '_ {
        self.entries.get(entry).into_iter().flat_map(Handles::iter)
    }

    /// Destroys those that still live in this world; how many. Those that are dead already, or live in another
    /// world, are passed over. Observers see one batch. O(entities).
    ///
    /// # Panics
    /// If a fragment's `drop` panics; all are gone then.
    #[doc(alias = "DoDespawning")]
    pub fn despawn(&self, world: &mut World) -> usize {
        let living: Vec<Entity> = self.iter().filter(|&e| world.is_built(e)).collect();
        world.destroy_slice(&living).done
    }
}
