//! `Spawned`: the entities of a spawn.

use core::fmt;
use core::slice::Iter;

use crate::entity::Entity;
use crate::world::{Batch, World};

/// What a spawner has created: the handles, entry by entry, in the order of the points.
///
/// Handles that follow each other (as those of a batch mostly do) are kept as one: 12 bytes for a run of them. Names
/// only: it keeps nothing alive.
///
/// ```
/// use std::sync::Arc;
/// use megachunk::prelude::*;
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
#[derive(Clone, Debug, Default)]
pub struct Spawned {
    entries: Vec<Handles>,
    /// The universe's identity, once there are handles: they mean nothing in another one.
    universe: Option<u64>,
}

/// Handles in an order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Handles {
    runs: Vec<Run>,
    len: usize,
}

/// Handles of one version whose indices follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    fn extend(&mut self, mut entities: &[Entity]) {
        self.len += entities.len();
        while let Some(&first) = entities.first() {
            let count = neighbours(entities);
            let (index, version) = (first.index(), first.version());
            match self.runs.last_mut() {
                Some(run) if (run.index + run.count, run.version) == (index, version) => {
                    run.count += count as u32;
                }
                _ => self.runs.push(Run {
                    index,
                    version,
                    count: count as u32,
                }),
            }
            entities = &entities[count..];
        }
    }

    fn iter(&self) -> impl Iterator<Item = Entity> + '_ {
        self.runs.iter().flat_map(|run| run.iter())
    }
}

/// How many handles a slice begins with that follow each other.
fn neighbours(entities: &[Entity]) -> usize {
    /// Compared at once, without a branch each.
    const BLOCK: usize = 16;
    let Some(first) = entities.first() else {
        return 0;
    };
    let first = first.to_bits();
    // The index has the lower bits, and never all of them.
    let follows = |(at, entity): (u64, &Entity)| entity.to_bits() == first + at;
    let mut blocks = (0..).step_by(BLOCK).zip(entities.chunks_exact(BLOCK));
    let whole = blocks.position(|(at, block)| {
        let pairs = (at..).zip(block);
        !pairs.fold(true, |all, pair| all & follows(pair))
    });
    let whole = whole.unwrap_or(entities.len() / BLOCK) * BLOCK;
    let rest = (whole as u64..).zip(&entities[whole..]);
    whole + rest.take_while(|&pair| follows(pair)).count()
}

impl Spawned {
    pub(super) fn new(entries: usize) -> Self {
        Self {
            entries: vec![Handles::default(); entries],
            universe: None,
        }
    }

    /// Whether there are entities already, of another universe than a world's.
    pub(super) fn is_of_another(&self, world: &World) -> bool {
        let identity = world.universe().identity();
        self.universe.is_some_and(|universe| universe != identity)
    }

    /// Takes the entities of a batch in.
    pub(super) fn extend(&mut self, world: &World, entry: usize, batch: &Batch) {
        self.universe = Some(world.universe().identity());
        let slices = batch.slices(world);
        slices.for_each(|entities| self.entries[entry].extend(entities));
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

    /// All handles, entry by entry. O(entries), and O(1) for each.
    pub fn iter(&self) -> SpawnedIter<'_> {
        SpawnedIter {
            entries: self.entries.iter(),
            runs: [].iter(),
            run: Run::default(),
            left: self.len(),
        }
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
    /// world, are passed over; in a world of another universe that is all of them. Observers see one batch.
    /// O(entities).
    ///
    /// # Panics
    /// If a fragment's `drop` panics; all are gone then.
    #[doc(alias = "DoDespawning")]
    pub fn despawn(&self, world: &mut World) -> usize {
        if self.universe != Some(world.universe().identity()) {
            return 0;
        }
        let living: Vec<Entity> = self.iter().filter(|&e| world.is_built(e)).collect();
        world.destroy_slice(&living).done
    }
}

impl<'a> IntoIterator for &'a Spawned {
    type Item = Entity;
    type IntoIter = SpawnedIter<'a>;

    fn into_iter(self) -> SpawnedIter<'a> {
        self.iter()
    }
}

/// The handles of a spawn, entry by entry, from [`Spawned::iter`].
#[derive(Clone)]
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct SpawnedIter<'a> {
    /// Entries, and runs of the last one, that are to come.
    entries: Iter<'a, Handles>,
    runs: Iter<'a, Run>,
    /// What of the last run is.
    run: Run,
    /// How many are to come in all.
    left: usize,
}

impl Iterator for SpawnedIter<'_> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        while self.run.count == 0 {
            match self.runs.next() {
                Some(&run) => self.run = run,
                None => self.runs = self.entries.next()?.runs.iter(),
            }
        }
        let entity = Entity::from_parts(self.run.index, self.run.version);
        self.run.index += 1;
        self.run.count -= 1;
        self.left -= 1;
        Some(entity)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for SpawnedIter<'_> {}

impl core::iter::FusedIterator for SpawnedIter<'_> {}

/// How many are to come, not which.
impl fmt::Debug for SpawnedIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnedIter")
            .field("len", &self.left)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_come_out_as_they_went_in_however_they_are_cut() {
        let entity = |index: u32, version: u32| Entity::from_parts(index, version);
        let mut all: Vec<Entity> = (0..100).map(|index| entity(index, 1)).collect();
        all.extend((100..117).map(|index| entity(index, 3)));
        all.extend([entity(5, 5), entity(4, 5), entity(3, 5), entity(118, 3)]);
        all.extend((119..200).map(|index| entity(index, 3)));
        for piece in [1, 3, 16, 17, 40, 1_000] {
            let mut handles = Handles::default();
            for piece in all.chunks(piece) {
                handles.extend(piece);
            }
            assert_eq!(handles.len, all.len());
            assert_eq!(handles.iter().collect::<Vec<_>>(), all);
            assert_eq!(handles.runs.len(), 6);
            let spawned = Spawned {
                entries: vec![Handles::default(), handles.clone(), handles],
                universe: None,
            };
            let mut seen = Vec::new();
            let mut rest = spawned.iter();
            while let Some(entity) = rest.next() {
                seen.push(entity);
                assert_eq!(rest.len(), spawned.len() - seen.len());
            }
            assert_eq!(seen, [&all[..], &all].concat());
        }
    }
}
