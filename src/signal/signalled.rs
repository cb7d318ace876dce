//! `Signalled`: what a processor has been sent.

use core::fmt;

use crate::query::{QueryData, QueryFilter};
use crate::signal::{Delivery, Received, SignalReader};
use crate::world::World;

/// The entities that got signals since a processor ran last, as a parameter of it. Which signals, its builder
/// says: [`hears`](crate::processor::ProcessorBuilder::hears).
///
/// What is sent while processors run arrives at those that hear it and run behind the next moment
/// at which the world is one thread's alone: in the next phase; in the same one if before them
/// commands are [flushed](crate::processor::Target::flushed) because an order asks for it, or an
/// [exclusive](crate::processor::exclusive_processor) processor runs, whatever that has to do with
/// either. Who must have it in the same phase says so by an order that is flushed; who must not, by
/// a later phase.
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Health(u32);
///
/// let mut world = World::new();
/// let boar = world.create((Health(10),))?;
/// let mut schedule = Schedule::new();
/// schedule.add(
///     processor("wound", |mut wounded: Signalled<&mut Health>, hit: &Signal<u32>| {
///         let _ = wounded.deliver(|health, received| health.0 -= received.of(*hit).sum::<u32>());
///     })
///     .hears::<u32>("hit"),
/// );
/// let hit = world.signal::<u32>("hit")?;
/// world.resources_mut().insert(hit);
/// schedule.run(&mut world)?;
/// world.signals().send(hit, boar, 3);
/// schedule.run(&mut world)?;
/// assert_eq!(world.get::<Health>(boar)?.0, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: Unreal Mass' signal processors.
#[must_use = "signals are not delivered until that is asked for"]
pub struct Signalled<'w, D: QueryData = crate::entity::Entity, F: QueryFilter = ()> {
    reader: &'w mut SignalReader<D, F>,
    world: &'w World,
    version: u32,
}

impl<'w, D: QueryData, F: QueryFilter> Signalled<'w, D, F> {
    /// # Safety
    /// As for [`Query::lend_rows`](crate::query::Query), for `'w`.
    pub(super) unsafe fn new(
        reader: &'w mut SignalReader<D, F>,
        world: &'w World,
        version: u32,
    ) -> Self {
        Self {
            reader,
            world,
            version,
        }
    }

    /// Lends each entity that got signals and that the query matches, once, with what it got. O(signals · log
    /// signals): they were collected before. A second call finds nothing new.
    pub fn deliver(&mut self, each: impl FnMut(D::Item<'_>, Received<'_>)) -> Delivery {
        // SAFETY: `new`'s caller's.
        unsafe { self.reader.run(self.world, self.version, each) }
    }

    /// Lends as [`deliver`](Self::deliver) does, on all threads of the current rayon pool, in no order: each entity once, with
    /// all that it got, in the order in which that was sent, by one thread. What is recorded or sent meanwhile by a recorder
    /// or sender of the entity's [sort key](Received::sort_key) does not depend on how many threads there are, but for ids of
    /// what is created. A panic of
    /// `each` comes back when the other threads are done with what they have taken; what this run would have got is gone
    /// then.
    ///
    /// To begin and to end on several threads takes some microseconds: for a few hundred signals, [`deliver`](Self::deliver)
    /// is faster.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Health(u32);
    ///
    /// let mut world = World::new();
    /// let boars = world.create_batch((0..500).map(|n| (Health(n),)))?;
    /// let boars = boars.to_vec(&world);
    /// let mut schedule = Schedule::new();
    /// schedule.add(
    ///     processor("wound", |mut wounded: Signalled<(Entity, &mut Health)>, hit: &Signal<u32>, commands: ParallelCommands| {
    ///         let _ = wounded.par_deliver(|(boar, health), received| {
    ///             let hits = received.of(*hit).sum();
    ///             health.0 = health.0.saturating_sub(hits);
    ///             if health.0 == 0 {
    ///                 commands.open_at(received.sort_key()).destroy(boar);
    ///             }
    ///         });
    ///     })
    ///     .hears::<u32>("hit"),
    /// );
    /// let hit = world.signal::<u32>("hit")?;
    /// world.resources_mut().insert(hit);
    /// schedule.run(&mut world)?;
    /// world.signals().send_all(hit, &boars, &100);
    /// schedule.run(&mut world)?;
    /// assert_eq!(world.query::<&Health, ()>()?.count(), 399);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn par_deliver(&mut self, each: impl Fn(D::Item<'_>, Received<'_>) + Sync) -> Delivery {
        // SAFETY: `new`'s caller's.
        unsafe { self.reader.par_run(self.world, self.version, each) }
    }

    /// How many signals wait to be delivered, those for the dead, for entities that the query does not match, and what the
    /// same signals [broadcast](crate::signal::Signals::broadcast) among them.
    /// O(signals that it hears).
    #[must_use]
    pub fn len(&self) -> usize {
        self.reader.waiting(self.world)
    }

    /// Whether none waits: then [`deliver`](Self::deliver) would lend nobody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<D: QueryData, F: QueryFilter> fmt::Debug for Signalled<'_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signalled").field(&self.reader).finish()
    }
}
