//! The calls that create copies of prototypes.

use core::any::Any;
use std::sync::Arc;

use smallvec::SmallVec;

use super::Prototype;
use super::claim::{Claim, Claims, by_order};
use super::fill::{MakeRows, PAST, Plan, Target, WriteRows};
use crate::entity::{Entity, EntityIndex, Full};
use crate::fragment::{Bundle, FragmentId, none_twice};
use crate::panics::{Panicked, after, first, note, resume};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::workers::fork_join;
use crate::world::bundles::Completed;
use crate::world::taken::TakenIn;
use crate::world::watch::{CREATED, NOWHERE, SET, WatchedRows};
use crate::world::{Batch, World, WorldError};

/// Below so many bytes a second thread costs more than it saves.
const ALONE: usize = 256 << 10;

/// Copies of one prototype, as a part of a call.
pub(crate) struct Order<'a> {
    pub(crate) prototype: &'a Prototype,
    pub(crate) count: usize,
    /// What the copies have instead of the prototype's values, or beside them.
    pub(crate) writers: &'a [&'a dyn WriteRows],
}

/// Copies that are there, of whom nobody was told yet.
pub(super) struct Filled {
    /// That of each order.
    archetypes: SmallVec<[u32; 4]>,
    pub(super) claims: Vec<Claim>,
    /// What `drop`s have panicked with of what was there before.
    pub(super) panicked: Panicked,
}

impl World {
    /// Creates an entity with clones of a prototype's values, and its shared values: [`create_copies`](Self::create_copies)
    /// of one. O(values).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let name = Value::cloneable(world.registry(), String::from("ant"))?;
    /// let ant = Prototype::new(world.registry(), DynamicBundle::new().with(name))?;
    /// let queen = world.create_copy(&ant)?;
    /// world.get_mut::<String>(queen)?.push_str(" queen");
    /// assert_eq!(world.get::<String>(queen)?, "ant queen");
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`create_copies`](Self::create_copies). Its values are made before there is an id, and dropped if there is none.
    ///
    /// # Panics
    /// If a `clone` panics, or what makes a value that is [required](crate::fragment::FragmentRegistry::require_with), or a
    /// `drop` of values that get no id; then there is no new entity. If an observer does, which is told of it; then it is there.
    #[doc(alias = "instantiate")]
    #[doc(alias = "spawn_prefab")]
    pub fn create_copy(&mut self, prototype: &Prototype) -> Result<Entity, WorldError> {
        self.copy_with(prototype, |world, run, row| {
            Ok(world.universe.create_in(run, row)?)
        })
    }

    /// Creates `count` entities with clones of a prototype's values, and its shared values. O(values), a chunk at a
    /// time: columns are filled one after the other, on all threads of the current rayon pool if there are many, and plain
    /// values by wide stores. Handles are as those of [`create_batch`](Self::create_batch), and so is everything,
    /// for any number of threads.
    ///
    /// All or none: if ids or memory run out, or if a `clone` panics, there is no new entity, and every clone is
    /// dropped. Observers see one batch. Chunk fragments of the prototype are what the chunks of a new archetype
    /// begin with, as for [`per_chunk`](Bundle::per_chunk): of two prototypes with the same fragments, the first one's.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let name = Value::cloneable(world.registry(), String::from("ant"))?;
    /// let ant = Prototype::new(world.registry(), DynamicBundle::new().with(name))?;
    /// let ants = world.create_copies(&ant, 100)?;
    /// assert_eq!(ants.len(), 100);
    /// for ant in ants.iter(&world) {
    ///     assert_eq!(world.get::<String>(ant)?, "ant");
    /// }
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`WorldError::OtherUniverse`] for a prototype of another universe;
    /// [`TooLarge`](crate::fragment::FragmentError::TooLarge) and
    /// [`TooAligned`](crate::fragment::FragmentError::TooAligned); no id or no memory is left.
    ///
    /// # Panics
    /// If a `clone` or, after all is created, an observer does.
    pub fn create_copies(
        &mut self,
        prototype: &Prototype,
        count: usize,
    ) -> Result<Batch, WorldError> {
        self.create_one_order(prototype, count, &[])
    }

    /// Creates `count` copies of a prototype with fragments that differ from copy to copy: `make` is called once for
    /// each, with its number `0..count`, and what it returns stands instead of the prototype's values, which are not
    /// cloned then. Fragments that the prototype lacks are added to the copies.
    ///
    /// What entities have together is the prototype's: a bundle with shared values or chunk fragments does not compile
    /// here. Copies with other shared values are those of another prototype, or get them afterwards, by
    /// [`add_slice`](Self::add_slice) with `|_| ().shared(value)`.
    ///
    /// `make` is called on any thread of the current rayon pool, in any order, and may run at the same time as itself. So it
    /// has no state of its own: what is to be random is made of the copy's number (a generator seeded by it, a hash of
    /// it), and is the same for any number of threads then. What is to be made one after the other, of an iterator for
    /// one, is given to [`Commands::create_copies_with`], whose closure may change what it holds. If `make` panics,
    /// there is no new entity, and all that it has made is dropped.
    ///
    /// [`Commands::create_copies_with`]: crate::command::Commands::create_copies_with
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let name = Value::cloneable(world.registry(), String::from("ant"))?;
    /// let ant = Prototype::new(world.registry(), DynamicBundle::new().with(name))?;
    /// let ants = world.create_copies_with(&ant, 100, |number| (number as f32 / 2.0,))?;
    /// let ninth = ants.iter(&world).nth(9).unwrap();
    /// assert_eq!(world.get::<f32>(ninth)?, &4.5);
    /// assert_eq!(world.get::<String>(ninth)?, "ant");
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`create_copies`](Self::create_copies); [`Twice`](crate::fragment::FragmentError::Twice),
    /// [`TooMany`](crate::fragment::FragmentError::TooMany).
    ///
    /// # Panics
    /// If `make`, a `clone` or, after all is created, an observer does.
    pub fn create_copies_with<B: Bundle>(
        &mut self,
        prototype: &Prototype,
        count: usize,
        make: impl Fn(usize) -> B + Sync,
    ) -> Result<Batch, WorldError> {
        let rows = MakeRows::new(make);
        let result = self.create_one_order(prototype, count, &[&rows]);
        after(rows, result)
    }

    fn create_one_order(
        &mut self,
        prototype: &Prototype,
        count: usize,
        writers: &[&dyn WriteRows],
    ) -> Result<Batch, WorldError> {
        let order = Order {
            prototype,
            count,
            writers,
        };
        let (mut batches, panicked) = self.create_orders(&[order])?;
        resume(panicked);
        match batches.pop() {
            Some(batch) => Ok(batch),
            None => unreachable!("a batch for each order"),
        }
    }

    /// Creates the copies of several orders: all or none. A batch for each, of which observers are told one after
    /// the other; and what those have panicked with.
    pub(crate) fn create_orders(
        &mut self,
        orders: &[Order<'_>],
    ) -> Result<(Vec<Batch>, Panicked), WorldError> {
        let Filled {
            archetypes,
            claims,
            panicked,
        } = self.fill_orders(orders, |_| ())?;
        let world = self.identity();
        let batches = archetypes.iter().zip(by_order(&claims, archetypes.len()));
        let batches = batches.map(|(&archetype, claims)| {
            let rows = claims.iter().map(|claim| claim.rows);
            Batch::of_rows(world, archetype, rows)
        });
        let batches = batches.collect();
        Ok((
            batches,
            first(panicked, self.tell_orders(&archetypes, &claims)),
        ))
    }

    /// Creates the copies of several orders, without telling anybody: all or none. `then` sees them when all are filled, and
    /// before they are there; if it panics, there are none.
    pub(super) fn fill_orders(
        &mut self,
        orders: &[Order<'_>],
        then: impl FnOnce(&Claims<'_>),
    ) -> Result<Filled, WorldError> {
        let total = orders.iter().map(|order| order.count);
        let total = total.fold(0, usize::saturating_add);
        if total > EntityIndex::CAPACITY {
            let capacity = EntityIndex::CAPACITY;
            return Err(Full { capacity }.into());
        }
        let mut written = Vec::with_capacity(orders.len());
        for order in orders {
            written.push(self.written_by(order)?);
        }
        let mut claims = Claims {
            world: self,
            all: Vec::new(),
            taken: Vec::new(),
        };
        let mut plans = Vec::with_capacity(orders.len());
        for (number, (order, written)) in orders.iter().zip(&written).enumerate() {
            plans.push(claims.of_order(number, order, written)?);
        }
        let (claims, panicked) = fill_all(claims, &plans, then);
        let archetypes = plans.iter().map(|plan| plan.archetype).collect();
        Ok(Filled {
            archetypes,
            claims,
            panicked,
        })
    }

    /// The fragments of each of an order's writers.
    fn written_by(&self, order: &Order<'_>) -> Result<Vec<Vec<FragmentId>>, WorldError> {
        let registry = self.registry();
        let prototype = order.prototype;
        prototype.refuse_foreign(registry)?;
        let mut written = Vec::with_capacity(order.writers.len());
        for writer in order.writers {
            let mut ids = Vec::new();
            writer.ids(registry, &mut ids)?;
            written.push(ids);
        }
        let mut all: Vec<FragmentId> = written.iter().flatten().copied().collect();
        all.sort_unstable();
        none_twice(registry, &all)?;
        Ok(written)
    }

    /// Takes a prototype's shared values in, and what chunks of a new archetype begin with: as
    /// [`take_in`](Self::take_in) does.
    pub(in crate::world) fn take_in_copies(&mut self, prototype: &Prototype) -> TakenIn {
        let mut taken = self.nothing_taken();
        let mut panicked = None;
        for value in &prototype.once {
            note(&mut panicked, || {
                self.bring_template(&mut taken, Arc::clone(value));
            });
        }
        let registry = self.universe.registry();
        for value in &prototype.shared {
            let Some(info) = registry.get(value.id()) else {
                continue;
            };
            note(&mut panicked, || {
                let number = self.shared.intern_shared(info, value);
                taken.shared.push((value.id(), number));
            });
        }
        self.all_taken(taken, panicked)
    }

    /// Tells observers of each order's entities.
    fn tell_orders(&mut self, archetypes: &[u32], claims: &[Claim]) -> Panicked {
        let mut panicked = None;
        for (&archetype, claims) in archetypes.iter().zip(by_order(claims, archetypes.len())) {
            panicked = first(panicked, self.tell_claims(archetype, claims.iter()));
        }
        panicked
    }

    /// Tells observers of the entities of each composition, in the order of the claims that are first of one.
    pub(super) fn tell_compositions(&mut self, claims: &[Claim]) -> Panicked {
        let mut by_composition = claims.to_vec();
        // Orders stay as they are, and the claims of each.
        by_composition.sort_by_key(|claim| claim.archetype);
        let mut batches: Vec<&[Claim]> = by_composition
            .chunk_by(|a, b| a.archetype == b.archetype)
            .collect();
        batches.sort_by_key(|claims| claims[0].order);
        let mut panicked = None;
        for claims in batches {
            let told = self.tell_claims(claims[0].archetype, claims.iter());
            panicked = first(panicked, told);
        }
        panicked
    }

    /// Tells observers of entities of an archetype, as one batch.
    fn tell_claims<'a>(
        &mut self,
        archetype: u32,
        claims: impl Iterator<Item = &'a Claim>,
    ) -> Panicked {
        if !self.watches(archetype, CREATED | SET) {
            return None;
        }
        let rows = claims.map(|claim| WatchedRows::new(archetype, claim.rows, NOWHERE));
        self.tell_new(rows.collect())
    }
}

impl Claims<'_> {
    /// Takes rows and ids for an order, and says how they are to be filled.
    fn of_order<'a>(
        &mut self,
        number: usize,
        order: &Order<'a>,
        written: &'a [Vec<FragmentId>],
    ) -> Result<Plan<'a>, WorldError> {
        let Self { world, all, taken } = self;
        let prototype = order.prototype;
        let mut ids: Vec<FragmentId> = prototype.ids.to_vec();
        ids.extend(written.iter().flatten());
        ids.sort_unstable();
        ids.dedup();
        let copies = world.take_in_copies(prototype);
        let key = TakenIn::key(&copies.shared);
        taken.push(copies);
        let bundle = world.bundles.number_of(&ids);
        let Completed { archetype, fills } = world.bundle_numbered(bundle)?;
        if order.count > 0 {
            let group = world.group_of(archetype, &key);
            Claims::take(world, all, number, (archetype, group), order.count)?;
        }
        let writers = order.writers.iter().copied();
        let writers = writers.zip(written.iter().map(Vec::as_slice));
        let data = &world.archetypes[archetype as usize];
        Ok(Plan::new(data, prototype, writers, fills))
    }
}

/// What became of a claim's values.
enum Outcome {
    Filled,
    /// An earlier one had panicked before.
    Skipped,
    /// None are left.
    Panicked(Box<dyn Any + Send>),
}

/// Fills all claims, or goes on with the first panic of users' code; then they are given back, without values.
///
/// `then` sees them when all are filled, and may panic as well.
fn fill_all(
    claims: Claims<'_>,
    plans: &[Plan<'_>],
    then: impl FnOnce(&Claims<'_>),
) -> (Vec<Claim>, Panicked) {
    let world = &*claims.world;
    let bytes = |claim: &Claim| claim.rows.count as usize * plans[claim.order].filling.bytes;
    let bytes: usize = claims.all.iter().map(bytes).sum();
    // Ordering: Relaxed, in both places: it only saves work. What was written is seen through the pool's own joins.
    //
    // How many claims there are from the first on that has panicked; 0: none has. Those before it are filled all the same:
    // one of them may panic, too, and which one comes first must not depend on threads.
    let stopped = AtomicUsize::new(0);
    let count = claims.all.len();
    let fill = |(number, claim): (usize, &Claim)| {
        let from_here = count - number;
        if from_here < stopped.load(Ordering::Relaxed) {
            return Outcome::Skipped;
        }
        let chunk = &world.archetypes[claim.archetype as usize].chunks[claim.rows.chunk as usize];
        let to = Target {
            chunk,
            first: claim.rows.first,
            count: claim.rows.count,
            past: bytes >= PAST,
        };
        // SAFETY: the claim's rows are nobody else's, and hold no values yet.
        match unsafe { plans[claim.order].fill(&to, claim.number) } {
            None => Outcome::Filled,
            Some(panic) => {
                stopped.fetch_max(from_here, Ordering::Relaxed);
                Outcome::Panicked(panic)
            }
        }
    };
    let is_many = claims.all.len() > 1 && bytes >= ALONE && fork_join::threads() > 1;
    let outcomes: Vec<Outcome> = match is_many {
        true => fork_join::map(claims.all.iter().enumerate().collect(), fill),
        false => claims.all.iter().enumerate().map(fill).collect(),
    };
    let mut panicked = None;
    // Ordering: as above.
    if stopped.load(Ordering::Relaxed) == 0 {
        note(&mut panicked, || then(&claims));
        if panicked.is_none() {
            return claims.settle();
        }
    }
    for (claim, outcome) in claims.all.iter().zip(outcomes) {
        let more = match outcome {
            Outcome::Panicked(panic) => Some(panic),
            Outcome::Filled => claims.drop_values(claim),
            Outcome::Skipped => None,
        };
        panicked = first(panicked, more);
    }
    drop(claims);
    resume(panicked);
    unreachable!("users' code has panicked");
}
