//! `hecs`: it has no systems; loops, on one thread, or over batches on rayon's. All go by `for_each`, as
//! [`super::super::hecs`] does.

use hecs::World;
use megachunk::cli::workload::Unsupported;
use megachunk::cli::workload::ecs::{
    Systems, SystemsCase, Tally, agents, in_pool, threads as pool_of, values,
};
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::peers::ecs::components::{
    A, B, C, D, E, Heading, Mind, Place, Position, Transform, bent, still, straight, turned,
};

/// Entities of `heavy_compute` that a thread takes at a time; measured.
const BATCH: u32 = 16;

struct Loops {
    world: World,
    case: SystemsCase,
    pool: Option<ThreadPool>,
}

/// Swaps two components.
macro_rules! swap {
    ($world:ident $one:ident $other:ident) => {
        let pairs = $world.query_mut::<(&mut $one, &mut $other)>().into_iter();
        pairs.for_each(|(one, other)| core::mem::swap(&mut one.0, &mut other.0));
    };
}

impl Loops {
    fn tally<T: hecs::Component>(&mut self, value: fn(&T) -> f32) -> Tally {
        Tally::of(self.world.query_mut::<&T>().into_iter().map(value))
    }
}

impl Systems for Loops {
    fn run(&mut self, frames: u64) {
        let (world, pool) = (&mut self.world, self.pool.as_ref());
        match (self.case, pool) {
            (SystemsCase::Swaps { .. }, _) => in_pool(pool, frames, || {
                swap!(world A B);
                swap!(world C D);
                swap!(world C E);
            }),
            (SystemsCase::Mixed { .. }, _) => in_pool(pool, frames, || {
                let walkers = world.query_mut::<(&mut Place, &Heading)>().into_iter();
                walkers.for_each(|(place, heading)| agents::walk(&mut place.0, &heading.0));
                let minds = world.query_mut::<&mut Mind>().into_iter();
                minds.for_each(|mind| agents::think(&mut mind.0));
                let all = world.query_mut::<(&Place, &mut Heading, &Mind)>();
                all.into_iter().for_each(|(place, heading, mind)| {
                    agents::turn(&place.0, &mut heading.0, &mind.0);
                });
            }),
            (_, None) => in_pool(pool, frames, || {
                let bodies = world.query_mut::<(&mut Transform, &mut Position)>();
                bodies.into_iter().for_each(|(transform, position)| {
                    values::compute(&mut transform.0, &mut position.0);
                });
            }),
            (_, Some(_)) => in_pool(pool, frames, || {
                let query = world.query_mut::<(&mut Transform, &mut Position)>();
                let batches = query.into_iter_batched(BATCH).par_bridge();
                batches.for_each(|batch| {
                    batch.for_each(|(transform, position)| {
                        values::compute(&mut transform.0, &mut position.0);
                    });
                });
            }),
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
            SystemsCase::Mixed { .. } => vec![
                self.tally(|place: &Place| place.0[0]),
                self.tally(|place: &Place| place.0[1]),
                self.tally(|heading: &Heading| heading.0[0]),
                self.tally(|mind: &Mind| mind.0.count as f32),
            ],
            _ => vec![
                self.tally(|position: &Position| position.0[0]),
                self.tally(|position: &Position| position.0[1]),
            ],
        }
    }
}

pub(in crate::peers::ecs) fn systems(
    case: SystemsCase,
    threads: usize,
) -> Result<Box<dyn Systems>, Unsupported> {
    let mut world = World::new();
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
        }
        SystemsCase::Heavy { entities } => {
            world.spawn_batch((0..entities).map(turned));
        }
        SystemsCase::Mixed { of_each } => {
            world.spawn_batch(straight(of_each));
            world.spawn_batch(bent(of_each));
            world.spawn_batch(still(of_each));
        }
        SystemsCase::Empty { .. } => {
            return Err(Unsupported::because("has no systems"));
        }
    }
    let pool = pool_of(threads)?;
    Ok(Box::new(Loops { world, case, pool }))
}
