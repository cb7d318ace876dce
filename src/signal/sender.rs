//! `Signals`: a sender.

use core::any::type_name;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::time::Duration;
use std::sync::Arc;

use crate::command::Precedence;
use crate::entity::Entity;
use crate::index::{Relationship, RelationshipIndex};
use crate::signal::mailbag::Mailbag;
use crate::signal::post::Post;
use crate::signal::time::nanoseconds;
use crate::signal::{EVERYBODY, Signal, SignalError};
use crate::sync::pool::Lent;
use crate::world::World;

/// Sends signals, on any thread, while the world is read, queried or changed by others.
///
/// What is sent arrives when a [reader](crate::signal::SignalReader) runs next, in this order:
/// senders by the place of their processor in its schedule, those outside of processors last; of
/// one processor by sort key, those with the same key by when they were opened; the signals of one
/// sender as they were sent. But what was sent before a [run of a
/// schedule](crate::processor::Schedule::run) comes before what is sent in it, and all that was
/// [collected](World::collect_signals) or [waited for](World::advance_time) before what is sent
/// later. Dropped, the sender hands its signals over; one that is still open keeps them, and, if it
/// is its thread's third since the last collection or a later one, those which the second and
/// others left in the same memory, as [recorders](crate::command::Commands) do. So where readers
/// run beside senders, the order is kept within each sender, and a later one's signals can come a
/// run before an earlier one's. Forgotten ([`mem::forget`](core::mem::forget)), it keeps all these,
/// those of others, too, as long as the world, a reader or a
/// [`ParallelSignals`] of it lives: nobody gets them.
///
/// What is sent takes memory until somebody who has the world collects it, also where nobody has
/// subscribed: [`World::collect_signals`] does, a run of a [schedule](crate::processor::Schedule::run),
/// or of a [phase](crate::processor::Schedule::run_phase) of it,
/// [`Schedule::discard_signals`](crate::processor::Schedule::discard_signals); a reader's
/// [`deliver`](crate::signal::SignalReader::deliver), [`subscribe`](crate::signal::SignalReader::subscribe) and
/// [`discard`](crate::signal::SignalReader::discard); [`World::advance_time`] and
/// [`World::move_signals_to`]. A [flush](World::flush) does not, nor does a
/// [paused](crate::processor::Simulation::pause) simulation: who does nothing of all that, and sends, is to call
/// [`World::collect_signals`] now and then. Then it waits for its
/// [readers](crate::signal::SignalReader). [`World::pending`] says how much waits.
///
/// Sending is lock-free and, once its memory is there, allocates nothing. Signals that nobody has
/// subscribed to are dropped when they are collected. But delayed ones are kept until their time
/// has come, and those for entities that are not built until these are, whether or not anybody has
/// subscribed: who has by then gets them, and if nobody has, they are dropped then. So what is sent
/// to a reserved entity takes memory until somebody builds it or [releases](World::release) it, or
/// the world ends: who gives a reservation up is to release it. Collecting looks at all that wait
/// for entities when some were built, and else at a few of them, so that what was sent to entities
/// that were released is dropped by and by. [`World::trim`] gives the memory of a burst back. More than
/// 4 billion signals in one sender's memory between two collections panic when they are sent; so do
/// more than 4 billion of one signal that wait for their time or entity, when they are collected, and
/// the world loses what it had collected.
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Health(u32);
///
/// let mut world = World::new();
/// let hit = world.signal::<u32>("hit")?;
/// let mut wounded = SignalReader::<&mut Health>::new(&world)?;
/// wounded.subscribe(&mut world, hit)?;
/// let boar = world.create((Health(10),))?;
///
/// let signals = world.parallel_signals();
/// std::thread::scope(|scope| {
///     for _ in 0..3 {
///         scope.spawn(|| signals.open().send(hit, boar, 2));
///     }
/// });
/// let delivery = wounded.deliver(&mut world, |health, received| {
///     health.0 -= received.of(hit).sum::<u32>();
/// });
/// assert_eq!((delivery.entities, delivery.signals), (1, 3));
/// assert_eq!(world.get::<Health>(boar)?.0, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// In tasks: a sender that is dropped hands over what was sent by it, also when a future is cancelled in the middle. Open
/// it, send, and drop it between two `await`s; [commands](crate::command::Commands#in-tasks) say how clippy sees to that.
///
/// Source: Unreal Mass' signal subsystem (names, delayed signals).
pub struct Signals<'q> {
    /// The first field, because the compiler speaks of the first that is not `Sync`.
    _of_one_thread: PhantomData<dyn ParallelLoopsSendByParallelSignals>,
    post: &'q Post,
    /// Goes back to the post in `drop`.
    bag: ManuallyDrop<Lent<'q, Mailbag>>,
    precedence: Precedence,
}

/// The compiler names this where somebody takes a sender into a parallel loop: it is of one thread, and so not `Sync`, and
/// each thread opens its own by [`ParallelSignals`].
trait ParallelLoopsSendByParallelSignals: Send + Unpin + UnwindSafe + RefUnwindSafe {}

/// Opens senders on any thread, without the world in hand: see [`World::parallel_signals`]. What they send waits, in
/// memory that grows, until somebody who has the world [collects](Signals) it: threads that send beside a world which
/// only rests, or is only flushed, fill memory without end.
#[derive(Clone)]
pub struct ParallelSignals {
    post: Arc<Post>,
    rank: u32,
}

impl World {
    /// Opens a sender. Any thread, lock-free.
    #[must_use]
    pub fn signals(&self) -> Signals<'_> {
        Signals::of_rank(self, Precedence::OUTSIDE)
    }

    /// Opens senders while the world is lent to a query: for closures that run in parallel, and for threads that
    /// do not have the world.
    /// They may outlive the world, and [ask](ParallelSignals::has_ended) whether they have; they keep the memory of what was
    /// sent then, and nothing else of the world.
    #[must_use]
    pub fn parallel_signals(&self) -> ParallelSignals {
        ParallelSignals::of_rank(self, Precedence::OUTSIDE)
    }
}

impl ParallelSignals {
    /// For senders of a rank.
    pub(crate) fn of_rank(world: &World, rank: u32) -> Self {
        Self {
            post: Arc::clone(Post::of(world)),
            rank,
        }
    }

    /// Whose its signals are.
    pub(super) fn post_number(&self) -> u64 {
        self.post.number
    }

    /// Whether the world has ended: what is sent from now on is dropped. `false` may be out of date
    /// when it is read. Wait-free.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.post.has_ended()
    }

    /// Opens a sender with the middle one of all sort keys. Lock-free.
    #[must_use]
    pub fn open(&self) -> Signals<'_> {
        self.post.open(self.rank, Precedence::MIDDLE)
    }

    /// Opens a sender whose signals come before those with a higher sort key, and after those with a lower
    /// one, whoever sends first: see
    /// [`ParallelCommands::open_at`](crate::command::ParallelCommands::open_at). Lock-free.
    #[must_use]
    pub fn open_at(&self, sort_key: u64) -> Signals<'_> {
        self.post.open(self.rank, sort_key)
    }

    /// As [`World::signal`].
    ///
    /// # Errors
    /// As for that.
    pub fn signal<Payload: Send + Sync + 'static>(
        &self,
        name: &str,
    ) -> Result<Signal<Payload>, SignalError> {
        self.post.signal(Some(name))
    }

    /// As [`World::signal_of`].
    #[must_use]
    pub fn signal_of<Payload: Send + Sync + 'static>(&self) -> Signal<Payload> {
        self.post.signal_of()
    }

    /// As [`World::time`].
    #[must_use]
    pub fn time(&self) -> Duration {
        self.post.time()
    }
}

impl<'q> Signals<'q> {
    /// A sender of a rank.
    pub(crate) fn of_rank(world: &'q World, rank: u32) -> Self {
        Post::of(world).open(rank, Precedence::MIDDLE)
    }

    pub(super) fn new(post: &'q Post, bag: Lent<'q, Mailbag>, precedence: Precedence) -> Self {
        Self {
            _of_one_thread: PhantomData,
            post,
            bag: ManuallyDrop::new(bag),
            precedence,
        }
    }

    /// As [`World::signal`].
    ///
    /// # Errors
    /// As for that.
    pub fn signal<Payload: Send + Sync + 'static>(
        &self,
        name: &str,
    ) -> Result<Signal<Payload>, SignalError> {
        self.post.signal(Some(name))
    }

    /// As [`World::signal_of`].
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Hit(u32);
    ///
    /// let mut world = World::new();
    /// let boar = world.create((10_u32,))?;
    /// let mut wounded = SignalReader::<&mut u32>::new(&world)?;
    /// let hit = world.signal_of::<Hit>();
    /// wounded.subscribe(&mut world, hit)?;
    /// let mut signals = world.signals();
    /// signals.send(signals.signal_of(), boar, Hit(2));
    /// drop(signals);
    /// wounded.deliver(&mut world, |health, received| {
    ///     *health -= received.of(hit).map(|hit| hit.0).sum::<u32>();
    /// });
    /// assert_eq!(world.get::<u32>(boar)?, &8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn signal_of<Payload: Send + Sync + 'static>(&self) -> Signal<Payload> {
        self.post.signal_of()
    }

    /// As [`World::time`].
    #[must_use]
    pub fn time(&self) -> Duration {
        self.post.time()
    }

    /// The signal's number, if it is one of this world.
    #[inline]
    fn number_of<P>(&self, signal: Signal<P>) -> u32 {
        assert!(
            signal.post == self.post.number,
            "a signal that carries {} is sent in another world than its own: ask this one for it, with `World::signal`, \
             also after it was loaded",
            type_name::<P>()
        );
        signal.number
    }

    /// Sends a signal to an entity. O(1), lock-free.
    ///
    /// An entity that is not built yet (reserved, or created by a recorder that was not flushed) gets it when it
    /// is, from all readers that have subscribed by then. One that is dead does not; readers count that.
    ///
    /// # Panics
    /// If the signal is of another world; that is also one that was loaded from what its world had saved. If 4 billion
    /// lie in the sender's memory that were not collected; those stay.
    #[inline]
    pub fn send<P: Send + Sync + 'static>(
        &mut self,
        signal: Signal<P>,
        entity: Entity,
        payload: P,
    ) {
        let number = self.number_of(signal);
        self.bag.send(number, entity, payload);
    }

    /// Sends a signal to each of these entities, in order. O(entities), lock-free.
    ///
    /// # Panics
    /// As for [`send`](Self::send), and if a `clone` does; then it is sent to those before.
    pub fn send_all<P: Clone + Send + Sync + 'static>(
        &mut self,
        signal: Signal<P>,
        entities: &[Entity],
        payload: &P,
    ) {
        let number = self.number_of(signal);
        for &entity in entities {
            self.bag.send(number, entity, payload.clone());
        }
    }

    /// Sends a signal to all above an entity: to whom it names by `R`, whom that one names, and so on, the nearest first, each
    /// once, also where they name each other in a circle. The entity itself gets none. (Events that rise so are said to
    /// bubble.) How many it was sent to. O(those above), lock-free.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct PartOf(Entity);
    ///
    /// impl Relationship for PartOf {
    ///     fn target(&self) -> Entity {
    ///         self.0
    ///     }
    /// }
    ///
    /// let mut world = World::new();
    /// let window = world.create(("window",))?;
    /// let panel = world.create(("panel", PartOf(window)))?;
    /// let button = world.create(("button", PartOf(panel)))?;
    /// let mut parts = RelationshipIndex::<PartOf>::new(&world)?;
    /// parts.update(&world);
    /// let clicked = world.signal::<Entity>("clicked")?;
    /// let mut reader = SignalReader::<&&str>::new(&world)?;
    /// reader.subscribe(&mut world, clicked)?;
    /// assert_eq!(world.signals().send_up(clicked, button, &button, &parts), 2);
    /// let mut heard = Vec::new();
    /// let _ = reader.deliver(&mut world, |name, _| heard.push(*name));
    /// heard.sort_unstable();
    /// assert_eq!(heard, ["panel", "window"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As for [`send_all`](Self::send_all).
    #[doc(alias = "bubble")]
    pub fn send_up<P: Clone + Send + Sync + 'static, R: Relationship>(
        &mut self,
        signal: Signal<P>,
        entity: Entity,
        payload: &P,
        index: &RelationshipIndex<R>,
    ) -> usize {
        let number = self.number_of(signal);
        let before = self.len();
        for above in index.distinct_ancestors(entity) {
            self.bag.send(number, above, payload.clone());
        }
        self.len() - before
    }

    /// Sends a signal that arrives as soon as the world's [time](World::time) is `time`; those for the same time
    /// in the order in which they were sent. A time that has come already is now. Readers that subscribe before
    /// `time` get it, too. If what it carries is of a type that is
    /// [part of the state](crate::fragment::FragmentRegistry::register_state), it is saved with the world, once it is
    /// collected, if its entity is saved.
    ///
    /// # Panics
    /// As for [`send`](Self::send).
    pub fn send_at<P: Send + Sync + 'static>(
        &mut self,
        signal: Signal<P>,
        entity: Entity,
        payload: P,
        time: Duration,
    ) {
        let letter = self.bag.letters.len() as u32;
        self.send(signal, entity, payload);
        self.bag.times.push((letter, nanoseconds(time)));
    }

    /// Sends a signal that arrives when so much of the world's time has passed from now on.
    ///
    /// # Panics
    /// As for [`send`](Self::send).
    #[doc(alias = "DelaySignalEntity")]
    #[doc(alias = "timer")]
    pub fn send_after<P: Send + Sync + 'static>(
        &mut self,
        signal: Signal<P>,
        entity: Entity,
        payload: P,
        delay: Duration,
    ) {
        let time = self.time().saturating_add(delay);
        self.send_at(signal, entity, payload, time);
    }

    /// Takes back all that was sent to an entity by this signal and still waits for its [time](Self::send_at): the fuse is cut.
    /// What was sent before, that is, in the [order](Self) of all that is sent, also before the world was saved and loaded;
    /// what is sent later arrives (so does what a sender with a greater sort key has sent that was not
    /// [collected](World::collect_signals) either). What has arrived is not taken back: nor is what a sender has sent that is open until its
    /// time has come, for it is collected, with what takes it back, when it arrives. So what is cancelled depends on no thread; and as no
    /// thread knows, when it says so, what others have said, nobody is told how many there were. O(1), lock-free; collecting
    /// it takes O(all that waits for its time), once for all that is cancelled.
    ///
    /// What is not [collected](World::collect_signals) yet counts as a delayed signal: of [`pending`](World::pending), of
    /// [`len`](Self::len).
    ///
    /// ```
    /// use std::time::Duration;
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let (red, blue) = (world.create(("red",))?, world.create(("blue",))?);
    /// let explode = world.signal::<()>("explode")?;
    /// let mut bombs = SignalReader::<&&str>::new(&world)?;
    /// bombs.subscribe(&mut world, explode)?;
    /// for bomb in [red, blue] {
    ///     world.signals().send_after(explode, bomb, (), Duration::from_secs(5));
    /// }
    /// world.advance_time(Duration::from_secs(4));
    /// world.signals().cancel(explode, red);
    /// world.advance_time(Duration::from_secs(1));
    /// let delivery = bombs.deliver(&mut world, |name, _| assert_eq!(*name, "blue"));
    /// assert_eq!(delivery.signals, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As for [`send`](Self::send).
    #[doc(alias = "clear_timer")]
    pub fn cancel<P>(&mut self, signal: Signal<P>, entity: Entity) {
        let number = self.number_of(signal);
        self.bag.cancel(number, entity, None);
    }

    /// Takes back what was sent to an entity by this signal for this very [time](Self::send_at): one timer of several. Else as
    /// [`cancel`](Self::cancel).
    ///
    /// # Panics
    /// As for [`send`](Self::send).
    pub fn cancel_at<P>(&mut self, signal: Signal<P>, entity: Entity, time: Duration) {
        let number = self.number_of(signal);
        self.bag.cancel(number, entity, Some(nanoseconds(time)));
    }

    /// Takes back all that was [broadcast](Self::broadcast_at) by this signal and still waits for its time. Else as
    /// [`cancel`](Self::cancel).
    ///
    /// # Panics
    /// As for [`send`](Self::send).
    pub fn cancel_broadcasts<P>(&mut self, signal: Signal<P>) {
        self.cancel(signal, EVERYBODY);
    }

    /// Sends a signal to nobody in particular: processors that take [`Heard`](crate::signal::Heard), and each
    /// [`BroadcastReader`](crate::signal::BroadcastReader), hear it. It waits as long as a signal to an entity does, in the
    /// same log, and comes in the same order. Entities get nothing of it. O(1), lock-free.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Scored(u32);
    ///
    /// let mut world = World::new();
    /// let mut goals = BroadcastReader::new();
    /// let scored = world.signal_of::<Scored>();
    /// goals.subscribe(&mut world, scored)?;
    /// let mut signals = world.signals();
    /// // Who does not keep the signal asks for it by what it carries.
    /// signals.broadcast(signals.signal_of(), Scored(3));
    /// drop(signals);
    /// assert!(goals.hear(&mut world).iter().all(|scored| scored.0 == 3));
    /// # Ok::<(), SignalError>(())
    /// ```
    ///
    /// # Panics
    /// As for [`send`](Self::send).
    #[doc(alias = "emit")]
    #[doc(alias = "EventWriter")]
    pub fn broadcast<P: Send + Sync + 'static>(&mut self, signal: Signal<P>, payload: P) {
        self.send(signal, EVERYBODY, payload);
    }

    /// Broadcasts a signal that is heard as soon as the world's [time](World::time) is `time`. It is saved with the world,
    /// once it is collected, if what it carries is part of the state. Else as [`send_at`](Self::send_at).
    ///
    /// # Panics
    /// As for [`send`](Self::send).
    pub fn broadcast_at<P: Send + Sync + 'static>(
        &mut self,
        signal: Signal<P>,
        payload: P,
        time: Duration,
    ) {
        self.send_at(signal, EVERYBODY, payload, time);
    }

    /// Broadcasts a signal that is heard when so much of the world's time has passed from now on.
    ///
    /// # Panics
    /// As for [`send`](Self::send).
    pub fn broadcast_after<P: Send + Sync + 'static>(
        &mut self,
        signal: Signal<P>,
        payload: P,
        delay: Duration,
    ) {
        self.send_after(signal, EVERYBODY, payload, delay);
    }

    /// Signals that this sender has sent, and calls that cancel some.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bag.sent()
    }

    /// Whether it has sent none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Drop for Signals<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody asks for it after this.
        let bag = unsafe { ManuallyDrop::take(&mut self.bag) };
        self.post.close(bag, self.precedence);
    }
}

impl fmt::Debug for Signals<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signals")
            .field("sort_key", &self.precedence.key)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ParallelSignals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParallelSignals").finish_non_exhaustive()
    }
}
