//! `Contender`: an allocator that replays are played on, whatever its type.

use std::any::Any;
use std::time::Duration;

use super::{Noting, Plain, Replay, ReplayError, ReplayFault, Shadow, Verifying};
use crate::entity::{EntityAllocator, EntityIndex};

/// Where an allocator has placed what is alive, at the end of a replay.
#[derive(Clone, Debug)]
pub struct Placement {
    /// The indices that are alive, ascending.
    pub live: Vec<u32>,
    /// For each block of 8,192 slots, whether an id of it was ever handed out.
    pub touched: Vec<bool>,
    /// Slots that have had all their versions; only the product can tell.
    pub retired: Option<usize>,
}

/// What can be done with a trace and an allocator. Each call ends with nothing alive.
pub trait Contender {
    /// The name in tables.
    fn name(&self) -> &'static str;

    /// Plays the trace; gives the time that it took, without the destruction of what is left.
    ///
    /// # Errors
    /// [`ReplayError`] where the allocator fails.
    fn time(&self, replay: &mut Replay) -> Result<Duration, ReplayError>;

    /// Plays the trace and checks every answer: that no index is handed out while it is alive,
    /// that no handle comes back, that what is destroyed is gone, and that all is returned.
    ///
    /// # Errors
    /// [`ReplayError`] where the allocator fails or answers wrongly.
    fn verify(&self, replay: &mut Replay) -> Result<(), ReplayError>;

    /// Plays the trace; says where everything lies when it ends.
    ///
    /// # Errors
    /// [`ReplayError`] where the allocator fails.
    fn placement(&self, replay: &mut Replay) -> Result<Placement, ReplayError>;
}

impl<A: EntityAllocator + 'static> Contender for A {
    fn name(&self) -> &'static str {
        A::NAME
    }

    fn time(&self, replay: &mut Replay) -> Result<Duration, ReplayError> {
        let mut played = replay.play(|| Plain(self))?;
        replay.drain(&mut played.players)?;
        Ok(played.time)
    }

    fn verify(&self, replay: &mut Replay) -> Result<(), ReplayError> {
        let shadow = Shadow::new(self.capacity());
        let mut played = replay.play(|| Verifying::new(self, &shadow))?;
        replay.drain(&mut played.players)?;
        self.flush();
        match self.count() {
            0 => Ok(()),
            left => Err(ReplayError {
                thread: 0,
                event: replay.events(),
                fault: ReplayFault::NotReturned { left },
            }),
        }
    }

    fn placement(&self, replay: &mut Replay) -> Result<Placement, ReplayError> {
        let mut played = replay.play(|| Noting::new(self))?;
        let mut live: Vec<u32> = replay.survivors().map(|id| id as u32).collect();
        live.sort_unstable();
        let retired = (self as &dyn Any).downcast_ref().map(EntityIndex::retired);
        replay.drain(&mut played.players)?;
        let blocks = played
            .players
            .first()
            .map_or(0, |player| player.touched().len());
        let touched = |block: usize| played.players.iter().any(|player| player.touched()[block]);
        Ok(Placement {
            live,
            touched: (0..blocks).map(touched).collect(),
            retired,
        })
    }
}
