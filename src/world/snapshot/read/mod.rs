//! `Saved`: a file is read, and all of it checked, before anything is made of it.
//!
//! The directory is read first (`directory.rs`): it says what there is, and where. Then what it tells of is checked
//! (`check.rs`), and the handles of all chunks are read (`handles.rs`). Values are looked at where they are made (`value.rs`): in
//! a copy, for somebody may change the file meanwhile.
//!
//! Must hold: whoever has a [`Saved`] of a whole file finds in it what its directory says, each entity once, and nothing behind
//! the file's end.

mod archetype;
mod check;
mod chunk;
mod directory;
mod handles;
mod value;
mod world;

use crate::entity::{Entity, EntityMap};
use crate::fragment::FragmentRegistry;
use crate::world::snapshot::format::Header;
use crate::world::snapshot::fragment_keys::{FragmentKeys, FragmentOrder};
use crate::world::snapshot::fragments::SavedFragment;
use crate::world::snapshot::{LoadOptions, SnapshotError};

pub(super) use archetype::SavedArchetype;
pub(super) use chunk::SavedChunk;
pub(super) use directory::yes_or_no;
pub(super) use value::{SavedBytes, is_shared};
pub(super) use world::SavedWorld;

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

/// How a file comes to be worlds.
#[derive(Clone, Copy)]
pub(super) enum Coming {
    /// With its ids: all of it.
    WithIds,
    /// With new ids: what has entities.
    Anew,
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

    /// That one world was saved, and not several.
    pub(super) fn expect_one(&self) -> Result<(), SnapshotError> {
        match self.worlds.len() {
            1 => Ok(()),
            found => Err(SnapshotError::Worlds { found }),
        }
    }

    /// Whom handles that the file has mean.
    pub(super) fn meant(&self) -> &EntityMap {
        self.entities.as_ref().unwrap_or(&self.as_they_were)
    }
}

#[cfg(test)]
mod damaged;
#[cfg(test)]
pub(super) mod tests;
