//! `spawn_templates`: how this crate creates a crowd.

use core::ops::Range;
use core::time::Duration;
use std::time::Instant;

use rayon::ThreadPool;

use super::{Kind, Position, Rotation, Transform, Velocity, body, done};
use crate::cli::workload::ecs::{Crowd, values};
use crate::template::spawner::{Disc, Each, Random, SpawnError, SpawnPoint, Spawner};
use crate::template::{BuildContext, EntityTrait, TemplateBuilder, TraitError};
use crate::world::World;

/// What all agents have.
struct Body;

impl EntityTrait for Body {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        let (transform, position, rotation, velocity) = body(0);
        context.add(transform).add(position);
        context.add(rotation).add(velocity);
        Ok(())
    }
}

/// What the agents of a kind have besides.
struct OfKind<const N: usize>;

impl<const N: usize> EntityTrait for OfKind<N> {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        context.add(Kind::<N>(values::KIND));
        Ok(())
    }
}

pub(super) fn spawn(world: &mut World, pool: &ThreadPool, agents: u32, crowd: Crowd) -> Duration {
    let third = agents / 3;
    let first = agents - 2 * third;
    if crowd == Crowd::Batches {
        let begin = Instant::now();
        batch::<0>(world, 0..first);
        batch::<1>(world, first..first + third);
        batch::<2>(world, first + third..agents);
        return begin.elapsed();
    }
    let spawner = match spawner(world, agents, crowd) {
        Ok(spawner) => spawner,
        Err(error) => panic!("{error}"),
    };
    pool.install(|| {
        let begin = Instant::now();
        let spawned = spawner.spawn(world);
        let took = begin.elapsed();
        assert_eq!(spawned.map(|s| s.len()).ok(), Some(agents as usize));
        took
    })
}

/// An agent of a kind.
type Agent<const N: usize> = (Transform, Position, Rotation, Velocity, Kind<N>);

fn batch<const N: usize>(world: &mut World, numbers: Range<u32>) {
    let agents = numbers.map(|number| -> Agent<N> {
        let (transform, position, rotation, velocity) = body(number);
        (transform, position, rotation, velocity, Kind(values::KIND))
    });
    done(world.create_batch(agents));
}

fn spawner(world: &World, agents: u32, crowd: Crowd) -> Result<Spawner, SpawnError> {
    let mut spawner = Spawner::new(agents as usize);
    let builder = TemplateBuilder::new("agent").with(Body);
    for template in [
        builder.child("first").with(OfKind::<0>).finish(world),
        builder.child("second").with(OfKind::<1>).finish(world),
        builder.child("third").with(OfKind::<2>).finish(world),
    ] {
        let template = template.unwrap_or_else(|error| panic!("{error}"));
        spawner = spawner.entry(&template, 1.0)?;
    }
    let spawner = match crowd {
        Crowd::Disc => spawner.generator(Disc::new([0.0; 3], 1_000.0)?),
        _ => spawner.generator(Each::new(|_: &mut Random, point: &mut SpawnPoint| {
            point.position = values::position(point.number as u32);
        })),
    };
    Ok(spawner.place(|point: &SpawnPoint| (Position(point.position),)))
}
