//! `specs`: systems of a dispatcher, parallel joins. The dispatcher stays on the thread that made it, so that it is
//! made once a repetition, within the time; that is one frame in hundreds.

use std::sync::Arc;

use megachunk::cli::workload::Unsupported;
use megachunk::cli::workload::ecs::{Systems, SystemsCase, Tally, agents, values};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use specs::{
    Builder, Dispatcher, DispatcherBuilder, Join, ParJoin, ReadStorage, System, World, WorldExt,
    WriteStorage,
};

use crate::peers::ecs::components::{
    A, B, C, D, E, Heading, Mind, Place, Position, Rotation, Transform, Velocity, bent, still,
    straight, turned,
};

struct Dispatched {
    world: World,
    case: SystemsCase,
    threads: usize,
    pool: Arc<ThreadPool>,
}

/// A system that swaps two components.
macro_rules! swap {
    ($name:ident $one:ident $other:ident) => {
        struct $name;

        impl<'a> System<'a> for $name {
            type SystemData = (WriteStorage<'a, $one>, WriteStorage<'a, $other>);

            fn run(&mut self, (mut ones, mut others): Self::SystemData) {
                for (one, other) in (&mut ones, &mut others).join() {
                    core::mem::swap(&mut one.0, &mut other.0);
                }
            }
        }
    };
}

swap!(SwapAB A B);
swap!(SwapCD C D);
swap!(SwapCE C E);

/// On one thread, or on all.
struct Compute {
    parallel: bool,
}

impl<'a> System<'a> for Compute {
    type SystemData = (WriteStorage<'a, Transform>, WriteStorage<'a, Position>);

    fn run(&mut self, (mut transforms, mut positions): Self::SystemData) {
        let bodies = (&mut transforms, &mut positions);
        let each = |(transform, position): (&mut Transform, &mut Position)| {
            values::compute(&mut transform.0, &mut position.0);
        };
        match self.parallel {
            true => bodies.par_join().for_each(each),
            false => bodies.join().for_each(each),
        }
    }
}

struct Walk;

impl<'a> System<'a> for Walk {
    type SystemData = (WriteStorage<'a, Place>, ReadStorage<'a, Heading>);

    fn run(&mut self, (mut places, headings): Self::SystemData) {
        for (place, heading) in (&mut places, &headings).join() {
            agents::walk(&mut place.0, &heading.0);
        }
    }
}

struct Think;

impl<'a> System<'a> for Think {
    type SystemData = WriteStorage<'a, Mind>;

    fn run(&mut self, mut minds: Self::SystemData) {
        for mind in (&mut minds).join() {
            agents::think(&mut mind.0);
        }
    }
}

struct Turn;

impl<'a> System<'a> for Turn {
    type SystemData = (
        ReadStorage<'a, Place>,
        WriteStorage<'a, Heading>,
        ReadStorage<'a, Mind>,
    );

    fn run(&mut self, (places, mut headings, minds): Self::SystemData) {
        for (place, heading, mind) in (&places, &mut headings, &minds).join() {
            agents::turn(&place.0, &mut heading.0, &mind.0);
        }
    }
}

/// What there is of a component.
macro_rules! tally {
    ($world:expr, $component:ident, $($at:tt)*) => {
        Tally::of($world.read_storage::<$component>().join().map(|component| component $($at)*))
    };
}

impl Dispatched {
    fn dispatcher(&self) -> Dispatcher<'static, 'static> {
        let builder = DispatcherBuilder::new().with_pool(Arc::clone(&self.pool));
        let builder = match self.case {
            SystemsCase::Swaps { .. } => builder
                .with(SwapAB, "swap A and B", &[])
                .with(SwapCD, "swap C and D", &[])
                .with(SwapCE, "swap C and E", &[]),
            SystemsCase::Mixed { .. } => builder
                .with(Walk, "walk", &[])
                .with(Think, "think", &["walk"])
                .with(Turn, "turn", &["think"]),
            _ => {
                let parallel = self.threads > 1;
                builder.with(Compute { parallel }, "compute", &[])
            }
        };
        builder.build()
    }
}

impl Systems for Dispatched {
    fn run(&mut self, frames: u64) {
        let mut dispatcher = self.dispatcher();
        for _ in 0..frames {
            match self.threads {
                1 => dispatcher.dispatch_seq(&self.world),
                _ => dispatcher.dispatch_par(&self.world),
            }
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
    match case {
        SystemsCase::Swaps { of_each, .. } => {
            world.register::<A>();
            world.register::<B>();
            world.register::<C>();
            world.register::<D>();
            world.register::<E>();
            for set in 0..4 {
                for _ in 0..of_each {
                    let entity = world.create_entity().with(A::FIRST).with(B::FIRST);
                    match set {
                        0 => entity.build(),
                        1 => entity.with(C::FIRST).build(),
                        2 => entity.with(C::FIRST).with(D::FIRST).build(),
                        _ => entity.with(C::FIRST).with(E::FIRST).build(),
                    };
                }
            }
        }
        SystemsCase::Heavy { entities } => {
            world.register::<Transform>();
            world.register::<Position>();
            world.register::<Rotation>();
            world.register::<Velocity>();
            for (transform, position, rotation, velocity) in (0..entities).map(turned) {
                let entity = world.create_entity().with(transform).with(position);
                entity.with(rotation).with(velocity).build();
            }
        }
        SystemsCase::Mixed { of_each } => {
            world.register::<Place>();
            world.register::<Heading>();
            world.register::<Mind>();
            for (place, heading) in straight(of_each) {
                world.create_entity().with(place).with(heading).build();
            }
            for (place, heading, mind) in bent(of_each) {
                let entity = world.create_entity().with(place).with(heading);
                entity.with(mind).build();
            }
            for (place, mind) in still(of_each) {
                world.create_entity().with(place).with(mind).build();
            }
        }
        SystemsCase::Empty { .. } => {
            return Err(Unsupported::because("does not take part"));
        }
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Unsupported(error.to_string().into()))?;
    Ok(Box::new(Dispatched {
        world,
        case,
        threads,
        pool: Arc::new(pool),
    }))
}
