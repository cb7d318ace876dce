//! What signals carry, in the order in which it was collected: one log for each signal.

use core::any::Any;
use core::ops::Range;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::entity::Entity;
use crate::fragment::StateValue;
use crate::panics::{Panicked, end_all, note, resume, resume_alone};
use crate::sync::atomic::{AtomicU64, Ordering};

/// When more signals than these wait for the slowest reader of a log, it is said.
const MANY: usize = 1_000_000;

/// How far a reader has read a log. The log and its reader have it; the reader's share ends with it.
pub(super) type Cursor = Arc<AtomicU64>;

/// Payloads of one type, as who collects sees them: by the sender's column.
pub(super) trait Store: Any + Send + Sync {
    /// Takes payloads out of a sender's column, in order, to the end of the log.
    fn post(&mut self, column: &mut dyn Any, rows: Range<u32>);
    /// Takes a payload out of a sender's column, and keeps it for later, under a number.
    fn keep(&mut self, column: &mut dyn Any, row: u32) -> u32;
    /// Keeps one that has come out of a file, too, if it is of the type.
    fn keep_value(&mut self, value: StateValue) -> Option<u32>;
    /// One that is kept.
    fn kept(&self, slot: u32) -> Option<&(dyn Any + Send + Sync)>;
    /// Takes one out that is kept.
    fn take_value(&mut self, slot: u32) -> Option<StateValue>;
    /// Puts one that was kept to the end of the log.
    fn post_kept(&mut self, slot: u32);
    /// Drops the first so many of the log.
    fn forget(&mut self, count: usize);
    /// Gives room back in which there is nothing.
    fn shrink(&mut self);
    /// Drops payloads of a sender's column, in order, each whatever the others panic with, which is noted.
    fn drop_sent(&self, column: &mut dyn Any, rows: Range<u32>, panicked: &mut Panicked);
    /// Drops one that was kept.
    fn drop_kept(&mut self, slot: u32);
}

/// Payloads of one type.
#[derive(Debug)]
pub(super) struct Payloads<P> {
    log: VecDeque<P>,
    kept: Vec<Option<P>>,
    free: Vec<u32>,
}

impl<P> Default for Payloads<P> {
    fn default() -> Self {
        Self {
            log: VecDeque::new(),
            kept: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<P: Send + Sync + 'static> Payloads<P> {
    /// Payloads of a sender's column.
    fn sent(column: &mut dyn Any, rows: Range<u32>) -> &mut [Option<P>] {
        match column.downcast_mut::<Vec<Option<P>>>() {
            Some(column) => &mut column[rows.start as usize..rows.end as usize],
            None => unreachable!("a signal carries one type"),
        }
    }

    fn take_kept(&mut self, slot: u32) -> Option<P> {
        self.free.push(slot);
        self.kept[slot as usize].take()
    }

    fn keep_payload(&mut self, payload: Option<P>) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.kept[slot as usize] = payload;
                slot
            }
            None => {
                let slot = self.kept.len();
                assert!(
                    slot < u32::MAX as usize,
                    "4 billion signals of one kind wait"
                );
                self.kept.push(payload);
                slot as u32
            }
        }
    }
}

impl<P> Drop for Payloads<P> {
    fn drop(&mut self) {
        let mut panicked = None;
        end_all(&mut panicked, core::mem::take(&mut self.log));
        end_all(&mut panicked, core::mem::take(&mut self.kept));
        resume_alone(panicked);
    }
}

impl<P: Send + Sync + 'static> Store for Payloads<P> {
    fn post(&mut self, column: &mut dyn Any, rows: Range<u32>) {
        let sent = Self::sent(column, rows).iter_mut();
        // The compiler knows how many they are: room is made once.
        self.log.extend(sent.map(|payload| match payload.take() {
            Some(payload) => payload,
            None => unreachable!("each is taken once"),
        }));
    }

    fn keep(&mut self, column: &mut dyn Any, row: u32) -> u32 {
        let payload = Self::sent(column, row..row + 1)[0].take();
        self.keep_payload(payload)
    }

    fn keep_value(&mut self, value: StateValue) -> Option<u32> {
        let value: Box<dyn Any> = value;
        let payload = *value.downcast().ok()?;
        Some(self.keep_payload(Some(payload)))
    }

    fn take_value(&mut self, slot: u32) -> Option<StateValue> {
        Some(Box::new(self.take_kept(slot)?))
    }

    fn kept(&self, slot: u32) -> Option<&(dyn Any + Send + Sync)> {
        let payload = self.kept.get(slot as usize)?.as_ref()?;
        Some(payload)
    }

    fn post_kept(&mut self, slot: u32) {
        let payload = self.take_kept(slot);
        self.log.extend(payload);
    }

    fn forget(&mut self, count: usize) {
        let mut panicked = None;
        end_all(&mut panicked, self.log.drain(..count));
        resume(panicked);
    }

    fn shrink(&mut self) {
        self.log.shrink_to_fit();
        if self.free.len() == self.kept.len() {
            (self.kept, self.free) = Default::default();
        }
        self.kept.shrink_to_fit();
        self.free.shrink_to_fit();
    }

    fn drop_sent(&self, column: &mut dyn Any, rows: Range<u32>, panicked: &mut Panicked) {
        let sent = Self::sent(column, rows).iter_mut();
        end_all(panicked, sent.map(Option::take));
    }

    fn drop_kept(&mut self, slot: u32) {
        drop(self.take_kept(slot));
    }
}

/// What a log carries, whose type was asked for.
pub(super) struct Typed<'l, P> {
    /// The position of the first one.
    first: u64,
    payloads: &'l VecDeque<P>,
}

impl<'l, P> Typed<'l, P> {
    /// The payload at a position.
    #[inline]
    pub(super) fn payload(&self, position: u64) -> Option<&'l P> {
        let at = position.checked_sub(self.first)?;
        self.payloads.get(at as usize)
    }
}

impl<P> Clone for Typed<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Typed<'_, P> {}

/// The log of one signal.
pub(super) struct Log {
    /// When in the order of all signals, and to whom.
    sent: VecDeque<(u64, Entity)>,
    /// The position of the first one.
    first: u64,
    pub(super) payloads: Box<dyn Store>,
    readers: Vec<Cursor>,
    /// When more than these wait, it is said next.
    many: usize,
}

impl Log {
    pub(super) fn new(payloads: Box<dyn Store>) -> Self {
        Self {
            sent: VecDeque::new(),
            first: 0,
            payloads,
            readers: Vec::new(),
            many: MANY,
        }
    }

    /// Whether nobody listens.
    pub(super) fn is_idle(&self) -> bool {
        self.readers.is_empty()
    }

    /// Notes a signal whose payload comes with it.
    pub(super) fn note(&mut self, sequence: u64, entity: Entity) {
        self.sent.push_back((sequence, entity));
    }

    /// Notes so many that came one after the other and are for one receiver, whose payloads come with them.
    #[inline]
    pub(super) fn note_alike(&mut self, sequence: u64, count: u32, entity: Entity) {
        let sequences = sequence..sequence + u64::from(count);
        self.sent
            .extend(sequences.map(|sequence| (sequence, entity)));
    }

    /// The position behind the last.
    pub(super) fn end(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    /// A new reader, who gets what is sent from now on.
    pub(super) fn subscribe(&mut self) -> Cursor {
        let cursor = Arc::new(AtomicU64::new(self.end()));
        self.readers.push(Arc::clone(&cursor));
        cursor
    }

    /// The signals from a position on: position, when, to whom.
    pub(super) fn from(&self, position: u64) -> impl Iterator<Item = (u64, u64, Entity)> + '_ {
        let skipped = position.saturating_sub(self.first) as usize;
        let sent = self.sent.iter().enumerate().skip(skipped);
        sent.map(|(at, &(sequence, entity))| (self.first + at as u64, sequence, entity))
    }

    /// To whom the signal at a position is, if there is one.
    pub(super) fn receiver(&self, position: u64) -> Option<Entity> {
        let at = position.checked_sub(self.first)?;
        Some(self.sent.get(at as usize)?.1)
    }

    /// The payload at a position.
    pub(super) fn payload<P: Send + Sync + 'static>(&self, position: u64) -> Option<&P> {
        self.typed()?.payload(position)
    }

    /// The log of what carries a `P`, for who asks for many.
    pub(super) fn typed<P: Send + Sync + 'static>(&self) -> Option<Typed<'_, P>> {
        let payloads: &dyn Any = &*self.payloads;
        let payloads: &Payloads<P> = payloads.downcast_ref()?;
        Some(Typed {
            first: self.first,
            payloads: &payloads.log,
        })
    }

    /// Lets readers go that are gone, and what all have read. A panicking `drop` is noted.
    pub(super) fn trim(&mut self, panicked: &mut Panicked) {
        self.readers.retain(|cursor| Arc::strong_count(cursor) > 1);
        // Ordering: Relaxed: readers move their cursors while they have the world, and so has who collects.
        let read = self.readers.iter().map(|c| c.load(Ordering::Relaxed));
        let read = read.min().unwrap_or(self.end());
        let count = (read - self.first) as usize;
        if count > 0 {
            self.sent.drain(..count);
            self.first = read;
            note(panicked, || self.payloads.forget(count));
        }
    }

    /// Lets all readers pass by what they have not read.
    pub(super) fn pass_by(&mut self, panicked: &mut Panicked) {
        for cursor in &self.readers {
            // Ordering: Relaxed, as in `trim`.
            cursor.store(self.end(), Ordering::Relaxed);
        }
        self.trim(panicked);
    }

    /// How many wait for the slowest reader, if that is to be said: the first time that they are many, then each time that
    /// they are twice as many. For who has just [trimmed](Self::trim) the log.
    #[inline]
    pub(super) fn heaps_up(&mut self) -> Option<usize> {
        let waiting = self.sent.len();
        if waiting <= self.many {
            if waiting < MANY / 2 {
                // They were got, or let go: it begins anew.
                self.many = MANY;
            }
            return None;
        }
        while self.many < waiting {
            self.many *= 2;
        }
        Some(waiting)
    }

    /// Signals that some reader has not read.
    pub(super) fn unread(&self) -> usize {
        let readers = self.readers.iter();
        let readers = readers.filter(|cursor| Arc::strong_count(cursor) > 1);
        // Ordering: Relaxed: a reader that runs beside has read them or not.
        let unread =
            readers.map(|cursor| self.end().saturating_sub(cursor.load(Ordering::Relaxed)));
        unread.max().unwrap_or(0) as usize
    }

    /// Gives room back in which there is nothing.
    pub(super) fn shrink(&mut self) {
        self.sent.shrink_to_fit();
        self.payloads.shrink();
    }
}

impl core::fmt::Debug for Log {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Log")
            .field("sent", &self.sent.len())
            .field("readers", &self.readers.len())
            .finish_non_exhaustive()
    }
}
