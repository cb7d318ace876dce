//! `SnapshotSummary`: what a file holds, for who has not decided yet whether to load it.

use core::fmt;
use std::collections::BTreeSet;
use std::path::Path;

use crate::chunk::CHUNK_BYTES;
use crate::fragment::FragmentKind;
use crate::shown::{listed, shown};
use crate::world::snapshot::SnapshotError;
use crate::world::snapshot::besides::SavedBesides;
use crate::world::snapshot::demand::{Demand, Lengths};
use crate::world::snapshot::file::read_directory;
use crate::world::snapshot::format::Header;
use crate::world::snapshot::read::{Saved, SavedArchetype};
use crate::world::snapshot::saved_resource::SavedResource;

/// What a snapshot holds, and what loading it asks for: without a universe, and without a world.
///
/// It comes from the file's header and directory, which are checked as they are for a
/// [load](crate::world::World::load): a file that is loaded has a summary, which is true. Of one that is damaged elsewhere,
/// in its chunks for one, there may be a summary, too. The values of plain [resources](Self::resource) are there, too, as many
/// bytes as they have.
///
/// ```
/// use megachunk::prelude::*;
/// use megachunk::world::SnapshotSummary;
///
/// let mut world = World::new();
/// world.registry().register_plain_as::<u32>("game::Heat")?;
/// world.registry().register_state_as::<u64>("game::Score")?;
/// let _ = world.create_batch((0..1_000_u32).map(|n| (n,)))?;
/// world.resources_mut().insert(7_u64);
/// let file = world.to_snapshot(&Default::default())?;
///
/// let summary = SnapshotSummary::of(&file)?;
/// assert_eq!((summary.worlds, summary.entities), (1, 1_000));
/// assert_eq!((&*summary.fragments[0].name, summary.fragments[0].entities), ("game::Heat", 1_000));
/// assert_eq!(summary.state_types, ["game::Score"]);
/// // Whoever takes files of strangers has a limit.
/// assert!(summary.chunk_bytes < 64 << 20);
/// println!("{summary}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct SnapshotSummary {
    /// The format of the file.
    pub format: u32,
    /// Bytes of the whole file.
    pub bytes: u64,
    /// Worlds that were saved together.
    pub worlds: usize,
    /// Entities of all of them.
    pub entities: u64,
    /// Bytes of chunks that loading [with its ids](crate::world::World::load) takes at most, without
    /// [`LoadOptions`](crate::world::LoadOptions), if here the same fragments can be switched off as where it was saved (some
    /// 16 KiB more, else); and so many it takes, but for those of compositions that nobody has and that are not registered
    /// here. With [new ids](crate::world::World::load_remapped) it takes no more than that. A multiple of
    /// [`CHUNK_BYTES`], as an allocator counts them.
    ///
    /// A value that [is written](FragmentSummary::is_written) counts as many bytes as the [file
    /// says](FragmentSummary::size), which a load does not compare with its type's: the file may be older, or lie. Where the
    /// type is larger here, a load takes more by as much. Whoever has a limit, and takes files of strangers, refuses those
    /// that say less than the [registered](crate::fragment::FragmentInfo::layout) size.
    pub chunk_bytes: u64,
    /// Those among them of chunks that have no entities, and do not come with new ids.
    pub empty_chunk_bytes: u64,
    /// Slots of the entity index that loading with its ids takes, of the living and the dead; `None` if the dead [were left
    /// out](crate::world::SnapshotOptions::skip_dead), and it is to be loaded with new ids.
    pub slots: Option<u64>,
    /// The fragments, in the order of the file: by name, then role.
    pub fragments: Vec<FragmentSummary>,
    /// What the types are called whose values it has besides entities, as resources and in signals, each once, in order.
    pub state_types: Vec<String>,
    /// Signals that wait for their time.
    pub signals: u64,
    /// The values, of all worlds, in the order of the file.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) resources: Vec<SavedResource>,
}

/// What a snapshot says of a fragment. (With `serde`: fields that are added some day are to be read where they lack.)
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct FragmentSummary {
    /// Its name, which may be anything in a file that this crate has not written.
    pub name: String,
    /// Its role.
    pub kind: FragmentKind,
    /// Bytes of a value; of one that [is written](Self::is_written), in memory where it was saved.
    pub size: u64,
    /// Alignment of a value, in bytes.
    pub align: u64,
    /// The [shape](crate::fragment::Plain::SHAPE) of its values' type, to be compared with that of a type, as
    /// `Entity::SHAPE`; 0 if the file does not know it.
    pub shape: u64,
    /// It can be switched off.
    pub enableable: bool,
    /// Its values are written as its type [says](crate::fragment::FragmentRegistry::register_written_as), each with its own
    /// length.
    #[cfg_attr(feature = "serde", serde(default))]
    pub is_written: bool,
    /// Entities that have it, or its chunk's or shared value. If it is none, the file can be loaded where it is not
    /// registered.
    pub entities: u64,
}

impl SnapshotSummary {
    /// That of the bytes that [`to_snapshot`](crate::world::World::to_snapshot) gave. O(bytes that are not entities, and
    /// for each composition its fragments × its chunks).
    ///
    /// # Errors
    /// What is wrong with the header and the directory, as for [`from_snapshot`](crate::world::World::from_snapshot).
    pub fn of(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let header = Header::read(bytes, bytes.len() as u64)?;
        Self::of_directory(header, &bytes[header.directory as usize..])
    }

    /// That of a file, of which no more is read than the header and the directory: as long as what is told of, whatever the
    /// entities are.
    ///
    /// # Errors
    /// [`SnapshotError::File`]: the file cannot be read; [`SnapshotError::In`] says what is wrong with it: see
    /// [`of`](Self::of).
    pub fn read(path: impl AsRef<Path>) -> Result<Self, SnapshotError> {
        let path = path.as_ref();
        let (header, directory) = read_directory(path)?;
        Self::of_directory(header, &directory).map_err(|error| SnapshotError::In {
            path: path.to_owned(),
            error: Box::new(error),
        })
    }

    fn of_directory(header: Header, directory: &[u8]) -> Result<Self, SnapshotError> {
        let saved = Saved::told(header, directory)?;
        let mut fragments: Vec<FragmentSummary> = Vec::with_capacity(saved.fragments.len());
        fragments.extend(saved.fragments.iter().map(|fragment| FragmentSummary {
            name: fragment.name.to_string(),
            kind: fragment.kind,
            size: fragment.size as u64,
            align: fragment.align,
            shape: fragment.shape,
            enableable: fragment.enableable,
            is_written: fragment.is_written,
            entities: 0,
        }));
        let mut summary = Self {
            format: header.format,
            bytes: header.bytes,
            worlds: saved.worlds.len(),
            entities: 0,
            chunk_bytes: 0,
            empty_chunk_bytes: 0,
            slots: header.slots,
            fragments,
            state_types: Vec::new(),
            signals: 0,
            resources: Vec::new(),
        };
        let demand = Demand::of(&saved.fragments);
        for archetype in saved.worlds.iter().flat_map(|world| &world.archetypes) {
            summary.add(archetype, demand.lengths(archetype));
        }
        let besides = saved.worlds.iter().map(|world| &world.besides);
        let resources = besides.clone().enumerate();
        let resources = resources.flat_map(|(number, of)| SavedResource::all_of(number, of));
        summary.resources = resources.collect();
        let types: BTreeSet<&str> = besides.clone().flat_map(SavedBesides::types).collect();
        summary.state_types = types.into_iter().map(Into::into).collect();
        summary.signals = besides.map(|of| of.signals() as u64).sum();
        Ok(summary)
    }

    fn add(&mut self, archetype: &SavedArchetype<'_>, lengths: Lengths) {
        let mut entities = 0;
        for chunk in &archetype.chunks {
            let taken = lengths.taken(chunk, false) * CHUNK_BYTES as u64;
            entities += u64::from(chunk.len);
            self.chunk_bytes += taken;
            if chunk.len == 0 {
                self.empty_chunk_bytes += taken;
            }
        }
        self.entities += entities;
        for &number in &archetype.fragments {
            self.fragments[number as usize].entities += entities;
        }
    }
}

/// Two lines, and a table of the fragments that entities have.
impl fmt::Display for SnapshotSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slots = match self.slots {
            Some(slots) => format!("{slots} slots"),
            None => "without the dead".into(),
        };
        let (chunks, empty) = (self.chunk_bytes >> 10, self.empty_chunk_bytes >> 10);
        writeln!(
            f,
            "format {}, {} bytes; worlds: {}; entities: {}, {slots}; chunks: {chunks} KiB ({empty} KiB empty)",
            self.format, self.bytes, self.worlds, self.entities
        )?;
        let states = self.state_types.iter().map(|name| shown(name));
        let states = match self.state_types.is_empty() {
            true => "none".into(),
            false => listed(states, ", "),
        };
        writeln!(
            f,
            "other values: {states}; signals that wait: {}",
            self.signals
        )?;
        write!(f, "{:>10} {:>7}  fragments", "entities", "bytes")?;
        for fragment in self.fragments.iter().filter(|one| one.entities > 0) {
            let bytes = match fragment.is_written {
                true => "written".into(),
                false => fragment.size.to_string(),
            };
            write!(
                f,
                "\n{:>10} {bytes:>7}  {} ({})",
                fragment.entities,
                shown(&fragment.name),
                fragment.kind
            )?;
        }
        Ok(())
    }
}
