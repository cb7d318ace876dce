//! A plan is carried out: nothing fails any more. What users' `drop`s panic with is kept until all is done.
//!
//! Other threads may ask the universe meanwhile whether handles live, reserve ids, and fill chunks of recorders. So a place
//! that they can see is never one in memory that somebody else may have: chunks are the world's before slots name them, and
//! given back after none does.

use smallvec::SmallVec;

use crate::archetype::{Archetype, Chunk, Group};
use crate::entity::Place;
use crate::panics::{Panicked, end_all};
use crate::world::checkpoint::form::{Form, Kind};
use crate::world::checkpoint::part::{SpareParts, drop_each};
use crate::world::checkpoint::plan::{From, Plan, PlannedArchetype, PlannedChunk};
use crate::world::checkpoint::saved::{Saved, SavedArchetype, SavedChunk};
use crate::world::{World, new_identity};

impl Plan {
    /// Makes the world what it was. All that is written gets the version of what changes now.
    pub(super) fn carry_out(
        mut self,
        world: &mut World,
        saved: &Saved,
        names_are_same: bool,
        spare: &mut SpareParts,
        panicked: &mut Panicked,
    ) {
        let version = world.stamp();
        let mut new = self.enter_new(world, saved, version);
        world.universe.finish_rewind(&saved.slots, &mut self.rewind);
        let mut gone = Vec::new();
        for at in (saved.count..world.archetypes.len()).rev() {
            let data = &mut world.archetypes[at];
            let chunks = data.chunks.take_all();
            let ended = chunks
                .into_iter()
                .map(|chunk| end_chunk(data, chunk, panicked));
            gone.extend(ended);
            data.entities = 0;
            retire_groups(data);
            world.settle_groups(at as u32);
        }
        let mut scratch = Scratch {
            number: world.number,
            version,
            gone: &mut gone,
            spare,
            panicked,
        };
        for (at, (planned, saved)) in self
            .archetypes
            .into_iter()
            .zip(saved.archetypes())
            .enumerate()
        {
            let data = &mut world.archetypes[at];
            scratch.put_back(&world.universe, data, saved, planned, &mut new);
            world.settle_groups(at as u32);
        }
        for chunk in gone {
            world.universe.directory().leave(&chunk);
            // SAFETY: the world's, which has no values in it, and forgets it.
            unsafe { world.universe.give_chunk(chunk.run) };
        }
        if saved.count < world.archetypes.len() {
            for mut data in world.part_with(|data| data.number as usize >= saved.count) {
                data.end(&world.universe, world.number, panicked);
            }
        }
        // All who have one of these have gone back, too.
        for (id, value) in self.shared {
            end_all(panicked, world.shared.replace(id, value));
        }
        saved
            .besides
            .put_back(world, self.coming, names_are_same, panicked);
        world.past = new_identity();
        world.births += 1;
        world.left = Place::NOWHERE;
        let attached = world.attached.iter();
        let looks: SmallVec<[fn(&mut World); 4]> =
            attached.filter_map(|one| one.looks_again()).collect();
        looks.into_iter().for_each(|look| look(world));
    }

    /// Makes the chunks whose memory is new, and says that it is theirs; in the order in which they are put back.
    fn enter_new(&self, world: &World, saved: &Saved, version: u32) -> std::vec::IntoIter<Chunk> {
        let mut new = Vec::new();
        for (data, (planned, saved)) in world
            .archetypes
            .iter()
            .zip(self.archetypes.iter().zip(saved.archetypes()))
        {
            for (position, (chunk, saved)) in (0..).zip(planned.chunks.iter().zip(&saved.chunks)) {
                if let From::New(_) = chunk.from {
                    let (record, universe) = (saved.record, &world.universe);
                    let chunk = Chunk::of_record(record, universe, data, version);
                    let directory = world.universe.directory();
                    directory.enter(&chunk, world.number, data.number, position);
                    new.push(chunk);
                }
            }
        }
        new.into_iter()
    }
}

/// What archetypes are put back with.
struct Scratch<'a> {
    number: u16,
    version: u32,
    /// Chunks that are not the world's any more.
    gone: &'a mut Vec<Chunk>,
    spare: &'a mut SpareParts,
    panicked: &'a mut Panicked,
}

impl Scratch<'_> {
    /// Makes an archetype what it was.
    fn put_back(
        &mut self,
        universe: &crate::archetype::Universe,
        data: &mut Archetype,
        saved: &SavedArchetype,
        planned: PlannedArchetype,
        new: &mut impl Iterator<Item = Chunk>,
    ) {
        let mut there: Vec<Option<Chunk>> = data.chunks.take_all().into_iter().map(Some).collect();
        let mut chunks = Vec::with_capacity(saved.chunks.len());
        for (position, (saved_chunk, planned)) in (0..).zip(saved.chunks.iter().zip(planned.chunks))
        {
            let taken = match planned.from {
                From::There(at) => there[at as usize].take(),
                From::New(_) => new.next(),
            };
            let Some(mut chunk) = taken else {
                unreachable!("each is planned once")
            };
            debug_assert!(
                saved_chunk.record.fits(data),
                "it was laid out as the archetype's chunks are"
            );
            if let From::There(at) = planned.from {
                self.end_written(data, &chunk, saved, &planned);
                let before = chunk.record();
                if at != position || before != Some(saved_chunk.record) {
                    universe.directory().leave(&chunk);
                    chunk.set_record(saved_chunk.record, universe, data.staggered);
                    universe
                        .directory()
                        .enter(&chunk, self.number, data.number, position);
                }
            }
            self.write(&mut chunk, saved, saved_chunk, planned);
            chunks.push(chunk);
        }
        for chunk in there.into_iter().flatten() {
            let chunk = end_chunk(data, chunk, self.panicked);
            self.gone.push(chunk);
        }
        data.entities = chunks.iter().map(|chunk| chunk.len as usize).sum();
        data.chunks.put_all(chunks);
        put_groups_back(data, saved, planned.keys);
        let templates = data.chunk_values.iter_mut().zip(planned.templates);
        for (value, template) in templates {
            let before = core::mem::replace(&mut value.template, template);
            end_all(self.panicked, [before]);
        }
    }

    /// Drops the values that are there where others will be.
    fn end_written(
        &mut self,
        data: &Archetype,
        chunk: &Chunk,
        saved: &SavedArchetype,
        planned: &PlannedChunk,
    ) {
        debug_assert!(data.columns.len() < saved.forms.all.len());
        for &at in &planned.written {
            end_values(&saved.forms.all[at as usize], chunk, self.panicked);
        }
    }

    /// Writes what the chunk had.
    fn write(
        &mut self,
        chunk: &mut Chunk,
        saved: &SavedArchetype,
        saved_chunk: &SavedChunk,
        planned: PlannedChunk,
    ) {
        let rows = saved_chunk.record.len;
        let mut clones = planned.clones.into_iter();
        for &at in &planned.written {
            let form = &saved.forms.all[at as usize];
            let (to, bytes) = (form.array(chunk), form.bytes(rows));
            match form.clone {
                Some(_) => {
                    let Some(mut part) = clones.next() else {
                        unreachable!("each was cloned")
                    };
                    if let Some(part) = std::sync::Arc::get_mut(&mut part) {
                        // SAFETY: the clones that were made for these rows, in which no values are any more.
                        unsafe { part.move_to(to, bytes) };
                    }
                    self.spare.give(part, self.panicked);
                }
                None => {
                    let from = saved_chunk.parts[at as usize].first();
                    // SAFETY: bytes of as many rows, of a layout that has room for them there.
                    unsafe { from.copy_to_nonoverlapping(to, bytes) };
                }
            }
            match form.kind {
                Kind::Handles => chunk.filled(self.version),
                Kind::Column | Kind::Bits => chunk.touch(form.version, self.version),
                Kind::Once => {}
            }
        }
    }
}

/// Drops all values of an array of a chunk.
fn end_values(form: &Form, chunk: &Chunk, panicked: &mut Panicked) {
    if let Some(drop) = form.drop {
        let values = (form.size, form.count(chunk.len));
        // SAFETY: its rows have values, which are replaced or forgotten.
        unsafe { drop_each(drop, form.array(chunk), values, panicked) };
    }
}

/// Drops all values of a chunk that goes.
fn end_chunk(data: &Archetype, chunk: Chunk, panicked: &mut Panicked) -> Chunk {
    for column in &data.columns {
        if let Some(drop) = column.drop {
            let values = (column.size as usize, chunk.len as usize);
            // SAFETY: its rows have values, which nobody uses any more.
            unsafe { drop_each(drop, chunk.array(column.offset), values, panicked) };
        }
    }
    for value in &data.chunk_values {
        // SAFETY: every chunk holds one, and this one goes.
        let more = unsafe { value.template.drop_at(chunk.array(value.offset)) };
        *panicked = crate::panics::first(panicked.take(), more);
    }
    chunk
}

/// Lets all groups go of an archetype that has no chunks.
fn retire_groups(data: &mut Archetype) {
    let keys = core::mem::take(&mut data.group_of).into_keys();
    data.retired_keys.extend(keys);
    if !data.shared.is_empty() {
        data.groups.clear();
        data.idle_groups.clear();
    }
}

/// Gives an archetype the groups that it had; those with shared values by these keys.
fn put_groups_back(
    data: &mut Archetype,
    saved: &SavedArchetype,
    keys: Vec<Box<[crate::archetype::SharedId]>>,
) {
    retire_groups(data);
    if data.shared.is_empty() {
        for (group, saved) in data.groups.iter_mut().zip(&saved.groups) {
            group.open.clone_from(&saved.open);
            (group.chunks, group.capacity) = (saved.chunks, saved.capacity);
        }
        return;
    }
    let mut keys = keys.into_iter();
    for (number, saved) in (0..).zip(&saved.groups) {
        let key = match saved.values.is_empty() {
            true => Box::default(),
            false => keys.next().unwrap_or_default(),
        };
        let mut group = Group::of(&key);
        group.open.clone_from(&saved.open);
        (group.chunks, group.capacity) = (saved.chunks, saved.capacity);
        data.groups.push(group);
        if !key.is_empty() {
            data.group_of.insert(key, number);
        }
    }
    data.idle_groups.clone_from(&saved.idle_groups);
}
