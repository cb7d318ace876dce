//! `Standing`: whether a processor runs, and why not.

use core::fmt;

use crate::processor::member::Mode;
use crate::processor::{Schedule, ScheduleError};
use crate::world::World;

/// Whether a processor has its turn in a run, and why not: from [`Schedule::standing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// It runs.
    Runs,
    /// It is [switched off](Schedule::set_enabled).
    Off,
    /// It is for [net modes](Schedule::set_net_modes) that its schedule is not in.
    OtherNetMode,
    /// It runs only [if something matches](super::ProcessorBuilder::run_if_any_match), and no composition does.
    NothingMatches,
    /// The [condition](super::ProcessorBuilder::run_if) with this number, in the order in which they were given, from 0 on,
    /// did not hold when it was asked last.
    Condition(usize),
    /// It is an [observer](super::observing_processor), which is called when something happens, and is at work.
    Observes,
    /// No run has come to it on this world since it was added or switched on; or it could not be started: an observer still
    /// observes another world.
    NotStarted,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Runs => "it runs",
            Self::Off => "it is switched off",
            Self::OtherNetMode => "it is for net modes that its schedule is not in",
            Self::NothingMatches => "it runs only if something matches, and nothing does",
            Self::Condition(number) => return write!(f, "its condition {number} did not hold"),
            Self::Observes => "it observes, and has no turn",
            Self::NotStarted => "it has not been started on this world",
        })
    }
}

impl Schedule {
    /// Whether a processor ran in the last run, and why not: as it is switched now, with the compositions that the schedule
    /// has seen, and what its conditions said when they were asked last. (That an error or a panic ended the run before its
    /// turn is not told here: see [`broken_off`](Self::broken_off).) O(processors).
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::processor::Standing;
    ///
    /// struct Paused(bool);
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert(Paused(true));
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("think", || {}).run_if(|paused: &Paused| !paused.0));
    /// assert_eq!(schedule.standing(&world, "think")?, Standing::NotStarted);
    /// schedule.run(&mut world)?;
    /// assert_eq!(schedule.standing(&world, "think")?, Standing::Condition(0));
    /// schedule.set_enabled("think", false)?;
    /// assert_eq!(schedule.standing(&world, "think")?.to_string(), "it is switched off");
    /// # Ok::<(), ScheduleError>(())
    /// ```
    ///
    /// # Errors
    /// [`ScheduleError::NoProcessor`]; [`ScheduleError::OtherWorld`].
    pub fn standing(&self, world: &World, name: &str) -> Result<Standing, ScheduleError> {
        let at = self.find(name)?;
        let is_here = self.is_of(world)?;
        let entry = &self.entries[at];
        if !entry.enabled {
            return Ok(Standing::Off);
        }
        if !entry.is_on(self.net_modes) {
            return Ok(Standing::OtherNetMode);
        }
        let started = entry.started.processor && entry.started.hook;
        let Some(plan) = self.plan.as_ref().filter(|_| is_here && started) else {
            return Ok(Standing::NotStarted);
        };
        if !entry.has_turns {
            return Ok(Standing::Observes);
        }
        let position = plan.order.position_of(at);
        Ok(match self.crew[at].held() {
            _ if entry.mode(self.net_modes, plan.conflicts.sees_any(position)) == Mode::Idle => {
                Standing::NothingMatches
            }
            Some(condition) => Standing::Condition(condition),
            None => Standing::Runs,
        })
    }
}
