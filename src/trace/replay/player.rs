//! `Player`: what a replay calls for each event, and the players that need nothing else.

use std::io;

use crate::chunk::Run;
use crate::entity::{Entity, EntityAllocator, EntityError, Full};

/// Slots of a block: what an allocator commits at a time.
pub(super) const BLOCK: usize = 8_192;

/// What a replay does with an event: the seam between a trace and what is to create and destroy.
///
/// An id is 64 bits, never 0: an [`Entity`]'s bits, or whatever else the player can find its
/// object by. The replay's hot loop is compiled for each player anew, nothing is called through a
/// pointer.
pub trait Player {
    /// Creates an object and gives its id, not 0.
    ///
    /// # Errors
    /// [`ReplayFault`]; it ends the replay, and so does the id 0, as [`ReplayFault::NoId`].
    fn create(&mut self) -> Result<u64, ReplayFault>;

    /// Destroys the object that [`create`](Self::create) gave `id` for, here or on another thread.
    ///
    /// # Errors
    /// [`ReplayFault`]; it ends the replay.
    fn destroy(&mut self, id: u64) -> Result<(), ReplayFault>;
}

/// Why a player gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayFault {
    /// There was no id to give.
    #[error(transparent)]
    Full(#[from] Full),
    /// A handle that must be alive was refused.
    #[error("a live handle was refused: {0}")]
    Refused(EntityError),
    /// A player gave 0 as the id of an object.
    #[error("an object was created, and its id is 0, which is none")]
    NoId,
    /// An index lies beyond the allocator's capacity.
    #[error("{entity} was handed out, but there are only {capacity} slots")]
    OutOfRange {
        /// The handle.
        entity: Entity,
        /// The allocator's capacity.
        capacity: usize,
    },
    /// Two live objects have one index.
    #[error("{entity} was handed out while {alive} is alive")]
    HandedOutTwice {
        /// The second handle.
        entity: Entity,
        /// The first, still alive.
        alive: Entity,
    },
    /// A handle was handed out a second time, its version included.
    #[error("{entity} was handed out again after it had been destroyed")]
    HandedOutAgain {
        /// The handle.
        entity: Entity,
    },
    /// A handle does not exist right after its creation.
    #[error("{entity} was created and does not exist")]
    NotAlive {
        /// The handle.
        entity: Entity,
    },
    /// A handle exists right after its destruction.
    #[error("{entity} was destroyed and still exists")]
    StillAlive {
        /// The handle.
        entity: Entity,
    },
    /// A second destroy of one handle was accepted.
    #[error("{entity} was destroyed a second time, and the allocator accepted it")]
    DestroyedTwice {
        /// The handle.
        entity: Entity,
    },
    /// Everything was destroyed, and the allocator counts otherwise.
    #[error("everything was destroyed, and {left} entities are left")]
    NotReturned {
        /// What the allocator counts.
        left: usize,
    },
    /// A chunk allocator had no such run to give, or the system refused the memory.
    #[error("no run of {len} chunks could be had")]
    NoRun {
        /// How many chunks were asked for.
        len: usize,
    },
    /// A run that is in use could not be given back.
    #[error("{run} is in use and was refused")]
    RunRefused {
        /// The run.
        run: Run,
    },
    /// There is not one player for each lane.
    #[error("it takes a player for each lane: {lanes}, not {players}")]
    OtherPlayers {
        /// How many players there are.
        players: usize,
        /// How many lanes the replay has.
        lanes: usize,
    },
    /// The system had no thread for a lane.
    #[error("it could not be started: {}", said(*code))]
    NotStarted {
        /// How many threads the replay is on.
        threads: usize,
        /// What the system said, as its number.
        code: Option<i32>,
    },
    /// Another thread of the replay gave up.
    #[error("another thread gave up")]
    Stopped,
}

impl From<EntityError> for ReplayFault {
    fn from(error: EntityError) -> Self {
        Self::Refused(error)
    }
}

/// A replay ended before its end: where, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {fault}", place(*thread, *event, fault))]
pub struct ReplayError {
    /// The replay's thread.
    pub thread: usize,
    /// The event on that thread, counted from 1; 0 where it was not started, or not drained.
    pub event: usize,
    /// What was wrong.
    pub fault: ReplayFault,
}

fn place(thread: usize, event: usize, fault: &ReplayFault) -> String {
    match fault {
        ReplayFault::NotStarted { threads, .. } => format!("thread {thread} of {threads}"),
        ReplayFault::OtherPlayers { .. } => "nothing was drained".to_owned(),
        _ => format!("thread {thread}, event {event}"),
    }
}

fn said(code: Option<i32>) -> String {
    match code {
        Some(code) => io::Error::from_raw_os_error(code).to_string(),
        None => "the system refused it".to_owned(),
    }
}

impl ReplayError {
    /// The system had no thread for lane `thread` of `threads`.
    pub(super) fn not_started(thread: usize, threads: usize, error: &io::Error) -> Self {
        Self {
            thread,
            event: 0,
            fault: ReplayFault::NotStarted {
                threads,
                code: error.raw_os_error(),
            },
        }
    }

    /// `players` were to drain `lanes`.
    pub(super) fn other_players(players: usize, lanes: usize) -> Self {
        Self {
            thread: players.min(lanes),
            event: 0,
            fault: ReplayFault::OtherPlayers { players, lanes },
        }
    }

    /// Whether this thread only stopped because another one had given up.
    #[must_use]
    pub fn is_consequence(&self) -> bool {
        self.fault == ReplayFault::Stopped
    }
}

/// The entity that [`Player::create`] gave `id` for.
#[inline(always)]
pub(super) const fn entity(id: u64) -> Entity {
    // Every id here came from `Entity::to_bits`; the version's oddness needs no second check.
    Entity::from_parts(id as u32, (id >> 32) as u32)
}

/// Plays on an allocator, and does nothing else: this is what is timed.
#[derive(Debug)]
pub struct Plain<'a, A>(pub &'a A);

impl<A: EntityAllocator> Player for Plain<'_, A> {
    #[inline(always)]
    fn create(&mut self) -> Result<u64, ReplayFault> {
        Ok(self.0.create()?.to_bits())
    }

    #[inline(always)]
    fn destroy(&mut self, id: u64) -> Result<(), ReplayFault> {
        Ok(self.0.destroy(entity(id))?)
    }
}

/// Only reads the events: what a replay costs without any allocator.
///
/// Hands out numbers and adds up those that come back: two sums, so that neither waits for the
/// other.
#[derive(Debug, Default)]
pub struct Reading {
    created: u64,
    heard: u64,
}

impl Reading {
    /// What came back, for the compiler to see that somebody asks.
    #[must_use]
    pub const fn heard(&self) -> u64 {
        self.heard
    }
}

impl Player for Reading {
    #[inline(always)]
    fn create(&mut self) -> Result<u64, ReplayFault> {
        self.created += 1;
        Ok(self.created)
    }

    #[inline(always)]
    fn destroy(&mut self, id: u64) -> Result<(), ReplayFault> {
        self.heard = self.heard.wrapping_add(id);
        Ok(())
    }
}

/// Plays on an allocator and notes which blocks of 8,192 slots it hands ids out of.
#[derive(Debug)]
pub struct Noting<'a, A> {
    allocator: &'a A,
    touched: Vec<bool>,
}

impl<'a, A: EntityAllocator> Noting<'a, A> {
    /// Plays on `allocator`.
    #[must_use]
    pub fn new(allocator: &'a A) -> Self {
        Self {
            allocator,
            touched: vec![false; allocator.capacity().div_ceil(BLOCK)],
        }
    }

    /// For each block of 8,192 slots, whether an id of it was handed out.
    #[must_use]
    pub fn touched(&self) -> &[bool] {
        &self.touched
    }
}

impl<A: EntityAllocator> Player for Noting<'_, A> {
    fn create(&mut self) -> Result<u64, ReplayFault> {
        let entity = self.allocator.create()?;
        let capacity = self.allocator.capacity();
        let block = self.touched.get_mut(entity.index() as usize / BLOCK);
        *block.ok_or(ReplayFault::OutOfRange { entity, capacity })? = true;
        Ok(entity.to_bits())
    }

    fn destroy(&mut self, id: u64) -> Result<(), ReplayFault> {
        Ok(self.allocator.destroy(entity(id))?)
    }
}

#[cfg(test)]
mod tests {
    use core::error::Error;

    use super::*;
    use crate::entity::EntityFault;

    #[test]
    fn a_refused_handle_is_told_once() {
        let entity = Entity::try_from_bits(1 << 32).expect("its version is odd");
        let fault = ReplayFault::from(EntityError::new(entity, EntityFault::Destroyed));
        let says = "a live handle was refused: entity 0v1: it is destroyed";
        assert_eq!(fault.to_string(), says);
        assert!(fault.source().is_none());
    }
}
