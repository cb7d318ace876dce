//! `query_beside`: positions are stepped on one thread, while nothing else happens, while another thread creates
//! entities, and while another writes as many bytes: what creation costs a query beyond memory bandwidth.

use core::ops::Range;
use core::time::Duration;
use std::sync::{Barrier, Mutex};
use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{EcsContender, MILLION, Size, locked};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::Unsupported;

/// What the other thread does.
#[derive(Debug)]
pub enum Beside<'a> {
    /// Nothing.
    Nothing,
    /// It writes to all of this memory.
    Writing(&'a mut [u8]),
    /// It creates an entity with matrix, position, rotation and velocity for each of these numbers, one by one.
    Creating(Range<u32>),
}

impl Beside<'_> {
    /// Runs `query` on this thread and the rest on the one of `pool`, both from the same moment on; how long the
    /// query took.
    pub fn run(
        self,
        pool: &ThreadPool,
        create: impl FnOnce(Range<u32>) + Send,
        query: impl FnOnce(),
    ) -> Duration {
        let meet = &Barrier::new(2);
        pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                meet.wait();
                match self {
                    Self::Nothing => {}
                    Self::Writing(bytes) => {
                        bytes.fill(1);
                        core::hint::black_box(bytes);
                    }
                    Self::Creating(numbers) => create(numbers),
                }
            });
            meet.wait();
            let begin = Instant::now();
            query();
            begin.elapsed()
        })
    }
}

/// Times that all positions are stepped: about as long as it takes to create half as many entities.
const ROUNDS: u32 = 8;
/// Bytes of an entity, with its handle.
const BYTES: usize = 108;

/// The three rows.
pub(super) struct Rows<C> {
    world: Mutex<(C, Vec<u8>)>,
    entities: u32,
    pool: ThreadPool,
}

impl<C: EcsContender> Rows<C> {
    pub(super) fn new(size: Size) -> Result<Self, Unsupported> {
        let pool = ThreadPoolBuilder::new().num_threads(1).build();
        let entities = size.of(MILLION);
        Ok(Self {
            world: Mutex::new((C::fresh(), vec![0; entities as usize / 2 * BYTES])),
            entities,
            pool: pool.map_err(|error| Unsupported(error.to_string().into()))?,
        })
    }

    fn new_numbers(&self) -> Range<u32> {
        self.entities..self.entities / 2 * 3
    }
}

impl<C: EcsContender> Subject for Rows<C> {
    fn repeat(&self, worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        if worker > 0 {
            return;
        }
        let (world, bytes) = &mut *locked(&self.world);
        let mut ids = Vec::with_capacity(self.entities as usize);
        // The memory of what will be created is there.
        world.clear();
        world.step_beside(&self.pool, 1, Beside::Creating(self.new_numbers()));
        world.flush(&self.pool);
        world.clear();
        world.spawn_slice(0..self.entities, &mut ids);
        // The first query after a creation is slower: by no fault of who is beside it.
        world.step_beside(&self.pool, ROUNDS, Beside::Nothing);
        let operations = u64::from(self.entities) * u64::from(ROUNDS);
        let cases = [
            Beside::Nothing,
            Beside::Writing(bytes),
            Beside::Creating(self.new_numbers()),
        ];
        for (row, beside) in cases.into_iter().enumerate() {
            let took = world.step_beside(&self.pool, ROUNDS, beside);
            watch.record(row, operations, took);
        }
        let stepped = super::positions(self.entities, 4 * u64::from(ROUNDS));
        assert_eq!(world.positions(), stepped);
        world.flush(&self.pool);
        assert_eq!(world.positions().count, self.entities as usize / 2 * 3);
    }

    fn is_fixed(&self) -> bool {
        true
    }
}
