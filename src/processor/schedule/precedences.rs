//! `Precedences`: what a schedule's observers are ordered by in a world.

use crate::observer::Precedence;
use crate::world::new_identity;

/// Gives a schedule's processors their [precedence](Precedence), in the order in which they are added. Schedules have theirs
/// in the order in which they are made.
pub(super) struct Precedences {
    /// The schedule's number.
    schedule: u64,
    /// How many were given.
    given: u64,
}

impl Default for Precedences {
    fn default() -> Self {
        Self {
            schedule: new_identity(),
            given: 0,
        }
    }
}

impl Precedences {
    /// That of a processor behind all others.
    pub(super) fn next(&mut self) -> Precedence {
        let processor = self.given;
        self.given += 1;
        Precedence::of(self.schedule, processor)
    }
}
