//! `shipyard` 0.11: views are borrowed outside the loops, as its guide does.

use core::ops::Range;

use megachunk::cli::workload::Unsupported;
use megachunk::cli::workload::ecs::{
    EcsAbilities, EcsContender, Systems, SystemsCase, Tally, in_parts, values,
};
use rayon::ThreadPool;
use rayon::prelude::*;
use shipyard::{
    AllStoragesViewMut, EntitiesView, EntitiesViewMut, EntityId, Get, IntoIter, Remove, View,
    ViewMut, World,
};

use super::components::{
    Data, Extra, Kind, Position, Rotation, Small, Transform, Velocity, bodies, body, moving,
    of_kind,
};
use super::systems::shipyard as systems;

/// A world.
#[derive(Default)]
pub(crate) struct Shipyard(World);

fn get(positions: &View<'_, Position>, ids: &[EntityId]) -> Tally {
    let mut tally = Tally::default();
    for &id in ids {
        tally.add(positions.get(id).expect("it lives").0[0]);
    }
    tally
}

impl EcsContender for Shipyard {
    type Id = EntityId;

    const NAME: &'static str = "shipyard";
    const ABILITIES: EcsAbilities = EcsAbilities {
        schedules: true,
        ..EcsAbilities::SINGLE
    };

    fn fresh() -> Self {
        Self::default()
    }

    fn spawn_slice(&mut self, numbers: Range<u32>, out: &mut Vec<EntityId>) {
        out.extend(self.0.bulk_add_entity(bodies(numbers)));
    }

    fn spawn_each(&mut self, numbers: Range<u32>, out: &mut Vec<EntityId>) {
        self.0.run(
            |mut entities: EntitiesViewMut<'_>,
             mut transforms: ViewMut<'_, Transform>,
             mut positions: ViewMut<'_, Position>,
             mut rotations: ViewMut<'_, Rotation>,
             mut velocities: ViewMut<'_, Velocity>| {
                out.extend(numbers.map(|number| {
                    let storages = (
                        &mut transforms,
                        &mut positions,
                        &mut rotations,
                        &mut velocities,
                    );
                    entities.add_entity(storages, body(number))
                }));
            },
        );
    }

    fn spawn_moving(&mut self, count: u32) -> Vec<EntityId> {
        self.0.bulk_add_entity(moving(count)).collect()
    }

    fn spawn_small(&mut self, count: u32) -> Vec<EntityId> {
        let small = (0..count).map(|_| Small(0.0));
        self.0.bulk_add_entity(small).collect()
    }

    fn spawn_kind<const N: usize>(&mut self, count: u32) {
        self.0.bulk_add_entity(of_kind::<N>(count));
    }

    fn mark<const N: usize>(&mut self, ids: &[EntityId]) {
        for &id in ids {
            self.0.add_component(id, Kind::<N>(values::KIND));
        }
    }

    fn despawn_each(&mut self, ids: &[EntityId]) -> usize {
        self.0.run(|mut all: AllStoragesViewMut<'_>| {
            ids.iter().filter(|&&id| all.delete_entity(id)).count()
        })
    }

    fn lives(&mut self, id: EntityId) -> bool {
        self.0
            .run(|entities: EntitiesView<'_>| entities.is_alive(id))
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn add_each(&mut self, ids: &[EntityId]) {
        self.0.run(
            |entities: EntitiesView<'_>, mut extras: ViewMut<'_, Extra>| {
                for &id in ids {
                    entities.add_component(id, &mut extras, Extra(values::EXTRA));
                }
            },
        );
    }

    fn remove_each(&mut self, ids: &[EntityId]) {
        self.0.run(|mut extras: ViewMut<'_, Extra>| {
            for &id in ids {
                extras.remove(id).expect("it has one");
            }
        });
    }

    fn get_each(&mut self, ids: &[EntityId]) -> Tally {
        self.0
            .run(|positions: View<'_, Position>| get(&positions, ids))
    }

    fn get_each_on(&mut self, pool: &ThreadPool, ids: &[EntityId]) -> Tally {
        self.0
            .run(|positions: View<'_, Position>| in_parts(pool, ids, |ids| get(&positions, ids)))
    }

    fn step(&mut self) {
        self.0.run(
            |mut positions: ViewMut<'_, Position>, velocities: View<'_, Velocity>| {
                (&mut positions, &velocities)
                    .iter()
                    .for_each(|(position, velocity)| values::step(&mut position.0, &velocity.0));
            },
        );
    }

    fn step_on(&mut self, pool: &ThreadPool) {
        pool.install(|| {
            self.0.run(
                |mut positions: ViewMut<'_, Position>, velocities: View<'_, Velocity>| {
                    let moving = (&mut positions, &velocities).par_iter();
                    moving.for_each(|(position, velocity)| {
                        values::step(&mut position.0, &velocity.0);
                    });
                },
            );
        });
    }

    fn systems(case: SystemsCase, threads: usize) -> Result<Box<dyn Systems>, Unsupported> {
        systems::systems(case, threads)
    }

    fn double(&mut self) {
        self.0.run(|mut data: ViewMut<'_, Data>| {
            (&mut data).iter().for_each(|data| data.0 *= 2.0);
        });
    }

    fn count_anew(&mut self) -> usize {
        self.0.run(
            |mut positions: ViewMut<'_, Position>, velocities: View<'_, Velocity>| {
                (&mut positions, &velocities).iter().count()
            },
        )
    }

    fn positions(&mut self) -> Tally {
        self.0.run(|positions: View<'_, Position>| {
            Tally::of(positions.iter().map(|position| position.0[0]))
        })
    }

    fn extras(&mut self) -> Tally {
        self.0
            .run(|extras: View<'_, Extra>| Tally::of(extras.iter().map(|extra| extra.0)))
    }

    fn data(&mut self) -> Tally {
        self.0
            .run(|data: View<'_, Data>| Tally::of(data.iter().map(|data| data.0)))
    }
}
