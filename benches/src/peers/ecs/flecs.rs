//! `flecs_ecs` 0.2: cached queries, bulk creation from columns, its own worker threads; changes are deferred by one
//! thread, and staged by several.

use core::ops::Range;
use std::sync::LazyLock;

use flecs_ecs::core::{Entity, Query, World};
use flecs_ecs::prelude::*;
use megachunk::cli::workload::Unsupported;
use megachunk::cli::workload::ecs::{
    Deferred, EcsAbilities, EcsContender, Mixed, Systems, SystemsCase, Tally, values,
};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::components::{
    Data, Extra, Position, Rotation, Small, Transform, Velocity, body, moving, numbers_of, part_of,
};
use super::systems::flecs as systems;

/// The most entities that are created in one call; fewer at a time are slower.
const BULK: usize = 1_000_000;

/// What the first million entities have, a column for each component: bulk creation copies from
/// columns, and making them is not its work.
struct Columns {
    transforms: Vec<Transform>,
    positions: Vec<Position>,
    rotations: Vec<Rotation>,
    velocities: Vec<Velocity>,
}

static COLUMNS: LazyLock<Columns> = LazyLock::new(|| {
    let all = || 0..BULK as u32;
    Columns {
        transforms: all().map(|number| body(number).0).collect(),
        positions: all().map(|number| body(number).1).collect(),
        rotations: all().map(|number| body(number).2).collect(),
        velocities: all().map(|number| body(number).3).collect(),
    }
});

/// A world, and the queries that were made so far; they go first.
pub(crate) struct Flecs {
    moving: Option<Query<(&'static mut Position, &'static Velocity)>>,
    data: Option<Query<&'static mut Data>>,
    has_system: bool,
    world: World,
}

fn spawn(world: &World, number: u32) {
    let (transform, position, rotation, velocity) = body(number);
    let entity = world.entity().set(transform).set(position);
    entity.set(rotation).set(velocity);
}

fn insert(world: &World, id: Entity, value: f32) {
    world.entity_from_id(id).set(Extra(value));
}

fn remove(world: &World, id: Entity) {
    world.entity_from_id(id).remove(Extra::id());
}

/// Records one command of a mix.
#[inline(always)]
fn record_one(world: &World, mixed: Mixed<Entity>) {
    match mixed {
        Mixed::Spawn(number) => spawn(world, number),
        Mixed::Despawn(id) => world.entity_from_id(id).destruct(),
        Mixed::Insert(id) => insert(world, id, values::EXTRA),
        Mixed::Remove(id) => remove(world, id),
    }
}

/// Records the part of thread `at` of so many, on its stage.
fn record(world: &World, what: &Deferred<'_, Entity>, at: usize, threads: usize) {
    let part = |ids| part_of(ids, at, threads).iter().copied();
    match what {
        Deferred::Spawn(all) => numbers_of(all, at, threads).for_each(|n| spawn(world, n)),
        Deferred::Despawn(ids) => part(ids).for_each(|id| world.entity_from_id(id).destruct()),
        Deferred::Insert(ids) => part(ids).for_each(|id| insert(world, id, values::EXTRA)),
        Deferred::Remove(ids) => part(ids).for_each(|id| remove(world, id)),
        Deferred::Eight(ids) => part(ids).for_each(|id| {
            for _ in 0..2 {
                insert(world, id, 0.0);
                remove(world, id);
            }
            for value in [1.0, 2.0, 3.0, values::EXTRA] {
                insert(world, id, value);
            }
        }),
        Deferred::Mix(mixed) => {
            for &mixed in part_of(mixed, at, threads) {
                record_one(world, mixed);
            }
        }
    }
}

fn get(world: &World, ids: &[Entity]) -> Tally {
    let mut tally = Tally::default();
    for &id in ids {
        let entity = world.entity_from_id(id);
        tally.add(entity.cloned::<&Position>().0[0]);
    }
    tally
}

/// One of 26 kinds: with the second half of the pair that [`Flecs::kind`] gives.
#[derive(Clone, Copy, Component)]
#[expect(dead_code, reason = "a column that is only there")]
struct Kind(f32);

impl Flecs {
    /// The second half of the pair that is the component `number` of 26: the library has one
    /// component for all instances of a type that is generic over a constant.
    fn kind(&self, number: usize) -> Entity {
        self.world.entity_named(&format!("kind {number}")).id()
    }
}

impl EcsContender for Flecs {
    type Id = Entity;

    const NAME: &'static str = "flecs_ecs";
    const ABILITIES: EcsAbilities = EcsAbilities {
        // Two stages that create at once end in a segmentation fault.
        records: true,
        schedules: true,
        ..EcsAbilities::SINGLE
    };

    fn fresh() -> Self {
        LazyLock::force(&COLUMNS);
        let world = World::new();
        // Two stages that meet a component for the first time at once end in a segmentation fault.
        world.component::<Transform>();
        world.component::<Position>();
        world.component::<Rotation>();
        world.component::<Velocity>();
        world.component::<Extra>();
        Self {
            moving: None,
            data: None,
            has_system: false,
            world,
        }
    }

    fn spawn_slice(&mut self, numbers: Range<u32>, out: &mut Vec<Entity>) {
        let columns = &*COLUMNS;
        let mut start = numbers.start;
        while start < numbers.end {
            let end = numbers.end.min(start + BULK as u32);
            let count = (end - start) as usize;
            let beyond: Vec<Position>;
            let positions = match columns.positions.get(start as usize..end as usize) {
                Some(positions) => positions,
                None => {
                    beyond = (start..end).map(|number| body(number).1).collect();
                    &beyond
                }
            };
            let mut bulk = self.world.entity_bulk(count as u32);
            let bulk = bulk.set(&columns.transforms[..count]).set(positions);
            let bulk = bulk.set(&columns.rotations[..count]);
            let created = bulk.set(&columns.velocities[..count]).build();
            out.extend_from_slice(&created);
            start = end;
        }
    }

    fn spawn_each(&mut self, numbers: Range<u32>, out: &mut Vec<Entity>) {
        for number in numbers {
            let (transform, position, rotation, velocity) = body(number);
            let entity = self.world.entity().set(transform).set(position);
            out.push(entity.set(rotation).set(velocity).id());
        }
    }

    fn spawn_moving(&mut self, count: u32) -> Vec<Entity> {
        let entities = moving(count)
            .map(|(position, velocity)| self.world.entity().set(position).set(velocity).id());
        entities.collect()
    }

    fn spawn_small(&mut self, count: u32) -> Vec<Entity> {
        let entities = (0..count).map(|_| self.world.entity().set(Small(0.0)).id());
        entities.collect()
    }

    fn spawn_kind<const N: usize>(&mut self, count: u32) {
        let which = self.kind(N);
        for _ in 0..count {
            let entity = self.world.entity().set(Data(values::DATA));
            entity.set_first(Kind(values::KIND), which);
        }
    }

    fn mark<const N: usize>(&mut self, ids: &[Entity]) {
        let which = self.kind(N);
        for &id in ids {
            let entity = self.world.entity_from_id(id);
            entity.set_first(Kind(values::KIND), which);
        }
    }

    fn despawn_each(&mut self, ids: &[Entity]) -> usize {
        let died = ids.iter().filter(|&&id| {
            let entity = self.world.try_get_alive(id);
            entity.map(EntityView::destruct).is_some()
        });
        died.count()
    }

    fn lives(&mut self, id: Entity) -> bool {
        self.world.is_alive(id)
    }

    fn clear(&mut self) {
        self.world.delete_entities_with(Position::id());
    }

    fn add_each(&mut self, ids: &[Entity]) {
        for &id in ids {
            self.world.entity_from_id(id).set(Extra(values::EXTRA));
        }
    }

    fn remove_each(&mut self, ids: &[Entity]) {
        for &id in ids {
            self.world.entity_from_id(id).remove(Extra::id());
        }
    }

    fn record(&mut self, pool: &ThreadPool, what: Deferred<'_, Entity>) {
        let threads = pool.current_num_threads();
        if threads == 1 {
            self.world.defer_begin();
            record(&self.world, &what, 0, 1);
            return;
        }
        self.world.set_stage_count(threads as i32);
        self.world.readonly_begin(true);
        let stages: Vec<_> = (0..threads as i32).map(|n| self.world.stage(n)).collect();
        let stages = stages.into_par_iter().enumerate();
        pool.install(|| stages.for_each(|(at, stage)| record(&stage, &what, at, threads)));
    }

    fn flush(&mut self, pool: &ThreadPool) {
        if pool.current_num_threads() == 1 {
            self.world.defer_end();
        } else {
            self.world.readonly_end();
        }
    }

    fn flush_few(&mut self, commands: &[Mixed<Entity>], few: usize) {
        for few in commands.chunks(few) {
            self.world.defer_begin();
            few.iter().for_each(|&mixed| record_one(&self.world, mixed));
            self.world.defer_end();
        }
    }

    fn get_each(&mut self, ids: &[Entity]) -> Tally {
        get(&self.world, ids)
    }

    fn get_each_on(&mut self, pool: &ThreadPool, ids: &[Entity]) -> Tally {
        let threads = pool.current_num_threads();
        self.world.set_stage_count(threads as i32);
        self.world.readonly_begin(true);
        let stages: Vec<_> = (0..threads as i32).map(|n| self.world.stage(n)).collect();
        let parts = ids.par_chunks(ids.len().div_ceil(threads).max(1));
        let tally = pool.install(|| {
            let tallies = parts.zip(stages).map(|(ids, stage)| get(&stage, ids));
            tallies.reduce(Tally::default, Tally::and)
        });
        self.world.readonly_end();
        tally
    }

    fn step(&mut self) {
        let world = &self.world;
        let moving = self.moving.get_or_insert_with(|| {
            let mut query = world.query::<(&mut Position, &Velocity)>();
            query.set_cached().build()
        });
        moving.each(|(position, velocity)| values::step(&mut position.0, &velocity.0));
    }

    fn step_on(&mut self, pool: &ThreadPool) {
        if !self.has_system {
            self.world.set_threads(pool.current_num_threads() as i32);
            self.world
                .system::<(&mut Position, &Velocity)>()
                .par_each(|(position, velocity)| values::step(&mut position.0, &velocity.0));
            self.has_system = true;
        }
        self.world.progress();
    }

    fn systems(case: SystemsCase, threads: usize) -> Result<Box<dyn Systems>, Unsupported> {
        systems::systems(case, threads)
    }

    fn double(&mut self) {
        let world = &self.world;
        let data = self.data.get_or_insert_with(|| {
            let mut query = world.query::<&mut Data>();
            query.set_cached().build()
        });
        data.each(|data| data.0 *= 2.0);
    }

    fn count_anew(&mut self) -> usize {
        let query = self.world.new_query::<(&mut Position, &Velocity)>();
        query.count() as usize
    }

    fn positions(&mut self) -> Tally {
        let mut tally = Tally::default();
        self.world
            .each::<&Position>(|position| tally.add(position.0[0]));
        tally
    }

    fn extras(&mut self) -> Tally {
        let mut tally = Tally::default();
        self.world.each::<&Extra>(|extra| tally.add(extra.0));
        tally
    }

    fn data(&mut self) -> Tally {
        let mut tally = Tally::default();
        self.world.each::<&Data>(|data| tally.add(data.0));
        tally
    }
}
