//! `ProcessorInfo`: what a schedule tells of a processor.

use core::panic::Location;

use crate::processor::{Phase, Schedule};

/// A processor of a schedule, as its builder has placed it: from [`Schedule::processors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessorInfo<'s> {
    /// Its name.
    pub name: &'s str,
    /// The phase in which it runs.
    pub phase: Phase,
    /// The path of its group; empty if it is in none.
    pub group: &'s str,
    /// Whether it is [switched on](Schedule::set_enabled). Whether it runs is told by [`Schedule::standing`].
    pub enabled: bool,
    /// How many come before it in the order in which one thread runs them, those too that are passed by; `None` if the
    /// schedule has not been [solved](Schedule::solve) since processors were added, removed, replaced, or put into another
    /// order, or since it was detached or went over to another world.
    pub place: Option<usize>,
    /// Where in the source it was made.
    pub made_at: &'static Location<'static>,
}

impl Schedule {
    /// The processors, in the order in which they were added. O(processors).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("draw", || {}).phase(Phase::FrameEnd));
    /// schedule.add(processor("fall", || {}).group("Physics").enabled(false));
    /// schedule.solve(&mut world)?;
    /// for info in schedule.processors() {
    ///     println!("{:?} {} in {:?}, {}", info.place, info.name, info.phase, info.enabled);
    /// }
    /// let mut all: Vec<_> = schedule.processors().collect();
    /// all.sort_by_key(|info| info.place);
    /// assert_eq!((all[0].name, all[0].group, all[0].enabled), ("fall", "Physics", false));
    /// assert_eq!((all[1].name, all[1].place), ("draw", Some(1)));
    /// # Ok::<(), ScheduleError>(())
    /// ```
    pub fn processors(&self) -> impl Iterator<Item = ProcessorInfo<'_>> {
        let mut places = vec![None; self.entries.len()];
        if let Some(plan) = &self.plan {
            for (place, (_, processor)) in plan.order.processors().enumerate() {
                places[processor] = Some(place);
            }
        }
        let entries = self.entries.iter().zip(places);
        entries.map(|(entry, place)| ProcessorInfo {
            name: &entry.name,
            phase: entry.phase,
            group: &entry.group,
            enabled: entry.enabled,
            place,
            made_at: entry.at,
        })
    }
}
