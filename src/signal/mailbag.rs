//! `Mailbag`: what one thread has sent at a time, kept until it is collected; its memory serves again and
//! again.

use core::any::Any;
use core::ops::Range;

use crate::command::Precedence;
use crate::entity::Entity;
use crate::panics::{Panicked, end_all, forget};
use crate::signal::EVERYBODY;
use crate::sync::openings::opened_before;

/// Letters that a bag can hold: numbers of 32 bits say where a segment ends. Few in tests.
const MOST: usize = if cfg!(test) {
    100_000
} else {
    u32::MAX as usize - 1
};

/// Instead of the row of a payload: the letter carries none, and takes back what was sent before it and waits for its time;
/// what waits for the letter's own time alone.
pub(super) const CANCELS: u32 = u32::MAX;
pub(super) const CANCELS_AT: u32 = u32::MAX - 1;

/// A signal that was sent. 16 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Letter {
    pub(super) entity: Entity,
    pub(super) signal: u32,
    /// The row of its payload, or what it is instead: [`CANCELS`], [`CANCELS_AT`].
    pub(super) row: u32,
}

/// What one sender sent.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) precedence: Precedence,
    pub(super) letters: Range<u32>,
}

/// Payloads of one signal, in the order of sending: a `Vec<Option<P>>`.
trait Column: Any + Send {
    /// Drops all payloads.
    fn end(&mut self, panicked: &mut Panicked);
    /// Forgets all rows.
    fn clear(&mut self);
}

impl<P: Send + 'static> Column for Vec<Option<P>> {
    fn end(&mut self, panicked: &mut Panicked) {
        end_all(panicked, core::mem::take(self));
    }

    fn clear(&mut self) {
        self.clear();
    }
}

/// Signals of one thread at a time.
#[derive(Default)]
pub(super) struct Mailbag {
    pub(super) letters: Vec<Letter>,
    /// Which letters are for a later time, or take back what is, in order, and which time.
    pub(super) times: Vec<(u32, u64)>,
    pub(super) segments: Vec<Segment>,
    /// By the signals' numbers.
    columns: Vec<Option<Box<dyn Column>>>,
    /// Where the sender that is open began.
    began: u32,
}

impl Mailbag {
    /// A sender opens.
    pub(super) fn open(&mut self) {
        self.began = self.letters.len() as u32;
    }

    /// The sender closes.
    pub(super) fn close(&mut self, precedence: Precedence) {
        let letters = self.began..self.letters.len() as u32;
        if !letters.is_empty() {
            self.segments.push(Segment {
                precedence,
                letters,
            });
        }
    }

    /// Takes out what senders have sent that were opened before this number. The letters stay until it is
    /// [reset](Self::reset).
    pub(super) fn take_before(&mut self, number: u64) -> Vec<Segment> {
        let segments = core::mem::take(&mut self.segments).into_iter();
        let is_before = |segment: &Segment| opened_before(segment.precedence.number, number);
        let (before, since) = segments.partition(is_before);
        self.segments = since;
        before
    }

    /// Signals of the sender that is open.
    pub(super) fn sent(&self) -> usize {
        self.letters.len() - self.began as usize
    }

    /// Whether nothing is in it that is to be collected.
    pub(super) fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// If the bag is full. (There are as many rows in all columns as letters.)
    #[inline]
    pub(super) fn send<P: Send + 'static>(&mut self, signal: u32, entity: Entity, payload: P) {
        assert!(
            self.letters.len() < MOST,
            "4 billion signals in one sender's memory"
        );
        let column = match self.columns.get_mut(signal as usize) {
            Some(Some(column)) => column,
            _ => self.add_column::<P>(signal),
        };
        let column: &mut dyn Any = &mut **column;
        let Some(column) = column.downcast_mut::<Vec<Option<P>>>() else {
            unreachable!("a signal carries one type")
        };
        let row = column.len() as u32;
        column.push(Some(payload));
        self.letters.push(Letter {
            entity,
            signal,
            row,
        });
    }

    /// Takes back what was sent before and waits for its time, for this one or for any.
    ///
    /// # Panics
    /// As for [`send`](Self::send).
    #[cold]
    pub(super) fn cancel(&mut self, signal: u32, entity: Entity, time: Option<u64>) {
        assert!(
            self.letters.len() < MOST,
            "4 billion signals in one sender's memory"
        );
        let letter = self.letters.len() as u32;
        let row = if time.is_some() { CANCELS_AT } else { CANCELS };
        self.letters.push(Letter {
            entity,
            signal,
            row,
        });
        self.times.push((letter, time.unwrap_or_default()));
    }

    #[cold]
    fn add_column<P: Send + 'static>(&mut self, signal: u32) -> &mut Box<dyn Column> {
        let at = signal as usize;
        if at >= self.columns.len() {
            self.columns.resize_with(at + 1, || None);
        }
        self.columns[at].insert(Box::new(Vec::<Option<P>>::new()))
    }

    /// The payloads of a signal.
    pub(super) fn column(&mut self, signal: u32) -> &mut dyn Any {
        match self.columns.get_mut(signal as usize) {
            Some(Some(column)) => &mut **column,
            _ => unreachable!("a signal was sent with its payload"),
        }
    }

    /// How many of these letters, one at least, go together: broadcasts of one signal, whose payloads lie side by side, too. A
    /// letter for an entity goes alone.
    #[inline]
    pub(super) fn alike(&self, letters: Range<u32>) -> u32 {
        let letters = &self.letters[letters.start as usize..letters.end as usize];
        let (first, others) = match letters.split_first() {
            Some((first, others)) if first.entity == EVERYBODY => (first, others),
            _ => return 1,
        };
        let alike = |other: &&Letter| (other.entity, other.signal) == (EVERYBODY, first.signal);
        let count = 1 + others.iter().take_while(alike).count() as u32;
        // Each letter of a signal is the next row of its column.
        debug_assert_eq!(letters[count as usize - 1].row, first.row + (count - 1));
        count
    }

    /// What is to be collected, but for what senders have sent that were opened before this number: signals, and among them
    /// those that are for a later time, or take such back.
    pub(super) fn count_since(&self, number: Option<u64>) -> (usize, usize) {
        let is_gone = |segment: &&Segment| {
            number.is_some_and(|number| opened_before(segment.precedence.number, number))
        };
        let counts = self.segments.iter().filter(|one| !is_gone(one)).map(|one| {
            let before = |end: u32| self.times.partition_point(|(at, _)| *at < end);
            let Range { start, end } = one.letters;
            (one.letters.len(), before(end) - before(start))
        });
        counts.fold((0, 0), |all, more| (all.0 + more.0, all.1 + more.1))
    }

    /// Drops all that is in it, and its memory.
    pub(super) fn end(&mut self, panicked: &mut Panicked) {
        self.end_columns(panicked);
        *self = Self::default();
    }

    fn end_columns(&mut self, panicked: &mut Panicked) {
        for column in self.columns.iter_mut().flatten() {
            column.end(panicked);
        }
    }

    /// After all was taken out: as new, but for its room.
    pub(super) fn reset(&mut self) {
        self.letters.clear();
        self.times.clear();
        self.segments.clear();
        self.columns
            .iter_mut()
            .flatten()
            .for_each(|column| column.clear());
    }
}

impl Drop for Mailbag {
    fn drop(&mut self) {
        let mut panicked = None;
        self.end_columns(&mut panicked);
        // There is nobody to give a panic to.
        forget(panicked);
    }
}

#[cfg(test)]
mod tests {
    use core::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;

    use super::*;
    use crate::signal::SignalReader;
    use crate::world::World;

    #[test]
    fn a_bag_that_is_full_takes_no_signal_more_and_keeps_what_it_has() {
        let mut world = World::new();
        let ant = world.create((1_u8,)).unwrap();
        let [hit, healed] = ["hit", "healed"].map(|name| world.signal::<u32>(name).unwrap());
        let mut reader = SignalReader::<Entity>::new(&world).unwrap();
        reader.subscribe(&mut world, hit).unwrap();
        reader.subscribe(&mut world, healed).unwrap();
        let mut signals = world.signals();
        // Rows of one signal are few when letters are many.
        signals.send(healed, ant, 1);
        signals.send_all(hit, &vec![ant; MOST - 1], &2);
        let calls: [&mut dyn FnMut(&mut crate::signal::Signals<'_>); 4] = [
            &mut |signals| signals.send(healed, ant, 3),
            &mut |signals| signals.send_all(hit, &[ant], &4),
            &mut |signals| signals.send_after(hit, ant, 5, core::time::Duration::ZERO),
            &mut |signals| signals.cancel(hit, ant),
        ];
        for call in calls {
            let panic = catch_unwind(AssertUnwindSafe(|| call(&mut signals))).unwrap_err();
            let text = panic.downcast_ref::<&str>();
            assert_eq!(text, Some(&"4 billion signals in one sender's memory"));
            assert_eq!(signals.len(), MOST);
        }
        drop(signals);
        assert_eq!(reader.discard(&mut world), MOST);
        world.signals().send(hit, ant, 6);
        assert_eq!(reader.discard(&mut world), 1);
    }
}
