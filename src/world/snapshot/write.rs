//! What a snapshot is written from, and how.

use core::ptr;
use std::collections::HashMap;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Arc;

use crate::archetype::{Archetype, Chunk, SharedId, read_bit};
use crate::entity::Entity;
use crate::fragment::{FragmentId, FragmentInfo, FragmentKind, FragmentSet};
use crate::world::World;
use crate::world::snapshot::checksum::Checksum;
use crate::world::snapshot::format::{Header, kind_byte};
use crate::world::snapshot::options::Purpose;
use crate::world::snapshot::{SnapshotError, SnapshotOptions};

/// Bytes that are put together before they are written.
const BUFFER: usize = 64 << 10;

/// What is to be written.
pub(super) struct Snapshot<'w> {
    /// Of one universe.
    worlds: Vec<Part<'w>>,
    /// By name and role; their places here are their numbers in the file.
    fragments: Vec<&'w FragmentInfo>,
    /// Those that could be switched off when the saving began: any thread may say so of others meanwhile.
    enableable: FragmentSet,
    numbers: HashMap<FragmentId, u32>,
}

/// What of a world is to be written.
struct Part<'w> {
    world: &'w World,
    archetypes: Vec<(&'w Archetype, Vec<&'w FragmentInfo>)>,
    /// Each with its fragment.
    shared: Vec<(FragmentId, SharedId)>,
    shared_numbers: HashMap<SharedId, u32>,
}

impl<'w> Snapshot<'w> {
    /// Of worlds of one universe, each there once.
    pub(super) fn of(
        worlds: &[&'w World],
        options: &SnapshotOptions,
    ) -> Result<Self, SnapshotError> {
        for (at, world) in worlds.iter().enumerate() {
            if !Arc::ptr_eq(world.universe(), worlds[0].universe()) {
                return Err(SnapshotError::OtherUniverse);
            }
            if worlds[..at].iter().any(|other| ptr::eq(*other, *world)) {
                return Err(SnapshotError::WorldTwice);
            }
        }
        let parts = worlds.iter().map(|world| Part::of(world, options));
        let worlds: Vec<Part<'_>> = parts.collect::<Result<_, _>>()?;
        let archetypes = worlds.iter().flat_map(|part| &part.archetypes);
        let mut fragments: Vec<&FragmentInfo> =
            archetypes.flat_map(|(_, infos)| infos).copied().collect();
        let key = |info: &FragmentInfo| (Box::<str>::from(info.name()), info.kind(), info.id());
        fragments.sort_by_cached_key(|info| key(info));
        fragments.dedup_by_key(|info| info.id());
        let same = |pair: &&[&FragmentInfo]| {
            (pair[0].name(), pair[0].kind()) == (pair[1].name(), pair[1].kind())
        };
        if let Some(pair) = fragments.windows(2).find(same) {
            return Err(SnapshotError::Ambiguous {
                name: pair[0].name().into(),
                kind: pair[0].kind(),
            });
        }
        let numbers = fragments
            .iter()
            .zip(0..)
            .map(|(info, number)| (info.id(), number));
        let switches = fragments.iter().filter(|info| info.is_enableable());
        let snapshot = Self {
            enableable: switches.map(|info| info.id()).collect(),
            numbers: numbers.collect(),
            fragments,
            worlds,
        };
        snapshot
            .worlds
            .iter()
            .try_for_each(|part| part.check(&snapshot.fragments))?;
        Ok(snapshot)
    }

    pub(super) fn write(&self, out: &mut (impl Write + Seek)) -> io::Result<()> {
        out.write_all(&[0; Header::BYTES])?;
        let slots = self.slots();
        let mut directory = Vec::new();
        let mut at = Header::BYTES as u64 + 4 * u64::from(slots);
        directory.extend(self.write_versions(out, slots)?.to_le_bytes());
        self.list_fragments(&mut directory);
        number(&mut directory, self.worlds.len());
        for part in &self.worlds {
            self.write_world(part, out, &mut directory, &mut at)?;
        }
        out.write_all(&directory)?;
        let header = Header {
            bytes: at + directory.len() as u64,
            directory: at,
            directory_checksum: Checksum::of(&directory),
            slots: slots.into(),
        };
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&header.to_bytes())?;
        out.flush()
    }

    /// The fragments.
    fn list_fragments(&self, directory: &mut Vec<u8>) {
        number(directory, self.fragments.len());
        for info in &self.fragments {
            directory.push(kind_byte(info.kind()));
            directory.push(self.enableable.contains(info.id()).into());
            number(directory, info.layout().align());
            directory.extend((info.layout().size() as u64).to_le_bytes());
            number(directory, info.name().len());
            directory.extend(info.name().as_bytes());
        }
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
        let templates: Vec<_> = part.templates(&self.fragments).collect();
        number(directory, templates.len());
        for (info, bytes) in templates {
            directory.extend(self.numbers[&info.id()].to_le_bytes());
            directory.extend(bytes);
        }
        number(directory, part.shared.len());
        for &(fragment, value) in &part.shared {
            let fragment = self.numbers[&fragment];
            directory.extend(fragment.to_le_bytes());
            let size = self.fragments[fragment as usize].layout().size();
            // SAFETY: a plain value of this fragment.
            directory.extend(unsafe { bytes_of(part.world.shared.get(value), size) });
        }
        number(directory, part.archetypes.len());
        for (data, infos) in &part.archetypes {
            number(directory, infos.len());
            for info in infos {
                directory.extend(self.numbers[&info.id()].to_le_bytes());
            }
            directory.extend(data.run.to_le_bytes());
            directory.push(data.grows.into());
            let chunks = || data.chunks.iter().filter(|chunk| chunk.len > 0);
            number(directory, chunks().count());
            for chunk in chunks() {
                directory.extend(chunk.len.to_le_bytes());
                directory.extend(chunk.run.len().to_le_bytes());
                let key = &data.groups[chunk.group as usize].key;
                for value in infos.iter().filter_map(|info| data.shared_at(info.id())) {
                    directory.extend(part.shared_numbers[&key[value]].to_le_bytes());
                }
                let mut checksum = Checksum::new();
                pieces(data, chunk, infos, &self.enableable, |bytes| {
                    checksum.add(bytes);
                    *at += bytes.len() as u64;
                    out.write_all(bytes)
                })?;
                directory.extend(checksum.finish().to_le_bytes());
            }
        }
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
            let here = |entity| self.worlds.iter().any(|part| part.world.is_built(entity));
            let version = match Entity::new(slot, version) {
                // Of another world, or not built: in the loaded world it is dead.
                Some(entity) if !here(entity) => version + 1,
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
    fn of(world: &'w World, options: &SnapshotOptions) -> Result<Self, SnapshotError> {
        let inhabited = world.archetypes.iter().filter(|data| data.entities > 0);
        let archetypes = inhabited.map(|data| {
            let infos = options.of_archetype(world, data, Purpose::Save)?;
            Ok((data, infos))
        });
        let mut part = Self {
            world,
            archetypes: archetypes.collect::<Result<_, SnapshotError>>()?,
            shared: Vec::new(),
            shared_numbers: HashMap::new(),
        };
        part.number_shared();
        Ok(part)
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

    /// What chunks begin with, of the chunk fragments among these.
    fn templates<'s>(
        &'s self,
        fragments: &'s [&'w FragmentInfo],
    ) -> impl Iterator<Item = (&'w FragmentInfo, &'s [u8])> {
        fragments.iter().filter_map(|&info| {
            if info.kind() != FragmentKind::Chunk {
                return None;
            }
            let template = self.world.templates.get(&info.id())?;
            // SAFETY: a plain value of this fragment.
            let bytes = unsafe { bytes_of(template.as_ptr(), info.layout().size()) };
            Some((info, bytes))
        })
    }

    /// Whether all values, of those of which not all bytes are one, will be taken for values when they are loaded.
    fn check(&self, fragments: &[&'w FragmentInfo]) -> Result<(), SnapshotError> {
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
        if let Some((info, _)) = self.templates(fragments).find(wrong) {
            return Err(unloadable(info, None));
        }
        Ok(())
    }

    /// The first row of a chunk whose value of a fragment, or all of whose, would not be loaded.
    fn wrong_row(&self, data: &Archetype, chunk: &Chunk, info: &FragmentInfo) -> Option<usize> {
        let size = info.layout().size();
        if let Some(at) = data.column_of(info.id()) {
            let column = chunk.array(data.columns[at].offset);
            // SAFETY: plain values of this size, one a row; those without one have no column.
            let bytes = unsafe { bytes_of(column, chunk.len as usize * size) };
            return bytes
                .chunks_exact(size)
                .position(|value| !info.is_value(value));
        }
        let value = match data.shared_at(info.id()) {
            Some(at) => self
                .world
                .shared
                .get(data.groups[chunk.group as usize].key[at]),
            None => match data.chunk_values.iter().find(|value| value.id == info.id()) {
                Some(value) => chunk.array(value.offset).cast_const(),
                // A tag.
                None => core::ptr::null(),
            },
        };
        // SAFETY: a plain value of this fragment, or none of its bytes.
        let bytes = unsafe { bytes_of(value, size) };
        (!info.is_value(bytes)).then_some(0)
    }
}

/// The bytes of a chunk, piece by piece: see `format`.
fn pieces(
    data: &Archetype,
    chunk: &Chunk,
    infos: &[&FragmentInfo],
    enableable: &FragmentSet,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let len = chunk.len as usize;
    // SAFETY: a handle is eight bytes, all of them written.
    write(unsafe { bytes_of(chunk.handles().cast(), len * size_of::<Entity>()) })?;
    for info in infos {
        if let Some(at) = data.column_of(info.id()) {
            let column = data.columns[at];
            // SAFETY: plain values of this size, one a row.
            write(unsafe { bytes_of(chunk.array(column.offset), len * column.size as usize) })?;
        }
        if enableable.contains(info.id()) {
            write(&bits(data, chunk, info.id()))?;
        }
        if let Some(value) = data.chunk_values.iter().find(|value| value.id == info.id()) {
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

fn number(directory: &mut Vec<u8>, number: usize) {
    directory.extend((number as u32).to_le_bytes());
}

/// # Safety
/// `count` bytes at `first`, all of them written, which nobody changes for `'a`.
unsafe fn bytes_of<'a>(first: *const u8, count: usize) -> &'a [u8] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's.
    unsafe { core::slice::from_raw_parts(first, count) }
}
