//! `legion` 0.4: queries that are kept, and run over chunks; a command buffer for each thread. Position and velocity are a
//! group, and worlds of many archetypes are packed: its documentation recommends that against fragmentation.

use core::ops::Range;

use legion::storage::{GroupSource, PackOptions};
use legion::systems::CommandBuffer;
use legion::world::{EntityAccessError, WorldOptions};
use legion::{Entity, IntoQuery, Resources, World, query::Query, query::Read, query::Write};
use megachunk::cli::workload::Unsupported;
use megachunk::cli::workload::ecs::{
    Deferred, EcsAbilities, EcsContender, Mixed, Systems, SystemsCase, Tally, in_parts, values,
};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::components::{
    Data, Extra, Kind, Position, Small, Velocity, bodies, body, moving, numbers_of, of_kind,
    part_of,
};
use super::systems::legion as systems;

type Moving = Query<
    (Write<Position>, Read<Velocity>),
    <(Write<Position>, Read<Velocity>) as legion::query::DefaultFilter>::Filter,
>;

/// A world, its queries, and a buffer for each thread that has recorded.
pub(crate) struct Legion {
    world: World,
    buffers: Vec<CommandBuffer>,
    moving: Moving,
    data: Query<Write<Data>, <Write<Data> as legion::query::DefaultFilter>::Filter>,
}

fn get(world: &World, ids: &[Entity]) -> Tally {
    let mut positions = <&Position>::query();
    let mut tally = Tally::default();
    for &id in ids {
        let position: Result<_, EntityAccessError> = positions.get(world, id);
        tally.add(position.expect("it lives").0[0]);
    }
    tally
}

/// Records one command of a mix.
#[inline(always)]
fn record_one(buffer: &mut CommandBuffer, mixed: Mixed<Entity>) {
    match mixed {
        Mixed::Spawn(number) => {
            buffer.push(body(number));
        }
        Mixed::Despawn(id) => buffer.remove(id),
        Mixed::Insert(id) => buffer.add_component(id, Extra(values::EXTRA)),
        Mixed::Remove(id) => buffer.remove_component::<Extra>(id),
    }
}

/// Records the part of thread `at` of so many.
fn record(buffer: &mut CommandBuffer, what: &Deferred<'_, Entity>, at: usize, threads: usize) {
    let part = |ids| part_of(ids, at, threads).iter().copied();
    match what {
        Deferred::Spawn(all) => numbers_of(all, at, threads).for_each(|number| {
            buffer.push(body(number));
        }),
        Deferred::Despawn(ids) => part(ids).for_each(|id| buffer.remove(id)),
        Deferred::Insert(ids) => {
            part(ids).for_each(|id| buffer.add_component(id, Extra(values::EXTRA)));
        }
        Deferred::Remove(ids) => part(ids).for_each(|id| buffer.remove_component::<Extra>(id)),
        Deferred::Eight(ids) => part(ids).for_each(|id| {
            for _ in 0..2 {
                buffer.add_component(id, Extra(0.0));
                buffer.remove_component::<Extra>(id);
            }
            for value in [1.0, 2.0, 3.0, values::EXTRA] {
                buffer.add_component(id, Extra(value));
            }
        }),
        Deferred::Mix(mixed) => {
            for &mixed in part_of(mixed, at, threads) {
                record_one(buffer, mixed);
            }
        }
    }
}

impl EcsContender for Legion {
    type Id = Entity;

    const NAME: &'static str = "legion";
    const ABILITIES: EcsAbilities = EcsAbilities {
        records: true,
        creates_on_threads: true,
        schedules: true,
        ..EcsAbilities::SINGLE
    };

    fn fresh() -> Self {
        Self {
            world: World::new(WorldOptions {
                groups: vec![<(Position, Velocity)>::to_group()],
            }),
            buffers: Vec::new(),
            moving: <(Write<Position>, Read<Velocity>)>::query(),
            data: <Write<Data>>::query(),
        }
    }

    fn settled(&mut self) {
        self.world.pack(PackOptions::force());
    }

    fn spawn_slice(&mut self, numbers: Range<u32>, out: &mut Vec<Entity>) {
        out.extend_from_slice(self.world.extend(bodies(numbers)));
    }

    fn spawn_each(&mut self, numbers: Range<u32>, out: &mut Vec<Entity>) {
        out.extend(numbers.map(|number| self.world.push(body(number))));
    }

    fn spawn_moving(&mut self, count: u32) -> Vec<Entity> {
        self.world.extend(moving(count)).to_vec()
    }

    fn spawn_small(&mut self, count: u32) -> Vec<Entity> {
        let small = (0..count).map(|_| (Small(0.0),));
        self.world.extend(small).to_vec()
    }

    fn spawn_kind<const N: usize>(&mut self, count: u32) {
        self.world.extend(of_kind::<N>(count));
    }

    fn mark<const N: usize>(&mut self, ids: &[Entity]) {
        for &id in ids {
            let mut entry = self.world.entry(id).expect("it lives");
            entry.add_component(Kind::<N>(values::KIND));
        }
    }

    fn despawn_each(&mut self, ids: &[Entity]) -> usize {
        ids.iter().filter(|&&id| self.world.remove(id)).count()
    }

    fn lives(&mut self, id: Entity) -> bool {
        self.world.contains(id)
    }

    fn clear(&mut self) {
        self.world.clear();
    }

    fn add_each(&mut self, ids: &[Entity]) {
        for &id in ids {
            let mut entry = self.world.entry(id).expect("it lives");
            entry.add_component(Extra(values::EXTRA));
        }
    }

    fn remove_each(&mut self, ids: &[Entity]) {
        for &id in ids {
            let mut entry = self.world.entry(id).expect("it lives");
            entry.remove_component::<Extra>();
        }
    }

    fn record(&mut self, pool: &ThreadPool, what: Deferred<'_, Entity>) {
        let threads = pool.current_num_threads();
        let world = &self.world;
        self.buffers
            .resize_with(threads, || CommandBuffer::new(world));
        let buffers = self.buffers.par_iter_mut().enumerate();
        pool.install(|| buffers.for_each(|(at, buffer)| record(buffer, &what, at, threads)));
    }

    fn flush(&mut self, _pool: &ThreadPool) {
        // They stay on the thread that made them, and there are none.
        let mut resources = Resources::default();
        for buffer in &mut self.buffers {
            buffer.flush(&mut self.world, &mut resources);
        }
    }

    fn flush_few(&mut self, commands: &[Mixed<Entity>], few: usize) {
        let mut buffer = CommandBuffer::new(&self.world);
        let mut resources = Resources::default();
        for few in commands.chunks(few) {
            few.iter().for_each(|&mixed| record_one(&mut buffer, mixed));
            buffer.flush(&mut self.world, &mut resources);
        }
    }

    fn get_each(&mut self, ids: &[Entity]) -> Tally {
        get(&self.world, ids)
    }

    fn get_each_on(&mut self, pool: &ThreadPool, ids: &[Entity]) -> Tally {
        let world = &self.world;
        in_parts(pool, ids, |ids| get(world, ids))
    }

    fn step(&mut self) {
        self.moving
            .for_each_mut(&mut self.world, |(position, velocity)| {
                values::step(&mut position.0, &velocity.0);
            });
    }

    fn step_on(&mut self, pool: &ThreadPool) {
        pool.install(|| {
            self.moving
                .par_for_each_mut(&mut self.world, |(position, velocity)| {
                    values::step(&mut position.0, &velocity.0);
                });
        });
    }

    fn systems(case: SystemsCase, threads: usize) -> Result<Box<dyn Systems>, Unsupported> {
        systems::systems(case, threads)
    }

    fn double(&mut self) {
        self.data
            .for_each_mut(&mut self.world, |data| data.0 *= 2.0);
    }

    fn count_anew(&mut self) -> usize {
        let mut query = <(&mut Position, &Velocity)>::query();
        let chunks = query.iter_chunks_mut(&mut self.world);
        chunks.map(|chunk| chunk.archetype().entities().len()).sum()
    }

    fn positions(&mut self) -> Tally {
        let mut positions = <&Position>::query();
        let positions = positions.iter(&self.world);
        Tally::of(positions.map(|position| position.0[0]))
    }

    fn extras(&mut self) -> Tally {
        let mut extras = <&Extra>::query();
        Tally::of(extras.iter(&self.world).map(|extra| extra.0))
    }

    fn data(&mut self) -> Tally {
        let mut data = <&Data>::query();
        Tally::of(data.iter(&self.world).map(|data| data.0))
    }
}
