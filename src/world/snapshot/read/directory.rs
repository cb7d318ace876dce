//! The directory of a file: which fragments there are, and which worlds, with their archetypes, chunks and values.
//!
//! Must hold: each chunk begins where the one before it ends, the last ends where the directory begins, and nothing stands
//! behind it.

use std::collections::BTreeMap;

use crate::entity::{EntityIndex, EntityMap};
use crate::fragment::{FragmentKind, FragmentRegistry};
use crate::world::snapshot::besides::SavedBesides;
use crate::world::snapshot::chunk_form::ChunkForm;
use crate::world::snapshot::format::{Header, Reader, verify};
use crate::world::snapshot::fragment_keys::FragmentOrder;
use crate::world::snapshot::fragments::{SavedFragment, read_fragments};
use crate::world::snapshot::read::archetype::share_runs;
use crate::world::snapshot::read::chunk::{are_places, read_chunk};
use crate::world::snapshot::read::{Saved, SavedArchetype, SavedBytes, SavedWorld, is_shared};
use crate::world::snapshot::{LoadOptions, SnapshotError};

impl<'f> Saved<'f> {
    /// Reads a directory, and the versions of the whole file, if it is there; finds the fragments that are registered.
    pub(super) fn of_directory(
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
        let mut called = BTreeMap::new();
        for _ in 0..reader.u32("the directory ends early")? {
            let mut world = saved.read_world(&mut reader, &mut at, header.directory)?;
            if header.has_besides() {
                world.besides = SavedBesides::read(&mut reader, header.has_shapes())?;
                if let Some((_, options)) = known {
                    if options.renames_states() {
                        world.besides.rename(options, &mut called)?;
                    }
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
}

/// How many chunks of 16 KiB a chunk has.
pub(super) fn chunk_size(reader: &mut Reader<'_>) -> Result<u32, SnapshotError> {
    let damaged = reader.damaged("a chunk has 1 to 64 times 16 KiB");
    let chunks = reader.u32("the directory ends early")?;
    let there_are = (1..=crate::chunk::MEGACHUNK_CHUNKS as u32).contains(&chunks);
    if there_are { Ok(chunks) } else { Err(damaged) }
}

pub(in crate::world::snapshot) fn yes_or_no(
    reader: &mut Reader<'_>,
) -> Result<bool, SnapshotError> {
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
