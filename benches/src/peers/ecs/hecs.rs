//! `hecs` 0.11: prepared queries, views for random access. Loops are `for_each`: its changelog says that whatever goes by
//! `fold` is far quicker than a `for` loop over the same query.

use core::cell::RefCell;
use core::ops::Range;

use hecs::{CommandBuffer, Entity, PreparedQuery, World};
use megachunk::cli::workload::Unsupported;
use megachunk::cli::workload::ecs::{
    Deferred, EcsAbilities, EcsContender, Mixed, Systems, SystemsCase, Tally, in_parts, values,
};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::components::{
    Data, Extra, Kind, Position, Small, Velocity, bodies, body, moving, of_kind,
};
use super::systems::hecs as systems;

mod saved;

/// Entities that a thread takes at a time: enough that taking them costs nothing.
const BATCH: u32 = 8_192;

thread_local! {
    // A prepared query stays on the thread that made it, and serves any world.
    static MOVING: RefCell<PreparedQuery<(&'static mut Position, &'static Velocity)>> =
        RefCell::default();
    static DATA: RefCell<PreparedQuery<&'static mut Data>> = RefCell::default();
}

/// A world, and a buffer for each thread that has recorded.
#[derive(Default)]
pub(crate) struct Hecs(World, Vec<CommandBuffer>);

fn get(world: &World, ids: &[Entity]) -> Tally {
    let view = world.view::<&Position>();
    let mut tally = Tally::default();
    for &id in ids {
        tally.add(view.get(id).expect("it lives").0[0]);
    }
    tally
}

/// Records one command of a mix.
#[inline(always)]
fn record(buffer: &mut CommandBuffer, mixed: Mixed<Entity>) {
    match mixed {
        Mixed::Spawn(number) => buffer.spawn(body(number)),
        Mixed::Despawn(id) => buffer.despawn(id),
        Mixed::Insert(id) => buffer.insert_one(id, Extra(values::EXTRA)),
        Mixed::Remove(id) => buffer.remove_one::<Extra>(id),
    }
}

impl EcsContender for Hecs {
    type Id = Entity;

    const NAME: &'static str = "hecs";
    const ABILITIES: EcsAbilities = EcsAbilities {
        records: true,
        creates_on_threads: true,
        serializes: true,
        ..EcsAbilities::SINGLE
    };

    fn fresh() -> Self {
        Self::default()
    }

    fn spawn_slice(&mut self, numbers: Range<u32>, out: &mut Vec<Entity>) {
        out.extend(self.0.spawn_batch(bodies(numbers)));
    }

    fn spawn_each(&mut self, numbers: Range<u32>, out: &mut Vec<Entity>) {
        out.extend(numbers.map(|number| self.0.spawn(body(number))));
    }

    fn spawn_moving(&mut self, count: u32) -> Vec<Entity> {
        self.0.spawn_batch(moving(count)).collect()
    }

    fn spawn_small(&mut self, count: u32) -> Vec<Entity> {
        self.0
            .spawn_batch((0..count).map(|_| (Small(0.0),)))
            .collect()
    }

    fn spawn_kind<const N: usize>(&mut self, count: u32) {
        self.0.spawn_batch(of_kind::<N>(count));
    }

    fn mark<const N: usize>(&mut self, ids: &[Entity]) {
        for &id in ids {
            let marked = self.0.insert_one(id, Kind::<N>(values::KIND));
            marked.expect("it lives");
        }
    }

    fn despawn_each(&mut self, ids: &[Entity]) -> usize {
        let died = ids.iter().filter(|&&id| self.0.despawn(id).is_ok());
        died.count()
    }

    fn save(&mut self) -> Vec<u8> {
        saved::save(&self.0)
    }

    fn load(bytes: &[u8]) -> Self {
        Self(saved::load(bytes), Vec::new())
    }

    fn lives(&mut self, id: Entity) -> bool {
        self.0.contains(id)
    }

    fn clear(&mut self) {
        // `World::clear` takes a few nanoseconds an entity, and lets every handle come back to life, as it says. From the
        // last row on, so that nobody is moved into a gap, and the next ids are in order.
        let mut all = Vec::with_capacity(self.0.len() as usize);
        all.extend(self.0.query_mut::<Entity>());
        for &id in all.iter().rev() {
            self.0.despawn(id).expect("it lives");
        }
    }

    fn add_each(&mut self, ids: &[Entity]) {
        for &id in ids {
            let added = self.0.insert_one(id, Extra(values::EXTRA));
            added.expect("it lives");
        }
    }

    fn remove_each(&mut self, ids: &[Entity]) {
        for &id in ids {
            self.0.remove_one::<Extra>(id).expect("it has one");
        }
    }

    fn record(&mut self, pool: &ThreadPool, what: Deferred<'_, Entity>) {
        let threads = pool.current_num_threads();
        self.1.resize_with(threads, CommandBuffer::new);
        let buffers = &mut self.1;
        let mut each = |ids: &[Entity], run: &(dyn Fn(&mut CommandBuffer, &[Entity]) + Sync)| {
            let parts = ids.par_chunks(ids.len().div_ceil(threads).max(1));
            let parts = parts.zip(buffers.par_iter_mut());
            pool.install(|| parts.for_each(|(ids, buffer)| run(buffer, ids)));
        };
        match what {
            Deferred::Spawn(numbers) => {
                let part = numbers.len().div_ceil(threads).max(1) as u32;
                let parts = buffers.par_iter_mut().zip(0_u32..threads as u32);
                let spawn = |(buffer, at): (&mut CommandBuffer, u32)| {
                    let first = numbers.start + at * part;
                    for number in first..numbers.end.min(first + part) {
                        buffer.spawn(body(number));
                    }
                };
                pool.install(|| parts.for_each(spawn));
            }
            Deferred::Despawn(ids) => each(ids, &|buffer, ids| {
                ids.iter().for_each(|&id| buffer.despawn(id));
            }),
            Deferred::Insert(ids) => each(ids, &|buffer, ids| {
                for &id in ids {
                    buffer.insert_one(id, Extra(values::EXTRA));
                }
            }),
            Deferred::Remove(ids) => each(ids, &|buffer, ids| {
                for &id in ids {
                    buffer.remove_one::<Extra>(id);
                }
            }),
            Deferred::Eight(ids) => each(ids, &|buffer, ids| {
                for &id in ids {
                    for _ in 0..2 {
                        buffer.insert_one(id, Extra(0.0));
                        buffer.remove_one::<Extra>(id);
                    }
                    for value in [1.0, 2.0, 3.0, values::EXTRA] {
                        buffer.insert_one(id, Extra(value));
                    }
                }
            }),
            Deferred::Mix(mixed) => {
                let parts = mixed.par_chunks(mixed.len().div_ceil(threads).max(1));
                let parts = parts.zip(buffers.par_iter_mut());
                let run = |(part, buffer): (&[Mixed<Entity>], &mut CommandBuffer)| {
                    part.iter().for_each(|&mixed| record(buffer, mixed));
                };
                pool.install(|| parts.for_each(run));
            }
        }
    }

    fn flush(&mut self, _pool: &ThreadPool) {
        for buffer in &mut self.1 {
            buffer.run_on(&mut self.0);
        }
    }

    fn flush_few(&mut self, commands: &[Mixed<Entity>], few: usize) {
        let mut buffer = CommandBuffer::new();
        for few in commands.chunks(few) {
            few.iter().for_each(|&mixed| record(&mut buffer, mixed));
            buffer.run_on(&mut self.0);
        }
    }

    fn get_each(&mut self, ids: &[Entity]) -> Tally {
        get(&self.0, ids)
    }

    fn get_each_on(&mut self, pool: &ThreadPool, ids: &[Entity]) -> Tally {
        let world = &self.0;
        in_parts(pool, ids, |ids| get(world, ids))
    }

    fn step(&mut self) {
        MOVING.with_borrow_mut(|moving| {
            let moving = moving.query_mut(&mut self.0).into_iter();
            moving.for_each(|(position, velocity)| {
                values::step(&mut position.0, &velocity.0);
            });
        });
    }

    fn step_on(&mut self, pool: &ThreadPool) {
        pool.install(|| {
            let query = self.0.query_mut::<(&mut Position, &Velocity)>();
            let batches = query.into_iter_batched(BATCH).par_bridge();
            batches.for_each(|batch| {
                batch.for_each(|(position, velocity)| {
                    values::step(&mut position.0, &velocity.0);
                });
            });
        });
    }

    fn systems(case: SystemsCase, threads: usize) -> Result<Box<dyn Systems>, Unsupported> {
        systems::systems(case, threads)
    }

    fn double(&mut self) {
        DATA.with_borrow_mut(|data| {
            let data = data.query_mut(&mut self.0).into_iter();
            data.for_each(|data| data.0 *= 2.0);
        });
    }

    fn count_anew(&mut self) -> usize {
        // Others are remembered by the world.
        let mut query = PreparedQuery::<(&mut Position, &Velocity)>::new();
        query.query_mut(&mut self.0).len()
    }

    fn positions(&mut self) -> Tally {
        let positions = self.0.query_mut::<&Position>().into_iter();
        Tally::of(positions.map(|position| position.0[0]))
    }

    fn extras(&mut self) -> Tally {
        let extras = self.0.query_mut::<&Extra>().into_iter();
        Tally::of(extras.map(|extra| extra.0))
    }

    fn data(&mut self) -> Tally {
        Tally::of(self.0.query_mut::<&Data>().into_iter().map(|data| data.0))
    }
}
