//! `WeakCommands`: what opens recorders as long as their world lives, and keeps nothing of it.

use core::fmt;
use core::ops::Range;
use std::sync::{Arc, Weak};

use crate::command::ParallelCommands;
use crate::command::precedence::Source;
use crate::command::queue::Queue;
use crate::command::stripes::Stripes;

/// What a thread, or a task, keeps that records for a world now and then, and may outlive it: [`ParallelCommands`] keep the
/// memory of what they record, and with it the world's whole universe, until the last of them goes; this keeps some hundred
/// bytes (and, in an [ordered](crate::world::Universe::ordered) universe, which ids each piece of work gets). From
/// [`ParallelCommands::downgrade`].
///
/// As long as somebody has one, a flush of the world goes the longer way that it goes beside [`ParallelCommands`], too, and
/// [`World::trim`](crate::world::World::trim) lowers the number of recorders that were open at once no more.
///
/// In an ordered universe, [`open_at`](ParallelCommands::open_at) asks for what was made after the last flush: what this gives was
/// made when it was downgraded. [`open`](ParallelCommands::open) does not.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let connection = world.parallel_commands().downgrade();
/// // For each message, and not for as long as the connection lasts.
/// let received = |number: u32| match connection.upgrade() {
///     Some(commands) => commands.open().create((number,)).is_ok(),
///     None => false,
/// };
/// assert!(received(1));
/// assert_eq!(world.flush().created, 1);
/// drop(world);
/// // The match is over, and its memory free.
/// assert!(!received(2));
/// ```
#[derive(Clone)]
pub struct WeakCommands {
    queue: Weak<Queue>,
    rank: u32,
    source: Source,
    stripes: Option<Arc<Stripes>>,
    pieces: Range<u32>,
}

impl ParallelCommands {
    /// The same, without keeping anything of the world: see [`WeakCommands`]. Takes no lock, but waits some
    /// instructions if a flush just sees whether anybody has it weakly.
    #[must_use]
    pub fn downgrade(&self) -> WeakCommands {
        WeakCommands {
            queue: self.queue.lend_weakly(),
            rank: self.rank,
            source: self.source,
            stripes: self.stripes.clone(),
            pieces: self.pieces.clone(),
        }
    }
}

impl WeakCommands {
    /// What opens recorders; `None` if the world has ended. It may end at once afterwards, and does not wait: then
    /// [`has_ended`](ParallelCommands::has_ended) says so, and what is recorded is dropped, at the latest with its recorder, or
    /// with one of the same thread that goes on in the same memory: who waits for an answer of a closure that was recorded so
    /// learns that it does not come. Lock-free.
    #[must_use]
    pub fn upgrade(&self) -> Option<ParallelCommands> {
        let queue = self.queue.upgrade()?;
        (!queue.has_ended()).then(|| ParallelCommands {
            queue,
            rank: self.rank,
            source: self.source,
            stripes: self.stripes.clone(),
            pieces: self.pieces.clone(),
        })
    }
}

impl fmt::Debug for WeakCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakCommands").finish_non_exhaustive()
    }
}
