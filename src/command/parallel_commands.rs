//! `ParallelCommands`: what opens recorders on any thread.

use core::fmt;
use core::ops::Range;
use std::sync::Arc;

use crate::command::commands::Commands;
use crate::command::precedence::{Precedence, Source};
use crate::command::queue::Queue;
use crate::command::stripes::Stripes;
use crate::command::turn::Turn;
use crate::fragment::FragmentRegistry;
use crate::world::World;

/// Opens recorders on any thread, without the world in hand: see [`World::parallel_commands`].
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let commands = world.parallel_commands();
/// std::thread::scope(|scope| {
///     for thread in 0..4_u64 {
///         let commands = &commands;
///         // Its place in the order is the key's, not the thread's.
///         scope.spawn(move || commands.open_at(thread).create((thread,)).expect("not full"));
///     }
/// });
/// assert_eq!(world.flush().created, 4);
/// let numbers: Vec<u64> = world.query::<&u64, ()>()?.into_iter().copied().collect();
/// assert_eq!(numbers, [0, 1, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ParallelCommands {
    pub(super) queue: Arc<Queue>,
    pub(super) rank: u32,
    pub(super) source: Source,
    /// In an ordered universe.
    pub(super) stripes: Option<Arc<Stripes>>,
    /// Which of them are for sort keys; in a processor the first is for a recorder without one.
    pub(super) pieces: Range<u32>,
}

impl World {
    /// Opens recorders while the world is lent to a query: for closures that run in parallel, and for threads
    /// that do not have the world.
    ///
    /// These may record while the world is [flushed](Self::flush), too. A flush does not wait for
    /// them, but looks for what they have left meanwhile up to [as often](Self::set_flush_rounds)
    /// as for what its own closures record: several threads that record all the time can make each
    /// flush several times as long. They may outlive the world, and
    /// [ask](ParallelCommands::has_ended) whether they have; until the last of them goes they keep the memory of the
    /// world's universe, unless others have that: who only waits has them [weakly](ParallelCommands::downgrade).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.create_batch((0..10_000_u32).map(|n| (n,)))?;
    /// let commands = world.parallel_commands();
    /// let mut odd = Query::<(Entity, &u32)>::new(&world)?;
    /// // Only rows that the query sees; whole chunks are lent with rows that are switched off, too.
    /// odd.on(&mut world).par_for_each_slice(|chunk, _, (entities, numbers)| {
    ///     // The same order of commands whatever thread has which chunk.
    ///     let mut commands = commands.open_at(chunk.sort_key());
    ///     for (&entity, &number) in entities.iter().zip(numbers) {
    ///         if number % 2 == 1 {
    ///             commands.destroy(entity);
    ///         }
    ///     }
    /// });
    /// assert_eq!(world.flush().destroyed, 5_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn parallel_commands(&self) -> ParallelCommands {
        ParallelCommands::new(self, None)
    }

    /// Opens recorders as [`parallel_commands`](Self::parallel_commands) does, for work in so many pieces, whose numbers
    /// (from 0 on) are the sort keys. It makes a difference in an [ordered](crate::world::Universe::ordered) universe
    /// only: there each piece has ids of its own, as long as there are 64 free in one piece for each. A processor, which
    /// takes [`ParallelCommands`] as a parameter, [says it](crate::processor::ProcessorBuilder::pieces) where it is made.
    #[must_use]
    pub fn parallel_commands_for(&self, pieces: usize) -> ParallelCommands {
        ParallelCommands::new(self, Some(pieces))
    }
}

impl ParallelCommands {
    fn new(world: &World, pieces: Option<usize>) -> Self {
        let ordered = world.universe.is_ordered();
        Self {
            queue: Arc::clone(Queue::of(world)),
            rank: Precedence::OUTSIDE,
            source: world.ranks.alone(),
            stripes: ordered.then(|| Arc::new(Stripes::of(world, pieces))),
            pieces: 0..u32::MAX,
        }
    }

    /// For the recorders of a processor.
    pub(crate) fn of_turn(world: &World, turn: Turn<'_>) -> Self {
        Self {
            queue: Arc::clone(Queue::of(world)),
            rank: turn.rank,
            source: turn.source,
            stripes: turn.stripes.cloned(),
            pieces: turn.pieces(),
        }
    }

    /// For one recorder at a time, whose ids in an ordered universe are those of the world's own calls. O(1).
    pub(crate) fn of_one(world: &World) -> Self {
        Self {
            queue: Arc::clone(Queue::of(world)),
            rank: Precedence::OUTSIDE,
            source: world.ranks.alone(),
            stripes: None,
            pieces: 0..0,
        }
    }

    /// Whether the world has ended: what is recorded from now on is dropped, and so is what was
    /// recorded and not flushed; what was created has died, or does when its recorder is dropped.
    /// For threads that outlive the world, to stop then. `false` may be out of date when it is
    /// read. Wait-free.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let world = World::new();
    /// let commands = world.parallel_commands();
    /// let loader = std::thread::spawn(move || {
    ///     while !commands.has_ended() {
    ///         commands.open().create((1_u32,)).unwrap();
    ///     }
    /// });
    /// drop(world);
    /// loader.join().unwrap();
    /// ```
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.queue.has_ended()
    }

    /// The fragments that the world's universe knows: what values are made with whose types are known at run time only,
    /// also by threads that do not have the world. Wait-free.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let commands = world.parallel_commands();
    /// let loader = std::thread::spawn(move || {
    ///     let legs = Value::new(commands.registry(), 6_u8)?;
    ///     commands.open().create_dynamic(DynamicBundle::new().with(legs))
    /// });
    /// let ant = loader.join().unwrap()?;
    /// world.flush();
    /// assert_eq!(world.get::<u8>(ant)?, &6);
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn registry(&self) -> &FragmentRegistry {
        self.queue.registry()
    }

    /// Opens a recorder with the middle one of all sort keys. Lock-free. In an ordered universe its ids are
    /// those that the world's own calls would get, or, in a processor, the first ones of that processor: it must not be
    /// open while others like it are.
    #[must_use]
    pub fn open(&self) -> Commands<'_> {
        let stripe = match &self.stripes {
            Some(stripes) if self.rank != Precedence::OUTSIDE => {
                Some(stripes.stripe_among(self.pieces.start..self.pieces.end, 0))
            }
            _ => None,
        };
        self.queue
            .open(self.rank, self.source, Precedence::MIDDLE, stripe)
    }

    /// Opens a recorder whose commands come before those with a higher sort key, and after those with a lower
    /// one, whoever records first. With a key of its own for each piece of work, the world after the flush
    /// does not depend on which thread had which piece. Lock-free.
    ///
    /// In an [ordered](crate::world::Universe::ordered) universe that is true of ids too, if the key is that of
    /// a [chunk](crate::query::ChunkView::sort_key) that the world had when `self` was made, or the number of
    /// a piece [that was asked for](World::parallel_commands_for); if no two recorders have one key at one
    /// time; and if `self` was made after the last flush. In a processor keys are numbers of pieces below 64, or below the
    /// number of chunks that the world has if that is more: a loop over more pieces of its own
    /// [says so](crate::processor::ProcessorBuilder::pieces). (A batch or copies that a panic breaks off use up the ids of
    /// what was to come.) Ids of other recorders are given by chance, and the flush
    /// [counts them](crate::command::FlushReport::by_chance).
    ///
    /// Not counted, and to be seen to by who wants the same ids each time: the world's own calls
    /// must not create while such recorders are open (they take what is free then), nor may those
    /// of another [`ParallelCommands`] be. And of shared values that are equal the world keeps one:
    /// where they can be told apart all the same (0.0 and -0.0 of a type that calls them equal),
    /// which one that is depends on the recorders' order in time. A recorder that is forgotten
    /// ([`mem::forget`](core::mem::forget)) keeps up to 63 ids as long as the universe lives.
    #[must_use]
    pub fn open_at(&self, sort_key: u64) -> Commands<'_> {
        let stripe = self.stripes.as_deref().map(|stripes| {
            if self.rank == Precedence::OUTSIDE {
                return stripes.stripe(sort_key);
            }
            stripes.stripe_among(self.pieces.start + 1..self.pieces.end, sort_key)
        });
        self.queue.open(self.rank, self.source, sort_key, stripe)
    }
}

impl fmt::Debug for ParallelCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParallelCommands").finish_non_exhaustive()
    }
}
