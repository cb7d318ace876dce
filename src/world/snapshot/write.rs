//! What a snapshot is written from, and how.

mod list;

use std::collections::HashMap;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use crate::archetype::{Archetype, Chunk, SharedId, read_bit};
use crate::entity::Entity;
use crate::fragment::{
    FragmentId, FragmentInfo, FragmentKind, FragmentSet, PlainVariant, WrittenForm,
};
use crate::world::World;
use crate::world::snapshot::besides::Besides;
use crate::world::snapshot::checksum::Checksum;
use crate::world::snapshot::format::{
    FORMAT, FULL_CHUNK, Header, WITH_VARIANTS, WITH_WRITTEN, kind_byte,
};
use crate::world::snapshot::options::Purpose;
use crate::world::snapshot::saved_worlds::SavedWorlds;
use crate::world::snapshot::written::{WrittenColumn, WrittenColumns};
use crate::world::snapshot::{SnapshotError, SnapshotOptions};

pub(super) use list::RowForm;

/// Bytes that are put together before they are written.
const BUFFER: usize = 64 << 10;

/// What is to be written.
pub(super) struct Snapshot<'w> {
    /// Of one universe.
    worlds: Vec<Part<'w>>,
    together: SavedWorlds<'w>,
    /// By name and role; their places here are their numbers in the file.
    fragments: Vec<&'w FragmentInfo>,
    /// Those that some entity has. Of the others the file says only what the compositions are that nobody has now.
    needed: FragmentSet,
    /// Those that could be switched off when the saving began: any thread may say so of others meanwhile.
    enableable: FragmentSet,
    numbers: HashMap<FragmentId, u32>,
    /// Without versions of slots.
    skip_dead: bool,
}

/// What of a world is to be written.
struct Part<'w> {
    world: &'w World,
    archetypes: Vec<(&'w Archetype, Vec<&'w FragmentInfo>)>,
    /// What chunks begin with: of fragments that some entity has, and else as far as it is a value.
    templates: Vec<(&'w FragmentInfo, &'w [u8])>,
    /// Each with its fragment.
    shared: Vec<(FragmentId, SharedId)>,
    shared_numbers: HashMap<SharedId, u32>,
    /// What closures have written, of all that are in the file.
    written: WrittenColumns,
    besides: Besides<'w>,
}

impl<'w> Snapshot<'w> {
    /// Of worlds of one universe, each there once.
    pub(super) fn of(
        worlds: &[&'w World],
        options: &SnapshotOptions,
    ) -> Result<Self, SnapshotError> {
        let together = SavedWorlds::of(worlds)?;
        let parts = worlds
            .iter()
            .map(|world| Part::of(world, &together, options));
        let mut worlds: Vec<Part<'_>> = parts.collect::<Result<_, _>>()?;
        let inhabited = worlds.iter().flat_map(Part::inhabited);
        let needed = inhabited.flat_map(|(_, infos)| infos).map(|info| info.id());
        let needed: FragmentSet = needed.collect();
        let mut fragments = fragments_of(&worlds, |data| data.entities > 0);
        if let Some(pair) = fragments.windows(2).find(|pair| is_ambiguous(pair)) {
            return Err(SnapshotError::ambiguous(pair[0], pair[1]));
        }
        // Compositions that nobody has are saved as far as they can be: what comes later finds them where they were.
        let all = fragments_of(&worlds, |_| true);
        if all.windows(2).any(is_ambiguous) {
            worlds.iter_mut().for_each(Part::leave_out_uninhabited);
        } else {
            fragments = all;
        }
        let numbers = fragments
            .iter()
            .zip(0..)
            .map(|(info, number)| (info.id(), number));
        let switches = fragments.iter().filter(|info| info.is_enableable());
        // Users' code decides that: before anything is written.
        for part in &mut worlds {
            let of_part = templates_of_world(part.world, &fragments);
            let saved =
                of_part.filter(|(info, value)| needed.contains(info.id()) || info.is_value(value));
            part.templates = saved.collect();
        }
        let snapshot = Self {
            enableable: switches.map(|info| info.id()).collect(),
            numbers: numbers.collect(),
            fragments,
            needed,
            worlds,
            together,
            skip_dead: options.skips_dead(),
        };
        snapshot
            .worlds
            .iter()
            .try_for_each(|part| part.check(&snapshot.needed))?;
        Ok(snapshot)
    }

    /// Writes all of it. Columns of small chunks, bits and handles are put together: each write is a call of the system.
    pub(super) fn write(&self, out: impl Write + Seek) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(BUFFER, out);
        out.write_all(&[0; Header::BYTES])?;
        let header = self.write_body(&mut out)?;
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&header.to_bytes())?;
        out.flush()
    }

    /// Writes all that comes behind the header, which says what that is.
    pub(super) fn write_body(&self, out: &mut impl Write) -> io::Result<Header> {
        let (header, directory) = self.write_chunks(out)?;
        out.write_all(&directory)?;
        Ok(header)
    }

    /// Writes what stands between the header and the directory; these two.
    fn write_chunks(&self, out: &mut impl Write) -> io::Result<(Header, Vec<u8>)> {
        let slots = if self.skip_dead { 0 } else { self.slots() };
        let mut directory = Vec::new();
        let mut at = Header::BYTES as u64 + 4 * u64::from(slots);
        directory.extend(self.write_versions(out, slots)?.to_le_bytes());
        let is_needed = |id| self.needed.contains(id);
        let format = format_of(&self.fragments);
        list_fragments(
            &mut directory,
            format,
            &self.fragments,
            is_needed,
            &self.enableable,
        );
        number(&mut directory, self.worlds.len());
        for part in &self.worlds {
            self.write_world(part, out, &mut directory, &mut at)?;
        }
        let header = Header {
            format,
            bytes: at + directory.len() as u64,
            directory: at,
            directory_checksum: Checksum::of(&directory),
            slots: (!self.skip_dead).then_some(slots.into()),
        };
        Ok((header, directory))
    }

    /// A world's chunks, from `at` on in the file, and its part of the directory.
    fn write_world(
        &self,
        part: &Part<'_>,
        out: &mut impl Write,
        directory: &mut Vec<u8>,
        at: &mut u64,
    ) -> io::Result<()> {
        number(directory, part.world.chunks_per_chunk);
        directory.push(part.world.chunks_grow.into());
        number(directory, part.templates.len());
        for (info, bytes) in &part.templates {
            directory.extend(self.numbers[&info.id()].to_le_bytes());
            directory.extend(*bytes);
        }
        number(directory, part.shared.len());
        for &(fragment, value) in &part.shared {
            let fragment = self.numbers[&fragment];
            directory.extend(fragment.to_le_bytes());
            let info = self.fragments[fragment as usize];
            write_shared(info, part.world.shared.get(value), &part.written, directory);
        }
        number(directory, part.archetypes.len());
        for (data, infos) in &part.archetypes {
            write_composition(data, infos, |id| self.numbers[&id], directory);
            number(directory, saved_chunks(data).count());
            let mut with_room = part.places_with_room(data, infos);
            for (position, chunk) in saved_chunks(data) {
                directory.extend(chunk.len.to_le_bytes());
                directory.extend(chunk.run.len().to_le_bytes());
                let place = with_room.remove(&position).unwrap_or(FULL_CHUNK);
                directory.extend(place.to_le_bytes());
                for value in part.key(data, infos, chunk.group) {
                    directory.extend(value.to_le_bytes());
                }
                for column in part.written_columns(data, chunk, infos) {
                    let bytes = column.map_or(0, WrittenColumn::file_bytes);
                    directory.extend(bytes.to_le_bytes());
                }
                let mut checksum = Checksum::new();
                let what = (*data, chunk, &infos[..], &part.written);
                pieces(what, &self.enableable, |bytes| {
                    checksum.add(bytes);
                    *at += bytes.len() as u64;
                    out.write_all(bytes)
                })?;
                directory.extend(checksum.finish().to_le_bytes());
            }
        }
        part.besides.write(directory);
        Ok(())
    }

    /// Slots up to the last one that ever had an entity.
    fn slots(&self) -> u32 {
        let Some(part) = self.worlds.first() else {
            return 0;
        };
        let index = part.world.universe().index();
        let used = |slot: &u32| index.slot_version(*slot) != 0;
        (0..index.slots_used())
            .rev()
            .find(used)
            .map_or(0, |last| last + 1)
    }

    /// Writes the versions of so many slots; their checksum.
    fn write_versions(&self, out: &mut impl Write, slots: u32) -> io::Result<u64> {
        let mut checksum = Checksum::new();
        let mut bytes = Vec::with_capacity(BUFFER);
        for slot in 0..slots {
            let index = self.worlds[0].world.universe().index();
            let version = index.slot_version(slot);
            let version = match Entity::new(slot, version) {
                // Of another world, or not built: in the loaded world it is dead.
                Some(entity) if !self.together.have(entity) => version + 1,
                _ => version,
            };
            bytes.extend(version.to_le_bytes());
            if bytes.len() == BUFFER || slot + 1 == slots {
                checksum.add(&bytes);
                out.write_all(&bytes)?;
                bytes.clear();
            }
        }
        Ok(checksum.finish())
    }
}

impl<'w> Part<'w> {
    /// One of the worlds that are saved.
    fn of(
        world: &'w World,
        together: &SavedWorlds<'w>,
        options: &SnapshotOptions,
    ) -> Result<Self, SnapshotError> {
        let archetypes = world.archetypes.iter().filter_map(|data| {
            let infos = options.of_archetype(world, data, Purpose::Save);
            if data.entities > 0 {
                return Some(infos.map(|infos| (data, infos)));
            }
            // One that nobody has is saved as it is, or not at all.
            let infos = infos.ok().filter(|infos| {
                let mut templates = templates_of(data, infos);
                infos.len() == data.ids.len() && templates.all(|(info, value)| info.is_value(value))
            });
            infos.map(|infos| Ok((data, infos)))
        });
        let mut part = Self {
            world,
            archetypes: archetypes.collect::<Result<_, SnapshotError>>()?,
            templates: Vec::new(),
            shared: Vec::new(),
            shared_numbers: HashMap::new(),
            written: WrittenColumns::default(),
            besides: Besides::of(world, (together, options))?,
        };
        part.number_shared();
        let archetypes = part.archetypes.iter();
        let archetypes = archetypes.map(|(data, infos)| (*data, &infos[..]));
        part.written = WrittenColumns::of(world, archetypes)?;
        Ok(part)
    }

    /// Those that some entity has.
    fn inhabited(&self) -> impl Iterator<Item = &(&'w Archetype, Vec<&'w FragmentInfo>)> {
        let all = self.archetypes.iter();
        all.filter(|(data, _)| data.entities > 0)
    }

    fn leave_out_uninhabited(&mut self) {
        self.archetypes.retain(|(data, _)| data.entities > 0);
    }

    /// The numbers of the shared values of a group, in the order of the archetype's fragments.
    fn key(&self, data: &Archetype, infos: &[&FragmentInfo], group: u32) -> Vec<u32> {
        let key = &data.groups[group as usize].key;
        let values = infos.iter().filter_map(|info| data.shared_at(info.id()));
        values.map(|at| self.shared_numbers[&key[at]]).collect()
    }

    /// Where chunks that are saved stand in the list of those with room, by their positions. It is that of all groups
    /// that have the same values in the file, where some may be skipped.
    fn places_with_room(&self, data: &Archetype, infos: &[&FragmentInfo]) -> HashMap<u32, u32> {
        let mut places = HashMap::new();
        let mut taken: HashMap<Vec<u32>, u32> = HashMap::new();
        for (number, group) in (0..).zip(&data.groups) {
            let open = group.open.iter().copied();
            let saved: Vec<u32> = open
                .filter(|&position| is_saved(data, &data.chunks[position as usize]))
                .collect();
            if saved.is_empty() {
                continue;
            }
            let next = taken.entry(self.key(data, infos, number)).or_default();
            for position in saved {
                places.insert(position, *next);
                *next += 1;
            }
        }
        places
    }

    /// The columns of a chunk that are written, in the order of the archetype's fragments; `None` if it has no entities.
    fn written_columns<'s>(
        &'s self,
        data: &'s Archetype,
        chunk: &'s Chunk,
        infos: &'s [&'w FragmentInfo],
    ) -> impl Iterator<Item = Option<&'s WrittenColumn>> {
        let written = infos.iter().filter(|info| info.is_written());
        written.filter_map(move |info| {
            let column = data.columns[data.column_of(info.id())?];
            Some(self.written.column(chunk.array(column.offset), info.id()))
        })
    }

    /// Gives a number to each shared value that some entity has.
    fn number_shared(&mut self) {
        for (data, infos) in &self.archetypes {
            for chunk in data.chunks.iter().filter(|chunk| chunk.len > 0) {
                let key = &data.groups[chunk.group as usize].key;
                for info in infos {
                    let Some(at) = data.shared_at(info.id()) else {
                        continue;
                    };
                    let next = self.shared.len() as u32;
                    self.shared_numbers.entry(key[at]).or_insert_with(|| {
                        self.shared.push((info.id(), key[at]));
                        next
                    });
                }
            }
        }
    }

    /// Whether all values, of those of which not all bytes are one, will be taken for values when they are loaded.
    fn check(&self, needed: &FragmentSet) -> Result<(), SnapshotError> {
        let asking = |info: &&FragmentInfo| info.which_are_values().is_some();
        let unloadable = |info: &FragmentInfo, entity| SnapshotError::Unloadable {
            name: info.name().into(),
            entity,
        };
        for (data, infos) in &self.archetypes {
            for info in infos.iter().copied().filter(asking) {
                for chunk in data.chunks.iter().filter(|chunk| chunk.len > 0) {
                    if let Some(row) = self.wrong_row(data, chunk, info) {
                        return Err(unloadable(info, Some(chunk.entities()[row])));
                    }
                }
            }
        }
        let wrong = |(info, bytes): &(&FragmentInfo, &[u8])| !info.is_value(bytes);
        let of_archetypes = self.archetypes.iter();
        let of_archetypes = of_archetypes.flat_map(|(data, infos)| templates_of(data, infos));
        let last = self.templates.iter().copied();
        let last = last.filter(|(info, _)| needed.contains(info.id()));
        if let Some((info, _)) = last.chain(of_archetypes).find(wrong) {
            return Err(unloadable(info, None));
        }
        Ok(())
    }

    /// The first row of a chunk whose value of a fragment, or all of whose, would not be loaded.
    fn wrong_row(&self, data: &Archetype, chunk: &Chunk, info: &FragmentInfo) -> Option<usize> {
        let which = info.which_are_values()?;
        let size = info.layout().size();
        if let Some(at) = data.column_of(info.id()) {
            let column = chunk.array(data.columns[at].offset);
            // SAFETY: plain values of this size, one a row; those without one have no column.
            let bytes = unsafe { bytes_of(column, chunk.len as usize * size) };
            return which.first_other(bytes, size);
        }
        let value = match data.shared_at(info.id()) {
            Some(at) => self.world.shared_at(data, chunk, at),
            None => match data.chunk_value_of(info.id()) {
                Some(value) => chunk.array(value.offset).cast_const(),
                // A tag.
                None => core::ptr::null(),
            },
        };
        // SAFETY: a plain value of this fragment, or none of its bytes.
        let bytes = unsafe { bytes_of(value, size) };
        (!which.has(bytes)).then_some(0)
    }
}

/// The format of a file with these fragments.
pub(super) fn format_of(fragments: &[&FragmentInfo]) -> u32 {
    let of_fragment = |info: &&FragmentInfo| match info.told_variants() {
        [] if info.is_written() => WITH_WRITTEN,
        [] => FORMAT,
        _ => WITH_VARIANTS,
    };
    fragments.iter().map(of_fragment).max().unwrap_or(FORMAT)
}

/// A shared value of a fragment: as it lies in memory, or what was written of it.
pub(super) fn write_shared(
    info: &FragmentInfo,
    value: *const u8,
    written: &WrittenColumns,
    directory: &mut Vec<u8>,
) {
    if info.is_written() {
        WrittenForm::append(written.shared(value, info.id()), directory);
        return;
    }
    // SAFETY: a plain value of this fragment.
    directory.extend(unsafe { bytes_of(value, info.layout().size()) });
}

/// The fragments of a file of this format, of which some are needed: an entity has them.
pub(super) fn list_fragments(
    directory: &mut Vec<u8>,
    format: u32,
    fragments: &[&FragmentInfo],
    is_needed: impl Fn(FragmentId) -> bool,
    enableable: &FragmentSet,
) {
    number(directory, fragments.len());
    for info in fragments {
        directory.push(kind_byte(info.kind()));
        directory.push(is_needed(info.id()).into());
        directory.push(enableable.contains(info.id()).into());
        number(directory, info.layout().align());
        directory.extend((info.layout().size() as u64).to_le_bytes());
        directory.extend(info.shape().to_le_bytes());
        if format >= WITH_WRITTEN {
            directory.push(info.is_written().into());
        }
        number(directory, info.name().len());
        directory.extend(info.name().as_bytes());
        if format >= WITH_VARIANTS {
            list_variants(directory, info.told_variants());
        }
    }
}

/// The variants of an enum, each with its value.
fn list_variants(directory: &mut Vec<u8>, variants: &[PlainVariant]) {
    number(directory, variants.len());
    for variant in variants {
        number(directory, variant.name().len());
        directory.extend(variant.name().as_bytes());
        directory.extend(variant.bytes());
    }
}

/// What chunks of a world begin with, of the chunk fragments among these.
pub(super) fn templates_of_world<'w>(
    world: &'w World,
    fragments: &[&'w FragmentInfo],
) -> impl Iterator<Item = (&'w FragmentInfo, &'w [u8])> {
    fragments.iter().filter_map(|&info| {
        if info.kind() != FragmentKind::Chunk {
            return None;
        }
        let template = world.templates.get(&info.id())?;
        // SAFETY: a plain value of this fragment.
        let bytes = unsafe { bytes_of(template.as_ptr(), info.layout().size()) };
        Some((info, bytes))
    })
}

/// The fragments of some of the archetypes, by name and role.
fn fragments_of<'w>(
    worlds: &[Part<'w>],
    is_meant: impl Fn(&Archetype) -> bool,
) -> Vec<&'w FragmentInfo> {
    let archetypes = worlds.iter().flat_map(|part| &part.archetypes);
    let meant = archetypes.filter(|(data, _)| is_meant(data));
    let mut fragments: Vec<&FragmentInfo> = meant.flat_map(|(_, infos)| infos).copied().collect();
    // By number first: most stand there once for each archetype that has them.
    fragments.sort_unstable_by_key(|info| info.id());
    fragments.dedup_by_key(|info| info.id());
    fragments.sort_by(|a, b| (a.name(), a.kind()).cmp(&(b.name(), b.kind())));
    fragments
}

/// Whether two fragments are known by one name and role.
pub(super) fn is_ambiguous(pair: &[&FragmentInfo]) -> bool {
    (pair[0].name(), pair[0].kind()) == (pair[1].name(), pair[1].kind())
}

/// What new chunks of an archetype begin with, of the chunk fragments among these, in their order.
pub(super) fn templates_of<'s, 'w>(
    data: &'s Archetype,
    infos: &'s [&'w FragmentInfo],
) -> impl Iterator<Item = (&'w FragmentInfo, &'s [u8])> {
    infos.iter().filter_map(|&info| {
        let value = data.chunk_value_of(info.id())?;
        // SAFETY: a plain value of this fragment.
        let bytes = unsafe { bytes_of(value.template.as_ptr(), info.layout().size()) };
        Some((info, bytes))
    })
}

/// What a composition's part of the directory begins with: its fragments, how long its chunks are, and with what they begin.
pub(super) fn write_composition(
    data: &Archetype,
    infos: &[&FragmentInfo],
    number_of: impl Fn(FragmentId) -> u32,
    directory: &mut Vec<u8>,
) {
    number(directory, infos.len());
    for info in infos {
        directory.extend(number_of(info.id()).to_le_bytes());
    }
    directory.extend(data.run.to_le_bytes());
    directory.push(data.grows.into());
    for (_, bytes) in templates_of(data, infos) {
        directory.extend(bytes);
    }
}

/// Whether a chunk stands in the file: also one that waits for whoever comes next.
fn is_saved(data: &Archetype, chunk: &Chunk) -> bool {
    chunk.len > 0 || (data.shared.is_empty() && data.chunk_values.is_empty())
}

/// The chunks that stand in the file, with their positions.
fn saved_chunks(data: &Archetype) -> impl Iterator<Item = (u32, &Chunk)> {
    let chunks = (0..).zip(data.chunks.iter());
    chunks.filter(|(_, chunk)| is_saved(data, chunk))
}

/// The bytes of a chunk, piece by piece: see `format`.
fn pieces(
    (data, chunk, infos, written): (&Archetype, &Chunk, &[&FragmentInfo], &WrittenColumns),
    enableable: &FragmentSet,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let len = chunk.len as usize;
    // SAFETY: a handle is eight bytes, all of them written.
    write(unsafe { bytes_of(chunk.handles().cast(), len * size_of::<Entity>()) })?;
    for info in infos {
        if let Some(at) = data.column_of(info.id()) {
            let column = data.columns[at];
            let first = chunk.array(column.offset);
            if info.is_written() {
                if let Some(column) = written.column(first, info.id()) {
                    write(&column.lengths())?;
                    write(&column.bytes)?;
                }
            } else {
                // SAFETY: plain values of this size, one a row.
                write(unsafe { bytes_of(first, len * column.size as usize) })?;
            }
        }
        if enableable.contains(info.id()) {
            write(&bits(data, chunk, info.id()))?;
        }
        if let Some(value) = data.chunk_value_of(info.id()) {
            let value = chunk.array(value.offset);
            // SAFETY: a plain value of this fragment.
            write(unsafe { bytes_of(value, info.layout().size()) })?;
        }
    }
    Ok(())
}

/// The enabled bits of a chunk's rows; set where the archetype has none for this fragment.
fn bits(data: &Archetype, chunk: &Chunk, id: FragmentId) -> Vec<u8> {
    let mut words = vec![0_u64; chunk.len.div_ceil(64) as usize];
    let bits = data.enabled_of(id);
    for row in 0..chunk.len {
        // SAFETY: a row of the chunk.
        let on = bits.is_none_or(|bits| unsafe { read_bit(chunk.array(bits.offset), row) });
        words[row as usize / 64] |= u64::from(on) << (row % 64);
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(super) fn number(directory: &mut Vec<u8>, number: usize) {
    directory.extend((number as u32).to_le_bytes());
}

/// # Safety
/// `count` bytes at `first`, all of them written, which nobody changes for `'a`.
pub(super) unsafe fn bytes_of<'a>(first: *const u8, count: usize) -> &'a [u8] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's.
    unsafe { core::slice::from_raw_parts(first, count) }
}

#[cfg(test)]
mod tests;
