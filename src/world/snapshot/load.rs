//! Worlds come out of a file.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::archetype::{Archetype, Row, SharedId, Universe, write_bit};
use crate::entity::Entity;
use crate::fragment::{FragmentId, FragmentInfo, Value};
use crate::panics::refused;
use crate::world::snapshot::besides::{FormsByName, forms_by_name};
use crate::world::snapshot::demand::Lengths;
use crate::world::snapshot::file::FileBytes;
use crate::world::snapshot::format::{FULL_CHUNK, bit_bytes};
use crate::world::snapshot::fragments::SavedFragment;
use crate::world::snapshot::made::Made;
use crate::world::snapshot::read::{
    Coming, Saved, SavedArchetype, SavedChunk, SavedWorld, is_shared,
};
use crate::world::snapshot::written::{LENGTH, lengths_of};
use crate::world::snapshot::{LoadOptions, SnapshotError};
use crate::world::{World, WorldError};

impl World {
    /// Loads a world that was [saved](Self::save), all of it unless the [options](LoadOptions) say that something does not come,
    /// into a universe that never had an entity and in which the fragments are registered that the file has: by the same names, with the same sizes and alignments, and with
    /// the same [fields](crate::fragment::Plain::SHAPE) where these are known, or, if their values are
    /// [written](crate::fragment::FragmentRegistry::register_written_as), as such; so are the types of its resources and of what
    /// its delayed signals carry, as [part of the state](crate::fragment::FragmentRegistry::register_state).
    /// ([`load_remapped`](Self::load_remapped) loads into one that is in use, with new ids; it alone takes a file from
    /// which [the dead are left out](crate::world::SnapshotOptions::skip_dead).)
    ///
    /// Ids are the same, with their versions; handles that were dead are dead. Entities lie in the
    /// same order, in chunks that are as full as they were; those that had room for more, because a
    /// change of all their entities let them stay where they lay, are cut up. All values count as
    /// changed. What comes next comes to lie where it would have in the world that was saved: see
    /// [there](Self::save).
    ///
    /// The file is read into memory, as many bytes as it has if it begins as a snapshot of that length does (of any other
    /// 64 bytes are read), and all of it is checked first: nothing that becomes of the file meanwhile harms. Who knows that
    /// nobody changes it can do without that memory: map it, and give the bytes of the mapping to
    /// [`from_snapshot`](Self::from_snapshot).
    ///
    /// A file decides how many chunks and slots it takes, for chunks are as long as they were, also those that are nearly
    /// empty: half a megabyte of a file that somebody has made for it can take all 16 GiB that a universe has. Where files
    /// come from strangers, [`SnapshotSummary`](crate::world::SnapshotSummary) says beforehand how much it will be.
    ///
    /// O(bytes + fragments that are registered), and for each composition that comes O(its fragments × (its chunks + its
    /// entities)), where of chunk fragments, and of those that are switched off, the square counts: they are few.
    ///
    /// # Types that were renamed
    ///
    /// A type's fragment is known by the name that it was
    /// [given](crate::fragment::FragmentRegistry::register_plain_as): give one to whatever is saved, of every role, and it
    /// may be renamed. (To types of the state, too:
    /// [`register_state_as`](crate::fragment::FragmentRegistry::register_state_as).) Else it is known by
    /// [`type_name`](core::any::type_name), with the path: a file does not know a type that was renamed, or moved to
    /// another module, then, unless [`LoadOptions::rename`] leads that name to the one of now (and
    /// [`rename_state`](LoadOptions::rename_state) does of the state), or the type, which must have one role, is given what it
    /// was called before as its name. Nor does the standard library promise that another compiler writes that name alike: it
    /// is for programs whose files need not last. [`unnamed`](Self::unnamed) says what has no other.
    ///
    /// # Types whose fields have changed
    ///
    /// A field that comes, goes, or gets another name, type or place, and a variant of an enum that does, make another type
    /// of it: its values in older files are refused ([`Layout`](SnapshotError::Layout); of a type of the state,
    /// [`StateNotRead`](SnapshotError::StateNotRead)), also if they have as many bytes. So who loads says how they become
    /// values of today, which [`LoadOptions::convert`] does while they come, in whatever role, and
    /// [`convert_state`](LoadOptions::convert_state) of types of the state, and [`convert_bytes`](LoadOptions::convert_bytes) of
    /// fragments that are defined at run time, which have no type: the old type stands where only loading knows it, and no universe is told of it. (Where only names of fields are the difference, or variants
    /// that an enum did not have, the old values can be [taken as they are](LoadOptions::take_as_is); the [states of an
    /// application](crate::processor::State::register) are found by their names.)
    ///
    /// Where one value does not say it all, because it becomes several fragments or depends on others, the old type is
    /// registered, under the name that files have, and the new one under another. When a world has come, values go from one
    /// to the other, chunk by chunk:
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Copy, Debug, PartialEq)]
    /// #[repr(C)]
    /// struct Health { now: u32, most: u32 }
    /// megachunk::plain!(Health { now, most });
    /// #[derive(Clone, Copy, Debug, PartialEq)]
    /// #[repr(C)]
    /// struct Shield { points: u32 }
    /// megachunk::plain!(Shield { points });
    ///
    /// /// What files of version 1 have: `Health` was this, in the same place.
    /// mod v1 {
    ///     #[derive(Clone, Copy)]
    ///     #[repr(C)]
    ///     pub struct Health { pub now: u32, pub shield: u32 }
    ///     megachunk::plain!(Health { now, shield });
    /// }
    ///
    /// /// What every universe of the program gets, whether or not it loads.
    /// fn register(universe: &Universe) -> Result<(), WorldError> {
    ///     universe.registry().register_plain_as::<Health>("health.2")?;
    ///     universe.registry().register_plain_as::<Shield>("shield")?;
    ///     // As in `let path = "game::Health";`: the old type had no other name, and the new one has its path.
    ///     let path = std::any::type_name::<Health>();
    ///     universe.registry().register_plain_as::<v1::Health>(path)?;
    ///     Ok(())
    /// }
    ///
    /// /// Does nothing to a world that has come from a new file.
    /// fn migrate(world: &mut World) -> Result<(), Box<dyn std::error::Error>> {
    ///     let mut old = Query::<&v1::Health>::new(world)?;
    ///     old.change(world).swap::<(v1::Health,), _>(|old| {
    ///         (Health { now: old.now, most: 100 }, Shield { points: old.shield })
    ///     })?;
    ///     Ok(())
    /// }
    ///
    /// # let mut then = World::new();
    /// # then.registry().register_plain_as::<v1::Health>(std::any::type_name::<Health>())?;
    /// # let ant = then.create((v1::Health { now: 7, shield: 2 },))?;
    /// # let file = then.to_snapshot(&Default::default())?;
    /// let universe = Universe::new();
    /// register(&universe)?;
    /// let mut world = World::from_snapshot(&file, universe, &Default::default())?;
    /// migrate(&mut world)?;
    /// assert_eq!(world.get::<Health>(ant)?, &Health { now: 7, most: 100 });
    /// assert_eq!(world.get::<Shield>(ant)?, &Shield { points: 2 });
    ///
    /// let file = world.to_snapshot(&Default::default())?;
    /// let universe = Universe::new();
    /// register(&universe)?;
    /// assert_eq!(World::from_snapshot(&file, universe, &Default::default())?.get::<Health>(ant)?.now, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Who does not have the old type, as a tool, [defines](crate::fragment::FragmentRegistry::define_plain_shaped) a fragment
    /// (or a tag) by the old name with the layout and the shape that [`Unregistered`](SnapshotError::Unregistered)
    /// [tells](crate::world::MissingFragment). A name is one fragment's: no type may be called so here, neither by a name that
    /// it was given, nor by its path. What the program has no use for any more is [skipped](LoadOptions::skip).
    ///
    /// # Errors
    /// [`SnapshotError::File`]: the file cannot be read; [`SnapshotError::In`], which says what is wrong with it, and where.
    /// (And what panics that [reads values](crate::fragment::FragmentRegistry::register_written_as) of yours.)
    /// There is no world then, and any other is untouched; the universe is dropped.
    pub fn load(
        path: impl AsRef<Path>,
        universe: Universe,
        options: &LoadOptions,
    ) -> Result<Self, SnapshotError> {
        let make = |bytes: &[u8]| Self::from_snapshot(bytes, universe, options);
        FileBytes::open(path)?.make(make)
    }

    /// Makes a world of the bytes that [`to_snapshot`](Self::to_snapshot) gave, as [`load`](Self::load) does of
    /// a file.
    ///
    /// # Errors
    /// What [`SnapshotError::In`] has with [`load`](Self::load).
    pub fn from_snapshot(
        bytes: &[u8],
        universe: Universe,
        options: &LoadOptions,
    ) -> Result<Self, SnapshotError> {
        let saved = Saved::fresh(bytes, &universe, options)?;
        saved.expect_one()?;
        let mut worlds = bring_back(&saved, universe)?;
        Ok(worlds.remove(0))
    }

    /// Loads all worlds of a file to which one or several were [saved](Self::save_worlds), in the
    /// order in which they were named there: as [`load`](Self::load) does one.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn load_worlds(
        path: impl AsRef<Path>,
        universe: Universe,
        options: &LoadOptions,
    ) -> Result<Vec<Self>, SnapshotError> {
        let make = |bytes: &[u8]| Self::worlds_from_snapshot(bytes, universe, options);
        FileBytes::open(path)?.make(make)
    }

    /// Makes worlds of the bytes that [`worlds_to_snapshot`](Self::worlds_to_snapshot) gave, or
    /// [`to_snapshot`](Self::to_snapshot).
    ///
    /// # Errors
    /// As for [`from_snapshot`](Self::from_snapshot).
    pub fn worlds_from_snapshot(
        bytes: &[u8],
        universe: Universe,
        options: &LoadOptions,
    ) -> Result<Vec<Self>, SnapshotError> {
        let saved = Saved::fresh(bytes, &universe, options)?;
        bring_back(&saved, universe)
    }

    /// Creates all that is saved, of entities that live and have no place yet. Only memory can run out, and bytes be no
    /// values.
    fn bring_back(
        &mut self,
        saved: &Saved<'_>,
        world: &SavedWorld<'_>,
        forms: &FormsByName<'_>,
    ) -> Result<(), SnapshotError> {
        let universe = Arc::clone(&self.universe);
        let registry = universe.registry();
        for (fragment, bytes) in &world.templates {
            let template = match saved.value(registry, *fragment, bytes) {
                // It names somebody who does not come, and chunks begin without it.
                Err(SnapshotError::NotAValue { .. }) if saved.entities.is_some() => continue,
                template => template?,
            };
            self.templates.insert(template.id(), Arc::new(template));
        }
        let mut shared = Vec::with_capacity(world.shared.len());
        for (fragment, bytes) in &world.shared {
            if saved.fragments[*fragment as usize].known.is_none() || bytes.stays {
                shared.push(None);
                continue;
            }
            let value = saved.value(registry, *fragment, bytes)?;
            if let Some(info) = registry.get(value.id()) {
                shared.push(Some(self.shared.intern(info, value)));
            }
        }
        // Where entities come with new ids, nobody goes on where others were.
        let is_wanted =
            |archetype: &&SavedArchetype<'_>| saved.entities.is_none() || archetype.is_inhabited();
        for archetype in world.archetypes.iter().filter(is_wanted) {
            self.bring_archetype(saved, archetype, &shared)?;
        }
        for value in shared.into_iter().flatten() {
            self.shared.release_unused(value);
        }
        self.chunks_per_chunk = world.chunks_per_chunk as usize;
        self.chunks_grow = world.chunks_grow;
        world.besides.bring(self, forms, saved.meant())
    }

    fn bring_archetype(
        &mut self,
        saved: &Saved<'_>,
        archetype: &SavedArchetype<'_>,
        shared: &[Option<SharedId>],
    ) -> Result<(), SnapshotError> {
        let fragment = |&number: &u32| &saved.fragments[number as usize];
        let fragments = || archetype.fragments.iter().map(fragment);
        if !archetype.comes() {
            // Nobody has it, and nobody here can, or is to.
            return Ok(());
        }
        let mut ids: Vec<FragmentId> = fragments().filter_map(|fragment| fragment.known).collect();
        // Where each of the archetype's shared fragments stands among the chunk's shared values.
        let of_chunk: Vec<Option<FragmentId>> = fragments()
            .filter(|fragment| is_shared(fragment.kind))
            .map(|fragment| fragment.known)
            .collect();
        ids.sort_unstable();
        self.chunks_per_chunk = if saved.is_lavish {
            1
        } else {
            archetype.run as usize
        };
        self.chunks_grow = archetype.grows;
        let universe = Arc::clone(&self.universe);
        // Bytes of the file become values as they are, but for those that are read.
        let copied = fragments().filter(|fragment| !fragment.is_written);
        for id in copied.filter_map(|fragment| fragment.known) {
            let info = universe.registry().get(id);
            let is_bytes = info.is_some_and(|info| info.is_plain() || info.is_name());
            assert!(is_bytes, "bytes are values of what is plain, or has none");
        }
        let templates = archetype.templates.iter();
        let templates =
            templates.filter(|(fragment, _)| saved.fragments[*fragment as usize].known.is_some());
        let templates = templates.map(|(fragment, bytes)| {
            saved.first_value(universe.registry(), archetype, *fragment, bytes)
        });
        let templates: Vec<Value> = templates.collect::<Result<_, _>>()?;
        let number = self.archetype_after(&ids, &|id| {
            templates.iter().find(|template| template.id() == id)
        })?;
        let mut places = Places::of(&self.archetypes[number as usize]);
        let of_key = self.archetypes[number as usize].shared.iter();
        let of_key = of_key.filter_map(|id| of_chunk.iter().position(|of| *of == Some(*id)));
        let of_key: Vec<usize> = of_key.collect();
        let is_wanted = |chunk: &&SavedChunk| chunk.len > 0 || saved.entities.is_none();
        let mut groups = BTreeSet::new();
        for chunk in archetype.chunks.iter().filter(is_wanted) {
            let value = |&at: &usize| shared[chunk.shared[at] as usize];
            let key: Vec<SharedId> = of_key.iter().filter_map(value).collect();
            let group = self.group_of(number, &key);
            self.bring_chunk(saved, archetype, chunk, number, group)?;
            places.note(&self.archetypes[number as usize], chunk.place);
            groups.insert(group);
        }
        // A file may bring the same composition again and again: only what came now is put in order.
        let data = &mut self.archetypes[number as usize];
        for group in groups {
            data.order_open(group, places.before, |position| places.of_chunk(position));
        }
        Ok(())
    }

    /// Creates the entities of a chunk in a chunk of their own; in more than one if the layout has changed.
    fn bring_chunk(
        &mut self,
        saved: &Saved<'_>,
        archetype: &SavedArchetype<'_>,
        chunk: &SavedChunk,
        number: u32,
        group: u32,
    ) -> Result<(), SnapshotError> {
        let (mut first, mut values_at) = (0, Vec::new());
        // Also if it has none.
        while first < chunk.len.max(1) {
            let data = &mut self.archetypes[number as usize];
            let left = chunk.len - first;
            let lengths = Lengths::of(data);
            let shift = match first {
                // Nobody goes on as before with new ids, or without some of what it had: a file may say what it likes.
                0 => lengths.first(chunk, saved.entities.is_some() || archetype.is_cut),
                _ => lengths.next(left),
            };
            let (universe, coming) = (&self.universe, left as usize);
            let position = data
                .add_chunk_of(universe, self.number, group, shift, coming)
                .map_err(WorldError::from)?;
            let capacity = data.chunks[position as usize].capacity;
            let count = capacity.min(left);
            let to = Row {
                chunk: position,
                row: count,
            };
            self.bring_rows(saved, archetype, chunk, number, to, (first, &mut values_at))?;
            first += count.max(1);
        }
        Ok(())
    }

    /// Fills the first `to.row` rows of a new chunk with those of a saved one from `first` on. After an error the chunk
    /// has no rows: bytes that are no values lie where values would, and their entities no place. (Plain values need not
    /// be dropped, and those that were [read](Made) have ended.) `values_at`: where the next value of each column stands that
    /// is written, one after the other, if rows before came.
    fn bring_rows(
        &mut self,
        saved: &Saved<'_>,
        archetype: &SavedArchetype<'_>,
        chunk: &SavedChunk,
        number: u32,
        to: Row,
        (first, values_at): (u32, &mut Vec<usize>),
    ) -> Result<(), SnapshotError> {
        let version = self.stamp();
        let universe = Arc::clone(&self.universe);
        let data = &mut self.archetypes[number as usize];
        let (position, count) = (to.chunk, to.row);
        let new = &data.chunks[position as usize];
        let mut at = chunk.at + size_of::<Entity>() * chunk.len as usize;
        let mut off = Vec::new();
        let (mut made, mut columns) = (Made::default(), 0);
        for &number in &archetype.fragments {
            let fragment = &saved.fragments[number as usize];
            let Some(id) = fragment.known else {
                at += chunk.bytes_of(number, fragment);
                continue;
            };
            if fragment.is_written_column()
                && let Some(info) = universe.registry().get(id)
                && let Some(column) = data.seek_column(id)
            {
                let end = at + chunk.written(number);
                if columns == values_at.len() {
                    values_at.push(at + LENGTH * chunk.len as usize);
                }
                let lengths =
                    &saved.file[at..][LENGTH * first as usize..][..LENGTH * count as usize];
                let array = new.array(data.columns[column].offset);
                let column = SavedColumn {
                    chunk,
                    row: first as usize,
                    fragment,
                    info,
                    lengths,
                    end,
                };
                let read = column.read(saved, &mut values_at[columns], array, &mut made);
                if let Err(error) = read {
                    return Err(refused(made, error));
                }
                columns += 1;
                at = end;
            }
            let (size, size_here) = (fragment.size, fragment.size_here);
            let converted = chunk.converted(number);
            if !fragment.is_written
                && let Some(column) = data.seek_column(id)
            {
                let begin = at + first as usize * size;
                let bytes = match converted {
                    None => &saved.file[begin..][..count as usize * size],
                    Some(values) => {
                        &values[first as usize * size_here..][..count as usize * size_here]
                    }
                };
                let array = new.array(data.columns[column].offset);
                // SAFETY: as many rows of this size, which hold no values, and are bytes from then on.
                let copied = unsafe { copy(bytes, array) };
                if let Err(error) = saved.bring(fragment, copied, begin) {
                    let error = chunk.of_row(error, saved.file, (at, size));
                    return Err(refused(made, error));
                }
                at += chunk.len as usize * size;
            }
            if fragment.enableable {
                let bits = &saved.file[at..];
                let is_off = |row: &u32| {
                    let row = (first + row) as usize;
                    bits[row / 8] >> (row % 8) & 1 == 0
                };
                off.extend((0..count).filter(is_off).map(|row| (id, row)));
                at += bit_bytes(chunk.len.into()) as usize;
            }
            if let Some(value) = data.chunk_value_of(id) {
                let bytes = converted.unwrap_or(&saved.file[at..][..size]);
                // Not where the template's value is: that one stays, if this is none.
                let mut bytes = bytes.to_vec();
                if let Err(error) = saved.bring(fragment, &mut bytes, at) {
                    return Err(refused(made, error));
                }
                let value = new.array(value.offset);
                // SAFETY: room for a plain value, which replaces the template's.
                unsafe { copy(&bytes, value) };
                at += size;
            }
        }
        // Nothing fails from here on.
        made.give();
        let handles = &saved.handles(chunk)[first as usize..];
        for (row, &entity) in (0..count).zip(handles) {
            // SAFETY: a row of the chunk.
            unsafe { new.handles().add(row as usize).write(entity) };
            self.universe.place(entity, new.run, row);
        }
        data.grown(position, count, version);
        let (mut last, mut bits) = (None, None);
        for (id, row) in off {
            // Rows of one fragment follow each other.
            if last != Some(id) {
                (last, bits) = (Some(id), data.enabled_of(id));
            }
            if let Some(bits) = bits {
                let bits = data.chunks[position as usize].array(bits.offset);
                // SAFETY: a row of the chunk.
                unsafe { write_bit(bits, row, false) };
            }
        }
        Ok(())
    }
}

/// Values of a column that are written, of some rows.
struct SavedColumn<'s> {
    chunk: &'s SavedChunk,
    /// The first of the rows.
    row: usize,
    fragment: &'s SavedFragment,
    info: &'s FragmentInfo,
    /// Of the rows' values.
    lengths: &'s [u8],
    /// Where the column ends in the file.
    end: usize,
}

impl SavedColumn<'_> {
    /// Makes them, from `value_at` in the file on, in rows from `first` on.
    fn read(
        &self,
        saved: &Saved<'_>,
        value_at: &mut usize,
        first: *mut u8,
        made: &mut Made,
    ) -> Result<(), SnapshotError> {
        let Some(form) = self.info.written() else {
            unreachable!("it was said how its values are read")
        };
        let (size, entities) = (self.info.layout().size(), saved.meant());
        let mut bytes = Vec::new();
        made.begin(self.info, first);
        for (row, length) in lengths_of(self.lengths).enumerate() {
            let at = *value_at;
            // It is, as was seen before, if nobody changes the file.
            let value = at.checked_add(length).filter(|&end| end <= self.end);
            let Some(value_end) = value else {
                return Err(SnapshotError::Damaged {
                    what: "a value is longer than its column",
                    at: at as u64,
                });
            };
            // A copy, for the same reason.
            bytes.clear();
            bytes.extend_from_slice(&saved.file[at..value_end]);
            // SAFETY: room for a value of the fragment, in a row of a chunk that has none yet.
            let read = unsafe { form.read(&bytes, entities, first.wrapping_add(row * size)) };
            read.map_err(|reason| {
                let refused = self.fragment.not_read(at as u64, reason);
                refused.of_entity(self.chunk.entity(saved.file, self.row + row))
            })?;
            // SAFETY: so it was, in the next row.
            unsafe { made.add() };
            *value_at = value_end;
        }
        Ok(())
    }
}

/// Creates all worlds that are saved, in a universe that never had an entity.
fn bring_back(saved: &Saved<'_>, mut universe: Universe) -> Result<Vec<World>, SnapshotError> {
    universe
        .index_mut()
        .restore(saved.versions.as_deref().unwrap_or(&[]))
        .map_err(WorldError::from)?;
    let universe = Arc::new(universe);
    bring_worlds(saved, &universe)
}

/// Creates all worlds that are saved, of entities that live and have no place yet.
pub(super) fn bring_worlds(
    saved: &Saved<'_>,
    universe: &Arc<Universe>,
) -> Result<Vec<World>, SnapshotError> {
    let mut besides = saved.worlds.iter().map(|world| &world.besides);
    let forms = match besides.any(|besides| besides.types().next().is_some()) {
        true => forms_by_name(universe.registry()),
        false => FormsByName::new(),
    };
    let bring = |part| {
        let mut world = World::of(universe)?;
        world.bring_back(saved, part, &forms)?;
        Ok(world)
    };
    saved.worlds.iter().map(bring).collect()
}

impl<'f> Saved<'f> {
    /// Reads a whole file, for a universe that never had an entity.
    fn fresh(
        file: &'f [u8],
        universe: &Universe,
        options: &LoadOptions,
    ) -> Result<Self, SnapshotError> {
        if !universe.index().is_fresh() {
            return Err(SnapshotError::UniverseInUse);
        }
        Self::read(file, universe.registry(), options, Coming::WithIds)
    }
}

/// Where the chunks that come to an archetype stood in the lists of those with room.
struct Places {
    /// So many chunks were there before.
    before: u32,
    places: Vec<u32>,
}

impl Places {
    fn of(archetype: &Archetype) -> Self {
        Self {
            before: archetype.chunks.len() as u32,
            places: Vec::new(),
        }
    }

    /// The last chunks that came are what became of a saved one with this place.
    fn note(&mut self, archetype: &Archetype, place: u32) {
        let come = archetype.chunks.len() - self.before as usize;
        self.places.resize(come, place);
    }

    /// The place of a chunk. Those that were full, and are not because chunks are laid out in another way now, or
    /// were there before, are filled after all others.
    fn of_chunk(&self, position: u32) -> Option<u32> {
        let at = position.checked_sub(self.before)?;
        let place = self.places.get(at as usize).copied();
        place.filter(|&place| place != FULL_CHUNK)
    }
}

/// Copies bytes, and lends the copy: of a mapping of a file that somebody changes all the same, only the copy can be looked
/// at.
///
/// # Safety
/// Room for as many bytes, which nobody else has while they are lent.
unsafe fn copy<'c>(bytes: &[u8], to: *mut u8) -> &'c mut [u8] {
    // SAFETY: the caller's.
    unsafe {
        bytes.as_ptr().copy_to_nonoverlapping(to, bytes.len());
        core::slice::from_raw_parts_mut(to, bytes.len())
    }
}
