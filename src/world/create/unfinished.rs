//! What a batch has come to so far, for which nobody has got handles: it goes again if the call does not get to its end.

use core::mem::ManuallyDrop;

use smallvec::{SmallVec, smallvec};

use crate::archetype::{Archetype, Filled, Fills, Row, Rows, Universe};
use crate::entity::Entity;
use crate::panics::{Panicked, first as earlier, resume, resume_alone};
use crate::world::create::batch::Span;
use crate::world::taken::Before;
use crate::world::{Batch, World, WorldError};

/// For so many chunks with room a batch makes its list at once: no more than 2 KiB.
const MANY: usize = 64;

/// Rows behind the end of a chunk that hold values and have no entities yet; if it is dropped, the values go.
pub(super) struct Written<'a> {
    pub(super) data: &'a Archetype,
    pub(super) row: Row,
    pub(super) count: u32,
    /// What comes to them by default, beside what was written.
    fills: Option<&'a Fills>,
    /// How much of that is there.
    filled: Filled,
}

impl<'a> Written<'a> {
    /// None yet, from this row on.
    #[inline]
    pub(super) fn new(data: &'a Archetype, row: Row, fills: Option<&'a Fills>) -> Self {
        Self {
            data,
            row,
            count: 0,
            fills,
            filled: Filled::default(),
        }
    }

    /// Makes what comes to the rows by default, once, when all are written: users' code, which may panic.
    #[inline(always)]
    pub(super) fn fill(&mut self) {
        if let Some(fills) = self.fills {
            self.fill_by(fills);
        }
    }

    #[inline(never)]
    fn fill_by(&mut self, fills: &Fills) {
        let chunk = &self.data.chunks[self.row.chunk as usize];
        let array = |offset| chunk.array(offset);
        // SAFETY: the rows are behind the end of a chunk of the archetype, and what is filled was not written.
        unsafe { fills.fill(array, self.row.row, self.count, &mut self.filled) };
    }

    /// Makes an entity of each row.
    #[inline]
    pub(super) fn commit(&self, universe: &Universe) -> Result<(), WorldError> {
        let chunk = &self.data.chunks[self.row.chunk as usize];
        // SAFETY: rows of the chunk.
        unsafe {
            let handles = chunk.handles().add(self.row.row as usize);
            Ok(universe.create_rows(handles, chunk.run, self.row.row, self.count)?)
        }
    }

    /// The values belong to entities now: how many rows that are.
    #[inline]
    pub(super) fn finish(self) -> u32 {
        ManuallyDrop::new(self).count
    }
}

impl Drop for Written<'_> {
    fn drop(&mut self) {
        let Self { row, count, .. } = *self;
        let there = |id| match self.fills {
            Some(fills) => fills.filled_rows(id, self.filled, count),
            None => count,
        };
        // SAFETY: values without entities, which nobody has seen: those that were written, and made.
        let panicked = unsafe { (self.data).drop_rows_in(row.chunk, row.row, count, there) };
        resume_alone(panicked);
    }
}

/// A batch in the making; if it is dropped, its entities go again.
pub(super) struct Unfinished<'w> {
    pub(super) world: &'w mut World,
    batch: Batch,
    /// The chunk whose rows come next.
    begun: Option<u32>,
}

impl<'w> Unfinished<'w> {
    /// None yet, in this archetype.
    #[inline]
    pub(super) fn new(world: &'w mut World, archetype: u32) -> Self {
        let batch = Batch {
            world: world.identity(),
            archetype,
            spans: SmallVec::new(),
        };
        Self {
            world,
            batch,
            begun: None,
        }
    }

    /// Notes that rows of a chunk come next: if none does, and it is empty, it goes with the others.
    #[inline]
    pub(super) fn begin(&mut self, chunk: u32) {
        self.begun = Some(chunk);
    }

    /// Notes that rows at the end of a chunk are entities now, and that so many others are to come at least.
    #[inline]
    pub(super) fn note(&mut self, row: Row, count: u32, to_come: usize) {
        self.grown(row, count);
        if self.batch.spans.len() == 1 {
            // Chunks with little room each, as a rule: the list grows once.
            let data = &self.world.archetypes[self.batch.archetype as usize];
            let open = data.groups.first().map_or(0, |group| group.open.len());
            self.batch.spans.reserve(1 + to_come.min(open).min(MANY));
        }
        self.batch.spans.push(Span::of(row, count));
    }

    /// Rows at the end of a chunk are entities now.
    #[inline]
    fn grown(&mut self, row: Row, count: u32) {
        let version = self.world.stamp();
        let archetype = &mut self.world.archetypes[self.batch.archetype as usize];
        archetype.grown(row.chunk, count, version);
        self.world.gather_created(self.batch.archetype, row, count);
    }

    /// [`note`](Self::note) and [`finish`](Self::finish).
    #[inline]
    pub(super) fn finish_with(mut self, row: Row, count: u32) -> Batch {
        if !self.batch.spans.is_empty() {
            self.note(row, count, 0);
            return self.finish();
        }
        // As a rule: straight into the batch that the caller gets. What has just been written in small pieces is not
        // copied in large ones, for which the processor would wait.
        let mut finished = ManuallyDrop::new(self);
        finished.grown(row, count);
        Batch {
            world: finished.batch.world,
            archetype: finished.batch.archetype,
            spans: SmallVec::from_buf([Span::of(row, count)]),
        }
    }

    #[inline]
    pub(super) fn finish(self) -> Batch {
        // Nothing is to be undone.
        let mut finished = ManuallyDrop::new(self);
        core::mem::take(&mut finished.batch)
    }

    /// Lets the entities go.
    #[cold]
    fn undo(&mut self) {
        let mut panicked: Panicked = None;
        let archetype = self.batch.archetype;
        self.world.forget_created();
        let mut all = Vec::new();
        for span in core::mem::take(&mut self.batch.spans) {
            if let Span::Rows {
                chunk,
                first,
                count,
            } = span
            {
                let data = &self.world.archetypes[archetype as usize];
                // SAFETY: values of entities that nobody has a handle of, and that go now.
                let more = unsafe { data.drop_rows(chunk, first, count) };
                panicked = earlier(panicked, more);
                let rows = Rows {
                    chunk,
                    first,
                    count,
                };
                all.push((archetype, rows));
            }
        }
        all.extend(self.begun.map(|chunk| {
            let nothing = Rows {
                chunk,
                first: 0,
                count: 0,
            };
            (archetype, nothing)
        }));
        self.world.take_back(all);
        resume_alone(panicked);
    }
}

impl World {
    /// Takes rows back that a call has added at the ends of chunks, the newest last: their entities, whose values are
    /// gone, and of the chunks that are empty then all that nothing is kept for; also of those of no rows. (Which chunk is
    /// filled next may be another one than before the call.)
    pub(in crate::world) fn take_back(&mut self, mut all: Vec<(u32, Rows)>) {
        let version = self.stamp();
        // The newest first: the rows of each are the last ones of their chunk.
        for &(archetype, rows) in all.iter().rev().filter(|(_, rows)| rows.count > 0) {
            let data = &mut self.archetypes[archetype as usize];
            let handles = data.chunks[rows.chunk as usize].entities();
            self.universe.kill_slice(&handles[rows.first as usize..]);
            data.fill_gap(&self.universe, rows, version);
            // As it was before they came.
            if !data.chunks[rows.chunk as usize].is_open() {
                data.open(rows.chunk);
            }
        }
        // Not before all rows have gone, and from the last chunk: an archetype's last one takes the place of one that
        // goes.
        let place = |&(archetype, rows): &(u32, Rows)| (archetype, rows.chunk);
        all.sort_unstable_by_key(place);
        all.dedup_by_key(|rows| place(rows));
        for (archetype, rows) in all.into_iter().rev() {
            self.abandon(archetype, rows.chunk);
        }
    }
}

impl Drop for Unfinished<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.begun.is_some() {
            self.undo();
        }
    }
}

/// A batch of single entities in the making; if it is dropped, they go again.
pub(super) struct Singles<'w> {
    pub(super) world: &'w mut World,
    /// How the world was, unless the call has got to its end.
    pub(super) before: Option<Before>,
    pub(super) entities: Vec<Entity>,
}

impl Singles<'_> {
    pub(super) fn finish(mut self) -> Batch {
        let mut panicked: Panicked = None;
        if let Some(before) = self.before.take() {
            before.end(&mut panicked);
        }
        // If one has panicked, the entities go again: all or none.
        resume(panicked);
        Batch {
            world: self.world.identity(),
            archetype: 0,
            spans: smallvec![Span::Entities(core::mem::take(&mut self.entities))],
        }
    }
}

impl Drop for Singles<'_> {
    fn drop(&mut self) {
        let mut panicked: Panicked = None;
        if !self.entities.is_empty() {
            self.world.forget_created();
        }
        for entity in core::mem::take(&mut self.entities) {
            // Its own, just made.
            if let Ok((archetype, row)) = self.world.find(entity) {
                let more = self.world.destroy_row(archetype, row, entity);
                panicked = earlier(panicked, more);
            }
        }
        if let Some(before) = self.before.take() {
            self.world.put_back(before, &mut panicked);
        }
        resume_alone(panicked);
    }
}
