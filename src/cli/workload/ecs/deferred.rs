//! `deferred_*`: changes are recorded on as many threads as the row says, and applied.

use std::sync::Mutex;
use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::population::Population;
use super::{EcsContender, MILLION, Size, Tally, locked, settle_on};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::Unsupported;

/// What is recorded, one command for each entity if nothing else is said.
#[derive(Debug)]
pub enum Deferred<'a, I> {
    /// An entity with matrix, position, rotation and velocity is created for each of so many numbers.
    Spawn(core::ops::Range<u32>),
    /// Entities are destroyed.
    Despawn(&'a [I]),
    /// Entities get a component of `f32`.
    Insert(&'a [I]),
    /// They lose it.
    Remove(&'a [I]),
    /// They get it and lose it, twice; and get it four times more: eight commands each.
    Eight(&'a [I]),
    /// Some of each.
    Mix(&'a [Mixed<I>]),
}

/// One command of [`Deferred::Mix`].
#[derive(Clone, Copy, Debug)]
pub enum Mixed<I> {
    /// An entity is created for this number.
    Spawn(u32),
    /// An entity is destroyed.
    Despawn(I),
    /// An entity gets a component of `f32`.
    Insert(I),
    /// It loses it.
    Remove(I),
}

/// What a row measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeferredCase {
    /// [`Deferred::Spawn`], cold and warm.
    Spawn {
        /// Of five million, and not of one: what a flush costs for each further million shows there.
        many: bool,
    },
    /// [`Deferred::Despawn`], twice, in the order of creation or in no order.
    Despawn {
        /// In no order.
        random: bool,
    },
    /// [`Deferred::Insert`] and [`Deferred::Remove`], twice, in either order.
    Change {
        /// In no order.
        random: bool,
    },
    /// [`Deferred::Eight`].
    Eight,
    /// [`Deferred::Mix`], twice: of ten commands three create, three destroy, two add, two remove, in no order.
    Mix,
}

impl DeferredCase {
    /// The rows that it fills, three for each step: recording, applying, both.
    pub(super) fn rows(self) -> Vec<String> {
        let steps: &[&str] = match self {
            Self::Spawn { many: false } => &["deferred_spawn/cold", "deferred_spawn/warm"],
            Self::Spawn { many: true } => &["deferred_spawn_5m/cold", "deferred_spawn_5m/warm"],
            Self::Despawn { random: false } => &["deferred_despawn/cold", "deferred_despawn/warm"],
            Self::Despawn { random: true } => &[
                "deferred_despawn/random_cold",
                "deferred_despawn/random_warm",
            ],
            Self::Change { random: false } => &[
                "deferred_insert/cold",
                "deferred_remove/cold",
                "deferred_insert/warm",
                "deferred_remove/warm",
            ],
            Self::Change { random: true } => &[
                "deferred_insert/random_cold",
                "deferred_remove/random_cold",
                "deferred_insert/random_warm",
                "deferred_remove/random_warm",
            ],
            Self::Eight => &["deferred_eight"],
            Self::Mix => &["deferred_mix/cold", "deferred_mix/warm"],
        };
        steps
            .iter()
            .flat_map(|step| {
                [
                    step.to_string(),
                    format!("{step}:record"),
                    format!("{step}:flush"),
                ]
            })
            .collect()
    }
}

/// One of the cases.
pub(super) struct Recorded<C: EcsContender> {
    case: DeferredCase,
    population: Population,
    pool: ThreadPool,
    /// Room for handles.
    ids: Mutex<Vec<C::Id>>,
}

impl<C: EcsContender> Recorded<C> {
    pub(super) fn new(case: DeferredCase, threads: usize, size: Size) -> Result<Self, Unsupported> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let entities = match case {
            DeferredCase::Spawn { many: true } => size.of(5 * MILLION),
            _ => size.of(MILLION),
        };
        let population = match case {
            DeferredCase::Despawn { random: true }
            | DeferredCase::Change { random: true }
            | DeferredCase::Mix => Population::shuffled(entities),
            _ => Population::in_order(entities),
        };
        Ok(Self {
            case,
            population,
            pool: pool.map_err(|error| Unsupported(error.to_string().into()))?,
            ids: Mutex::new(Vec::with_capacity(entities as usize)),
        })
    }

    /// Records and applies; the step's three rows.
    fn step(
        &self,
        world: &mut C,
        step: usize,
        watch: &mut Stopwatch<'_>,
        what: Deferred<'_, C::Id>,
    ) {
        let commands = u64::from(self.population.entities)
            * match what {
                Deferred::Eight(_) => 8,
                _ => 1,
            };
        let begin = Instant::now();
        world.record(&self.pool, what);
        let recorded = begin.elapsed();
        let flushed = world.flush_timed(&self.pool);
        watch.record(3 * step, commands, recorded + flushed);
        watch.record(3 * step + 1, commands, recorded);
        watch.record(3 * step + 2, commands, flushed);
    }

    /// The same before, so that all memory is there.
    fn untimed(&self, world: &mut C, what: Deferred<'_, C::Id>) {
        world.record(&self.pool, what);
        world.flush(&self.pool);
    }

    /// All steps of the case, on a thread of the pool.
    fn run(&self, watch: &mut Stopwatch<'_>) {
        let ids = &mut *locked(&self.ids);
        let population = &self.population;
        let entities = population.entities;
        let all = super::positions(entities, 0);
        match self.case {
            DeferredCase::Spawn { .. } => {
                let mut world = C::fresh();
                self.step(&mut world, 0, watch, Deferred::Spawn(0..entities));
                assert_eq!(world.positions(), all);
                world.clear();
                self.step(&mut world, 1, watch, Deferred::Spawn(0..entities));
                assert_eq!(world.positions(), all);
            }
            DeferredCase::Despawn { .. } => {
                let mut world = C::fresh();
                let named = population.create(&mut world, ids);
                self.step(&mut world, 0, watch, Deferred::Despawn(&named));
                assert_eq!(world.positions(), Tally::default());
                let named = population.create(&mut world, ids);
                self.step(&mut world, 1, watch, Deferred::Despawn(&named));
                assert_eq!(world.positions(), Tally::default());
            }
            DeferredCase::Change { .. } => {
                let mut world = C::fresh();
                let named = population.create(&mut world, ids);
                for round in [0, 1] {
                    self.step(&mut world, 2 * round, watch, Deferred::Insert(&named));
                    assert_eq!(world.extras(), super::extras(named.len()));
                    self.step(&mut world, 2 * round + 1, watch, Deferred::Remove(&named));
                    assert_eq!(world.extras(), Tally::default());
                }
                assert_eq!(world.positions(), all);
            }
            DeferredCase::Mix => {
                let mut world = C::fresh();
                for round in [0, 1] {
                    let mixed = population.mix(&mut world, ids);
                    self.step(&mut world, round, watch, Deferred::Mix(&mixed));
                    population.assert_mixed(&mut world);
                    world.clear();
                }
            }
            DeferredCase::Eight => {
                let mut world = C::fresh();
                let named = population.create(&mut world, ids);
                self.untimed(&mut world, Deferred::Eight(&named));
                self.untimed(&mut world, Deferred::Remove(&named));
                self.step(&mut world, 0, watch, Deferred::Eight(&named));
                assert_eq!(world.extras(), super::extras(named.len()));
                assert_eq!(world.positions(), all);
            }
        }
    }
}

impl<C: EcsContender> Subject for Recorded<C> {
    fn repeat(&self, worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        // The contender's threads do the work, all of it: one that waited for them would take a processor from them
        // while the system finds out.
        if worker == 0 {
            settle_on(&self.pool, self.population.entities);
            self.pool.install(|| self.run(watch));
        }
    }

    fn is_fixed(&self) -> bool {
        true
    }
}
