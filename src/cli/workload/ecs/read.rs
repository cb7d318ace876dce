//! `get_1m`, `iterate_1m`, `iterate_10m`: entities are looked at where they lie. The first round of each repetition is
//! not timed: who is quick does more rounds, and would share out among more what the first of them finds cold, and the
//! threads of whoever brings his own sleep until then.

use std::sync::Mutex;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{EcsContender, Tally, locked};
use crate::cli::measure::{Stopwatch, Subject, provide_processors};
use crate::cli::workload::{Shuffler, Unsupported};

/// The threads of a contender, of which none is left to itself alone.
fn pool(threads: usize) -> Result<Option<ThreadPool>, Unsupported> {
    if threads == 1 {
        return Ok(None);
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map(Some)
        .map_err(|error| Unsupported(error.to_string().into()))
}

/// The position of each of one million entities is looked up, in random order.
pub(super) struct Get<C: EcsContender> {
    world: Mutex<C>,
    ids: Vec<C::Id>,
    in_slices: bool,
    pool: Option<ThreadPool>,
    expected: Tally,
}

impl<C: EcsContender> Get<C> {
    pub(super) fn new(in_slices: bool, entities: u32, threads: usize) -> Result<Self, Unsupported> {
        let mut world = C::fresh();
        let mut ids = Vec::with_capacity(entities as usize);
        world.spawn_slice(0..entities, &mut ids);
        Shuffler::new(7).shuffle(&mut ids);
        Ok(Self {
            world: Mutex::new(world),
            ids,
            in_slices,
            pool: pool(threads)?,
            expected: super::positions(entities, 0),
        })
    }
}

impl<C: EcsContender> Subject for Get<C> {
    fn repeat(&self, worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        if worker > 0 {
            // The contender's threads do the work.
            watch.time(0, 0, || ());
            return;
        }
        let world = &mut *locked(&self.world);
        self.pool.as_ref().map(provide_processors);
        let mut round = || match (self.in_slices, &self.pool) {
            (false, None) => world.get_each(&self.ids),
            (false, Some(pool)) => world.get_each_on(pool, &self.ids),
            (true, None) => world.get_slice(&self.ids),
            (true, Some(pool)) => world.get_slice_on(pool, &self.ids),
        };
        assert_eq!(round(), self.expected);
        let sums = watch.time(0, rounds * self.ids.len() as u64, || {
            (0..rounds).fold(Tally::default(), |sums, _| sums.and(round()))
        });
        assert_eq!(sums.count, self.expected.count * rounds as usize);
        assert_eq!(sums.sum, self.expected.sum * rounds as f64);
    }
}

/// Velocity is added to the position of so many entities.
pub(super) struct Iterate<C> {
    course: Mutex<(C, u64)>,
    pool: Option<ThreadPool>,
    entities: u32,
}

impl<C: EcsContender> Iterate<C> {
    pub(super) fn new(entities: u32, threads: usize) -> Result<Self, Unsupported> {
        if threads > 1 {
            C::prepare_threads(threads)?;
        }
        let mut world = C::fresh();
        let mut ids = Vec::with_capacity(entities as usize);
        world.spawn_slice(0..entities, &mut ids);
        Ok(Self {
            course: Mutex::new((world, 0)),
            pool: pool(threads)?,
            entities,
        })
    }
}

impl<C: EcsContender> Subject for Iterate<C> {
    fn repeat(&self, worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        if worker > 0 {
            // The contender's threads do the work.
            watch.time(0, 0, || ());
            return;
        }
        let (world, steps) = &mut *locked(&self.course);
        self.pool.as_ref().map(provide_processors);
        let mut round = || match &self.pool {
            None => world.step(),
            Some(pool) => world.step_on(pool),
        };
        round();
        watch.time(0, rounds * u64::from(self.entities), || {
            (0..rounds).for_each(|_| round());
        });
        *steps += 1 + rounds;
        assert_eq!(world.positions(), super::positions(self.entities, *steps));
    }
}
