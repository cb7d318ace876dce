//! `Precedence`: whose observer is called before whose.

/// Whose observer is called before whose, the lower one first: the world's own, and then those of schedules, of one after
/// the other. It is given once, and holds whatever comes, goes, or comes to another world. Of one precedence are the world's
/// own alone: these are called in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Precedence {
    /// The schedule's number; 0 for the world's own.
    schedule: u64,
    /// The place among the schedule's processors, of which some may have gone.
    processor: u64,
}

impl Precedence {
    /// The world's own.
    pub(crate) const OF_WORLD: Self = Self {
        schedule: 0,
        processor: 0,
    };

    /// That of a processor of the schedule with this number, which is not 0.
    pub(crate) const fn of(schedule: u64, processor: u64) -> Self {
        Self {
            schedule,
            processor,
        }
    }
}
