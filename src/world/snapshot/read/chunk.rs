//! `SavedChunk`: what a file says of one chunk, and where its bytes are.
//!
//! Must hold: its bytes end before the directory begins, and as many as its form says follow its handles.

use std::collections::HashMap;

use crate::entity::Entity;
use crate::world::snapshot::SnapshotError;
use crate::world::snapshot::chunk_form::ChunkForm;
use crate::world::snapshot::format::{FULL_CHUNK, Reader};
use crate::world::snapshot::fragments::SavedFragment;
use crate::world::snapshot::read::SavedWorld;
use crate::world::snapshot::read::directory::chunk_size;
use crate::world::snapshot::written::LENGTH;

pub(in crate::world::snapshot) struct SavedChunk {
    /// Where its bytes begin in the file.
    pub(in crate::world::snapshot) at: usize,
    pub(in crate::world::snapshot) bytes: usize,
    pub(in crate::world::snapshot) len: u32,
    /// Where its handles begin among those of all chunks.
    pub(super) handles: usize,
    /// 16 KiB chunks that it had.
    pub(in crate::world::snapshot) run: u32,
    /// Its place in the list of chunks with room that have the same shared values, or `FULL_CHUNK`.
    pub(in crate::world::snapshot) place: u32,
    /// Numbers of shared values, in the order of the archetype's fragments.
    pub(in crate::world::snapshot) shared: Vec<u32>,
    /// Numbers of fragments whose values are written, ascending, and bytes of each one's column.
    pub(super) written: Vec<(u32, usize)>,
    pub(super) checksum: u64,
    /// By fragments' numbers: values that are others here than in the file.
    pub(in crate::world::snapshot) converted: Vec<(u32, Vec<u8>)>,
}

impl SavedChunk {
    /// Bytes of the values of a fragment with this number, if they are written.
    pub(in crate::world::snapshot) fn written(&self, number: u32) -> usize {
        let found = self.written.binary_search_by_key(&number, |&(of, _)| of);
        found.map_or(0, |at| self.written[at].1)
    }

    /// Bytes that it has of a fragment with this number.
    pub(in crate::world::snapshot) fn bytes_of(
        &self,
        number: u32,
        fragment: &SavedFragment,
    ) -> usize {
        let bytes = fragment.bytes_in(self.len);
        match fragment.is_written {
            true => bytes + self.written(number),
            false => bytes,
        }
    }

    /// The entity of a row, by its handle in the file, which somebody may change.
    #[cold]
    pub(in crate::world::snapshot) fn entity(&self, file: &[u8], row: usize) -> Option<Entity> {
        let handle = self.at + size_of::<Entity>() * row;
        let mut reader = Reader::new(file.get(handle..)?, handle as u64);
        let mut part = || reader.u32_of_this_machine("a handle").ok();
        Entity::new(part()?, part()?)
    }

    /// The error that says, if it is of a value in a column of so many bytes for each row, which begins at `begin` in the
    /// file, whose value that is.
    #[cold]
    pub(in crate::world::snapshot) fn of_row(
        &self,
        error: SnapshotError,
        file: &[u8],
        (begin, size): (usize, usize),
    ) -> SnapshotError {
        let (SnapshotError::NotRead { at, .. } | SnapshotError::NotAValue { at, .. }) = &error
        else {
            return error;
        };
        let row = (*at as usize).saturating_sub(begin).checked_div(size);
        let entity = self.entity(file, row.unwrap_or(0));
        error.of_entity(entity)
    }

    /// The values of a fragment, or the one that the chunk has, if they are others here than in the file.
    pub(in crate::world::snapshot) fn converted(&self, fragment: u32) -> Option<&[u8]> {
        let mut converted = self.converted.iter();
        let found = converted.find(|(number, _)| *number == fragment);
        found.map(|(_, values)| &**values)
    }
}

/// Reads a chunk, whose bytes begin at `at` and end before `end`. O(bytes of it in the directory).
pub(super) fn read_chunk(
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

/// Whether each chunk with room has a place of its own in the list of those that have the same shared values, without
/// gaps.
pub(super) fn are_places(chunks: &[SavedChunk]) -> bool {
    let mut lists: HashMap<&[u32], Vec<u32>> = HashMap::new();
    for chunk in chunks.iter().filter(|chunk| chunk.place != FULL_CHUNK) {
        lists.entry(&chunk.shared).or_default().push(chunk.place);
    }
    lists.values_mut().all(|places| {
        places.sort_unstable();
        places.iter().copied().eq(0..places.len() as u32)
    })
}
