//! `Saved`: a world as it was, of which each part that had not changed since the checkpoint before is that one's, too.
//!
//! It is filled in place: what it had for another state before serves again, so that a steady state takes no memory.

use std::sync::Arc;

use crate::archetype::{Archetype, Chunk, ChunkRecord};
use crate::entity::SavedSlots;
use crate::fragment::Value;
use crate::panics::{Panicked, end_all};
use crate::world::checkpoint::besides::SavedBesides;
use crate::world::checkpoint::form::Forms;
use crate::world::checkpoint::part::{Part, SpareParts};
use crate::world::checkpoint::places::Places;
use crate::world::{CheckpointError, World};

/// A world as it was.
#[derive(Debug, Default)]
pub(super) struct Saved {
    pub(super) number: u64,
    pub(super) archetypes: Vec<SavedArchetype>,
    /// Those behind them serve for later states.
    pub(super) count: usize,
    pub(super) slots: SavedSlots,
    pub(super) besides: SavedBesides,
}

/// An archetype as it was.
#[derive(Debug, Default)]
pub(super) struct SavedArchetype {
    /// The archetype's: who was born later is another one, be it of the same fragments. (Its list of fragments says nothing:
    /// a bundle type has one list for all that ever come by it, and they may be laid out differently.)
    pub(super) born: u64,
    pub(super) forms: Arc<Forms>,
    pub(super) chunks: Vec<SavedChunk>,
    pub(super) groups: Vec<SavedGroup>,
    pub(super) idle_groups: Vec<u32>,
    /// What chunks begin with, in the order of the archetype's.
    pub(super) templates: Vec<Value>,
}

/// A chunk as it was.
#[derive(Debug)]
pub(super) struct SavedChunk {
    pub(super) record: ChunkRecord,
    /// One for each form.
    pub(super) parts: Vec<Arc<Part>>,
}

/// A combination of shared values as it was.
#[derive(Debug, Default)]
pub(super) struct SavedGroup {
    /// In the order of the archetype's shared fragments; none of one that was idle.
    pub(super) values: Vec<Arc<Value>>,
    pub(super) open: Vec<u32>,
    pub(super) chunks: u32,
    pub(super) capacity: usize,
}

/// What was kept last, or gone back to, and the version behind which its world has changed since.
#[derive(Clone, Copy)]
pub(super) struct Since<'a> {
    pub(super) saved: &'a Saved,
    pub(super) version: u32,
}

impl Saved {
    /// Those that it is of.
    pub(super) fn archetypes(&self) -> &[SavedArchetype] {
        &self.archetypes[..self.count]
    }

    /// Takes a world in, sharing what has not changed `since`. If that fails it is to be [emptied](Self::empty).
    pub(super) fn fill(
        &mut self,
        world: &World,
        since: Option<Since<'_>>,
        names_are_same: bool,
        spare: &mut SpareParts,
    ) -> Result<(), CheckpointError> {
        debug_assert!(self.count == 0, "it was emptied");
        if !world.universe.save_slots(&mut self.slots, world.count()) {
            return Err(match world.universe.is_ordered() {
                true => CheckpointError::NotAlone,
                false => CheckpointError::NotOrdered,
            });
        }
        for (at, data) in world.archetypes.iter().enumerate() {
            if at == self.archetypes.len() {
                self.archetypes.push(SavedArchetype::default());
            }
            self.count = at + 1;
            let before = since.and_then(|since| since.saved.archetypes().get(at));
            let before = before.filter(|before| before.born == data.born);
            let before = before
                .zip(since)
                .map(|(before, since)| (before, since.version));
            self.archetypes[at].fill(world, data, before, spare)?;
        }
        let before = since
            .filter(|_| names_are_same)
            .map(|since| &since.saved.besides);
        self.besides.fill(world, before)
    }

    /// Lets go what it is of, and keeps the room. Panics of users' `drop`s are noted.
    pub(super) fn empty(&mut self, spare: &mut SpareParts, panicked: &mut Panicked) {
        for archetype in &mut self.archetypes[..self.count] {
            for chunk in &mut archetype.chunks {
                chunk
                    .parts
                    .drain(..)
                    .for_each(|part| spare.give(part, panicked));
            }
            archetype.forms = Arc::default();
            let values = archetype
                .groups
                .iter_mut()
                .flat_map(|group| group.values.drain(..));
            end_all(panicked, values);
            end_all(panicked, archetype.templates.drain(..));
        }
        self.count = 0;
        self.besides.empty(panicked);
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        let (mut spare, mut panicked) = (SpareParts::default(), None);
        self.empty(&mut spare, &mut panicked);
        crate::panics::resume_alone(panicked);
    }
}

impl SavedArchetype {
    fn fill(
        &mut self,
        world: &World,
        data: &Archetype,
        before: Option<(&Self, u32)>,
        spare: &mut SpareParts,
    ) -> Result<(), CheckpointError> {
        let known = before.map(|(before, _)| &before.forms);
        self.born = data.born;
        // What was refused may have been registered since.
        self.forms = match known.filter(|forms| forms.refused.is_none()) {
            Some(known) => Arc::clone(known),
            None => Arc::new(Forms::of(world, data)),
        };
        if let Some(name) = &self.forms.refused
            && data.entities > 0
        {
            let name = name.clone();
            return Err(CheckpointError::NotCloneable { name });
        }
        self.fill_groups(world, data);
        self.templates.extend(
            data.chunk_values
                .iter()
                .map(|value| value.template.duplicate()),
        );
        self.chunks.truncate(data.chunks.len());
        let mut places = Places::default();
        for (position, chunk) in data.chunks.iter().enumerate() {
            // In an ordered universe each chunk is laid out as its archetype says.
            let record = chunk.record().ok_or(CheckpointError::NotOrdered)?;
            if position == self.chunks.len() {
                let parts = Vec::with_capacity(self.forms.all.len());
                self.chunks.push(SavedChunk { record, parts });
            }
            let saved = &mut self.chunks[position];
            saved.record = record;
            // Of one that is new all is taken: it is not looked for.
            let before = before.filter(|&(_, version)| !chunk.is_moved_since(version));
            let before = before.and_then(|(archetype, version)| {
                let before = archetype.chunk_of(record, position, &mut places)?;
                Some((before, version))
            });
            saved.fill(chunk, &self.forms, before, spare);
        }
        Ok(())
    }

    fn fill_groups(&mut self, world: &World, data: &Archetype) {
        self.groups.truncate(data.groups.len());
        self.groups
            .resize_with(data.groups.len(), SavedGroup::default);
        for (saved, group) in self.groups.iter_mut().zip(&data.groups) {
            let values = group
                .key
                .iter()
                .map(|&value| Arc::clone(world.shared.value(value)));
            saved.values.extend(values);
            saved.open.clone_from(&group.open);
            (saved.chunks, saved.capacity) = (group.chunks, group.capacity);
        }
        self.idle_groups.clone_from(&data.idle_groups);
    }

    /// The chunk that lay in the memory of one that is at a position now. O(1), or as [`Places`] where they have changed places.
    pub(super) fn chunk_of(
        &self,
        record: ChunkRecord,
        position: usize,
        places: &mut Places,
    ) -> Option<&SavedChunk> {
        let all = (self.chunks.len(), |at: usize| self.chunks[at].record.run);
        let found = places.find(record.run, position, all)?;
        Some(&self.chunks[found])
    }
}

impl SavedChunk {
    fn fill(
        &mut self,
        chunk: &Chunk,
        forms: &Forms,
        before: Option<(&Self, u32)>,
        spare: &mut SpareParts,
    ) {
        let rows = chunk.len;
        for (at, form) in forms.all.iter().enumerate() {
            if let Some((before, version)) = before
                && !form.is_written_since(chunk, version)
            {
                self.parts.push(Arc::clone(&before.parts[at]));
                continue;
            }
            let part = spare.take(form.bytes(rows), form.align);
            self.parts.push(part);
            let Some(part) = self.parts.last_mut().and_then(Arc::get_mut) else {
                unreachable!("a spare part is nobody else's")
            };
            let from = form.array(chunk);
            // SAFETY: rows of the chunk, which nobody changes while the world is lent; without a `clone` they are nothing but
            // bytes, or there are none. There is room for them, aligned as they are to be.
            unsafe {
                match form.clone {
                    Some(clone) => {
                        let values = (form.size, form.count(rows));
                        part.clone_values(from, values, clone, form.drop);
                    }
                    None => part.copy(from, form.bytes(rows)),
                }
            }
        }
    }
}
