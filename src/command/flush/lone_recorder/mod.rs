//! What one recorder has left, and nobody else can add to: applied without the ways of a flush that shares recorders with
//! others, or hands the world to users' code. So is most of what a frame flushes: a processor's few commands.
//!
//! The world's queue is its own alone while nobody has [parallel commands](crate::command::ParallelCommands), be it
//! [weakly](crate::command::WeakCommands), and no flush
//! is under way (it has the queue, too). What is done is what the [rounds](crate::command::flush::rounds) do, bit for bit: rows of
//! nurseries are poured, and few commands go the [short way](crate::command::flush::short_way), or, if it is one alone, a shorter one: to one
//! entity nothing need be brought together, or be put in order.
//!
//! Must hold: of entities that join, and of commands, nothing is done before all has been asked that could send them back
//! to the rounds, which go on where entities have joined, as they would have done first; and no users' code
//! sees the world, or its queue: what may be called is the `drop` of a value, and the `clone` of what chunks begin with.

mod one_op;

use crate::archetype::{Archetype, Row};
use crate::command::flush::carried::Carried;
use crate::command::flush::half::Half;
use crate::command::flush::link::FirstRows;
use crate::command::flush::short_way::are_few;
use crate::command::flush::{Flush, FlushReport, MOST, Piece};
use crate::command::lane::{Lane, NONE, Op, Part, Span};
use crate::command::queue::Queue;
use crate::entity::Entity;
use crate::panics::{Panicked, first, resume};
use crate::sync::pool::Taken;
use crate::world::World;
use crate::world::change::{carry, end};
use crate::world::compose::EdgeRef;
use crate::world::watch::{ADDED, CREATED, DESTROYED, REMOVED, SET};

/// Commands that are few enough to be asked whether they all have [one op](one_op).
const ALIKE: usize = 256;

/// Rows that have room.
struct Poured {
    archetype: u32,
    to: Row,
    private: u32,
    first: u32,
    count: u32,
}

/// What one command does.
enum Single {
    Dies,
    /// It gets other values where it is.
    Stays(EdgeRef),
    To(EdgeRef, Row),
    /// There is nothing to do.
    Not,
}

impl World {
    /// Flushes what one recorder has left, if that is few and plain; else `None`, and all is left to the rounds, but for
    /// entities that have joined, which the report counts.
    ///
    /// # Safety
    /// It is the world's queue, which nobody else has, and of what others have done with it all is seen.
    #[inline(never)]
    pub(in crate::command::flush) unsafe fn flush_alone(
        &mut self,
        queue: *const Queue,
        report: &mut FlushReport,
    ) -> Option<()> {
        // SAFETY: the world keeps its queue for as long as it lives, and in what follows nobody has the world who could put
        // another in its place. (What is called is said above.)
        let queue = unsafe { &*queue };
        // SAFETY: the caller's: recorders have either been closed, and have given their lanes back, or borrow the world no
        // more, and are forgotten; then their lanes are in no slot.
        let mut lane = unsafe { queue.lanes.only_waiting(Lane::is_settled) }?;
        if !lane.is_plain() {
            return None;
        }
        let segment = &lane.segments[0];
        let (parts, commands) = (segment.parts.len(), segment.commands.len());
        for _ in 0..parts {
            report.created += self.pour_part(&mut lane)?;
        }
        let mut panicked = None;
        match commands {
            0 => {}
            1 => self.apply_single(&mut lane, report, &mut panicked)?,
            _ => self.apply_some(queue, &mut lane, report, &mut panicked)?,
        }
        (report.rounds, report.commands) = (1, commands);
        panicked = first(panicked, lane.reset_plain());
        lane.leave();
        queue.recorders.settle_alone();
        if panicked.is_some() {
            let of_whom = "a flush whose report is lost: users' code panicked in it";
            report.tell_of_refused(self, of_whom);
            resume(panicked);
        }
        Some(())
    }

    /// Applies the commands of a lane, if they are few; else `None`, and nothing is done.
    #[inline(never)]
    fn apply_some(
        &mut self,
        queue: &Queue,
        lane: &mut Lane,
        report: &mut FlushReport,
        panicked: &mut Panicked,
    ) -> Option<()> {
        let commands = lane.segments[0].commands.clone();
        // Who hears of them has the world.
        if commands.len() > ALIKE || self.is_watched(DESTROYED | REMOVED | ADDED | SET) {
            return None;
        }
        if self.apply_alike(lane, report).is_some() {
            return Some(());
        }
        let total = commands.len();
        let pieces = [Piece {
            lane: 0,
            segment: 0,
            commands,
        }];
        if !are_few(self, &[&*lane], &pieces, total) {
            return None;
        }
        for payload in &mut lane.payloads {
            payload.seal();
        }
        let mut flush = Flush {
            queue,
            lanes: Taken::new(),
            carried: Carried::default(),
            report,
            panicked: None,
            most: MOST,
            began: queue.recorders.next_number(),
        };
        let is_done = flush.apply_few(self, &[&*lane], &pieces);
        *panicked = flush.panicked;
        is_done.then_some(())
    }

    /// Lets the next part of a lane join, if it is plain; how many rows. Who goes on from there finds those behind it.
    #[inline(always)]
    fn pour_part(&mut self, lane: &mut Lane) -> Option<usize> {
        let part = lane.segments[0].parts.start;
        let poured = self.find_poured(lane, &lane.parts[part as usize])?;
        self.pour_alone(lane, &poured);
        lane.segments[0].parts.start += 1;
        Some(poured.count as usize)
    }

    /// Where the rows of a part go, if all lie together in a nursery, and there is room for all in one chunk that nobody
    /// watches.
    fn find_poured(&self, lane: &Lane, part: &Part) -> Option<Poured> {
        let stream = &lane.streams[part.stream as usize];
        let span = &lane.spans[part.first_span as usize];
        let &Span {
            private,
            first,
            count,
            next,
        } = span;
        let archetype = match stream.joined {
            Some((world, archetype)) if world == self.identity() => archetype,
            _ => return None,
        };
        let is_plain = next == NONE
            && count > 0
            && stream.combo == NONE
            && !lane.privates[private as usize].is_own()
            && FirstRows::are_anywhere(part, stream);
        if !is_plain || self.watches(archetype, CREATED | SET) {
            return None;
        }
        let data = &self.archetypes[archetype as usize];
        let chunk = data.open_with(count)?;
        let row = data.chunks[chunk as usize].len;
        Some(Poured {
            archetype,
            to: Row { chunk, row },
            private,
            first,
            count,
        })
    }

    /// Copies rows of a nursery to where there is room: as [`pour`](Self::pour), where that is known.
    fn pour_alone(&mut self, lane: &mut Lane, poured: &Poured) {
        let half = Half;
        let version = self.stamp();
        let &Poured { to, count, .. } = poured;
        let from = &mut lane.privates[poured.private as usize].chunk;
        let draft = &lane.streams[from.group as usize].draft;
        let data = &mut self.archetypes[poured.archetype as usize];
        let chunk = &data.chunks[to.chunk as usize];
        let (first, at, rows) = (poured.first as usize, to.row as usize, count as usize);
        for (column, there) in draft.columns.iter().zip(&data.columns) {
            let size = column.size as usize;
            // SAFETY: rows of a private chunk, and as many empty ones behind the last of another; each column of a draft is
            // one of the archetype of the same fragments.
            unsafe {
                let source = from.array(column.offset).add(first * size);
                let target = chunk.array(there.offset).add(at * size);
                source.copy_to_nonoverlapping(target, rows * size);
            }
        }
        // SAFETY: as above; both have handles.
        let entities = unsafe {
            let (source, target) = (from.handles().add(first), chunk.handles().add(at));
            source.copy_to_nonoverlapping(target, rows);
            core::slice::from_raw_parts(target, rows)
        };
        self.universe.place_rows(entities, chunk.run, to.row);
        data.grown(to.chunk, count, version);
        from.len = 0;
        self.births += 1;
        half.done();
    }

    /// Applies the only command of a lane; `None` if it is not for this way, and nothing is done.
    fn apply_single(
        &mut self,
        lane: &mut Lane,
        report: &mut FlushReport,
        panicked: &mut Panicked,
    ) -> Option<()> {
        let (entity, op) = lane.log.only()?;
        let (archetype, row, _) = self.finder().find_place(entity)?;
        let op = &lane.ops[op as usize];
        let single = self.find_single(archetype, row, op)?;
        let half = Half;
        match (single, op) {
            (Single::Dies, _) => {
                self.end_single(archetype, row, entity, panicked);
                report.destroyed = 1;
            }
            (Single::Stays(edge), &Op::Change { payload, .. }) => {
                self.set_single(archetype, row, &edge, panicked);
                let data = &self.archetypes[archetype as usize];
                // SAFETY: the command's values; the old ones have just ended.
                unsafe { write_values(lane, payload, &edge, data, row) };
                report.updated = 1;
            }
            (Single::To(edge, to), &Op::Change { payload, .. }) => {
                let source = &self.archetypes[archetype as usize];
                *panicked = first(panicked.take(), end(source, row, &edge));
                let target = &self.archetypes[edge.target as usize];
                carry(source, row, target, to, &edge);
                // SAFETY: as above; nothing was carried there.
                unsafe { write_values(lane, payload, &edge, target, to) };
                let version = self.stamp();
                self.settle_move(archetype, row, &edge, to, entity, version);
                report.moved = 1;
            }
            _ => {}
        }
        half.done();
        Some(())
    }

    /// What a command does to the entity of a row; `None` if that is not for this way.
    fn find_single(&mut self, archetype: u32, row: Row, op: &Op) -> Option<Single> {
        let (gone, come) = match op {
            Op::Destroy if self.watches(archetype, DESTROYED) => return None,
            Op::Destroy => return Some(Single::Dies),
            Op::Change {
                gone,
                come,
                combo,
                needs,
                ..
            } if *combo == NONE && needs.is_empty() => (gone, come),
            Op::Change { .. } | Op::Switch { .. } | Op::Call { .. } => return None,
        };
        let change = self.bundles.change_of(gone, come);
        let edge = self.known_edge(archetype, change)?;
        if !edge.fills.is_empty() {
            return None;
        }
        if edge.target == archetype {
            return match edge.ended.is_empty() {
                true => Some(Single::Not),
                // Who hears of it has the world.
                false if self.watches(archetype, SET) => None,
                false => Some(Single::Stays(edge)),
            };
        }
        if self.watches(archetype, REMOVED) || self.watches(edge.target, ADDED | SET) {
            return None;
        }
        let target = &self.archetypes[edge.target as usize];
        if !target.shared.is_empty() {
            return None;
        }
        let there = &self.archetypes[archetype as usize].chunks[row.chunk as usize];
        if there.len == 1 && target.wants_chunk(0, there) {
            // It might go with its chunk.
            return None;
        }
        let chunk = target.open_with(1)?;
        let row = target.chunks[chunk as usize].len;
        Some(Single::To(edge, Row { chunk, row }))
    }

    /// Ends an entity, and closes its row.
    fn end_single(&mut self, archetype: u32, row: Row, entity: Entity, panicked: &mut Panicked) {
        let version = self.stamp();
        let data = &mut self.archetypes[archetype as usize];
        // SAFETY: the values end with their entity.
        *panicked = first(panicked.take(), unsafe { data.drop_row(row) });
        self.universe.kill(entity);
        data.close_row(&self.universe, self.number, row, version);
        self.settle_groups(archetype);
    }

    /// Ends the values of a row that are to be replaced, and notes that they are.
    fn set_single(&self, archetype: u32, row: Row, edge: &EdgeRef, panicked: &mut Panicked) {
        let data = &self.archetypes[archetype as usize];
        *panicked = first(panicked.take(), end(data, row, edge));
        let chunk = &data.chunks[row.chunk as usize];
        for at in data.positions_of(&edge.ended) {
            chunk.touch(at, self.stamp());
        }
    }
}

/// Moves the values of a lane's only command to a row.
///
/// # Safety
/// The row holds no values of these fragments, of which those come that the archetype has.
#[inline(always)]
unsafe fn write_values(lane: &mut Lane, payload: u32, edge: &EdgeRef, data: &Archetype, row: Row) {
    let Some(payload) = lane.payloads.get_mut(payload as usize) else {
        return;
    };
    payload.seal();
    let chunk = &data.chunks[row.chunk as usize];
    if let ([values], [offset]) = (&*payload.columns, &*edge.offsets) {
        let array = chunk.array(*offset);
        let value = array.wrapping_add(row.row as usize * values.layout.size());
        // SAFETY: as below.
        return unsafe { values.source().move_out(0, value) };
    }
    for values in &payload.columns {
        if let Some(at) = data.column_of(values.id) {
            let column = &data.columns[at];
            let array = chunk.array(column.offset);
            let value = array.wrapping_add(row.row as usize * column.size as usize);
            // SAFETY: the only command has the payload's first row, and it is done once; the caller's.
            unsafe { values.source().move_out(0, value) };
        }
    }
}
