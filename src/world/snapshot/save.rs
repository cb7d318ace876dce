//! A world goes into a file.

use std::collections::HashMap;
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::Path;

use crate::archetype::{Archetype, Chunk, SharedId, read_bit};
use crate::entity::Entity;
use crate::fragment::{FragmentId, FragmentInfo, FragmentKind, FragmentSet};
use crate::whole_file;
use crate::world::World;
use crate::world::snapshot::checksum::Checksum;
use crate::world::snapshot::format::{Header, kind_byte};
use crate::world::snapshot::options::Purpose;
use crate::world::snapshot::{SnapshotError, SnapshotOptions};

/// Bytes that are put together before they are written.
const BUFFER: usize = 64 << 10;

impl World {
    /// Saves the world to a file: entities with their ids and versions, all their fragments, what is
    /// switched off, and the versions of the dead, so that their handles stay dead in the world that is
    /// [loaded](Self::load).
    ///
    /// Not saved: names of entities, resources, versions of changes; entities that are reserved and not
    /// built, and those of other worlds, whose handles are dead in the loaded world; and, where compositions began
    /// with different values of a chunk fragment, all but the one given last: the chunks that come begin with that.
    ///
    /// O(bytes). The file gets its name when it is whole and on the disk; one that was there under the name
    /// stays until then, and its permissions for ever; of calls that save to one file at once, the last one's stays.
    /// Where the name is a link, what it leads to is replaced; where it is a device or a pipe, that is an error. It is
    /// written by calls and not through a mapping, because a full disk is then an error and no signal.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.registry().register_plain::<u32>()?;
    /// let (ant, bee) = (world.create((1_u32,))?, world.create((2_u32,))?);
    /// world.destroy(ant)?;
    /// let path = std::env::temp_dir().join(format!("megachunk-save-{}", std::process::id()));
    /// world.save(&path).unwrap();
    ///
    /// let universe = Universe::new();
    /// universe.registry().register_plain::<u32>()?;
    /// let loaded = World::load(&path, universe).unwrap();
    /// assert_eq!(loaded.get::<u32>(bee)?, &2);
    /// assert!(!loaded.exists(ant));
    /// assert_eq!(loaded.state_hash().unwrap(), world.state_hash().unwrap());
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`SnapshotError::NotPlain`] names a fragment of some entity whose bytes mean nothing, or a tag that is not said to
    /// be [`Plain`](crate::fragment::Plain); [`SnapshotError::Unloadable`] one of some entity that is no value by what its
    /// own type says; [`SnapshotError::Ambiguous`]; [`SnapshotError::File`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SnapshotError> {
        self.save_with(path, &SnapshotOptions::new())
    }

    /// Saves the world, as far as the options say that it is part of the state.
    ///
    /// # Errors
    /// As for [`save`](Self::save).
    pub fn save_with(
        &self,
        path: impl AsRef<Path>,
        options: &SnapshotOptions,
    ) -> Result<(), SnapshotError> {
        let path = path.as_ref();
        let snapshot = Snapshot::of(self, options)?;
        whole_file::replace(path, |file| snapshot.write(file)).map_err(|source| {
            SnapshotError::File {
                path: path.to_owned(),
                source,
            }
        })
    }

    /// The bytes that [`save_with`](Self::save_with) writes: for a network, or a store of your own.
    ///
    /// # Errors
    /// As for [`save`](Self::save).
    pub fn to_snapshot(&self, options: &SnapshotOptions) -> Result<Vec<u8>, SnapshotError> {
        let snapshot = Snapshot::of(self, options)?;
        let mut bytes = Cursor::new(Vec::new());
        match snapshot.write(&mut bytes) {
            Ok(()) => Ok(bytes.into_inner()),
            Err(error) => unreachable!("memory takes what is written: {error}"),
        }
    }
}

/// What is to be written.
struct Snapshot<'w> {
    world: &'w World,
    /// By name and role; their places here are their numbers in the file.
    fragments: Vec<&'w FragmentInfo>,
    /// Those that could be switched off when the saving began: any thread may say so of others meanwhile.
    enableable: FragmentSet,
    numbers: HashMap<FragmentId, u32>,
    archetypes: Vec<(&'w Archetype, Vec<&'w FragmentInfo>)>,
    /// Each with the number of its fragment.
    shared: Vec<(u32, SharedId)>,
    shared_numbers: HashMap<SharedId, u32>,
}

impl<'w> Snapshot<'w> {
    fn of(world: &'w World, options: &SnapshotOptions) -> Result<Self, SnapshotError> {
        let mut archetypes = Vec::new();
        let mut fragments: Vec<&FragmentInfo> = Vec::new();
        for data in world.archetypes.iter().filter(|data| data.entities > 0) {
            let infos = options.of_archetype(world, data, Purpose::Save)?;
            fragments.extend(&infos);
            archetypes.push((data, infos));
        }
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
        let mut snapshot = Self {
            world,
            enableable: switches.map(|info| info.id()).collect(),
            numbers: numbers.collect(),
            fragments,
            archetypes,
            shared: Vec::new(),
            shared_numbers: HashMap::new(),
        };
        snapshot.number_shared();
        snapshot.check()?;
        Ok(snapshot)
    }

    /// Whether all values, of those of which not all bytes are one, will be taken for values when they are loaded.
    fn check(&self) -> Result<(), SnapshotError> {
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
        for info in self.fragments.iter().copied().filter(asking) {
            if info.kind() == FragmentKind::Chunk
                && let Some(template) = self.world.templates.get(&info.id())
            {
                // SAFETY: a plain value of this fragment.
                let bytes = unsafe { bytes_of(template.as_ptr(), info.layout().size()) };
                if !info.is_value(bytes) {
                    return Err(unloadable(info, None));
                }
            }
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
                        self.shared.push((self.numbers[&info.id()], key[at]));
                        next
                    });
                }
            }
        }
    }

    fn write(&self, out: &mut (impl Write + Seek)) -> io::Result<()> {
        out.write_all(&[0; Header::BYTES])?;
        let slots = self.slots();
        let mut directory = Vec::new();
        let mut at = Header::BYTES as u64 + 4 * u64::from(slots);
        directory.extend(self.write_versions(out, slots)?.to_le_bytes());
        number(&mut directory, self.world.chunks_per_chunk);
        directory.push(self.world.chunks_grow.into());
        self.list_fragments(&mut directory);
        number(&mut directory, self.archetypes.len());
        for (data, infos) in &self.archetypes {
            number(&mut directory, infos.len());
            for info in infos {
                directory.extend(self.numbers[&info.id()].to_le_bytes());
            }
            directory.extend(data.run.to_le_bytes());
            directory.push(data.grows.into());
            let chunks = || data.chunks.iter().filter(|chunk| chunk.len > 0);
            number(&mut directory, chunks().count());
            for chunk in chunks() {
                directory.extend(chunk.len.to_le_bytes());
                directory.extend(chunk.run.len().to_le_bytes());
                let key = &data.groups[chunk.group as usize].key;
                for value in infos.iter().filter_map(|info| data.shared_at(info.id())) {
                    directory.extend(self.shared_numbers[&key[value]].to_le_bytes());
                }
                let mut checksum = Checksum::new();
                pieces(data, chunk, infos, &self.enableable, |bytes| {
                    checksum.add(bytes);
                    at += bytes.len() as u64;
                    out.write_all(bytes)
                })?;
                directory.extend(checksum.finish().to_le_bytes());
            }
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

    /// Fragments and shared values.
    fn list_fragments(&self, directory: &mut Vec<u8>) {
        number(directory, self.fragments.len());
        for info in &self.fragments {
            directory.push(kind_byte(info.kind()));
            directory.push(self.enableable.contains(info.id()).into());
            number(directory, info.layout().align());
            directory.extend((info.layout().size() as u64).to_le_bytes());
            number(directory, info.name().len());
            directory.extend(info.name().as_bytes());
            if info.kind() == FragmentKind::Chunk
                && let Some(template) = self.world.templates.get(&info.id())
            {
                // SAFETY: a plain value of this fragment.
                directory.extend(unsafe { bytes_of(template.as_ptr(), info.layout().size()) });
            }
        }
        number(directory, self.shared.len());
        for &(fragment, value) in &self.shared {
            directory.extend(fragment.to_le_bytes());
            let size = self.fragments[fragment as usize].layout().size();
            // SAFETY: a plain value of this fragment.
            directory.extend(unsafe { bytes_of(self.world.shared.get(value), size) });
        }
    }

    /// Slots up to the last one that ever had an entity.
    fn slots(&self) -> u32 {
        let index = self.world.universe().index();
        let used = |slot: &u32| index.slot_version(*slot) != 0;
        (0..index.slots_used())
            .rev()
            .find(used)
            .map_or(0, |last| last + 1)
    }

    /// Writes the versions of so many slots; their checksum.
    fn write_versions(&self, out: &mut impl Write, slots: u32) -> io::Result<u64> {
        let index = self.world.universe().index();
        let mut checksum = Checksum::new();
        let mut bytes = Vec::with_capacity(BUFFER);
        for slot in 0..slots {
            let version = index.slot_version(slot);
            let here = |entity| self.world.is_built(entity);
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
