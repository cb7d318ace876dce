//! `spawn_templates`: one million agents of three kinds, by one batch for each kind and by one call of a spawner.

use core::marker::PhantomData;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{EcsContender, MILLION, Size, settle_on};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::Unsupported;

/// How agents of three kinds are created: a third each, with matrix, position, rotation, velocity and what their kind
/// has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crowd {
    /// One call for each kind, on one thread, with a bundle for each agent.
    Batches,
    /// One call, from templates; positions are those of a row.
    Spawner,
    /// The same, with positions in a disc.
    Disc,
}

/// The five rows.
pub(super) struct Rows<C> {
    world: PhantomData<fn() -> C>,
    entities: u32,
    pool: ThreadPool,
}

impl<C: EcsContender> Rows<C> {
    pub(super) fn new(size: Size, threads: usize) -> Result<Self, Unsupported> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        Ok(Self {
            world: PhantomData,
            entities: size.of(MILLION),
            pool: pool.map_err(|error| Unsupported(error.to_string().into()))?,
        })
    }

    fn row(&self, world: &mut C, row: usize, crowd: Crowd, watch: &mut Stopwatch<'_>) {
        let took = world.spawn_crowd(&self.pool, self.entities, crowd);
        watch.record(row, u64::from(self.entities), took);
        let there = world.positions();
        match crowd {
            Crowd::Disc => assert_eq!(there.count, self.entities as usize),
            _ => assert_eq!(there, super::positions(self.entities, 0)),
        }
        world.clear();
    }
}

impl<C: EcsContender> Subject for Rows<C> {
    fn repeat(&self, worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        if worker > 0 {
            return;
        }
        for (row, crowd) in [Crowd::Batches, Crowd::Spawner].into_iter().enumerate() {
            // The one before is gone: neither finds what it has left.
            settle_on(&self.pool, self.entities);
            let world = &mut C::fresh();
            self.row(world, row, crowd, watch);
            self.row(world, row + 2, crowd, watch);
            if crowd == Crowd::Spawner {
                self.row(world, 4, Crowd::Disc, watch);
            }
        }
    }

    fn is_fixed(&self) -> bool {
        true
    }
}
