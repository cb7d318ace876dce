//! `SpawnJob`: a spawn over several frames.

use core::fmt;
use core::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::permutation::Permutation;
use super::place::{Place, Placing};
use super::point::Points;
use super::{SpawnError, Spawned};
use crate::fragment::{FragmentRegistry, Lone, Pile};
use crate::panics::{after, resume};
use crate::world::prototype::{Order, WriteRows};
use crate::world::{Budget, Prototype, World};

/// Entities between two looks at the clock: tens of microseconds.
const SLICE: usize = 1_024;

/// A spawn that is done a piece at a time: [`Spawner::begin`](super::Spawner::begin).
///
/// When all is done there are the same entities with the same values as from one call, each entry's in the same
/// order, and if nobody else created or destroyed anything meanwhile, also in the same order in the same chunks. Ids
/// may be others. Observers see one batch an entry and step; with a [time](Budget::Time), one an entry
/// and 1,024 entities. Dropped, it leaves what it has created.
///
/// ```
/// use std::sync::Arc;
/// use megachunk::prelude::*;
/// use megachunk::world::Budget;
///
/// let mut world = World::new();
/// let value = Value::cloneable(world.registry(), 1_u8)?;
/// let ant = Arc::new(Prototype::new(world.registry(), DynamicBundle::new().with(value))?);
/// let mut job = Spawner::new(1_000).prototype("ant", &ant, 1.0)?.begin()?;
/// let mut frames = 0;
/// while !job.is_done() {
///     job.step(&mut world, Budget::Entities(300))?;
///     frames += 1;
/// }
/// assert_eq!((frames, job.finish().len(), world.count()), (4, 1_000, 1_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a job creates nothing until it is stepped"]
pub struct SpawnJob {
    entries: Vec<Entry>,
    points: Lone<Arc<dyn Points>>,
    order: Option<Permutation>,
    places: Pile<Arc<dyn Place>>,
    /// How many are created: the first ones.
    done: usize,
    spawned: Spawned,
}

struct Entry {
    name: Box<str>,
    prototype: Arc<Prototype>,
    /// The entities of the whole spawn that are of this entry.
    numbers: Range<usize>,
}

impl SpawnJob {
    pub(super) fn new(
        entries: impl Iterator<Item = (Box<str>, Arc<Prototype>, usize)>,
        points: Arc<dyn Points>,
        order: Option<Permutation>,
        places: Pile<Arc<dyn Place>>,
    ) -> Self {
        let mut end = 0;
        let entries = entries.map(|(name, prototype, count)| {
            let numbers = end..end + count;
            end = numbers.end;
            Entry {
                name,
                prototype,
                numbers,
            }
        });
        let entries: Vec<Entry> = entries.collect();
        Self {
            spawned: Spawned::new(entries.len()),
            entries,
            points: Lone::new(points),
            order,
            places,
            done: 0,
        }
    }

    /// Entities that it will have created in the end.
    #[must_use]
    pub fn total(&self) -> usize {
        self.entries.last().map_or(0, |entry| entry.numbers.end)
    }

    /// Entities that it has created.
    #[must_use]
    pub fn done(&self) -> usize {
        self.done
    }

    /// Whether it has created all.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.done == self.total()
    }

    /// Creates as many as the budget allows; how many. With a number of entities the same world becomes the same,
    /// whatever the machine does; time is looked at after each 1,024 entities, which are created in any case.
    ///
    /// All or none of a step, or of 1,024 entities of one with a time: after an error or a panic of a closure or a
    /// `clone`, what was created before is there, and the job can go on where it was.
    ///
    /// # Errors
    /// [`SpawnError::Missing`], [`SpawnError::OtherUniverse`], also if an earlier step was in a world of another universe;
    /// what the world refuses.
    ///
    /// # Panics
    /// If a closure, a `clone` or, after the step's entities are created, an observer does.
    pub fn step(&mut self, world: &mut World, budget: Budget) -> Result<usize, SpawnError> {
        let before = self.done;
        let left = self.total() - before;
        self.check(world.registry())?;
        if let Some(entry) = self.entries.first()
            && self.spawned.is_of_another(world)
        {
            let entry = entry.name.clone();
            return Err(SpawnError::OtherUniverse { entry });
        }
        match budget {
            Budget::Unlimited => self.create(world, left)?,
            Budget::Entities(count) => self.create(world, count.max(1).min(left))?,
            Budget::Time(time) => {
                let until = Instant::now().checked_add(time);
                while !self.is_done() {
                    self.create(world, SLICE.min(self.total() - self.done))?;
                    if until.is_some_and(|until| Instant::now() >= until) {
                        break;
                    }
                }
            }
        }
        Ok(self.done - before)
    }

    /// Whether all entries have the fragments that are placed.
    fn check(&self, registry: &FragmentRegistry) -> Result<(), SpawnError> {
        let mut ids = Vec::new();
        for place in &self.places {
            place.ids(registry, &mut ids)?;
        }
        for entry in &self.entries {
            if !entry.prototype.is_of(registry) {
                let entry = entry.name.clone();
                return Err(SpawnError::OtherUniverse { entry });
            }
            if let Some(&id) = ids.iter().find(|&&id| !entry.prototype.has(id)) {
                return Err(SpawnError::Missing {
                    entry: entry.name.clone(),
                    fragment: registry.get(id).map_or("", |info| info.name()).into(),
                });
            }
        }
        Ok(())
    }

    /// Creates the next `count`.
    fn create(&mut self, world: &mut World, count: usize) -> Result<(), SpawnError> {
        let now = self.done..self.done + count;
        let parts = self.entries.iter().enumerate().map(|(number, entry)| {
            let start = entry.numbers.start.max(now.start);
            let end = entry.numbers.end.min(now.end);
            (number, entry, start..end)
        });
        let parts: Vec<_> = parts.filter(|(_, _, part)| !part.is_empty()).collect();
        let placings = |part: &Range<usize>| -> Vec<Placing<'_>> {
            let places = self.places.iter().map(|place| Placing {
                place: &**place,
                points: &**self.points,
                order: self.order.as_ref(),
                first: part.start,
            });
            places.collect()
        };
        let placings: Vec<_> = parts.iter().map(|(_, _, part)| placings(part)).collect();
        let writers = placings.iter().map(|placings| {
            let writers = placings.iter().map(|placing| placing as &dyn WriteRows);
            writers.collect::<Vec<_>>()
        });
        let writers: Vec<_> = writers.collect();
        let orders = parts
            .iter()
            .zip(&writers)
            .map(|((_, entry, part), writers)| Order {
                prototype: &entry.prototype,
                count: part.len(),
                writers,
            });
        let (batches, panicked) = world.create_orders(&orders.collect::<Vec<_>>())?;
        for ((number, ..), batch) in parts.iter().zip(&batches) {
            self.spawned.extend(world, *number, batch);
        }
        self.done = now.end;
        resume(panicked);
        Ok(())
    }

    /// What it has created so far.
    #[must_use]
    pub fn spawned(&self) -> &Spawned {
        &self.spawned
    }

    /// What it has created; the rest is not.
    #[must_use]
    pub fn finish(self) -> Spawned {
        let Self {
            entries,
            points,
            places,
            spawned,
            ..
        } = self;
        after((entries, points, places), spawned)
    }
}

impl fmt::Debug for SpawnJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries.iter().map(|e| (&e.name, &e.numbers));
        f.debug_struct("SpawnJob")
            .field("entries", &entries.collect::<Vec<_>>())
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}
