//! `WrittenColumns`: what users' closures have written of a world's values, before anything is made of it.
//!
//! Each value is written once for a save or a hash: so a file says what its checksum was computed of, whatever a closure
//! says the next time. In a file a column is the length of each value, four bytes each, and then their bytes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::archetype::{Archetype, Chunk};
use crate::entity::Entity;
use crate::fragment::{FragmentId, FragmentInfo, WrittenForm};
use crate::workers::fork_join;
use crate::world::World;
use crate::world::snapshot::SnapshotError;

/// Bytes of a length in a file.
pub(super) const LENGTH: usize = WrittenForm::LENGTH;

/// Values, one behind the other.
#[derive(Default)]
pub(super) struct WrittenColumn {
    /// Where each ends.
    pub(super) ends: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

impl WrittenColumn {
    /// Of so many values, each with its entity, of a fragment that is written.
    ///
    /// # Safety
    /// Values of this fragment, which nobody changes meanwhile.
    pub(super) unsafe fn of(
        info: &FragmentInfo,
        values: impl ExactSizeIterator<Item = (Entity, *const u8)>,
    ) -> Result<Self, SnapshotError> {
        let mut column = Self {
            ends: Vec::with_capacity(values.len()),
            bytes: Vec::new(),
        };
        let mut value_bytes = Vec::new();
        for (entity, value) in values {
            // SAFETY: the caller's.
            unsafe { write_value(info, entity, value, &mut value_bytes) }?;
            column.bytes.extend_from_slice(&value_bytes);
            column.ends.push(column.bytes.len());
        }
        Ok(column)
    }

    /// The lengths of the values, as a file has them.
    pub(super) fn lengths(&self) -> Vec<u8> {
        let mut begin = 0;
        let lengths = self.ends.iter().map(|&end| {
            // No value is longer: see `WrittenForm::write`.
            let length = (end - core::mem::replace(&mut begin, end)) as u32;
            length.to_le_bytes()
        });
        lengths.flatten().collect()
    }

    /// Bytes that it has in a file.
    pub(super) fn file_bytes(&self) -> u64 {
        (self.ends.len() * LENGTH + self.bytes.len()) as u64
    }

    /// Writes it as a file has it.
    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        out.extend(self.lengths());
        out.extend(&self.bytes);
    }
}

/// Writes a value of an entity to `bytes`, in place of what is there.
///
/// # Safety
/// A value of this fragment, which is written, and which nobody changes meanwhile.
pub(super) unsafe fn write_value(
    info: &FragmentInfo,
    entity: Entity,
    value: *const u8,
    bytes: &mut Vec<u8>,
) -> Result<(), SnapshotError> {
    let Some(form) = info.written() else {
        unreachable!("a fragment that is not plain says how it is written")
    };
    // SAFETY: the caller's.
    let written = unsafe { form.write(value, bytes) };
    written.map_err(|reason| SnapshotError::NotWritten {
        name: info.name().into(),
        entity,
        reason: reason.into(),
    })
}

/// All columns of a world that are written, and its shared values, each by the place of its first value and the fragment.
#[derive(Default)]
pub(super) struct WrittenColumns {
    columns: HashMap<(usize, FragmentId), WrittenColumn>,
}

impl WrittenColumns {
    /// Those of some compositions of a world, with these of their fragments. O(their fragments), where none is written.
    pub(super) fn of<'w>(
        world: &'w World,
        archetypes: impl Iterator<Item = (&'w Archetype, &'w [&'w FragmentInfo])>,
    ) -> Result<Self, SnapshotError> {
        let (mut all, mut tasks) = (Self::default(), Vec::new());
        for (data, infos) in archetypes {
            for &info in infos.iter().filter(|info| info.is_written()) {
                for chunk in data.chunks.iter().filter(|chunk| chunk.len > 0) {
                    if let Some(at) = data.column_of(info.id()) {
                        tasks.push((chunk, info, data.columns[at].offset));
                    } else if data.shared_at(info.id()).is_some() {
                        all.add_shared(world, data, chunk, info)?;
                    }
                }
            }
        }
        let write = |(chunk, info, offset): (&Chunk, &FragmentInfo, _)| {
            let (first, size) = (chunk.array(offset), info.layout().size());
            let rows = chunk.entities().iter().enumerate();
            let values =
                rows.map(|(row, &entity)| (entity, first.wrapping_add(row * size).cast_const()));
            // SAFETY: the fragment's values, one a row, in a world that is lent.
            let column = unsafe { WrittenColumn::of(info, values) }?;
            Ok(((first.addr(), info.id()), column))
        };
        let written: Vec<Result<_, SnapshotError>> = match tasks.len() {
            0 | 1 => tasks.into_iter().map(write).collect(),
            _ => fork_join::map(tasks, write),
        };
        for column in written {
            let (key, column) = column?;
            all.columns.insert(key, column);
        }
        Ok(all)
    }

    /// Writes the shared value of a chunk, if it was not yet.
    pub(super) fn add_shared(
        &mut self,
        world: &World,
        data: &Archetype,
        chunk: &Chunk,
        info: &FragmentInfo,
    ) -> Result<(), SnapshotError> {
        let Some(at) = data.shared_at(info.id()) else {
            return Ok(());
        };
        let value = world.shared_at(data, chunk, at);
        let key = (value.addr(), info.id());
        if let Entry::Vacant(vacant) = self.columns.entry(key) {
            let values = chunk.entities().iter().take(1);
            let values = values.map(|&entity| (entity, value));
            // SAFETY: the fragment's value, in a world that is lent.
            let column = unsafe { WrittenColumn::of(info, values) }?;
            vacant.insert(column);
        }
        Ok(())
    }

    /// The column that begins with this value of a fragment; `None` of a chunk without entities.
    pub(super) fn column(&self, first: *const u8, id: FragmentId) -> Option<&WrittenColumn> {
        self.columns.get(&(first.addr(), id))
    }

    /// The bytes of a shared value that some entity has.
    pub(super) fn shared(&self, value: *const u8, id: FragmentId) -> &[u8] {
        match self.column(value, id) {
            Some(column) => &column.bytes,
            None => unreachable!("a shared value is some entity's, and was written"),
        }
    }
}

/// Whether a column of a file is the lengths of so many values, and then as many bytes as they say.
pub(super) fn is_column(bytes: &[u8], rows: usize) -> bool {
    let Some((lengths, values)) = bytes.split_at_checked(rows.saturating_mul(LENGTH)) else {
        return false;
    };
    let sum: u64 = lengths_of(lengths).map(|length| length as u64).sum();
    sum == values.len() as u64
}

/// Where the values of such a column end; never behind its end, whoever has changed the file meanwhile.
pub(super) fn ends_of(lengths: &[u8], bytes: usize) -> Vec<usize> {
    let mut end = 0_usize;
    let ends = lengths_of(lengths).map(|length| {
        end = end.saturating_add(length).min(bytes);
        end
    });
    ends.collect()
}

/// The lengths that a column begins with.
pub(super) fn lengths_of(lengths: &[u8]) -> impl Iterator<Item = usize> {
    let (lengths, _) = lengths.as_chunks::<LENGTH>();
    let lengths = lengths.iter();
    lengths.map(|length| usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX))
}
