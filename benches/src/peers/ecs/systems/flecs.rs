//! `flecs_ecs`: systems of the pipeline, shared out over its own threads.

use flecs_ecs::core::World;
use flecs_ecs::prelude::*;
use megachunk::cli::workload::Unsupported;
use megachunk::cli::workload::ecs::{Systems, SystemsCase, Tally, agents, values};

use crate::peers::ecs::components::{
    A, B, C, D, E, Heading, Mind, Place, Position, Transform, bent, still, straight, turned,
};

struct Pipeline {
    world: World,
    case: SystemsCase,
}

/// Swaps two components.
macro_rules! swap {
    ($world:ident $threads:ident $one:ident $other:ident) => {{
        let mut system = $world.system::<(&mut $one, &mut $other)>();
        let swap = |(one, other): (&mut $one, &mut $other)| {
            core::mem::swap(&mut one.0, &mut other.0);
        };
        match $threads {
            1 => system.each(swap),
            _ => system.par_each(swap),
        };
    }};
}

/// What there is of a component.
macro_rules! tally {
    ($world:expr, $component:ident, $($at:tt)*) => {{
        let mut tally = Tally::default();
        $world.each::<&$component>(|component| tally.add(component $($at)*));
        tally
    }};
}

impl Systems for Pipeline {
    fn run(&mut self, frames: u64) {
        for _ in 0..frames {
            self.world.progress();
        }
    }

    fn tallies(&mut self) -> Vec<Tally> {
        match self.case {
            SystemsCase::Swaps { .. } => vec![
                tally!(self.world, A, .0),
                tally!(self.world, B, .0),
                tally!(self.world, C, .0),
                tally!(self.world, D, .0),
                tally!(self.world, E, .0),
            ],
            SystemsCase::Mixed { .. } => vec![
                tally!(self.world, Place, .0[0]),
                tally!(self.world, Place, .0[1]),
                tally!(self.world, Heading, .0[0]),
                tally!(self.world, Mind, .0.count as f32),
            ],
            _ => vec![
                tally!(self.world, Position, .0[0]),
                tally!(self.world, Position, .0[1]),
            ],
        }
    }
}

pub(in crate::peers::ecs) fn systems(
    case: SystemsCase,
    threads: usize,
) -> Result<Box<dyn Systems>, Unsupported> {
    let world = World::new();
    if threads > 1 {
        world.set_threads(threads as i32);
    }
    match case {
        SystemsCase::Swaps { of_each, .. } => {
            for _ in 0..of_each {
                world.entity().set(A::FIRST).set(B::FIRST);
            }
            for _ in 0..of_each {
                world.entity().set(A::FIRST).set(B::FIRST).set(C::FIRST);
            }
            for _ in 0..of_each {
                let entity = world.entity().set(A::FIRST).set(B::FIRST);
                entity.set(C::FIRST).set(D::FIRST);
            }
            for _ in 0..of_each {
                let entity = world.entity().set(A::FIRST).set(B::FIRST);
                entity.set(C::FIRST).set(E::FIRST);
            }
            swap!(world threads A B);
            swap!(world threads C D);
            swap!(world threads C E);
        }
        SystemsCase::Heavy { entities } => {
            for (transform, position, rotation, velocity) in (0..entities).map(turned) {
                let entity = world.entity().set(transform).set(position);
                entity.set(rotation).set(velocity);
            }
            let mut system = world.system::<(&mut Transform, &mut Position)>();
            let compute = |(transform, position): (&mut Transform, &mut Position)| {
                values::compute(&mut transform.0, &mut position.0);
            };
            match threads {
                1 => system.each(compute),
                _ => system.par_each(compute),
            };
        }
        SystemsCase::Mixed { of_each } => {
            for (place, heading) in straight(of_each) {
                world.entity().set(place).set(heading);
            }
            for (place, heading, mind) in bent(of_each) {
                world.entity().set(place).set(heading).set(mind);
            }
            for (place, mind) in still(of_each) {
                world.entity().set(place).set(mind);
            }
            world
                .system::<(&mut Place, &Heading)>()
                .each(|(place, heading)| agents::walk(&mut place.0, &heading.0));
            world
                .system::<&mut Mind>()
                .each(|mind| agents::think(&mut mind.0));
            world
                .system::<(&Place, &mut Heading, &Mind)>()
                .each(|(place, heading, mind)| {
                    agents::turn(&place.0, &mut heading.0, &mind.0);
                });
        }
        SystemsCase::Empty { .. } => {
            return Err(Unsupported::because("does not take part"));
        }
    }
    Ok(Box::new(Pipeline { world, case }))
}
