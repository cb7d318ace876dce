//! `Time`: a resource of worlds that a [`Simulation`](crate::processor::Simulation) runs.

use core::time::Duration;

use crate::entity::EntityMap;
use crate::fragment::{FragmentError, FragmentRegistry};

/// The time of a world, as a resource: processors take `&Time`. A [`Simulation`](crate::processor::Simulation) puts it
/// in and sets it before each tick.
///
/// It is that of the last *tick*, also to who is not run by the simulation: a second schedule, say, that draws the same world
/// in every frame. What that has to know of a frame, how long it takes and which [part of a
/// tick](crate::processor::Simulation::fraction) has passed, is a resource of your own: see [the
/// guide](crate::guide#13-modules-tests-screens).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(alias = "DeltaTime")]
#[non_exhaustive]
pub struct Time {
    /// How much time this tick stands for.
    pub step: Duration,
    /// The [world's time](crate::world::World::time), this tick included.
    pub now: Duration,
    /// Ticks before this one; counted from where they were [set](crate::processor::Simulation::set_tick), if they were.
    pub tick: u64,
}

/// Bytes of a saved one.
const BYTES: usize = 16 + 16 + 8;

impl Time {
    /// A time for a world without a simulation, or for a processor's test: this step, the world's time with the step
    /// included, and ticks before this one. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let step = Duration::from_millis(10);
    /// world.resources_mut().insert(Time::new(step, step * 3, 2));
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("clock", |time: &Time| assert_eq!(time.tick, 2)));
    /// schedule.run(&mut world)?;
    /// # Ok::<(), ScheduleError>(())
    /// ```
    #[must_use]
    pub const fn new(step: Duration, now: Duration, tick: u64) -> Self {
        Self { step, now, tick }
    }

    /// Says that it is part of a world's [state](FragmentRegistry::register_state), so that a simulation of a world that
    /// was loaded [goes on](crate::processor::Simulation::continuing) with the tick at which it was saved. Hashes count it
    /// then: worlds at different ticks, or whose ticks took other times, have different ones.
    ///
    /// # Errors
    /// [`FragmentError::StateNameTaken`] if another type is saved as `megachunk.time`;
    /// [`FragmentError::NamedOtherwise`] if this one was given another name.
    pub fn register(registry: &FragmentRegistry) -> Result<(), FragmentError> {
        registry.register_state_with("megachunk.time", Self::write, Self::read)
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.step.as_nanos().to_le_bytes());
        bytes.extend(self.now.as_nanos().to_le_bytes());
        bytes.extend(self.tick.to_le_bytes());
    }

    fn read(bytes: &[u8], _: &EntityMap) -> Result<Self, &'static str> {
        let bytes: &[u8; BYTES] = bytes.try_into().map_err(|_| "it has 40 bytes")?;
        let (durations, tick) = bytes.split_at(32);
        let duration = |at: usize| {
            let nanoseconds = number::<16>(&durations[at..]).map(u128::from_le_bytes)?;
            let seconds = u64::try_from(nanoseconds / 1_000_000_000).ok()?;
            let rest = (nanoseconds % 1_000_000_000) as u32;
            Some(Duration::new(seconds, rest))
        };
        let time = || {
            Some(Self {
                step: duration(0)?,
                now: duration(16)?,
                tick: number::<8>(tick).map(u64::from_le_bytes)?,
            })
        };
        time().ok_or("no time is so long")
    }

    /// The step in seconds.
    #[must_use]
    pub fn seconds(&self) -> f32 {
        self.step.as_secs_f32()
    }
}

fn number<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_too_long_is_not() {
        let time = Time {
            step: Duration::from_nanos(16_666_667),
            now: Duration::MAX,
            tick: u64::MAX - 1,
        };
        let mut bytes = Vec::new();
        time.write(&mut bytes);
        let nobody = EntityMap::default();
        assert_eq!(Time::read(&bytes, &nobody), Ok(time));
        assert_eq!(Time::read(&bytes[1..], &nobody), Err("it has 40 bytes"));
        bytes[31] = 1;
        assert_eq!(Time::read(&bytes, &nobody), Err("no time is so long"));
    }
}
