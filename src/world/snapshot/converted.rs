//! What a file has in another form becomes what it is here: its memory is counted before the first value is made.
//!
//! A file has few bytes, or none, for each of very many values, and the types of today may have as many as they like.

use std::borrow::Cow;

use crate::chunk::{CHUNK_BYTES, CHUNKS};
use crate::entity::Entity;
use crate::fragment::{FragmentKind, FragmentRegistry};
use crate::world::snapshot::besides::{FormsByName, forms_by_name};
use crate::world::snapshot::fragments::SavedFragment;
use crate::world::snapshot::read::{
    Coming, Saved, SavedArchetype, SavedBytes, SavedChunk, SavedWorld, is_shared,
};
use crate::world::snapshot::remap::lavish;
use crate::world::snapshot::{LoadOptions, SnapshotError};

impl Coming {
    fn brings(self, archetype: &SavedArchetype<'_>) -> bool {
        match self {
            Self::WithIds => archetype.comes(),
            Self::Anew => archetype.is_inhabited(),
        }
    }

    fn brings_chunk(self, chunk: &SavedChunk) -> bool {
        chunk.len > 0 || matches!(self, Self::WithIds)
    }
}

impl<'f> Saved<'f> {
    /// Makes of all values that come, and that the file has in another form, what they are here.
    pub(super) fn convert(
        &mut self,
        registry: &FragmentRegistry,
        options: &LoadOptions,
        coming: Coming,
    ) -> Result<(), SnapshotError> {
        let mut fragments = self.fragments.iter();
        let converts = fragments.any(|fragment| fragment.conversion.is_some());
        let mut fragments = self.fragments.iter();
        let makes_shared = converts || fragments.any(|of| of.is_written && is_shared(of.kind));
        let forms = match options.converts_state() {
            true => forms_by_name(registry),
            false if makes_shared => FormsByName::new(),
            false => return Ok(()),
        };
        if makes_shared {
            for world in &mut self.worlds {
                world.leave_unshared(&self.fragments, coming);
            }
        }
        self.count_converted(&forms, options, coming)?;
        let (file, fragments) = (self.file, &self.fragments);
        if converts {
            for world in &mut self.worlds {
                world.convert(file, fragments, coming)?;
            }
        }
        let mut besides = self.worlds.iter_mut().map(|world| &mut world.besides);
        besides.try_for_each(|besides| besides.convert(&forms, options))
    }

    /// Whether what is converted, and shared values that are read, take no more memory than they may.
    fn count_converted(
        &self,
        forms: &FormsByName<'_>,
        options: &LoadOptions,
        coming: Coming,
    ) -> Result<(), SnapshotError> {
        let mut bytes = Bytes::default();
        for world in &self.worlds {
            let state = world.besides.bytes_to_convert(forms, options);
            bytes.others = bytes.others.saturating_add(state);
            bytes.add(world, &self.fragments, coming);
        }
        let chunk = CHUNK_BYTES as u64;
        let most = lavish(self.file).max(bytes.chunks.saturating_mul(chunk));
        for (bytes, most) in [
            (bytes.of_chunks, CHUNKS as u64 * chunk),
            (bytes.others, most),
        ] {
            if bytes > most {
                return Err(SnapshotError::ConvertedTooLarge { bytes, most });
            }
        }
        Ok(())
    }
}

/// Bytes that values have when they are converted. Sums that no memory is large enough for stay at the greatest number.
#[derive(Default)]
struct Bytes {
    /// Chunks that come.
    chunks: u64,
    /// Of rows, and of values that chunks have once.
    of_chunks: u64,
    /// Of all others.
    others: u64,
}

impl Bytes {
    fn add(&mut self, world: &SavedWorld<'_>, fragments: &[SavedFragment], coming: Coming) {
        let size = |number: u32| {
            let fragment = &fragments[number as usize];
            let is_converted = fragment.conversion.is_some();
            // Those that are read in rows lie there, and are counted with their chunks.
            let is_read =
                fragment.is_written && is_shared(fragment.kind) && fragment.known.is_some();
            if is_converted || is_read {
                fragment.size_here as u64
            } else {
                0
            }
        };
        let archetypes = world.archetypes.iter();
        let archetypes = archetypes.filter(|archetype| coming.brings(archetype));
        let templates = archetypes
            .clone()
            .flat_map(|archetype| &archetype.templates);
        let others = world.templates.iter().chain(&world.shared);
        for (number, value) in others.chain(templates) {
            if !value.stays {
                self.others = self.others.saturating_add(size(*number));
            }
        }
        for archetype in archetypes {
            let sum = |kind| {
                let numbers = archetype.fragments.iter();
                let of_kind = numbers.filter(|&&at| fragments[at as usize].kind == kind);
                of_kind.fold(0, |sum: u64, &at| sum.saturating_add(size(at)))
            };
            let (row, once) = (sum(FragmentKind::Fragment), sum(FragmentKind::Chunk));
            let chunks = archetype.chunks.iter();
            for chunk in chunks.filter(|chunk| coming.brings_chunk(chunk)) {
                let rows = row.saturating_mul(chunk.len.into());
                self.of_chunks = self.of_chunks.saturating_add(rows).saturating_add(once);
                self.chunks += 1;
            }
        }
    }
}

impl<'f> SavedWorld<'f> {
    /// Shared values that would be converted, or read, stay if nobody who comes has them: of those with few bytes, or none, a
    /// file can have any number. Who has one has a chunk for it.
    fn leave_unshared(&mut self, fragments: &[SavedFragment], coming: Coming) {
        let mut is_had = vec![false; self.shared.len()];
        let archetypes = self.archetypes.iter();
        let archetypes = archetypes.filter(|archetype| coming.brings(archetype));
        for chunk in archetypes.flat_map(|archetype| &archetype.chunks) {
            for &value in &chunk.shared {
                is_had[value as usize] = true;
            }
        }
        for ((number, value), is_had) in self.shared.iter_mut().zip(is_had) {
            let fragment = &fragments[*number as usize];
            value.stays = !is_had && (fragment.conversion.is_some() || fragment.is_written);
        }
    }

    fn convert(
        &mut self,
        file: &[u8],
        fragments: &[SavedFragment],
        coming: Coming,
    ) -> Result<(), SnapshotError> {
        let convert = |(number, value): &mut (u32, SavedBytes<'f>)| {
            let fragment = &fragments[*number as usize];
            if let Some(conversion) = &fragment.conversion
                && !value.stays
            {
                let new = conversion.convert(value, 1, value.at)?;
                fragment.check_converted(value.at)?;
                value.bytes = Cow::Owned(new);
            }
            Ok::<(), SnapshotError>(())
        };
        self.templates.iter_mut().try_for_each(convert)?;
        self.shared.iter_mut().try_for_each(convert)?;
        let archetypes = self.archetypes.iter_mut();
        for archetype in archetypes.filter(|archetype| coming.brings(archetype)) {
            archetype.templates.iter_mut().try_for_each(convert)?;
            let chunks = archetype.chunks.iter_mut();
            for chunk in chunks.filter(|chunk| coming.brings_chunk(chunk)) {
                chunk.convert(file, &archetype.fragments, fragments)?;
            }
        }
        Ok(())
    }
}

impl SavedChunk {
    /// Makes what they are here of values that the file has in another form.
    fn convert(
        &mut self,
        file: &[u8],
        numbers: &[u32],
        fragments: &[SavedFragment],
    ) -> Result<(), SnapshotError> {
        let mut at = self.at + size_of::<Entity>() * self.len as usize;
        for &number in numbers {
            let fragment = &fragments[number as usize];
            if let Some(conversion) = &fragment.conversion
                && let Some(count) = match fragment.kind {
                    FragmentKind::Fragment => Some(self.len as usize),
                    // No bytes, and values all the same: who makes them may refuse to.
                    FragmentKind::Tag if self.len > 0 => Some(self.len as usize),
                    FragmentKind::Chunk => Some(1),
                    _ => None,
                }
            {
                let values = conversion.convert(&file[at..], count, at as u64);
                let values = values.map_err(|error| match fragment.kind {
                    FragmentKind::Chunk => error,
                    _ => self.of_row(error, file, (at, fragment.size)),
                })?;
                fragment.check_converted(at as u64)?;
                self.converted.push((number, values));
            }
            at += self.bytes_of(number, fragment);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU32, Ordering};
    use std::sync::Arc;

    use crate::archetype::Universe;
    use crate::entity::EntityMap;
    use crate::fragment::{Bundle, ConstShared, IsValue, Plain};
    use crate::world::World;
    use crate::world::snapshot::format::Header;
    use crate::world::snapshot::read::tests::sealed;
    use crate::world::snapshot::{LoadOptions, SnapshotOptions};

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    struct Bare;
    // SAFETY: no bytes.
    unsafe impl Plain for Bare {
        const IS_VALUE: Option<IsValue> = None;
        const SHAPE: u64 = 78;
    }

    /// A file of a world with one fragment, "bare", and one shared value, of so many bytes: with as many values.
    fn with_shared_values(mut file: Vec<u8>, listed: u32, bytes: usize) -> Vec<u8> {
        let mut header = Header::read(&file, file.len() as u64).unwrap();
        // Behind the checksum of the versions the fragment, how many worlds there are, what is said of chunks, and what they
        // begin with: how many shared values there are.
        let fragment = 4 + 3 + 4 + 8 + 8 + 4 + "bare".len();
        // Where values have lengths, each fragment says whether it is written.
        let fragment = fragment + usize::from(bytes > 4);
        let count = header.directory as usize + 8 + fragment + 4 + 5 + 4;
        assert_eq!(file[count..count + 8], [1, 0, 0, 0, 0, 0, 0, 0]);
        file[count..count + 4].copy_from_slice(&listed.to_le_bytes());
        let more = vec![0; bytes * (listed as usize - 1)];
        header.bytes += more.len() as u64;
        file.splice(count + 4 + bytes..count + 4 + bytes, more);
        sealed(file, header)
    }

    #[test]
    fn shared_values_that_nobody_has_are_not_converted() {
        let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
        let registry = world.registry();
        registry
            .register_plain_as::<ConstShared<Bare>>("bare")
            .unwrap();
        let ant = world.create(().const_shared(Bare)).unwrap();
        let file = world.to_snapshot(&SnapshotOptions::new()).unwrap();
        let file = with_shared_values(file, 250_000, 4);

        static CALLS: AtomicU32 = AtomicU32::new(0);
        let universe = Universe::new();
        let registry = universe.registry();
        registry
            .register_plain_as::<ConstShared<[u64; 512]>>("bare")
            .unwrap();
        let options = LoadOptions::new().convert("bare", |Bare| {
            CALLS.fetch_add(1, Ordering::Relaxed);
            [7_u64; 512]
        });
        let world = World::from_snapshot(&file, universe, &options).unwrap();
        assert_eq!(world.const_shared::<[u64; 512]>(ant).unwrap(), &[7; 512]);
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
        world.check().unwrap();
    }

    #[derive(Debug, PartialEq, Eq, Hash)]
    struct Tall([u64; 512]);

    #[test]
    fn written_shared_values_that_nobody_has_are_not_read() {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        let universe = || {
            let universe = Universe::ordered();
            let read = |_: &[u8], _: &EntityMap| {
                let call = CALLS.fetch_add(1, Ordering::Relaxed);
                Ok::<_, String>(Tall([call.into(); 512]))
            };
            let registry = universe.registry();
            registry
                .register_written_as::<ConstShared<Tall>, _, _>("bare", |_: &Tall, _| {}, read)
                .unwrap();
            universe
        };
        let mut world = World::of(&Arc::new(universe())).unwrap();
        let ant = world.create(().const_shared(Tall([9; 512]))).unwrap();
        let file = world.to_snapshot(&SnapshotOptions::new()).unwrap();
        // Each has its length.
        let file = with_shared_values(file, 75_000, 8);
        let world = World::from_snapshot(&file, universe(), &Default::default()).unwrap();
        assert_eq!(CALLS.swap(0, Ordering::Relaxed), 1);
        assert_eq!(world.const_shared::<Tall>(ant).unwrap().0, [0; 512]);
        world.check().unwrap();
        let there = Arc::new(universe());
        let (anew, _) = World::from_snapshot_remapped(
            &file,
            &there,
            &EntityMap::default(),
            &Default::default(),
        )
        .unwrap();
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
        anew.check().unwrap();
    }
}
