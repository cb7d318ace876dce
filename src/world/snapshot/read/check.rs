//! Whether what stands in a file is what its directory says: bytes, columns, bits and types.

use std::collections::BTreeSet;

use crate::entity::Entity;
use crate::fragment::FragmentRegistry;
use crate::workers::fork_join;
use crate::world::snapshot::SnapshotError;
use crate::world::snapshot::besides::forms_by_name;
use crate::world::snapshot::chunk_form::ChunkForm;
use crate::world::snapshot::format::{bit_bytes, verify};
use crate::world::snapshot::fragments::SavedFragment;
use crate::world::snapshot::read::{Saved, SavedChunk};
use crate::world::snapshot::written::is_column;

/// Of a file with fewer bytes one thread checks the chunks: to call others takes as long.
const ALONE: usize = 256 << 10;

impl<'f> Saved<'f> {
    /// Whether all types are known whose values stand besides entities.
    pub(super) fn check_types(&self, registry: &FragmentRegistry) -> Result<(), SnapshotError> {
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
    pub(super) fn check_chunks(&self) -> Result<(), SnapshotError> {
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
    pub(super) fn check_written(&self) -> Result<(), SnapshotError> {
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
    pub(super) fn check_switches(&self) -> Result<(), SnapshotError> {
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
}
