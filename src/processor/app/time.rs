//! `Time`: a resource of worlds that a [`Simulation`](crate::processor::Simulation) runs.

use core::time::Duration;

/// The time of a world, as a resource: processors take `&Time`. A [`Simulation`](crate::processor::Simulation) puts it
/// in and sets it before each tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(alias = "DeltaTime")]
pub struct Time {
    /// How much time this tick stands for.
    pub step: Duration,
    /// The [world's time](crate::world::World::time), this tick included.
    pub now: Duration,
    /// Ticks before this one; counted from where they were [set](crate::processor::Simulation::set_tick), if they were.
    pub tick: u64,
}

impl Time {
    /// The step in seconds.
    #[must_use]
    pub fn seconds(&self) -> f32 {
        self.step.as_secs_f32()
    }
}
