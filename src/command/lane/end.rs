//! What is left after a flush, or without one, ends.

use super::{Lane, NONE, Op};
use crate::archetype::{Chunk, Universe};
use crate::command::payload::Payload;
use crate::panics::{Panicked, end_all, first, forget, note};

/// Streams, each with a nursery, that a lane keeps from flush to flush: if there are more, it
/// forgets all, and learns anew those that are still wanted. So compositions that come and go take
/// no memory for ever.
const KEPT_STREAMS: usize = 1_024;

impl Lane {
    /// A flush begins: private chunks can be handed over one by one.
    pub(in crate::command) fn hand_over(&mut self) {
        // In the same memory, as is the way back.
        let privates = core::mem::take(&mut self.privates).into_iter();
        self.left = privates.map(Some).collect();
    }

    /// After a flush, which has moved out what it wanted, and left private chunks empty: drops the rest, and is as
    /// new, but for its room.
    pub(in crate::command) fn reset(&mut self) -> Panicked {
        let mut panicked = None;
        for payload in &mut self.payloads {
            panicked = first(panicked, payload.clear());
        }
        self.by_chance = 0;
        self.log.clear();
        self.segments.clear();
        self.parts.clear();
        self.spans.clear();
        if self.has_many_streams() {
            self.forget_streams();
        }
        if self.outdated || !self.combos.is_empty() {
            // Ops, streams and ways name combinations by number.
            self.forget_combos();
            self.outdated = false;
        }
        if self.has_values_besides() {
            self.end_values(&mut panicked);
        }
        self.forget_copies();
        self.forget_dynamic_ops();
        self.keep_nurseries();
        panicked
    }

    /// Whether there are values of commands that were not moved out, and need be dropped.
    pub(in crate::command) fn has_left(&self) -> bool {
        self.payloads.iter().any(Payload::has_left)
    }

    /// Whether there are values besides that [`reset`](Self::reset) lets go: shared ones, or what chunks begin with.
    pub(in crate::command) fn has_values_besides(&self) -> bool {
        !(self.combos.is_empty() && self.templates.is_empty())
    }

    /// Drops the values of a segment's commands that were not moved out, in the order in which these were recorded.
    pub(in crate::command) fn drop_left(&mut self, segment: usize, panicked: &mut Panicked) {
        let commands = self.segments[segment].commands.clone();
        for part in self.log.parts(commands) {
            let mut rows = part.rows(self.payloads.len());
            for (_, word) in part.commands() {
                let payload = match self.ops[word.op() as usize] {
                    Op::Destroy | Op::Switch { .. } => continue,
                    Op::Change { payload, .. } | Op::Call { payload, .. } => payload,
                };
                if let Some(values) = self.payloads.get_mut(payload as usize) {
                    values.drop_row(rows.next(payload), panicked);
                    rows.skip(payload, 1);
                }
            }
        }
    }

    /// Whether one recorder has left something, and all of that is plain: nothing that is shared, that chunks begin with, or
    /// that is to be told of; and nothing is to be forgotten.
    pub(in crate::command) fn is_plain(&self) -> bool {
        self.segments.len() == 1
            && self.combos.is_empty()
            && self.templates.is_empty()
            && self.by_chance == 0
            && !self.outdated
            && !self.forgets()
    }

    /// [`reset`](Self::reset) of a lane that [is plain](Self::is_plain), whose private chunks are its nurseries, and empty:
    /// they stay as they are.
    pub(in crate::command) fn reset_plain(&mut self) -> Panicked {
        let mut panicked = None;
        let used = self.payloads.iter().filter(|payload| payload.len() > 0);
        if used.filter(|payload| payload.has_left()).count() > 1 {
            self.drop_left(0, &mut panicked);
        }
        for payload in &mut self.payloads {
            if payload.len() > 0 {
                panicked = first(panicked, payload.clear());
            }
        }
        self.log.clear();
        self.segments.clear();
        self.parts.clear();
        self.spans.clear();
        panicked
    }

    /// Lets the values go that a recorder has named, and has recorded nothing with: no copies, or none that there was
    /// room for.
    pub(in crate::command) fn let_go(&mut self) -> Panicked {
        if self.combos.is_empty() && self.templates.is_empty() && !self.has_many_streams() {
            // Nothing is recorded with them.
            self.forget_copies();
            self.forget_dynamic_ops();
            return None;
        }
        self.hand_over();
        self.reset()
    }

    /// Whether a flush would forget something of it, though nothing is recorded: there is too much of it.
    pub(in crate::command) fn forgets(&self) -> bool {
        self.has_many_copy_ways() || self.has_many_dynamic_ops() || self.has_many_streams()
    }

    /// Whether there are more streams than are kept, or ways to them.
    fn has_many_streams(&self) -> bool {
        self.streams.len() > KEPT_STREAMS || self.dynamic_way_of.len() > KEPT_STREAMS
    }

    /// Forgets all ops, ways and streams with shared values, and those for other chunks; what stays is
    /// numbered anew.
    fn forget_combos(&mut self) {
        self.recent_ops.clear();
        self.cursors.clear();
        self.recent_copies.clear();
        let numbers = keep(
            &mut self.ops,
            |op| !matches!(op, Op::Change { combo, .. } if *combo != NONE),
        );
        self.op_of.retain(|key, _| key.combo == NONE);
        renumber(self.op_of.values_mut(), &numbers);
        self.forget_dynamic_combos();
        renumber(self.dynamic_ops_mut(), &numbers);
        let cut = self.cut;
        self.stream_of.retain(|key, _| key.1 == NONE);
        // There may be another one for the same chunks, of before these were others for a time.
        let mut known = vec![false; self.streams.len()];
        for &stream in self.stream_of.values() {
            known[stream as usize] = true;
        }
        let mut known = known.into_iter();
        let numbers = keep(&mut self.streams, |stream| {
            known.next() == Some(true) && stream.combo == NONE && stream.cut == cut
        });
        renumber(self.stream_of.values_mut(), &numbers);
        renumber(
            self.left
                .iter_mut()
                .flatten()
                .map(|private| &mut private.chunk.group),
            &numbers,
        );
        renumber(self.ways.iter_mut().map(|way| &mut way.stream), &numbers);
        let copied = self.copy_ways.iter_mut().map(|way| &mut way.stream);
        renumber(copied, &numbers);
        let numbers = keep(&mut self.ways, |way| way.stream != NONE);
        self.way_of.retain(|key, _| key.1 == NONE);
        renumber(self.way_of.values_mut(), &numbers);
        self.dynamic_way_of.retain(|key, _| key.1 == NONE);
        renumber(self.dynamic_way_of.values_mut(), &numbers);
        let numbers = keep(&mut self.copy_ways, |way| way.stream != NONE);
        renumber(self.copy_way_of.values_mut(), &numbers);
        self.copy_way_of.retain(|_, way| *way != NONE);
    }

    /// Keeps the nurseries, and gives other chunks back that were not handed over.
    fn keep_nurseries(&mut self) {
        // Most have been handed over.
        let left = core::mem::take(&mut self.left).into_iter();
        let nurseries = left.enumerate().filter_map(|(at, private)| {
            let private = private?;
            debug_assert!(private.chunk.len == 0);
            let stream = self.streams.get(private.stream() as usize);
            if stream.is_some_and(|stream| stream.nursery == at as u32) {
                return Some(private);
            }
            give_back(&self.universe, &private.chunk);
            None
        });
        self.privates = nurseries.collect();
        for stream in &mut self.streams {
            stream.nursery = NONE;
        }
        let directory = self.universe.directory();
        for (number, nursery) in (0..).zip(&self.privates) {
            self.streams[nursery.stream() as usize].nursery = number;
            directory.enter_private(&nursery.chunk, self.world, number);
        }
    }

    /// Gives the nurseries back; how many. Nothing is recorded.
    pub(in crate::command) fn trim(&mut self) -> usize {
        debug_assert!(self.is_empty() && self.left.is_empty());
        // They name rows of nurseries.
        self.cursors.clear();
        for stream in &mut self.streams {
            stream.nursery = NONE;
        }
        let nurseries = core::mem::take(&mut self.privates);
        for private in &nurseries {
            give_back(&self.universe, &private.chunk);
        }
        nurseries.len()
    }

    /// Lets shared values and templates go.
    fn end_values(&mut self, panicked: &mut Panicked) {
        self.combo_of.clear();
        let combos = core::mem::take(&mut self.combos).into_iter();
        end_all(panicked, combos.flat_map(|combo| combo.values));
        end_all(panicked, core::mem::take(&mut self.templates));
    }

    /// Destroys the entities that no flush has taken, and drops their values, those of commands, and what goes with them. It
    /// records nothing after that.
    pub(in crate::command) fn end(&mut self, panicked: &mut Panicked) {
        for private in core::mem::take(&mut self.privates) {
            let draft = &self.streams[private.stream() as usize].draft;
            let chunk = &private.chunk;
            for column in &draft.columns {
                let Some(drop) = column.drop else { continue };
                for row in 0..chunk.len as usize {
                    let value = chunk
                        .array(column.offset)
                        .wrapping_add(row * column.size as usize);
                    // SAFETY: a value of a row that no world knows, whose entity ends here.
                    note(panicked, || unsafe { drop(value, 1) });
                }
            }
            self.universe.kill_slice(chunk.entities());
            give_back(&self.universe, chunk);
        }
        for payload in &mut self.payloads {
            *panicked = first(panicked.take(), payload.clear());
        }
        self.end_values(panicked);
    }
}

/// Keeps some of a list; the new number of each that was there, or [`NONE`].
fn keep<T>(list: &mut Vec<T>, mut keeps: impl FnMut(&T) -> bool) -> Vec<u32> {
    let mut numbers = Vec::with_capacity(list.len());
    let mut next = 0;
    list.retain(|item| {
        let kept = keeps(item);
        numbers.push(if kept { next } else { NONE });
        next += u32::from(kept);
        kept
    });
    numbers
}

/// Gives everything its new number.
fn renumber<'a>(all: impl Iterator<Item = &'a mut u32>, numbers: &[u32]) {
    all.for_each(|number| *number = numbers[*number as usize]);
}

/// Gives a chunk back that holds nothing.
pub(in crate::command) fn give_back(universe: &Universe, chunk: &Chunk) {
    universe.directory().leave(chunk);
    // SAFETY: the lane's own, which it forgets.
    unsafe { universe.give_chunk(chunk.run) };
}

impl Drop for Lane {
    fn drop(&mut self) {
        let mut panicked = None;
        self.end(&mut panicked);
        // There is nobody to give a panic to.
        forget(panicked);
    }
}
