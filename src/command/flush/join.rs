//! `Joining`: the way of rows that a recorder has created into a world. Whole chunks are taken over as they are, the
//! rest tops up what has room.

use core::cell::OnceCell;
use std::sync::Arc;

use crate::archetype::{
    Archetype, Carry, Chunk, Draft, Edge, Fills, Row, SharedId, copy_rows, set_bits,
};
use crate::command::lane::{Lane, Private, Template};
use crate::fragment::{FragmentError, Value};
use crate::panics::{Panicked, first, note, resume};
use crate::world::watch::{CREATED, SET};
use crate::world::{World, WorldError};

/// A chunk that is less than half full joins as it is, if what is empty in it is no more than one in so many of the
/// rows that its part has in all: little is lost then, and half a long chunk takes long to copy. For the same reason
/// the first rows of so long a part, which the recorder put into the nursery, have a chunk to themselves: the nursery,
/// if it holds nothing else.
pub(super) const LITTLE: u32 = 16;

/// Rows of a private chunk.
pub(super) struct Rows<'a> {
    pub(super) chunk: &'a mut Chunk,
    pub(super) first: u32,
    pub(super) count: u32,
}

/// The way of a part into the world.
pub(super) struct Joining {
    pub(super) archetype: u32,
    pub(super) group: u32,
    /// What copies a row: made when the first is copied.
    edge: OnceCell<Edge>,
    /// The world lays its chunks out as the recorder did.
    pub(super) same_layout: bool,
}

impl Joining {
    /// What copies a row that is laid out as in a draft, the one that the way is for.
    fn edge(&self, draft: &Draft, data: &Archetype) -> &Edge {
        let carried = || {
            let pairs = draft.columns.iter().zip(&data.columns);
            pairs.map(|(from, to)| Carry {
                from: from.offset,
                to: to.offset,
                size: from.size,
            })
        };
        self.edge.get_or_init(|| Edge {
            target: self.archetype,
            carried: carried().collect(),
            carriers: Box::default(),
            ended: Box::default(),
            offsets: Box::default(),
            bits: Box::default(),
            ends_drop: false,
            fills: Fills::default(),
            regiven: Box::default(),
            is_plain: false,
        })
    }
}

impl World {
    /// New archetypes begin with clones of this.
    pub(super) fn take_template(&mut self, template: &Template) {
        let value = &template.value;
        self.templates.insert(value.id(), Arc::clone(value));
    }

    /// The way of a stream's entities.
    pub(super) fn joining(&mut self, lane: &Lane, stream: u32) -> Result<Joining, WorldError> {
        let stream = &lane.streams[stream as usize];
        let archetype = match stream.joined {
            Some((world, archetype)) if world == self.identity() => archetype,
            _ => self.archetype_of(&stream.ids)?,
        };
        let group = match lane.combos.get(stream.combo as usize) {
            None => 0,
            Some(combo) => {
                let mut key: Vec<SharedId> = Vec::with_capacity(combo.values.len());
                let mut result = Ok(());
                let mut panicked = None;
                note(&mut panicked, || {
                    let mut values = combo.values.iter();
                    result = values.try_for_each(|value| {
                        key.push(self.intern(value)?);
                        Ok::<(), WorldError>(())
                    });
                });
                if panicked.is_some() || result.is_err() {
                    key.iter().for_each(|&id| self.shared.release_unused(id));
                    resume(panicked);
                    result?;
                }
                self.group_of(archetype, &key)
            }
        };
        let data = &self.archetypes[archetype as usize];
        Ok(Joining {
            archetype,
            group,
            same_layout: data.is_laid_out_as(&stream.draft),
            edge: OnceCell::new(),
        })
    }

    /// The number of a recorded shared value.
    pub(super) fn intern(&mut self, value: &std::sync::Arc<Value>) -> Result<SharedId, WorldError> {
        let info = self.universe.registry().get(value.id());
        let info = info.ok_or(FragmentError::Unknown { id: value.id() })?;
        Ok(self.shared.intern_shared(info, value))
    }

    /// Takes a private chunk over, of a part with so many rows. One that is less than half full, and large among
    /// them, first tops up the chunk that has room; if all of it finds room there, it stays behind, empty. How
    /// many rows joined.
    pub(super) fn take_over(
        &mut self,
        private: &mut Option<Private>,
        of: u32,
        draft: &Draft,
        joining: &Joining,
        panicked: &mut Panicked,
    ) -> Result<u32, (u32, WorldError)> {
        let Some(there) = private else { return Ok(0) };
        let count = there.chunk.len;
        let data = &mut self.archetypes[joining.archetype as usize];
        // One that is half full, or meets none with room, becomes an open chunk itself.
        let empty = there.chunk.capacity - count;
        let poured = count < empty && empty > of / LITTLE;
        if poured && let Some(open) = data.open_or_ajar(joining.group) {
            data.expect_rows(open, count);
            let open = &data.chunks[open as usize];
            let moving = count.min(open.capacity - open.len);
            let rows = Rows {
                chunk: &mut there.chunk,
                first: count - moving,
                count: moving,
            };
            // It has the room.
            let poured = self.pour(rows, draft, joining, panicked)?;
            debug_assert_eq!(poured, moving);
            there.chunk.len -= moving;
        }
        if there.chunk.len == 0 {
            return Ok(count);
        }
        let data = &mut self.archetypes[joining.archetype as usize];
        if let Err(panic) = data.fill_values(&there.chunk) {
            *panicked = first(panicked.take(), Some(panic));
            return Ok(count - there.chunk.len);
        }
        for bits in &data.enabled {
            // SAFETY: rows of the chunk.
            unsafe { set_bits(there.chunk.array(bits.offset), 0, there.chunk.len) };
        }
        if let Some(Private { chunk }) = private.take() {
            let version = self.stamp();
            let all = chunk.len;
            let data = &mut self.archetypes[joining.archetype as usize];
            data.take_in(&self.universe, self.number, chunk, joining.group, version);
            let chunk = data.chunks.len() as u32 - 1;
            self.gather_created(joining.archetype, Row { chunk, row: 0 }, all);
        }
        Ok(count)
    }

    /// Whether a chunk joins an archetype by its record alone: nobody is told, and nothing is written to it.
    pub(super) fn adopts_quietly(&self, archetype: u32) -> bool {
        let data = &self.archetypes[archetype as usize];
        data.chunk_values.is_empty()
            && data.enabled.is_empty()
            && !self.watches(archetype, CREATED | SET)
    }

    /// Adds a chunk, as short as a nursery, for the rows that are poured next; if there is no memory, they go where there
    /// is room. `false` if a template's `clone` panicked: they are not to go anywhere then, as if the chunk were theirs.
    pub(super) fn begin_chunk(&mut self, joining: &Joining, panicked: &mut Panicked) -> bool {
        let version = self.stamp();
        let data = &mut self.archetypes[joining.archetype as usize];
        let before = panicked.take();
        let mut added = None;
        note(panicked, || {
            // Not folded: nor is a nursery that is taken over.
            let coming = usize::MAX;
            added = Some(data.add_chunk_of(&self.universe, self.number, joining.group, 0, coming));
        });
        let whole = panicked.is_none();
        *panicked = first(before, panicked.take());
        if let Some(Ok(position)) = added {
            data.chunks[position as usize].begin_at(version);
        }
        whole
    }

    /// Copies rows of a private chunk to where there is room. How many joined, and why not all.
    pub(super) fn pour(
        &mut self,
        rows: Rows<'_>,
        draft: &Draft,
        joining: &Joining,
        panicked: &mut Panicked,
    ) -> Result<u32, (u32, WorldError)> {
        let version = self.stamp();
        let mut done = 0;
        while done < rows.count {
            let mut room = None;
            // The `clone` of a chunk fragment's template may panic.
            note(panicked, || {
                // Not for so many: where a nursery ends and the next begins says which recorders shared a lane.
                room = Some(self.room(joining.archetype, joining.group));
            });
            let to = match room {
                Some(Ok(to)) => to,
                Some(Err(error)) => return Err((done, error)),
                None => return Ok(done),
            };
            let data = &mut self.archetypes[joining.archetype as usize];
            let chunk = &data.chunks[to.chunk as usize];
            let count = (rows.count - done).min(chunk.capacity - to.row);
            // SAFETY: rows of a private chunk, and as many empty ones behind the last of another.
            let entities = unsafe {
                copy_rows(
                    joining.edge(draft, data),
                    rows.chunk,
                    rows.first + done,
                    chunk,
                    to.row,
                    count,
                )
            };
            self.universe.place_rows(entities, chunk.run, to.row);
            data.grown(to.chunk, count, version);
            self.gather_created(joining.archetype, to, count);
            done += count;
        }
        Ok(done)
    }
}

impl Archetype {
    /// Whether its chunks are laid out as in a draft.
    fn is_laid_out_as(&self, draft: &Draft) -> bool {
        self.run == draft.run
            && self.least_capacity == draft.least_capacity
            && self.staggered == draft.staggered
            && self.enabled.len() == draft.enabled.len()
            && self.chunk_values.len() == draft.once.len()
            && (self.columns.iter().zip(&draft.columns)).all(|(a, b)| a.offset == b.offset)
            && (self.enabled.iter().zip(&draft.enabled)).all(|(a, b)| a.offset == b.offset)
            && (self.chunk_values.iter().zip(&draft.once)).all(|(a, b)| a.offset == b.1)
    }
}
