//! Neighbouring rows of a chunk, handled together: a copy for each column instead of one for each entity.
//!
//! Called by the world room for whatever concerns more than one entity: slices of neighbours, queries,
//! other worlds, compaction. Nothing here runs users' code but [`Archetype::end_rows`], which keeps
//! what it panics with.

use crate::archetype::Row;
use crate::archetype::archetype::Archetype;
use crate::archetype::bits::{read_bit, write_bit};
use crate::archetype::chunk::{Chunk, NOT_OPEN};
use crate::archetype::edge::Edge;
use crate::archetype::universe::Universe;
use crate::entity::Entity;
use crate::panics::{Panicked, note};

/// Neighbouring rows of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    /// The chunk's position in its archetype.
    pub(crate) chunk: u32,
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Rows {
    pub(crate) fn one(row: Row) -> Self {
        Self {
            chunk: row.chunk,
            first: row.row,
            count: 1,
        }
    }
}

/// Copies rows along an edge to empty rows of another chunk, values and handles; the entities.
///
/// # Safety
/// `count` rows from `first` in `from`, a chunk of the edge's source, and room for as many from row `at` in
/// `to`, another chunk, of its target. What is copied is the target's from then on.
pub(crate) unsafe fn copy_rows<'a>(
    edge: &Edge,
    from: &Chunk,
    first: u32,
    to: &'a Chunk,
    at: u32,
    count: u32,
) -> &'a [Entity] {
    let (first, at, count) = (first as usize, at as usize, count as usize);
    for carry in &edge.carried {
        let size = carry.size as usize;
        // SAFETY: the caller's; the column has these rows on both sides.
        unsafe {
            let source = from.array(carry.from).add(first * size);
            let target = to.array(carry.to).add(at * size);
            source.copy_to_nonoverlapping(target, count * size);
        }
    }
    // SAFETY: the caller's.
    unsafe {
        let source = from.handles().add(first);
        let target = to.handles().add(at);
        source.copy_to_nonoverlapping(target, count);
        core::slice::from_raw_parts(target, count)
    }
}

/// Copies the enabled bits that both ends of an edge have. Apart from [`copy_rows`], because rows that come
/// are enabled first.
///
/// # Safety
/// As for [`copy_rows`], with rows that are filled on both sides.
pub(crate) unsafe fn copy_bits(
    edge: &Edge,
    from: &Chunk,
    first: u32,
    to: &Chunk,
    at: u32,
    count: u32,
) {
    for &(source, target) in &edge.bits {
        let (source, target) = (from.array(source), to.array(target));
        for row in 0..count {
            // SAFETY: the caller's.
            unsafe { write_bit(target, at + row, read_bit(source, first + row)) };
        }
    }
}

impl Archetype {
    /// Whether a chunk of this archetype may become `other`'s, or another group's, as it is, in one world. Not if it
    /// has chunk fragments: these are of the archetype and the group, and entities take those of the chunks
    /// that they come to, however many come at once.
    pub(crate) fn hands_chunks_to(&self, other: &Self) -> bool {
        self.chunk_values.is_empty() && self.same_layout(other)
    }

    /// Whether chunks of this archetype are laid out as those of `other`.
    pub(crate) fn same_layout(&self, other: &Self) -> bool {
        self.run == other.run
            && self.least_capacity == other.least_capacity
            && self.staggered == other.staggered
            && self.columns.len() == other.columns.len()
            && self.enabled.len() == other.enabled.len()
            && self.chunk_values.len() == other.chunk_values.len()
            && (self.columns.iter().zip(&other.columns))
                .all(|(a, b)| (a.id, a.offset, a.size) == (b.id, b.offset, b.size))
            && (self.enabled.iter().zip(&other.enabled))
                .all(|(a, b)| (a.id, a.offset) == (b.id, b.offset))
            && (self.chunk_values.iter().zip(&other.chunk_values))
                .all(|(a, b)| (a.id, a.offset) == (b.id, b.offset))
    }

    /// Whether a chunk is better handed to a group of this archetype than poured into its open chunk. One
    /// that is less than half full is poured, so that an entity that comes again and again does not take
    /// a chunk each time.
    pub(crate) fn wants_chunk(&self, group: u32, chunk: &Chunk) -> bool {
        chunk.len >= self.unfolded_capacity(chunk) / 2
            || (self.groups[group as usize].open.is_empty()
                && self.ajar(group, chunk.len).is_none())
    }

    /// Whether a chunk that comes alone is handed to a group of this archetype: it is [better so](Self::wants_chunk), and
    /// there is not [so much room](Self::is_to_be_filled) that its entities fill that. What chunk fragments it has would
    /// be lost then: it is handed over if it has some.
    pub(crate) fn takes_chunk(&self, group: u32, chunk: &Chunk) -> bool {
        let fills =
            self.chunk_values.is_empty() && self.is_to_be_filled(group, chunk.len, chunk.len);
        self.wants_chunk(group, chunk) && !fills
    }

    /// Takes a chunk out of the archetype, with its entities; their places say so until it is
    /// [adopted](Self::adopt). The key of a group that has no chunks then is retired.
    pub(crate) fn detach(&mut self, universe: &Universe, world: u16, position: u32) -> Chunk {
        self.close_if_open(position);
        let chunk = self.chunks.swap_remove(position as usize);
        self.entities -= chunk.len as usize;
        self.left_group(chunk.group, self.unfolded_capacity(&chunk));
        if let Some(moved) = self.chunks.get(position as usize) {
            universe
                .directory()
                .enter(moved, world, self.number, position);
            if moved.is_open() {
                self.groups[moved.group as usize].open[moved.open_at as usize] = position;
            }
        }
        chunk
    }

    /// Notes that a group has a chunk less, for so many.
    fn left_group(&mut self, number: u32, capacity: u32) {
        let group = &mut self.groups[number as usize];
        group.chunks -= 1;
        group.capacity -= capacity as usize;
        self.forget_group(number);
    }

    /// Takes a chunk in that was [detached](Self::detach) and has this layout, with its entities: all that they have
    /// counts as new, whatever versions it comes with, and of which world.
    pub(crate) fn adopt(
        &mut self,
        universe: &Universe,
        world: u16,
        mut chunk: Chunk,
        group: u32,
        version: u32,
    ) {
        debug_assert_eq!(chunk.open_at, NOT_OPEN, "it has left its list");
        if chunk.is_folded() && self.groups[group as usize].chunks > 0 {
            chunk.unfold(&self.columns, self.least_capacity);
        }
        self.take_in(universe, world, chunk, group, version);
    }

    /// The same of a chunk that was no archetype's: in no group, nor open, whatever its record says.
    #[inline(always)]
    pub(crate) fn take_in(
        &mut self,
        universe: &Universe,
        world: u16,
        chunk: Chunk,
        group: u32,
        version: u32,
    ) {
        let position = self.chunks.len() as u32;
        let (loose, least) = (self.is_loose(), self.least_capacity);
        // Changed where it has come to lie: what is written to a part of a record and is then read with the whole is
        // waited for.
        let chunk = self.chunks.push(chunk);
        chunk.group = group;
        chunk.open_at = NOT_OPEN;
        chunk.begin_at(version);
        chunk.loosen(loose);
        self.entities += chunk.len as usize;
        // What it will hold unfolded.
        let capacity = if chunk.is_folded() {
            least
        } else {
            chunk.capacity
        };
        let has_room = !chunk.is_full();
        universe
            .directory()
            .enter(chunk, world, self.number, position);
        let data = &mut self.groups[group as usize];
        data.chunks += 1;
        data.capacity += capacity as usize;
        if has_room {
            self.open(position);
        }
    }

    /// Lets a group go for which no chunk came after all.
    pub(crate) fn forget_group(&mut self, number: u32) {
        let group = &mut self.groups[number as usize];
        // Neither the only group of an archetype without shared fragments is known by its key, nor one
        // that has gone already.
        if group.chunks == 0 && self.group_of.remove(&group.key).is_some() {
            self.retired_keys.push(core::mem::take(&mut group.key));
            self.idle_groups.push(number);
        }
    }

    /// Forgets the groups without chunks, and gives the room of all lists of groups back: the others get the numbers from
    /// 0 on, in order. Only chunks keep numbers of groups from call to call. O(chunks + groups).
    #[cold]
    pub(crate) fn forget_idle_groups(&mut self) {
        if !self.idle_groups.is_empty() {
            let mut stays = vec![true; self.groups.len()];
            for idle in core::mem::take(&mut self.idle_groups) {
                stays[idle as usize] = false;
            }
            let mut numbers = Vec::with_capacity(stays.len());
            let mut next = 0;
            self.groups.retain(|_| {
                let stays = stays[numbers.len()];
                numbers.push(next);
                next += u32::from(stays);
                stays
            });
            for chunk in &mut self.chunks {
                chunk.group = numbers[chunk.group as usize];
            }
            for group in self.group_of.values_mut() {
                *group = numbers[*group as usize];
            }
        }
        for group in &mut self.groups {
            group.open.shrink_to_fit();
        }
        self.groups.shrink_to_fit();
        self.group_of.shrink_to_fit();
        self.retired_keys.shrink_to_fit();
    }

    /// Moves a chunk to another group of this archetype; all that its entities have counts as new.
    pub(crate) fn regroup(&mut self, position: u32, group: u32, version: u32) {
        let before = self.chunks[position as usize].group;
        let was_open = self.chunks[position as usize].is_open();
        if was_open {
            self.close(position);
        }
        let others = self.groups[group as usize].chunks > 0;
        if self.chunks[position as usize].is_folded() && others {
            self.unfold(position);
        }
        let chunk = &mut self.chunks[position as usize];
        chunk.group = group;
        chunk.filled(version);
        let capacity = self.unfolded_capacity(&self.chunks[position as usize]);
        let data = &mut self.groups[group as usize];
        data.chunks += 1;
        data.capacity += capacity as usize;
        self.left_group(before, capacity);
        if was_open {
            self.open(position);
        }
    }

    /// Drops the values of rows that do not go along an edge, column by column.
    ///
    /// # Safety
    /// The rows hold values, and those that the edge ends are used no more.
    pub(crate) unsafe fn end_rows(&self, rows: Rows, edge: &Edge) -> Panicked {
        let mut panicked = None;
        if edge.ends_drop && rows.count > 0 {
            let chunk = &self.chunks[rows.chunk as usize];
            for column in &edge.ended {
                let Some(drop) = column.drop else { continue };
                let size = column.size as usize;
                let values = chunk.array(column.offset);
                for row in rows.first..rows.first + rows.count {
                    let value = values.wrapping_add(row as usize * size);
                    // SAFETY: the caller's.
                    note(&mut panicked, || unsafe { drop(value, 1) });
                }
            }
        }
        panicked
    }

    /// Fills the hole that neighbouring rows leave, whose values are gone, with the last rows of their
    /// chunk. Gives the chunk back if it is empty and not wanted.
    pub(crate) fn close_rows(&mut self, universe: &Universe, world: u16, rows: Rows, version: u32) {
        if rows.count > 0 {
            self.fill_gap(universe, rows, version);
            if self.chunks[rows.chunk as usize].len == 0 {
                self.emptied(universe, world, rows.chunk);
            }
        }
    }

    /// The same, but an empty chunk stays, so that all chunks keep their positions.
    pub(crate) fn fill_gap(&mut self, universe: &Universe, rows: Rows, version: u32) {
        let chunk = &mut self.chunks[rows.chunk as usize];
        let left = chunk.len - rows.count;
        // What lies behind the hole and beyond the new end; the hole ends before it begins.
        let moving = (chunk.len - rows.first - rows.count).min(rows.count);
        let from = chunk.len - moving;
        if moving > 0 {
            for column in &self.columns {
                let (array, size) = (chunk.array(column.offset), column.size as usize);
                // SAFETY: rows of the column; those in the hole hold nothing.
                unsafe {
                    array.add(from as usize * size).copy_to_nonoverlapping(
                        array.add(rows.first as usize * size),
                        moving as usize * size,
                    );
                }
            }
            for bits in &self.enabled {
                let array = chunk.array(bits.offset);
                for at in 0..moving {
                    // SAFETY: rows of the chunk.
                    unsafe { write_bit(array, rows.first + at, read_bit(array, from + at)) };
                }
            }
            // SAFETY: rows of the chunk.
            let moved = unsafe {
                let hole = chunk.handles().add(rows.first as usize);
                chunk
                    .handles()
                    .add(from as usize)
                    .copy_to_nonoverlapping(hole, moving as usize);
                core::slice::from_raw_parts(hole, moving as usize)
            };
            universe.place_rows(moved, chunk.run, rows.first);
        }
        chunk.len = left;
        chunk.order_version = version;
        self.entities -= rows.count as usize;
        self.reopen(rows.chunk);
    }
}

impl Universe {
    /// Says that entities of the calling world lie in neighbouring rows now.
    pub(crate) fn place_rows(&self, entities: &[Entity], run: crate::chunk::Run, first: u32) {
        for (&entity, row) in entities.iter().zip(first..) {
            self.place(entity, run, row);
        }
    }
}
