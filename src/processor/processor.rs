//! `Processor`: what a schedule runs.

use crate::processor::{Param, ProcessorBuilder, ProcessorOutput};
use crate::world::World;

/// Runs once a frame on what it asks for: a struct with what it keeps. For a closure,
/// [`processor`](super::processor()) is shorter.
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Position(f32);
/// struct Velocity(f32);
///
/// struct Move {
///     step: f32,
/// }
///
/// impl Processor for Move {
///     type Params = (QueryRun<'static, (&'static mut Position, &'static Velocity)>,);
///     type Output = ();
///
///     fn place(&self, processor: ProcessorBuilder) -> ProcessorBuilder {
///         processor.phase(Phase::DuringPhysics).group("Movement")
///     }
///
///     // Or `<Self::Params as Param>::Item<'_>`, which says the same.
///     fn execute(&mut self, (mut bodies,): (QueryRun<'_, (&mut Position, &Velocity)>,)) {
///         bodies.for_each(|(position, velocity)| position.0 += velocity.0 * self.step);
///     }
/// }
///
/// let mut world = World::new();
/// let ant = world.create((Position(0.0), Velocity(2.0)))?;
/// let mut schedule = Schedule::new();
/// schedule.add(ProcessorBuilder::of("move", Move { step: 0.5 }));
/// schedule.run(&mut world)?;
/// assert_eq!(world.get::<Position>(ant)?.0, 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Open: implement it for types of yours. A method that comes later has a body.
///
/// Source: Unreal Mass' processors, Unity DOTS' systems.
#[doc(alias = "system")]
#[doc(alias = "UMassProcessor")]
pub trait Processor: Send + 'static {
    /// What it asks for: a [parameter](super::param), or a tuple of some, with `'static` for their lifetimes.
    type Params: Param;
    /// What a run gives back: `()`, or, if it may fail, a [`Result<(), E>`](ProcessorOutput).
    type Output: ProcessorOutput;

    /// Says where in a frame it runs; whoever adds it may say otherwise.
    #[doc(alias = "ConfigureQueries")]
    fn place(&self, processor: ProcessorBuilder) -> ProcessorBuilder {
        processor
    }

    /// It is about to run for the first time, or for the first time since it was stopped. What it changes in the
    /// world, all processors of this frame see.
    fn start(&mut self, world: &mut World) {
        let _ = world;
    }

    /// Runs once a frame.
    fn execute(&mut self, params: <Self::Params as Param>::Item<'_>) -> Self::Output;

    /// It is switched off, or its schedule is [stopped](super::Schedule::stop).
    fn stop(&mut self, world: &mut World) {
        let _ = world;
    }
}
