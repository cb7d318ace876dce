//! What a schedule tells of its processors' time.

use crate::processor::Schedule;
use crate::processor::member::Timing;
use crate::processor::stopwatch::{Stopwatch, Wanted};

impl Schedule {
    /// Whether it is measured how long each processor takes, and what its queries see. That takes some hundred
    /// nanoseconds a processor and a walk over the chunks that match. What counts as a processor's own time:
    /// [`Timing`].
    pub fn set_measured(&mut self, measured: bool) -> &mut Self {
        self.measured = measured;
        self.measured_before = None;
        self.wind_up();
        self
    }

    /// Tells observers what of their calls is wanted, who do not look each time.
    pub(super) fn wind_up(&mut self) {
        let wanted = self.wanted();
        for member in &mut self.crew {
            if let Some(watch) = member.get_mut().runner.stopwatch() {
                watch.want(wanted);
            }
        }
    }

    pub(super) fn wanted(&self) -> Wanted {
        match (self.measured, self.trace.is_some()) {
            (false, _) => Wanted::Nothing,
            (true, false) => Wanted::Times,
            (true, true) => Wanted::Calls,
        }
    }

    /// The processors' names, in the order in which they were added, with how long each has taken since they are
    /// [measured](Self::set_measured), or that was [reset](Self::reset_timings); all zero before.
    pub fn timings(&mut self) -> impl Iterator<Item = (&str, Timing)> {
        let crew = self.crew.iter_mut().map(|member| {
            let member = member.get_mut();
            let watch = member.runner.stopwatch();
            watch.map_or(*member.timing, Stopwatch::timing)
        });
        self.entries.iter().map(|entry| &*entry.name).zip(crew)
    }

    /// Forgets what was measured until now: [timings](Self::timings) are all zero, and begin anew, after a world was
    /// loaded, say, or for the next second. What of it is in a [trace](Self::start_trace) stays there. O(processors).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("idle", || {})).set_measured(true);
    /// for _ in 0..10 {
    ///     schedule.run(&mut world)?;
    /// }
    /// schedule.reset_timings();
    /// schedule.run(&mut world)?;
    /// assert_eq!(schedule.timings().next().map(|(_, timing)| timing.runs), Some(1));
    /// # Ok::<(), ScheduleError>(())
    /// ```
    pub fn reset_timings(&mut self) -> &mut Self {
        for member in &mut self.crew {
            let member = member.get_mut();
            *member.timing = Timing::default();
            if let Some(watch) = member.runner.stopwatch() {
                watch.reset();
            }
        }
        self
    }
}
