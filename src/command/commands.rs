//! `Commands`: a recorder.

mod change;
mod create;
mod defer;
mod lend;

use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::panic::{RefUnwindSafe, UnwindSafe};

use crate::command::lane::Lane;
use crate::command::precedence::Precedence;
use crate::command::queue::Queue;
use crate::command::stripes::{Ids, Stripe};
use crate::command::turn::Turn;
use crate::entity::Entity;
use crate::fragment::FragmentRegistry;
use crate::sync::pool::Lent;
use crate::world::World;

/// Records changes of a world, on any thread, while the world is read, queried or changed by others; the
/// next [flush](World::flush) applies them.
///
/// What is *created* lives at once: its handle is a real one, its values lie where they will stay
/// (of few, or where the world has many free rows, the flush moves them once), and [`get`](Self::get)
/// and [`get_mut`](Self::get_mut) reach them; the flush makes it part of the world. All else is
/// recorded: four bytes a command, eight for its entity unless the command before was for the same
/// one, and the values. It is applied in this order: what has waited for its entity, then what a flush
/// has left to the next one, then the rest. Within each of these, recorders of processors come in the
/// processors' order, and before all others; those of one processor, or of none, by sort key, those
/// with the same key by when they were opened; the commands of one recorder as they were recorded.
/// Last write wins; what follows a `destroy` of the same entity is dropped. A const shared value that an
/// entity has gives way to another only if it was removed before; of several that come to one in the
/// same flush the last counts, as of all values.
///
/// Dropped, the recorder hands its commands to the world. One that is still open when the world is
/// flushed keeps them for a later flush (and the report
/// [says](crate::command::FlushReport::open) that there was one). Forgotten
/// ([`mem::forget`](core::mem::forget)), it keeps them as long as the world lives.
///
/// What was handed over before a flush begins comes with that flush, with one exception. Between
/// two flushes a thread's first two recorders have memory of their own, and all later ones go on in
/// that of one of these. So one of the later ones that is open when a flush begins, or is being
/// opened then, holds back what lies in its memory, until the first flush after it is dropped. Who
/// opens after that flush has begun holds nothing back from before it, so that a thread which has
/// one short recorder after the other is at most one flush late. But one that stays open for long
/// makes what it holds back late, and one that is forgotten takes it with it as long as the world
/// lives: a thread with more than two recorders between two flushes is to drop each soon. (Threads
/// share memory where more than thirty record, or one has left what more than sixty recorded that
/// were open together.)
///
/// So commands keep their order over flushes only if one recorder has them, or one thread records them all and has no
/// other recorder open meanwhile. Tasks of a server, which share threads and go from one to another, keep no such order:
/// an older command can come a flush after a newer one, and win. They send what they want through a channel to whoever
/// ticks, who records it; or number it, and a closure ([`defer`](Self::defer)) ignores what is older than what is there.
///
/// # In tasks
///
/// A recorder that is dropped hands over what it has, whatever dropped it: a future that is cancelled in the middle commits
/// the half that was recorded. So a recorder is opened, filled and dropped between two `await`s, and never kept across one
/// (where it would hold back what its thread records, too). The compiler does not see that, as a recorder may go from thread
/// to thread; clippy does, with this line in the program's `clippy.toml`:
///
/// ```toml
/// await-holding-invalid-types = [
///     "megachunk::command::Commands",
///     "megachunk::command::ParallelCommands",
///     "megachunk::signal::Signals",
/// ]
/// ```
///
/// What a task keeps across an `await` is [`WeakCommands`](crate::command::WeakCommands):
/// [`ParallelCommands`](crate::command::ParallelCommands) keep the world's memory.
///
/// # In threads
///
/// A handle may be given to other threads at once. What they record for it can come to a flush
/// before its entity does, as long as the recorder that created it is open, or if that is held back:
/// then it [waits](crate::command::FlushReport::carried) for the next flush.
///
/// Recording is lock-free and, once its memory is there, allocates nothing but a chunk now and then; what is shared, a
/// chunk's, or known at run time only, comes in a box and costs some allocations each time. The memory serves the next
/// recorder; [`World::trim`] gives it back. To it belongs a chunk for each composition of what is created, which waits for
/// the next ones of that: 16 KiB where rows are not large, for up to 1,024 compositions in each recorder's memory, of which
/// there are two a thread as a rule. (With more of them than that, a flush gives all of that memory's back.) More than 4
/// billion commands in one recorder's memory, or of one type there, panic when they are recorded. (A flush of more takes
/// several batches.)
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Fuel(u32);
/// struct Smoke;
///
/// let mut world = World::new();
/// let rocket = world.create((Fuel(2),))?;
/// let commands = world.parallel_commands();
/// let mut commands = commands.open();
/// world.query::<(Entity, &mut Fuel), ()>()?.for_each(|(entity, fuel)| {
///     fuel.0 -= 1;
///     let puff = commands.create((Smoke,)).unwrap();
///     commands.add(puff, (1.5_f32,)).unwrap();
///     if fuel.0 < 2 {
///         commands.destroy(entity);
///     }
/// });
/// drop(commands);
/// let report = world.flush();
/// assert_eq!((report.created, report.destroyed), (1, 1));
/// assert!(!world.exists(rocket));
/// assert_eq!(world.query::<&f32, With<Smoke>>()?.count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A recorder is of one thread at a time (it is `Send`). In a parallel loop each thread opens its own, by
/// [`ParallelCommands`](crate::command::ParallelCommands):
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let mut world = World::new();
/// processor("burn", |mut burnt: QueryRun<(Entity, &u8)>, mut commands: Commands| {
///     burnt.par_for_each(|(entity, _)| {
///         commands.destroy(entity);
///     });
/// });
/// ```
///
/// A processor takes it by value, as it does all that is no resource:
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// processor("burn", |commands: &mut Commands| {});
/// ```
///
/// Sources: Unity DOTS' entity command buffer (sort keys), Unreal Mass' deferred commands; the order is
/// neither's.
#[doc(alias = "EntityCommandBuffer")]
#[doc(alias = "CommandBuffer")]
pub struct Commands<'q> {
    /// The first field, because the compiler speaks of the first that is not `Sync`.
    _of_one_thread: PhantomData<dyn ParallelLoopsRecordByParallelCommands>,
    pub(super) queue: &'q Queue,
    /// Goes back to the queue in `drop`.
    pub(super) lane: ManuallyDrop<Lent<'q, Lane>>,
    pub(super) precedence: Precedence,
    pub(super) ids: Ids<'q>,
}

/// The compiler names this where somebody takes a recorder into a parallel loop: it is of one thread, and so not `Sync`,
/// and each thread opens its own by [`ParallelCommands`](crate::command::ParallelCommands).
trait ParallelLoopsRecordByParallelCommands: Send + Unpin + UnwindSafe + RefUnwindSafe {}

impl World {
    /// Opens a recorder. Any thread, lock-free.
    #[must_use]
    #[doc(alias = "defer")]
    pub fn commands(&self) -> Commands<'_> {
        let source = self.ranks.alone();
        Queue::of(self).open(Precedence::OUTSIDE, source, Precedence::MIDDLE, None)
    }
}

impl<'q> Commands<'q> {
    /// The recorder of a processor.
    pub(crate) fn of_turn(world: &'q World, turn: Turn<'q>) -> Self {
        // As the world's own, where it is for none.
        let striped = turn.stripes.filter(|_| turn.rank != Precedence::OUTSIDE);
        let stripe = striped.map(|stripes| stripes.stripe_among(turn.pieces(), 0));
        Queue::of(world).open(turn.rank, turn.source, Precedence::MIDDLE, stripe)
    }

    pub(super) fn new(
        queue: &'q Queue,
        lane: Lent<'q, Lane>,
        precedence: Precedence,
        stripe: Option<Stripe<'q>>,
    ) -> Self {
        Self {
            _of_one_thread: PhantomData,
            queue,
            lane: ManuallyDrop::new(lane),
            precedence,
            ids: Ids {
                stripe,
                by_chance: 0,
            },
        }
    }

    /// The fragments that its world's universe knows: what values are made with whose types are known at run time only.
    /// Wait-free.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let mut commands = world.commands();
    /// let legs = Value::new(commands.registry(), 6_u8)?;
    /// let ant = commands.create_dynamic(DynamicBundle::new().with(legs))?;
    /// drop(commands);
    /// world.flush();
    /// assert_eq!(world.get::<u8>(ant)?, &6);
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn registry(&self) -> &'q FragmentRegistry {
        self.queue.registry()
    }

    /// Whether an entity lives, in whatever world, or is reserved. Wait-free.
    #[must_use]
    pub fn exists(&self, entity: Entity) -> bool {
        self.lane.universe.exists(entity)
    }

    /// Commands that this recorder holds, without what it has created.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lane.recorded()
    }

    /// Whether it holds no command.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Drop for Commands<'_> {
    fn drop(&mut self) {
        // First: whatever panics below, it goes back.
        //
        // SAFETY: nobody asks for it after this.
        let mut lane = unsafe { ManuallyDrop::take(&mut self.lane) };
        if let Some(stripe) = &mut self.ids.stripe {
            stripe.close(&lane.universe);
        }
        lane.by_chance += self.ids.by_chance;
        self.queue.close(lane, self.precedence);
    }
}

impl fmt::Debug for Commands<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commands")
            .field("sort_key", &self.precedence.key)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
