//! A schedule goes over to another world in which all goes on as it was: nothing is stopped, and nothing is started anew.
//!
//! Must hold: who counts as started in the new world has been started in the one before it, and is stopped in the new one;
//! an observer observes one of them at a time.

use crate::panics::resume;
use crate::processor::Schedule;
use crate::processor::entry::Started;
use crate::world::World;

impl Schedule {
    /// Goes over to a world that goes on with what was started in another. What parameters keep is dropped, and observers
    /// observe the new one instead, at once. If it does not belong to the first one, all start anew.
    ///
    /// # Panics
    /// If the `drop` of what is kept panics: it belongs to the first world still, where it goes on so.
    pub(super) fn hand_over(&mut self, from: &mut World, to: &mut World) {
        let is_own = matches!(self.is_of(from), Ok(true));
        let mut started: Vec<Started> = self.entries.iter().map(|entry| entry.started).collect();
        for (started, member) in started.iter_mut().zip(&mut self.crew) {
            match is_own {
                true if started.processor => member.get_mut().runner.leave(from),
                true => {}
                false => *started = Started::default(),
            }
        }
        let panicked = self.forget();
        let next = match panicked {
            None => to,
            Some(_) => from,
        };
        self.of = Some(next.seat.presence());
        self.restless = true;
        let all = self.entries.iter_mut().zip(&mut self.crew);
        for ((entry, member), was) in all.zip(started) {
            entry.started = Started {
                processor: was.processor && member.get_mut().runner.go_on(next),
                ..was
            };
        }
        resume(panicked);
    }
}
