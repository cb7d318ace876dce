//! `Log`: the commands that a lane holds, in order: four bytes each, and eight for its entity,
//! unless the command before was for the same one.
//!
//! Where a command's values lie is not written down. A payload is filled in the order of the commands that have values
//! there: the row of one is the number of those before. A [mark](Mark) says that number, for each payload, where a
//! reader may begin; between two marks [`Rows`] counts.
//!
//! Must hold: the first command after a mark says that it is for another entity; there are as many entities as commands
//! that say so; every payload has a row for each command that has values there.

use core::ops::Range;

use smallvec::SmallVec;

use crate::command::payload::Payload;
use crate::entity::Entity;

/// Commands between two marks, about: what one task of a flush looks at.
const STEP: usize = 8_192;
/// Commands that room is made for, at least.
const FEWEST: usize = 64;

/// A recorded command: what is done, by the number of the lane's op, and whether it is for another entity than the one
/// before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word(u32);

impl Word {
    const ANOTHER: u32 = 1;

    /// Ops have numbers of 31 bits.
    pub(super) const LAST_OP: u32 = u32::MAX >> 1;

    #[inline(always)]
    fn new(op: u32) -> Self {
        Self(op << 1)
    }

    /// What is done.
    #[inline(always)]
    pub(super) fn op(self) -> u32 {
        self.0 >> 1
    }

    /// Whether it is for another entity than the one before.
    #[inline(always)]
    pub(super) fn is_for_another(self) -> bool {
        self.0 & Self::ANOTHER != 0
    }
}

/// A place where a reader may begin: so many commands, entities and numbers of rows come before.
#[derive(Clone, Copy, Debug)]
struct Mark {
    words: u32,
    entities: u32,
    /// Where the payloads' numbers of rows begin, which another mark may have, too; and for how many payloads.
    rows: usize,
    payloads: usize,
}

impl Mark {
    fn rows(self) -> Range<usize> {
        self.rows..self.rows + self.payloads
    }
}

/// The commands of a lane.
#[derive(Debug, Default)]
pub(super) struct Log {
    words: Vec<Word>,
    entities: Vec<Entity>,
    /// Whose command is the last one, as bits; 0 if the next one is to say for whom it is.
    last: u64,
    /// With so many commands the next mark is set, if the one that comes is for another entity.
    due: usize,
    /// Both lists have room for so many commands, and no mark is due before.
    ready: usize,
    marks: Vec<Mark>,
    /// For each mark, how many values each payload has there.
    rows: Vec<u32>,
}

/// Neighbouring commands, from one mark to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'l> {
    /// The number of the first command.
    pub(super) first: u32,
    pub(super) words: &'l [Word],
    pub(super) entities: &'l [Entity],
    rows: &'l [u32],
}

/// Where the values of the next command lie, for each payload, and for those that have none.
#[derive(Clone, Debug)]
pub(super) struct Rows(SmallVec<[u32; 8]>);

impl Log {
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The next command begins something new: a mark is to stand before it.
    pub(super) fn begin(&mut self) {
        self.last = 0;
        self.due = self.words.len();
        self.ready = self.due;
    }

    /// Adds a command. If it has values, these are to follow, as its payload's next row.
    #[inline(always)]
    pub(super) fn push(&mut self, entity: Entity, op: u32, payloads: &[Payload]) {
        if self.words.len() >= self.ready {
            self.make_ready(entity, payloads);
        }
        let mut word = Word::new(op);
        if self.last != entity.to_bits() {
            self.last = entity.to_bits();
            word.0 |= Word::ANOTHER;
            // SAFETY: there is room, see `ready`.
            unsafe { push(&mut self.entities, entity) };
        }
        // SAFETY: as above.
        unsafe { push(&mut self.words, word) };
    }

    /// Makes room for the next commands, and sets a mark before them if one is due.
    #[cold]
    #[inline(never)]
    fn make_ready(&mut self, entity: Entity, payloads: &[Payload]) {
        let words = self.words.len();
        assert!(
            words < u32::MAX as usize - STEP,
            "4 billion commands in one recorder's memory"
        );
        let more = words.clamp(FEWEST, STEP);
        self.words.reserve(more);
        self.entities.reserve(more);
        if words >= self.due {
            if self.last == entity.to_bits() {
                // Another place is looked for soon.
                self.due = words + FEWEST;
            } else {
                self.mark(payloads);
                self.due = words + STEP;
            }
        }
        self.ready = self.due.min(words + more);
    }

    /// Sets a mark before the next command.
    fn mark(&mut self, payloads: &[Payload]) {
        self.last = 0;
        if self.words.is_empty() {
            // Nothing has values yet.
            self.marks.push(Mark {
                words: 0,
                entities: 0,
                rows: 0,
                payloads: 0,
            });
            return;
        }
        let rows = payloads.iter().map(|payload| payload.len() as u32);
        // Many recorders have no values.
        let last = self.marks.last().map_or(0..0, |mark| mark.rows());
        let rows = if rows.clone().eq(self.rows[last.clone()].iter().copied()) {
            last.start
        } else {
            self.rows.extend(rows);
            self.rows.len() - payloads.len()
        };
        self.marks.push(Mark {
            words: self.words.len() as u32,
            entities: self.entities.len() as u32,
            rows,
            payloads: payloads.len(),
        });
    }

    /// The parts of some commands, which begin and end where a recorder did, or a [part](Part).
    pub(super) fn parts(&self, commands: Range<u32>) -> impl Iterator<Item = Part<'_>> {
        let begins = |from: usize, at: u32| {
            let marks = &self.marks[from..];
            from + marks.partition_point(|mark| mark.words < at)
        };
        let first = begins(0, commands.start);
        let end = begins(first, commands.end);
        (first..end).map(move |at| {
            let mark = self.marks[at];
            let next = self.marks.get(at + 1);
            let all = (self.words.len() as u32, self.entities.len() as u32);
            let (words, entities) = next.map_or(all, |next| (next.words, next.entities));
            Part {
                first: mark.words,
                words: &self.words[mark.words as usize..words as usize],
                entities: &self.entities[mark.entities as usize..entities as usize],
                rows: &self.rows[mark.rows()],
            }
        })
    }

    /// For whom the only command is, and what it does; `None` if there are more, or none.
    pub(super) fn only(&self) -> Option<(Entity, u32)> {
        match (&*self.words, &*self.entities) {
            ([word], [entity]) => Some((*entity, word.op())),
            _ => None,
        }
    }

    /// For whom the commands are, one by one, if all do the same, and no mark stands between them; and what that is.
    pub(super) fn alike(&self) -> Option<(impl Iterator<Item = Entity>, u32)> {
        let op = self.words.first()?.op();
        let alike = self.marks.len() == 1 && self.words.iter().all(|word| word.op() == op);
        let entities = each(&self.words, &self.entities).map(|(entity, _)| entity);
        alike.then_some((entities, op))
    }

    /// Forgets all commands, and keeps the room.
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.entities.clear();
        self.marks.clear();
        self.rows.clear();
        self.begin();
    }
}

impl<'l> Part<'l> {
    /// The numbers of its commands.
    pub(super) fn range(&self) -> Range<u32> {
        self.first..self.first + self.words.len() as u32
    }

    /// Where the values of its first commands lie, in so many payloads. Commands that have none count as of one more.
    pub(super) fn rows(&self, payloads: usize) -> Rows {
        // Those that are newer had no values here.
        let mut rows = SmallVec::from_elem(0, payloads + 1);
        rows[..self.rows.len()].copy_from_slice(self.rows);
        Rows(rows)
    }

    /// The commands one by one: for whom, and what.
    pub(super) fn commands(self) -> impl Iterator<Item = (Entity, Word)> + 'l {
        each(self.words, self.entities)
    }
}

impl Rows {
    /// Where the values of the next command of this payload lie.
    #[inline(always)]
    pub(super) fn next(&self, payload: u32) -> u32 {
        self.0[payload as usize]
    }

    /// Goes on to the command that comes after so many of this payload.
    #[inline(always)]
    pub(super) fn skip(&mut self, payload: u32, commands: u32) {
        self.0[payload as usize] += commands;
    }

    /// For each payload, to count by hand.
    #[inline(always)]
    pub(super) fn as_mut_slice(&mut self) -> &mut [u32] {
        &mut self.0
    }

    /// What was done since `before` is done so many times over.
    pub(super) fn repeat(&mut self, before: &Self, times: u32) {
        for (row, before) in self.0.iter_mut().zip(&before.0) {
            *row += (*row - before) * times;
        }
    }
}

/// Commands one by one, of which the first says for whom it is: for whom, and what.
fn each<'l>(
    words: &'l [Word],
    entities: &'l [Entity],
) -> impl Iterator<Item = (Entity, Word)> + 'l {
    let mut entities = entities.iter();
    let mut entity = Entity::PLACEHOLDER;
    words.iter().map(move |&word| {
        if word.is_for_another()
            && let Some(&next) = entities.next()
        {
            entity = next;
        }
        (entity, word)
    })
}

/// Adds an element to a list that has room for it.
///
/// # Safety
/// Its capacity is more than its length.
#[inline(always)]
unsafe fn push<T>(list: &mut Vec<T>, element: T) {
    let len = list.len();
    debug_assert!(len < list.capacity());
    // SAFETY: the caller's.
    unsafe {
        list.as_mut_ptr().add(len).write(element);
        list.set_len(len + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command as it was recorded: for whom, what, and the row of its values.
    type Plain = (Entity, u32, u32);

    fn entity(index: u32) -> Entity {
        Entity::from_parts(index, 1)
    }

    /// Ops 0..4 have the payload of their number but the last, which has none.
    fn record(log: &mut Log, payloads: &mut [Payload], plain: &mut Vec<Plain>, of: u32, op: u32) {
        let row = payloads.get_mut(op as usize).map_or(0, |payload| {
            payload.next();
            payload.len() as u32
        });
        log.push(entity(of), op, payloads);
        if let Some(payload) = payloads.get_mut(op as usize) {
            payload.push();
        }
        plain.push((entity(of), op, row));
    }

    /// What the log says of these commands.
    fn read(log: &Log, commands: Range<u32>, payloads: usize) -> Vec<Plain> {
        let mut all = Vec::new();
        for part in log.parts(commands.clone()) {
            assert!(part.words[0].is_for_another() && !part.range().is_empty());
            assert_eq!(
                part.range().start as usize,
                commands.start as usize + all.len()
            );
            let mut rows = part.rows(payloads);
            for (entity, word) in part.commands() {
                let payload = (word.op() as usize).min(payloads);
                let row = &mut rows.as_mut_slice()[payload];
                let has_values = payload < payloads;
                all.push((entity, word.op(), if has_values { *row } else { 0 }));
                *row += 1;
            }
        }
        assert_eq!(all.len(), commands.len());
        all
    }

    #[test]
    fn what_was_recorded_is_read() {
        let mut random = 5_u64;
        let mut next = move |below: u32| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as u32 % below
        };
        let mut log = Log::default();
        for _ in 0..20 {
            let mut payloads: Vec<Payload> = Vec::new();
            let mut plain = Vec::new();
            let mut segments = Vec::new();
            for _ in 0..1 + next(8) {
                // A payload comes with its first command.
                if payloads.len() < 3 {
                    payloads.push(Payload::new(Vec::new()));
                }
                log.begin();
                let first = log.len() as u32;
                for _ in 0..[0, 1, 100, 3_000][next(4) as usize] {
                    // Now and then one entity gets more commands than lie between two marks.
                    let most = if next(1_000) == 0 { 3 * STEP as u32 } else { 9 };
                    let of = next(50);
                    for _ in 0..1 + next(most) {
                        let op = next(payloads.len() as u32 + 1);
                        let op = if op == payloads.len() as u32 { 3 } else { op };
                        record(&mut log, &mut payloads, &mut plain, of, op);
                    }
                }
                segments.push(first..log.len() as u32);
            }
            for segment in segments {
                let expected = &plain[segment.start as usize..segment.end as usize];
                assert!(read(&log, segment, payloads.len()) == expected);
            }
            let all = read(&log, 0..log.len() as u32, payloads.len());
            assert!(all == plain);
            log.clear();
            assert!(log.is_empty());
        }
    }

    #[test]
    fn each_part_may_be_read_alone() {
        let (mut log, mut payloads) = (Log::default(), vec![Payload::new(Vec::new())]);
        let mut plain = Vec::new();
        for of in 0..3 * STEP as u32 {
            record(&mut log, &mut payloads, &mut plain, of, of % 2 * 3);
        }
        let parts: Vec<Range<u32>> = log.parts(0..log.len() as u32).map(|p| p.range()).collect();
        assert_eq!(parts.len(), 3);
        for part in parts.into_iter().rev() {
            let expected = &plain[part.start as usize..part.end as usize];
            assert!(read(&log, part, 1) == expected);
        }
    }
}
