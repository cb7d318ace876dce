//! `Heard`: what was broadcast, and `BroadcastReader`, which has its place in the logs that it is in.

use core::any::type_name;
use core::fmt;
use core::marker::PhantomData;

use crate::exactly::Exactly;
use crate::panics::{Panicked, resume};
use crate::signal::collect::{board, collect};
use crate::signal::log::{Log, Typed};
use crate::signal::subscriptions::{Subscriptions, Unread};
use crate::signal::{EVERYBODY, Signal, SignalError};
use crate::world::World;

/// Hears what is [broadcast](crate::signal::Signals::broadcast) by the signals that it has subscribed to, which carry a `P`:
/// for who is no processor, as a host that shows or plays something. (Processors take [`Heard`].)
///
/// As a [`SignalReader`](crate::signal::SignalReader) it has its own place in each log: it takes nothing from others, and what
/// is broadcast, and what is sent to entities by the same signals, waits for it until it hears, is discarded, or the reader is
/// dropped.
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Scored(u32);
///
/// let mut world = World::new();
/// let scored = world.signal_of::<Scored>();
/// let mut goals = BroadcastReader::new();
/// goals.subscribe(&mut world, scored)?;
/// world.signals().broadcast(scored, Scored(2));
/// world.signals().broadcast(scored, Scored(3));
/// assert_eq!(goals.hear(&mut world).iter().map(|scored| scored.0).sum::<u32>(), 5);
/// assert!(goals.hear(&mut world).is_empty());
/// # Ok::<(), SignalError>(())
/// ```
pub struct BroadcastReader<P> {
    subscriptions: Subscriptions,
    /// What was heard last.
    found: Vec<Found>,
    /// Where it was in each log before that.
    before: Vec<u64>,
    _payload: Exactly<P>,
}

/// Where something stands that was broadcast, in the order of what was sent.
#[derive(Clone, Copy, Debug)]
struct Found {
    sequence: u64,
    signal: u32,
    position: u64,
}

/// What was broadcast since a processor ran last, or a [`BroadcastReader`] heard: as a parameter of processors.
///
/// It hears the signal that is known by `P`; or, if its builder says [`hears::<P>`](crate::processor::ProcessorBuilder::hears) of
/// names, those. All that it lends counts as heard, whether or not anybody asks for it: who must not miss anything looks at it
/// in each run. (Of a run that does not take place, for a `run_if` say, all waits for the next one.) When what is broadcast
/// while processors run is heard is said of [`Signalled`](crate::signal::Signalled).
///
/// The order is that of all signals: no thread decides it.
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Scored(u32);
/// struct Points(u32);
///
/// let mut world = World::new();
/// world.resources_mut().insert(Points(0));
/// let mut schedule = Schedule::new();
/// schedule
///     .add(processor("goal", |mut signals: Signals| {
///         signals.broadcast(signals.signal_of(), Scored(3));
///     }))
///     .add(
///         processor("count", |scored: Heard<Scored>, points: &mut Points| {
///             points.0 += scored.iter().map(|scored| scored.0).sum::<u32>();
///         })
///         .phase(Phase::FrameEnd),
///     );
/// schedule.run(&mut world)?;
/// schedule.run(&mut world)?;
/// assert_eq!(world.resources().get::<Points>().map(|points| points.0), Some(6));
/// # Ok::<(), ScheduleError>(())
/// ```
#[doc(alias = "EventReader")]
#[doc(alias = "MessageReader")]
#[must_use = "it counts as heard"]
pub struct Heard<'w, P> {
    logs: &'w [Log],
    found: &'w [Found],
    _payload: Exactly<P>,
}

impl<'w, P: Send + Sync + 'static> Heard<'w, P> {
    /// What was broadcast, in the order in which it was sent. As often as it is asked for.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &'w P> + ExactSizeIterator + use<'w, P> {
        let logs = self.logs;
        // Mostly all are of one signal, whose log is asked for its type once.
        let mut at_hand: Option<(u32, Typed<'w, P>)> = None;
        self.found.iter().map(move |found| {
            let log = match at_hand {
                Some((signal, log)) if signal == found.signal => Some(log),
                _ => logs[found.signal as usize].typed(),
            };
            at_hand = log.map(|log| (found.signal, log));
            let payload = log.and_then(|log| log.payload(found.position));
            payload.unwrap_or_else(|| unreachable!("it was found there, and the world is lent"))
        })
    }

    /// How many. O(1).
    #[must_use]
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether nothing was broadcast.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

impl<P> Clone for Heard<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Heard<'_, P> {}

impl<P> BroadcastReader<P> {
    /// A reader without subscriptions.
    #[must_use]
    pub fn new() -> Self {
        Self {
            subscriptions: Subscriptions::new(),
            found: Vec::new(),
            before: Vec::new(),
            _payload: PhantomData,
        }
    }

    /// From now on it hears what is broadcast by this signal; as
    /// [`SignalReader::subscribe`](crate::signal::SignalReader::subscribe).
    ///
    /// # Errors
    /// [`SignalError::Twice`] if it does already; [`SignalError::OtherWorld`] if the signal, or one that it has
    /// subscribed to before, is not of this world.
    ///
    /// # Panics
    /// If the `drop` of what a signal carried panics that nobody wants: it has subscribed then.
    pub fn subscribe(&mut self, world: &mut World, signal: Signal<P>) -> Result<(), SignalError> {
        let mut panicked = None;
        let subscribed = self.subscribe_noting(world, signal.untyped(), &mut panicked);
        resume(panicked);
        subscribed
    }

    /// The same, of a signal that carries a `P`; what the `drop` of a payload panics with is noted.
    pub(crate) fn subscribe_noting(
        &mut self,
        world: &mut World,
        signal: Signal<()>,
        panicked: &mut Panicked,
    ) -> Result<(), SignalError> {
        self.subscriptions.subscribe(world, signal, panicked)
    }

    pub(crate) fn hears_something(&self) -> bool {
        !self.subscriptions.is_empty()
    }

    /// From now on it hears nothing.
    pub(crate) fn unsubscribe_all(&mut self) {
        self.subscriptions.clear();
    }

    /// Collects what was sent, and lends what was broadcast since it heard last. O(what was sent since by the signals that it
    /// hears), and what [collecting](World::collect_signals) takes.
    ///
    /// # Panics
    /// If the world is not the one whose signals it has subscribed to. If the `drop` of what a signal carried panics that
    /// nobody wants: what it would have heard waits then.
    pub fn hear<'w>(&'w mut self, world: &'w mut World) -> Heard<'w, P> {
        self.subscriptions.assert_own(world);
        resume(collect(world));
        self.read(world)
    }

    /// Lends, to who has only `&World`, what was collected before. Else as [`hear`](Self::hear).
    ///
    /// # Panics
    /// If the world is not the one whose signals it has subscribed to.
    pub fn read<'w>(&'w mut self, world: &'w World) -> Heard<'w, P> {
        self.found.clear();
        self.before.clear();
        let Some(board) = self.subscriptions.board(world) else {
            return Heard {
                logs: &[],
                found: &[],
                _payload: PhantomData,
            };
        };
        if self.subscriptions.were_trimmed(board) {
            self.found = Vec::new();
        }
        for Unread { signal, log, from } in self.subscriptions.read(board) {
            self.before.push(from);
            let sent = log.from(from).filter(|&(.., entity)| entity == EVERYBODY);
            // By `for_each`, which knows of the log's two halves where `extend` asks for each one.
            sent.for_each(|(position, sequence, _)| {
                self.found.push(Found {
                    sequence,
                    signal,
                    position,
                });
            });
        }
        if self.subscriptions.len() > 1 {
            self.found.sort_unstable_by_key(|found| found.sequence);
        }
        Heard {
            logs: &board.logs,
            found: &self.found,
            _payload: PhantomData,
        }
    }

    /// Lends once more what was [read](Self::read) last, of the same world, where nothing was collected since.
    pub(crate) fn again<'w>(&'w self, world: &'w World) -> Heard<'w, P> {
        let board = self.subscriptions.board(world);
        Heard {
            logs: board.map_or(&[], |board| &board.logs),
            found: &self.found,
            _payload: PhantomData,
        }
    }

    /// What was lent last waits again. Nothing was collected since.
    #[cold]
    pub(crate) fn take_back(&mut self) {
        self.subscriptions.take_back(&self.before);
    }

    /// Collects what was sent, and lets all go that waits for this reader; how many signals, those to entities among them. It
    /// hears on. As [`SignalReader::discard`](crate::signal::SignalReader::discard).
    ///
    /// # Panics
    /// As for that.
    #[doc(alias = "clear")]
    pub fn discard(&mut self, world: &mut World) -> usize {
        self.subscriptions.assert_own(world);
        let mut panicked = collect(world);
        let count = self.discard_collected(world, &mut panicked);
        resume(panicked);
        count
    }

    /// The same, of what was collected before in its world; what the `drop` of a payload panics with is noted.
    pub(crate) fn discard_collected(&self, world: &mut World, panicked: &mut Panicked) -> usize {
        self.subscriptions.discard(board(world), panicked)
    }
}

impl<P> Default for BroadcastReader<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P> fmt::Debug for BroadcastReader<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastReader")
            .field("payload", &type_name::<P>())
            .field("subscriptions", &self.subscriptions.len())
            .finish_non_exhaustive()
    }
}

impl<P> fmt::Debug for Heard<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heard")
            .field("payload", &type_name::<P>())
            .field("len", &self.found.len())
            .finish_non_exhaustive()
    }
}
