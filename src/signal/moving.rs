//! Signals that wait for their time go after their entities to another world.

use std::sync::Arc;

use crate::panics::{first, resume};
use crate::signal::collect::{board, collect};
use crate::signal::post::Post;
use crate::sync::atomic::Ordering;
use crate::world::{World, WorldError};

impl World {
    /// Moves the signals of this world that [wait for their time](crate::signal::Signals::send_at), or waited for their
    /// entities to be built, to another world of the same universe, if their entities live there; how many. Move the
    /// entities [first](Self::move_all_to), all that go in a frame: O(waiting signals of both · log) if any goes, else
    /// O(those of this one).
    ///
    /// A signal waits as long as it would have, by the other world's time, and comes there, in the order in which it would
    /// have come here, behind those that wait for the same time; there it is the signal of the same name, or of the same
    /// type if it has none. (If the name carries something else there, nobody hears it.) Both worlds
    /// [collect](Self::collect_signals) what was sent. What is broadcast stays. What waits for nothing, and was not read before its entity went,
    /// reaches nobody: let readers run first. Nor does what was sent to a reserved entity, and was not collected before
    /// that was built in the other world.
    ///
    /// ```
    /// use std::time::Duration;
    /// use megachunk::prelude::*;
    ///
    /// let universe = std::sync::Arc::new(Universe::new());
    /// let (mut land, mut sea) = (World::of(&universe)?, World::of(&universe)?);
    /// let seal = land.create(())?;
    /// let hungry = land.signal::<()>("hungry")?;
    /// land.signals().send_after(hungry, seal, (), Duration::from_secs(3));
    /// land.advance_time(Duration::from_secs(1));
    ///
    /// land.move_to(&mut sea, seal)?;
    /// assert_eq!(land.move_signals_to(&mut sea)?, 1);
    /// let hungry = sea.signal::<()>("hungry")?;
    /// let mut reader = SignalReader::<Entity>::new(&sea)?;
    /// reader.subscribe(&mut sea, hungry)?;
    /// sea.advance_time(Duration::from_secs(2));
    /// assert_eq!(reader.deliver(&mut sea, |entity, _| assert_eq!(entity, seal)).signals, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`WorldError::OtherUniverse`].
    ///
    /// # Panics
    /// If the `drop` of what a signal carries panics that nobody wants, as when it is collected: all has moved then.
    pub fn move_signals_to(&mut self, other: &mut Self) -> Result<usize, WorldError> {
        if !Arc::ptr_eq(self.universe(), other.universe()) {
            return Err(WorldError::OtherUniverse);
        }
        let post = Arc::clone(Post::of(self));
        // A collection would find that they wait for nobody here.
        let built = |entity| other.locate(entity).is_some();
        let mut going = board(self).take_early(&post, built);
        let panicked = first(collect(self), collect(other));
        let [here, there] = [&*self, &*other].map(|world| {
            // Ordering: Relaxed, as in `World::time`.
            Post::of(world).now.load(Ordering::Relaxed)
        });
        let built = |entity| other.locate(entity).is_some();
        going.extend(board(self).take_waiting(&post, built));
        going.sort_unstable_by_key(|(_, waits)| (waits.time, waits.sequence));
        let count = going.len();
        if count > 0 {
            let theirs = board(other);
            for (signal, mut waits) in going {
                waits.time = (waits.time.saturating_sub(here)).saturating_add(there);
                waits.sequence = theirs.next_sequence();
                theirs.come.push(signal, waits);
            }
            theirs.come.sort();
            // Also of signals that it has known for long.
            theirs.adopted = 0;
        }
        resume(panicked);
        Ok(count)
    }
}
