//! `Contender`: an allocator that replays are played on, whatever its type, and how one is chosen.

use std::time::Duration;

use super::{Noting, Plain, Replay, ReplayError, ReplayFault, Shadow, Verifying};
use crate::entity::reference::{BusyBlock, Naive};
use crate::entity::{EntityAllocator, EntityIndex};

/// An allocator by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Choice {
    /// The reference: one mutex round a free list
    Naive,
    /// The reference: the published DOTS algorithm, one busy flag a block
    BusyBlock,
    /// The product: the lock-free entity index
    Bitmask,
    /// All of them, side by side
    All,
}

impl Choice {
    /// Fresh allocators of this choice.
    #[must_use]
    pub fn contenders(self) -> Vec<Box<dyn Contender>> {
        match self {
            Self::Naive => vec![fresh::<Naive>()],
            Self::BusyBlock => vec![fresh::<BusyBlock>()],
            Self::Bitmask => vec![fresh::<EntityIndex>()],
            Self::All => vec![
                fresh::<Naive>(),
                fresh::<BusyBlock>(),
                fresh::<EntityIndex>(),
            ],
        }
    }
}

fn fresh<A: EntityAllocator + 'static>() -> Box<dyn Contender> {
    Box::new(A::fresh())
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

    /// Plays the trace; gives the number of blocks of 8,192 slots that ids came from.
    ///
    /// # Errors
    /// [`ReplayError`] where the allocator fails.
    fn blocks(&self, replay: &mut Replay) -> Result<usize, ReplayError>;

    /// Plays the trace and checks every answer: that no index is handed out while it is alive,
    /// that no handle comes back, that what is destroyed is gone, and that all is returned.
    ///
    /// # Errors
    /// [`ReplayError`] where the allocator fails or answers wrongly.
    fn verify(&self, replay: &mut Replay) -> Result<(), ReplayError>;

    /// Plays the trace; gives the indices that are alive when it ends, sorted.
    ///
    /// # Errors
    /// [`ReplayError`] where the allocator fails.
    fn survivors(&self, replay: &mut Replay) -> Result<Vec<u32>, ReplayError>;
}

impl<A: EntityAllocator> Contender for A {
    fn name(&self) -> &'static str {
        A::NAME
    }

    fn time(&self, replay: &mut Replay) -> Result<Duration, ReplayError> {
        let mut played = replay.play(|| Plain(self))?;
        replay.drain(&mut played.players)?;
        Ok(played.time)
    }

    fn blocks(&self, replay: &mut Replay) -> Result<usize, ReplayError> {
        let mut played = replay.play(|| Noting::new(self))?;
        replay.drain(&mut played.players)?;
        let blocks = played
            .players
            .first()
            .map_or(0, |player| player.touched().len());
        let touched = |&block: &usize| played.players.iter().any(|player| player.touched()[block]);
        Ok((0..blocks).filter(touched).count())
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

    fn survivors(&self, replay: &mut Replay) -> Result<Vec<u32>, ReplayError> {
        let mut played = replay.play(|| Plain(self))?;
        let mut indices: Vec<u32> = replay.survivors().map(|id| id as u32).collect();
        replay.drain(&mut played.players)?;
        indices.sort_unstable();
        Ok(indices)
    }
}
