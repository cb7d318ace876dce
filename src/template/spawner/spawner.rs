//! `Spawner`: what to spawn, how many of each, and where.

use core::fmt;
use std::sync::Arc;

use super::job::SpawnJob;
use super::permutation::Permutation;
use super::place::{Place, PlaceBundle};
use super::point::{Generator, Points, SpawnPoint};
use super::proportion::{check, shares};
use super::{SpawnError, Spawned};
use crate::entity::{EntityIndex, Full};
use crate::fragment::{Bundle, Lone, Pile};
use crate::panics::refused;
use crate::template::Template;
use crate::world::{Budget, Prototype, World, WorldError};

/// Creates many entities of several kinds in one call.
///
/// ```
/// use std::sync::Arc;
/// use megachunk::prelude::*;
/// use megachunk::template::spawner::{Disc, SpawnPoint};
///
/// #[derive(Clone, Default)]
/// struct Position([f32; 3]);
///
/// let mut world = World::new();
/// let kind = |legs: u8| -> Result<_, WorldError> {
///     let registry = world.registry();
///     let values = DynamicBundle::new()
///         .with(Value::cloneable(registry, Position::default())?)
///         .with(Value::cloneable(registry, legs)?);
///     Ok(Arc::new(Prototype::new(registry, values)?))
/// };
/// let (ant, spider) = (kind(6)?, kind(8)?);
/// let spawned = Spawner::new(1_000)
///     .seed(7)
///     .prototype("ant", &ant, 3.0)?
///     .prototype("spider", &spider, 1.0)?
///     .generator(Disc::new([0.0; 3], 50.0)?)
///     .place(|point: &SpawnPoint| (Position(point.position),))
///     .spawn(&mut world)?;
/// assert!(spawned.counts().eq([750, 250]));
/// for insect in spawned.iter() {
///     let [x, y, _] = world.get::<Position>(insect)?.0;
///     assert!(x.hypot(y) < 50.1);
/// }
/// assert_eq!(spawned.despawn(&mut world), 1_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: Unreal Mass' `AMassSpawner`.
#[derive(Clone)]
#[doc(alias = "AMassSpawner")]
#[must_use = "a spawner does nothing until `spawn` or `begin`"]
pub struct Spawner {
    total: usize,
    seed: u64,
    shuffled: bool,
    entries: Vec<Entry>,
    generator: Option<Lone<Arc<dyn Generator>>>,
    places: Pile<Arc<dyn Place>>,
}

#[derive(Clone)]
struct Entry {
    name: Box<str>,
    prototype: Arc<Prototype>,
    proportion: f64,
}

/// Without a generator all begin at the origin.
struct Origin;

impl Points for Origin {
    fn write(&self, _first: usize, _out: &mut [SpawnPoint]) {}
}

impl Spawner {
    /// A spawner of so many entities, without entries, with seed 0.
    pub fn new(total: usize) -> Self {
        Self {
            total,
            seed: 0,
            shuffled: false,
            entries: Vec::new(),
            generator: None,
            places: Pile::new(),
        }
    }

    /// Another total.
    pub fn total(mut self, total: usize) -> Self {
        self.total = total;
        self
    }

    /// What the generator's points are a function of.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// One more kind of entity, called by the template's id. Its share of the total is its proportion of the sum
    /// of all: rounded by the largest remainder, the first of equals first, so that 1 : 1 : 1 of 10 is 4, 3 and 3.
    ///
    /// The template as it is now: one that is built anew later is another one. Those of config files come from a
    /// `TemplateRegistry` by their ids.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Debug, PartialEq)]
    /// struct Legs(u8);
    /// impl EntityTrait for Legs {
    ///     fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
    ///         context.add(self.clone());
    ///         Ok(())
    ///     }
    /// }
    /// let mut world = World::new();
    /// let ant = TemplateBuilder::new("ant").with(Legs(6)).finish(&world)?;
    /// let spider = TemplateBuilder::new("spider").with(Legs(8)).finish(&world)?;
    /// let spawner = Spawner::new(10).entry(&ant, 2.0)?.entry(&spider, 1.0)?;
    /// assert_eq!(spawner.counts()?, [7, 3]);
    /// let spawned = spawner.spawn(&mut world)?;
    /// assert_eq!(world.get::<Legs>(spawned.of(1).next().unwrap())?, &Legs(8));
    /// assert!(Spawner::new(10).entry(&ant, f64::NAN).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SpawnError::Proportion`]: it is negative, infinite or no number.
    pub fn entry(self, template: &Template, proportion: f64) -> Result<Self, SpawnError> {
        self.prototype(template.id(), template.prototype(), proportion)
    }

    /// Adds a kind of entity by a prototype that no template is behind, and a name for errors. Else as
    /// [`entry`](Self::entry).
    ///
    /// # Errors
    /// As for [`entry`](Self::entry).
    pub fn prototype(
        mut self,
        name: &str,
        prototype: &Arc<Prototype>,
        proportion: f64,
    ) -> Result<Self, SpawnError> {
        if let Err(error) = check(name, proportion) {
            return Err(refused(self, error));
        }
        self.entries.push(Entry {
            name: name.into(),
            prototype: Arc::clone(prototype),
            proportion,
        });
        Ok(self)
    }

    /// Who gives the places: the first points to the first entry, and so on. Without one all begin at the origin.
    pub fn generator(mut self, generator: impl Generator + 'static) -> Self {
        self.generator = Some(Lone::new(Arc::new(generator)));
        self
    }

    /// Whether the points are dealt in an order that the seed says, so that entries mix also where the generator goes
    /// from one end to the other: on a grid, along lines, in a file.
    pub fn shuffled(mut self, shuffled: bool) -> Self {
        self.shuffled = shuffled;
        self
    }

    /// Writes fragments of each new entity as its point says, instead of the template's values, which are not cloned
    /// then. A tuple of one or more fragments, which all entries must have. May be called for several; no fragment
    /// twice.
    ///
    /// `make` is called on any thread, in any order, once for each entity.
    ///
    /// ```compile_fail,E0080
    /// # use megachunk::prelude::*;
    /// let _ = Spawner::new(10).place(|_| ());
    /// ```
    pub fn place<B: Bundle>(
        mut self,
        make: impl Fn(&SpawnPoint) -> B + Send + Sync + 'static,
    ) -> Self {
        self.places.push(Arc::new(PlaceBundle::new(make)));
        self
    }

    /// How many there will be of each entry. O(entries log entries).
    ///
    /// # Errors
    /// [`SpawnError::NoEntries`], [`SpawnError::AllZero`].
    pub fn counts(&self) -> Result<Vec<usize>, SpawnError> {
        let entries = self.entries.iter().map(|e| (&*e.name, e.proportion));
        shares(&entries.collect::<Vec<_>>(), self.total)
    }

    /// Creates all, on all threads of the current rayon pool: the same for any number of them. O(entities × fragments + entries log
    /// entries).
    ///
    /// One batch for each entry, in order; observers see each once, when all are there. All or none: if ids or memory
    /// run out, or a closure or a `clone` panics, nothing is left of the call.
    ///
    /// # Errors
    /// [`SpawnError`]: what the generator refuses, what the world refuses, entries that do not fit.
    ///
    /// # Panics
    /// If a closure, a `clone` or, after all is created, an observer does.
    pub fn spawn(&self, world: &mut World) -> Result<Spawned, SpawnError> {
        let mut job = self.begin()?;
        match job.step(world, Budget::Unlimited) {
            Ok(_) => Ok(job.finish()),
            Err(error) => Err(refused(job, error)),
        }
    }

    /// Prepares to create all over several frames: computes shares and points, and creates nothing.
    ///
    /// # Errors
    /// What has nothing to do with the world: entries, proportions, the generator; and more entities than there are
    /// ids ([`WorldError::Full`]).
    pub fn begin(&self) -> Result<SpawnJob, SpawnError> {
        let counts = self.counts()?;
        if self.total > EntityIndex::CAPACITY {
            let capacity = EntityIndex::CAPACITY;
            return Err(WorldError::Full(Full { capacity }).into());
        }
        let points: Arc<dyn Points> = match &self.generator {
            Some(generator) => generator.points(self.total, self.seed)?,
            None => Arc::new(Origin),
        };
        let order = self
            .shuffled
            .then(|| Permutation::new(self.total, self.seed));
        let entries = self.entries.iter().zip(counts).map(|(entry, count)| {
            let Entry {
                name, prototype, ..
            } = entry;
            (name.clone(), Arc::clone(prototype), count)
        });
        Ok(SpawnJob::new(entries, points, order, self.places.clone()))
    }
}

impl fmt::Debug for Spawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries.iter().map(|e| (&e.name, e.proportion));
        f.debug_struct("Spawner")
            .field("total", &self.total)
            .field("seed", &self.seed)
            .field("entries", &entries.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
