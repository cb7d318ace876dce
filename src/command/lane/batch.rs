//! Many entities of one bundle type come into private chunks: all of them, or none.

use smallvec::SmallVec;

use super::create::{Noted, entity_at};
use super::{Lane, NONE};
use crate::archetype::place;
use crate::command::stripes::Ids;
use crate::entity::{Entity, EntityIndex, Full};
use crate::fragment::{Bundle, refused_bundle};
use crate::panics::{Panicked, first, forget, note, refused, resume, resume_alone};
use crate::world::{WorldError, columns};

/// Where entities lie: private chunk, first row, count.
pub(in crate::command) type Made = (u32, u32, u32);

/// The places of one batch: mostly few.
pub(in crate::command) type AllMade = SmallVec<[Made; 2]>;

impl Lane {
    /// Creates an entity for each bundle: where they lie, in order. When ids or memory run out, or the iterator
    /// panics, none is created.
    pub(in crate::command) fn create_batch<B: Bundle>(
        &mut self,
        mut bundles: impl Iterator<Item = B>,
        ids: &mut Ids<'_>,
    ) -> Result<AllMade, WorldError> {
        // Not by trying: all others would find no id meanwhile.
        if bundles.size_hint().0 > EntityIndex::CAPACITY {
            let capacity = EntityIndex::CAPACITY;
            return Err(refused(bundles, Full { capacity }.into()));
        }
        let mut batch = Unfinished::new(self);
        let created = if B::HAS_VALUES {
            batch.create_each(&mut bundles, ids)
        } else {
            batch.create_all(&mut bundles, ids)
        };
        if let Err(error) = created {
            return Err(refused((batch, bundles), error));
        }
        // The iterator may panic once more.
        drop(bundles);
        Ok(batch.finish())
    }

    /// Ends entities that the open recorder has created, the last ones of a private chunk; what their drops
    /// panicked with.
    fn end_last(&mut self, (private, row, count): Made) -> Panicked {
        let data = &mut self.privates[private as usize];
        debug_assert_eq!(data.chunk.len, row + count);
        let stream = &self.streams[data.stream() as usize];
        let mut panicked = None;
        for column in &stream.draft.columns {
            let Some(drop) = column.drop else { continue };
            let array = data.chunk.array(column.offset);
            for row in row..row + count {
                let value = array.wrapping_add(row as usize * column.size as usize);
                // SAFETY: a value of a row that no world knows, whose entity ends here.
                note(&mut panicked, || unsafe { drop(value, 1) });
            }
        }
        self.universe
            .kill_slice(&data.chunk.entities()[row as usize..]);
        data.chunk.len = row;
        // The open span is counted when it ends.
        let part = &mut self.parts[stream.part as usize];
        let mut at = part.first_span;
        while at != part.last_span {
            let span = &mut self.spans[at as usize];
            if span.private == private && (span.first..span.first + span.count).contains(&row) {
                span.count -= count;
                part.rows -= count;
                break;
            }
            at = span.next;
        }
        // It may be in the same chunk as the one before: what comes next comes where that one ends now.
        let open = &mut self.spans[part.last_span as usize];
        if open.private == private {
            open.first = open.first.min(row);
        }
        panicked
    }
}

/// A batch in the making; if it is dropped, its entities go again.
pub(super) struct Unfinished<'a> {
    pub(super) lane: &'a mut Lane,
    pub(super) made: AllMade,
}

impl<'a> Unfinished<'a> {
    pub(super) fn new(lane: &'a mut Lane) -> Self {
        let made = AllMade::new();
        Self { lane, made }
    }

    /// One by one: each may have shared values of its own, or comes with more than it has.
    fn create_each<B: Bundle>(
        &mut self,
        bundles: &mut impl Iterator<Item = B>,
        ids: &mut Ids<'_>,
    ) -> Result<(), WorldError> {
        for bundle in bundles {
            let Noted { at, panicked, .. } = self.lane.create_noting(bundle, None, ids)?;
            let (private, row) = at;
            self.made.push((private, row, 1));
            resume(panicked);
        }
        Ok(())
    }

    fn create_all<B: Bundle>(
        &mut self,
        bundles: &mut impl Iterator<Item = B>,
        ids: &mut Ids<'_>,
    ) -> Result<(), WorldError> {
        let way = self.lane.way::<B>(NONE)?;
        if !self.lane.ways[way as usize].fills.is_empty() {
            return self.create_each(bundles, ids);
        }
        let stream = self.lane.ways[way as usize].stream;
        let mut more = true;
        while more {
            let Some(bundle) = bundles.next() else { break };
            let (private, row) = match self.lane.room(stream) {
                Ok(room) => room,
                Err(error) => return Err(refused_bundle(bundle, error)),
            };
            let room = self.lane.streams[stream as usize].limit - row;
            let columns = {
                let chunk = &self.lane.privates[private as usize].chunk;
                columns::<B>(chunk, &self.lane.ways[way as usize].offsets)
            };
            let mut rows = BatchRows {
                lane: self.lane,
                ids,
                private,
                first: row,
                count: 0,
            };
            // SAFETY: the columns have rows up to the limit, empty from `row` on.
            unsafe { bundle.write(columns.as_ptr(), row as usize) };
            rows.count = 1;
            while rows.count < room {
                let Some(bundle) = bundles.next() else {
                    // It has said that this was all: it is not asked again.
                    more = false;
                    break;
                };
                // SAFETY: as above.
                unsafe { bundle.write(columns.as_ptr(), (row + rows.count) as usize) };
                rows.count += 1;
            }
            self.made.push(rows.commit()?);
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> AllMade {
        // Nothing is left to undo.
        core::mem::take(&mut self.made)
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let mut panicked = None;
        // From the end, so that each ends where its chunk does.
        for made in core::mem::take(&mut self.made).into_iter().rev() {
            panicked = first(panicked, self.lane.end_last(made));
        }
        resume_alone(panicked);
    }
}

/// Rows of a private chunk that hold values and have no entities yet; if it is dropped, the values go.
pub(super) struct BatchRows<'a, 'q> {
    pub(super) lane: &'a mut Lane,
    pub(super) ids: &'a mut Ids<'q>,
    pub(super) private: u32,
    pub(super) first: u32,
    pub(super) count: u32,
}

impl BatchRows<'_, '_> {
    /// Makes an entity of each row: where they are.
    pub(super) fn commit(self) -> Result<Made, WorldError> {
        let mut rows = core::mem::ManuallyDrop::new(self);
        let (private, first, count) = (rows.private, rows.first, rows.count);
        let BatchRows { lane, ids, .. } = &mut *rows;
        let chunk = &mut lane.privates[private as usize].chunk;
        // SAFETY: rows of the chunk.
        let handles = unsafe { chunk.handles().add(first as usize) };
        let made = if ids.stripe.is_none() && count > 1 {
            // SAFETY: so many rows, which are this lane's.
            unsafe { lane.universe.create_rows(handles, chunk.run, first, count) }
        } else {
            let mut done = 0;
            let all = (0..count).try_for_each(|row| {
                let place = place(chunk.run, first + row);
                let entity = ids.create(&lane.universe, Some(place))?;
                // SAFETY: as above.
                unsafe { handles.add(row as usize).write(entity) };
                done = row + 1;
                Ok(())
            });
            if all.is_err() {
                // SAFETY: so many handles were written.
                let made = unsafe { core::slice::from_raw_parts(handles, done as usize) };
                lane.universe.kill_slice(made);
            }
            all
        };
        match made {
            Ok(()) => {
                chunk.len = first + count;
                Ok((private, first, count))
            }
            Err(full) => {
                core::mem::ManuallyDrop::into_inner(rows);
                Err(full.into())
            }
        }
    }
}

impl BatchRows<'_, '_> {
    /// Gives its only row to a reserved entity: where that is.
    pub(super) fn commit_reserved(self, entity: Entity) -> Result<Made, WorldError> {
        let (private, first) = (self.private, self.first);
        let run = self.lane.privates[private as usize].chunk.run;
        // If it is refused, the values go.
        entity_at(
            &self.lane.universe,
            place(run, first),
            Some(entity),
            self.ids,
        )?;
        let mut rows = core::mem::ManuallyDrop::new(self);
        let chunk = &mut rows.lane.privates[private as usize].chunk;
        // SAFETY: a row of the chunk.
        unsafe { chunk.handles().add(first as usize).write(entity) };
        chunk.len = first + 1;
        Ok((private, first, 1))
    }
}

impl Drop for BatchRows<'_, '_> {
    fn drop(&mut self) {
        let private = &self.lane.privates[self.private as usize];
        let draft = &self.lane.streams[private.stream() as usize].draft;
        let mut panicked = None;
        for column in &draft.columns {
            let Some(drop) = column.drop else { continue };
            for row in self.first..self.first + self.count {
                let value = private
                    .chunk
                    .array(column.offset)
                    .wrapping_add(row as usize * column.size as usize);
                // SAFETY: a value without an entity, which nobody has seen.
                note(&mut panicked, || unsafe { drop(value, 1) });
            }
        }
        forget(panicked);
        if std::thread::panicking() {
            let place = place(private.chunk.run, self.first);
            let count = self.count as usize;
            self.ids.use_up(&self.lane.universe, place, count);
        }
    }
}
