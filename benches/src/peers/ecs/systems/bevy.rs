//! `bevy_ecs`: a schedule with its single- or multi-threaded executor; the latter runs on the pool of the process,
//! while the calling thread hands systems out. Loops are contiguous, as in [`super::super::bevy`].

use core::time::Duration;
use std::time::Instant;

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::query::QueryState;
use bevy_ecs::schedule::{
    IntoScheduleConfigs, MultiThreadedExecutor, Schedule, SingleThreadedExecutor, SystemSet,
};
use bevy_ecs::system::Query;
use bevy_ecs::world::World;
use megachunk::cli::workload::Unsupported;
use megachunk::cli::workload::ecs::{Solving, Systems, SystemsCase, Tally, agents, values};

use crate::peers::ecs::bevy::IN_TABLES;
use crate::peers::ecs::components::{
    A, B, C, D, Data, E, Heading, Kind, Mind, Place, Position, Transform, bent, still, straight,
    turned,
};

struct Scheduled {
    world: World,
    schedule: Schedule,
    case: SystemsCase,
}

/// Swaps two components.
macro_rules! swap {
    ($one:ident $other:ident) => {
        |mut pairs: Query<'_, '_, (&mut $one, &mut $other)>| {
            for (ones, others) in pairs.contiguous_iter_mut().expect(IN_TABLES) {
                for (one, other) in ones.into_iter().zip(others) {
                    core::mem::swap(&mut one.0, &mut other.0);
                }
            }
        }
    };
}

fn compute(mut bodies: Query<'_, '_, (&mut Transform, &mut Position)>) {
    bodies.iter_mut().for_each(|(mut transform, mut position)| {
        values::compute(&mut transform.0, &mut position.0);
    });
}

fn compute_on_all(mut bodies: Query<'_, '_, (&mut Transform, &mut Position)>) {
    bodies
        .par_iter_mut()
        .for_each(|(mut transform, mut position)| {
            values::compute(&mut transform.0, &mut position.0);
        });
}

fn walk(mut all: Query<'_, '_, (&mut Place, &Heading)>) {
    for (places, headings) in all.contiguous_iter_mut().expect(IN_TABLES) {
        for (place, heading) in places.into_iter().zip(headings) {
            agents::walk(&mut place.0, &heading.0);
        }
    }
}

fn think(mut all: Query<'_, '_, &mut Mind>) {
    for minds in all.contiguous_iter_mut().expect(IN_TABLES) {
        minds
            .into_iter()
            .for_each(|mind| agents::think(&mut mind.0));
    }
}

fn turn(mut all: Query<'_, '_, (&Place, &mut Heading, &Mind)>) {
    for (places, headings, minds) in all.contiguous_iter_mut().expect(IN_TABLES) {
        for ((place, heading), mind) in places.iter().zip(headings).zip(minds) {
            agents::turn(&place.0, &mut heading.0, &mind.0);
        }
    }
}

impl Scheduled {
    fn tally<T: Component>(&mut self, value: fn(&T) -> f32) -> Tally {
        let mut all: QueryState<&T> = self.world.query();
        Tally::of(all.iter(&self.world).map(value))
    }
}

impl Systems for Scheduled {
    fn run(&mut self, frames: u64) {
        for _ in 0..frames {
            self.schedule.run(&mut self.world);
        }
    }

    fn tallies(&mut self) -> Vec<Tally> {
        match self.case {
            SystemsCase::Swaps { .. } => vec![
                self.tally(|a: &A| a.0),
                self.tally(|b: &B| b.0),
                self.tally(|c: &C| c.0),
                self.tally(|d: &D| d.0),
                self.tally(|e: &E| e.0),
            ],
            SystemsCase::Heavy { .. } => vec![
                self.tally(|position: &Position| position.0[0]),
                self.tally(|position: &Position| position.0[1]),
            ],
            SystemsCase::Mixed { .. } => vec![
                self.tally(|place: &Place| place.0[0]),
                self.tally(|place: &Place| place.0[1]),
                self.tally(|heading: &Heading| heading.0[0]),
                self.tally(|mind: &Mind| mind.0.count as f32),
            ],
            SystemsCase::Empty { .. } => Vec::new(),
        }
    }
}

pub(in crate::peers::ecs) fn systems(
    case: SystemsCase,
    threads: usize,
) -> Result<Box<dyn Systems>, Unsupported> {
    let mut world = World::new();
    let mut schedule = Schedule::default();
    match threads {
        1 => schedule.set_executor(SingleThreadedExecutor::new()),
        _ => schedule.set_executor(MultiThreadedExecutor::new()),
    };
    match case {
        SystemsCase::Swaps { of_each, .. } => {
            let all = 0..of_each;
            world.spawn_batch(all.clone().map(|_| (A::FIRST, B::FIRST)));
            world.spawn_batch(all.clone().map(|_| (A::FIRST, B::FIRST, C::FIRST)));
            world.spawn_batch(
                all.clone()
                    .map(|_| (A::FIRST, B::FIRST, C::FIRST, D::FIRST)),
            );
            world.spawn_batch(all.map(|_| (A::FIRST, B::FIRST, C::FIRST, E::FIRST)));
            schedule.add_systems((swap!(A B), swap!(C D), swap!(C E)));
        }
        SystemsCase::Heavy { entities } => {
            world.spawn_batch((0..entities).map(turned));
            match threads {
                1 => schedule.add_systems(compute),
                _ => schedule.add_systems(compute_on_all),
            };
        }
        SystemsCase::Mixed { of_each } => {
            world.spawn_batch(straight(of_each));
            world.spawn_batch(bent(of_each));
            world.spawn_batch(still(of_each));
            schedule.add_systems((walk, think, turn).chain());
        }
        SystemsCase::Empty { systems } => {
            for _ in 0..systems {
                schedule.add_systems(|| {});
            }
        }
    }
    Ok(Box::new(Scheduled {
        world,
        schedule,
        case,
    }))
}

/// A group of systems.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Group(u32);

struct Solvable {
    systems: u32,
    archetypes: u32,
}

/// Adds a system that reads or writes the component `N` of ten.
fn touching<const N: usize>(schedule: &mut Schedule, group: Group, writes: bool) {
    fn write<const N: usize>(mut all: Query<'_, '_, (&mut Kind<N>, &Data)>) {
        all.iter_mut().for_each(|(mut kind, data)| kind.0 += data.0);
    }
    fn read<const N: usize>(all: Query<'_, '_, (&Kind<N>, &Data)>) {
        all.iter().for_each(|(kind, data)| {
            core::hint::black_box(kind.0 + data.0);
        });
    }
    match writes {
        true => schedule.add_systems(write::<N>.in_set(group)),
        false => schedule.add_systems(read::<N>.in_set(group)),
    };
}

impl Solving for Solvable {
    fn solve_anew(&mut self) -> Duration {
        let mut world = World::new();
        let kinds: [fn(&mut World, Entity); 10] = [
            |world, id| _ = world.entity_mut(id).insert(Kind::<0>(values::KIND)),
            |world, id| _ = world.entity_mut(id).insert(Kind::<1>(values::KIND)),
            |world, id| _ = world.entity_mut(id).insert(Kind::<2>(values::KIND)),
            |world, id| _ = world.entity_mut(id).insert(Kind::<3>(values::KIND)),
            |world, id| _ = world.entity_mut(id).insert(Kind::<4>(values::KIND)),
            |world, id| _ = world.entity_mut(id).insert(Kind::<5>(values::KIND)),
            |world, id| _ = world.entity_mut(id).insert(Kind::<6>(values::KIND)),
            |world, id| _ = world.entity_mut(id).insert(Kind::<7>(values::KIND)),
            |world, id| _ = world.entity_mut(id).insert(Kind::<8>(values::KIND)),
            |world, id| _ = world.entity_mut(id).insert(Kind::<9>(values::KIND)),
        ];
        for number in 1..=self.archetypes {
            let id = world.spawn(Data(values::DATA)).id();
            for (bit, add) in kinds.iter().enumerate() {
                if number >> bit & 1 == 1 {
                    add(&mut world, id);
                }
            }
        }
        let touching: [fn(&mut Schedule, Group, bool); 10] = [
            touching::<0>,
            touching::<1>,
            touching::<2>,
            touching::<3>,
            touching::<4>,
            touching::<5>,
            touching::<6>,
            touching::<7>,
            touching::<8>,
            touching::<9>,
        ];
        let mut schedule = Schedule::default();
        for number in 0..self.systems {
            let group = Group(number / 10);
            touching[(number * 7 % 10) as usize](&mut schedule, group, number % 3 == 0);
            if number % 20 == 10 {
                schedule.configure_sets(group.after(Group(group.0 - 1)));
            }
        }
        let began = Instant::now();
        let solved = schedule.initialize(&mut world);
        let took = began.elapsed();
        solved.expect("the schedule is a sound one");
        took
    }
}

pub(in crate::peers::ecs) fn solving(systems: u32, archetypes: u32) -> Box<dyn Solving> {
    Box::new(Solvable {
        systems,
        archetypes,
    })
}
