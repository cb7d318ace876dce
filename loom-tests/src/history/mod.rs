//! Histories: what concurrent calls answered, and whether some order of them explains it.
//!
//! Called by `tests/history`. [`Program`] is a random program of a few threads; [`Allocators`]
//! runs it and records every call with the moments at which it began and ended; [`check`] asks
//! whether each slot's calls can be put in one order that respects those moments and in which a
//! slot that does one thing at a time would have given the same answers.
//!
//! Slots are independent objects, and a history is linearizable if and only if its part on each
//! object is (Herlihy and Wing, 1990), so each slot is checked alone. A batch of n is recorded as n
//! calls with the same beginning and end: it has n linearization points and promises no more.
//!
//! [`chunks`] does the same for chunks, of which a run is taken and given back at once.
//!
//! The search is that of the crate `todc-utils`, after Wing, Gong and Lowe: not ours, so that our
//! idea of what is right is only in [`check`]'s specification.

pub mod chunks;
mod program;
mod run;
mod specification;
mod stage;

use std::fmt;

use megachunk::entity::{Entity, EntityFault, Place};

pub use program::Program;
pub use run::Allocators;
pub use specification::{Violation, check};

/// What a call that concerned one slot was, and what it answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The history began with the slot dead and at this version: the first event, if there is one.
    Aged(u32),
    /// A creation gave this entity out.
    Created,
    /// The entity was to be destroyed.
    Destroy(Result<(), EntityFault>),
    /// Whether the entity lives.
    Exists(bool),
    /// Where the entity lies.
    Locate(Result<Option<Place>, EntityFault>),
    /// The entity was to lie here.
    Publish(Place, Result<(), EntityFault>),
}

/// One event, whose it is, and when it began and ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The thread that made the call; 0 is the one that prepared the history.
    pub thread: usize,
    /// When it began: no two moments of a history are equal.
    pub call: u64,
    /// When it ended. The calls of a batch share their moments.
    pub response: u64,
    /// The handle that was passed or given out.
    pub entity: Entity,
    /// What happened.
    pub event: Event,
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            thread,
            call,
            response,
            entity,
            event,
        } = self;
        let entity = entity.to_string();
        write!(
            f,
            "thread {thread} {call:>4}..{response:<4} {entity:<10} {event:?}"
        )
    }
}
