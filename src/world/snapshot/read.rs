//! A file is read, and all of it checked, before anything is made of it.

use core::ops::Deref;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use crate::entity::{Entity, EntityIndex, EntityMap};
use crate::fragment::{FragmentKind, FragmentRegistry, Value};
use crate::sync::fork_join;
use crate::world::WorldError;
use crate::world::snapshot::besides::{SavedBesides, forms_by_name};
use crate::world::snapshot::chunk_form::ChunkForm;
use crate::world::snapshot::format::{FULL_CHUNK, Header, Reader, bit_bytes, verify};
use crate::world::snapshot::fragment_keys::{FragmentKeys, FragmentOrder};
use crate::world::snapshot::fragments::{SavedFragment, read_fragments};
use crate::world::snapshot::written::{LENGTH, is_column};
use crate::world::snapshot::{LoadOptions, SnapshotError};

/// Of a file with fewer bytes one thread checks the chunks: to call others takes as long.
const ALONE: usize = 256 << 10;

/// A snapshot whose every part is as it should be, and fits the registry.
pub(super) struct Saved<'f> {
    pub(super) file: &'f [u8],
    /// Of each slot; `None` if they were left out.
    pub(super) versions: Option<Vec<u32>>,
    pub(super) fragments: Vec<SavedFragment>,
    /// Of all fragments, for who looks at the bytes.
    pub(super) order: FragmentOrder,
    pub(super) worlds: Vec<SavedWorld<'f>>,
    /// The handles of all chunks, one behind the other. They are not read again from a file that somebody may change:
    /// the rest of a chunk is copied, and then looked at.
    pub(super) handles: Vec<Entity>,
    /// What the entities have become, if they come back with new ids; `handles` are these, then.
    pub(super) entities: Option<EntityMap>,
    /// What they have become, else.
    as_they_were: EntityMap,
    /// It comes in chunks that are no longer than their entities need, whatever it says of their lengths.
    pub(super) is_lavish: bool,
}

/// Values, each with the number of its fragment.
type SavedValues<'f> = Vec<(u32, SavedBytes<'f>)>;

/// The bytes of a value: as the file has them, or what they have become.
pub(super) struct SavedBytes<'f> {
    /// Where they begin in the file, or those of which they were made.
    pub(super) at: u64,
    pub(super) bytes: Cow<'f, [u8]>,
    /// Nobody who comes has it, and it is not what it would be here.
    pub(super) stays: bool,
}

impl<'f> SavedBytes<'f> {
    fn new(at: u64, bytes: &'f [u8]) -> Self {
        let bytes = Cow::Borrowed(bytes);
        Self {
            at,
            bytes,
            stays: false,
        }
    }
}

/// How a file comes to be worlds.
#[derive(Clone, Copy)]
pub(super) enum Coming {
    /// With its ids: all of it.
    WithIds,
    /// With new ids: what has entities.
    Anew,
}

impl Deref for SavedBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

pub(super) struct SavedWorld<'f> {
    /// 16 KiB chunks that a chunk of a new archetype has at least.
    pub(super) chunks_per_chunk: u32,
    /// Chunks of new archetypes grow.
    pub(super) chunks_grow: bool,
    /// What chunks begin with, each with the number of its chunk fragment.
    /// In the order of the fragments' numbers.
    pub(super) templates: SavedValues<'f>,
    /// Shared values, each with the number of its fragment.
    pub(super) shared: SavedValues<'f>,
    pub(super) archetypes: Vec<SavedArchetype<'f>>,
    pub(super) besides: SavedBesides<'f>,
}

pub(super) struct SavedArchetype<'f> {
    /// Numbers of fragments, ascending.
    pub(super) fragments: Vec<u32>,
    /// Fragments of it are left out, or not known.
    pub(super) is_cut: bool,
    /// 16 KiB chunks in one of its shortest chunks, at least.
    pub(super) run: u32,
    pub(super) grows: bool,
    /// What its chunks begin with, each with the number of its chunk fragment.
    pub(super) templates: SavedValues<'f>,
    pub(super) chunks: Vec<SavedChunk>,
}

impl SavedArchetype<'_> {
    /// Some entity has it.
    pub(super) fn is_inhabited(&self) -> bool {
        self.chunks.iter().any(|chunk| chunk.len > 0)
    }

    /// Without something nobody comes to have it but those who had it.
    pub(super) fn comes(&self) -> bool {
        !self.is_cut || self.is_inhabited()
    }
}

pub(super) struct SavedChunk {
    /// Where its bytes begin in the file.
    pub(super) at: usize,
    pub(super) bytes: usize,
    pub(super) len: u32,
    /// Where its handles begin among those of all chunks.
    handles: usize,
    /// 16 KiB chunks that it had.
    pub(super) run: u32,
    /// Its place in the list of chunks with room that have the same shared values, or `FULL_CHUNK`.
    pub(super) place: u32,
    /// Numbers of shared values, in the order of the archetype's fragments.
    pub(super) shared: Vec<u32>,
    /// Numbers of fragments whose values are written, ascending, and bytes of each one's column.
    written: Vec<(u32, usize)>,
    checksum: u64,
    /// By fragments' numbers: values that are others here than in the file.
    pub(super) converted: Vec<(u32, Vec<u8>)>,
}

impl SavedChunk {
    /// Bytes of the values of a fragment with this number, if they are written.
    pub(super) fn written(&self, number: u32) -> usize {
        let found = self.written.binary_search_by_key(&number, |&(of, _)| of);
        found.map_or(0, |at| self.written[at].1)
    }

    /// Bytes that it has of a fragment with this number.
    pub(super) fn bytes_of(&self, number: u32, fragment: &SavedFragment) -> usize {
        let bytes = fragment.bytes_in(self.len);
        match fragment.is_written {
            true => bytes + self.written(number),
            false => bytes,
        }
    }

    /// The values of a fragment, or the one that the chunk has, if they are others here than in the file.
    pub(super) fn converted(&self, fragment: u32) -> Option<&[u8]> {
        let mut converted = self.converted.iter();
        let found = converted.find(|(number, _)| *number == fragment);
        found.map(|(_, values)| &**values)
    }
}

impl<'f> Saved<'f> {
    /// Reads and checks a whole file.
    pub(super) fn read(
        file: &'f [u8],
        registry: &FragmentRegistry,
        options: &LoadOptions,
        coming: Coming,
    ) -> Result<Self, SnapshotError> {
        let header = Header::read(file, file.len() as u64)?;
        let directory = &file[header.directory as usize..];
        let known = Some((registry, options));
        let mut saved = Self::of_directory(header, directory, Some(file), known)?;
        saved.check_types(registry)?;
        saved.check_chunks()?;
        saved.check_written()?;
        saved.check_switches()?;
        saved.check_handles()?;
        if matches!(coming, Coming::WithIds) && saved.versions.is_none() {
            return Err(SnapshotError::DeadSkipped);
        }
        saved.convert(registry, options, coming)?;
        let besides = saved.worlds.iter_mut().map(|world| &mut world.besides);
        besides.for_each(|besides| besides.ignore_fields(options));
        Ok(saved)
    }

    /// Reads and checks a whole file, for who looks at its bytes and makes no values of them: all fragments are taken for
    /// known.
    pub(super) fn whole(file: &'f [u8]) -> Result<Self, SnapshotError> {
        let header = Header::read(file, file.len() as u64)?;
        let directory = &file[header.directory as usize..];
        let mut saved = Self::of_directory(header, directory, Some(file), None)?;
        saved.check_chunks()?;
        saved.check_written()?;
        saved.check_handles()?;
        saved.order = FragmentOrder::of(&saved.fragments);
        Ok(saved)
    }

    /// The keys of all fragments, of a file that was read [as a whole](Self::whole).
    pub(super) fn keys(&self) -> FragmentKeys<'_> {
        FragmentKeys::OfFile(&self.fragments, &self.order)
    }

    /// Reads and checks a directory, for who makes nothing of it: all fragments are taken for known, the file is not
    /// there, nor are its versions and handles.
    pub(super) fn told(header: Header, directory: &'f [u8]) -> Result<Self, SnapshotError> {
        Self::of_directory(header, directory, None, None)
    }

    /// Reads a directory, and the versions of the whole file, if it is there; finds the fragments that are registered.
    fn of_directory(
        header: Header,
        directory: &'f [u8],
        whole: Option<&'f [u8]>,
        known: Option<(&FragmentRegistry, &LoadOptions)>,
    ) -> Result<Self, SnapshotError> {
        let what = "the directory's checksum is wrong";
        verify(directory, header.directory_checksum, header.directory, what)?;
        let mut reader = Reader::new(directory, header.directory);
        let checksum = reader.u64("the directory ends early")?;
        let mut saved = Self {
            file: &[],
            versions: None,
            fragments: Vec::new(),
            order: FragmentOrder::default(),
            worlds: Vec::new(),
            handles: Vec::new(),
            entities: None,
            as_they_were: EntityMap::default().keeping_others(),
            is_lavish: false,
        };
        match whole {
            None => are_slots(header)?,
            Some(file) => {
                saved.file = file;
                saved.versions = versions(file, header, checksum)?;
            }
        }
        saved.fragments = read_fragments(&mut reader, header, known)?;
        let mut at = Header::BYTES as u64 + 4 * header.slots.unwrap_or(0);
        for _ in 0..reader.u32("the directory ends early")? {
            let mut world = saved.read_world(&mut reader, &mut at, header.directory)?;
            if header.has_besides() {
                world.besides = SavedBesides::read(&mut reader, header.has_shapes())?;
                if let Some((_, options)) = known {
                    world.besides.leave_out(options);
                }
            }
            saved.worlds.push(world);
        }
        if at != header.directory {
            let what = "something stands behind the chunks";
            return Err(SnapshotError::Damaged { what, at });
        }
        if !reader.is_done() {
            return Err(reader.damaged("something stands behind the directory"));
        }
        Ok(saved)
    }

    /// Reads a world, whose chunks begin at `at` and end before `end`.
    fn read_world(
        &self,
        reader: &mut Reader<'f>,
        at: &mut u64,
        end: u64,
    ) -> Result<SavedWorld<'f>, SnapshotError> {
        let mut world = SavedWorld {
            chunks_per_chunk: chunk_size(reader)?,
            chunks_grow: yes_or_no(reader)?,
            templates: Vec::new(),
            shared: Vec::new(),
            archetypes: Vec::new(),
            besides: SavedBesides::default(),
        };
        let what = "a chunk begins with a value of no chunk fragment";
        world.templates = self.read_values(reader, |of| of.kind == FragmentKind::Chunk, what)?;
        if !world.templates.is_sorted_by(|one, next| one.0 < next.0) {
            return Err(reader.damaged("what chunks begin with is in no order"));
        }
        // Of a fragment that is not known there is nothing to begin with.
        world
            .templates
            .retain(|(fragment, _)| self.fragments[*fragment as usize].known.is_some());
        let what = "a shared value is of no shared fragment";
        let is_wanted =
            |of: &SavedFragment| is_shared(of.kind) && (of.known.is_some() || of.skipped);
        world.shared = self.read_values(reader, is_wanted, what)?;
        for _ in 0..reader.u32("the directory ends early")? {
            let archetype = self.read_archetype(reader, &world, at, end)?;
            world.archetypes.push(archetype);
        }
        share_runs(
            &mut world.archetypes,
            &self.fragments,
            world.chunks_per_chunk,
        );
        Ok(world)
    }

    /// Reads values of fragments of some kind, each with the fragment's number.
    fn read_values(
        &self,
        reader: &mut Reader<'f>,
        is_wanted: impl Fn(&SavedFragment) -> bool,
        what: &'static str,
    ) -> Result<SavedValues<'f>, SnapshotError> {
        let mut values = Vec::new();
        for _ in 0..reader.u32("the directory ends early")? {
            let number = reader.u32("the directory ends early")?;
            let fragment = self.fragments.get(number as usize);
            let Some(fragment) = fragment.filter(|fragment| is_wanted(fragment)) else {
                return Err(reader.damaged(what));
            };
            let size = match fragment.is_written {
                true => reader.u32("the directory ends early")? as usize,
                false => fragment.size,
            };
            let at = reader.at();
            let value = reader.take(size, "the directory ends early")?;
            fragment.check_saved(value, at)?;
            values.push((number, SavedBytes::new(at, value)));
        }
        Ok(values)
    }

    fn read_archetype(
        &self,
        reader: &mut Reader<'f>,
        world: &SavedWorld<'f>,
        at: &mut u64,
        end: u64,
    ) -> Result<SavedArchetype<'f>, SnapshotError> {
        let mut archetype = SavedArchetype {
            fragments: Vec::new(),
            is_cut: false,
            run: 0,
            grows: false,
            templates: Vec::new(),
            chunks: Vec::new(),
        };
        for _ in 0..reader.u32("the directory ends early")? {
            let number = reader.u32("the directory ends early")?;
            let ascends = archetype.fragments.last().is_none_or(|&last| last < number);
            if !ascends || number as usize >= self.fragments.len() {
                return Err(reader.damaged("an archetype's fragments are no fragments"));
            }
            archetype.is_cut |= self.fragments[number as usize].known.is_none();
            archetype.fragments.push(number);
        }
        archetype.run = chunk_size(reader)?;
        archetype.grows = yes_or_no(reader)?;
        for &number in &archetype.fragments {
            let fragment = &self.fragments[number as usize];
            if fragment.kind == FragmentKind::Chunk {
                let at = reader.at();
                let value = reader.take(fragment.size, "the directory ends early")?;
                fragment.check_saved(value, at)?;
                archetype
                    .templates
                    .push((number, SavedBytes::new(at, value)));
            }
        }
        let form = ChunkForm::of(&archetype.fragments, &self.fragments);
        for _ in 0..reader.u32("the directory ends early")? {
            let chunk = read_chunk(reader, world, &form, *at, end)?;
            *at += chunk.bytes as u64;
            archetype.chunks.push(chunk);
        }
        if !are_places(&archetype.chunks) {
            return Err(reader.damaged("the list of an archetype's chunks with room is none"));
        }
        let Some(inhabited) = archetype.chunks.iter().find(|chunk| chunk.len > 0) else {
            return Ok(archetype);
        };
        for &number in &archetype.fragments {
            let fragment = &self.fragments[number as usize];
            if fragment.known.is_none() && !fragment.skipped {
                return Err(reader.damaged("an entity has a fragment that none has"));
            }
            if fragment.size == 0 {
                // There is nothing to look at when the rows come.
                fragment.check_saved(&[], inhabited.at as u64)?;
            }
        }
        Ok(archetype)
    }

    /// Whether all types are known whose values stand besides entities.
    fn check_types(&self, registry: &FragmentRegistry) -> Result<(), SnapshotError> {
        let types = self.worlds.iter().flat_map(|world| world.besides.types());
        let mut types = types.peekable();
        if types.peek().is_none() {
            return Ok(());
        }
        let known = forms_by_name(registry);
        let is_known = |name: &str| known.contains_key(name);
        let unknown: BTreeSet<Box<str>> = types
            .filter(|name| !is_known(name))
            .map(Into::into)
            .collect();
        match unknown.is_empty() {
            true => Ok(()),
            false => Err(SnapshotError::UnregisteredState {
                names: unknown.into_iter().collect(),
            }),
        }
    }

    /// Whether the bytes of all chunks are those that were written.
    fn check_chunks(&self) -> Result<(), SnapshotError> {
        let check = |chunk: &SavedChunk| {
            let bytes = &self.file[chunk.at..chunk.at + chunk.bytes];
            let what = "a chunk's checksum is wrong";
            verify(bytes, chunk.checksum, chunk.at as u64, what)
        };
        let archetypes = self.worlds.iter().flat_map(|world| &world.archetypes);
        let mut chunks = archetypes.flat_map(|data| &data.chunks);
        if self.file.len() < ALONE {
            return chunks.try_for_each(check);
        }
        fork_join::map(chunks.collect(), check)
            .into_iter()
            .collect()
    }

    /// Whether columns of values that are written have the lengths that they say.
    fn check_written(&self) -> Result<(), SnapshotError> {
        if !self.fragments.iter().any(SavedFragment::is_written_column) {
            return Ok(());
        }
        for archetype in self.worlds.iter().flat_map(|world| &world.archetypes) {
            let fragment = |number: u32| &self.fragments[number as usize];
            let mut written = archetype.fragments.iter().map(|&number| fragment(number));
            if !written.any(SavedFragment::is_written_column) {
                continue;
            }
            // Of tags there may be very many.
            let numbers = archetype.fragments.iter().copied();
            let numbers = numbers.filter(|&number| {
                let fragment = fragment(number);
                fragment.is_written_column() || fragment.bytes_in(1) > 0
            });
            let numbers: Vec<u32> = numbers.collect();
            for chunk in archetype.chunks.iter().filter(|chunk| chunk.len > 0) {
                let rows = chunk.len as usize;
                let mut at = chunk.at + size_of::<Entity>() * rows;
                for &number in &numbers {
                    let fragment = fragment(number);
                    let column = &self.file[at..][..chunk.written(number)];
                    if fragment.is_written_column() && !is_column(column, rows) {
                        return Err(SnapshotError::Damaged {
                            what: "the lengths of a fragment's values are not those of its column",
                            at: at as u64,
                        });
                    }
                    at += chunk.bytes_of(number, fragment);
                }
            }
        }
        Ok(())
    }

    /// Whether nobody has off what cannot be switched off here.
    fn check_switches(&self) -> Result<(), SnapshotError> {
        if !self.fragments.iter().any(|fragment| fragment.always_on) {
            return Ok(());
        }
        for archetype in self.worlds.iter().flat_map(|world| &world.archetypes) {
            for (at, &number) in archetype.fragments.iter().enumerate() {
                let fragment = &self.fragments[number as usize];
                if !fragment.always_on {
                    continue;
                }
                // What can be switched is no chunk fragment: its bits are the last of it.
                let form = ChunkForm::of(&archetype.fragments[..=at], &self.fragments);
                let are_on = |chunk: &SavedChunk| {
                    let end = chunk.at + form.bytes_of(chunk) as usize;
                    let bits = &self.file[end - bit_bytes(chunk.len.into()) as usize..end];
                    let (whole, rest) = bits.split_at(chunk.len as usize / 8);
                    let last = (1_u8 << (chunk.len % 8)) - 1;
                    let is_on = rest.first().is_none_or(|byte| byte & last == last);
                    is_on && whole.iter().all(|&byte| byte == u8::MAX)
                };
                if !archetype.chunks.iter().all(are_on) {
                    return Err(fragment.not_enableable());
                }
            }
        }
        Ok(())
    }

    /// Whether each entity that lives has one row.
    fn check_handles(&mut self) -> Result<(), SnapshotError> {
        let Some(versions) = self.versions.take() else {
            self.read_handles(|entity| {
                let is_slot = (entity.index() as usize) < EntityIndex::CAPACITY;
                is_slot && EntityIndex::is_version(entity.version())
            })?;
            return self.check_slots();
        };
        let mut missing: Vec<bool> = versions.iter().map(|version| version % 2 == 1).collect();
        let living = missing.iter().filter(|&&lives| lives).count();
        self.handles.reserve_exact(living);
        self.read_handles(|entity| {
            let slot = entity.index() as usize;
            versions.get(slot) == Some(&entity.version()) && core::mem::take(&mut missing[slot])
        })?;
        self.versions = Some(versions);
        match missing.iter().position(|&missing| missing) {
            None => Ok(()),
            Some(slot) => Err(SnapshotError::Damaged {
                what: "an entity lives and has no row",
                at: (Header::BYTES + 4 * slot) as u64,
            }),
        }
    }

    /// Reads the handles of all chunks, of whom each must live.
    fn read_handles(&mut self, mut lives: impl FnMut(Entity) -> bool) -> Result<(), SnapshotError> {
        let archetypes = self
            .worlds
            .iter_mut()
            .flat_map(|world| &mut world.archetypes);
        for chunk in archetypes.flat_map(|data| &mut data.chunks) {
            chunk.handles = self.handles.len();
            let (handles, _) = self.file[chunk.at..][..8 * chunk.len as usize].as_chunks::<8>();
            for (row, &[a, b, c, d, e, f, g, h]) in handles.iter().enumerate() {
                let index = u32::from_ne_bytes([a, b, c, d]);
                let entity = Entity::new(index, u32::from_ne_bytes([e, f, g, h]));
                let Some(entity) = entity.filter(|&entity| lives(entity)) else {
                    return Err(dead_or_twice(chunk.at + 8 * row));
                };
                self.handles.push(entity);
            }
        }
        Ok(())
    }

    /// Whether no two entities are of one slot.
    fn check_slots(&self) -> Result<(), SnapshotError> {
        let mut slots: Vec<u32> = self.handles.iter().map(|entity| entity.index()).collect();
        slots.sort_unstable();
        let twice = slots.windows(2).find(|pair| pair[0] == pair[1]);
        let Some(&[slot, _]) = twice else {
            return Ok(());
        };
        let of_slot = self.handles.iter().map(|entity| entity.index() == slot);
        let second = of_slot.enumerate().filter(|&(_, is_it)| is_it).nth(1);
        let second = second.map_or(0, |(at, _)| at);
        let chunks = self.worlds.iter().flat_map(|world| &world.archetypes);
        let chunk = chunks
            .flat_map(|data| &data.chunks)
            .find(|chunk| (chunk.handles..chunk.handles + chunk.len as usize).contains(&second));
        Err(dead_or_twice(
            chunk.map_or(0, |chunk| chunk.at + 8 * (second - chunk.handles)),
        ))
    }

    /// That one world was saved, and not several.
    pub(super) fn expect_one(&self) -> Result<(), SnapshotError> {
        match self.worlds.len() {
            1 => Ok(()),
            found => Err(SnapshotError::Worlds { found }),
        }
    }

    /// The value of a fragment that is known.
    pub(super) fn value(
        &self,
        registry: &FragmentRegistry,
        fragment: u32,
        value: &SavedBytes<'_>,
    ) -> Result<Value, SnapshotError> {
        self.value_of(registry, fragment, value, value.at)
    }

    /// The value of bytes that are from `at` in the file, or were made of those that are.
    fn value_of(
        &self,
        registry: &FragmentRegistry,
        fragment: u32,
        bytes: &[u8],
        at: u64,
    ) -> Result<Value, SnapshotError> {
        let fragment = &self.fragments[fragment as usize];
        let Some(id) = fragment.known else {
            unreachable!("what entities have is known")
        };
        // A copy: somebody may change the file.
        let mut bytes = bytes.to_vec();
        if let Some(info) = registry.get(id).filter(|_| fragment.is_written) {
            let value = Value::read(info, &bytes, self.meant());
            return value.map_err(|reason| fragment.not_read(at, reason));
        }
        self.bring(fragment, &mut bytes, at as usize)?;
        Ok(Value::from_bytes(registry, id, &bytes).map_err(WorldError::from)?)
    }

    /// The value that new chunks of an archetype begin with, of a fragment that is known. If it names somebody who does
    /// not come, and is no value then: the one that the first of its chunks has.
    pub(super) fn first_value(
        &self,
        registry: &FragmentRegistry,
        archetype: &SavedArchetype<'_>,
        fragment: u32,
        bytes: &SavedBytes<'_>,
    ) -> Result<Value, SnapshotError> {
        let value = self.value(registry, fragment, bytes);
        let inhabited = archetype.chunks.iter().find(|chunk| chunk.len > 0);
        match (value, inhabited) {
            (Err(SnapshotError::NotAValue { .. }), Some(chunk)) if self.entities.is_some() => {
                let before = archetype.fragments.iter().copied();
                let before: Vec<u32> = before.take_while(|&number| number != fragment).collect();
                let before = ChunkForm::of(&before, &self.fragments).bytes_of(chunk);
                let at = chunk.at + before as usize;
                let size = self.fragments[fragment as usize].size;
                let converted = chunk.converted(fragment);
                let bytes = converted.unwrap_or_else(|| &self.file[at..][..size]);
                self.value_of(registry, fragment, bytes, at as u64)
            }
            (value, _) => value,
        }
    }

    /// Whom handles that the file has mean.
    pub(super) fn meant(&self) -> &EntityMap {
        self.entities.as_ref().unwrap_or(&self.as_they_were)
    }

    /// Sees to it that copied bytes, which are from `at` in the file, are values, and name the entities that are meant.
    pub(super) fn bring(
        &self,
        fragment: &SavedFragment,
        bytes: &mut [u8],
        at: usize,
    ) -> Result<(), SnapshotError> {
        fragment.check(bytes, at as u64)?;
        if let Some(entities) = &self.entities
            && fragment.map(bytes, entities)
        {
            // A type may want more of a value than that it names somebody.
            fragment.check(bytes, at as u64)?;
        }
        Ok(())
    }

    /// The handles of a chunk.
    pub(super) fn handles(&self, chunk: &SavedChunk) -> &[Entity] {
        &self.handles[chunk.handles..][..chunk.len as usize]
    }
}

/// Where several archetypes have become one composition, because some fragments are left out now, or were when the
/// world was saved, all come to chunks of one length at least: the least that any of them says. One that lacks something
/// says no more than the world's chunks are `set` to, for its own may have been longer for the sake of that.
fn share_runs(archetypes: &mut [SavedArchetype<'_>], fragments: &[SavedFragment], set: u32) {
    for archetype in archetypes.iter_mut().filter(|archetype| archetype.is_cut) {
        archetype.run = archetype.run.min(set);
    }
    let known = |of: &usize| {
        let numbers = archetypes[*of].fragments.iter();
        numbers.filter(|&&number| fragments[number as usize].known.is_some())
    };
    let mut order: Vec<usize> = (0..archetypes.len())
        .filter(|&at| archetypes[at].comes())
        .collect();
    order.sort_by(|one, other| known(one).cmp(known(other)));
    let mut runs: Vec<u32> = Vec::with_capacity(order.len());
    for same in order.chunk_by(|one, other| known(one).eq(known(other))) {
        let least = same.iter().map(|&at| archetypes[at].run).min();
        runs.extend(core::iter::repeat_n(least.unwrap_or(1), same.len()));
    }
    for (at, run) in order.into_iter().zip(runs) {
        archetypes[at].run = run;
    }
}

/// Reads a chunk, whose bytes begin at `at` and end before `end`. O(bytes of it in the directory).
fn read_chunk(
    reader: &mut Reader<'_>,
    world: &SavedWorld<'_>,
    form: &ChunkForm,
    at: u64,
    end: u64,
) -> Result<SavedChunk, SnapshotError> {
    let len = reader.u32("the directory ends early")?;
    let run = chunk_size(reader)?;
    let place = reader.u32("the directory ends early")?;
    let mut shared = Vec::new();
    for &number in &form.shared {
        let value = reader.u32("the directory ends early")?;
        match world.shared.get(value as usize) {
            Some((of, _)) if *of == number => shared.push(value),
            _ => return Err(reader.damaged("a chunk's shared value is of another fragment")),
        }
    }
    let mut written = Vec::with_capacity(form.written.len());
    let mut bytes = form.bytes(len);
    for &number in &form.written {
        let column = reader.u64("the directory ends early")?;
        if column < u64::from(len) * LENGTH as u64 || (len == 0 && column > 0) {
            return Err(reader.damaged("a column is shorter than the lengths of its values"));
        }
        bytes = bytes.saturating_add(column);
        // What does not fit is longer than the file: see below.
        written.push((number, usize::try_from(column).unwrap_or(usize::MAX)));
    }
    let checksum = reader.u64("the directory ends early")?;
    // One without entities waits for whoever comes; shared values go with the last who has them.
    if bytes > end - at || (len == 0 && !shared.is_empty()) {
        let what = "a chunk is longer than the file, or has shared values and is empty";
        return Err(reader.damaged(what));
    }
    Ok(SavedChunk {
        at: at as usize,
        bytes: bytes as usize,
        len,
        handles: 0,
        run,
        place,
        shared,
        written,
        checksum,
        converted: Vec::new(),
    })
}

fn dead_or_twice(at: usize) -> SnapshotError {
    SnapshotError::Damaged {
        what: "a handle is dead, or stands there twice",
        at: at as u64,
    }
}

/// Whether each chunk with room has a place of its own in the list of those that have the same shared values, without
/// gaps.
fn are_places(chunks: &[SavedChunk]) -> bool {
    let mut lists: HashMap<&[u32], Vec<u32>> = HashMap::new();
    for chunk in chunks.iter().filter(|chunk| chunk.place != FULL_CHUNK) {
        lists.entry(&chunk.shared).or_default().push(chunk.place);
    }
    lists.values_mut().all(|places| {
        places.sort_unstable();
        places.iter().copied().eq(0..places.len() as u32)
    })
}

/// Whether entities have one value together.
pub(super) fn is_shared(kind: FragmentKind) -> bool {
    matches!(kind, FragmentKind::Shared | FragmentKind::ConstShared)
}

/// How many chunks of 16 KiB a chunk has.
fn chunk_size(reader: &mut Reader<'_>) -> Result<u32, SnapshotError> {
    let damaged = reader.damaged("a chunk has 1 to 64 times 16 KiB");
    let chunks = reader.u32("the directory ends early")?;
    let there_are = (1..=crate::chunk::MEGACHUNK_CHUNKS as u32).contains(&chunks);
    if there_are { Ok(chunks) } else { Err(damaged) }
}

pub(super) fn yes_or_no(reader: &mut Reader<'_>) -> Result<bool, SnapshotError> {
    let damaged = reader.damaged("a yes or no is neither");
    match reader.u8("the directory ends early")? {
        byte @ (0 | 1) => Ok(byte == 1),
        _ => Err(damaged),
    }
}

/// Whether no more versions are told of than there are slots.
fn are_slots(header: Header) -> Result<(), SnapshotError> {
    match header.slots.unwrap_or(0) > EntityIndex::CAPACITY as u64 {
        false => Ok(()),
        true => Err(SnapshotError::Damaged {
            what: "there are more versions than slots",
            at: Header::BYTES as u64,
        }),
    }
}

fn versions(file: &[u8], header: Header, checksum: u64) -> Result<Option<Vec<u32>>, SnapshotError> {
    let at = Header::BYTES;
    let slots = header.slots.unwrap_or(0);
    let bytes = &file[at..at + 4 * slots as usize];
    verify(
        bytes,
        checksum,
        at as u64,
        "the checksum of the versions is wrong",
    )?;
    are_slots(header)?;
    let (versions, _) = bytes.as_chunks::<4>();
    let versions: Vec<u32> = versions
        .iter()
        .map(|bytes| u32::from_le_bytes(*bytes))
        .collect();
    match versions
        .iter()
        .position(|&version| !EntityIndex::is_version(version))
    {
        None => Ok(header.slots.map(|_| versions)),
        Some(slot) => Err(SnapshotError::Damaged {
            what: "no slot has such a version",
            at: (at + 4 * slot) as u64,
        }),
    }
}

#[cfg(test)]
pub(super) mod tests;
