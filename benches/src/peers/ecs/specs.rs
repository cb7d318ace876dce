//! `specs` 0.20: storages are borrowed outside the loops, as its systems do; changes are left to `LazyUpdate`.

use core::ops::Range;

use megachunk::cli::workload::Unsupported;
use megachunk::cli::workload::ecs::{
    Deferred, EcsAbilities, EcsContender, Mixed, Systems, SystemsCase, Tally, in_parts, values,
};
use rayon::ThreadPool;
use rayon::prelude::*;
use specs::world::EntitiesRes;
use specs::{
    BitSet, Builder, Entity, Join, LazyUpdate, LendJoin, ParJoin, ReadStorage, World, WorldExt,
};

use super::components::{
    Data, Extra, Kind, Position, Rotation, Small, Transform, Velocity, body, moving, numbers_of,
    of_kind, part_of,
};
use super::systems::specs as systems;

/// A world, with the components registered.
pub(crate) struct Specs(World);

fn get(positions: &ReadStorage<'_, Position>, ids: &[Entity]) -> Tally {
    let mut tally = Tally::default();
    for &id in ids {
        tally.add(positions.get(id).expect("it lives").0[0]);
    }
    tally
}

impl Specs {
    /// New entities, without components.
    fn handles(&self, count: u32) -> Vec<Entity> {
        let entities = self.0.entities_mut();
        entities.create_iter().take(count as usize).collect()
    }
}

/// What its systems ask for to change the world later.
#[derive(Clone, Copy)]
struct Recorder<'w> {
    entities: &'w EntitiesRes,
    lazy: &'w LazyUpdate,
}

impl Recorder<'_> {
    fn spawn(self, number: u32) {
        let (transform, position, rotation, velocity) = body(number);
        let entity = self.lazy.create_entity(self.entities);
        let entity = entity.with(transform).with(position);
        entity.with(rotation).with(velocity).build();
    }

    fn despawn(self, id: Entity) {
        self.entities.delete(id).expect("it lives");
    }

    /// One command of a mix.
    fn record_one(self, mixed: Mixed<Entity>) {
        match mixed {
            Mixed::Spawn(number) => self.spawn(number),
            Mixed::Despawn(id) => self.despawn(id),
            Mixed::Insert(id) => self.lazy.insert(id, Extra(values::EXTRA)),
            Mixed::Remove(id) => self.lazy.remove::<Extra>(id),
        }
    }

    /// The part of thread `at` of so many.
    fn record(self, what: &Deferred<'_, Entity>, at: usize, threads: usize) {
        let part = |ids| part_of(ids, at, threads).iter().copied();
        let insert = |id, value| self.lazy.insert(id, Extra(value));
        match what {
            Deferred::Spawn(all) => numbers_of(all, at, threads).for_each(|n| self.spawn(n)),
            Deferred::Despawn(ids) => part(ids).for_each(|id| self.despawn(id)),
            Deferred::Insert(ids) => part(ids).for_each(|id| insert(id, values::EXTRA)),
            Deferred::Remove(ids) => part(ids).for_each(|id| self.lazy.remove::<Extra>(id)),
            Deferred::Eight(ids) => part(ids).for_each(|id| {
                for _ in 0..2 {
                    insert(id, 0.0);
                    self.lazy.remove::<Extra>(id);
                }
                for value in [1.0, 2.0, 3.0, values::EXTRA] {
                    insert(id, value);
                }
            }),
            Deferred::Mix(mixed) => {
                for &mixed in part_of(mixed, at, threads) {
                    self.record_one(mixed);
                }
            }
        }
    }
}

impl EcsContender for Specs {
    type Id = Entity;

    const NAME: &'static str = "specs";
    const ABILITIES: EcsAbilities = EcsAbilities {
        despawns_slices: true,
        adds_to_slices: true,
        removes_from_slices: true,
        records: true,
        creates_on_threads: true,
        creates_beside_queries: false,
        schedules: true,
        ..EcsAbilities::SINGLE
    };

    fn fresh() -> Self {
        let mut world = World::new();
        world.register::<Transform>();
        world.register::<Position>();
        world.register::<Rotation>();
        world.register::<Velocity>();
        world.register::<Small>();
        world.register::<Extra>();
        world.register::<Data>();
        Self(world)
    }

    fn spawn_slice(&mut self, numbers: Range<u32>, out: &mut Vec<Entity>) {
        let start = out.len();
        self.0
            .entities_mut()
            .create_iter()
            .take(numbers.len())
            .for_each(|id| out.push(id));
        let mut transforms = self.0.write_storage::<Transform>();
        let mut positions = self.0.write_storage::<Position>();
        let mut rotations = self.0.write_storage::<Rotation>();
        let mut velocities = self.0.write_storage::<Velocity>();
        for (&id, number) in out[start..].iter().zip(numbers) {
            let (transform, position, rotation, velocity) = body(number);
            transforms.insert(id, transform).expect("it lives");
            positions.insert(id, position).expect("it lives");
            rotations.insert(id, rotation).expect("it lives");
            velocities.insert(id, velocity).expect("it lives");
        }
    }

    fn spawn_each(&mut self, numbers: Range<u32>, out: &mut Vec<Entity>) {
        for number in numbers {
            let (transform, position, rotation, velocity) = body(number);
            let entity = self.0.create_entity();
            let entity = entity.with(transform).with(position);
            out.push(entity.with(rotation).with(velocity).build());
        }
    }

    fn spawn_moving(&mut self, count: u32) -> Vec<Entity> {
        let ids = self.handles(count);
        let mut positions = self.0.write_storage::<Position>();
        let mut velocities = self.0.write_storage::<Velocity>();
        for (&id, (position, velocity)) in ids.iter().zip(moving(count)) {
            positions.insert(id, position).expect("it lives");
            velocities.insert(id, velocity).expect("it lives");
        }
        ids
    }

    fn spawn_small(&mut self, count: u32) -> Vec<Entity> {
        let ids = self.handles(count);
        let mut smalls = self.0.write_storage::<Small>();
        for &id in &ids {
            smalls.insert(id, Small(0.0)).expect("it lives");
        }
        ids
    }

    fn spawn_kind<const N: usize>(&mut self, count: u32) {
        self.0.register::<Kind<N>>();
        let ids = self.handles(count);
        let mut kinds = self.0.write_storage::<Kind<N>>();
        let mut data = self.0.write_storage::<Data>();
        for (&id, (kind, datum)) in ids.iter().zip(of_kind::<N>(count)) {
            kinds.insert(id, kind).expect("it lives");
            data.insert(id, datum).expect("it lives");
        }
    }

    fn mark<const N: usize>(&mut self, ids: &[Entity]) {
        self.0.register::<Kind<N>>();
        let mut kinds = self.0.write_storage::<Kind<N>>();
        for &id in ids {
            kinds.insert(id, Kind(values::KIND)).expect("it lives");
        }
    }

    fn despawn_each(&mut self, ids: &[Entity]) -> usize {
        let died = ids.iter().filter(|&&id| self.0.delete_entity(id).is_ok());
        died.count()
    }

    fn despawn_slice(&mut self, ids: &[Entity]) -> usize {
        self.0.delete_entities(ids).expect("all of them live");
        ids.len()
    }

    fn lives(&mut self, id: Entity) -> bool {
        self.0.is_alive(id)
    }

    fn clear(&mut self) {
        self.0.delete_all();
    }

    fn add_each(&mut self, ids: &[Entity]) {
        let mut extras = self.0.write_storage::<Extra>();
        for &id in ids {
            extras.insert(id, Extra(values::EXTRA)).expect("it lives");
        }
    }

    fn remove_each(&mut self, ids: &[Entity]) {
        let mut extras = self.0.write_storage::<Extra>();
        for &id in ids {
            extras.remove(id).expect("it has one");
        }
    }

    fn add_slice(&mut self, ids: &[Entity]) {
        let chosen: BitSet = ids.iter().map(|id| id.id()).collect();
        let mut extras = self.0.write_storage::<Extra>();
        (extras.entries(), &chosen)
            .lend_join()
            .for_each(|(entry, _)| {
                entry.replace(Extra(values::EXTRA));
            });
    }

    fn remove_slice(&mut self, ids: &[Entity]) {
        let chosen: BitSet = ids.iter().map(|id| id.id()).collect();
        let mut extras = self.0.write_storage::<Extra>();
        let removed = (extras.drain(), &chosen).join().count();
        assert_eq!(removed, ids.len(), "each has one");
    }

    fn record(&mut self, pool: &ThreadPool, what: Deferred<'_, Entity>) {
        let entities = self.0.read_resource::<EntitiesRes>();
        let lazy = self.0.read_resource::<LazyUpdate>();
        let recorder = Recorder {
            entities: &entities,
            lazy: &lazy,
        };
        let threads = pool.current_num_threads();
        let all = (0..threads).into_par_iter();
        pool.install(|| all.for_each(|at| recorder.record(&what, at, threads)));
    }

    fn flush(&mut self, _pool: &ThreadPool) {
        self.0.maintain();
    }

    fn flush_few(&mut self, commands: &[Mixed<Entity>], few: usize) {
        for few in commands.chunks(few) {
            let entities = self.0.read_resource::<EntitiesRes>();
            let lazy = self.0.read_resource::<LazyUpdate>();
            let recorder = Recorder {
                entities: &entities,
                lazy: &lazy,
            };
            few.iter().for_each(|&mixed| recorder.record_one(mixed));
            drop((entities, lazy));
            self.0.maintain();
        }
    }

    fn get_each(&mut self, ids: &[Entity]) -> Tally {
        get(&self.0.read_storage(), ids)
    }

    fn get_each_on(&mut self, pool: &ThreadPool, ids: &[Entity]) -> Tally {
        let positions = self.0.read_storage();
        in_parts(pool, ids, |ids| get(&positions, ids))
    }

    fn step(&mut self) {
        let mut positions = self.0.write_storage::<Position>();
        let velocities = self.0.read_storage::<Velocity>();
        for (position, velocity) in (&mut positions, &velocities).join() {
            values::step(&mut position.0, &velocity.0);
        }
    }

    fn step_on(&mut self, pool: &ThreadPool) {
        let mut positions = self.0.write_storage::<Position>();
        let velocities = self.0.read_storage::<Velocity>();
        pool.install(|| {
            let moving = (&mut positions, &velocities).par_join();
            moving.for_each(|(position, velocity)| values::step(&mut position.0, &velocity.0));
        });
    }

    fn systems(case: SystemsCase, threads: usize) -> Result<Box<dyn Systems>, Unsupported> {
        systems::systems(case, threads)
    }

    fn double(&mut self) {
        let mut data = self.0.write_storage::<Data>();
        for data in (&mut data).join() {
            data.0 *= 2.0;
        }
    }

    fn count_anew(&mut self) -> usize {
        let mut positions = self.0.write_storage::<Position>();
        let velocities = self.0.read_storage::<Velocity>();
        (&mut positions, &velocities).join().count()
    }

    fn positions(&mut self) -> Tally {
        let positions = self.0.read_storage::<Position>();
        Tally::of(positions.join().map(|position| position.0[0]))
    }

    fn extras(&mut self) -> Tally {
        let extras = self.0.read_storage::<Extra>();
        Tally::of(extras.join().map(|extra| extra.0))
    }

    fn data(&mut self) -> Tally {
        let data = self.0.read_storage::<Data>();
        Tally::of(data.join().map(|data| data.0))
    }
}
