//! `shipyard`: a workload on rayon's threads, parallel iterators.

use megachunk::cli::workload::Unsupported;
use megachunk::cli::workload::ecs::{Systems, SystemsCase, Tally, agents, own_threads, values};
use rayon::ThreadPool;
use rayon::prelude::*;
use shipyard::{IntoIter, View, ViewMut, Workload, World};

use crate::peers::ecs::components::{
    A, B, C, D, E, Heading, Mind, Place, Position, Transform, bent, still, straight, turned,
};

/// The workload's name.
const FRAME: &str = "frame";

struct Scheduled {
    world: World,
    case: SystemsCase,
    pool: Option<ThreadPool>,
}

/// Swaps two components.
macro_rules! swap {
    ($one:ident $other:ident) => {
        |mut ones: ViewMut<'_, $one>, mut others: ViewMut<'_, $other>| {
            (&mut ones, &mut others).iter().for_each(|(one, other)| {
                core::mem::swap(&mut one.0, &mut other.0);
            });
        }
    };
}

/// What there is of a component.
macro_rules! tally {
    ($world:expr, $component:ident, $($at:tt)*) => {
        $world.run(|all: View<'_, $component>| {
            Tally::of(all.iter().map(|component| component $($at)*))
        })
    };
}

fn compute(mut transforms: ViewMut<'_, Transform>, mut positions: ViewMut<'_, Position>) {
    let bodies = (&mut transforms, &mut positions).iter();
    bodies.for_each(|(transform, position)| {
        values::compute(&mut transform.0, &mut position.0);
    });
}

fn compute_on_all(mut transforms: ViewMut<'_, Transform>, mut positions: ViewMut<'_, Position>) {
    let bodies = (&mut transforms, &mut positions).par_iter();
    bodies.for_each(|(transform, position)| {
        values::compute(&mut transform.0, &mut position.0);
    });
}

fn walk(mut places: ViewMut<'_, Place>, headings: View<'_, Heading>) {
    (&mut places, &headings)
        .iter()
        .for_each(|(place, heading)| {
            agents::walk(&mut place.0, &heading.0);
        });
}

fn think(mut minds: ViewMut<'_, Mind>) {
    (&mut minds)
        .iter()
        .for_each(|mind| agents::think(&mut mind.0));
}

fn turn(places: View<'_, Place>, mut headings: ViewMut<'_, Heading>, minds: View<'_, Mind>) {
    (&places, &mut headings, &minds)
        .iter()
        .for_each(|(place, heading, mind)| {
            agents::turn(&place.0, &mut heading.0, &mind.0);
        });
}

impl Systems for Scheduled {
    fn run(&mut self, frames: u64) {
        let world = &self.world;
        let all = || {
            for _ in 0..frames {
                world.run_workload(FRAME).expect("it is there");
            }
        };
        match &self.pool {
            Some(pool) => pool.install(all),
            None => all(),
        }
    }

    fn tallies(&mut self) -> Vec<Tally> {
        let world = &self.world;
        match self.case {
            SystemsCase::Swaps { .. } => vec![
                tally!(world, A, .0),
                tally!(world, B, .0),
                tally!(world, C, .0),
                tally!(world, D, .0),
                tally!(world, E, .0),
            ],
            SystemsCase::Mixed { .. } => vec![
                tally!(world, Place, .0[0]),
                tally!(world, Place, .0[1]),
                tally!(world, Heading, .0[0]),
                tally!(world, Mind, .0.count as f32),
            ],
            _ => vec![
                tally!(world, Position, .0[0]),
                tally!(world, Position, .0[1]),
            ],
        }
    }
}

pub(in crate::peers::ecs) fn systems(
    case: SystemsCase,
    threads: usize,
) -> Result<Box<dyn Systems>, Unsupported> {
    let mut world = World::new();
    let workload = Workload::new(FRAME);
    let workload = match case {
        SystemsCase::Swaps { of_each, .. } => {
            let all = 0..of_each;
            world.bulk_add_entity(all.clone().map(|_| (A::FIRST, B::FIRST)));
            world.bulk_add_entity(all.clone().map(|_| (A::FIRST, B::FIRST, C::FIRST)));
            world.bulk_add_entity(
                all.clone()
                    .map(|_| (A::FIRST, B::FIRST, C::FIRST, D::FIRST)),
            );
            world.bulk_add_entity(all.map(|_| (A::FIRST, B::FIRST, C::FIRST, E::FIRST)));
            let workload = workload.with_system(swap!(A B));
            workload.with_system(swap!(C D)).with_system(swap!(C E))
        }
        SystemsCase::Heavy { entities } => {
            world.bulk_add_entity((0..entities).map(turned));
            match threads {
                1 => workload.with_system(compute),
                _ => workload.with_system(compute_on_all),
            }
        }
        SystemsCase::Mixed { of_each } => {
            world.bulk_add_entity(straight(of_each));
            world.bulk_add_entity(bent(of_each));
            world.bulk_add_entity(still(of_each));
            workload
                .with_system(walk)
                .with_system(think)
                .with_system(turn)
        }
        SystemsCase::Empty { .. } => {
            return Err(Unsupported::because("does not take part"));
        }
    };
    workload
        .add_to_world(&world)
        .expect("the workload is a sound one");
    // Its workloads ask for a pool on one thread too.
    let pool = own_threads(case, threads)?;
    Ok(Box::new(Scheduled { world, case, pool }))
}
