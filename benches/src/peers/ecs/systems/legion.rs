//! `legion`: a schedule on rayon's threads. It stays on the thread that made it, so that it is made once a
//! repetition, within the time; that is one frame in hundreds.

use legion::{IntoQuery, Resources, Schedule, SystemBuilder, World};
use megachunk::cli::workload::Unsupported;
use megachunk::cli::workload::ecs::{Systems, SystemsCase, Tally, agents, own_threads, values};
use rayon::ThreadPool;

use crate::peers::ecs::components::{
    A, B, C, D, E, Heading, Mind, Place, Position, Transform, bent, still, straight, turned,
};

struct Scheduled {
    world: World,
    case: SystemsCase,
    threads: usize,
    pool: Option<ThreadPool>,
}

/// Swaps two components.
macro_rules! swap {
    ($one:ident $other:ident) => {
        SystemBuilder::new(concat!(
            "swap ",
            stringify!($one),
            " and ",
            stringify!($other)
        ))
        .with_query(<(&mut $one, &mut $other)>::query())
        .build(|_, world, _, pairs| {
            pairs.for_each_mut(world, |(one, other)| {
                core::mem::swap(&mut one.0, &mut other.0);
            });
        })
    };
}

/// What there is of a component.
macro_rules! tally {
    ($world:expr, $component:ident, $($at:tt)*) => {
        Tally::of(<&$component>::query().iter($world).map(|component| component $($at)*))
    };
}

fn schedule(case: SystemsCase, threads: usize) -> Schedule {
    let mut builder = Schedule::builder();
    match case {
        SystemsCase::Swaps { .. } => {
            builder.add_system(swap!(A B));
            builder.add_system(swap!(C D));
            builder.add_system(swap!(C E));
        }
        SystemsCase::Mixed { .. } => {
            builder.add_system(
                SystemBuilder::new("walk")
                    .with_query(<(&mut Place, &Heading)>::query())
                    .build(|_, world, _, all| {
                        all.for_each_mut(world, |(place, heading)| {
                            agents::walk(&mut place.0, &heading.0);
                        });
                    }),
            );
            builder.add_system(
                SystemBuilder::new("think")
                    .with_query(<&mut Mind>::query())
                    .build(|_, world, _, all| {
                        all.for_each_mut(world, |mind| agents::think(&mut mind.0));
                    }),
            );
            builder.add_system(
                SystemBuilder::new("turn")
                    .with_query(<(&Place, &mut Heading, &Mind)>::query())
                    .build(|_, world, _, all| {
                        all.for_each_mut(world, |(place, heading, mind)| {
                            agents::turn(&place.0, &mut heading.0, &mind.0);
                        });
                    }),
            );
        }
        _ => {
            let compute = SystemBuilder::new("compute")
                .with_query(<(&mut Transform, &mut Position)>::query());
            let compute = compute.build(move |_, world, _, bodies| {
                let each = |(transform, position): (&mut Transform, &mut Position)| {
                    values::compute(&mut transform.0, &mut position.0);
                };
                match threads {
                    1 => bodies.for_each_mut(world, each),
                    _ => bodies.par_for_each_mut(world, each),
                }
            });
            builder.add_system(compute);
        }
    }
    builder.build()
}

impl Systems for Scheduled {
    fn run(&mut self, frames: u64) {
        let (world, case, threads) = (&mut self.world, self.case, self.threads);
        let mut all = || {
            let (mut schedule, mut resources) = (schedule(case, threads), Resources::default());
            for _ in 0..frames {
                schedule.execute(world, &mut resources);
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
    let mut world = World::default();
    match case {
        SystemsCase::Swaps { of_each, .. } => {
            let all = 0..of_each;
            world.extend(all.clone().map(|_| (A::FIRST, B::FIRST)));
            world.extend(all.clone().map(|_| (A::FIRST, B::FIRST, C::FIRST)));
            world.extend(
                all.clone()
                    .map(|_| (A::FIRST, B::FIRST, C::FIRST, D::FIRST)),
            );
            world.extend(all.map(|_| (A::FIRST, B::FIRST, C::FIRST, E::FIRST)));
        }
        SystemsCase::Heavy { entities } => {
            world.extend((0..entities).map(turned));
        }
        SystemsCase::Mixed { of_each } => {
            world.extend(straight(of_each));
            world.extend(bent(of_each));
            world.extend(still(of_each));
        }
        SystemsCase::Empty { .. } => {
            return Err(Unsupported::because("does not take part"));
        }
    }
    // Its schedule asks for a pool on one thread too.
    let pool = own_threads(case, threads)?;
    Ok(Box::new(Scheduled {
        world,
        case,
        threads,
        pool,
    }))
}
