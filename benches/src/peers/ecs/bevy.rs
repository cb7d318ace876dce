//! `bevy_ecs` 0.20: query states that are kept, contiguous iteration where it helps.

use core::ops::Range;

use bevy_ecs::entity::Entity;
use bevy_ecs::query::{QueryState, With};
use bevy_ecs::system::Commands;
use bevy_ecs::world::{CommandQueue, World};
use bevy_tasks::{ComputeTaskPool, TaskPoolBuilder};
use megachunk::cli::workload::Unsupported;
use megachunk::cli::workload::ecs::{
    Deferred, EcsAbilities, EcsContender, Mixed, Solving, Systems, SystemsCase, Tally, in_parts,
    values,
};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::components::{
    Data, Extra, Kind, Position, Small, Velocity, bodies, body, moving, of_kind,
};
use super::systems::bevy as systems;

/// Components are kept in tables if they do not ask for anything else.
pub(super) const IN_TABLES: &str = "all components lie in tables";

/// From so many archetypes on, tables are too small for contiguous iteration to pay; measured.
const MANY: usize = 100;

/// A world, and the queries that were made so far.
#[derive(Default)]
pub(crate) struct Bevy {
    world: World,
    moving: Option<QueryState<(&'static mut Position, &'static Velocity)>>,
    data: Option<QueryState<&'static mut Data>>,
    positions: Option<QueryState<&'static Position>>,
    /// One for each thread that has recorded.
    queues: Vec<CommandQueue>,
}

fn get_each(world: &World, positions: &QueryState<&Position>, ids: &[Entity]) -> Tally {
    let query = positions.query_manual(world);
    let mut tally = Tally::default();
    for &id in ids {
        tally.add(query.get(id).expect("it lives").0[0]);
    }
    tally
}

fn get_slice(world: &World, positions: &QueryState<&Position>, ids: &[Entity]) -> Tally {
    let found = positions.iter_many_manual(world, ids);
    Tally::of(found.map(|position| position.expect("it lives").0[0]))
}

/// Records one command of a mix.
#[inline(always)]
fn record(commands: &mut Commands<'_, '_>, mixed: Mixed<Entity>) {
    match mixed {
        Mixed::Spawn(number) => {
            commands.spawn(body(number));
        }
        Mixed::Despawn(id) => commands.entity(id).despawn(),
        Mixed::Insert(id) => {
            commands.entity(id).insert(Extra(values::EXTRA));
        }
        Mixed::Remove(id) => {
            commands.entity(id).remove::<Extra>();
        }
    }
}

impl Bevy {
    /// The world, and the query of positions, which knows all of its archetypes.
    fn known_positions(&mut self) -> (&World, &QueryState<&'static Position>) {
        let world = &mut self.world;
        let positions = self.positions.get_or_insert_with(|| world.query());
        positions.update_archetypes(world);
        (world, positions)
    }
}

impl EcsContender for Bevy {
    type Id = Entity;

    const NAME: &'static str = "bevy_ecs";
    const ABILITIES: EcsAbilities = EcsAbilities {
        despawns_slices: false,
        adds_to_slices: true,
        removes_from_slices: false,
        looks_slices_up: true,
        records: true,
        creates_on_threads: true,
        creates_beside_queries: false,
        schedules: true,
        solves: true,
        ..EcsAbilities::SINGLE
    };

    fn fresh() -> Self {
        Self::default()
    }

    fn prepare_threads(threads: usize) -> Result<(), Unsupported> {
        let pool =
            ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(threads).build());
        match pool.thread_num() == threads {
            true => Ok(()),
            false => Err(Unsupported::because(
                "has one pool of threads for the process, made for another number",
            )),
        }
    }

    fn spawn_slice(&mut self, numbers: Range<u32>, out: &mut Vec<Entity>) {
        out.extend(self.world.spawn_batch(bodies(numbers)));
    }

    fn spawn_each(&mut self, numbers: Range<u32>, out: &mut Vec<Entity>) {
        out.extend(numbers.map(|number| self.world.spawn(body(number)).id()));
    }

    fn spawn_moving(&mut self, count: u32) -> Vec<Entity> {
        self.world.spawn_batch(moving(count)).collect()
    }

    fn spawn_small(&mut self, count: u32) -> Vec<Entity> {
        self.world
            .spawn_batch((0..count).map(|_| Small(0.0)))
            .collect()
    }

    fn spawn_kind<const N: usize>(&mut self, count: u32) {
        self.world.spawn_batch(of_kind::<N>(count));
    }

    fn mark<const N: usize>(&mut self, ids: &[Entity]) {
        for &id in ids {
            self.world.entity_mut(id).insert(Kind::<N>(values::KIND));
        }
    }

    fn despawn_each(&mut self, ids: &[Entity]) -> usize {
        let died = ids.iter().filter(|&&id| self.world.try_despawn(id).is_ok());
        died.count()
    }

    fn lives(&mut self, id: Entity) -> bool {
        self.world.entities().contains_spawned(id)
    }

    fn clear(&mut self) {
        // `clear_entities` takes microseconds, but takes resources too and lets every handle come
        // back to life.
        self.world.despawn_all::<With<Position>>();
    }

    fn add_each(&mut self, ids: &[Entity]) {
        for &id in ids {
            self.world.entity_mut(id).insert(Extra(values::EXTRA));
        }
    }

    fn remove_each(&mut self, ids: &[Entity]) {
        for &id in ids {
            self.world.entity_mut(id).remove::<Extra>();
        }
    }

    fn add_slice(&mut self, ids: &[Entity]) {
        let batch = ids.iter().map(|&id| (id, Extra(values::EXTRA)));
        self.world.insert_batch(batch);
    }

    fn record(&mut self, pool: &ThreadPool, what: Deferred<'_, Entity>) {
        let threads = pool.current_num_threads();
        self.queues.resize_with(threads, CommandQueue::default);
        let (world, queues) = (&self.world, &mut self.queues);
        let mut each = |ids: &[Entity], run: &(dyn Fn(&mut Commands<'_, '_>, &[Entity]) + Sync)| {
            let parts = ids.par_chunks(ids.len().div_ceil(threads).max(1));
            let parts = parts.zip(queues.par_iter_mut());
            pool.install(|| {
                parts.for_each(|(ids, queue)| run(&mut Commands::new(queue, world), ids));
            });
        };
        match what {
            Deferred::Spawn(numbers) => {
                let part = numbers.len().div_ceil(threads).max(1) as u32;
                let parts = queues.par_iter_mut().zip(0_u32..threads as u32);
                let spawn = |(queue, at): (&mut CommandQueue, u32)| {
                    let mut commands = Commands::new(queue, world);
                    let first = numbers.start + at * part;
                    for number in first..numbers.end.min(first + part) {
                        commands.spawn(body(number));
                    }
                };
                pool.install(|| parts.for_each(spawn));
            }
            Deferred::Despawn(ids) => each(ids, &|commands, ids| {
                ids.iter().for_each(|&id| commands.entity(id).despawn());
            }),
            Deferred::Insert(ids) => each(ids, &|commands, ids| {
                for &id in ids {
                    commands.entity(id).insert(Extra(values::EXTRA));
                }
            }),
            Deferred::Remove(ids) => each(ids, &|commands, ids| {
                for &id in ids {
                    commands.entity(id).remove::<Extra>();
                }
            }),
            Deferred::Eight(ids) => each(ids, &|commands, ids| {
                for &id in ids {
                    let mut entity = commands.entity(id);
                    for _ in 0..2 {
                        entity.insert(Extra(0.0)).remove::<Extra>();
                    }
                    for value in [1.0, 2.0, 3.0, values::EXTRA] {
                        entity.insert(Extra(value));
                    }
                }
            }),
            Deferred::Mix(mixed) => {
                let parts = mixed.par_chunks(mixed.len().div_ceil(threads).max(1));
                let parts = parts.zip(queues.par_iter_mut());
                let run = |(part, queue): (&[Mixed<Entity>], &mut CommandQueue)| {
                    let mut commands = Commands::new(queue, world);
                    part.iter().for_each(|&mixed| record(&mut commands, mixed));
                };
                pool.install(|| parts.for_each(run));
            }
        }
    }

    fn flush(&mut self, _pool: &ThreadPool) {
        for queue in &mut self.queues {
            queue.apply(&mut self.world);
        }
    }

    fn flush_few(&mut self, commands: &[Mixed<Entity>], few: usize) {
        let mut queue = CommandQueue::default();
        for few in commands.chunks(few) {
            let mut commands = Commands::new(&mut queue, &self.world);
            few.iter().for_each(|&mixed| record(&mut commands, mixed));
            queue.apply(&mut self.world);
        }
    }

    fn get_each(&mut self, ids: &[Entity]) -> Tally {
        let (world, positions) = self.known_positions();
        get_each(world, positions, ids)
    }

    fn get_each_on(&mut self, pool: &ThreadPool, ids: &[Entity]) -> Tally {
        let (world, positions) = self.known_positions();
        in_parts(pool, ids, |ids| get_each(world, positions, ids))
    }

    fn get_slice(&mut self, ids: &[Entity]) -> Tally {
        let (world, positions) = self.known_positions();
        get_slice(world, positions, ids)
    }

    fn get_slice_on(&mut self, pool: &ThreadPool, ids: &[Entity]) -> Tally {
        let (world, positions) = self.known_positions();
        in_parts(pool, ids, |ids| get_slice(world, positions, ids))
    }

    fn step(&mut self) {
        let world = &mut self.world;
        let moving = self.moving.get_or_insert_with(|| world.query());
        if world.archetypes().len() > MANY {
            let moving = moving.iter_mut(world);
            moving.for_each(|(mut position, velocity)| {
                values::step(&mut position.0, &velocity.0);
            });
            return;
        }
        let tables = moving.contiguous_iter_mut(world).expect(IN_TABLES);
        for (positions, velocities) in tables {
            for (position, velocity) in positions.into_iter().zip(velocities) {
                values::step(&mut position.0, &velocity.0);
            }
        }
    }

    fn step_on(&mut self, _pool: &ThreadPool) {
        let world = &mut self.world;
        let moving = self.moving.get_or_insert_with(|| world.query());
        let tables = moving.contiguous_par_iter_mut(world).expect(IN_TABLES);
        tables.for_each(|(positions, velocities)| {
            for (position, velocity) in positions.into_iter().zip(velocities) {
                values::step(&mut position.0, &velocity.0);
            }
        });
    }

    fn systems(case: SystemsCase, threads: usize) -> Result<Box<dyn Systems>, Unsupported> {
        systems::systems(case, threads)
    }

    fn solving(systems: u32, archetypes: u32) -> Box<dyn Solving> {
        systems::solving(systems, archetypes)
    }

    fn double(&mut self) {
        let world = &mut self.world;
        let data = self.data.get_or_insert_with(|| world.query());
        // Contiguous loops take three times as long over 26 tables of 20; measured.
        data.iter_mut(world).for_each(|mut data| data.0 *= 2.0);
    }

    fn count_anew(&mut self) -> usize {
        let mut query = self.world.query::<(&mut Position, &Velocity)>();
        query.iter(&self.world).len()
    }

    fn positions(&mut self) -> Tally {
        let mut positions = self.world.query::<&Position>();
        let positions = positions.iter(&self.world);
        Tally::of(positions.map(|position| position.0[0]))
    }

    fn extras(&mut self) -> Tally {
        let mut extras = self.world.query::<&Extra>();
        Tally::of(extras.iter(&self.world).map(|extra| extra.0))
    }

    fn data(&mut self) -> Tally {
        let mut data = self.world.query::<&Data>();
        Tally::of(data.iter(&self.world).map(|data| data.0))
    }
}
