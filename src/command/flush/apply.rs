//! Columns are copied, holes filled, places set: on all threads, each row by one.

use core::mem::MaybeUninit;
use core::ops::Range;

use smallvec::SmallVec;

use crate::archetype::{Archetype, Chunk, Column, Row, Stock, copy_value, read_bit, write_bit};
use crate::command::flush::locate::Item;
use crate::command::flush::ops::FlushOp;
use crate::command::flush::plan::{Plan, Task, Way};
use crate::command::flush::work::{Along, Group, Values, Work};
use crate::command::lane::NONE;
use crate::command::payload::PayloadColumn;
use crate::entity::Entity;
use crate::fragment::FragmentId;
use crate::memory::prefetch;
use crate::panics::{Panicked, note};
use crate::sync::geometry::WORD_BITS;
use crate::world::World;

/// So many values ahead memory is asked for.
const AHEAD: usize = 32;

/// What all tasks read.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) world: &'a World,
    pub(super) ops: &'a [FlushOp<'a>],
    pub(super) items: &'a [Item],
    pub(super) rows: &'a [u32],
    pub(super) last: &'a [u32],
    /// The values that were kept by the numbers of rows.
    pub(super) kept: &'a [MaybeUninit<u8>],
    pub(super) works: &'a [Work],
    pub(super) plan: &'a Plan,
}

/// The first of rows, in order, that are all neighbours: known from the ends of their list, however long it is.
#[inline(always)]
fn first_of_neighbours(rows: &[u32]) -> Option<u32> {
    debug_assert!(rows.is_sorted_by(|a, b| a < b), "rows in order, each once");
    let (&first, &last) = (rows.first()?, rows.last()?);
    ((last - first) as usize + 1 == rows.len()).then_some(first)
}

/// Calls `visit` for each run of neighbours in a list of rows, in order: where it begins in the list, the first row,
/// and how many.
#[inline(always)]
fn runs(rows: &[u32], mut visit: impl FnMut(usize, u32, u32)) {
    if let Some(first) = first_of_neighbours(rows) {
        return visit(0, first, rows.len() as u32);
    }
    let mut at = 0;
    while at < rows.len() {
        let first = rows[at];
        let mut count = 1;
        while at + count < rows.len() && rows[at + count] == first + count as u32 {
            count += 1;
        }
        visit(at, first, count as u32);
        at += count;
    }
}

/// Copies a run of values.
///
/// # Safety
/// `count` values of `size` bytes at both ends, which do not overlap.
#[inline(always)]
unsafe fn copy_run(from: *const u8, to: *mut u8, size: usize, count: usize) {
    // SAFETY: the caller's.
    unsafe {
        if count == 1 {
            copy_value(from, to, size as u32);
        } else {
            from.copy_to_nonoverlapping(to, size * count);
        }
    }
}

impl<'a> Scene<'a> {
    /// Does a task. Panics of users' drops are noted.
    ///
    /// # Safety
    /// Every row is in one task only, the target's rows are empty and the task's own, and all payloads are
    /// sealed.
    pub(super) unsafe fn run(self, task: &Task) -> Panicked {
        let work = &self.works[task.work as usize];
        let group = &work.groups[task.group as usize];
        let way = &self.plan.ways[task.way as usize];
        let part = task.first as usize..(task.first + task.count) as usize;
        let rows = &self.rows[group.range()][part.clone()];
        // The list is empty if nobody needs it.
        let last = match group.values {
            Values::Each { .. } | Values::Commands if !self.last.is_empty() => {
                &self.last[group.range()][part.clone()]
            }
            _ => &[],
        };
        let source = &self.world.archetypes[work.archetype as usize];
        let from = &source.chunks[work.chunk as usize];
        let mut panicked = None;
        // SAFETY: the caller's, here and below: the values end, or are replaced in the next step.
        unsafe { end(source, from, rows, &way.edge.ended, &mut panicked) };
        let target = &self.world.archetypes[way.target as usize];
        let Some(to) = task.to else {
            let dense = first_of_neighbours(rows);
            for column in &way.come {
                let (array, size) = (self.array_here(work, column), column.size as usize);
                let to = |row: u32| array.wrapping_add(row as usize * size);
                let dense = dense.map(to);
                let to = |at: usize| to(rows[at]);
                // SAFETY: the old values have just ended, or are in another array.
                unsafe { self.fill(group, column.id, part.clone(), last, dense, to) };
            }
            if let Some(stock) = task.stock {
                // SAFETY: as above; the values are this task's.
                unsafe { self.fill_here(work, &self.plan.stocks[stock as usize], way, rows) };
            }
            return panicked;
        };
        let chunk = &target.chunks[to.chunk as usize];
        for carry in &way.edge.carried {
            let size = carry.size as usize;
            let (source, target) = (from.array(carry.from), chunk.array(carry.to));
            let target = target.wrapping_add(to.row as usize * size);
            runs(rows, |at, first, count| {
                let from = source.wrapping_add(first as usize * size);
                // SAFETY: rows of both columns; the values move.
                unsafe { copy_run(from, target.wrapping_add(at * size), size, count as usize) };
            });
        }
        for column in &way.come {
            let size = column.size as usize;
            let array = chunk.array(column.offset);
            let array = array.wrapping_add(to.row as usize * size);
            let (dense, to) = (Some(array), |at| array.wrapping_add(at * size));
            // SAFETY: empty rows.
            unsafe { self.fill(group, column.id, part.clone(), last, dense, to) };
        }
        if let Some(stock) = task.stock {
            let stock = &self.plan.stocks[stock as usize];
            for number in 0..task.count {
                // SAFETY: empty rows, and values that are this task's.
                unsafe { stock.move_one(number, to.row + number, |at| chunk.array(at)) };
            }
        }
        let (source, target) = (
            from.handles(),
            chunk.handles().wrapping_add(to.row as usize),
        );
        runs(rows, |at, first, count| {
            // SAFETY: rows of both chunks.
            unsafe {
                let from = source.add(first as usize);
                from.copy_to_nonoverlapping(target.add(at), count as usize);
            }
        });
        // SAFETY: just written.
        let entities = unsafe { core::slice::from_raw_parts(target, rows.len()) };
        self.world.universe.place_rows(entities, chunk.run, to.row);
        panicked
    }

    /// Moves values that come by default, instead of others that went, to where their rows are.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the rows hold no values there.
    #[cold]
    unsafe fn fill_here(self, work: &Work, stock: &Stock, way: &Way, rows: &[u32]) {
        let data = &self.world.archetypes[work.archetype as usize];
        let chunk = &data.chunks[work.chunk as usize];
        for at in way.edge.fills.ids().filter_map(|id| data.column_of(id)) {
            chunk.touch(at, self.world.stamp());
        }
        for (&row, number) in rows.iter().zip(0..) {
            // SAFETY: the caller's.
            unsafe { stock.move_one(number, row, |at| chunk.array(at)) };
        }
    }

    /// Where values come that stay in a work's chunk.
    fn array_here(self, work: &Work, column: &Column) -> *mut u8 {
        let data = &self.world.archetypes[work.archetype as usize];
        let chunk = &data.chunks[work.chunk as usize];
        if let Some(handed) = &work.handed {
            let refitting = handed.refitting.as_ref();
            let coming = refitting.and_then(|refitting| refitting.coming(column.offset));
            // What has no size lies anywhere.
            return coming.map_or(chunk.base.as_ptr(), |(_, array)| array);
        }
        if let Some(at) = data.column_of(column.id) {
            chunk.touch(at, self.world.stamp());
        }
        chunk.array(column.offset)
    }

    /// Moves the recorded values of a fragment to rows: a part of a group's, of which the list says where their values
    /// are, if the group does not.
    ///
    /// # Safety
    /// As for [`run`](Self::run); `to` says where each of the part goes, which holds nothing, and `dense` where the first does if
    /// they all go side by side.
    #[inline(always)]
    unsafe fn fill(
        self,
        group: &Group,
        id: FragmentId,
        part: Range<usize>,
        last: &[u32],
        dense: Option<*mut u8>,
        to: impl Fn(usize) -> *mut u8,
    ) {
        match group.values {
            Values::Along(Along { op, at, step }) => {
                let Some(column) = self.column(op, id) else {
                    return;
                };
                // SAFETY: the caller's, here and below.
                let source = unsafe { column.source() };
                if let (Some(to), 1) = (dense, step) {
                    // SAFETY: as above.
                    return unsafe { source.move_run_out(at + part.start as u32, part.len(), to) };
                }
                for (nth, to) in part.clone().zip((0..part.len()).map(to)) {
                    // SAFETY: as above.
                    unsafe { source.move_out(at + nth as u32 * step, to) };
                }
            }
            Values::Each { op } => {
                let Some(column) = self.column(op, id) else {
                    return;
                };
                // SAFETY: as above.
                let source = unsafe { column.source() };
                for (at, &row) in last.iter().enumerate() {
                    if let Some(&later) = last.get(at + AHEAD) {
                        // Commands in no order have their values anywhere.
                        prefetch(source.row(later));
                    }
                    // SAFETY: as above.
                    unsafe { source.move_out(row, to(at)) };
                }
            }
            Values::Kept { op, first } => {
                let Some(column) = self.column(op, id) else {
                    return;
                };
                let size = column.layout.size();
                let rows = &self.rows[group.range()][part];
                if let (Some(to), Some(row)) = (dense, first_of_neighbours(rows)) {
                    let values = &self.kept[(first + row) as usize * size..][..rows.len() * size];
                    // SAFETY: as below, for all of them.
                    return unsafe {
                        values
                            .as_ptr()
                            .cast::<u8>()
                            .copy_to_nonoverlapping(to, values.len());
                    };
                }
                for (at, &row) in rows.iter().enumerate() {
                    let value = &self.kept[(first + row) as usize * size..][..size];
                    // SAFETY: the caller's; a row of the list was named, and so the first share has its value, which is
                    // read once.
                    unsafe { copy_value(value.as_ptr().cast(), to(at), size as u32) };
                }
            }
            Values::Commands => {
                // Ops change less often than rows.
                let (mut op, mut source) = (NONE, None);
                for (at, &item) in last.iter().enumerate() {
                    let mut item = item;
                    while item != NONE {
                        let command = &self.items[item as usize];
                        if command.op != op {
                            op = command.op;
                            // SAFETY: as above.
                            source = self.column(op, id).map(|column| unsafe { column.source() });
                        }
                        if let Some(source) = source {
                            // SAFETY: as above.
                            unsafe { source.move_out(command.at, to(at)) };
                            break;
                        }
                        item = command.before;
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn column(self, op: u32, id: FragmentId) -> Option<&'a PayloadColumn> {
        self.ops[op as usize].column(id)
    }

    /// Carries the enabled bits of all rows. Apart from [`run`](Self::run), because rows of two tasks may have
    /// their bits in one word: one thread does them all.
    pub(super) fn carry_all_bits(self) {
        let tasks = self.plan.tasks.iter();
        let with_bits = |task: &&Task| {
            let way = &self.plan.ways[task.way as usize];
            !(way.edge.bits.is_empty() && way.switched.is_empty())
        };
        tasks
            .filter(with_bits)
            .for_each(|task| self.carry_bits(task));
    }

    fn carry_bits(self, task: &Task) {
        let work = &self.works[task.work as usize];
        let way = &self.plan.ways[task.way as usize];
        let rows = &self.rows[work.groups[task.group as usize].range()];
        let rows = &rows[task.first as usize..(task.first + task.count) as usize];
        let source = &self.world.archetypes[work.archetype as usize];
        let Some(to) = task.to else {
            let (chunk, version) = (work.chunk, self.world.stamp());
            for &(bits, on) in &way.switched {
                for &row in rows {
                    source.switch(Row { chunk, row }, bits, on, version);
                }
            }
            return;
        };
        let from = &source.chunks[work.chunk as usize];
        let chunk = &self.world.archetypes[way.target as usize].chunks[to.chunk as usize];
        for &(source, target) in &way.edge.bits {
            for (&row, there) in rows.iter().zip(to.row..) {
                // SAFETY: rows of both chunks, which nobody else has.
                unsafe {
                    let enabled = read_bit(from.array(source), row);
                    write_bit(chunk.array(target), there, enabled);
                }
            }
        }
        // Rows that come are on.
        for (bits, _) in way.switched.iter().filter(|(_, on)| !on) {
            for there in to.row..to.row + task.count {
                // SAFETY: as above.
                unsafe { write_bit(chunk.array(bits.offset), there, false) };
            }
        }
    }

    /// Ends the entities of a chunk that die, and fills all holes with its last rows. The chunk's length is
    /// left to whoever settles it.
    ///
    /// # Safety
    /// No other task has the chunk, and all rows that come into it are there.
    pub(super) unsafe fn close(self, work: &Work, holes: &mut Holes) -> Panicked {
        let data = &self.world.archetypes[work.archetype as usize];
        let chunk = &data.chunks[work.chunk as usize];
        let mut panicked = None;
        for group in work.groups.iter().filter(|group| group.net.destroyed) {
            let rows = &self.rows[group.range()];
            // SAFETY: the values end with their entities.
            unsafe { end(data, chunk, rows, &data.columns, &mut panicked) };
            self.world.universe.kill_slice(holes.dying(chunk, rows));
        }
        let mut leaving = work.groups.iter().filter(|group| group.leaving > 0);
        let rows = match (leaving.next(), leaving.next()) {
            (None, _) => return panicked,
            (Some(only), None) => &self.rows[only.range()][..only.leaving as usize],
            (Some(_), Some(_)) => {
                holes.leaving.clear();
                for group in &work.groups {
                    let rows = &self.rows[group.range()];
                    holes
                        .leaving
                        .extend_from_slice(&rows[..group.leaving as usize]);
                }
                holes.leaving.sort_unstable();
                &holes.leaving
            }
        };
        // SAFETY: the caller's.
        unsafe { fill_holes(self.world, data, chunk, rows, &mut holes.movers) };
        panicked
    }
}

/// Fills the holes that rows of a chunk, in order, have left, with its last rows.
///
/// # Safety
/// As for [`Scene::close`]; the rows hold nothing any more.
pub(super) unsafe fn fill_holes(
    world: &World,
    data: &Archetype,
    chunk: &Chunk,
    leaving: &[u32],
    movers: &mut SmallVec<[u32; 16]>,
) {
    let left = chunk.len - leaving.len() as u32;
    // Those that leave from beyond the new end leave no hole.
    let holes = &leaving[..leaving.partition_point(|&row| row < left)];
    if holes.is_empty() {
        return;
    }
    let beyond = &leaving[holes.len()..];
    // The rows beyond the new end that stay, in order: one for each hole.
    movers.clear();
    let mut next = beyond.iter().copied().peekable();
    for row in left..chunk.len {
        if next.peek() == Some(&row) {
            next.next();
        } else {
            movers.push(row);
        }
    }
    debug_assert_eq!(movers.len(), holes.len());
    for column in &data.columns {
        let (array, size) = (chunk.array(column.offset), column.size as usize);
        for (&hole, &row) in holes.iter().zip(&*movers) {
            // SAFETY: two rows of the column; the hole holds nothing.
            unsafe {
                let from = array.add(row as usize * size);
                copy_value(from, array.add(hole as usize * size), column.size);
            }
        }
    }
    for bits in &data.enabled {
        let array = chunk.array(bits.offset);
        for (&hole, &row) in holes.iter().zip(&*movers) {
            // SAFETY: rows of the chunk, which no other task has.
            unsafe { write_bit(array, hole, read_bit(array, row)) };
        }
    }
    let handles = chunk.handles();
    for (&hole, &row) in holes.iter().zip(&*movers) {
        // SAFETY: rows of the chunk.
        let entity = unsafe {
            let entity = *handles.add(row as usize);
            handles.add(hole as usize).write(entity);
            entity
        };
        world.universe.place(entity, chunk.run, hole);
    }
}

/// Entities of one claim word, on average, that stand side by side where they need not be sorted.
const SHARE: u32 = WORD_BITS / 4;

/// What a thread needs for closing chunks, kept from one to the next.
#[derive(Debug, Default)]
pub(super) struct Holes {
    leaving: Vec<u32>,
    /// Of few there is room here.
    pub(super) movers: SmallVec<[u32; 16]>,
    dying: SmallVec<[Entity; 16]>,
}

impl Holes {
    /// The entities of rows, neighbours in the index side by side as far as it costs little.
    pub(super) fn dying<'a>(&'a mut self, chunk: &'a Chunk, rows: &[u32]) -> &'a [Entity] {
        let (Some(&first), Some(&last)) = (rows.first(), rows.last()) else {
            return &[];
        };
        let all = &chunk.entities()[first as usize..=last as usize];
        // In whichever order the words come that they share: recycled ids are seldom in their own.
        let side_by_side = |entities: &[Entity]| {
            let word = |entity: Entity| entity.index() / WORD_BITS;
            let pairs = entities.windows(2);
            let apart = pairs.filter(|pair| word(pair[0]) != word(pair[1])).count();
            apart <= entities.len() / SHARE as usize
        };
        if all.len() == rows.len() && side_by_side(all) {
            return all;
        }
        self.dying.clear();
        let dying = rows.iter().map(|&row| all[(row - first) as usize]);
        self.dying.extend(dying);
        if !side_by_side(&self.dying) {
            self.dying.sort_unstable_by_key(|entity| entity.index());
        }
        &self.dying
    }
}

/// Drops values of rows, column by column.
///
/// # Safety
/// The rows hold values in these columns, which nobody uses any more.
pub(super) unsafe fn end(
    data: &Archetype,
    chunk: &Chunk,
    rows: &[u32],
    columns: &[Column],
    panicked: &mut Panicked,
) {
    if !data.needs_drop {
        return;
    }
    for column in columns {
        let Some(drop) = column.drop else { continue };
        let array = chunk.array(column.offset);
        for &row in rows {
            let value = array.wrapping_add(row as usize * column.size as usize);
            // SAFETY: the caller's.
            note(panicked, || unsafe { drop(value, 1) });
        }
    }
}
