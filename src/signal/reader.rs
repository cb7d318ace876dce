//! `SignalReader`: gets signals, and lends the entities that they are for.

use core::cell::Cell;
use core::fmt;

use crate::archetype::Row;
use crate::entity::Entity;
use crate::panics::{Panicked, note, resume};
use crate::query::{Query, QueryData, QueryError, QueryFilter, ReadOnly, Requirements};
use crate::signal::collect::{Board, board, collect};
use crate::signal::post::Post;
use crate::signal::subscriptions::{Subscriptions, Unread};
use crate::signal::{EVERYBODY, Signal, SignalError, Signalled};
use crate::world::World;

/// Gets the signals that it has subscribed to: each time it runs, every signalled entity once that its query
/// matches, in the order in which they lie, with all that was sent to it since.
///
/// What is sent while it runs comes with the next run. It has its own place in every log: readers take nothing
/// from each other. Dropped, it has unsubscribed. [`Signals`](crate::signal::Signals) are what sends.
///
/// What is sent waits for it until it is [delivered](Self::deliver), [read](Self::read) or
/// [discarded](Self::discard), or the reader has [unsubscribed](Self::unsubscribe) or is dropped: a reader that is kept
/// and not run holds back all that is sent meanwhile, for any length of time. A signal that was collected takes 16 bytes
/// and those of what it carries, however many readers it waits for, and up to twice that, as lists grow by doubling. When more
/// than a million of a signal have waited from one collection to the next, an event of [`tracing`] (a warning) names
/// it, and again each time that they are twice as many. What nobody waits for any more is dropped with the next
/// [collection](World::collect_signals); [`World::trim`] gives the room back.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let (ant, bee) = (world.create(("ant",))?, world.create((7_u8,))?);
/// let hit = world.signal::<u32>("hit")?;
/// let mut reader = SignalReader::<&&str>::new(&world)?;
/// reader.subscribe(&mut world, hit)?;
/// let mut signals = world.signals();
/// signals.send(hit, ant, 3);
/// signals.send(hit, ant, 4);
/// signals.send(hit, bee, 5);
/// drop(signals);
/// let mut got = Vec::new();
/// let delivery = reader.deliver(&mut world, |name, received| {
///     got.push((*name, received.of(hit).sum::<u32>()));
/// });
/// assert_eq!((got, delivery.unmatched), (vec![("ant", 7)], 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "UMassSignalProcessorBase")]
pub struct SignalReader<D: QueryData = Entity, F: QueryFilter = ()> {
    query: Query<D, F>,
    subscriptions: Subscriptions,
    found: Vec<Found>,
}

/// A signal for an entity of the world. In the order of places, then of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    /// `archetype 20 | chunk 22 | row 22`.
    place: u64,
    sequence: u64,
    signal: u32,
    position: u64,
}

/// How many entities ahead slots are asked for.
const AHEAD: u64 = 24;
const ROW_BITS: u32 = 22;
const CHUNK_BITS: u32 = 22;

fn packed((archetype, Row { chunk, row }): (u32, Row)) -> u64 {
    u64::from(archetype) << (CHUNK_BITS + ROW_BITS) | u64::from(chunk) << ROW_BITS | u64::from(row)
}

fn unpacked(place: u64) -> (u32, Row) {
    let archetype = (place >> (CHUNK_BITS + ROW_BITS)) as u32;
    let chunk = (place >> ROW_BITS) as u32 & ((1 << CHUNK_BITS) - 1);
    let row = place as u32 & ((1 << ROW_BITS) - 1);
    (archetype, Row { chunk, row })
}

/// What a run has got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "signals for dead entities are dropped; the report says how many"]
pub struct Delivery {
    /// Entities that were lent.
    pub entities: usize,
    /// Signals for them.
    pub signals: usize,
    /// Signals whose entities are dead, or in another world: dropped.
    pub dead: usize,
    /// Signals whose entities the query does not match: dropped.
    pub unmatched: usize,
}

/// One line.
impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} signals for {} entities; dropped: {} for who is dead or elsewhere, {} for who does not match",
            self.signals, self.entities, self.dead, self.unmatched
        )
    }
}

/// What was sent to one entity, in order. What it lends is the run's, and not this handle's, which can be copied.
#[derive(Clone, Copy)]
pub struct Received<'a> {
    board: &'a Board,
    post: &'a Post,
    found: &'a [Found],
}

impl<'a> Received<'a> {
    /// How many signals; one at least.
    #[expect(
        clippy::len_without_is_empty,
        reason = "who gets no signal is not lent"
    )]
    #[must_use]
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Where the entity comes among all that get signals in this run: the sort key for what is recorded or sent because of
    /// it, where a run [shares the entities out](SignalReader::par_deliver) among threads. (What is created by it has ids that
    /// are [given by chance](crate::command::FlushReport::by_chance) in an ordered universe, too: keys for these are few.)
    #[must_use]
    pub fn sort_key(&self) -> u64 {
        self.found[0].place
    }

    /// Whether this signal is among them.
    #[must_use]
    pub fn has<P>(&self, signal: Signal<P>) -> bool {
        let mut found = self.found.iter();
        signal.post == self.post.number && found.any(|found| found.signal == signal.number)
    }

    /// What this signal carried, each time.
    pub fn of<P: Send + Sync + 'static>(
        &self,
        signal: Signal<P>,
    ) -> impl Iterator<Item = &'a P> + use<'a, P> {
        let own = signal.post == self.post.number;
        let found = self.found.iter();
        let found = found.filter(move |found| own && found.signal == signal.number);
        let board = self.board;
        found.filter_map(move |found| board.logs[found.signal as usize].payload(found.position))
    }

    /// What the signal carried, each time, that is [known by what it carries](World::signal_of). O(these + signals that the
    /// world knows): where many are delivered, a [`Signal`] that is kept is [asked](Self::of) for.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Hit(u32);
    /// struct Health(u32);
    ///
    /// let mut world = World::new();
    /// let boar = world.create((Health(10),))?;
    /// let mut hits = SignalReader::<&mut Health>::new(&world)?;
    /// let hit = world.signal_of::<Hit>();
    /// hits.subscribe(&mut world, hit)?;
    /// for by in [3, 4] {
    ///     world.signals().send(hit, boar, Hit(by));
    /// }
    /// let _ = hits.deliver(&mut world, |health, received| {
    ///     health.0 -= received.of_type::<Hit>().map(|hit| hit.0).sum::<u32>();
    /// });
    /// assert_eq!(world.get::<Health>(boar)?.0, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_type<P: Send + Sync + 'static>(&self) -> impl Iterator<Item = &'a P> + use<'a, P> {
        let number = self.post.number_of::<P>();
        let board = self.board;
        let found = self.found.iter();
        let found = found.filter(move |found| Some(found.signal) == number);
        found.filter_map(move |found| board.logs[found.signal as usize].payload(found.position))
    }

    /// The names of all, or what they carry if they have none, in order. O(these + signals that the world knows).
    pub fn names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let kinds = self.post.kinds_by_number();
        let found = self.found.iter();
        found.filter_map(move |found| Some(kinds.get(found.signal as usize)?.name()))
    }
}

impl fmt::Debug for Received<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl<D: QueryData, F: QueryFilter> SignalReader<D, F> {
    /// A reader without subscriptions, for worlds of this world's universe.
    ///
    /// # Errors
    /// As for [`Query::new`].
    pub fn new(world: &World) -> Result<Self, QueryError> {
        Ok(Self {
            query: Query::new(world)?,
            subscriptions: Subscriptions::new(),
            found: Vec::new(),
        })
    }

    /// From now on the reader gets this signal: what is sent after this call, and what was sent before and still waits.
    /// Delayed signals wait for their [time](crate::signal::Signals::send_at), those for entities that are not built
    /// for these to be built, and those of senders that are still open for these to be dropped. O(1), and what
    /// [collecting](World::collect_signals) takes.
    ///
    /// From then on each signal waits for this reader, in [some bytes](Self) of memory, until it is delivered or
    /// [discarded](Self::discard).
    ///
    /// # Errors
    /// [`SignalError::Twice`] if it does already; [`SignalError::OtherWorld`] if the signal, or one that it has
    /// subscribed to before, is not of this world.
    ///
    /// # Panics
    /// If the `drop` of what a signal carried panics that nobody wants: it has subscribed then.
    pub fn subscribe<P>(
        &mut self,
        world: &mut World,
        signal: Signal<P>,
    ) -> Result<(), SignalError> {
        let mut panicked = None;
        let subscribed = self.subscribe_noting(world, signal, &mut panicked);
        resume(panicked);
        subscribed
    }

    /// The same; what the `drop` of a payload panics with is noted.
    pub(crate) fn subscribe_noting<P>(
        &mut self,
        world: &mut World,
        signal: Signal<P>,
        panicked: &mut Panicked,
    ) -> Result<(), SignalError> {
        self.subscriptions.subscribe(world, signal, panicked)
    }

    /// From now on the reader does not get this signal; `false` if it has not got it before. What waits for it and for
    /// nobody else is dropped with the next [collection](World::collect_signals).
    pub fn unsubscribe<P>(&mut self, signal: Signal<P>) -> bool {
        self.subscriptions.unsubscribe(signal)
    }

    /// From now on the reader gets no signal.
    pub(crate) fn unsubscribe_all(&mut self) {
        self.subscriptions.clear();
    }

    /// Collects what was sent, and lends each entity that got some of it and that the query matches, once, with
    /// what it got. O(signals · log signals + new archetypes), and what [collecting](World::collect_signals) takes.
    ///
    /// # Panics
    /// If the world is not the one whose signals it has subscribed to. If `each` panics: what this run would
    /// have got is gone then. If the `drop` of what a signal carried panics that nobody wants.
    #[doc(alias = "SignalEntities")]
    pub fn deliver(
        &mut self,
        world: &mut World,
        each: impl FnMut(D::Item<'_>, Received<'_>),
    ) -> Delivery {
        let mut panicked = collect(world);
        let version = world.begin_version_alone();
        let mut delivery = Delivery::default();
        note(&mut panicked, || {
            // SAFETY: the world is this call's alone.
            delivery = unsafe { self.run(world, version, each) };
        });
        resume(panicked);
        delivery
    }

    /// Collects what was sent, and lends as [`deliver`](Self::deliver) does, on all threads of the current rayon pool, in no
    /// order: each entity once, with all that it got, in the order in which that was sent, by one thread. What is recorded or
    /// sent meanwhile by a recorder or sender of the entity's [sort key](Received::sort_key) does not depend on how many
    /// threads there are, but for ids of what is created; nor does what the call reports.
    ///
    /// To begin and to end on several threads takes some microseconds: for a few hundred signals, [`deliver`](Self::deliver)
    /// is faster.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let batch = world.create_batch((0..1_000_u32).map(|n| (n,)))?;
    /// let ants = batch.to_vec(&world);
    /// let hit = world.signal::<u32>("hit")?;
    /// let mut hits = SignalReader::<(Entity, &mut u32)>::new(&world)?;
    /// hits.subscribe(&mut world, hit)?;
    /// world.signals().send_all(hit, &ants, &400);
    /// let commands = world.parallel_commands();
    /// let delivery = hits.par_deliver(&mut world, |(ant, left), received| {
    ///     let hits = received.of(hit).sum::<u32>();
    ///     *left = left.saturating_sub(hits);
    ///     if *left == 0 {
    ///         commands.open_at(received.sort_key()).destroy(ant);
    ///     }
    /// });
    /// assert_eq!((delivery.entities, world.flush().destroyed), (1_000, 401));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As for [`deliver`](Self::deliver); a panic of `each` comes back when the other threads are done with what they have
    /// taken.
    pub fn par_deliver(
        &mut self,
        world: &mut World,
        each: impl Fn(D::Item<'_>, Received<'_>) + Sync,
    ) -> Delivery {
        let mut panicked = collect(world);
        let version = world.begin_version_alone();
        let mut delivery = Delivery::default();
        note(&mut panicked, || {
            // SAFETY: the world is this call's alone.
            delivery = unsafe { self.par_run(world, version, each) };
        });
        resume(panicked);
        delivery
    }

    /// Lends, to who has only `&World`, what was collected before: by [`World::collect_signals`], or when another reader
    /// ran. Else as [`deliver`](Self::deliver).
    ///
    /// # Panics
    /// As for [`deliver`](Self::deliver).
    pub fn read(&mut self, world: &World, each: impl FnMut(D::Item<'_>, Received<'_>)) -> Delivery
    where
        D: ReadOnly,
    {
        // SAFETY: it only reads.
        unsafe { self.run(world, world.begin_version(), each) }
    }

    /// Collects what was sent, and lets all go that waits for this reader, as if it had been delivered to nobody; how many
    /// signals. Nobody is called but the `drop`s of what no other reader waits for. It stays subscribed: what is sent from
    /// now on waits for it, and what waits for its [time](crate::signal::Signals::send_at), or for its entity to be built,
    /// comes then. The room of the logs is used again; [`World::trim`] gives it back. O(subscriptions + readers of these
    /// signals), what is dropped, and what [collecting](World::collect_signals) takes.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u32,))?;
    /// let hit = world.signal::<u32>("hit")?;
    /// let mut reader = SignalReader::<Entity>::new(&world)?;
    /// reader.subscribe(&mut world, hit)?;
    /// world.signals().send_all(hit, &[ant, ant], &3);
    /// assert_eq!(reader.discard(&mut world), 2);
    /// world.signals().send(hit, ant, 4);
    /// assert_eq!(reader.deliver(&mut world, |_, _| {}).signals, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If the world is not the one whose signals it has subscribed to. If the `drop` of what a signal carried panics: all
    /// is gone then.
    #[doc(alias = "clear")]
    #[doc(alias = "skip")]
    pub fn discard(&mut self, world: &mut World) -> usize {
        self.subscriptions.assert_own(world);
        let mut panicked = collect(world);
        let count = self.discard_collected(world, &mut panicked);
        resume(panicked);
        count
    }

    /// The same, of what was collected before in its world; what the `drop` of a payload panics with is noted.
    pub(crate) fn discard_collected(
        &mut self,
        world: &mut World,
        panicked: &mut Panicked,
    ) -> usize {
        self.subscriptions.discard(board(world), panicked)
    }

    /// What its query asks of archetypes.
    pub(crate) fn requirements(&self) -> &Requirements {
        self.query.requirements()
    }

    /// It as a parameter of a processor.
    ///
    /// # Safety
    /// For `'w` nobody uses what `D` writes, or writes what it reads.
    pub(crate) unsafe fn signalled<'w>(
        &'w mut self,
        world: &'w World,
        version: u32,
    ) -> Signalled<'w, D, F> {
        // SAFETY: the caller's.
        unsafe { Signalled::new(self, world, version) }
    }

    /// How many signals were collected, and wait for it.
    pub(super) fn waiting(&self, world: &World) -> usize {
        let board = world.attached.get::<Board>();
        board.map_or(0, |board| self.subscriptions.unread(board))
    }

    /// Takes what is in the logs, sorted by place; the world's board, and how many were for the dead. `None` if there is
    /// nothing to read.
    #[inline]
    fn take_new<'w>(&mut self, world: &'w World) -> Option<(&'w Board, usize)> {
        let board = self.subscriptions.board(world)?;
        let found = &mut self.found;
        found.clear();
        if self.subscriptions.were_trimmed(board) {
            *found = Vec::new();
        }
        let finder = world.finder();
        let mut dead = 0;
        for Unread { signal, log, from } in self.subscriptions.read(board) {
            for (position, sequence, entity) in log.from(from) {
                if let Some(later) = log.receiver(position + AHEAD) {
                    finder.expect(later);
                }
                match finder.find(entity) {
                    Some(there) => found.push(Found {
                        place: packed(there),
                        sequence,
                        signal,
                        position,
                    }),
                    // What is broadcast is for others.
                    None => dead += usize::from(entity != EVERYBODY),
                }
            }
        }
        found.sort_unstable_by_key(|found| (found.place, found.sequence));
        Some((board, dead))
    }

    /// Lends what is in the logs.
    ///
    /// # Safety
    /// As for [`Query::lend_rows`].
    pub(super) unsafe fn run(
        &mut self,
        world: &World,
        version: u32,
        mut each: impl FnMut(D::Item<'_>, Received<'_>),
    ) -> Delivery {
        let Some((board, dead)) = self.take_new(world) else {
            return Delivery::default();
        };
        let Some(post) = self.subscriptions.post() else {
            unreachable!("it has just read that of the world")
        };
        let found = &self.found[..];
        let (mut entities, mut signals) = (0, 0);
        // Of the entities in turn; the query lends one before it asks for the next.
        let at_hand = Cell::new(&found[..0]);
        let rows = found.chunk_by(|a, b| a.place == b.place).map(|found| {
            at_hand.set(found);
            unpacked(found[0].place)
        });
        // SAFETY: the caller's; each row is there once.
        unsafe {
            self.query.lend_rows(world, version, rows, |item| {
                let found = at_hand.get();
                entities += 1;
                signals += found.len();
                each(item, Received { board, post, found });
            });
        }
        Delivery {
            entities,
            signals,
            dead,
            unmatched: found.len() - signals,
        }
    }

    /// The same, on all threads of the current rayon pool.
    ///
    /// # Safety
    /// As for [`Query::par_lend_named`].
    pub(super) unsafe fn par_run(
        &mut self,
        world: &World,
        version: u32,
        each: impl Fn(D::Item<'_>, Received<'_>) + Sync,
    ) -> Delivery {
        let Some((board, dead)) = self.take_new(world) else {
            return Delivery::default();
        };
        let Some(post) = self.subscriptions.post() else {
            unreachable!("it has just read that of the world")
        };
        let found = &self.found[..];
        let row_of = |found: &Found| unpacked(found.place);
        // SAFETY: the caller's; they are in the order of places, those of one place one behind the other.
        let lent = unsafe {
            (self.query).par_lend_named(world, version, found, row_of, |item, found| {
                each(item, Received { board, post, found });
            })
        };
        Delivery {
            entities: lent.rows,
            signals: lent.named,
            dead,
            unmatched: found.len() - lent.named,
        }
    }
}

impl World {
    /// Collects what was sent, for readers that run with `&World` only: before processors that run side by
    /// side. O(signals that were sent · log senders + signals that the world knows + readers): each that the world knows
    /// has a log, which is looked at.
    ///
    /// # Panics
    /// If the `drop` of what a signal carried panics that nobody wants.
    pub fn collect_signals(&mut self) {
        resume(collect(self));
    }
}

impl<D: QueryData, F: QueryFilter> fmt::Debug for SignalReader<D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignalReader")
            .field("query", &self.query)
            .field("subscriptions", &self.subscriptions.len())
            .finish_non_exhaustive()
    }
}
