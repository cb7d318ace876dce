//! A snapshot goes into a list of bytes, which has room for all of it before the first byte is there.

use crate::archetype::Archetype;
use crate::entity::Entity;
use crate::fragment::{FragmentInfo, FragmentSet};
use crate::world::snapshot::format::{Header, bit_bytes};
use crate::world::snapshot::write::{Snapshot, saved_chunks};
use crate::world::snapshot::written::WrittenColumn;

/// Bytes that a directory has for a chunk, but for numbers of shared values and lengths of columns.
const TOLD_OF_CHUNK: usize = 3 * size_of::<u32>() + size_of::<u64>();

impl Snapshot<'_> {
    /// Writes all of it in place of what the list has. No code of a user is called: that has written already.
    pub(in crate::world::snapshot) fn write_in(&self, bytes: &mut Vec<u8>) {
        let (chunks, told) = self.chunk_bytes();
        let slots = if self.skip_dead { 0 } else { self.slots() };
        bytes.clear();
        // (Of a universe that is in use there may be some slots more when they are written.)
        let versions = size_of::<u32>() * slots as usize;
        bytes.reserve_exact(Header::BYTES + versions + chunks + told);
        bytes.resize(Header::BYTES, 0);
        let (header, directory) = match self.write_chunks(bytes) {
            Ok(written) => written,
            Err(error) => unreachable!("memory takes what is written: {error}"),
        };
        debug_assert_eq!(
            bytes.len(),
            Header::BYTES + size_of::<u32>() * header.slots.unwrap_or(0) as usize + chunks
        );
        bytes.reserve_exact(directory.len());
        bytes.extend_from_slice(&directory);
        bytes[..Header::BYTES].copy_from_slice(&header.to_bytes());
    }

    /// Bytes of all chunks, and about as many as the directory has for these. O(columns of all compositions, chunks, and
    /// columns that are written).
    fn chunk_bytes(&self) -> (usize, usize) {
        let (mut bytes, mut told) = (0, 0);
        for part in &self.worlds {
            for (data, infos) in &part.archetypes {
                let form = RowForm::of(data, infos, &self.enableable);
                for (_, chunk) in saved_chunks(data) {
                    let columns = part.written_columns(data, chunk, infos).flatten();
                    let written: u64 = columns.map(WrittenColumn::file_bytes).sum();
                    bytes += form.bytes(chunk.len as usize) + written as usize;
                    told += TOLD_OF_CHUNK + form.told;
                }
            }
        }
        (bytes, told)
    }
}

/// How many bytes chunks of a composition have in a file, but for values that closures write.
pub(in crate::world::snapshot) struct RowForm {
    row: usize,
    /// Those that can be switched off.
    switches: usize,
    once: usize,
    /// Bytes that a directory has for what only some compositions have.
    told: usize,
}

impl RowForm {
    /// Of an archetype with these of its fragments, some of which can be switched off.
    pub(in crate::world::snapshot) fn of(
        data: &Archetype,
        infos: &[&FragmentInfo],
        enableable: &FragmentSet,
    ) -> Self {
        let mut form = Self {
            row: size_of::<Entity>(),
            switches: 0,
            once: 0,
            told: 0,
        };
        for info in infos {
            let (id, size) = (info.id(), info.layout().size());
            let is_column = data.column_of(id).is_some();
            match (is_column, info.is_written()) {
                (true, false) => form.row += size,
                (true, true) => form.told += size_of::<u64>(),
                (false, _) if data.shared_at(id).is_some() => form.told += size_of::<u32>(),
                (false, _) if data.chunk_value_of(id).is_some() => form.once += size,
                (false, _) => {}
            }
            form.switches += usize::from(enableable.contains(id));
        }
        form
    }

    /// Bytes of a chunk with so many entities.
    pub(in crate::world::snapshot) fn bytes(&self, len: usize) -> usize {
        self.row * len + self.switches * bit_bytes(len as u64) as usize + self.once
    }
}
