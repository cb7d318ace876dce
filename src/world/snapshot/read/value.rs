//! `SavedBytes`: the bytes of a value that is no row's, and how values of all kinds come of bytes.
//!
//! Must hold: what becomes a value is a copy, which has been looked at after it was made: somebody may change the file.

use core::ops::Deref;
use std::borrow::Cow;

use crate::fragment::{FragmentKind, FragmentRegistry, Value};
use crate::world::WorldError;
use crate::world::snapshot::SnapshotError;
use crate::world::snapshot::chunk_form::ChunkForm;
use crate::world::snapshot::format::Reader;
use crate::world::snapshot::fragments::SavedFragment;
use crate::world::snapshot::read::{Saved, SavedArchetype};

/// Values, each with the number of its fragment.
pub(super) type SavedValues<'f> = Vec<(u32, SavedBytes<'f>)>;

/// The bytes of a value: as the file has them, or what they have become.
pub(in crate::world::snapshot) struct SavedBytes<'f> {
    /// Where they begin in the file, or those of which they were made.
    pub(in crate::world::snapshot) at: u64,
    pub(in crate::world::snapshot) bytes: Cow<'f, [u8]>,
    /// Nobody who comes has it, and it is not what it would be here.
    pub(in crate::world::snapshot) stays: bool,
}

impl<'f> SavedBytes<'f> {
    pub(super) fn new(at: u64, bytes: &'f [u8]) -> Self {
        let bytes = Cow::Borrowed(bytes);
        Self {
            at,
            bytes,
            stays: false,
        }
    }
}

impl Deref for SavedBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl<'f> Saved<'f> {
    /// Reads values of fragments of some kind, each with the fragment's number.
    pub(super) fn read_values(
        &self,
        reader: &mut Reader<'f>,
        is_wanted: impl Fn(&SavedFragment) -> bool,
        what: &'static str,
    ) -> Result<SavedValues<'f>, SnapshotError> {
        let mut values = Vec::new();
        for _ in 0..reader.u32("the directory ends early")? {
            let number = reader.u32("the directory ends early")?;
            let fragment = self.fragments.get(number as usize);
            let Some(fragment) = fragment.filter(|fragment| is_wanted(fragment)) else {
                return Err(reader.damaged(what));
            };
            let size = match fragment.is_written {
                true => reader.u32("the directory ends early")? as usize,
                false => fragment.size,
            };
            let at = reader.at();
            let value = reader.take(size, "the directory ends early")?;
            fragment.check_saved(value, at)?;
            values.push((number, SavedBytes::new(at, value)));
        }
        Ok(values)
    }

    /// The value of a fragment that is known.
    pub(in crate::world::snapshot) fn value(
        &self,
        registry: &FragmentRegistry,
        fragment: u32,
        value: &SavedBytes<'_>,
    ) -> Result<Value, SnapshotError> {
        self.value_of(registry, fragment, value, value.at)
    }

    /// The value that new chunks of an archetype begin with, of a fragment that is known. If it names somebody who does
    /// not come, and is no value then: the one that the first of its chunks has.
    pub(in crate::world::snapshot) fn first_value(
        &self,
        registry: &FragmentRegistry,
        archetype: &SavedArchetype<'_>,
        fragment: u32,
        bytes: &SavedBytes<'_>,
    ) -> Result<Value, SnapshotError> {
        let value = self.value(registry, fragment, bytes);
        let inhabited = archetype.chunks.iter().find(|chunk| chunk.len > 0);
        match (value, inhabited) {
            (Err(SnapshotError::NotAValue { .. }), Some(chunk)) if self.entities.is_some() => {
                let before = archetype.fragments.iter().copied();
                let before: Vec<u32> = before.take_while(|&number| number != fragment).collect();
                let before = ChunkForm::of(&before, &self.fragments).bytes_of(chunk);
                let at = chunk.at + before as usize;
                let size = self.fragments[fragment as usize].size;
                let converted = chunk.converted(fragment);
                let bytes = converted.unwrap_or_else(|| &self.file[at..][..size]);
                self.value_of(registry, fragment, bytes, at as u64)
            }
            (value, _) => value,
        }
    }

    /// Sees to it that copied bytes, which are from `at` in the file, are values, and name the entities that are meant.
    pub(in crate::world::snapshot) fn bring(
        &self,
        fragment: &SavedFragment,
        bytes: &mut [u8],
        at: usize,
    ) -> Result<(), SnapshotError> {
        fragment.check(bytes, at as u64)?;
        if let Some(entities) = &self.entities
            && fragment.map(bytes, entities)
        {
            // A type may want more of a value than that it names somebody.
            fragment.check(bytes, at as u64)?;
        }
        Ok(())
    }

    /// The value of bytes that are from `at` in the file, or were made of those that are.
    fn value_of(
        &self,
        registry: &FragmentRegistry,
        fragment: u32,
        bytes: &[u8],
        at: u64,
    ) -> Result<Value, SnapshotError> {
        let fragment = &self.fragments[fragment as usize];
        let Some(id) = fragment.known else {
            unreachable!("what entities have is known")
        };
        // A copy: somebody may change the file.
        let mut bytes = bytes.to_vec();
        if let Some(info) = registry.get(id).filter(|_| fragment.is_written) {
            let value = Value::read(info, &bytes, self.meant());
            return value.map_err(|reason| fragment.not_read(at, reason));
        }
        self.bring(fragment, &mut bytes, at as usize)?;
        Ok(Value::from_bytes(registry, id, &bytes).map_err(WorldError::from)?)
    }
}

/// Whether entities have one value together.
pub(in crate::world::snapshot) fn is_shared(kind: FragmentKind) -> bool {
    matches!(kind, FragmentKind::Shared | FragmentKind::ConstShared)
}
