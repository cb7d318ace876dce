//! Few commands that all do the same to entities of one archetype: a loop that says so.
//!
//! Entities are taken chunk by chunk, in the order of their rows, and holes are filled last, all of a chunk's at once, as on
//! the [short way](crate::command::flush::short_way). (Closed one by one, holes would get other rows where some of the chunk's
//! last ones leave, too.) Of several changes of one entity the last one is made: made twice a change is what it is once, and
//! each has all values. Those of the others are dropped with the lane's.

use smallvec::SmallVec;

use crate::archetype::Row;
use crate::command::flush::FlushReport;
use crate::command::flush::apply::{Holes, fill_holes};
use crate::command::flush::half::Half;
use crate::command::lane::{Lane, NONE, Op};
use crate::entity::Entity;
use crate::world::World;
use crate::world::change::carry;
use crate::world::compose::EdgeRef;

/// Where an entity lies.
#[derive(Clone, Copy)]
struct Spot {
    row: Row,
    /// The number of its command, and of the row of the values.
    nth: u32,
}

impl Spot {
    fn place(&self) -> u64 {
        u64::from(self.row.chunk) << 32 | u64::from(self.row.row)
    }
}

/// Those of some entities, in the order of rows.
type Spots = SmallVec<[Spot; 32]>;

/// Those of each chunk.
fn in_chunks(spots: &[Spot]) -> impl DoubleEndedIterator<Item = &[Spot]> {
    spots.chunk_by(|a, b| a.row.chunk == b.row.chunk)
}

/// The rows of some entities.
fn rows(spots: &[Spot]) -> SmallVec<[u32; 32]> {
    spots.iter().map(|spot| spot.row.row).collect()
}

impl World {
    /// Applies the commands of a lane, if they are alike; else `None`, and nothing is done. Nobody watches what goes or
    /// comes to another archetype.
    pub(super) fn apply_alike(&mut self, lane: &mut Lane, report: &mut FlushReport) -> Option<()> {
        let (entities, op) = lane.log.alike()?;
        let spots = &mut Spots::new();
        let archetype = self.find_spots(entities, spots)?;
        let (gone, come, payload) = match &lane.ops[op as usize] {
            Op::Destroy => {
                let is_some_twice = spots.len() < lane.log.len();
                if is_some_twice || self.archetypes[archetype as usize].needs_drop {
                    return None;
                }
                self.end_alike(archetype, spots);
                report.destroyed = spots.len();
                return Some(());
            }
            Op::Change {
                gone,
                come,
                payload,
                combo,
                needs,
            } if *combo == NONE && needs.is_empty() => (gone, come, *payload),
            Op::Change { .. } | Op::Switch { .. } | Op::Call { .. } => return None,
        };
        let change = self.bundles.change_of(gone, come);
        let edge = self.known_edge(archetype, change)?;
        if edge.ends_drop || !edge.fills.is_empty() {
            return None;
        }
        if edge.target == archetype {
            if !edge.ended.is_empty() {
                self.set_alike(lane, payload, &edge, spots);
                report.updated = spots.len();
            }
            return Some(());
        }
        let to = self.room_alike(archetype, &edge, spots)?;
        self.move_alike(lane, payload, archetype, &edge, to, spots);
        report.moved = spots.len();
        Some(())
    }

    /// Where the entities of commands lie, each once, in order, if all are of one archetype.
    fn find_spots(&self, entities: impl Iterator<Item = Entity>, spots: &mut Spots) -> Option<u32> {
        let finder = self.finder();
        let mut of = NONE;
        let mut in_order = true;
        let mut last = 0;
        for (entity, nth) in entities.zip(0..) {
            let (archetype, row, _) = finder.find_place(entity)?;
            if of != archetype && nth > 0 {
                return None;
            }
            of = archetype;
            let spot = Spot { row, nth };
            in_order &= nth == 0 || last < spot.place();
            last = spot.place();
            spots.push(spot);
        }
        if !in_order {
            spots.sort_unstable_by_key(Spot::place);
            // The last one's values count.
            spots.dedup_by(|other, kept| {
                let is_twice = other.place() == kept.place();
                if is_twice {
                    kept.nth = kept.nth.max(other.nth);
                }
                is_twice
            });
        }
        Some(of)
    }

    /// Where entities go that leave for another archetype, if there is room for all in one chunk, and none may go with its
    /// chunk.
    fn room_alike(&self, archetype: u32, edge: &EdgeRef, spots: &[Spot]) -> Option<Row> {
        let target = &self.archetypes[edge.target as usize];
        if !target.shared.is_empty() {
            return None;
        }
        let source = &self.archetypes[archetype as usize];
        let may_go = |run: &[Spot]| {
            let chunk = &source.chunks[run[0].row.chunk as usize];
            run.len() == chunk.len as usize && target.wants_chunk(0, chunk)
        };
        if in_chunks(spots).any(may_go) {
            return None;
        }
        let chunk = target.open_with(spots.len() as u32)?;
        let row = target.chunks[chunk as usize].len;
        Some(Row { chunk, row })
    }

    /// Gives entities new values where they are.
    fn set_alike(&self, lane: &mut Lane, payload: u32, edge: &EdgeRef, spots: &[Spot]) {
        let data = &self.archetypes[edge.target as usize];
        let half = Half;
        let version = self.stamp();
        for run in in_chunks(spots) {
            let chunk = &data.chunks[run[0].row.chunk as usize];
            for at in data.positions_of(&edge.ended) {
                chunk.touch(at, version);
            }
        }
        // SAFETY: none of the old values need be dropped.
        unsafe { self.write_alike(lane, payload, edge.target, spots, |at| spots[at].row) };
        half.done();
    }

    /// Brings entities to another archetype, to rows from one on.
    fn move_alike(
        &mut self,
        lane: &mut Lane,
        payload: u32,
        archetype: u32,
        edge: &EdgeRef,
        to: Row,
        spots: &[Spot],
    ) {
        let half = Half;
        let version = self.stamp();
        self.archetypes[edge.target as usize].grown(to.chunk, spots.len() as u32, version);
        let source = &self.archetypes[archetype as usize];
        let target = &self.archetypes[edge.target as usize];
        let into = &target.chunks[to.chunk as usize];
        let row_of = |at: usize| Row {
            chunk: to.chunk,
            row: to.row + at as u32,
        };
        for (at, spot) in spots.iter().enumerate() {
            let there = row_of(at);
            carry(source, spot.row, target, there, edge);
            if !edge.bits.is_empty() {
                Self::carry_bits(source, target, spot.row, edge, there);
            }
            let from = &source.chunks[spot.row.chunk as usize];
            // SAFETY: a row of each chunk.
            unsafe {
                let entity = *from.handles().add(spot.row.row as usize);
                into.handles().add(there.row as usize).write(entity);
                self.universe.place(entity, into.run, there.row);
            }
        }
        // SAFETY: nothing was carried there.
        unsafe { self.write_alike(lane, payload, edge.target, spots, row_of) };
        self.close_alike(archetype, spots, version);
        half.done();
    }

    /// Ends entities whose values need not be dropped.
    fn end_alike(&mut self, archetype: u32, spots: &[Spot]) {
        let half = Half;
        let version = self.stamp();
        let data = &self.archetypes[archetype as usize];
        let mut holes = Holes::default();
        for run in in_chunks(spots) {
            let chunk = &data.chunks[run[0].row.chunk as usize];
            self.universe.kill_slice(holes.dying(chunk, &rows(run)));
        }
        self.close_alike(archetype, spots, version);
        half.done();
    }

    /// Closes rows whose values are gone.
    fn close_alike(&mut self, archetype: u32, spots: &[Spot], version: u32) {
        let data = &self.archetypes[archetype as usize];
        let mut movers = SmallVec::new();
        for run in in_chunks(spots) {
            let chunk = &data.chunks[run[0].row.chunk as usize];
            // SAFETY: rows of the chunk, whose values are elsewhere or have ended; all that come are there.
            unsafe { fill_holes(self, data, chunk, &rows(run), &mut movers) };
        }
        let data = &mut self.archetypes[archetype as usize];
        // From the last chunk to the first, so that those that go leave the others where they are.
        for run in in_chunks(spots).rev() {
            let (chunk, leaving) = (run[0].row.chunk, run.len() as u32);
            data.shrunk(&self.universe, self.number, chunk, leaving, version);
        }
        self.settle_groups(archetype);
    }

    /// Moves the values of commands to the rows of an archetype that `row_of` says, of each command in the order of `spots`.
    ///
    /// # Safety
    /// The rows hold no values of these fragments, or such as need not be dropped; and they are the world's, which nobody
    /// else has in hand.
    #[inline(always)]
    unsafe fn write_alike(
        &self,
        lane: &mut Lane,
        payload: u32,
        archetype: u32,
        spots: &[Spot],
        row_of: impl Fn(usize) -> Row,
    ) {
        let Some(payload) = lane.payloads.get_mut(payload as usize) else {
            return;
        };
        payload.seal();
        let data = &self.archetypes[archetype as usize];
        for values in &payload.columns {
            let Some(at) = data.column_of(values.id) else {
                continue;
            };
            let column = &data.columns[at];
            // SAFETY: just sealed.
            let source = unsafe { values.source() };
            for (at, spot) in spots.iter().enumerate() {
                let row = row_of(at);
                let array = data.chunks[row.chunk as usize].array(column.offset);
                let value = array.wrapping_add(row.row as usize * column.size as usize);
                // SAFETY: the lane's commands are all of this payload: each has the row of its number, which is moved out
                // once. The caller's.
                unsafe { source.move_out(spot.nth, value) };
            }
        }
    }
}
