//! `ChunkRecord`: what is kept of a chunk's record, so that an archetype has its chunks again as they were.

use crate::archetype::archetype::Archetype;
use crate::archetype::chunk::{Chunk, Form, is_newer};
use crate::archetype::chunk_list::ChunkList;
use crate::archetype::fold;
use crate::archetype::stagger::begin;
use crate::archetype::universe::Universe;
use crate::chunk::Run;

/// A chunk's record but for its versions, and for where its memory begins, which the run says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkRecord {
    pub(crate) run: Run,
    pub(crate) len: u32,
    pub(crate) group: u32,
    pub(crate) capacity: u32,
    open_at: u32,
    scale: u8,
    slack: u16,
    folded: bool,
}

impl ChunkRecord {
    /// Whether arrays lie in both at the same distances from their first bytes, with room for as many rows.
    pub(crate) fn is_laid_out_as(&self, other: &Self) -> bool {
        let form = |record: &Self| (record.run, record.capacity, record.scale, record.folded);
        form(self) == form(other)
    }

    /// Whether a chunk of an archetype may be so: as long as its chunks are, and with room for as many.
    pub(crate) fn fits(&self, data: &Archetype) -> bool {
        let scale = u32::from(self.scale);
        let capacity = match self.folded {
            true => data.fold_rows,
            false => data.least_capacity * scale,
        };
        (self.run.len(), self.capacity) == (data.run * scale, capacity)
    }

    /// The same of a chunk in another run, as long as this one's.
    pub(crate) fn within(self, run: Run) -> Self {
        debug_assert_eq!(run.len(), self.run.len());
        Self { run, ..self }
    }
}

impl Chunk {
    /// What is kept of it; `None` if its arrays do not lie where its archetype says.
    pub(crate) fn record(&self) -> Option<ChunkRecord> {
        let folded = match self.form {
            Form::Folded => true,
            Form::Shortest | Form::Longer => false,
            Form::Refit => return None,
        };
        Some(ChunkRecord {
            run: self.run,
            len: self.len,
            group: self.group,
            capacity: self.capacity,
            open_at: self.open_at,
            scale: self.scale,
            slack: self.slack,
            folded,
        })
    }

    /// Becomes what a record says, in the memory of the record's run. Its versions stay.
    ///
    /// What must hold then is the caller's affair: rows below the record's `len` have their values.
    pub(crate) fn set_record(&mut self, record: ChunkRecord, universe: &Universe, staggered: bool) {
        self.base = match record.folded {
            true => fold::begin(universe, record.run),
            false => begin(universe, record.run, staggered),
        };
        self.len = record.len;
        self.capacity = record.capacity;
        self.scale = record.scale;
        self.slack = record.slack;
        self.run = record.run;
        self.group = record.group;
        self.open_at = record.open_at;
        self.form = match record.folded {
            true => Form::Folded,
            false => Form::of(record.scale),
        };
    }

    /// A chunk of a record, in the memory of its run; everything in it counts as new.
    pub(crate) fn of_record(
        record: ChunkRecord,
        universe: &Universe,
        data: &Archetype,
        version: u32,
    ) -> Self {
        let base = begin(universe, record.run, data.staggered);
        let versions = data.versions as usize;
        let mut chunk = Self::new(base, record.run, record.group, versions, 0, 0);
        chunk.set_record(record, universe, data.staggered);
        chunk.begin_at(version);
        chunk
    }

    /// Whether entities have come to it, have left it, or changed rows in it, since a version.
    #[inline]
    pub(crate) fn is_moved_since(&self, version: u32) -> bool {
        is_newer(self.order_version, version)
    }
}

impl ChunkList {
    /// Takes all chunks out.
    pub(crate) fn take_all(&mut self) -> Vec<Chunk> {
        match core::mem::replace(self, Self::new()) {
            Self::One(chunk) => Vec::from([chunk]),
            Self::Many(chunks) => chunks,
        }
    }

    /// Puts chunks in, where none are.
    pub(crate) fn put_all(&mut self, mut chunks: Vec<Chunk>) {
        debug_assert!(self.is_empty());
        *self = match (chunks.len(), chunks.pop()) {
            (1, Some(only)) => Self::One(only),
            (_, last) => {
                chunks.extend(last);
                Self::Many(chunks)
            }
        };
    }
}
