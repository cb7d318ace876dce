//! Which chunk is filled next: each group has a list of chunks that are, the last one first.
//!
//! A chunk comes into its group's list when it comes to the archetype with room, leaves it when it is full, and comes back
//! when there is [room enough](Chunk::opens_with), or when no other chunk can be had. Why: `papers/archetype-storage.md`.

use crate::archetype::archetype::Archetype;
use crate::archetype::chunk::{Chunk, NOT_OPEN};

/// With more chunks than these, another comes although some have room, but none for a 32nd of its rows.
const FEW_CHUNKS: usize = 8;

/// Chunks of a group that are looked at, of those that have room, to tell how much all have.
const LOOK: usize = 64;

impl Archetype {
    /// Puts a chunk into its group's list of those that are filled next.
    pub(crate) fn open(&mut self, position: u32) {
        let chunk = &mut self.chunks[position as usize];
        let open = &mut self.groups[chunk.group as usize].open;
        debug_assert!(chunk.open_at == NOT_OPEN);
        chunk.open_at = open.len() as u32;
        open.push(position);
    }

    /// Takes a chunk out of its group's list of those that are filled next.
    pub(crate) fn close(&mut self, position: u32) {
        let chunk = &mut self.chunks[position as usize];
        let at = core::mem::replace(&mut chunk.open_at, NOT_OPEN) as usize;
        let open = &mut self.groups[chunk.group as usize].open;
        open.swap_remove(at);
        if let Some(&moved) = open.get(at) {
            self.chunks[moved as usize].open_at = at as u32;
        }
    }

    /// Puts those of a group's chunks with room that came last, from a position on, in the order of their places; of those
    /// without one the ones that have much room come first, as they stand, and the others are filled no further. They
    /// are the end of its list. O(those log those), however many were there.
    pub(crate) fn order_open(
        &mut self,
        group: u32,
        first: u32,
        place: impl Fn(u32) -> Option<u32>,
    ) {
        let open = &self.groups[group as usize].open;
        let came = open.iter().rev().take_while(|&&position| position >= first);
        let before = open.len() - came.count();
        for at in (before..open.len()).rev() {
            let position = self.groups[group as usize].open[at];
            let chunk = &self.chunks[position as usize];
            let has_room = chunk.opens_with(chunk.len) || chunk.is_folded();
            if place(position).is_none() && !has_room {
                self.close(position);
            }
        }
        let open = &mut self.groups[group as usize].open;
        open[before..].sort_by_key(|&position| place(position));
        for (&position, at) in open[before..].iter().zip(before as u32..) {
            self.chunks[position as usize].open_at = at;
        }
    }

    /// Takes a chunk out of its group's list of those that are filled next, if it is there.
    pub(crate) fn close_if_open(&mut self, position: u32) {
        if self.chunks[position as usize].is_open() {
            self.close(position);
        }
    }

    /// Whether its full chunks are filled again when they have [some](Chunk::loosen) room, and not any. Where there may be
    /// many groups, of few chunks each, a chunk more would be much for each; and where chunks have values of their own
    /// one that comes for one entity, and goes with it, costs a `clone`.
    pub(super) fn is_loose(&self) -> bool {
        self.shared.is_empty() && self.chunk_values.is_empty()
    }

    /// Whether who brings a chunk with so many entities to a group, of so many that come together, is to fill others with
    /// them: the group has room for as many, and more than an eighth of all its rows would be free if all that comes
    /// came in chunks of its own. (An empty chunk that is kept for whoever comes next is not one to be filled.) O(1);
    /// where there may be several groups, whose entities nobody counts, it looks at 64 chunks at most, and takes the
    /// others to be like those.
    pub(crate) fn is_to_be_filled(&self, group: u32, count: u32, of: u32) -> bool {
        self.is_filled_besides(0, group, count, of)
    }

    /// The same where so many rows that are free are others' already.
    pub(crate) fn is_filled_besides(&self, taken: usize, group: u32, count: u32, of: u32) -> bool {
        let data = &self.groups[group as usize];
        let Some(&first) = data.open.first() else {
            return false;
        };
        let kept = match self.chunks[first as usize].len {
            0 => self.free_in(first),
            _ => 0,
        };
        let needed = (count as usize).max((data.capacity - kept + of as usize) / 8 + 1);
        if self.shared.is_empty() {
            return data.capacity - self.entities >= kept + taken + needed;
        }
        // All that have room are in the list.
        let there = data.open.len();
        let seen = there.min(LOOK);
        // All over the list: those that came last have lost least.
        let all_over = (0..seen).map(|number| data.open[number * there / seen]);
        let free: usize = all_over.map(|position| self.free_in(position)).sum();
        free >= kept + count as usize && free * there / seen >= kept + taken + needed
    }

    /// Rows that are free in a group; where there may be several, without those of chunks that are withheld. O(1), or
    /// O(chunks with room) where there may be several groups.
    pub(crate) fn free_rows(&self, group: u32) -> usize {
        let data = &self.groups[group as usize];
        if self.shared.is_empty() {
            return data.capacity - self.entities;
        }
        let open = data.open.iter();
        open.map(|&position| self.free_in(position)).sum()
    }

    /// Rows that are free in a chunk.
    fn free_in(&self, position: u32) -> usize {
        let chunk = &self.chunks[position as usize];
        (self.unfolded_capacity(chunk) - chunk.len) as usize
    }

    /// The chunk of a group that is filled next, if one has room.
    pub(crate) fn open_or_ajar(&mut self, group: u32) -> Option<u32> {
        if let Some(&open) = self.groups[group as usize].open.last() {
            return Some(open);
        }
        let ajar = self.ajar(group, 1)?;
        self.open(ajar);
        Some(ajar)
    }

    /// Opens all chunks that have any room, as no other can be had; from now on each is filled again with the first row
    /// that is free. The first of them. O(chunks), if there is room.
    #[cold]
    pub(crate) fn open_ajar(&mut self) -> Option<u32> {
        // Where there may be several groups, all that have room are open.
        if !self.is_loose() || self.groups[0].capacity == self.entities {
            return None;
        }
        let mut first = None;
        for position in (0..self.chunks.len() as u32).rev() {
            let chunk = &mut self.chunks[position as usize];
            chunk.loosen(false);
            if chunk.is_ajar() {
                self.open(position);
                first = Some(position);
            }
        }
        first
    }

    /// The chunk that is filled next in an archetype without shared values, if there is one, with room for so many. O(1).
    #[inline]
    pub(crate) fn open_with(&self, count: u32) -> Option<u32> {
        let open = *self.groups[0].open.last()?;
        let chunk = &self.chunks[open as usize];
        (chunk.capacity - chunk.len >= count).then_some(open)
    }

    /// After rows have left a chunk: it is filled again, if it was not to be, and there is room enough.
    pub(crate) fn reopen(&mut self, position: u32) {
        let chunk = &self.chunks[position as usize];
        if !chunk.is_open() && chunk.opens_with(chunk.len) {
            self.open(position);
        }
    }

    /// A chunk of a group that has room, for so many at least, but not yet enough to be filled again, in an archetype of
    /// few chunks: there a chunk more would be much. O(1).
    pub(crate) fn ajar(&self, group: u32, count: u32) -> Option<u32> {
        if self.chunks.len() > FEW_CHUNKS {
            return None;
        }
        let is_ajar = |chunk: &Chunk| {
            chunk.group == group && chunk.is_ajar() && chunk.capacity - chunk.len >= count
        };
        let found = self.chunks.iter().position(is_ajar)?;
        Some(found as u32)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
