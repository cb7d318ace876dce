//! `legion` 0.4: queries that are kept, and run over chunks.

use core::ops::Range;

use legion::world::EntityAccessError;
use legion::{Entity, IntoQuery, World, query::Query, query::Read, query::Write};
use megachunk::cli::workload::ecs::{EcsAbilities, EcsContender, Tally, in_parts, values};
use rayon::ThreadPool;

use super::components::{
    Data, Extra, Kind, Position, Small, Velocity, bodies, body, moving, of_kind,
};

type Moving = Query<
    (Write<Position>, Read<Velocity>),
    <(Write<Position>, Read<Velocity>) as legion::query::DefaultFilter>::Filter,
>;

/// A world, and its queries.
pub(crate) struct Legion {
    world: World,
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

impl EcsContender for Legion {
    type Id = Entity;

    const NAME: &'static str = "legion";
    const ABILITIES: EcsAbilities = EcsAbilities::SINGLE;

    fn fresh() -> Self {
        Self {
            world: World::default(),
            moving: <(Write<Position>, Read<Velocity>)>::query(),
            data: <Write<Data>>::query(),
        }
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

    fn get(&mut self, ids: &[Entity]) -> Tally {
        get(&self.world, ids)
    }

    fn get_on(&mut self, pool: &ThreadPool, ids: &[Entity]) -> Tally {
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
